//! Key documents and trust.
//!
//! Source: receipt verification, sections 6 and 7.

use super::{add_cases, code, patched};
use crate::files::Files;
use crate::keysets;
use crate::signing::{KEY_ID, OTHER_KEY_ID, other_key, public_x};
use serde_json::{Value, json};

/// What a found key is trusted for.
fn found(trust: &str, status: &str, trusted: bool) -> Value {
    json!({"code": null, "trust": trust, "lifecycle_status": status, "trusted": trusted})
}

fn entry() -> Value {
    serde_json::from_str(&keysets::entry("")).expect("a generated key")
}

fn other_entry() -> Value {
    let mut other = entry();
    other["key_id"] = json!(OTHER_KEY_ID);
    other["public_key"]["x"] = json!(public_x(&other_key()));
    other
}

pub(crate) fn add(files: &mut Files) {
    let base: Value = serde_json::from_str(&keysets::active()).expect("a generated key document");
    let mut cases = shapes();
    cases.extend(entries());
    cases.extend(lifecycles());
    cases.extend(several_keys());
    for case in &mut cases {
        if case.get("wanted").is_none() {
            case["wanted"] = json!(KEY_ID);
        }
    }
    add_cases(files, "keysets", json!({"base": base}), cases);
}

fn active() -> Value {
    found("active", "active", true)
}

fn shapes() -> Vec<Value> {
    let whole = |id: &str, document: Value, expected: Value| patched(id, &[("", document)], &[], expected);
    let mut own = entry();
    own["canonicalization"] = json!("kaval-stable-json-v1");
    own["lifecycle"] = json!({"status": "active"});
    let inherited = json!({"canonicalization": "kaval-stable-json-v1", "keys": [entry()]});
    let mut bare_with_keyset = own.clone();
    bare_with_keyset["keyset"] = json!("x");
    let mut bare_with_keys_object = own.clone();
    bare_with_keys_object["keys"] = json!({});
    vec![
        patched("bare-keyset", &[], &[], active()),
        whole("null", json!(null), code("key_document_not_object")),
        whole("array", json!([entry()]), code("key_document_not_object")),
        whole("per-key", json!({"key": own}), active()),
        whole(
            "per-key-before-keyset",
            json!({"key": own, "keyset": 1, "keys": 2, "canonicalization": 3}),
            active(),
        ),
        whole(
            "per-key-inherits-nothing",
            json!({"key": entry(), "canonicalization": "kaval-stable-json-v1"}),
            found("canonicalization_undeclared", "unknown", false),
        ),
        whole("per-key-null", json!({"key": null}), code("key_not_object")),
        whole(
            "keyset-wrapper",
            json!({"keyset": inherited}),
            found("lifecycle_unspecified", "unknown", false),
        ),
        whole(
            "keyset-wrapper-hides-keys",
            json!({"keyset": {"keys": []}, "keys": [own]}),
            code("key_unknown"),
        ),
        whole(
            "keyset-wrapper-ignores-outer-form",
            json!({"keyset": {"keys": [entry()]}, "canonicalization": 1}),
            found("canonicalization_undeclared", "unknown", false),
        ),
        whole("keyset-not-object-is-bare-key", bare_with_keyset, active()),
        whole(
            "keyset-without-keys-is-bare-key",
            json!({"keyset": {}, "keys": [own]}),
            code("key_contract_version_invalid"),
        ),
        whole("keys-not-array-is-bare-key", bare_with_keys_object, active()),
        whole("bare-key", own.clone(), active()),
        whole("empty-object-is-bare-key", json!({}), code("key_contract_version_invalid")),
        whole("no-keys", json!({"keys": []}), code("key_unknown")),
        patched("other-members", &[("/contract_version", json!(9)), ("/note", json!(null))], &[], active()),
        patched(
            "form-null",
            &[("/canonicalization", json!(null))],
            &[],
            code("keyset_canonicalization_invalid"),
        ),
        patched(
            "form-number",
            &[("/canonicalization", json!(1))],
            &[],
            code("keyset_canonicalization_invalid"),
        ),
        patched(
            "form-fault-before-entries",
            &[("/canonicalization", json!(1)), ("/keys/0", json!(1))],
            &[],
            code("keyset_canonicalization_invalid"),
        ),
        patched(
            "form-absent",
            &[],
            &["/canonicalization"],
            found("canonicalization_undeclared", "active", false),
        ),
        patched(
            "form-other",
            &[("/canonicalization", json!("jcs"))],
            &[],
            found("canonicalization_unsupported", "active", false),
        ),
        patched(
            "form-empty",
            &[("/canonicalization", json!(""))],
            &[],
            found("canonicalization_unsupported", "active", false),
        ),
        patched(
            "form-of-entry-wins",
            &[
                ("/canonicalization", json!("jcs")),
                ("/keys/0/canonicalization", json!("kaval-stable-json-v1")),
            ],
            &[],
            active(),
        ),
        patched(
            "form-of-entry-other",
            &[("/keys/0/canonicalization", json!("jcs"))],
            &[],
            found("canonicalization_unsupported", "active", false),
        ),
        patched("form-of-entry-null-inherits", &[("/keys/0/canonicalization", json!(null))], &[], active()),
    ]
}

fn entries() -> Vec<Value> {
    let set = |id: &str, pointer: &str, value: Value, expected: &str| {
        patched(id, &[(&format!("/keys/0{pointer}"), value)], &[], code(expected))
    };
    let remove = |id: &str, pointer: &str, expected: &str| {
        patched(id, &[], &[&format!("/keys/0{pointer}")], code(expected))
    };
    let x = "/public_key/x";
    vec![
        set("row-1-null", "", json!(null), "key_not_object"),
        set("row-1-array", "", json!([]), "key_not_object"),
        set("row-2-number", "/contract_version", json!(1), "key_contract_version_invalid"),
        set("row-2-other", "/contract_version", json!("2"), "key_contract_version_invalid"),
        remove("row-2-missing", "/contract_version", "key_contract_version_invalid"),
        set("row-3-number", "/key_id", json!(1), "key_id_invalid"),
        set("row-3-empty", "/key_id", json!(""), "key_id_invalid"),
        set("row-3-blank", "/key_id", json!("\u{a0}\t"), "key_id_invalid"),
        set("row-3-129", "/key_id", json!("k".repeat(129)), "key_id_invalid"),
        set("row-3-128-is-another-key", "/key_id", json!("k".repeat(128)), "key_unknown"),
        remove("row-3-missing", "/key_id", "key_id_invalid"),
        set("row-4-algorithm", "/algorithm", json!("EdDSA"), "key_algorithm_invalid"),
        set("row-4-use", "/use", json!("sig"), "key_algorithm_invalid"),
        remove("row-4-use-missing", "/use", "key_algorithm_invalid"),
        set("row-5-not-object", "/public_key", json!("x"), "key_jwk_invalid"),
        set("row-5-format", "/public_key/format", json!("pem"), "key_jwk_invalid"),
        set("row-5-kty", "/public_key/kty", json!("EC"), "key_jwk_invalid"),
        set("row-5-crv", "/public_key/crv", json!("X25519"), "key_jwk_invalid"),
        set("row-5-private", "/public_key/d", json!("AA"), "key_jwk_invalid"),
        set("row-5-private-null", "/public_key/d", json!(null), "key_jwk_invalid"),
        set("row-6-null", x, json!(null), "key_x_not_base64url"),
        set("row-6-empty", x, json!(""), "key_x_not_base64url"),
        set("row-6-padded", x, json!(format!("{}=", "A".repeat(43))), "key_x_not_base64url"),
        set("row-6-31-bytes", x, json!("A".repeat(42)), "key_x_not_canonical"),
        set("row-6-33-bytes", x, json!("A".repeat(44)), "key_x_not_canonical"),
        set("row-6-spare-bits", x, json!(format!("{}B", "A".repeat(42))), "key_x_not_canonical"),
        set("row-6-dangling", x, json!("A".repeat(45)), "key_x_not_canonical"),
        set("row-7-number", "/canonicalization", json!(1), "key_canonicalization_invalid"),
        set("row-7-array", "/canonicalization", json!([]), "key_canonicalization_invalid"),
        patched(
            "order-2-before-3",
            &[("/keys/0/contract_version", json!(1)), ("/keys/0/key_id", json!(1))],
            &[],
            code("key_contract_version_invalid"),
        ),
        patched(
            "order-5-before-7",
            &[("/keys/0/public_key", json!(1)), ("/keys/0/canonicalization", json!(1))],
            &[],
            code("key_jwk_invalid"),
        ),
        patched(
            "order-7-before-8",
            &[("/keys/0/canonicalization", json!(1)), ("/keys/0/lifecycle", json!(1))],
            &[],
            code("key_canonicalization_invalid"),
        ),
        patched(
            "unknown-members",
            &[("/keys/0/note", json!(1)), ("/keys/0/public_key/kid", json!("k"))],
            &[],
            active(),
        ),
        patched(
            "not-a-point-is-no-fault",
            &[("/keys/0/public_key/x", json!(format!("Ag{}", "A".repeat(41))))],
            &[],
            active(),
        ),
    ]
}

fn lifecycles() -> Vec<Value> {
    let with = |id: &str, lifecycle: Value, expected: Value| {
        patched(id, &[("/keys/0/lifecycle", lifecycle)], &[], expected)
    };
    let at = "2026-09-15T00:00:00Z";
    let incomplete = || code("key_lifecycle_incomplete");
    vec![
        with("row-8-null", json!(null), code("key_lifecycle_invalid")),
        with("row-8-text", json!("active"), code("key_lifecycle_invalid")),
        with("row-9-member", json!({"status": "active", "since": at}), code("key_lifecycle_field_unknown")),
        with("row-9-before-10", json!({"status": "x", "since": at}), code("key_lifecycle_field_unknown")),
        with("row-10-missing", json!({}), code("key_lifecycle_status_invalid")),
        with("row-10-case", json!({"status": "Active"}), code("key_lifecycle_status_invalid")),
        with("row-10-unknown", json!({"status": "unknown"}), code("key_lifecycle_status_invalid")),
        with(
            "row-11-null",
            json!({"status": "active", "status_changed_at": null}),
            code("key_lifecycle_time_invalid"),
        ),
        with(
            "row-11-day",
            json!({"status": "retired", "status_changed_at": "2026-09-31T00:00:00Z"}),
            code("key_lifecycle_time_invalid"),
        ),
        with(
            "row-12-null",
            json!({"status": "active", "reason": null}),
            code("key_lifecycle_reason_invalid"),
        ),
        with(
            "row-12-blank",
            json!({"status": "active", "reason": " "}),
            code("key_lifecycle_reason_invalid"),
        ),
        with(
            "row-12-1001",
            json!({"status": "active", "reason": "r".repeat(1_001)}),
            code("key_lifecycle_reason_invalid"),
        ),
        with("row-12-1000", json!({"status": "active", "reason": "r".repeat(1_000)}), active()),
        with("row-13-revoked-bare", json!({"status": "revoked"}), incomplete()),
        with("row-13-revoked-no-reason", json!({"status": "revoked", "status_changed_at": at}), incomplete()),
        with("row-13-revoked-no-time", json!({"status": "revoked", "reason": "r"}), incomplete()),
        with("row-13-compromised-bare", json!({"status": "compromised"}), incomplete()),
        with(
            "row-13-compromised-no-reason",
            json!({"status": "compromised", "status_changed_at": at}),
            incomplete(),
        ),
        with("active", json!({"status": "active"}), active()),
        with(
            "active-with-time",
            json!({"status": "active", "status_changed_at": at, "reason": "r"}),
            active(),
        ),
        with("retired", json!({"status": "retired"}), found("retired", "retired", true)),
        with(
            "revoked",
            json!({"status": "revoked", "status_changed_at": at, "reason": "r"}),
            found("revoked", "revoked", false),
        ),
        with(
            "compromised",
            json!({"status": "compromised", "status_changed_at": at, "reason": "r"}),
            found("compromised", "compromised", false),
        ),
        with(
            "revoked-in-the-future",
            json!({"status": "revoked", "status_changed_at": "9999-12-31T00:00:00Z", "reason": "r"}),
            found("revoked", "revoked", false),
        ),
        patched(
            "no-lifecycle",
            &[],
            &["/keys/0/lifecycle"],
            found("lifecycle_unspecified", "unknown", false),
        ),
    ]
}

fn several_keys() -> Vec<Value> {
    let keys = |id: &str, keys: Value, expected: Value| patched(id, &[("/keys", keys)], &[], expected);
    let unspecified = || found("lifecycle_unspecified", "unknown", false);
    let mut reused = entry();
    reused["key_id"] = json!("twin");
    let mut rekeyed = entry();
    rekeyed["public_key"]["x"] = json!(public_x(&other_key()));
    let mut cases = vec![
        keys("two-keys", json!([other_entry(), entry()]), unspecified()),
        keys("wanted-twice", json!([entry(), entry()]), code("key_id_duplicate")),
        keys("wanted-twice-other-x", json!([entry(), rekeyed]), code("key_id_duplicate")),
        keys("x-under-two-ids", json!([entry(), reused]), code("key_reused")),
        keys("reuse-before-duplicate", json!([entry(), reused, entry()]), code("key_reused")),
        keys("duplicate-before-reuse", json!([entry(), entry(), reused]), code("key_id_duplicate")),
        keys("other-twice", json!([other_entry(), other_entry(), entry()]), unspecified()),
        keys("bad-entry-after-the-wanted", json!([entry(), {}]), code("key_contract_version_invalid")),
        keys("bad-entry-before-the-wanted", json!([1, entry()]), code("key_not_object")),
        keys("duplicate-before-bad-entry", json!([entry(), entry(), 1]), code("key_id_duplicate")),
        keys("bad-entry-before-duplicate", json!([entry(), 1, entry()]), code("key_not_object")),
        keys("not-there", json!([other_entry()]), code("key_unknown")),
    ];
    let mut case = keys("duplicates-of-another-id", json!([entry(), entry(), other_entry()]), unspecified());
    case["wanted"] = json!(OTHER_KEY_ID);
    cases.push(case);
    cases
}
