//! The frozen vectors of this repository (`fixtures/vectors`), each case run, all failures collected.
//!
//! The files are written by `cargo run -p xtask -- fixtures`; their expectations do not come from this crate.
//! Both the number of cases and the digest of each file are pinned, so that no case can be lost or bent
//! unnoticed.

use kaval_receipt::assess::{self, Derive, Gates};
use kaval_receipt::expect::Expectations;
use kaval_receipt::instant::Instant;
use kaval_receipt::json::{self, JsonString, Limits};
use kaval_receipt::result::Texts;
use kaval_receipt::wrapper::{self, Wrappers};
use kaval_receipt::{EvaluationTime, Keyset, canonical, decision, envelope, freshness, verify};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Name, number of cases and SHA-256 of each file.
const FILES: [(&str, usize, &str); 10] = [
    ("canonical", 51, "5d98df6eefb87008330257378d924667f30025ce9e6cc252bf7d4004e08e4fbd"),
    ("decision", 513, "fe956346a2e36d7e6c3bc6efb0f082caf0304cbbe09068d80cb5bf8ea5588c4a"),
    ("envelope", 48, "7c3cb0a46f3ad99f0e6f48cd370000e121c772088eb6d9a435c44e1687b5821c"),
    ("freshness", 26, "57c7861c6e95c0ee926926c4fde11477cc69e3abb8bfbb71fc488d5eeb40e470"),
    ("instants", 68, "6da954442442999ece8c434f76d22695e0f115a249899fc47c6afe3a216dc987"),
    ("keysets", 98, "0a2d960df726fd4a4060933f1f471368f70a58e8f37b43f9e967a7fc73edd744"),
    ("reader", 135, "5a8908000e09f989df63657cd74ebc39f7a67150a2059ab5184faf8e26a2d534"),
    ("rule2", 144, "a5a2358ca91732a3545ffac7e22e5601deff59b032693936dbe8adb1bd30f7f7"),
    ("verify", 84, "deef12db5efd6b8ff66bc96de88855f4d588ee14bd7894049e2e8affbd5816e3"),
    ("wrapper", 22, "4f456759c1da44593b3d681dbdd06cf5c0ca5ac0fcf4a02d461d4a010b8d72b7"),
];

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/vectors")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs every case of a file, and fails with the ids of those that do not hold, or when the file is not the
/// pinned one.
fn run(name: &str, check: impl Fn(&Value, &Value) -> Result<(), String>) {
    let bytes = std::fs::read(folder().join(format!("{name}.json"))).expect("a readable file of vectors");
    let file: Value = serde_json::from_slice(&bytes).expect("JSON");
    let cases = file["cases"].as_array().expect("a list of cases");
    let mut ran = 0;
    let mut failures = Vec::new();
    for case in cases {
        ran += 1;
        if let Err(message) = check(&file, case) {
            failures.push(format!("{}: {message}", case["id"]));
        }
    }
    assert!(failures.is_empty(), "{name}: {} of {ran} fail\n{}", failures.len(), failures.join("\n"));
    let pinned = FILES.iter().find(|file| file.0 == name).expect("a file of the table");
    assert_eq!(
        (ran, hex(&Sha256::digest(&bytes)).as_str()),
        (pinned.1, pinned.2),
        "{name}: cases and digest"
    );
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}")) }
}

fn text<'v>(case: &'v Value, name: &str) -> &'v str {
    case[name].as_str().unwrap_or_else(|| panic!("{}: no text {name}", case["id"]))
}

/// The base document of a file with the changes of a case, as text.
fn patched(file: &Value, case: &Value) -> String {
    let mut document = file["base"].clone();
    for change in case["set"].as_array().expect("a list of changes") {
        set(&mut document, change[0].as_str().expect("a pointer"), change[1].clone());
    }
    for pointer in case["remove"].as_array().expect("a list of pointers") {
        let (parent, name) = split(pointer.as_str().expect("a pointer"));
        let parent = document.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object there");
        assert!(parent.remove(name).is_some(), "{}: nothing to remove at {pointer}", case["id"]);
    }
    document.to_string()
}

fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').expect("a pointer to a member")
}

fn set(document: &mut Value, pointer: &str, value: Value) {
    if pointer.is_empty() {
        *document = value;
        return;
    }
    let (parent, name) = split(pointer);
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.insert(name.to_owned(), value);
        }
        Some(Value::Array(elements)) => {
            *elements.get_mut(name.parse::<usize>().expect("an index")).expect("an element there") = value;
        }
        _ => panic!("nothing to set at {pointer}"),
    }
}

#[test]
fn every_file_is_in_the_table() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of vectors")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().replace(".json", ""))
        .collect();
    names.sort();
    assert_eq!(names, FILES.map(|file| file.0));
}

#[test]
fn reader() {
    run("reader", |_, case| {
        let limit = |name, usual| case.get(name).map_or(usual, |value| value.as_u64().expect("a number"));
        let limits = Limits::new(limit("max_depth", 128), limit("max_nodes", 1_000_000));
        if case.get("limits_refused").is_some() {
            return equal("limits refused", limits.is_err(), true);
        }
        let limits = limits.map_err(|error| error.to_string())?;
        let input = match case.get("parts") {
            Some(parts) => parts
                .as_array()
                .expect("a list of parts")
                .iter()
                .map(|part| {
                    let times = usize::try_from(part[1].as_u64().expect("a number")).expect("in memory");
                    part[0].as_str().expect("a text").repeat(times)
                })
                .collect(),
            None => text(case, "text").to_owned(),
        };
        match (json::parse_with_limits(&input, limits), case.get("code")) {
            (Err(error), Some(_)) => {
                equal("code", error.code(), text(case, "code"))?;
                equal("offset", Some(error.offset as u64), case["offset"].as_u64())
            }
            (Ok(value), None) => match case.get("canonical") {
                Some(_) => equal(
                    "canonical",
                    canonical::canonical_json(&value).map_err(|error| error.to_string())?.as_str(),
                    text(case, "canonical"),
                ),
                None => equal("accepted", true, case["accepted"] == true),
            },
            (Err(error), None) => Err(error.to_string()),
            (Ok(_), Some(code)) => Err(format!("read, expected {code}")),
        }
    });
}

#[test]
fn canonical_form() {
    run("canonical", |_, case| {
        if let Some(number) = case.get("number").and_then(Value::as_str) {
            let number = kaval_receipt::Value::Number(number.parse().expect("a number"));
            let code = canonical::canonical_json(&number).err().map(canonical::CanonicalError::code);
            return equal("code", code, case["code"].as_str());
        }
        let value = json::parse(text(case, "text")).map_err(|error| error.to_string())?;
        let made = match case["unsigned"].as_bool() {
            Some(true) => canonical::canonical_unsigned_receipt(&value),
            _ => canonical::canonical_json(&value),
        };
        match made {
            Err(error) => equal("code", Some(error.code()), case["code"].as_str()),
            Ok(made) => {
                equal("canonical", made.as_str(), text(case, "canonical"))?;
                let digest = canonical::Digest::of(made.as_bytes());
                equal("byte_length", Some(digest.byte_length as u64), case["byte_length"].as_u64())?;
                equal("sha256", digest.to_text().as_str(), text(case, "sha256"))
            }
        }
    });
}

#[test]
fn instants() {
    run("instants", |_, case| {
        if let Some(milliseconds) = case["milliseconds"].as_i64() {
            let spelled = EvaluationTime::from_unix_millis(milliseconds).ok();
            return equal(
                "spelling",
                spelled.as_ref().map(EvaluationTime::as_str),
                case["evaluated_at"].as_str(),
            );
        }
        let value = text(case, "text");
        let nanoseconds = Instant::parse(value).map(|instant| instant.nanoseconds().to_string());
        equal("nanoseconds", nanoseconds.as_deref(), case["nanoseconds"].as_str())?;
        let at = EvaluationTime::parse(value).ok();
        let echoed = case["nanoseconds"].is_string().then_some(value);
        equal("evaluation time", at.as_ref().map(EvaluationTime::as_str), echoed)
    });
}

#[test]
fn wrappers() {
    run("wrapper", |_, case| {
        let document = case["document"].to_string();
        let document = json::parse(&document).map_err(|error| error.to_string())?;
        for (name, wrappers) in [("compatible", Wrappers::Compatible), ("own", Wrappers::Own)] {
            let expected = text(case, name);
            match wrapper::extract_receipt(&document, wrappers) {
                Err(error) => equal(name, error.code(), expected)?,
                Ok(found) => {
                    let there = document
                        .pointer(expected)
                        .ok_or(format!("{name}: found one, expected {expected}"))?;
                    if !std::ptr::eq(found, there) {
                        return Err(format!("{name}: found {found:?}, expected the one at {expected:?}"));
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn envelopes() {
    run("envelope", |file, case| {
        let receipt = patched(file, case);
        let receipt = json::parse(&receipt).map_err(|error| error.to_string())?;
        let code = envelope::read_envelope(&receipt).err().map(envelope::EnvelopeError::code);
        equal("code", code, case["code"].as_str())
    });
}

#[test]
fn freshness_of_packets() {
    run("freshness", |_, case| {
        let receipt = case["receipt"].to_string();
        let receipt = json::parse(&receipt).map_err(|error| error.to_string())?;
        let at = EvaluationTime::parse(text(case, "at")).map_err(|error| error.to_string())?;
        let found = freshness::judge(&receipt, &at);
        equal("status", found.status.as_str(), text(case, "status"))?;
        equal("code", found.fault.map(freshness::FreshnessFault::code), case["code"].as_str())?;
        let echoed = found.times.map(|times| times.map(|time| time.as_str().map(str::to_owned)));
        let expected = (case["echoed"] == true).then(|| {
            ["issued_at", "recheck_at", "expires_at"]
                .map(|name| case["receipt"]["expiry"][name].as_str().map(str::to_owned))
        });
        equal("times", echoed, expected)
    });
}

#[test]
fn keysets() {
    run("keysets", |file, case| {
        let document = patched(file, case);
        let keyset = Keyset::from_value(&json::parse(&document).map_err(|error| error.to_string())?);
        let key = match keyset.lookup(&JsonString::from(text(case, "wanted"))) {
            Err(error) => return equal("code", Some(error.code()), case["code"].as_str()),
            Ok(key) => key,
        };
        equal("code", None, case["code"].as_str())?;
        equal("trust", key.trust_code(), text(case, "trust"))?;
        equal("trusted", Some(key.is_trusted()), case["trusted"].as_bool())?;
        let status = key.lifecycle.as_ref().map_or("unknown", |lifecycle| lifecycle.status.as_str());
        equal("lifecycle_status", status, text(case, "lifecycle_status"))
    });
}

/// A receipt of those facts that states what is expected under a rule.
fn receipt_of(case: &Value, version: &str) -> Value {
    let expected = &case[version];
    let mut receipt = json!({
        "decision_rule_version": format!("check-decision/{version}"),
        "compilation_uncertain": case["uncertain"],
        "facts": case["facts"],
        "decision": expected["verdict"],
        "reason_codes": expected["reason_codes"],
    });
    if version == "2.0.0" {
        receipt["receipt_version"] = json!("check-receipt/2.0.0");
        receipt["checked_at"] = json!("2026-08-01T09:30:00Z");
        receipt["candidate_decision"] = expected["candidate"]["verdict"].clone();
        receipt["action_classification"] =
            json!({"status": "unclassified", "action_class": null, "classifier_version": "c/1"});
        receipt["policy_binding"] = Value::Null;
        receipt["calibration_binding"] = Value::Null;
        let downgraded = expected["gate_status"] == "downgraded";
        let codes = if downgraded { expected["reason_codes"].clone() } else { json!([]) };
        receipt["gate"] = json!({
            "mode": "production", "evaluation_status": "unavailable",
            "status": expected["gate_status"], "reason_codes": codes,
        });
    }
    receipt
}

fn codes(codes: &[decision::ReasonCode]) -> Value {
    codes.iter().map(|code| code.as_str()).collect()
}

#[test]
fn decisions() {
    run("decision", |file, case| {
        if case["kind"] == "compare" {
            let receipt = patched(file, case);
            let report = decision::report(&json::parse(&receipt).map_err(|error| error.to_string())?);
            return equal(
                "code",
                report.fault.as_ref().map(decision::DecisionFault::code),
                case["code"].as_str(),
            );
        }
        if case["kind"] == "derive" {
            let receipt = patched(file, case);
            let refusal = decision::derive(&json::parse(&receipt).map_err(|error| error.to_string())?).err();
            return equal("code", refusal.as_ref().map(decision::Refusal::code), case["code"].as_str());
        }
        for version in ["1.0.0", "1.1.0", "2.0.0"] {
            let receipt = receipt_of(case, version).to_string();
            let receipt = json::parse(&receipt).map_err(|error| error.to_string())?;
            let derived = decision::derive(&receipt).map_err(|error| format!("{version}: {error}"))?;
            let expected = &case[version];
            equal(version, derived.decision.verdict.as_str(), text(expected, "verdict"))?;
            equal(version, &codes(&derived.decision.reason_codes), &expected["reason_codes"])?;
            if let Some(gated) = derived.gate {
                let candidate = &expected["candidate"];
                equal("candidate", gated.candidate.verdict.as_str(), text(candidate, "verdict"))?;
                equal("candidate codes", &codes(&gated.candidate.reason_codes), &candidate["reason_codes"])?;
                equal("gate", gated.status.as_str(), text(expected, "gate_status"))?;
            }
        }
        Ok(())
    });
}

#[test]
fn rule_2() {
    run("rule2", |file, case| {
        let receipt = patched(file, case);
        let receipt = json::parse(&receipt).map_err(|error| error.to_string())?;
        let derived = match decision::derive(&receipt) {
            Err(refusal) => return equal("code", Some(refusal.code()), case["code"].as_str()),
            Ok(derived) => derived,
        };
        equal("code", None, case["code"].as_str())?;
        equal("verdict", derived.decision.verdict.as_str(), text(case, "verdict"))?;
        equal("reason_codes", &codes(&derived.decision.reason_codes), &case["reason_codes"])?;
        let gated = derived.gate.ok_or("no gate")?;
        equal("candidate", gated.candidate.verdict.as_str(), text(case, "candidate"))?;
        equal("gate_status", gated.status.as_str(), text(case, "gate_status"))?;
        equal("gate_codes", &codes(&gated.reason_codes), &case["gate_codes"])
    });
}

fn gates_of(gates: &Value, derive: Derive) -> Result<Gates, String> {
    let members = gates.get("members").map(Value::to_string);
    let members = members.as_deref().map(json::parse).transpose().map_err(|error| error.to_string())?;
    let expectations = members.as_ref().map(Expectations::from_value).transpose();
    let words = gates["require_decision"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(Gates {
        derive,
        require_fresh: gates["require_fresh"] == true,
        max_age: gates["max_age_seconds"].as_u64().map(std::time::Duration::from_secs),
        require_decision: words
            .iter()
            .map(|word| word.as_str().and_then(decision::Verdict::parse).ok_or("not a verdict"))
            .collect::<Result<_, _>>()?,
        expectations: expectations.map_err(|error| error.to_string())?,
    })
}

#[test]
fn verifications() {
    run("verify", |file, case| {
        let gates = &case["gates"];
        let at = gates["at"].as_str().or(file["at"].as_str()).expect("a time");
        let at = EvaluationTime::parse(at).map_err(|error| error.to_string())?;
        let derive = match gates["derive"].as_str() {
            None => Derive::Auto,
            Some("always") => Derive::Always,
            Some("never") => Derive::Never,
            Some(other) => return Err(format!("no such choice: {other}")),
        };
        let mut derive_verdict = derive != Derive::Never;
        let (receipt, keys) = (text(case, "receipt"), text(case, "keys"));
        if let Some(outcome) = case["outcome"].as_str() {
            let document = json::parse(keys).map_err(|error| error.to_string())?;
            let gates = gates_of(gates, derive)?;
            let keyset = Keyset::from_value(&document);
            let found = assess::assess_text(receipt, &keyset, &at, &gates, Wrappers::Own, &mut Vec::new());
            equal("outcome", found.outcome.code(), outcome)?;
            if let Ok(result) = &found.result {
                derive_verdict = result.decision.is_some();
            }
        }
        let options = verify::Options { at, derive_verdict };
        let result = verify::verify_receipt_text(receipt, keys, &options);
        let result = json::to_text(&result.to_value(Texts::WithCodes), json::Layout::Compact);
        let result: Value = serde_json::from_str(&result).map_err(|error| error.to_string())?;
        for (pointer, expected) in case["expect"].as_object().expect("expected members") {
            equal(pointer, result.pointer(pointer).unwrap_or(&Value::Null), expected)?;
        }
        Ok(())
    });
}

fn sample(path: &str) -> String {
    std::fs::read_to_string(folder().join("..").join(path)).expect("a readable sample")
}

fn sample_outcome(receipt: &str, keyset: &str) -> String {
    let keyset = sample(&format!("keysets/{keyset}.json"));
    let keyset = Keyset::from_value(&json::parse(&keyset).expect("strict JSON"));
    let at = EvaluationTime::parse("2026-08-02T00:00:00Z").expect("a valid instant");
    let gates = Gates::default();
    let found = assess::assess_text(receipt, &keyset, &at, &gates, Wrappers::Own, &mut Vec::new());
    found.outcome.code().to_owned()
}

#[test]
fn sample_receipts_and_keysets_have_their_outcomes() {
    for (receipt, outcome) in [
        ("allow", "accepted"),
        ("block", "accepted"),
        ("lone-surrogate", "accepted"),
        ("mismatch", "verdict_mismatch"),
        ("packet-fresh", "accepted"),
        ("review", "accepted"),
        ("rule-1.0.0", "accepted"),
        ("rule-2-downgraded", "accepted"),
        ("rule-2-passed", "accepted"),
        ("tampered", "signature_invalid"),
        ("wrapped", "accepted"),
    ] {
        let text = sample(&format!("receipts/{receipt}.json"));
        assert_eq!(sample_outcome(&text, "sample"), outcome, "{receipt}");
    }
    let allow = sample("receipts/allow.json");
    for (keyset, outcome) in [
        ("bare-key", "accepted"),
        ("compromised", "key_untrusted"),
        ("malformed", "keys_malformed"),
        ("no-lifecycle", "key_untrusted"),
        ("per-key", "accepted"),
        ("retired", "accepted"),
        ("revoked", "key_untrusted"),
        ("wrapped", "accepted"),
    ] {
        assert_eq!(sample_outcome(&allow, keyset), outcome, "{keyset}");
    }
}
