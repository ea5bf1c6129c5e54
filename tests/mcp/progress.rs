//! Progress for calls that asked for it, every five seconds, and for no other.

use std::time::{Duration, Instant};

use kaval_fake_api::{Api, default_reply};
use serde_json::{Value, json};

use crate::harness::{Launch, PATIENCE};

/// What the server promises between two reports.
const INTERVAL: Duration = Duration::from_secs(5);

fn is_progress(message: &Value) -> bool {
    message["method"] == "notifications/progress"
}

#[test]
fn progress_rises_every_five_seconds_when_a_token_came_with_the_call() {
    let api = Api::start(|request| default_reply(request).after(Duration::from_millis(10_800)));
    let mut server = Launch::on(&api).open();
    let start = Instant::now();
    for token in [json!("t-1"), json!(7)] {
        server.post(
            "tools/call",
            &json!({"name": "check", "arguments": {"action": "a"}, "_meta": {"progressToken": token}}),
        );
    }
    let silent = server.begin("check", &json!({"action": "a"}));
    let mut seen = Vec::new();
    for _ in 0..4 {
        let (at, message) = server.find(PATIENCE, is_progress).expect("four reports");
        seen.push((at - start, message["params"].clone()));
    }
    server.result(silent);
    assert!(server.find(Duration::from_millis(100), is_progress).is_none(), "more than four reports");
    for token in [json!("t-1"), json!(7)] {
        let own: Vec<_> = seen.iter().filter(|(_, params)| params["progressToken"] == token).collect();
        assert_eq!(own.len(), 2, "{token}: {seen:?}");
        let values: Vec<f64> = own.iter().map(|(_, params)| params["progress"].as_f64().unwrap()).collect();
        assert!(values[0] < values[1], "not rising: {values:?}");
        for ((at, params), number) in own.iter().zip(1..) {
            let due = INTERVAL * number;
            let off = at.abs_diff(due);
            assert!(off < Duration::from_millis(900), "{at:?} is far from {due:?}");
            let (progress, total) = (params["progress"].as_f64().unwrap(), params["total"].as_f64());
            assert!(total.is_none_or(|total| progress <= total), "{params}");
        }
    }
}

#[test]
fn a_quick_call_reports_nothing() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for _ in 0..5 {
        let params = json!({"name": "check", "arguments": {"action": "a"}, "_meta": {"progressToken": "t"}});
        server.request("tools/call", &params);
    }
    assert!(server.find(Duration::from_millis(200), is_progress).is_none());
}
