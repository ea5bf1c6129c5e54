//! Gates: which outcome applies first, and what it says.

mod support;

use kaval_receipt::assess::{Assessment, Derive, Gates, assess_text, signed_receipt};
use kaval_receipt::decision::Verdict;
use kaval_receipt::expect::Expectations;
use kaval_receipt::wrapper::Wrappers;
use kaval_receipt::{Auditor, Keyset, Outcome, json};
use std::time::Duration;
use support::{active, at, keyset, sign};

const AT: &str = "2026-08-01T10:00:00Z";

fn assess(text: &str, keyset: &Keyset, gates: &Gates) -> Assessment {
    assess_text(text, keyset, &at(AT), gates, Wrappers::Own, &mut Vec::new())
}

fn check_receipt(decision: &str, codes: &str, uncertain: bool) -> String {
    sign(&format!(
        r#"{{"id":"r-1","decision":"{decision}","reason_codes":[{codes}],"decision_rule_version":"check-decision/1.1.0",
        "checked_at":"2026-08-01T09:00:00Z","compilation_uncertain":{uncertain},"facts":[]}}"#
    ))
}

fn allow() -> String {
    check_receipt("ALLOW", r#""ALL_FACTS_HOLD""#, false)
}

fn expectations(text: &str) -> Option<Expectations> {
    Some(Expectations::from_value(&json::parse(text).expect("JSON")).expect("expectations"))
}

#[test]
fn an_authentic_receipt_is_accepted() {
    let assessment = assess(&allow(), &active(), &Gates::default());
    assert_eq!(assessment.outcome, Outcome::Accepted);
    assert_eq!(assessment.detail, None);
    assert_eq!(assessment.receipt_id.as_ref().and_then(|id| id.as_str()), Some("r-1"));
    assert_eq!(assessment.key_id.as_ref().and_then(|id| id.as_str()), Some("test-key"));
    assert_eq!(assessment.decision.as_ref().and_then(|decision| decision.as_str()), Some("ALLOW"));
}

#[test]
fn outcomes_without_a_result_name_what_is_missing() {
    for (text, code, has_digest) in [
        ("", "json_value", false),
        ("\u{feff}{}", "json_value", false),
        ("[]", "receipt_document_not_object", false),
        ("{}", "receipt_not_found", false),
        (r#"{"packet":{},"run":{"packet":{}}}"#, "receipt_not_found", false),
        (r#"{"packet":{"a":1}}"#, "signature_missing", true),
        (r#"{"signature":null}"#, "signature_missing", true),
        (r#"{"signature":{"key_id":1}}"#, "key_id_missing", true),
    ] {
        let assessment = assess(text, &active(), &Gates::default());
        assert_eq!(assessment.outcome, Outcome::Malformed, "{text}");
        assert_eq!(assessment.result.as_ref().map_err(|stop| stop.code()).unwrap_err(), code, "{text}");
        assert_eq!(assessment.digest.is_some(), has_digest, "{text}");
        assert!(assessment.detail.is_some());
    }
}

#[test]
fn a_malformed_envelope_still_has_a_digest_and_a_result() {
    let receipt = allow().replace(r#""algorithm":"Ed25519""#, r#""algorithm":"ed25519""#);
    let assessment = assess(&receipt, &active(), &Gates::default());
    assert_eq!(assessment.outcome, Outcome::Malformed);
    assert_eq!(assessment.digest, assess(&allow(), &active(), &Gates::default()).digest);
    let result = assessment.result.expect("a result");
    assert_eq!(result.format.error.map(|note| note.code), Some("algorithm_unsupported"));
}

#[test]
fn the_own_wrapper_is_not_one_of_the_reference() {
    let wrapped = format!(r#"{{"receipt":{},"x":1}}"#, allow());
    assert_eq!(assess(&wrapped, &active(), &Gates::default()).outcome, Outcome::Accepted);
    let document = json::parse(&wrapped).expect("JSON");
    assert!(signed_receipt(&document, Wrappers::Compatible).is_err());
    let two = format!(r#"{{"receipt":{0},"packet":{0}}}"#, allow());
    assert_eq!(assess(&two, &active(), &Gates::default()).outcome, Outcome::Malformed);
}

#[test]
fn the_first_outcome_that_applies_wins() {
    let none = Keyset::from_value(&json::parse(r#"{"keys":[]}"#).expect("JSON"));
    let unusable = Keyset::from_value(&json::parse("[]").expect("JSON"));
    let revoked =
        r#","lifecycle":{"status":"revoked","status_changed_at":"2026-08-01T09:30:00Z","reason":"lost"}"#;
    let forged = allow().replace("r-1", "r-2");
    let wrong = check_receipt("ALLOW", r#""ALL_FACTS_HOLD""#, true);
    let strange =
        sign(r#"{"decision":"ALLOW","reason_codes":[],"decision_rule_version":"check-decision/9"}"#);
    let bare = sign(r#"{"decision":"ALLOW"}"#);
    let every_gate = Gates {
        derive: Derive::Always,
        require_fresh: true,
        max_age: Some(Duration::ZERO),
        require_decision: vec![Verdict::Block],
        expectations: expectations(r#"{"id":"other"}"#),
    };
    for (text, keyset, outcome) in [
        (&forged, &unusable, Outcome::KeysMalformed),
        (&forged, &none, Outcome::KeyUnknown),
        (&forged, &keyset(revoked), Outcome::SignatureInvalid),
        (&wrong, &keyset(revoked), Outcome::KeyUntrusted),
        (&wrong, &keyset(""), Outcome::KeyUntrusted),
        (&strange, &active(), Outcome::NotDerivable),
        (&bare, &active(), Outcome::NotDerivable),
        (&wrong, &active(), Outcome::VerdictMismatch),
        (&allow(), &active(), Outcome::NotFresh),
    ] {
        let assessment = assess(text, keyset, &every_gate);
        assert_eq!(assessment.outcome, outcome, "{:?}", assessment.detail);
        assert!(assessment.detail.is_some_and(|detail| !detail.is_empty()));
    }
    let without_age = Gates { require_fresh: false, max_age: None, ..every_gate };
    assert_eq!(assess(&allow(), &active(), &without_age).outcome, Outcome::ActionMismatch);
    let decision_only = Gates { expectations: None, ..without_age };
    assert_eq!(assess(&allow(), &active(), &decision_only).outcome, Outcome::DecisionRefused);
}

#[test]
fn derivation_is_automatic_and_can_be_left_out() {
    let wrong = check_receipt("ALLOW", r#""ALL_FACTS_HOLD""#, true);
    let bare = sign(r#"{"proof_id":"p","decision":"ALLOW"}"#);
    let never = Gates { derive: Derive::Never, ..Gates::default() };
    assert_eq!(assess(&wrong, &active(), &Gates::default()).outcome, Outcome::VerdictMismatch);
    assert_eq!(assess(&wrong, &active(), &never).outcome, Outcome::Accepted);
    assert_eq!(assess(&bare, &active(), &Gates::default()).outcome, Outcome::Accepted);
    // A required decision insists on derivation even where it would be left out.
    let required = Gates { require_decision: vec![Verdict::Allow], ..never };
    assert_eq!(assess(&wrong, &active(), &required).outcome, Outcome::VerdictMismatch);
    assert_eq!(assess(&bare, &active(), &required).outcome, Outcome::NotDerivable);
    assert_eq!(assess(&allow(), &active(), &required).outcome, Outcome::Accepted);
}

#[test]
fn contradictions_of_rule_two_are_mismatches_and_gaps_are_not() {
    let rule_two = |candidate: &str, decision: &str, gate: &str| {
        sign(&format!(
            r#"{{"receipt_version":"check-receipt/2.0.0","decision_rule_version":"check-decision/2.0.0",
            "checked_at":"2026-08-01T09:00:00Z","compilation_uncertain":true,"facts":[],
            "candidate_decision":"{candidate}","decision":"{decision}","reason_codes":["COMPILATION_UNCERTAIN"],
            "action_classification":{{"status":"unclassified","action_class":null,"classifier_version":"1"}},
            "policy_binding":null,"calibration_binding":null,
            "gate":{{"mode":"production","evaluation_status":"available","status":"{gate}","reason_codes":[]}}}}"#
        ))
    };
    for (receipt, outcome) in [
        (rule_two("REVIEW", "REVIEW", "not_applicable"), Outcome::Accepted),
        (rule_two("ALLOW", "REVIEW", "not_applicable"), Outcome::VerdictMismatch),
        (rule_two("REVIEW", "REVIEW", "passed"), Outcome::VerdictMismatch),
        (rule_two("REVIEW", "ALLOW", "not_applicable"), Outcome::VerdictMismatch),
        (rule_two("REVIEW", "REVIEW", "open"), Outcome::NotDerivable),
        (rule_two("MAYBE", "REVIEW", "not_applicable"), Outcome::NotDerivable),
    ] {
        let assessment = assess(&receipt, &active(), &Gates::default());
        assert_eq!(assessment.outcome, outcome, "{:?}", assessment.detail);
    }
}

#[test]
fn age_is_measured_from_the_signed_time() {
    let gate = |max_age| Gates { max_age: Some(Duration::from_secs(max_age)), ..Gates::default() };
    let checked = |time: &str| sign(&format!(r#"{{"checked_at":"{time}"}}"#));
    for (time, max_age, outcome) in [
        ("2026-08-01T09:00:00Z", 3_600, Outcome::Accepted),
        ("2026-08-01T08:59:59.999999999Z", 3_600, Outcome::NotFresh),
        ("2026-08-01T10:01:00Z", 0, Outcome::Accepted),
        ("2026-08-01T10:01:00.000000001Z", u64::MAX, Outcome::NotFresh),
        ("0000-01-01T00:00:00Z", u64::MAX, Outcome::Accepted),
        ("yesterday", 3_600, Outcome::NotFresh),
    ] {
        assert_eq!(assess(&checked(time), &active(), &gate(max_age)).outcome, outcome, "{time}");
    }
    assert_eq!(assess(&sign(r#"{"a":1}"#), &active(), &gate(1)).outcome, Outcome::NotFresh);
}

#[test]
fn a_withdrawn_key_says_what_the_own_time_is_worth() {
    let withdrawn = |changed: &str| {
        keyset(&format!(
            r#","lifecycle":{{"status":"compromised","status_changed_at":"{changed}","reason":"HSM export"}}"#
        ))
    };
    let detail =
        |text: &str, keyset: &Keyset| assess(text, keyset, &Gates::default()).detail.expect("a detail");
    let before = detail(&allow(), &withdrawn("2026-08-01T09:00:01Z"));
    assert!(before.contains("HSM export") && before.contains("checked_at lies before"), "{before}");
    assert!(before.contains("signer's word"), "{before}");
    let after = detail(&allow(), &withdrawn("2026-08-01T09:00:00Z"));
    assert!(after.contains("checked_at lies after"), "{after}");
    let packet = sign(r#"{"created_at":"2026-08-01T09:00:00Z"}"#);
    assert!(detail(&packet, &withdrawn("2026-08-01T09:00:00Z")).contains("created_at lies after"));
    assert!(detail(&sign("{}"), &withdrawn("2026-08-01T09:00:00Z")).contains("no time of its own"));
}

#[test]
fn an_auditor_counts_and_ends_with_the_worst() {
    let keyset = active();
    let mut auditor = Auditor::new(&keyset, at(AT), Gates::default());
    assert_eq!(auditor.counts().exit_code(), 2);
    auditor.assess_text(&allow());
    assert_eq!(auditor.counts().exit_code(), 0);
    auditor.assess_bytes(allow().replace("r-1", "r-\u{2}").as_bytes());
    auditor.assess_bytes(allow().replace("r-1", "r-2").as_bytes());
    auditor.record(Outcome::NotFresh);
    assert_eq!(auditor.counts().of(Outcome::Malformed), 1);
    assert_eq!(auditor.counts().of(Outcome::SignatureInvalid), 1);
    assert_eq!((auditor.counts().total(), auditor.counts().exit_code()), (4, 2));
    let mut merged = auditor.counts().clone();
    merged.merge(auditor.counts());
    assert_eq!(merged.total(), 8);
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_and_so_fail_the_signature() {
    let keyset = active();
    let mut auditor = Auditor::new(&keyset, at(AT), Gates::default());
    let mut bytes = allow().into_bytes();
    let id = bytes.windows(3).position(|window| window == b"r-1").expect("the id");
    bytes[id] = 0xFF;
    assert_eq!(auditor.assess_bytes(&bytes).outcome, Outcome::SignatureInvalid);
}

#[test]
fn messages_stay_short_whatever_the_receipt_holds() {
    let long = "x".repeat(1_000_000);
    let codes = vec![format!("\"{long}\""); 5].join(",");
    let members: Vec<String> =
        (0..2_000).map(|index| format!(r#""{index}{}":1"#, "y".repeat(1_000))).collect();
    for receipt in [
        check_receipt(&long, r#""ALL_FACTS_HOLD""#, false),
        check_receipt("ALLOW", &codes, false),
        allow().replace("check-decision/1.1.0", &long),
        format!(r#"{{"{long}":1,"{long}":2}}"#),
        sign(&format!(
            r#"{{"receipt_version":"check-receipt/2.0.0","decision_rule_version":"check-decision/2.0.0",
            "candidate_decision":"ALLOW","decision":"ALLOW","checked_at":"2026-08-01T09:00:00Z","reason_codes":[],
            "action_classification":{{{}}}}}"#,
            members.join(",")
        )),
    ] {
        let detail = assess(&receipt, &active(), &Gates::default()).detail.expect("not accepted");
        assert!(detail.len() < 3_000, "{} bytes", detail.len());
    }
}
