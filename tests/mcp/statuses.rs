//! Every class of error answer, as the agent gets it.

use kaval_fake_api::{Api, Reply};
use serde_json::{Value, json};

use crate::harness::{ID, Launch, good_calls};

fn answered(status: u16, body: &str) -> Vec<(&'static str, Value)> {
    let reply = Reply::new(status, body.to_owned());
    let api = Api::start(move |_| reply.clone());
    let mut server = Launch::on(&api).open();
    good_calls().into_iter().map(|(tool, arguments)| (tool, server.failure(tool, &arguments))).collect()
}

/// Every tool gives `code`, `message` and `status` for this answer.
fn expect(status: u16, body: &str, code: &str, message: Option<&str>) {
    for (tool, failure) in answered(status, body) {
        assert_eq!(failure["error"], code, "{tool} {status} {body}: {failure}");
        assert_eq!(failure["status"], status, "{tool} {status}: {failure}");
        match message {
            Some(message) => assert_eq!(failure["message"], message, "{tool} {status}"),
            None => assert!(!failure.to_string().contains("nginx"), "{failure}"),
        }
        assert!(failure.get("details").is_none(), "extra members are dropped: {failure}");
    }
}

#[test]
fn codes_and_messages_of_the_api_pass_verbatim() {
    for (status, code) in [
        (400, "bad_request"),
        (401, "unauthorized"),
        (402, "insufficient_balance"),
        (402, "subscription_required"),
        (403, "insufficient_scope"),
        (404, "not_found"),
        (409, "conflict"),
        (410, "gone"),
        (413, "payload_too_large"),
        (422, "unprocessable"),
        (429, "rate_limited"),
        (500, "internal"),
        (502, "bad_gateway"),
        (503, "unavailable"),
        (504, "gateway_timeout"),
        (418, "anything_else"),
    ] {
        let message = format!("caf\u{e9} \"{code}\" said no");
        let body = json!({"error": {"code": code, "message": message, "details": [1]}, "request_id": "r"});
        expect(status, &body.to_string(), code, Some(&message));
    }
}

#[test]
fn a_flat_error_is_the_code() {
    expect(404, r#"{"error":"not found"}"#, "not found", None);
    expect(401, r#"{"error":"tool_retired"}"#, "tool_retired", None);
}

#[test]
fn an_answer_without_a_code_is_request_failed() {
    for body in [
        "<html><body>502 Bad Gateway nginx</body></html>",
        "",
        "null",
        "[]",
        "{}",
        r#"{"error":null}"#,
        r#"{"error":{}}"#,
        r#"{"error":{"code":7}}"#,
        r#"{"error":["x"]}"#,
        "{\"error\":{\"code\":",
    ] {
        expect(502, body, "request_failed", None);
    }
    expect(500, "oops", "request_failed", None);
}

#[test]
fn a_message_survives_a_missing_code() {
    expect(500, r#"{"error":{"message":"disk on fire"}}"#, "request_failed", Some("disk on fire"));
}

#[test]
fn an_error_that_is_not_utf_8_is_request_failed() {
    let api = Api::start(|_| Reply::new(500, &b"\xff\xfe\x00"[..]));
    let mut server = Launch::on(&api).open();
    assert_eq!(server.failure("list_sources", &json!({}))["error"], "request_failed");
}

#[test]
fn a_retired_tool_names_its_successor() {
    for (body, named) in [
        (r#"{"error":"tool_retired","replacement":"/v2/check"}"#, "/v2/check"),
        (r#"{"error":"tool_retired","replacement":7}"#, "/v1/check"),
        (r#"{"error":"tool_retired"}"#, "/v1/check"),
    ] {
        for (tool, failure) in answered(410, body) {
            assert_eq!(failure["error"], "tool_retired", "{tool}");
            assert_eq!(failure["status"], 410, "{tool}");
            let message = failure["message"].as_str().unwrap();
            assert!(message.contains(named) && message.contains("check"), "{message}");
        }
    }
    // Any other 410 is an ordinary answer.
    expect(
        410,
        r#"{"error":{"code":"tool_retired","message":"structured"}}"#,
        "tool_retired",
        Some("structured"),
    );
    expect(410, r#"{"error":"gone"}"#, "gone", None);
}

#[test]
fn redirects_are_never_followed() {
    let elsewhere = Api::start_default();
    let target = format!("{}/v1/check", elsewhere.url());
    for status in [301, 302, 303, 307, 308] {
        let location = target.clone();
        let api = Api::start(move |_| Reply::new(status, "").header("location", &location));
        let mut server = Launch::on(&api).open();
        for (tool, arguments) in good_calls() {
            let failure = server.failure(tool, &arguments);
            assert_eq!(failure["status"], status, "{tool}: {failure}");
        }
        assert_eq!(api.count(), good_calls().len());
    }
    assert_eq!(elsewhere.count(), 0, "the key went to another origin");
}

#[test]
fn error_members_come_in_the_order_of_the_reference() {
    let api = Api::start(|_| Reply::error(503, "event_persistence_pending", "not stored yet"));
    let mut server = Launch::on(&api).open();
    let result = server.call(
        "verify",
        &json!({"conclusion": "c", "evidence_refs": ["https://a.example/"], "idempotency_key": "op-000017"}),
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    let places: Vec<_> = ["\"error\"", "\"message\"", "\"status\"", "\"idempotency_key\""]
        .iter()
        .map(|member| text.find(member).unwrap_or_else(|| panic!("{member} in {text}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn a_huge_error_body_does_not_flood_the_agent() {
    let page = "n".repeat(2 * 1024 * 1024);
    let api = Api::start(move |_| Reply::new(502, page.clone()));
    let mut server = Launch::on(&api).open();
    let failure = server.failure("remove_source", &json!({"id": ID}));
    assert_eq!(failure["error"], "request_failed");
    assert!(failure.to_string().len() < 1000);
}
