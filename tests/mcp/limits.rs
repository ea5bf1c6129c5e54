//! Every limit of the input schemas, from both sides: what passes is compared with the body the API
//! received, what does not must name the field and reach nobody.

use kaval_fake_api::Api;
use serde_json::{Value, json};

use crate::harness::{ID, Launch};

/// `Err(path)` names the field that must be reported; `Ok(body)` is the exact request body.
type Case = (&'static str, Value, Result<String, &'static str>);

fn x(n: usize) -> String {
    "x".repeat(n)
}

/// `n` UTF-16 units in characters of two units each.
fn wide(n: usize) -> String {
    "\u{1F600}".repeat(n / 2)
}

fn path_of(issue: &Value) -> String {
    match &issue["path"] {
        Value::Array(parts) => parts
            .iter()
            .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("."),
        Value::String(text) => text.clone(),
        other => panic!("path is neither a list nor a string: {other}"),
    }
}

fn run(cases: &[Case]) {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let mut faults = Vec::new();
    for (number, (tool, arguments, expected)) in cases.iter().enumerate() {
        let before = api.count();
        let result = server.call(tool, arguments);
        let sent = &api.requests()[before..];
        let shown: String = arguments.to_string().chars().take(160).collect();
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        match expected {
            Ok(body) => {
                if result["isError"] == true {
                    faults.push(format!("{number} {tool} {shown}: refused: {text:.300}"));
                } else if sent.len() != 1 || sent[0].text() != body {
                    let got = sent.first().map(|request| request.text().to_owned());
                    faults.push(format!("{number} {tool}: sent {got:?}, wanted {body:.300}"));
                }
            }
            Err(path) => {
                if !sent.is_empty() {
                    faults.push(format!("{number} {tool} {shown}: reached the API"));
                }
                let body: Value = serde_json::from_str(text).unwrap_or_default();
                let named = body["issues"].as_array().is_some_and(|issues| {
                    issues.iter().any(|issue| {
                        path_of(issue) == **path
                            && issue["code"].is_string()
                            && issue["message"].as_str().is_some_and(|text| !text.is_empty())
                    })
                });
                if result["isError"] != true || body["error"] != "invalid_arguments" || !named {
                    faults.push(format!("{number} {tool} {shown}: {path} not named: {text:.300}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// A check of one field, with the default budget behind it.
fn check(field: &'static str, value: &Value, good: bool) -> Case {
    let mut arguments = json!({"action": "act"});
    arguments[field] = value.clone();
    if field == "claims" {
        arguments = json!({"claims": value});
    }
    if !good {
        return ("check", arguments, Err(field));
    }
    let mut body = arguments.clone();
    if field != "max_wait_ms" {
        body["max_wait_ms"] = json!(45000);
    }
    ("check", arguments, Ok(body.to_string()))
}

fn good(tool: &'static str, arguments: Value) -> Case {
    let body = arguments.to_string();
    (tool, arguments, Ok(body))
}

#[test]
fn texts_of_check_are_bounded_after_trimming_in_utf16_units() {
    let mut cases = Vec::new();
    for field in ["action", "context"] {
        cases.push(check(field, &json!("x"), true));
        cases.push(check(field, &json!(x(10_000)), true));
        cases.push(check(field, &json!(x(10_001)), false));
        cases.push(check(field, &json!(wide(10_000)), true));
        cases.push(check(field, &json!(wide(10_002)), false));
        cases.push(check(field, &json!(""), false));
        cases.push(check(field, &json!(" \t\r\n\u{a0}\u{feff}\u{2029} "), false));
        for wrong in [json!(1), json!(true), json!([]), json!({})] {
            cases.push(check(field, &wrong, false));
        }
        let padded = json!({"action": "act", field: format!("\u{feff}\u{a0} {} \u{3000}\n", x(10_000))});
        let mut body = padded.clone();
        body[field] = json!(x(10_000));
        body["max_wait_ms"] = json!(45000);
        cases.push(("check", padded, Ok(body.to_string())));
    }
    // U+180E is no white space in ECMAScript, U+0085 neither: both stay.
    cases.push(check("action", &json!("\u{180e}"), true));
    cases.push(check("action", &json!("\u{85}"), true));
    run(&cases);
}

#[test]
fn claims_are_one_to_twenty_texts_or_structures() {
    let mut cases = vec![
        check("claims", &json!(vec!["x"; 20]), true),
        check("claims", &json!(vec!["x"; 21]), false),
        check("claims", &json!([]), false),
        check("claims", &json!("x"), false),
        check("claims", &json!([x(2000)]), true),
        check("claims", &json!([wide(2000)]), true),
        ("check", json!({"claims": ["x", x(2001)]}), Err("claims.1")),
        ("check", json!({"claims": [" "]}), Err("claims.0")),
        ("check", json!({"claims": [7]}), Err("claims.0")),
        ("check", json!({"claims": [null]}), Err("claims.0")),
    ];
    let full = json!([{
        "subject": {"name": "Contoso", "id": "c-1", "type": "company"},
        "predicate": "refunds within",
        "object": 14.5,
        "scope": {"region": "eu", "tier": 2, "beta": false, "note": null},
        "materiality": "critical",
        "text": "Contoso refunds within 14.5 days"
    }]);
    cases.push(check("claims", &full, true));
    for object in [json!("days"), json!({"name": "n"}), json!(1), json!(-0.5), json!(true), json!(null)] {
        cases.push(check("claims", &json!([{"subject": "s", "predicate": "p", "object": object}]), true));
    }
    let claim = |member: &str, value: Value| {
        let mut claim = json!({"subject": "s", "predicate": "p"});
        claim[member] = value;
        claim
    };
    for (member, value) in [
        ("subject", json!(x(1000))),
        ("predicate", json!(x(1000))),
        ("object", json!(x(2000))),
        ("text", json!(x(2000))),
        ("scope", json!({})),
        ("materiality", json!("low")),
        ("subject", json!({"name": " padded is kept "})),
    ] {
        cases.push(check("claims", &json!([claim(member, value)]), true));
    }
    for (member, value, path) in [
        ("subject", json!(x(1001)), "claims.0.subject"),
        ("subject", json!(""), "claims.0.subject"),
        ("subject", json!(null), "claims.0.subject"),
        ("subject", json!({"name": ""}), "claims.0.subject.name"),
        ("subject", json!({"name": "n", "id": ""}), "claims.0.subject.id"),
        ("subject", json!({"name": "n", "type": ""}), "claims.0.subject.type"),
        ("subject", json!({"id": "n"}), "claims.0.subject.name"),
        ("predicate", json!(x(1001)), "claims.0.predicate"),
        ("predicate", json!(" "), "claims.0.predicate"),
        ("object", json!(x(2001)), "claims.0.object"),
        ("object", json!([1]), "claims.0.object"),
        ("scope", json!([]), "claims.0.scope"),
        ("scope", json!({"a": {}}), "claims.0.scope.a"),
        ("scope", json!({"a": []}), "claims.0.scope.a"),
        ("materiality", json!("LOW"), "claims.0.materiality"),
        ("text", json!(x(2001)), "claims.0.text"),
        ("text", json!(""), "claims.0.text"),
        ("surprise", json!(1), "claims.0.surprise"),
    ] {
        cases.push(("check", json!({"claims": [claim(member, value)]}), Err(path)));
    }
    cases.push(("check", json!({"claims": [{"predicate": "p"}]}), Err("claims.0.subject")));
    cases.push(("check", json!({"claims": [{"subject": "s"}]}), Err("claims.0.predicate")));
    let trimmed =
        json!({"claims": [" a ", {"subject": " s ", "predicate": " p ", "object": " o ", "text": " t "}]});
    let body =
        r#"{"claims":["a",{"subject":"s","predicate":"p","object":"o","text":"t"}],"max_wait_ms":45000}"#;
    cases.push(("check", trimmed, Ok(body.to_owned())));
    run(&cases);
}

#[test]
fn the_other_fields_of_check_have_their_bounds() {
    let mut cases = Vec::new();
    for value in [json!(0), json!(1), json!(45000)] {
        cases.push(check("max_wait_ms", &value, true));
    }
    for value in [json!(-1), json!(45001), json!(100_000), json!(1.5), json!("0"), json!(true)] {
        cases.push(check("max_wait_ms", &value, false));
    }
    for value in ["fast", "standard"] {
        cases.push(check("mode", &json!(value), true));
    }
    for value in [json!("FAST"), json!(""), json!(1)] {
        cases.push(check("mode", &value, false));
    }
    for value in ["low", "medium", "high", "critical"] {
        cases.push(check("materiality", &json!(value), true));
    }
    for value in [json!("extreme"), json!("High"), json!(0)] {
        cases.push(check("materiality", &value, false));
    }
    cases.push(check("origin_urls", &json!([]), true));
    cases.push(check("origin_urls", &json!(vec!["https://a.example"; 20]), true));
    cases.push(check("origin_urls", &json!(vec!["https://a.example"; 21]), false));
    for url in [
        "http://a.example",
        "HTTPS://A.example/%zz?q#f",
        " https://a.example ",
        "https:a.example",
        "https://[::1]:8443/",
        "https://b\u{fc}cher.example/",
        "http://127.1/",
    ] {
        cases.push(check("origin_urls", &json!([url]), true));
    }
    for url in [
        json!("ftp://a.example"),
        json!("a.example"),
        json!(""),
        json!("https://"),
        json!("https://u@a.example"),
        json!("https://u:p@a.example"),
        json!("https://a.example:99999/"),
        json!("https://a b.example/"),
        json!("javascript:alert(1)"),
        json!("mailto:a@b.example"),
        json!(1),
        json!(null),
    ] {
        cases.push((
            "check",
            json!({"action": "act", "origin_urls": ["https://a.example", url]}),
            Err("origin_urls.1"),
        ));
    }
    run(&cases);
}

#[test]
fn instants_are_real_calendar_times_with_an_offset() {
    let mut cases = Vec::new();
    for value in [
        "2026-08-03T01:42Z",
        "2026-08-03T01:42:10Z",
        "2026-08-03T01:42:10.1Z",
        "2026-08-03T01:42:10.123456789012345678Z",
        "2026-08-03T23:59:59+02:00",
        "2026-08-03T01:42-0930",
        "2026-08-03T01:42:10+99:99",
        "2024-02-29T00:00Z",
        "2000-02-29T00:00Z",
    ] {
        cases.push(check("as_of", &json!(value), true));
    }
    for value in [
        json!("2026-08-03"),
        json!("2026-08-03T01:42"),
        json!("2026-08-03T01:42:10"),
        json!("2026-08-03T01:42.5Z"),
        json!("2026-08-03T01:42:10.Z"),
        json!("2026-08-03t01:42Z"),
        json!("2026-08-03T01:42z"),
        json!("2026-08-03 01:42Z"),
        json!("2026-02-29T00:00Z"),
        json!("1900-02-29T00:00Z"),
        json!("2026-02-30T00:00Z"),
        json!("2026-04-31T00:00Z"),
        json!("2026-13-01T00:00Z"),
        json!("2026-00-01T00:00Z"),
        json!("2026-01-00T00:00Z"),
        json!("2026-08-03T24:00Z"),
        json!("2026-08-03T01:60Z"),
        json!("2026-08-03T01:42:60Z"),
        json!("2026-08-03T01:42:10+2:00"),
        json!("2026-08-03T01:42:10+02"),
        json!(" 2026-08-03T01:42Z"),
        json!("+002026-08-03T01:42Z"),
        json!("\u{662}026-08-03T01:42Z"),
        json!(""),
        json!(1_785_721_330),
    ] {
        cases.push(check("as_of", &value, false));
    }
    run(&cases);
}

#[test]
fn ids_are_uuids_of_any_case_and_version() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let tools = [("get_receipt", "receipt_id"), ("remove_source", "id")];
    for (tool, field) in tools {
        for id in [ID, "00000000-0000-0000-0000-000000000000", "ABCDEFAB-cdef-0123-ffff-FFFFFFFFFFFF"] {
            let before = api.count();
            server.success(tool, &json!({field: id}));
            let request = &api.requests()[before];
            // Case is kept in the path.
            assert!(request.target.ends_with(&format!("/{id}")), "{}", request.target);
        }
    }
    let wrong = [
        json!(""),
        json!("7b1d2f6093ac4e588d210c5f6a9e3b47"),
        json!("7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b4"),
        json!("7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b477"),
        json!("7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b4g"),
        json!("{7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b47}"),
        json!(" 7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b47"),
        json!("../../v1/sources"),
        json!(7),
        json!(null),
    ];
    let mut cases: Vec<Case> =
        vec![("get_receipt", json!({}), Err("receipt_id")), ("remove_source", json!({}), Err("id"))];
    for value in &wrong {
        cases.push(("get_receipt", json!({"receipt_id": value}), Err("receipt_id")));
        cases.push(("remove_source", json!({"id": value}), Err("id")));
        cases.push(("report_outcome", json!({"id": value, "kind": "relied_and_correct"}), Err("id")));
    }
    run(&cases);
}

#[test]
fn sources_have_their_bounds() {
    let mut cases = Vec::new();
    for kind in ["url", "push", "connection", "entity", "discovered"] {
        cases.push(good("add_source", json!({"kind": kind, "locator": "l"})));
    }
    let with = |field: &str, value: Value| {
        let mut arguments = json!({"kind": "url", "locator": "l"});
        arguments[field] = value;
        arguments
    };
    for (field, limit) in [("locator", 2048), ("name", 2048), ("label", 512), ("intent", 512)] {
        cases.push(good("add_source", with(field, json!(x(limit)))));
        cases.push(good("add_source", with(field, json!(wide(limit)))));
        cases.push(("add_source", with(field, json!(x(limit + 1))), Err(field)));
        cases.push(("add_source", with(field, json!(" ")), Err(field)));
        cases.push(("add_source", with(field, json!(4)), Err(field)));
    }
    for value in [json!([]), json!(vec!["k"; 64]), json!([x(256)])] {
        cases.push(good("add_source", with("scope_keys", value)));
    }
    cases.push(("add_source", with("scope_keys", json!(vec!["k"; 65])), Err("scope_keys")));
    cases.push(("add_source", with("scope_keys", json!("k")), Err("scope_keys")));
    cases.push(("add_source", with("scope_keys", json!(["k", x(257)])), Err("scope_keys.1")));
    cases.push(("add_source", with("scope_keys", json!([""])), Err("scope_keys.0")));
    for value in [60, 604_800] {
        cases.push(good("add_source", with("poll_interval_s", json!(value))));
    }
    for value in [json!(59), json!(604_801), json!(60.5), json!("60")] {
        cases.push(("add_source", with("poll_interval_s", value), Err("poll_interval_s")));
    }
    cases.push(("add_source", json!({"locator": "l"}), Err("kind")));
    cases.push(("add_source", json!({"kind": "file", "locator": "l"}), Err("kind")));
    let shuffled = json!({"poll_interval_s": 60, "scope_keys": [" a "], "intent": " i ", "label": " b ",
        "name": " n ", "locator": " l ", "kind": "entity"});
    let body = r#"{"kind":"entity","locator":"l","name":"n","label":"b","intent":"i","scope_keys":["a"],"poll_interval_s":60}"#;
    cases.push(("add_source", shuffled, Ok(body.to_owned())));
    for value in [json!("true"), json!(1)] {
        cases.push(("list_sources", json!({"include_inactive": value}), Err("include_inactive")));
    }
    run(&cases);
}

#[test]
fn outcomes_have_their_bounds() {
    let mut cases = Vec::new();
    for kind in
        ["current_later_contradicted", "stale_caught_real", "stale_was_false_alarm", "relied_and_correct"]
    {
        cases.push(good("report_outcome", json!({"id": ID, "kind": kind})));
    }
    let note = |value: Value| json!({"id": ID, "kind": "relied_and_correct", "note": value});
    // Not trimmed, and the empty text is a text.
    for value in [String::new(), " n ".into(), x(2048), wide(2048)] {
        cases.push(good("report_outcome", note(json!(value))));
    }
    for value in [json!(x(2049)), json!(wide(2050)), json!("a\0b"), json!(1)] {
        cases.push(("report_outcome", note(value), Err("note")));
    }
    cases.push(("report_outcome", json!({"id": ID}), Err("kind")));
    cases.push(("report_outcome", json!({"id": ID, "kind": "fine"}), Err("kind")));
    run(&cases);
}

#[test]
fn verify_has_its_bounds() {
    let base = json!({"conclusion": "c", "evidence_refs": ["https://a.example/"]});
    let with = |field: &str, value: Value| {
        let mut arguments = base.clone();
        arguments[field] = value;
        arguments
    };
    let mut cases: Vec<Case> = vec![
        ("verify", json!({"evidence_refs": ["https://a.example/"]}), Err("conclusion")),
        ("verify", json!({"conclusion": "c"}), Err("evidence_refs")),
    ];
    for value in [json!(" "), json!(" c "), json!(x(10_000))] {
        cases.push(good("verify", with("conclusion", value)));
    }
    for value in [json!(""), json!(x(10_001)), json!(3)] {
        cases.push(("verify", with("conclusion", value), Err("conclusion")));
    }
    let reference = |id: &str| json!({"url": "https://a.example/", "document_id": id});
    for value in [
        json!(vec!["http://a.example"; 20]),
        json!([reference("1"), reference("2"), "https://a.example"]),
        json!([reference(&x(2000))]),
    ] {
        cases.push(good("verify", with("evidence_refs", value)));
    }
    for (value, path) in [
        (json!([]), "evidence_refs"),
        (json!(vec!["http://a.example"; 21]), "evidence_refs"),
        (json!("http://a.example"), "evidence_refs"),
        (json!(["ftp://a.example"]), "evidence_refs.0"),
        (json!([{"url": "https://a.example/"}]), "evidence_refs.0.document_id"),
        (json!([{"document_id": "d"}]), "evidence_refs.0.url"),
        (json!([{"url": "https://u@a.example/", "document_id": "d"}]), "evidence_refs.0.url"),
        (json!([{"url": "https://a.example/", "document_id": " "}]), "evidence_refs.0.document_id"),
        (json!([{"url": "https://a.example/", "document_id": x(2001)}]), "evidence_refs.0.document_id"),
        (json!([{"url": "https://a.example/", "document_id": "d", "page": 1}]), "evidence_refs.0.page"),
        (json!([7]), "evidence_refs.0"),
    ] {
        cases.push(("verify", with("evidence_refs", value), Err(path)));
    }
    for (field, limit) in [("intended_action", 10_000), ("jurisdiction", 256), ("context", 4000)] {
        cases.push(good("verify", with(field, json!(x(limit)))));
        cases.push(("verify", with(field, json!(x(limit + 1))), Err(field)));
        cases.push(("verify", with(field, json!("  ")), Err(field)));
    }
    for value in ["reversible", "partially_reversible", "irreversible", "unknown"] {
        cases.push(good("verify", with("reversibility", json!(value))));
    }
    cases.push(("verify", with("reversibility", json!("maybe")), Err("reversibility")));
    cases.push(("verify", with("materiality", json!("none")), Err("materiality")));
    cases.push(("verify", with("as_of", json!("today")), Err("as_of")));
    for key in ["12345678".to_owned(), "!~".repeat(4), x(200)] {
        cases.push(("verify", with("idempotency_key", json!(key)), Ok(base.to_string())));
    }
    for key in [
        "1234567".to_owned(),
        x(201),
        "with space".into(),
        "tab\tinside".into(),
        "acc\u{e9}nted1".into(),
        "line\nbreak".into(),
    ] {
        cases.push(("verify", with("idempotency_key", json!(key)), Err("idempotency_key")));
    }
    // Top-level members go out in the order of the contract, nested ones in the order given.
    let shuffled = json!({"context": " x ", "jurisdiction": " j ", "reversibility": "unknown", "intended_action": " i ",
        "materiality": "low", "as_of": "2026-01-01T00:00Z", "evidence_refs": [{"document_id": " d ", "url": "https://a.example/"}],
        "conclusion": " c "});
    let body = r#"{"conclusion":" c ","evidence_refs":[{"document_id":"d","url":"https://a.example/"}],"as_of":"2026-01-01T00:00Z","materiality":"low","intended_action":"i","reversibility":"unknown","jurisdiction":"j","context":"x"}"#;
    cases.push(("verify", shuffled, Ok(body.to_owned())));
    run(&cases);
}

#[test]
fn document_ids_must_differ_after_trimming() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let body = server.failure(
        "verify",
        &json!({"conclusion": "c", "evidence_refs": [
            {"url": "https://a.example/", "document_id": "d"},
            {"url": "https://b.example/", "document_id": " d "}
        ]}),
    );
    assert_eq!(body["error"], "invalid_arguments");
    assert!(path_of(&body["issues"][0]).starts_with("evidence_refs"), "{body}");
    assert_eq!(api.count(), 0);
}

#[test]
fn every_failing_field_is_listed_with_its_rule() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let body = server.failure(
        "check",
        &json!({"action": "", "mode": "slow", "max_wait_ms": -5, "origin_urls": ["x"], "as_of": "now", "materiality": 1}),
    );
    let mut paths: Vec<String> = body["issues"].as_array().unwrap().iter().map(path_of).collect();
    paths.sort();
    assert_eq!(paths, ["action", "as_of", "materiality", "max_wait_ms", "mode", "origin_urls.0"]);
    assert!(body["message"].is_string());
    assert_eq!(api.count(), 0);
}

#[test]
fn a_wrong_secret_is_not_given_back() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let secret = "https://user:hunter2-canary@a.example/";
    let result = server.call("check", &json!({"action": "a", "origin_urls": [secret]}));
    assert_eq!(result["isError"], true);
    assert!(!result.to_string().contains("hunter2-canary"), "{result}");
    assert!(!server.stderr().contains("hunter2-canary"));
}

#[test]
fn a_check_of_nothing_is_a_bad_request() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for arguments in
        [json!({}), json!({"context": "c", "mode": "fast"}), json!({"action": null, "claims": null})]
    {
        let body = server.failure("check", &arguments);
        assert_eq!(body["error"], "bad_request");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains("action") && message.contains("claims"), "{message}");
    }
    assert_eq!(api.count(), 0);
}

#[test]
fn a_source_without_locator_and_name_is_a_bad_request() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let body = server.failure("add_source", &json!({"kind": "entity"}));
    assert_eq!(body["error"], "bad_request");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("locator") && message.contains("name"), "{message}");
    assert_eq!(api.count(), 0);
}

#[test]
fn a_longer_deadline_raises_the_budget() {
    let api = Api::start_default();
    for (deadline, budget) in [(20_000, 10_000), (9_000, 0), (60_000, 50_000), (3_600_000, 100_000)] {
        let mut server = Launch::on(&api).deadline_ms(deadline).open();
        let before = api.count();
        server.success("check", &json!({"action": "a"}));
        assert_eq!(api.requests()[before].json()["max_wait_ms"], budget, "deadline {deadline}");
        server.success("check", &json!({"action": "a", "max_wait_ms": budget}));
        let body = server.failure("check", &json!({"action": "a", "max_wait_ms": budget + 1}));
        assert_eq!(path_of(&body["issues"][0]), "max_wait_ms");
        let tools = server.request("tools/list", &json!({}));
        let bound = &tools["result"]["tools"][0]["inputSchema"]["properties"]["max_wait_ms"]["maximum"];
        assert_eq!(*bound, json!(budget), "the published bound follows");
    }
}
