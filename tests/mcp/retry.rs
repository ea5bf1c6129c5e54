//! What is asked again, what is waited for, and what never is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use kaval_fake_api::{Api, Fault, Reply, default_reply};
use serde_json::{Value, json};

use crate::harness::{Launch, good_calls};

/// Throttles the first request with this `Retry-After`, then answers.
fn throttling(status: u16, value: Option<String>) -> Api {
    let seen = AtomicUsize::new(0);
    Api::start(move |request| {
        if seen.fetch_add(1, Ordering::SeqCst) > 0 {
            return default_reply(request);
        }
        let reply = Reply::error(status, "rate_limited", "slow down");
        match &value {
            Some(value) => reply.header("retry-after", value),
            None => reply,
        }
    })
}

fn first_check(status: u16, value: Option<&str>) -> (Value, Api, Duration) {
    let api = throttling(status, value.map(str::to_owned));
    let mut server = Launch::on(&api).open();
    let start = Instant::now();
    let result = server.call("check", &json!({"action": "a"}));
    (result, api, start.elapsed())
}

fn error_of(result: &Value) -> Value {
    crate::harness::failure_body(result)
}

#[test]
fn retry_after_0_is_waited_for_once() {
    for status in [429, 503] {
        let (result, api, took) = first_check(status, Some("0"));
        assert_ne!(result["isError"], true, "{result}");
        assert_eq!(api.count(), 2);
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

#[test]
fn retry_after_2_is_waited_for_once() {
    let (result, api, took) = first_check(429, Some("2"));
    assert_ne!(result["isError"], true, "{result}");
    let requests = api.requests();
    let gap = requests[1].at - requests[0].at;
    assert!(gap >= Duration::from_millis(1990) && gap < Duration::from_millis(3500), "{gap:?} of {took:?}");
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn retry_after_120_is_reported_at_once() {
    let (result, api, took) = first_check(429, Some("120"));
    let body = error_of(&result);
    assert_eq!(body["error"], "rate_limited");
    assert_eq!(body["status"], 429);
    assert_eq!(body["retry_after_seconds"], 120);
    assert_eq!(api.count(), 1);
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn retry_after_as_a_date_is_counted_from_now() {
    let date = http_date(SystemTime::now() + Duration::from_secs(90));
    let (result, api, _) = first_check(503, Some(&date));
    let seconds = error_of(&result)["retry_after_seconds"].as_u64().unwrap();
    assert!((85..=91).contains(&seconds), "{seconds}");
    assert_eq!(api.count(), 1);
}

#[test]
fn retry_after_as_a_past_date_is_no_wait() {
    let (result, api, took) = first_check(503, Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(api.count() <= 2);
    if result["isError"] == true {
        let body = error_of(&result);
        assert!(body.get("retry_after_seconds").is_none_or(|value| value == 0), "{body}");
    }
}

#[test]
fn retry_after_negative_or_junk_is_absent() {
    for value in ["-1", "soon", "", "1.5", "99999999999999999999999", "5 seconds", "0x1"] {
        let (result, api, took) = first_check(429, Some(value));
        let body = error_of(&result);
        assert_eq!(body["error"], "rate_limited", "{value:?}");
        assert!(body.get("retry_after_seconds").is_none(), "{value:?}: {body}");
        assert_eq!(api.count(), 1, "{value:?}");
        assert!(took < Duration::from_secs(1), "{value:?}: {took:?}");
    }
}

#[test]
fn throttling_without_a_header_is_reported_at_once() {
    for status in [429, 503] {
        let (result, api, _) = first_check(status, None);
        let body = error_of(&result);
        assert_eq!(body["status"], status);
        assert!(body.get("retry_after_seconds").is_none(), "{body}");
        assert_eq!(api.count(), 1);
    }
}

#[test]
fn a_wait_that_does_not_fit_the_deadline_is_not_begun() {
    let api = throttling(429, Some("4".to_owned()));
    let mut server = Launch::on(&api).deadline_ms(2000).open();
    let start = Instant::now();
    let body = server.failure("list_sources", &json!({}));
    assert_eq!(body["retry_after_seconds"], 4);
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(api.count(), 1);
}

#[test]
fn a_second_throttling_is_reported() {
    let api = Api::start(|_| Reply::error(429, "rate_limited", "slow down").header("retry-after", "0"));
    let mut server = Launch::on(&api).open();
    let body = server.failure("check", &json!({"action": "a"}));
    assert_eq!(body["error"], "rate_limited");
    assert_eq!(api.count(), 2, "waited for once");
}

#[test]
fn verify_and_writes_do_not_wait_for_throttling() {
    for (tool, arguments) in good_calls() {
        if matches!(tool, "check" | "get_receipt" | "list_sources") {
            continue;
        }
        let api = Api::start(|_| Reply::error(429, "rate_limited", "slow down").header("retry-after", "1"));
        let mut server = Launch::on(&api).open();
        let body = server.failure(tool, &arguments);
        assert_eq!(body["error"], "rate_limited", "{tool}");
        assert_eq!(body["retry_after_seconds"], 1, "{tool}");
        assert_eq!(api.count(), 1, "{tool}");
    }
}

#[test]
fn other_tools_than_verify_never_repeat_a_lost_request() {
    for fault in [Fault::Reset, Fault::Close] {
        for (tool, arguments) in good_calls() {
            if tool == "verify" {
                continue;
            }
            let api = Api::start(move |_| Reply::fault(fault));
            let mut server = Launch::on(&api).open();
            let body = server.failure(tool, &arguments);
            assert_eq!(body["error"], "network_unreachable", "{tool} {fault:?}: {body}");
            assert!(body["message"].is_string(), "{body}");
            assert_eq!(api.count(), 1, "{tool} {fault:?} was sent again");
        }
    }
}

#[test]
fn a_pooled_connection_closed_meanwhile_costs_no_call() {
    // The API closes the connection after each answer without saying so beforehand.
    let api = Api::start(|request| default_reply(request).header("connection", "close"));
    let mut server = Launch::on(&api).open();
    for _ in 0..5 {
        server.success("check", &json!({"action": "a"}));
    }
    assert_eq!(api.count(), 5);
}

fn http_date(at: SystemTime) -> String {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let days = seconds / 86_400;
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][usize::try_from(days % 7).unwrap()];
    // Civil date from days since 1970, counted year by year: plain and slow is right for a test.
    let (mut year, mut left) = (1970, days);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while left >= if leap(year) { 366 } else { 365 } {
        left -= if leap(year) { 366 } else { 365 };
        year += 1;
    }
    let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut month = 0;
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    let day = left + 1;
    let name = names[month];
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{weekday}, {day:02} {name} {year} {hour:02}:{minute:02}:{second:02} GMT")
}
