//! A cancelled call: the upstream request is closed at once and nothing more is said about it.

use std::time::{Duration, Instant};

use kaval_fake_api::{Api, Fault, Reply, default_reply};
use serde_json::json;

use crate::harness::{Launch, PATIENCE, SILENCE, good_calls};

/// Time the server has to close the upstream request.
const CLOSE_WITHIN: Duration = Duration::from_millis(250);

fn cancels(fault: Fault) {
    for (tool, arguments) in good_calls() {
        let api = Api::start(move |_| Reply::new(200, "{\"decision\":\"ALLOW\"}").with(fault));
        let mut server = Launch::on(&api).open();
        let id = server.begin(tool, &arguments);
        assert!(api.wait_for_requests(1, PATIENCE), "{tool}");
        let cancelled = Instant::now();
        server.cancel(id);
        assert!(api.wait_for_aborts(1, PATIENCE), "{tool} {fault:?}: upstream stays open");
        let took = api.aborted()[0].saturating_duration_since(cancelled);
        assert!(took <= CLOSE_WITHIN, "{tool} {fault:?}: closed after {took:?}");
        assert!(server.response_within(id, SILENCE).is_none(), "{tool}: answered although cancelled");
        assert_eq!(api.count(), 1, "{tool}: asked again");
        // The session goes on.
        assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
    }
}

#[test]
fn a_call_waiting_for_its_answer_is_closed() {
    cancels(Fault::Hang);
}

#[test]
fn a_call_whose_body_stalls_is_closed() {
    cancels(Fault::Stall { after: 9 });
}

#[test]
fn the_others_are_not_touched() {
    let api = Api::start(|request| {
        if request.text().contains("slow") {
            Reply::fault(Fault::Hang)
        } else {
            default_reply(request).after(Duration::from_millis(300))
        }
    });
    let mut server = Launch::on(&api).open();
    let slow = server.begin("check", &json!({"action": "slow"}));
    let others: Vec<u64> = (0..8).map(|_| server.begin("check", &json!({"action": "a"}))).collect();
    assert!(api.wait_for_requests(9, PATIENCE));
    server.cancel(slow);
    for id in others {
        assert_ne!(server.result(id)["isError"], true);
    }
    assert!(server.response_within(slow, SILENCE).is_none());
}

#[test]
fn a_text_id_is_cancelled_too() {
    let api = Api::start(|_| Reply::fault(Fault::Hang));
    let mut server = Launch::on(&api).open();
    server.send(&json!({"jsonrpc": "2.0", "id": "call-\u{e9}", "method": "tools/call",
        "params": {"name": "check", "arguments": {"action": "a"}}}));
    assert!(api.wait_for_requests(1, PATIENCE));
    server.notify("notifications/cancelled", &json!({"requestId": "call-\u{e9}", "reason": "user"}));
    assert!(api.wait_for_aborts(1, PATIENCE));
}

#[test]
fn cancelling_what_is_unknown_or_done_is_ignored() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let id = server.begin("list_sources", &json!({}));
    server.result(id);
    server.cancel(id);
    server.cancel(999_999);
    server.notify("notifications/cancelled", &json!({}));
    server.notify("notifications/cancelled", &json!({"requestId": null}));
    server.success("list_sources", &json!({}));
}

#[test]
fn a_cancellation_is_logged_once() {
    let api = Api::start(|_| Reply::fault(Fault::Hang));
    let mut server = Launch::on(&api).open();
    let id = server.begin("check", &json!({"action": "a"}));
    assert!(api.wait_for_requests(1, PATIENCE));
    server.cancel(id);
    assert!(api.wait_for_aborts(1, PATIENCE));
    assert!(kaval_fake_api::wait_until(PATIENCE, || server.stderr().contains("[kaval-mcp] tool error:")));
    std::thread::sleep(SILENCE);
    assert_eq!(server.stderr().matches("[kaval-mcp] tool error:").count(), 1, "{}", server.stderr());
    assert!(server.stderr().contains(" code=cancelled "), "not spelled as other codes: {}", server.stderr());
}
