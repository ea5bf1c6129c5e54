//! Signing receipts for tests, with the published example seed.
#![allow(dead_code, reason = "each test binary uses a part")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use kaval_receipt::{EvaluationTime, Keyset, canonical, json};

/// Seed of the worked examples: the bytes 0 to 31.
pub(crate) fn signing_key() -> SigningKey {
    SigningKey::from_bytes(&core::array::from_fn(|index| u8::try_from(index).expect("below 32")))
}

/// The public key as a keyset spells it.
pub(crate) fn public_x() -> String {
    URL_SAFE_NO_PAD.encode(signing_key().verifying_key().to_bytes())
}

/// Signs a receipt given as a JSON object without its signature.
pub(crate) fn sign(unsigned: &str) -> String {
    let receipt = json::parse(unsigned).expect("strict JSON");
    let canonical = canonical::canonical_unsigned_receipt(&receipt).expect("an object");
    let signature = URL_SAFE_NO_PAD.encode(signing_key().sign(canonical.as_bytes()).to_bytes());
    let comma = if receipt.as_object().is_some_and(json::Object::is_empty) { "" } else { "," };
    let open = unsigned.trim_end().strip_suffix('}').expect("an object");
    format!(
        r#"{open}{comma}"signature":{{"algorithm":"Ed25519","key_id":"test-key","signature":"{signature}"}}}}"#
    )
}

/// A keyset with the test key and that lifecycle member (such as `,"lifecycle":{"status":"active"}`).
pub(crate) fn keyset_text(lifecycle: &str) -> String {
    format!(
        r#"{{"canonicalization":"kaval-stable-json-v1","keys":[{{"contract_version":"1","key_id":"test-key",
        "algorithm":"Ed25519","use":"proof_verification","public_key":{{"format":"jwk","kty":"OKP",
        "crv":"Ed25519","x":"{}"}}{lifecycle}}}]}}"#,
        public_x()
    )
}

/// [`keyset_text`], read.
pub(crate) fn keyset(lifecycle: &str) -> Keyset {
    Keyset::from_value(&json::parse(&keyset_text(lifecycle)).expect("strict JSON"))
}

/// A keyset with the active test key.
pub(crate) fn active() -> Keyset {
    keyset(r#","lifecycle":{"status":"active"}"#)
}

/// An evaluation time.
pub(crate) fn at(text: &str) -> EvaluationTime {
    EvaluationTime::parse(text).expect("a valid instant")
}
