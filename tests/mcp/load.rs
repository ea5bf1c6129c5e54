//! Many calls at once: all answered, none mixed up, bounded upstream.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use kaval_fake_api::{Api, Fault, Reply};
use serde_json::json;

use crate::harness::{Launch, PATIENCE};

/// Calls that may be upstream at one time.
const MAX_UPSTREAM: usize = 64;
/// Calls that may wait for a place.
const MAX_WAITING: usize = 1024;

#[test]
fn a_thousand_calls_at_once_are_each_answered_with_their_own_body() {
    let api = Api::start(|request| {
        let action = request.json()["action"].as_str().unwrap().to_owned();
        Reply::new(
            200,
            json!({"decision": "REVIEW", "reason_codes": [], "facts": [], "receipt": {}, "latency_ms": {}, "echo": action}).to_string(),
        )
        .after(Duration::from_millis(20))
    });
    let mut server = Launch::on(&api).open();
    let ids: Vec<u64> =
        (0..1000).map(|number| server.begin("check", &json!({"action": format!("call {number}")}))).collect();
    for (number, id) in ids.into_iter().enumerate() {
        let text = server.success_of(id);
        assert!(text.contains(&format!("\"call {number}\"")), "{number}: {text}");
    }
    assert_eq!(api.count(), 1000);
    assert!(api.peak_in_flight() > 16, "calls ran one after another");
    assert!(api.peak_in_flight() <= MAX_UPSTREAM, "{} upstream at once", api.peak_in_flight());
}

#[test]
fn answers_come_out_of_order_when_the_api_gives_them_so() {
    let api = Api::start(|request| {
        let slow = request.text().contains("slow");
        kaval_fake_api::default_reply(request).after(Duration::from_millis(if slow { 600 } else { 0 }))
    });
    let mut server = Launch::on(&api).open();
    let slow = server.begin("check", &json!({"action": "slow"}));
    let quick = server.begin("check", &json!({"action": "quick"}));
    let first = server.find(PATIENCE, |message| message["id"] == slow || message["id"] == quick).unwrap().1;
    assert_eq!(first["id"], quick);
    server.result(slow);
}

#[test]
fn beyond_the_waiting_room_calls_are_told_so_at_once() {
    let api = Api::start(|_| Reply::fault(Fault::Hang));
    let mut server = Launch::on(&api).deadline_ms(4000).open();
    let over = 40;
    let total = MAX_UPSTREAM + MAX_WAITING + over;
    let start = Instant::now();
    let ids: Vec<u64> = (0..total).map(|_| server.begin("check", &json!({"action": "a"}))).collect();
    let mut codes = Vec::new();
    for id in ids {
        codes.push(server.failure_of(id)["error"].as_str().unwrap().to_owned());
    }
    let overloaded = codes.iter().filter(|code| *code == "overloaded").count();
    let kinds: HashSet<&String> = codes.iter().collect();
    assert_eq!(overloaded, over, "{kinds:?}");
    // The waiting ones end inside their own deadline, not one deadline after another.
    assert!(
        codes.iter().filter(|code| *code == "timeout").count() == MAX_UPSTREAM + MAX_WAITING,
        "{kinds:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    assert!(api.peak_in_flight() <= MAX_UPSTREAM, "{} upstream at once", api.peak_in_flight());
}

#[test]
fn two_calls_under_one_id_do_not_end_the_session() {
    let api = Api::start(|request| kaval_fake_api::default_reply(request).after(Duration::from_millis(100)));
    let mut server = Launch::on(&api).open();
    for _ in 0..2 {
        server.send(&json!({"jsonrpc": "2.0", "id": 5000, "method": "tools/call", "params": {"name": "list_sources", "arguments": {}}}));
    }
    assert!(server.response_within(5000, PATIENCE).is_some());
    server.success("list_sources", &json!({}));
}
