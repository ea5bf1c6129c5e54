//! Nothing that passes through changes its value: no number rounded, no member lost or doubled.

use kaval_fake_api::{Api, Reply};
use serde_json::json;

use crate::harness::{ID, Launch};

const BIG: &str = r#"{"a":12345678901234567890123,"b":0.1000000000000000055511151231257827,"c":1e300,"d":-0.0,"e":1.0,"f":9007199254740993,"g":1E+2}"#;

#[test]
fn numbers_of_a_body_keep_every_digit() {
    let api = Api::start(|_| Reply::new(200, BIG));
    let mut server = Launch::on(&api).open();
    let id = server.begin("report_outcome", &json!({"id": ID, "kind": "relied_and_correct"}));
    let answer = server.response(id);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, BIG);
}

#[test]
fn numbers_of_arguments_keep_every_digit() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let line = concat!(
        r#"{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"check","arguments":{"claims":[{"subject":"s","#,
        r#""predicate":"p","object":12345678901234567890.5,"scope":{"z":0.30000000000000004441,"a":1.50}}]}}}"#,
        "\n"
    );
    server.send_raw(line.as_bytes());
    server.response(900);
    let sent = api.requests()[0].text().to_owned();
    assert!(sent.contains(r#""object":12345678901234567890.5"#), "{sent}");
    assert!(sent.contains(r#"{"z":0.30000000000000004441,"a":1.50}"#), "{sent}");
}

#[test]
fn an_integral_number_in_any_spelling_is_sent_as_an_integer() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for (number, (given, sent)) in [
        ("1000.0", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("100e1", 1000),
        ("0.0", 0),
        ("-0", 0),
        ("4.5e4", 45000),
    ]
    .into_iter()
    .enumerate()
    {
        let id = 700 + u64::try_from(number).unwrap();
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"check\",\"arguments\":{{\"action\":\"a\",\"max_wait_ms\":{given}}}}}}}\n"
        );
        server.send_raw(line.as_bytes());
        server.response(id);
        assert_eq!(
            api.requests()[number].text(),
            format!(r#"{{"action":"a","max_wait_ms":{sent}}}"#),
            "{given}"
        );
    }
}

#[test]
fn a_doubled_member_never_goes_out_twice() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let line = concat!(
        r#"{"jsonrpc":"2.0","id":901,"method":"tools/call","params":{"name":"check","arguments":{"action":"one","action":"two","#,
        r#""claims":[{"subject":"s","predicate":"p","scope":{"k":1,"k":2}}]}}}"#,
        "\n"
    );
    server.send_raw(line.as_bytes());
    let answer = server.response(901);
    if answer["result"]["isError"] == true {
        assert_eq!(api.count(), 0, "refused, so nothing was sent");
        return;
    }
    let sent = api.requests()[0].text().to_owned();
    assert_eq!(
        sent,
        r#"{"action":"two","claims":[{"subject":"s","predicate":"p","scope":{"k":2}}],"max_wait_ms":45000}"#
    );
}

#[test]
fn a_doubled_member_of_a_body_never_reaches_the_agent_twice() {
    let api = Api::start(|_| Reply::new(200, r#"{"decision":"ALLOW","decision":"BLOCK","facts":[]}"#));
    let mut server = Launch::on(&api).open();
    let result = server.call("check", &json!({"action": "a"}));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(!text.contains("ALLOW"), "the earlier verdict came through: {text}");
}

#[test]
fn text_beyond_ascii_passes_unescaped() {
    let api = Api::start(|_| Reply::new(200, "{\"t\":\"caf\u{e9} \u{65e5}\u{672c} \u{1F600} \u{2028}\"}"));
    let mut server = Launch::on(&api).open();
    let text = server.success("remove_source", &json!({"id": ID}));
    assert!(text.contains("caf\u{e9} \u{65e5}\u{672c} \u{1F600}"), "{text}");
}

#[test]
fn a_lone_surrogate_ends_neither_session_nor_utf_8() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let line = "{\"jsonrpc\":\"2.0\",\"id\":902,\"method\":\"tools/call\",\"params\":{\"name\":\"check\",\"arguments\":{\"action\":\"x\\ud800y\"}}}\n";
    server.send_raw(line.as_bytes());
    let answer = server
        .find(crate::harness::PATIENCE, |message| message["id"] == 902 || message.get("error").is_some());
    assert!(answer.is_some(), "answered one way or the other");
    server.success("list_sources", &json!({}));
    for request in api.requests() {
        assert!(std::str::from_utf8(&request.body).is_ok());
    }
}
