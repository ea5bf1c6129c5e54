//! The public conformance vectors, each case run, all failures collected.
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

#[path = "support/shared.rs"]
mod shared;

mod support;

use kaval_receipt::decision::{
    self, Fact, FactMethod, FactState, FreshnessFailure, Materiality, ReasonCode, Refusal, Verdict,
};
use kaval_receipt::instant::Instant;
use kaval_receipt::json::{self, Layout, Value};
use kaval_receipt::result::Texts;
use kaval_receipt::signature::PublicKey;
use kaval_receipt::webhook::{Secret, Verifier};
use kaval_receipt::{EvaluationTime, Keyset, canonical, verify};

fn list<'v, 'a>(document: &'v Value<'a>, name: &str) -> &'v [Value<'a>] {
    document.get(name).and_then(Value::as_array).unwrap_or_else(|| panic!("no list {name}"))
}

fn text<'v>(value: &'v Value<'_>, name: &str) -> &'v str {
    value
        .get(name)
        .and_then(Value::as_string)
        .and_then(|text| text.as_str())
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Runs every case, and fails with the ids of those that do not hold or when their number is another.
fn run<'a>(
    count: usize,
    cases: &[Value<'a>],
    id: &str,
    mut check: impl FnMut(&Value<'a>) -> Result<(), String>,
) {
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| check(case).err().map(|message| format!("{}: {message}", text(case, id))))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(cases.len(), count, "the number of cases");
}

fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("found {found:?}, expected {expected:?}")) }
}

#[test]
fn canonicalization() {
    let Some(file) = shared::read("vectors/kaval/canonicalization-vectors.json") else { return };
    let document = json::parse(&file).expect("strict JSON");
    run(6, list(&document, "positive"), "id", |case| {
        let input = case.get("input").ok_or("no input")?;
        let canonical = match case.get("remove_top_level_signature") {
            Some(Value::Bool(true)) => canonical::canonical_unsigned_receipt(input),
            _ => canonical::canonical_json(input),
        };
        let canonical = canonical.map_err(|error| error.to_string())?;
        equal(canonical.as_str(), text(case, "expected_canonical_json"))?;
        let hex: String = canonical.bytes().map(|byte| format!("{byte:02x}")).collect();
        equal(hex.as_str(), text(case, "expected_utf8_hex"))
    });
    run(11, list(&document, "rejection"), "id", |case| match json::parse(text(case, "json_text")) {
        Ok(value) => Err(format!("read as {value:?}")),
        Err(error) if error.to_string().contains(text(case, "error_contains")) => Ok(()),
        Err(error) => Err(error.to_string()),
    });
}

#[test]
fn instants() {
    let Some(file) = shared::read("vectors/kaval/rfc3339-vectors.json") else { return };
    let document = json::parse(&file).expect("strict JSON");
    for (name, count, is_valid) in [("accepted", 5, true), ("rejected", 13, false)] {
        run(count, list(&document, name), "id", |case| {
            let value = text(case, "value");
            equal(Instant::parse(value).is_some(), is_valid)?;
            equal(EvaluationTime::parse(value).is_ok(), is_valid)?;
            let lifecycle = format!(r#","lifecycle":{{"status":"active","status_changed_at":"{value}"}}"#);
            equal(support::keyset(&lifecycle).fault().is_none(), is_valid)
        });
    }
}

fn codes(values: &[Value<'_>]) -> Vec<ReasonCode> {
    let code = |value: &Value<'_>| value.as_string()?.as_str().and_then(ReasonCode::parse);
    values.iter().map(|value| code(value).expect("a published code")).collect()
}

/// A fact of the `decide` cases, which spell the inputs of the table in their own way.
fn table_fact(fact: &Value<'_>) -> Fact {
    let word = |name| fact.get(name).and_then(Value::as_string).and_then(|text| text.as_str());
    let flag = |name| fact.get(name).and_then(Value::as_bool).unwrap_or(false);
    Fact {
        materiality: word("materiality").and_then(Materiality::parse).expect("a materiality"),
        state: word("status").and_then(FactState::parse).expect("a state"),
        method: word("method").and_then(FactMethod::parse).expect("a method"),
        temporally_expired: word("temporalState") == Some("expired"),
        stale_pending: flag("stalePending"),
        novel: flag("novel"),
        freshness_failure: word("freshnessFailure").and_then(FreshnessFailure::parse),
        contested: flag("contested"),
    }
}

#[test]
fn decisions() {
    let Some(file) = shared::read("vectors/kaval/check-decision-vectors.json") else { return };
    let document = json::parse(&file).expect("strict JSON");
    assert_eq!(text(&document, "decision_rule_version"), decision::DEFAULT_VERSION);
    let rule = decision::rule(decision::DEFAULT_VERSION).expect("a known version");
    let mut ran = (0, 0, 0);
    run(list(&document, "decide").len(), list(&document, "decide"), "id", |case| {
        ran.0 += 1;
        let facts: Vec<Fact> = list(case, "facts").iter().map(table_fact).collect();
        let uncertain = case.get("options").and_then(|options| options.get("compilationUncertain"));
        let decided = rule.decide(&facts, uncertain.and_then(Value::as_bool).unwrap_or(false));
        equal(decided.verdict.as_str(), text(case, "verdict"))?;
        equal(decided.reason_codes, codes(list(case, "reason_codes")))
    });
    run(list(&document, "derive").len(), list(&document, "derive"), "id", |case| {
        ran.1 += 1;
        let derived =
            decision::derive(case.get("receipt").ok_or("no receipt")?).map_err(|error| error.to_string())?;
        equal(derived.decision.verdict.as_str(), text(case, "verdict"))?;
        equal(derived.decision.reason_codes, codes(list(case, "reason_codes")))
    });
    run(12, list(&document, "refuse"), "id", |case| {
        ran.2 += 1;
        match decision::derive(case.get("receipt").ok_or("no receipt")?) {
            Ok(derived) => Err(format!("derived {derived:?}")),
            Err(refusal) if refusal.to_string().contains(text(case, "message_contains")) => Ok(()),
            Err(refusal) => Err(refusal.to_string()),
        }
    });
    println!("decision vectors run: {ran:?} (decide, derive, refuse)");
    assert!(ran.0 >= 20 && ran.1 >= 4, "too few cases: {ran:?}");
}

#[test]
fn enums_are_published_in_order() {
    let Some(file) = shared::read("vectors/kaval/check-decision-vectors.json") else { return };
    let document = json::parse(&file).expect("strict JSON");
    let enums = document.get("enums").expect("enums");
    let published = |name| -> Vec<&str> {
        list(enums, name).iter().filter_map(|value| value.as_string()?.as_str()).collect()
    };
    let fact_codes = ReasonCode::ALL.iter().filter(|code| !code.is_gate_code());
    assert_eq!(published("verdicts"), Verdict::ALL.iter().map(|term| term.as_str()).collect::<Vec<_>>());
    assert_eq!(published("reason_codes"), fact_codes.map(|term| term.as_str()).collect::<Vec<_>>());
    assert_eq!(
        published("fact_methods"),
        FactMethod::ALL.iter().map(|term| term.as_str()).collect::<Vec<_>>()
    );
    assert_eq!(published("fact_states"), FactState::ALL.iter().map(|term| term.as_str()).collect::<Vec<_>>());
    assert_eq!(
        published("materialities"),
        Materiality::ALL.iter().map(|term| term.as_str()).collect::<Vec<_>>()
    );
    let failures = FreshnessFailure::ALL.iter().map(|term| term.as_str());
    assert_eq!(published("freshness_failures"), failures.collect::<Vec<_>>());
}

#[test]
fn webhooks() {
    let Some(file) = shared::read("vectors/kaval/webhook-signature-vectors.json") else { return };
    let document = json::parse(&file).expect("strict JSON");
    let cases = list(&document, "vectors");
    assert!(cases.len() >= 20, "only {} cases", cases.len());
    run(cases.len(), cases, "name", |case| {
        let pairs = |name| -> Vec<(&str, &str)> {
            let object = case.get(name).and_then(Value::as_object).expect("an object");
            object
                .iter()
                .filter_map(|(key, value)| Some((key.as_str()?, value.as_string()?.as_str()?)))
                .collect()
        };
        let number = |name| match case.get(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        };
        let secrets = pairs("secrets").into_iter().map(|(id, secret)| Secret::new(id, secret)).collect();
        let verifier =
            Verifier::new(secrets, number("tolerance_seconds")).map_err(|misuse| misuse.to_string())?;
        let now_ms = number("now").ok_or("no now")? * 1_000.0;
        let found = verifier.verify(&pairs("headers"), text(case, "body").as_bytes(), now_ms);
        let expected = case.get("expected").ok_or("nothing expected")?;
        let reason = expected.get("reason").and_then(Value::as_string).and_then(|reason| reason.as_str());
        equal(found.as_ref().err().map(|rejected| rejected.reason.code()), reason)?;
        equal(Some(found.is_ok()), expected.get("valid").and_then(Value::as_bool))
    });
}

#[test]
fn the_recorded_receipt() {
    let Some(file) = shared::read("vectors/kaval/recorded-check-receipt.json") else { return };
    let options = verify::Options { at: support::at("2026-08-01T00:00:00Z"), derive_verdict: true };
    let result = verify::verify_receipt_text(&file, r#"{"keys":[]}"#, &options);
    let value = result.to_value(Texts::WithCodes);
    let at = |pointer: &str| value.pointer(pointer).map(|value| json::to_text(value, Layout::Compact));
    for (pointer, expected) in [
        ("/accepted", "false"),
        ("/canonicalization/byte_length", "1530"),
        (
            "/canonicalization/sha256",
            r#""sha256:008e83881067843d29f81823abd897d336aad1307a0cc4fc99ccca688ff6873b""#,
        ),
        ("/cryptographic/code", r#""key_unknown""#),
        ("/key/key_id", r#""check-key-1""#),
        ("/decision/matches", "true"),
        (
            "/decision/derived",
            r#"{"verdict":"BLOCK","reason_codes":["FACT_UNKNOWN"],"decision_rule_version":"check-decision/1.0.0"}"#,
        ),
    ] {
        assert_eq!(at(pointer).as_deref(), Some(expected), "{pointer}");
    }
}

#[test]
fn the_shortened_packet_is_malformed() {
    let Some(file) = shared::read("vectors/kaval/mcp-verify-receipt-v1.json") else { return };
    let document = json::parse(&file).expect("strict JSON");
    let packet = document.pointer("/receipt/packet").expect("a packet");
    let options = verify::Options { at: support::at("2026-08-01T00:00:00Z"), derive_verdict: false };
    let result = verify::verify_receipt(packet, &Keyset::default(), &options);
    assert_eq!(result.format.error.map(|note| note.code), Some("signature_not_base64url"));
}

/// Blocks of JSON in the worked examples, in order.
fn worked_examples(specification: &str) -> Vec<&str> {
    let (_, section) = specification.split_once("\n## 13").expect("a section 13");
    section.split("```json\n").skip(1).filter_map(|block| Some(block.split_once("\n```")?.0)).collect()
}

/// A result without its sentences, which are not contract.
fn machine_members(value: &Value<'_>) -> String {
    match value {
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| match key.as_str() {
                Some("error" | "reason" | "message") => format!("{key}:(text)"),
                _ => format!("{key}:{}", machine_members(value)),
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(machine_members).collect::<Vec<_>>().join(","))
        }
        other => json::to_text(other, Layout::Compact),
    }
}

#[test]
fn the_worked_examples() {
    let Some(specification) = shared::read("spec/receipt-verification.md") else { return };
    let blocks = worked_examples(&specification);
    assert_eq!(blocks.len(), 10, "blocks of JSON in section 13");
    let with_lifecycle = |lifecycle: &str| {
        let retired = r#"{"status":"retired","status_changed_at":"2026-09-15T00:00:00Z"}"#;
        blocks[4].replace(retired, lifecycle)
    };
    let compromised =
        r#"{"status":"compromised","status_changed_at":"2026-06-02T12:00:00Z","reason":"HSM export"}"#;
    for (receipt, keys, result, at) in [
        (0, blocks[1].to_owned(), 2, "2026-08-01T10:00:00Z"),
        (3, blocks[4].to_owned(), 5, "2026-09-20T00:00:00Z"),
        (6, with_lifecycle(compromised), 7, "2026-06-02T00:00:00.000000001Z"),
        (8, with_lifecycle(r#"{"status":"active"}"#), 9, "2026-06-02T00:00:00Z"),
    ] {
        let options = verify::Options { at: support::at(at), derive_verdict: true };
        let found = verify::verify_receipt_text(blocks[receipt], &keys, &options);
        let expected = json::parse(blocks[result]).expect("strict JSON");
        assert_eq!(machine_members(&found.to_value(Texts::Reference)), machine_members(&expected));
    }
    // The numbers and the first key of the third example in other spellings make the same bytes.
    let respelled = blocks[6].replace("[1.5,0,1e-7]", "[1.50,-0,0.0000001]").replace('😀', r"\ud83d\ude00");
    assert_ne!(respelled, blocks[6]);
    let canonical =
        |text: &str| canonical::canonical_unsigned_receipt(&json::parse(text).expect("strict JSON"));
    assert_eq!(canonical(&respelled), canonical(blocks[6]));
    // Without derivation the contradicting receipt is accepted.
    let options = verify::Options { at: support::at("2026-06-02T00:00:00Z"), derive_verdict: false };
    let plain = verify::verify_receipt_text(blocks[8], &with_lifecycle(r#"{"status":"active"}"#), &options);
    assert!(plain.accepted && plain.decision.is_none());
}

/// Of the 914 edge cases of C2SP/CCTV the strict check accepts the 43 whose key and point R are canonical
/// encodings and not of small order, and whose cofactorless equation holds.
#[test]
fn ed25519_edge_cases() {
    let Some(file) = shared::read("vectors/cctv-ed25519/ed25519vectors.json") else { return };
    let document = json::parse(&file).expect("strict JSON");
    let cases = document.as_array().expect("a list");
    let mut accepted = 0;
    let mut failures = vec![];
    for case in cases {
        let bytes = |name| -> Vec<u8> {
            let digits = text(case, name).as_bytes().chunks(2);
            digits
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
                .collect()
        };
        let flags: Vec<&str> = match case.get("flags") {
            Some(Value::Array(flags)) => flags.iter().filter_map(|flag| flag.as_string()?.as_str()).collect(),
            _ => vec![],
        };
        let refused =
            ["low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R", "low_order_residue"];
        let expected = !flags.iter().any(|flag| refused.contains(flag));
        let key = PublicKey::from_bytes(bytes("key").try_into().expect("32 bytes"));
        let found = key.verify(text(case, "msg").as_bytes(), &bytes("sig").try_into().expect("64 bytes"));
        accepted += usize::from(found);
        if found != expected {
            failures.push(format!("{:?} {flags:?}: accepted {found}", case.get("number")));
        }
    }
    println!("accepted {accepted} of {}", cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!((accepted, cases.len()), (43, 914));
}

#[test]
fn refusals_of_every_row_have_codes_of_their_own() {
    // Cases without the data folder: one per row that the vectors cover.
    let fact = r#"{"materiality":"low","state":"holds","method":"state","temporal_state":null,"freshness_failure":null,"stale_pending":false,"novel":false}"#;
    let receipt = |fact: &str| {
        format!(
            r#"{{"decision_rule_version":"check-decision/1.1.0","compilation_uncertain":false,"facts":[{fact}]}}"#
        )
    };
    let code = |text: &str| {
        decision::derive(&json::parse(text).expect("strict JSON"))
            .map_err(|refusal: Refusal| refusal.code())
            .err()
    };
    assert_eq!(code(&receipt(fact)), None);
    for (from, to, expected) in [
        (r#""stale_pending":false"#, r#""stale_pending":0"#, "fact_discriminators_missing"),
        (r#""novel":false"#, r#""novel":null"#, "fact_discriminators_missing"),
        (r#""temporal_state":null,"#, "", "fact_temporal_state_missing"),
        (r#""temporal_state":null"#, r#""temporal_state":1"#, "fact_temporal_state_invalid"),
        (r#""freshness_failure":null,"#, "", "fact_freshness_failure_unknown"),
        (r#""freshness_failure":null"#, r#""freshness_failure":"old""#, "fact_freshness_failure_unknown"),
        (r#""low""#, r#""tiny""#, "fact_materiality_unknown"),
        (r#""holds""#, r#""HOLDS""#, "fact_state_unknown"),
        (r#""method":"state""#, r#""method":"guess""#, "fact_method_unknown"),
        (fact, "7", "fact_not_object"),
    ] {
        let changed = fact.replace(from, to);
        assert_ne!(changed, fact);
        assert_eq!(code(&receipt(&changed)), Some(expected), "{from} -> {to}");
    }
    assert_eq!(code(r#"{"facts":[]}"#), Some("compilation_uncertain_missing"));
    assert_eq!(code(r#"{"compilation_uncertain":true,"facts":{}}"#), Some("facts_missing"));
    assert_eq!(code(r#"{"compilation_uncertain":true,"facts":[]}"#), Some("rule_version_missing"));
    let unknown =
        r#"{"compilation_uncertain":true,"facts":[],"decision_rule_version":"check-decision/3.0.0"}"#;
    assert_eq!(code(unknown), Some("rule_version_unsupported"));
}
