//! The files in `tests/cmd/inputs`: made here, so that every one says how it differs from a good one.
//!
//! `UPDATE_INPUTS=1` writes them; otherwise they must be what this makes.

use super::support::{KEY_ID, active_keyset, input, key, keyset, sign};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kaval_receipt::canonical::Digest;
use std::fs;

/// A check receipt; the members differ from case to case.
fn check_receipt(decision: &str, code: &str, state: &str, rule: &str, text: &str) -> String {
    sign(&format!(
        r#"{{"receipt_version":"check-receipt/1.0.0","id":"0f6a4b1e-0000-4c58-9a53-2f0b7d1c9e44","workspace_id":"ws-refunds","action_classification":{{"status":"classified","action_class":"refund_issue"}},"decision":"{decision}","reason_codes":["{code}"],"decision_rule_version":"{rule}","checked_at":"2026-08-01T09:30:00.000Z","compilation_uncertain":false,"facts":[{{"fingerprint":"fact:sha256:ab12","text":"{text}","materiality":"high","state":"{state}","method":"state","temporal_state":"current","stale_pending":false,"novel":false,"freshness_failure":null,"basis":[{{"role":"supporting"}}]}}]}}"#
    ))
}

const RULE: &str = "check-decision/1.1.0";
const TEXT: &str = "Refunds are open for 30 days";

fn allow() -> String {
    check_receipt("ALLOW", "ALL_FACTS_HOLD", "holds", RULE, TEXT)
}

fn packet(issued_at: &str) -> String {
    sign(&format!(
        r#"{{"proof_id":"proof_1","created_at":"2026-08-01T00:00:00Z","expiry":{{"issued_at":"{issued_at}","recheck_at":"2026-08-02T00:00:00Z","expires_at":"2026-08-03T00:00:00Z"}}}}"#
    ))
}

fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let withdrawn = |status| {
        format!(
            r#","lifecycle":{{"status":"{status}","status_changed_at":"2026-07-01T00:00:00Z","reason":"laptop lost"}}"#
        )
    };
    let utf16: Vec<u8> = allow().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let other_key = key("").replace(KEY_ID, "other-key");
    let texts = [
        ("allow.json", allow()),
        ("block.json", check_receipt("BLOCK", "FACT_CHANGED", "changed", RULE, TEXT)),
        ("changed-byte.json", allow().replace("30 days", "90 days")),
        ("verdict-mismatch.json", check_receipt("ALLOW", "ALL_FACTS_HOLD", "changed", RULE, TEXT)),
        (
            "unknown-rule.json",
            check_receipt("ALLOW", "ALL_FACTS_HOLD", "holds", "check-decision/9.0.0", TEXT),
        ),
        ("unknown-key.json", allow().replace(KEY_ID, "nobody-2026")),
        (
            "hostile-text.json",
            check_receipt("ALLOW", "ALL_FACTS_HOLD", "holds", RULE, r"a\u001b[2Jb\u009bc\u007fd\u202ee\nf"),
        ),
        ("wrapped-receipt.json", format!(r#"{{"receipt":{}}}"#, allow())),
        ("wrapped-packet.json", format!(r#"{{"packet":{}}}"#, packet("2026-08-01T00:00:00Z"))),
        ("packet.json", packet("2026-08-01T00:00:00Z")),
        ("impossible-expiry.json", packet("2026-08-09T00:00:00Z")),
        ("other-algorithm.json", allow().replace(r#""algorithm":"Ed25519""#, r#""algorithm":"RS256""#)),
        ("no-receipt.json", r#"{"hello":"world"}"#.to_owned()),
        ("no-key-id.json", r#"{"signature":{"key_id":7}}"#.to_owned()),
        ("no-signature-object.json", r#"{"signature":null}"#.to_owned()),
        ("duplicate-key.json", allow().replacen("{", r#"{"id":"x","#, 1)),
        ("byte-order-mark.json", format!("\u{feff}{}", allow())),
        ("line-ends.json", format!("\r\n{}\r\n", allow())),
        ("nul.json", format!("{}\0", allow())),
        ("empty.json", String::new()),
        ("keys.json", active_keyset()),
        ("keys-retired.json", keyset(r#","lifecycle":{"status":"retired"}"#)),
        ("keys-revoked.json", keyset(&withdrawn("revoked"))),
        (
            "keys-compromised-later.json",
            keyset(&withdrawn("compromised").replace("2026-07-01", "2026-09-01")),
        ),
        ("keys-no-lifecycle.json", keyset("")),
        ("keys-other-form.json", active_keyset().replace("kaval-stable-json-v1", "jcs")),
        ("keys-unusable.json", active_keyset().replace(r#""use":"proof_verification""#, r#""use":"sig""#)),
        ("keys-not-json.json", "keys: []".to_owned()),
        (
            "keys-duplicate.json",
            format!(r#"{{"keys":[{},{}]}}"#, key(r#","lifecycle":{"status":"active"}"#), key("")),
        ),
        ("keys-reused.json", format!(r#"{{"keys":[{},{other_key}]}}"#, key(""))),
        (
            "expected.json",
            r#"{"action_class":"refund_issue","workspace":"ws-refunds","fact_fingerprints":["fact:sha256:ab12"],"/facts/0/state":"holds"}"#.to_owned(),
        ),
        ("expected-other.json", r#"{"action_class":"wire_transfer"}"#.to_owned()),
        ("expected-nothing.json", "{}".to_owned()),
    ];
    let mut inputs: Vec<_> = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    inputs.extend(delivery());
    inputs.push(("utf-16.json", [vec![0xFF, 0xFE], utf16].concat()));
    inputs.push(("not-utf-8.json", allow().into_bytes().into_iter().chain([0xFF]).collect()));
    inputs
}

/// A signed webhook delivery, its headers and its secret in every form they are read in.
fn delivery() -> Vec<(&'static str, Vec<u8>)> {
    let body = r#"{"event_type":"fact_state.delta"}"#;
    // 2026-08-01T10:00:00Z
    let (id, timestamp) = ("evt_1", "1785578400");
    let mac = hmac_sha256(b"not a secret", format!("{id}.{timestamp}.{body}").as_bytes());
    let signature = format!("v1,{}", URL_SAFE_NO_PAD.encode(mac));
    let secret = URL_SAFE_NO_PAD.encode("not a secret");
    let texts = [
        ("delivery.body", body.to_owned()),
        (
            "headers.txt",
            format!(
                "Content-Type: application/json\nWebhook-Id: {id}\nWebhook-Timestamp: {timestamp}\n\
                 Webhook-Key-Id: wsk_1\nWebhook-Signature: {signature}\n"
            ),
        ),
        (
            "headers.json",
            format!(
                r#"[["webhook-id","{id}"],["webhook-timestamp","{timestamp}"],{{"name":"webhook-key-id","value":"wsk_1"}},["webhook-signature","{signature}"]]"#
            ),
        ),
        ("secrets.json", format!(r#"{{"wsk_0":"b2xk","wsk_1":"{secret}"}}"#)),
        ("secrets.txt", format!("# rotated in July\nwsk_0=b2xk\n\nwsk_1:{secret}\n")),
        ("secrets-other.txt", "wsk_0=b2xk\n".to_owned()),
        ("secrets-broken.txt", format!("{secret}\n")),
        ("secrets-not-base64.txt", "wsk_1:hello world\n".to_owned()),
    ];
    texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect()
}

/// HMAC-SHA256 with a key shorter than a block, from its definition in RFC 2104.
fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let padded =
        |pad: u8| -> Vec<u8> { (0..64).map(|index| key.get(index).copied().unwrap_or(0) ^ pad).collect() };
    let inner = Digest::of(&[&*padded(0x36), message].concat()).sha256;
    Digest::of(&[padded(0x5C), inner.to_vec()].concat()).sha256
}

#[test]
fn the_inputs_are_what_this_makes() {
    let inputs = inputs();
    assert!(inputs.len() >= 30);
    for (name, bytes) in inputs {
        if std::env::var_os("UPDATE_INPUTS").is_some() {
            fs::write(input(name), &bytes).expect("an input");
        }
        assert!(fs::read(input(name)).expect(name) == bytes, "{name} differs");
    }
}
