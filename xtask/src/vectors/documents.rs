//! Wrappers, signature blocks and freshness.
//!
//! Source: receipt verification, sections 3, 4 and 8.

use super::{add_cases, code, patched};
use crate::files::Files;
use crate::receipts;
use crate::signing::signed;
use serde_json::{Value, json};

pub(crate) fn add(files: &mut Files) {
    add_cases(files, "wrapper", json!({}), wrapper());
    let base: Value = serde_json::from_str(&signed(&receipts::allow())).expect("a generated receipt");
    add_cases(files, "envelope", json!({"base": base}), envelope());
    add_cases(files, "freshness", json!({}), freshness());
}

fn wrapper() -> Vec<Value> {
    // Document, then where the reference's wrappers find the receipt, then where ours do. A word that is no
    // pointer is a fault.
    let none = "receipt_not_found";
    let no_object = "receipt_document_not_object";
    let table: Vec<(&str, Value, &str, &str)> = vec![
        ("null", json!(null), no_object, no_object),
        ("array", json!([{"signature": {}}]), no_object, no_object),
        ("string", json!("{}"), no_object, no_object),
        ("bare", json!({"signature": {}}), "", ""),
        ("bare-null-signature", json!({"signature": null, "packet": {}}), "", ""),
        ("bare-beside-both", json!({"signature": {}, "packet": {}, "run": {"packet": {}}}), "", ""),
        ("packet", json!({"packet": {"signature": {}}}), "/packet", "/packet"),
        ("packet-unsigned", json!({"packet": {}}), "/packet", "/packet"),
        ("run-packet", json!({"run": {"packet": {"a": 1}}}), "/run/packet", "/run/packet"),
        ("both", json!({"packet": {}, "run": {"packet": {}}}), none, none),
        ("neither", json!({}), none, none),
        (
            "packet-null-is-ignored",
            json!({"packet": null, "run": {"packet": {}}}),
            "/run/packet",
            "/run/packet",
        ),
        (
            "packet-array-is-ignored",
            json!({"packet": [], "run": {"packet": {}}}),
            "/run/packet",
            "/run/packet",
        ),
        ("run-packet-text-is-ignored", json!({"packet": {}, "run": {"packet": "x"}}), "/packet", "/packet"),
        ("run-text-is-ignored", json!({"packet": {}, "run": "x"}), "/packet", "/packet"),
        ("packet-text-alone", json!({"packet": "x"}), none, none),
        ("receipt", json!({"receipt": {"signature": {}}}), none, "/receipt"),
        ("receipt-null", json!({"receipt": null}), none, none),
        ("receipt-and-packet", json!({"receipt": {}, "packet": {}}), "/packet", none),
        ("receipt-and-run-packet", json!({"receipt": {}, "run": {"packet": {}}}), "/run/packet", none),
        ("nested-packet", json!({"packet": {"packet": {"signature": {}}}}), "/packet", "/packet"),
        ("deprecated-answer", json!({"status": "ok", "result": {"packet": {}}}), none, none),
    ];
    table
        .into_iter()
        .map(|(id, document, compatible, own)| {
            json!({"id": id, "document": document, "compatible": compatible, "own": own})
        })
        .collect()
}

fn envelope() -> Vec<Value> {
    let set = |id: &str, pointer: &str, value: Value, expected: &str| {
        patched(id, &[(pointer, value)], &[], code(expected))
    };
    let remove = |id: &str, pointer: &str, expected: &str| patched(id, &[], &[pointer], code(expected));
    let signature = "/signature/signature";
    let mut cases = vec![
        patched("sound", &[], &[], json!({"code": null})),
        set("row-1-null", "", json!(null), "receipt_not_object"),
        set("row-1-array", "", json!([]), "receipt_not_object"),
        set("row-1-text", "", json!("receipt"), "receipt_not_object"),
        remove("row-2-missing", "/signature", "signature_missing"),
        set("row-2-null", "/signature", json!(null), "signature_missing"),
        set("row-2-array", "/signature", json!([]), "signature_missing"),
        set("row-2-text", "/signature", json!("x"), "signature_missing"),
        remove("row-3-algorithm", "/signature/algorithm", "signature_field_set"),
        remove("row-3-key-id", "/signature/key_id", "signature_field_set"),
        remove("row-3-signature", signature, "signature_field_set"),
        set("row-3-more", "/signature/alg", json!("Ed25519"), "signature_field_set"),
        set("row-3-empty", "/signature", json!({}), "signature_field_set"),
        patched(
            "row-3-swapped-name",
            &[("/signature/kid", json!("k"))],
            &["/signature/key_id"],
            code("signature_field_set"),
        ),
        patched(
            "row-3-before-4",
            &[("/signature/signed_at", json!("x")), ("/signature/x", json!(1))],
            &[],
            code("signature_field_set"),
        ),
        set("row-4-null", "/signature/signed_at", json!(null), "signed_at_invalid"),
        set("row-4-number", "/signature/signed_at", json!(1), "signed_at_invalid"),
        set("row-4-day", "/signature/signed_at", json!("2026-02-30T00:00:00Z"), "signed_at_invalid"),
        set(
            "row-5-other-spelling",
            "/signature/signed_at",
            json!("2026-08-01T09:30:00Z"),
            "signed_at_mismatch",
        ),
        set("row-5-other-instant", "/checked_at", json!("2026-08-01T09:30:00.001Z"), "signed_at_mismatch"),
        set("row-5-checked-at-no-instant", "/checked_at", json!("today"), "signed_at_mismatch"),
        remove("row-5-without-signed-at", "/signature/signed_at", ""),
        remove("row-5-without-checked-at", "/checked_at", ""),
        set("row-5-checked-at-number", "/checked_at", json!(7), ""),
        patched(
            "row-5-before-6",
            &[("/checked_at", json!("x")), ("/signature/algorithm", json!("RSA"))],
            &[],
            code("signed_at_mismatch"),
        ),
        set("row-6-case", "/signature/algorithm", json!("ed25519"), "algorithm_unsupported"),
        set("row-6-eddsa", "/signature/algorithm", json!("EdDSA"), "algorithm_unsupported"),
        set("row-6-null", "/signature/algorithm", json!(null), "algorithm_unsupported"),
        patched(
            "row-6-before-7",
            &[("/signature/algorithm", json!("")), ("/signature/key_id", json!(""))],
            &[],
            code("algorithm_unsupported"),
        ),
        set("row-7-number", "/signature/key_id", json!(1), "key_id_invalid"),
        set("row-7-empty", "/signature/key_id", json!(""), "key_id_invalid"),
        set("row-7-blank", "/signature/key_id", json!(" \u{feff}\u{2028}\u{3000}"), "key_id_invalid"),
        set("row-7-next-line-is-not-blank", "/signature/key_id", json!("\u{85}"), ""),
        set("row-7-128", "/signature/key_id", json!("k".repeat(128)), ""),
        set("row-7-129", "/signature/key_id", json!("k".repeat(129)), "key_id_invalid"),
        set("row-7-64-astral", "/signature/key_id", json!("😀".repeat(64)), ""),
        set("row-7-65-astral", "/signature/key_id", json!("😀".repeat(65)), "key_id_invalid"),
        patched(
            "row-7-before-8",
            &[("/signature/key_id", json!("")), (signature, json!(""))],
            &[],
            code("key_id_invalid"),
        ),
        set("row-8-null", signature, json!(null), "signature_not_base64url"),
        set("row-8-empty", signature, json!(""), "signature_not_base64url"),
        set("row-8-padded", signature, json!(format!("{}==", "A".repeat(86))), "signature_not_base64url"),
        set(
            "row-8-standard-alphabet",
            signature,
            json!(format!("+/{}", "A".repeat(84))),
            "signature_not_base64url",
        ),
        set("row-8-space", signature, json!(format!(" {}", "A".repeat(86))), "signature_not_base64url"),
        set("row-8-63-bytes", signature, json!("A".repeat(84)), "signature_not_canonical"),
        set("row-8-65-bytes", signature, json!("A".repeat(87)), "signature_not_canonical"),
        set("row-8-dangling", signature, json!("A".repeat(85)), "signature_not_canonical"),
        set("row-8-spare-bits", signature, json!(format!("{}B", "A".repeat(85))), "signature_not_canonical"),
        set("row-8-64-bytes", signature, json!("A".repeat(86)), ""),
    ];
    for case in &mut cases {
        if case["code"] == "" {
            case["code"] = Value::Null;
        }
    }
    cases
}

fn freshness() -> Vec<Value> {
    let (issued, recheck, expires) = ("2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z", "2026-06-03T00:00:00Z");
    let expiry = |issued: &str, recheck: &str, expires: &str| json!({"expiry": {"issued_at": issued, "recheck_at": recheck, "expires_at": expires}});
    let sound = || expiry(issued, recheck, expires);
    let missing = "expiry_missing";
    let order = "expiry_order_invalid";
    // Receipt, evaluation time, status, fault, whether the times are echoed.
    let table: Vec<(&str, Value, &str, &str, &str, bool)> = vec![
        ("not-object", json!([]), issued, "unknown", "", false),
        ("null", json!(null), issued, "unknown", "", false),
        ("no-expiry", json!({}), issued, "unknown", missing, false),
        ("expiry-null", json!({"expiry": null}), issued, "unknown", missing, false),
        ("expiry-array", json!({"expiry": [issued, recheck, expires]}), issued, "unknown", missing, false),
        (
            "no-issued",
            json!({"expiry": {"recheck_at": recheck, "expires_at": expires}}),
            issued,
            "unknown",
            missing,
            false,
        ),
        (
            "no-recheck",
            json!({"expiry": {"issued_at": issued, "expires_at": expires}}),
            issued,
            "unknown",
            missing,
            false,
        ),
        (
            "no-expires",
            json!({"expiry": {"issued_at": issued, "recheck_at": recheck}}),
            issued,
            "unknown",
            missing,
            false,
        ),
        ("issued-invalid", expiry("2026-06-01", recheck, expires), issued, "unknown", missing, false),
        (
            "recheck-number",
            json!({"expiry": {"issued_at": issued, "recheck_at": 1, "expires_at": expires}}),
            issued,
            "unknown",
            missing,
            false,
        ),
        (
            "expires-minus-zero-offset",
            expiry(issued, recheck, "2026-06-03T00:00:00-00:00"),
            issued,
            "unknown",
            missing,
            false,
        ),
        ("recheck-before-issued", expiry(recheck, issued, expires), issued, "unknown", order, true),
        ("recheck-is-expires", expiry(issued, expires, expires), issued, "unknown", order, true),
        ("recheck-after-expires", expiry(issued, expires, recheck), issued, "unknown", order, true),
        ("all-equal", expiry(issued, issued, issued), issued, "unknown", order, true),
        ("expires-before-issued", expiry(expires, expires, issued), issued, "unknown", order, true),
        ("recheck-is-issued", expiry(issued, issued, expires), issued, "recheck_due", "", true),
        ("one-nanosecond-early", sound(), "2026-05-31T23:59:59.999999999Z", "not_yet_issued", "", true),
        ("at-issued", sound(), issued, "fresh", "", true),
        ("at-issued-in-other-zone", sound(), "2026-06-01T02:00:00+02:00", "fresh", "", true),
        ("before-recheck", sound(), "2026-06-01T23:59:59.999999999Z", "fresh", "", true),
        ("at-recheck", sound(), recheck, "recheck_due", "", true),
        ("before-expires", sound(), "2026-06-02T23:59:59.999999999Z", "recheck_due", "", true),
        ("at-expires", sound(), expires, "expired", "", true),
        ("long-after", sound(), "9999-12-31T23:59:59Z", "expired", "", true),
        (
            "recheck-is-issued-early",
            expiry(issued, issued, expires),
            "2026-05-31T00:00:00Z",
            "not_yet_issued",
            "",
            true,
        ),
    ];
    table
        .into_iter()
        .map(|(id, receipt, at, status, fault, echoed)| {
            let fault = if fault.is_empty() { Value::Null } else { json!(fault) };
            json!({"id": id, "receipt": receipt, "at": at, "status": status, "code": fault, "echoed": echoed})
        })
        .collect()
}
