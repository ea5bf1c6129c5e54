//! What each tool asks of the API, and what it hands back.

use kaval_fake_api::{Api, Reply};
use serde_json::{Value, json};

use crate::harness::{ID, KEY, Launch, good_calls};

#[test]
fn each_tool_makes_its_one_request() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let expected = [
        ("POST", "/v1/check".to_owned(), r#"{"action":"refund the booking","max_wait_ms":45000}"#.to_owned()),
        ("GET", format!("/v1/receipts/{ID}"), String::new()),
        ("POST", "/v1/sources".to_owned(), r#"{"kind":"entity","name":"Contoso"}"#.to_owned()),
        ("GET", "/v1/sources".to_owned(), String::new()),
        ("DELETE", format!("/v1/sources/{ID}"), String::new()),
        ("POST", "/v1/report-outcome".to_owned(), format!(r#"{{"id":"{ID}","kind":"relied_and_correct"}}"#)),
        (
            "POST",
            "/v1/verify".to_owned(),
            r#"{"conclusion":"The policy is current.","evidence_refs":["https://contoso.example/"]}"#
                .to_owned(),
        ),
    ];
    for ((tool, arguments), (method, target, body)) in good_calls().iter().zip(expected) {
        let before = api.count();
        server.success(tool, arguments);
        let requests = api.requests();
        assert_eq!(requests.len(), before + 1, "{tool}: one request");
        let request = &requests[before];
        assert_eq!((request.method.as_str(), &request.target), (method, &target), "{tool}");
        assert_eq!(request.text(), body, "{tool}");
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()), "{tool}");
        let typed = if body.is_empty() { None } else { Some("application/json") };
        assert!(body.is_empty() || request.header("content-type") == typed, "{tool}");
        assert_eq!(request.header("idempotency-key").is_some(), *tool == "verify", "{tool}");
        assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("kaval-")), "{tool}");
    }
}

#[test]
fn success_is_the_body_compact_as_text_and_as_structured_content() {
    let body = "{ \"decision\" : \"ALLOW\",\n  \"zeta\": [1, {\"b\": null, \"a\": \"\\u00e9\\n\"}],\t\"receipt\":{}, \"facts\":[], \"reason_codes\":[],\"latency_ms\":{} }";
    let api = Api::start(move |_| Reply::new(200, body));
    let mut server = Launch::on(&api).open();
    let result = server.call("check", &json!({"action": "a"}));
    let text = result["content"][0]["text"].as_str().unwrap();
    // Escapes may be kept or resolved; spaces may not.
    let compact: Value = serde_json::from_str(body).unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), compact);
    assert!(!text.contains('\n') && !text.contains(": ") && !text.contains(", "), "{text}");
    assert!(
        text.find("\"decision\"") < text.find("\"zeta\"") && text.find("\"b\"") < text.find("\"a\""),
        "{text}"
    );
    assert_eq!(result["structuredContent"], compact);
}

#[test]
fn get_receipt_and_list_sources_hand_back_one_member() {
    let api = Api::start(|request| {
        if request.path().starts_with("/v1/receipts/") {
            Reply::new(200, r#"{"extra":1,"receipt":{"z":1.0,"a":[ ]},"more":2}"#)
        } else {
            Reply::new(200, r#"{"sources":[ ],"next":"x"}"#)
        }
    });
    let mut server = Launch::on(&api).open();
    assert_eq!(server.success("get_receipt", &json!({"receipt_id": ID})), r#"{"receipt":{"z":1.0,"a":[]}}"#);
    assert_eq!(server.success("list_sources", &json!({})), r#"{"sources":[]}"#);
}

#[test]
fn inactive_sources_are_asked_for_only_when_wanted() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for (arguments, target) in [
        (json!({}), "/v1/sources"),
        (json!({"include_inactive": false}), "/v1/sources"),
        (json!({"include_inactive": null}), "/v1/sources"),
        (json!({"include_inactive": true}), "/v1/sources?include_inactive=true"),
    ] {
        let before = api.count();
        server.success("list_sources", &arguments);
        assert_eq!(api.requests()[before].target, target);
    }
}

#[test]
fn absent_arguments_are_an_empty_object() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let answer = server.request("tools/call", &json!({"name": "list_sources"}));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(api.count(), 1);
}

#[test]
fn any_2xx_is_a_success() {
    for status in [200, 201, 202, 299] {
        let api = Api::start(move |_| Reply::new(status, r#"{"deleted":true}"#));
        let mut server = Launch::on(&api).open();
        assert_eq!(server.success("remove_source", &json!({"id": ID})), r#"{"deleted":true}"#, "{status}");
    }
}

#[test]
fn an_unknown_tool_is_refused_by_name() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let answer = server.request("tools/call", &json!({"name": "chekc", "arguments": {}}));
    let told = answer.to_string();
    assert!(answer["error"]["code"] == -32602 || answer["result"]["isError"] == true, "{told}");
    assert!(told.contains("chekc"), "{told}");
    assert_eq!(api.count(), 0);
}

#[test]
fn the_callers_traceparent_is_forwarded() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (given, expected) in [(trace, Some(trace)), ("junk\r\nx-evil: 1", None)] {
        let before = api.count();
        let params = json!({"name": "list_sources", "arguments": {}, "_meta": {"traceparent": given}});
        server.request("tools/call", &params);
        assert_eq!(api.requests()[before].header("traceparent"), expected);
        assert_eq!(api.requests()[before].header("x-evil"), None);
    }
}
