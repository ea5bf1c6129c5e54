//! `fixtures/keysets`: the sample key in every shape and state.

use crate::files::Files;
use crate::signing::{KEY_ID, public_x, sample_key};
use kaval_receipt::json::{self, Layout};

/// A key document entry of the sample key; `more` is further members, each with a leading comma.
pub(crate) fn entry(more: &str) -> String {
    format!(
        r#"{{"contract_version":"1","key_id":"{KEY_ID}","algorithm":"Ed25519","use":"proof_verification","public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{}"}}{more}}}"#,
        public_x(&sample_key())
    )
}

/// A bare keyset of those entries.
pub(crate) fn keyset(entries: &[String]) -> String {
    format!(
        r#"{{"contract_version":"1","canonicalization":"kaval-stable-json-v1","keys":[{}]}}"#,
        entries.join(",")
    )
}

const ACTIVE: &str = r#","lifecycle":{"status":"active"}"#;
const OWN_FORM: &str = r#","canonicalization":"kaval-stable-json-v1","lifecycle":{"status":"active"}"#;

/// The keyset with the active sample key.
pub(crate) fn active() -> String {
    keyset(&[entry(ACTIVE)])
}

pub(crate) fn add(files: &mut Files) {
    let with = |lifecycle: &str| keyset(&[entry(&format!(r#","lifecycle":{lifecycle}"#))]);
    let documents = [
        ("sample", active()),
        ("retired", with(r#"{"status":"retired","status_changed_at":"2026-09-15T00:00:00Z"}"#)),
        (
            "revoked",
            with(
                r#"{"status":"revoked","status_changed_at":"2026-09-15T00:00:00Z","reason":"superseded after an audit finding"}"#,
            ),
        ),
        (
            "compromised",
            with(
                r#"{"status":"compromised","status_changed_at":"2026-09-15T00:00:00Z","reason":"signing host was breached"}"#,
            ),
        ),
        ("no-lifecycle", keyset(&[entry("")])),
        ("per-key", format!(r#"{{"key":{}}}"#, entry(OWN_FORM))),
        ("bare-key", entry(OWN_FORM)),
        ("wrapped", format!(r#"{{"keyset":{}}}"#, active())),
        // The private half of a key has no place in a key document.
        ("malformed", active().replace(r#""kty":"OKP""#, r#""d":"","kty":"OKP""#)),
    ];
    for (name, document) in documents {
        let value = json::parse(&document).expect("generated key documents are strict JSON");
        files.add(&format!("keysets/{name}.json"), json::to_text(&value, Layout::Indented) + "\n");
    }
}
