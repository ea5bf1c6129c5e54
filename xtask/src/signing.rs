//! Test keys and signed receipts. The seeds are public: nothing these keys sign may be trusted.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use kaval_receipt::canonical;
use kaval_receipt::json::{self, Layout, Object, Value};
use sha2::{Digest as _, Sha256, Sha512};
use std::ops::{Add, Mul};

/// Id of the key that signs the samples.
pub(crate) const KEY_ID: &str = "sample-key-2026";
/// Id of a key that no sample keyset holds.
pub(crate) const OTHER_KEY_ID: &str = "other-key-2026";

fn key(seed: &str) -> SigningKey {
    SigningKey::from_bytes(&Sha256::digest(seed.as_bytes()).into())
}

/// The key of [`KEY_ID`].
pub(crate) fn sample_key() -> SigningKey {
    key("kaval fixtures")
}

/// Another key.
pub(crate) fn other_key() -> SigningKey {
    key("kaval fixtures, other key")
}

/// Unpadded base64url.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The `x` of a public JWK.
pub(crate) fn public_x(key: &SigningKey) -> String {
    base64url(key.verifying_key().as_bytes())
}

/// The signature of a key over an unsigned receipt, as receipts spell it.
pub(crate) fn signature(unsigned: &str, key: &SigningKey) -> String {
    let receipt = json::parse(unsigned).expect("generated receipts are strict JSON");
    let canonical = canonical::canonical_unsigned_receipt(&receipt).expect("generated receipts are objects");
    base64url(&key.sign(canonical.as_bytes()).to_bytes())
}

/// A signature whose R is the neutral point and whose scalar fits it: the equation without cofactor holds,
/// a strict check refuses it all the same.
pub(crate) fn signature_with_neutral_point(unsigned: &str, key: &SigningKey) -> String {
    let receipt = json::parse(unsigned).expect("generated receipts are strict JSON");
    let canonical = canonical::canonical_unsigned_receipt(&receipt).expect("generated receipts are objects");
    let mut point = [0; 32];
    point[0] = 1;
    let hash = Sha512::new()
        .chain_update(point)
        .chain_update(key.verifying_key().as_bytes())
        .chain_update(canonical.as_bytes())
        .finalize();
    let scalar = times_little_endian(key.to_scalar(), &hash);
    base64url(&[point, scalar.to_bytes()].concat())
}

/// The product of a scalar and a number given as little-endian bytes.
fn times_little_endian<S: Copy + From<u64> + Add<Output = S> + Mul<Output = S>>(
    scalar: S,
    bytes: &[u8],
) -> S {
    let number =
        bytes.iter().rev().fold(S::from(0), |number, &byte| number * S::from(256) + S::from(u64::from(byte)));
    scalar * number
}

/// An unsigned receipt with a signature block that names `key_id` and binds `checked_at` when there is one.
pub(crate) fn with_signature(unsigned: &str, key_id: &str, signature: &str, layout: Layout) -> String {
    let receipt = json::parse(unsigned).expect("generated receipts are strict JSON");
    let Value::Object(mut receipt) = receipt else { panic!("generated receipts are objects") };
    let mut block = Object::new();
    block.insert("algorithm", "Ed25519");
    block.insert("key_id", key_id);
    block.insert("signature", signature);
    if let Some(checked_at) = receipt.get("checked_at").cloned() {
        block.insert("signed_at", checked_at);
    }
    receipt.insert("signature", block);
    json::to_text(&receipt.into(), layout)
}

/// A receipt signed with the sample key, on one line.
pub(crate) fn signed(unsigned: &str) -> String {
    with_signature(unsigned, KEY_ID, &signature(unsigned, &sample_key()), Layout::Compact)
}

/// A receipt signed with the sample key, indented, as a file holds it.
pub(crate) fn signed_file(unsigned: &str) -> String {
    with_signature(unsigned, KEY_ID, &signature(unsigned, &sample_key()), Layout::Indented) + "\n"
}
