//! `fixtures/receipts`: one receipt for each thing a verifier can say.

use crate::files::Files;
use crate::signing::{KEY_ID, other_key, signature, signed, signed_file, with_signature};
use kaval_receipt::json::{self, Layout};

/// The wall clock of every sample receipt.
pub(crate) const CHECKED_AT: &str = "2026-08-01T09:30:00.000Z";

/// One fact of a check receipt.
pub(crate) struct Fact {
    pub(crate) text: &'static str,
    pub(crate) materiality: &'static str,
    pub(crate) state: &'static str,
    pub(crate) temporal_state: &'static str,
    pub(crate) source: &'static str,
}

impl Fact {
    fn to_json(&self, index: usize) -> String {
        let Self { text, materiality, state, temporal_state, source } = self;
        // Digests only have to look like digests: no verifier opens the source.
        let digest = "5b3e".repeat(16);
        format!(
            r#"{{"fingerprint":"fact:sha256:{index:02x}9f4c7a10d25e","text":"{text}","materiality":"{materiality}","state":"{state}","checked_at":"{CHECKED_AT}","method":"state","temporal_state":"{temporal_state}","stale_pending":false,"novel":false,"freshness_failure":null,"basis":[{{"source_locator":"{source}","version_sha256":"{digest}","version_sha256_of":"canonical_text","parser_name":"html-text","parser_version":"2.1.0","fetched_at":"2026-08-01T09:12:07.000Z"}}]}}"#
        )
    }
}

const REFUND_WINDOW_HOLDS: Fact = Fact {
    text: "Refunds are granted within 30 days of purchase",
    materiality: "high",
    state: "holds",
    temporal_state: "current",
    source: "https://policies.example.com/refunds",
};
const LIMIT_HOLDS: Fact = Fact {
    text: "Support may refund up to 200 EUR without approval",
    materiality: "critical",
    state: "holds",
    temporal_state: "current",
    source: "https://policies.example.com/approval-limits",
};
const REFUND_WINDOW_CHANGED: Fact =
    Fact { state: "changed", temporal_state: "superseded", ..REFUND_WINDOW_HOLDS };
const CONTACT_CHANGED: Fact = Fact {
    text: "Refund questions go to refunds@example.com — weekdays only",
    materiality: "medium",
    state: "changed",
    temporal_state: "superseded",
    source: "https://policies.example.com/contact",
};

/// An unsigned check receipt without an ALLOW gate.
pub(crate) fn check(id: &str, rule: &str, decision: &str, codes: &str, facts: &[Fact]) -> String {
    let facts: Vec<String> = facts.iter().enumerate().map(|(index, fact)| fact.to_json(index)).collect();
    format!(
        r#"{{"receipt_version":"check-receipt/1.0.0","id":"{id}","tenant_id":"5d0c2f7a-8b1e-4f6d-b3c9-1a2e3f4a5b6c","workspace_id":null,"decision":"{decision}","reason_codes":[{codes}],"decision_rule_version":"check-decision/{rule}","mode":"standard","checked_at":"{CHECKED_AT}","compilation_uncertain":false,"facts":[{}],"proof_packet_ids":[]}}"#,
        facts.join(",")
    )
}

/// The sample that allows.
pub(crate) fn allow() -> String {
    check(
        "7a1c9f52-3b84-4e0d-9c6e-21f8d0b4a701",
        "1.1.0",
        "ALLOW",
        r#""ALL_FACTS_HOLD""#,
        &[REFUND_WINDOW_HOLDS, LIMIT_HOLDS],
    )
}

/// The sample that asks for review.
pub(crate) fn review() -> String {
    check(
        "7a1c9f52-3b84-4e0d-9c6e-21f8d0b4a702",
        "1.1.0",
        "REVIEW",
        r#""FACT_CHANGED""#,
        &[LIMIT_HOLDS, CONTACT_CHANGED],
    )
}

/// The sample that blocks.
pub(crate) fn block() -> String {
    check(
        "7a1c9f52-3b84-4e0d-9c6e-21f8d0b4a703",
        "1.1.0",
        "BLOCK",
        r#""FACT_CHANGED""#,
        &[REFUND_WINDOW_CHANGED, LIMIT_HOLDS],
    )
}

/// A sample under the oldest rule.
pub(crate) fn oldest_rule() -> String {
    check("7a1c9f52-3b84-4e0d-9c6e-21f8d0b4a704", "1.0.0", "ALLOW", r#""ALL_FACTS_HOLD""#, &[LIMIT_HOLDS])
}

/// A sample whose stated verdict does not follow from its facts.
pub(crate) fn mismatch() -> String {
    check(
        "7a1c9f52-3b84-4e0d-9c6e-21f8d0b4a705",
        "1.1.0",
        "ALLOW",
        r#""ALL_FACTS_HOLD""#,
        &[REFUND_WINDOW_CHANGED, LIMIT_HOLDS],
    )
}

/// An unsigned receipt under rule 2.0.0 whose facts hold; the gate passes it.
pub(crate) fn gate_passed() -> String {
    let facts = LIMIT_HOLDS.to_json(0);
    format!(
        r#"{{"receipt_version":"check-receipt/2.0.0","id":"7a1c9f52-3b84-4e0d-9c6e-21f8d0b4a706","decision_rule_version":"check-decision/2.0.0","checked_at":"{CHECKED_AT}","compilation_uncertain":false,"facts":[{facts}],"candidate_decision":"ALLOW","decision":"ALLOW","reason_codes":["ALL_FACTS_HOLD"],"action_classification":{{"status":"classified","action_class":"refund_issue","classifier_version":"action-classifier/3"}},"policy_binding":{{"id":"pol-refunds","version":"7","action_class":"refund_issue","minimum_sample_size":500,"maximum_false_allow_upper_bound_bps":25,"valid_from":"2026-07-01T00:00:00Z","valid_until":"2026-10-01T00:00:00Z","demo_only":false}},"calibration_binding":{{"id":"cal-refunds-7","policy_id":"pol-refunds","policy_version":"7","action_class":"refund_issue","sample_size":820,"false_allow_upper_bound_bps":20,"evaluated_at":"2026-07-20T00:00:00Z","expires_at":"2026-09-20T00:00:00Z","demo_only":false}},"gate":{{"mode":"production","evaluation_status":"available","status":"passed","reason_codes":[]}}}}"#
    )
}

/// The same with too small a sample behind its calibration, so the gate takes ALLOW back.
pub(crate) fn gate_downgraded() -> String {
    let code = r#"["ALLOW_CALIBRATION_INSUFFICIENT"]"#;
    gate_passed()
        .replace("d0b4a706", "d0b4a707")
        .replace(r#""sample_size":820"#, r#""sample_size":120"#)
        .replace(
            r#""decision":"ALLOW","reason_codes":["ALL_FACTS_HOLD"]"#,
            &format!(r#""decision":"REVIEW","reason_codes":{code}"#),
        )
        .replace(
            r#""status":"passed","reason_codes":[]"#,
            &format!(r#""status":"downgraded","reason_codes":{code}"#),
        )
}

/// A proof packet with expiry times: fresh on 1 August 2026, to be rechecked from the 8th, expired from
/// 1 September.
pub(crate) fn packet() -> String {
    r#"{"proof_id":"proof_7a1c9f52","created_at":"2026-08-01T09:30:00Z","claim":"Refunds are granted within 30 days of purchase","expiry":{"issued_at":"2026-08-01T09:30:00Z","recheck_at":"2026-08-08T09:30:00Z","expires_at":"2026-09-01T00:00:00Z"}}"#.to_owned()
}

/// A packet with an unpaired surrogate in a key and in a value, and keys whose UTF-16 order is not that of
/// their code points.
pub(crate) fn lone_surrogate() -> String {
    r#"{"proof_id":"proof_surrogate","created_at":"2026-08-01T09:30:00Z","ﬁ":2,"😀":1,"\udfff":"a \ud800 b","numbers":[1.50,-0,0.0000001]}"#.to_owned()
}

pub(crate) fn add(files: &mut Files) {
    let samples = [
        ("allow", allow()),
        ("review", review()),
        ("block", block()),
        ("rule-1.0.0", oldest_rule()),
        ("rule-2-passed", gate_passed()),
        ("rule-2-downgraded", gate_downgraded()),
        ("packet-fresh", packet()),
        ("lone-surrogate", lone_surrogate()),
        ("mismatch", mismatch()),
    ];
    for (name, unsigned) in samples {
        files.add(&format!("receipts/{name}.json"), signed_file(&unsigned));
    }
    let wrapped = format!(r#"{{"receipt":{}}}"#, signed(&allow()));
    let wrapped = json::parse(&wrapped).expect("generated receipts are strict JSON");
    files.add("receipts/wrapped.json", json::to_text(&wrapped, Layout::Indented) + "\n");
    files.add("receipts/tampered.json", signed_file(&allow()).replace("200 EUR", "900 EUR"));
}

/// A receipt that names the sample key and was signed by another.
pub(crate) fn forged(unsigned: &str) -> String {
    with_signature(unsigned, KEY_ID, &signature(unsigned, &other_key()), Layout::Compact)
}
