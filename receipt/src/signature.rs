//! The strict Ed25519 check.
//!
//! Refused besides what RFC 8032 refuses: public keys and signature points of small order, and encodings of
//! points that are not the canonical ones. No honest signer makes either.
//!
//! Source: receipt verification, section 7; RFC 8032.

use ed25519_dalek::{Signature, VerifyingKey};

/// A public key, decoded once so that checking many signatures does not decode it again.
///
/// Holds 32 bytes that name no usable point as well: a keyset may carry such a key, and every signature
/// under it is invalid.
#[derive(Clone, Debug)]
pub struct PublicKey {
    bytes: [u8; 32],
    point: Option<VerifyingKey>,
}

impl PublicKey {
    /// Decodes the 32 bytes of a public key.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let point = VerifyingKey::from_bytes(&bytes).ok();
        Self { bytes, point: point.filter(|point| is_canonical(&bytes) && !point.is_weak()) }
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Whether `signature` is this key's over `message` (Ed25519, no prehash, no context).
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.point.as_ref().is_some_and(|point| point.verify_strict(message, &signature).is_ok())
    }
}

/// Whether the y coordinate is below the field prime 2^255-19. Encodings of x = 0 with the sign set, the
/// other kind that is not canonical, belong to points of small order.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    let [lowest, middle @ .., highest] = bytes;
    highest & 0x7F != 0x7F || middle.iter().any(|&byte| byte != 0xFF) || *lowest < 0xED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_at_and_above_the_prime_are_not_canonical() {
        let mut bytes = [0xFF; 32];
        for (lowest, highest, canonical) in [
            (0xEC, 0x7F, true),
            (0xED, 0x7F, false),
            (0xFF, 0xFF, false),
            (0xEC, 0xFF, true),
            (0xFF, 0x7E, true),
        ] {
            bytes[0] = lowest;
            bytes[31] = highest;
            assert_eq!(is_canonical(&bytes), canonical, "{lowest:x} {highest:x}");
        }
    }

    #[test]
    fn the_first_vector_of_rfc_8032_holds() {
        let key = [
            0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
            0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
        ];
        let signature = [
            0xe5, 0x56, 0x43, 0x00, 0xc3, 0x60, 0xac, 0x72, 0x90, 0x86, 0xe2, 0xcc, 0x80, 0x6e, 0x82, 0x8a,
            0x84, 0x87, 0x7f, 0x1e, 0xb8, 0xe5, 0xd9, 0x74, 0xd8, 0x73, 0xe0, 0x65, 0x22, 0x49, 0x01, 0x55,
            0x5f, 0xb8, 0x82, 0x15, 0x90, 0xa3, 0x3b, 0xac, 0xc6, 0x1e, 0x39, 0x70, 0x1c, 0xf9, 0xb4, 0x6b,
            0xd2, 0x5b, 0xf5, 0xf0, 0x59, 0x5b, 0xbe, 0x24, 0x65, 0x51, 0x41, 0x43, 0x8e, 0x7a, 0x10, 0x0b,
        ];
        let key = PublicKey::from_bytes(key);
        assert!(key.verify(b"", &signature));
        assert!(!key.verify(b"\0", &signature));
    }

    #[test]
    fn weak_keys_verify_nothing() {
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut signature = [0; 64];
        signature[0] = 1;
        assert!(!PublicKey::from_bytes(identity).verify(b"any", &signature));
        assert!(!PublicKey::from_bytes([0xFF; 32]).verify(b"any", &signature));
    }
}
