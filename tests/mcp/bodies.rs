//! A 2xx whose body is not what was promised is no success, and never a verdict.

use std::time::Duration;

use kaval_fake_api::{Api, Fault, Reply};
use serde_json::json;

use crate::harness::{ID, Launch, good_calls};

fn expect(reply: Reply, code: &str) {
    let shown =
        format!("{} {:?}", String::from_utf8_lossy(&reply.body[..reply.body.len().min(40)]), reply.fault);
    let api = Api::start(move |_| reply.clone());
    let mut server = Launch::on(&api).deadline_ms(1500).open();
    for (tool, arguments) in good_calls() {
        let body = server.failure(tool, &arguments);
        let wanted = if tool == "verify" { "request_ambiguous" } else { code };
        assert_eq!(body["error"], wanted, "{tool} on {shown}: {body}");
        if tool == "verify" {
            assert!(body["idempotency_key"].is_string(), "{body}");
        }
    }
    // Nothing is asked twice: a body that cannot be read is no reason to retry.
    assert_eq!(api.count(), good_calls().len(), "{shown}");
}

#[test]
fn a_body_that_is_not_json_is_invalid() {
    for body in ["", "<html>ok</html>", "{\"decision\":", "{} {}", "nul", "{\"a\":1,}", "{'a':1}", "NaN"] {
        expect(Reply::new(200, body), "invalid_response");
    }
}

#[test]
fn a_body_that_is_not_utf_8_is_invalid() {
    expect(Reply::new(200, &b"{\"decision\":\"\xff\xfe\"}"[..]), "invalid_response");
    expect(Reply::new(200, &b"{\"decision\":\"\xed\xa0\x80\"}"[..]), "invalid_response");
}

#[test]
fn a_body_that_is_no_object_is_invalid() {
    for body in ["null", "[]", "1", "\"ALLOW\"", "true"] {
        expect(Reply::new(200, body), "invalid_response");
    }
}

#[test]
fn a_status_without_body_is_invalid() {
    expect(Reply::new(204, ""), "invalid_response");
}

#[test]
fn a_body_cut_off_is_invalid() {
    expect(Reply::new(200, "{\"decision\":\"ALLOW\"}").with(Fault::Cut { after: 12 }), "invalid_response");
    expect(Reply::new(200, "{\"decision\":\"ALLOW\"}").with(Fault::Cut { after: 0 }), "invalid_response");
}

#[test]
fn a_missing_member_is_invalid() {
    let api = Api::start(|_| Reply::new(200, r#"{"something":"else"}"#));
    let mut server = Launch::on(&api).open();
    for (tool, arguments) in good_calls() {
        if tool == "get_receipt" || tool == "list_sources" || tool == "check" {
            let body = server.failure(tool, &arguments);
            assert_eq!(body["error"], "invalid_response", "{tool}");
        }
    }
}

#[test]
fn a_member_of_the_wrong_type_is_invalid() {
    for body in [
        r#"{"receipt":null,"sources":null}"#,
        r#"{"receipt":"x","sources":{}}"#,
        r#"{"receipt":[],"sources":1}"#,
    ] {
        let api = Api::start(move |_| Reply::new(200, body));
        let mut server = Launch::on(&api).open();
        assert_eq!(
            server.failure("get_receipt", &json!({"receipt_id": ID}))["error"],
            "invalid_response",
            "{body}"
        );
        assert_eq!(server.failure("list_sources", &json!({}))["error"], "invalid_response", "{body}");
    }
}

#[test]
fn a_body_over_the_limit_is_refused_not_cut() {
    // 8 MiB is the limit of the client.
    let big = format!("{{\"decision\":\"ALLOW\",\"pad\":\"{}\"}}", "x".repeat(8 * 1024 * 1024));
    let api = Api::start(move |_| Reply::new(200, big.clone()));
    let mut server = Launch::on(&api).open();
    let body = server.failure("check", &json!({"action": "a"}));
    assert_eq!(body["error"], "response_too_large", "{body}");
    assert!(!body.to_string().contains("xxxx"));
    server.failure("list_sources", &json!({}));
}

#[test]
fn a_large_body_under_the_limit_passes_whole() {
    let pad = "y".repeat(3 * 1024 * 1024);
    let big = format!(
        "{{\"decision\":\"ALLOW\",\"reason_codes\":[],\"facts\":[],\"receipt\":{{}},\"latency_ms\":{{}},\"pad\":\"{pad}\"}}"
    );
    let sent = big.clone();
    let api = Api::start(move |_| Reply::new(200, sent.clone()));
    let mut server = Launch::on(&api).open();
    assert_eq!(server.success("check", &json!({"action": "a"})), big);
}

#[test]
fn deep_nesting_ends_neither_call_nor_session() {
    let deep = format!("{{\"deleted\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let api = Api::start(move |request| {
        if request.method == "DELETE" {
            Reply::new(200, deep.clone())
        } else {
            kaval_fake_api::default_reply(request)
        }
    });
    let mut server = Launch::on(&api).open();
    assert_eq!(server.failure("remove_source", &json!({"id": ID}))["error"], "invalid_response");
    server.success("list_sources", &json!({}));
}

#[test]
fn a_body_that_stalls_ends_at_the_deadline() {
    let api = Api::start(|_| Reply::new(200, "{\"decision\":\"ALLOW\"}").with(Fault::Stall { after: 5 }));
    let mut server = Launch::on(&api).deadline_ms(1000).open();
    let start = std::time::Instant::now();
    let body = server.failure("check", &json!({"action": "a", "max_wait_ms": 0}));
    let took = start.elapsed();
    assert_eq!(body["error"], "timeout");
    assert!(took > Duration::from_millis(900) && took < Duration::from_millis(2500), "{took:?}");
    assert!(api.wait_for_aborts(1, Duration::from_secs(1)), "the connection is closed");
}
