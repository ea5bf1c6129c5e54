//! The one billable call that is repeated: one operation, one key, at most two attempts.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kaval_fake_api::{Api, Fault, Reply, Request, default_reply};
use serde_json::{Value, json};

use crate::harness::{Launch, failure_body};

fn arguments() -> Value {
    json!({"conclusion": "The policy is current.", "evidence_refs": ["https://contoso.example/"]})
}

fn keys(api: &Api) -> Vec<String> {
    api.requests().iter().map(|request| request.header("idempotency-key").unwrap().to_owned()).collect()
}

/// Answers the first request with `first`, every later one normally.
fn then_fine(first: Reply) -> Api {
    let seen = AtomicUsize::new(0);
    Api::start(
        move |request| {
            if seen.fetch_add(1, Ordering::SeqCst) == 0 { first.clone() } else { default_reply(request) }
        },
    )
}

#[test]
fn commit_then_reset_is_one_charge_under_one_key() {
    let charged: &'static Mutex<HashSet<String>> = Box::leak(Box::default());
    let seen = AtomicUsize::new(0);
    let api = Api::start(move |request: &Request| {
        // As the API does: the first sight of a key charges, a known key gives the stored answer.
        charged.lock().unwrap().insert(request.header("idempotency-key").unwrap().to_owned());
        if seen.fetch_add(1, Ordering::SeqCst) == 0 {
            Reply::fault(Fault::Reset)
        } else {
            default_reply(request)
        }
    });
    let mut server = Launch::on(&api).open();
    server.success("verify", &arguments());
    assert_eq!(api.count(), 2);
    assert_eq!(charged.lock().unwrap().len(), 1, "charged once");
    let requests = api.requests();
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn a_generated_key_is_a_fresh_lower_case_uuid_4() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    server.success("verify", &arguments());
    server.success("verify", &arguments());
    let keys = keys(&api);
    assert_ne!(keys[0], keys[1]);
    for key in keys {
        assert_eq!(key.len(), 36);
        assert_eq!(key, key.to_lowercase());
        assert_eq!(&key[14..15], "4");
        assert!("89ab".contains(&key[19..20]), "{key}");
    }
}

#[test]
fn the_callers_key_is_used_on_both_attempts() {
    let api = then_fine(Reply::fault(Fault::Close));
    let mut server = Launch::on(&api).open();
    let mut arguments = arguments();
    arguments["idempotency_key"] = json!("order-7781/verify");
    server.success("verify", &arguments);
    assert_eq!(keys(&api), ["order-7781/verify", "order-7781/verify"]);
    assert!(!api.requests()[0].text().contains("order-7781"));
}

#[test]
fn the_three_pending_codes_are_asked_again_once() {
    for (status, code) in [
        (409, "idempotency_in_progress"),
        (503, "idempotency_resolution_pending"),
        (503, "event_persistence_pending"),
        (500, "event_persistence_pending"),
    ] {
        let api = then_fine(Reply::error(status, code, "wait"));
        let mut server = Launch::on(&api).open();
        server.success("verify", &arguments());
        let keys = keys(&api);
        assert_eq!(keys.len(), 2, "{code}");
        assert_eq!(keys[0], keys[1], "{code}");

        let api = Api::start(move |_| Reply::error(status, code, "wait"));
        let mut server = Launch::on(&api).open();
        let body = server.failure("verify", &arguments());
        assert_eq!(body["error"], code);
        assert_eq!(body["status"], status);
        let sent: Vec<String> = api
            .requests()
            .iter()
            .map(|request| request.header("idempotency-key").unwrap().to_owned())
            .collect();
        assert_eq!(sent.len(), 2, "{code}");
        assert_eq!(body["idempotency_key"], sent[0], "{code}");
    }
}

#[test]
fn other_statuses_are_final_and_show_no_key() {
    for (status, code) in [
        (400, "bad_request"),
        (402, "insufficient_balance"),
        (409, "conflict"),
        (500, "internal"),
        (503, "unavailable"),
    ] {
        let api = Api::start(move |_| Reply::error(status, code, "no"));
        let mut server = Launch::on(&api).open();
        let body = server.failure("verify", &arguments());
        assert_eq!(body["error"], code);
        assert!(body.get("idempotency_key").is_none(), "{body}");
        assert_eq!(api.count(), 1, "{code}");
    }
}

#[test]
fn two_lost_answers_are_ambiguous_with_the_key() {
    for fault in [Fault::Reset, Fault::Close] {
        let api = Api::start(move |_| Reply::fault(fault));
        let mut server = Launch::on(&api).open();
        let body = server.failure("verify", &arguments());
        assert_eq!(body["error"], "request_ambiguous");
        let keys = keys(&api);
        assert_eq!(keys.len(), 2, "{fault:?}");
        assert_eq!(body["idempotency_key"], keys[0]);
        assert_eq!(keys[0], keys[1]);
    }
}

#[test]
fn an_unreachable_api_is_ambiguous_for_verify() {
    let mut server =
        Launch::bare().env("KAVAL_API_KEY", "k").env("KAVAL_BASE_URL", "http://127.0.0.1:9").open();
    let body = server.failure("verify", &arguments());
    assert_eq!(body["error"], "request_ambiguous");
    assert!(body["idempotency_key"].is_string());
}

#[test]
fn the_deadline_covers_both_attempts_and_gives_the_key() {
    let api = Api::start(|_| Reply::fault(Fault::Hang));
    let mut server = Launch::on(&api).deadline_ms(1000).open();
    let start = Instant::now();
    let body = server.failure("verify", &arguments());
    let took = start.elapsed();
    assert_eq!(body["error"], "request_ambiguous");
    assert_eq!(body["idempotency_key"], keys(&api)[0]);
    assert_eq!(api.count(), 1, "no attempt after the deadline");
    assert!(took > Duration::from_millis(900) && took < Duration::from_millis(2500), "{took:?}");

    // The first attempt used most of it: the second gets the rest, not a deadline of its own.
    let seen = AtomicUsize::new(0);
    let api = Api::start(move |_| {
        if seen.fetch_add(1, Ordering::SeqCst) == 0 {
            Reply::fault(Fault::Close).after(Duration::from_millis(700))
        } else {
            Reply::fault(Fault::Hang)
        }
    });
    let mut server = Launch::on(&api).deadline_ms(1000).open();
    let start = Instant::now();
    assert_eq!(server.failure("verify", &arguments())["error"], "request_ambiguous");
    assert_eq!(api.count(), 2);
    assert!(start.elapsed() < Duration::from_millis(1600), "{:?}", start.elapsed());
}

#[test]
fn a_cancelled_verify_starts_no_second_attempt() {
    let api = Api::start(|_| Reply::fault(Fault::Close).after(Duration::from_millis(400)));
    let mut server = Launch::on(&api).open();
    let id = server.begin("verify", &arguments());
    assert!(api.wait_for_requests(1, Duration::from_secs(5)));
    server.cancel(id);
    assert!(server.response_within(id, Duration::from_millis(800)).is_none());
    assert_eq!(api.count(), 1);
}

#[test]
fn the_ambiguous_error_says_what_to_do() {
    let api = Api::start(|_| Reply::new(200, "cut"));
    let mut server = Launch::on(&api).open();
    let body = failure_body(&server.call("verify", &arguments()));
    assert!(body["message"].as_str().unwrap().contains("key"), "{body}");
}
