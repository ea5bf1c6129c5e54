//! Whole verifications: each class of change to a signed receipt, each state of the key, each shape of result.
//!
//! Source: receipt verification, sections 7 and 9.

use super::add_cases;
use crate::files::Files;
use crate::receipts;
use crate::signing::{
    KEY_ID, OTHER_KEY_ID, base64url, other_key, public_x, sample_key, signature,
    signature_with_neutral_point, signed, with_signature,
};
use crate::{keysets, receipts::forged};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kaval_receipt::json::{self, Layout, Object, Value as Read};
use serde_json::{Value, json};

const AT: &str = "2026-08-02T00:00:00Z";

/// The order of the base point, little-endian (RFC 8032, section 5.1).
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

struct Case {
    id: &'static str,
    receipt: String,
    keys: String,
    gates: Value,
    outcome: &'static str,
    expect: Value,
}

/// A case against the active sample key with derivation as the receipt calls for it.
fn case(id: &'static str, receipt: String, outcome: &'static str) -> Case {
    Case { id, receipt, keys: keysets::active(), gates: json!({}), outcome, expect: json!({}) }
}

impl Case {
    fn keys(self, keys: String) -> Self {
        Self { keys, ..self }
    }

    fn gates(self, gates: Value) -> Self {
        Self { gates, ..self }
    }

    fn expect(self, expect: Value) -> Self {
        Self { expect, ..self }
    }
}

/// Replaces text that is there exactly once.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from} stands there once");
    text.replace(from, to)
}

fn reordered(receipt: &str) -> String {
    let value = json::parse(receipt).expect("a generated receipt");
    let members: Vec<_> = value.as_object().expect("an object").iter().collect();
    let mut turned = Object::new();
    for (name, member) in members.into_iter().rev() {
        turned.insert(name.clone(), member.clone());
    }
    json::to_text(&Read::Object(turned), Layout::Compact)
}

/// The same signature with the order of the base point added to its scalar: equal in arithmetic, but not the
/// reduced spelling.
fn with_unreduced_scalar(signature: &str) -> String {
    let mut bytes = URL_SAFE_NO_PAD.decode(signature).expect("a generated signature");
    let mut carry = 0_u16;
    for (byte, add) in bytes.iter_mut().skip(32).zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        let [low, high] = sum.to_le_bytes();
        (*byte, carry) = (low, u16::from(high));
    }
    base64url(&bytes)
}

fn mutations() -> Vec<Case> {
    let unsigned = receipts::allow();
    let good = signed(&unsigned);
    let good_signature = signature(&unsigned, &sample_key());
    let odd = signed(&receipts::lone_surrogate());
    let sign_as =
        |key_id: &str, signature: &str| with_signature(&unsigned, key_id, signature, Layout::Compact);
    let mismatch =
        || json!({"/cryptographic/code": "signature_mismatch", "/key/found": true, "/format/valid": true});
    vec![
        case("unchanged", good.clone(), "accepted").expect(json!({
            "/accepted": true, "/scope": "signature_envelope+decision_table", "/contract_version": "1",
            "/receipt/algorithm": "Ed25519", "/receipt/key_id": KEY_ID, "/receipt/proof_id": null,
            "/canonicalization/algorithm": "kaval-stable-json-v1", "/canonicalization/valid": true,
            "/cryptographic/valid": true, "/key/found": true, "/key/lifecycle_status": "active", "/key/trusted": true,
            "/freshness/status": "unknown", "/freshness/evaluated_at": AT, "/freshness/code": "expiry_missing",
            "/decision/matches": true, "/decision/derived/verdict": "ALLOW",
            "/decision/receipt_rule_version": "check-decision/1.1.0",
            "/decision/supported_rule_version": "check-decision/2.0.0",
        })),
        case("changed-byte", replaced(&good, "200 EUR", "900 EUR"), "signature_invalid").expect(mismatch()),
        case("changed-key", replaced(&good, "\"mode\"", "\"mods\""), "signature_invalid"),
        case("changed-case", replaced(&good, "\"standard\"", "\"Standard\""), "signature_invalid"),
        case("changed-number", replaced(&odd, "[1.5,", "[1.25,"), "signature_invalid"),
        case("changed-type", replaced(&good, "\"workspace_id\":null", "\"workspace_id\":\"null\""), "signature_invalid"),
        case("changed-surrogate", replaced(&odd, "\\ud800", "\\ud801"), "signature_invalid"),
        case("changed-normalisation", replaced(&signed(&receipts::review()), "— weekdays", "\u{2013} weekdays"), "signature_invalid"),
        case("dropped-member", replaced(&good, "\"workspace_id\":null,", ""), "signature_invalid"),
        case("dropped-element", replaced(&odd, ",0,", ","), "signature_invalid"),
        case("added-member", replaced(&good, "{\"receipt_version\"", "{\"note\":1,\"receipt_version\""), "signature_invalid"),
        case("added-member-null", replaced(&good, "\"mode\"", "\"note\":null,\"mode\""), "signature_invalid"),
        case("added-element", replaced(&odd, ",0,", ",0,0,"), "signature_invalid"),
        case("reordered-members", reordered(&good), "accepted"),
        case("reordered-elements", replaced(&odd, "[1.5,0,", "[0,1.5,"), "signature_invalid"),
        case("indented", json::to_text(&json::parse(&good).expect("a generated receipt"), Layout::Indented), "accepted"),
        case("respelled-fraction", replaced(&odd, "[1.5,", "[1.50,"), "accepted"),
        case("respelled-zero", replaced(&odd, ",0,", ",-0.0e5,"), "accepted"),
        case("respelled-exponent", replaced(&odd, "1e-7", "0.00000010"), "accepted"),
        case("respelled-string", replaced(&odd, "😀", "\\ud83d\\ude00"), "accepted"),
        case("respelled-letter", replaced(&good, "\"mode\"", "\"\\u006dode\""), "accepted"),
        case("lone-surrogate", odd.clone(), "accepted").expect(json!({"/receipt/proof_id": "proof_surrogate", "/scope": "signature_envelope"})),
        case("other-key-same-id", forged(&unsigned), "signature_invalid").expect(mismatch()),
        case("other-key-id", sign_as(OTHER_KEY_ID, &good_signature), "key_unknown")
            .expect(json!({"/key/found": false, "/key/code": "key_unknown", "/key/key_id": OTHER_KEY_ID, "/cryptographic/code": "key_unknown", "/canonicalization/valid": true})),
        case("other-public-key", good.clone(), "signature_invalid")
            .keys(replaced(&keysets::active(), &public_x(&sample_key()), &public_x(&other_key()))),
        case("swapped-signature", sign_as(KEY_ID, &signature(&receipts::block(), &sample_key())), "signature_invalid"),
        case("zero-signature", sign_as(KEY_ID, &base64url(&[0; 64])), "signature_invalid"),
        case("unreduced-scalar", sign_as(KEY_ID, &with_unreduced_scalar(&good_signature)), "signature_invalid"),
        case("short-signature", sign_as(KEY_ID, "AAAA"), "malformed").expect(json!({"/format/code": "signature_not_canonical"})),
        case("signed-at-respelled", good.replace(&format!("\"signed_at\":\"{}\"", receipts::CHECKED_AT), "\"signed_at\":\"2026-08-01T09:30:00Z\""), "malformed")
            .expect(json!({"/format/code": "signed_at_mismatch"})),
        case("signed-at-dropped", good.replace(&format!(",\"signed_at\":\"{}\"", receipts::CHECKED_AT), ""), "accepted"),
    ]
}

fn keys() -> Vec<Case> {
    let good = signed(&receipts::allow());
    let with = |lifecycle: &str| keysets::keyset(&[keysets::entry(&format!(r#","lifecycle":{lifecycle}"#))]);
    let with_x = |x: &str| replaced(&keysets::active(), &public_x(&sample_key()), x);
    let case = |id, keys, outcome| case(id, good.clone(), outcome).keys(keys);
    // The neutral point as key and as R with S = 0 satisfies the equation for every message.
    let neutral = {
        let mut bytes = [0; 64];
        bytes[0] = 1;
        with_signature(&receipts::allow(), KEY_ID, &base64url(&bytes), Layout::Compact)
    };
    vec![
        case("key-retired", with(r#"{"status":"retired"}"#), "accepted").expect(json!({"/key/code": "retired"})),
        case("key-revoked", with(r#"{"status":"revoked","status_changed_at":"2026-09-15T00:00:00Z","reason":"r"}"#), "key_untrusted")
            .expect(json!({"/accepted": false, "/cryptographic/valid": true, "/key/trusted": false, "/key/code": "revoked", "/key/status_changed_at": "2026-09-15T00:00:00Z"})),
        case("key-compromised", with(r#"{"status":"compromised","status_changed_at":"2026-09-15T00:00:00Z","reason":"r"}"#), "key_untrusted")
            .expect(json!({"/key/code": "compromised"})),
        case("key-without-lifecycle", keysets::keyset(&[keysets::entry("")]), "key_untrusted")
            .expect(json!({"/key/code": "lifecycle_unspecified", "/key/lifecycle_status": "unknown"})),
        case("key-other-form", replaced(&keysets::active(), "kaval-stable-json-v1", "jcs"), "key_untrusted")
            .expect(json!({"/key/code": "canonicalization_unsupported", "/key/canonicalization": "jcs"})),
        case("key-no-form", replaced(&keysets::active(), "\"canonicalization\":\"kaval-stable-json-v1\",", ""), "key_untrusted")
            .expect(json!({"/key/code": "canonicalization_undeclared", "/key/canonicalization": null})),
        case("key-document-malformed", "[]".to_owned(), "keys_malformed")
            .expect(json!({"/key/found": false, "/key/code": "key_document_not_object", "/key/key_id": KEY_ID, "/cryptographic/code": "key_document_not_object"})),
        case("key-document-empty", r#"{"keys":[]}"#.to_owned(), "key_unknown"),
        case("key-not-a-point", with_x(&format!("Ag{}", "A".repeat(41))), "signature_invalid"),
        case("key-of-small-order", with_x(&format!("AQ{}", "A".repeat(41))), "signature_invalid"),
        Case { receipt: neutral.clone(), ..case("key-and-signature-of-small-order", with_x(&format!("AQ{}", "A".repeat(41))), "signature_invalid") },
        Case {
            receipt: with_signature(
                &receipts::allow(),
                KEY_ID,
                &signature_with_neutral_point(&receipts::allow(), &sample_key()),
                Layout::Compact,
            ),
            ..case("signature-of-small-order-that-adds-up", keysets::active(), "signature_invalid")
        },
        Case { receipt: neutral, ..case("signature-of-small-order", keysets::active(), "signature_invalid") },
    ]
}

fn results() -> Vec<Case> {
    let mismatch = || signed(&receipts::mismatch());
    let packet = || signed(&receipts::packet());
    let never = || json!({"derive": "never"});
    let fresh = |at: &str| json!({"require_fresh": true, "at": at});
    let without_version =
        || signed(&replaced(&receipts::allow(), "\"decision_rule_version\":\"check-decision/1.1.0\",", ""));
    let unknown_version =
        || signed(&replaced(&receipts::allow(), "check-decision/1.1.0", "check-decision/9.0.0"));
    vec![
        case("derived-mismatch", mismatch(), "verdict_mismatch")
            .expect(json!({"/accepted": false, "/cryptographic/valid": true, "/decision/code": "decision_mismatch", "/decision/derived/verdict": "BLOCK", "/decision/stated/verdict": "ALLOW"})),
        case("not-derived-mismatch", mismatch(), "accepted").gates(never()).expect(json!({"/accepted": true, "/scope": "signature_envelope", "/decision": null})),
        case("rule-1.0.0", signed(&receipts::oldest_rule()), "accepted"),
        case("rule-2-passed", signed(&receipts::gate_passed()), "accepted").expect(json!({"/decision/derived/gate/status": "passed"})),
        case("rule-2-downgraded", signed(&receipts::gate_downgraded()), "accepted")
            .expect(json!({"/decision/derived/verdict": "REVIEW", "/decision/derived/candidate_decision": "ALLOW", "/decision/derived/gate/status": "downgraded"})),
        case("no-rule-version", without_version(), "accepted").expect(json!({"/scope": "signature_envelope"})),
        case("no-rule-version-derived", without_version(), "not_derivable")
            .gates(json!({"derive": "always"}))
            .expect(json!({"/accepted": false, "/decision/code": "rule_version_missing"})),
        case("unknown-rule-version", unknown_version(), "not_derivable").expect(json!({"/decision/code": "rule_version_unsupported", "/decision/receipt_rule_version": "check-decision/9.0.0"})),
        case("fact-beyond-judgement", signed(&receipts::allow().replace("\"method\":\"state\"", "\"method\":\"oracle\"")), "not_derivable")
            .expect(json!({"/decision/code": "fact_method_unknown"})),
        case("signature-before-mismatch", forged(&receipts::mismatch()), "signature_invalid").expect(json!({"/decision/matches": false})),
        case("packet-fresh", packet(), "accepted").gates(fresh(AT)).expect(json!({"/freshness/status": "fresh", "/freshness/issued_at": "2026-08-01T09:30:00Z", "/receipt/proof_id": "proof_7a1c9f52"})),
        case("packet-recheck", packet(), "not_fresh").gates(fresh("2026-08-08T09:30:00Z")).expect(json!({"/freshness/status": "recheck_due", "/accepted": true})),
        case("packet-expired", packet(), "not_fresh").gates(fresh("2026-09-01T00:00:00Z")).expect(json!({"/freshness/status": "expired", "/accepted": true})),
        case("packet-early", packet(), "not_fresh").gates(fresh("2026-08-01T09:29:59.999Z")).expect(json!({"/freshness/status": "not_yet_issued"})),
        case("packet-expired-not-required", packet(), "accepted").gates(json!({"at": "2026-09-01T00:00:00Z"})),
        case("check-receipt-is-never-fresh", signed(&receipts::allow()), "not_fresh").gates(fresh(AT)),
        case("not-json", "{\"a\":1,}".to_owned(), "malformed")
            .expect(json!({"/format/code": "receipt_json_invalid", "/canonicalization/valid": false, "/canonicalization/code": "format_invalid", "/cryptographic/code": "format_invalid", "/key/code": "format_invalid", "/key/found": false, "/freshness/status": "unknown", "/freshness/reason": null})),
        case("not-object", "[]".to_owned(), "malformed").expect(json!({"/format/code": "receipt_not_object", "/freshness/reason": null, "/receipt": {}})),
        case("no-signature", receipts::packet(), "malformed").expect(json!({"/format/code": "signature_missing", "/receipt/proof_id": "proof_7a1c9f52", "/freshness/status": "fresh"})),
        case("proof-id-number", signed(&replaced(&receipts::packet(), "\"proof_7a1c9f52\"", "7")), "accepted").expect(json!({"/receipt/proof_id": null})),
        case("wrapped", format!(r#"{{"receipt":{}}}"#, signed(&receipts::allow())), "accepted").expect(json!({"/format/code": "signature_missing"})),
        case("wrapped-packet", format!(r#"{{"packet":{}}}"#, packet()), "accepted"),
        case("wrapped-twice", format!(r#"{{"packet":{0},"receipt":{0}}}"#, packet()), "malformed"),
        case("keys-not-json", signed(&receipts::allow()), "").keys("{".to_owned())
            .expect(json!({"/accepted": false, "/format/valid": true, "/cryptographic/valid": false, "/cryptographic/code": "key_json_invalid", "/key/code": "key_json_invalid", "/key/key_id": KEY_ID, "/key/found": false})),
        case("keys-not-json-and-malformed", "{}".to_owned(), "").keys("{".to_owned())
            .expect(json!({"/format/code": "signature_missing", "/cryptographic/code": "key_json_invalid", "/key/code": "key_json_invalid"})),
        case("receipt-not-json-before-keys", "{".to_owned(), "").keys("{".to_owned())
            .expect(json!({"/format/code": "receipt_json_invalid", "/cryptographic/code": "format_invalid", "/key/code": "format_invalid"})),
    ]
}

/// Gates on top of an authentic receipt, checked at 09:30 on 1 August 2026.
fn gates() -> Vec<Case> {
    let age = |seconds: u64, at: &str| json!({"max_age_seconds": seconds, "at": at});
    let decision = |words: &[&str]| json!({"require_decision": words});
    let members = |members: Value| json!({"members": members});
    let block = || signed(&receipts::block());
    let gated = || signed(&receipts::gate_passed());
    vec![
        case("age-at-limit", block(), "accepted").gates(age(3_600, "2026-08-01T10:30:00Z")),
        case("age-over-limit", block(), "not_fresh").gates(age(3_600, "2026-08-01T10:30:00.000000001Z")),
        case("age-ahead-by-skew", block(), "accepted").gates(age(3_600, "2026-08-01T09:29:00Z")),
        case("age-ahead-by-more", block(), "not_fresh").gates(age(3_600, "2026-08-01T09:28:59.999Z")),
        case("age-of-a-packet", signed(&receipts::packet()), "not_fresh").gates(age(86_400, AT)),
        case("decision-required", block(), "accepted").gates(decision(&["REVIEW", "BLOCK"])),
        case("decision-refused", block(), "decision_refused").gates(decision(&["ALLOW"])),
        case("decision-required-of-mismatch", signed(&receipts::mismatch()), "verdict_mismatch")
            .gates(decision(&["ALLOW"])),
        case("decision-required-of-packet", signed(&receipts::packet()), "not_derivable")
            .gates(decision(&["ALLOW"])),
        case("members-as-expected", gated(), "accepted")
            .gates(members(json!({"/policy_binding/id": "pol-refunds", "/gate/status": "passed"}))),
        case("members-other", gated(), "action_mismatch")
            .gates(members(json!({"/policy_binding/id": "pol-other"}))),
        case("members-missing", block(), "action_mismatch")
            .gates(members(json!({"/policy_binding/id": "pol-refunds"}))),
        case("members-before-decision", block(), "action_mismatch")
            .gates(json!({"members": {"/id": "x"}, "require_decision": ["ALLOW"]})),
        case("signature-before-gates", forged(&receipts::block()), "signature_invalid")
            .gates(decision(&["ALLOW"])),
    ]
}

pub(crate) fn add(files: &mut Files) {
    let cases = mutations().into_iter().chain(keys()).chain(results()).chain(gates()).map(|case| {
        // No outcome is stated for a key document that is no JSON: a keyset is made from a value.
        let outcome = if case.outcome.is_empty() { Value::Null } else { json!(case.outcome) };
        json!({"id": case.id, "receipt": case.receipt, "keys": case.keys, "gates": case.gates, "outcome": outcome, "expect": case.expect})
    });
    let cases = cases.collect();
    add_cases(files, "verify", json!({"at": AT}), cases);
}
