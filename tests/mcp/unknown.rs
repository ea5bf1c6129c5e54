//! Arguments the tools do not know, and optional ones given as null.

use kaval_fake_api::Api;
use serde_json::json;

use crate::harness::{ID, Launch};

#[test]
fn unknown_arguments_are_dropped_and_listed_in_meta() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let result = server.call("check", &json!({"action": "a", "sessionId": "s-1", "zzz": {"deep": [1]}}));
    assert_ne!(result["isError"], true);
    assert_eq!(api.requests()[0].text(), r#"{"action":"a","max_wait_ms":45000}"#);
    let meta = result["_meta"].to_string();
    assert!(meta.contains("sessionId") && meta.contains("zzz"), "{result}");
    // Names only: what they held stays here.
    assert!(!meta.contains("s-1") && !meta.contains("deep"), "{meta}");
}

#[test]
fn known_arguments_alone_give_no_such_note() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let result = server.call("check", &json!({"action": "a"}));
    assert!(!result["_meta"].to_string().contains("unknown"), "{result}");
}

#[test]
fn a_near_miss_names_the_right_argument() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for (tool, arguments, right) in [
        ("check", json!({"claim": ["x"]}), "claims"),
        ("check", json!({"actions": "x"}), "action"),
        ("get_receipt", json!({"receiptId": ID}), "receipt_id"),
        ("get_receipt", json!({"id": ID}), "receipt_id"),
        ("remove_source", json!({"source_id": ID}), "id"),
        ("report_outcome", json!({"id": ID, "kinds": "relied_and_correct"}), "kind"),
        ("verify", json!({"conclusions": "c", "evidence_refs": ["https://a.example/"]}), "conclusion"),
        ("verify", json!({"conclusion": "c", "evidence_ref": ["https://a.example/"]}), "evidence_refs"),
    ] {
        let body = server.failure(tool, &arguments);
        let wrong = arguments.as_object().unwrap().keys().next_back().unwrap();
        let told = body.to_string();
        assert!(told.contains(&format!("`{right}`")) || told.contains(right), "{tool} {arguments}: {told}");
        if tool != "get_receipt" && tool != "remove_source" && tool != "verify" {
            assert!(told.contains(wrong.as_str()), "{tool} {arguments}: {told}");
        }
    }
    assert_eq!(api.count(), 0);
}

#[test]
fn null_is_absent_for_every_optional_argument() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for (tool, arguments, body) in [
        (
            "check",
            json!({"action": "a", "context": null, "claims": null, "mode": null, "max_wait_ms": null, "origin_urls": null,
                "materiality": null, "as_of": null}),
            r#"{"action":"a","max_wait_ms":45000}"#.to_owned(),
        ),
        (
            "add_source",
            json!({"kind": "url", "locator": "l", "name": null, "label": null, "intent": null, "scope_keys": null, "poll_interval_s": null}),
            r#"{"kind":"url","locator":"l"}"#.to_owned(),
        ),
        (
            "report_outcome",
            json!({"id": ID, "kind": "relied_and_correct", "note": null}),
            format!(r#"{{"id":"{ID}","kind":"relied_and_correct"}}"#),
        ),
        (
            "verify",
            json!({"conclusion": "c", "evidence_refs": ["https://a.example/"], "as_of": null, "materiality": null,
                "intended_action": null, "reversibility": null, "jurisdiction": null, "context": null, "idempotency_key": null}),
            r#"{"conclusion":"c","evidence_refs":["https://a.example/"]}"#.to_owned(),
        ),
    ] {
        let before = api.count();
        server.success(tool, &arguments);
        assert_eq!(api.requests()[before].text(), body, "{tool}");
    }
}

#[test]
fn null_is_not_accepted_for_required_arguments() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for (tool, arguments) in [
        ("get_receipt", json!({"receipt_id": null})),
        ("remove_source", json!({"id": null})),
        ("report_outcome", json!({"id": ID, "kind": null})),
        ("verify", json!({"conclusion": null, "evidence_refs": ["https://a.example/"]})),
    ] {
        assert_eq!(server.failure(tool, &arguments)["error"], "invalid_arguments", "{tool}");
    }
    assert_eq!(api.count(), 0);
}
