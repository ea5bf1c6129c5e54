//! Receipts signed with the published example seed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use kaval_receipt::{canonical, json};

pub(crate) const KEY_ID: &str = "example-key-2026";

pub(crate) fn signing_key() -> SigningKey {
    SigningKey::from_bytes(&core::array::from_fn(|index| u8::try_from(index).expect("below 32")))
}

/// Signs a receipt given as a JSON object without its signature.
pub(crate) fn sign(unsigned: &str) -> String {
    let receipt = json::parse(unsigned).expect("strict JSON");
    let canonical = canonical::canonical_unsigned_receipt(&receipt).expect("an object");
    let signature = URL_SAFE_NO_PAD.encode(signing_key().sign(canonical.as_bytes()).to_bytes());
    let open = unsigned.trim_end().strip_suffix('}').expect("an object");
    format!(r#"{open},"signature":{{"algorithm":"Ed25519","key_id":"{KEY_ID}","signature":"{signature}"}}}}"#)
}
