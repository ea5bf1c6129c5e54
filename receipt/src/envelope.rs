//! The signature block of a receipt.
//!
//! Source: receipt verification, section 4.

use crate::base64url::{self, Base64Fault};
use crate::canonical::CanonicalError;
use crate::instant::Instant;
use crate::json::{JsonString, Value};
use crate::keyset::{self, MAX_KEY_ID_LEN};
use core::fmt;

/// A signature block that passed every check of its form.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope<'r, 'a> {
    /// The id of the key that is said to have signed.
    pub key_id: &'r JsonString<'a>,
    /// R and S of the Ed25519 signature.
    pub signature: [u8; 64],
}

/// Why a receipt has no usable signature block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The receipt is not an object.
    NotAnObject,
    /// `signature` is not an object.
    SignatureMissing,
    /// `signature` lacks a member or has one too many.
    FieldSet,
    /// `signed_at` is not an instant.
    SignedAt,
    /// `signed_at` and the signed `checked_at` are not the same text.
    SignedAtMismatch,
    /// `algorithm` is not `Ed25519`.
    Algorithm,
    /// `key_id` is not a string of 1 to 128 code units that are not all blank.
    KeyId,
    /// `signature.signature` is not base64url.
    SignatureAlphabet,
    /// `signature.signature` is not the canonical spelling of 64 bytes.
    SignatureEncoding,
    /// The receipt has no canonical form.
    Canonical(CanonicalError),
    /// The receipt's text is not strict JSON.
    Json,
}

impl EnvelopeError {
    /// A stable name for the fault.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotAnObject => "receipt_not_object",
            Self::SignatureMissing => "signature_missing",
            Self::FieldSet => "signature_field_set",
            Self::SignedAt => "signed_at_invalid",
            Self::SignedAtMismatch => "signed_at_mismatch",
            Self::Algorithm => "algorithm_unsupported",
            Self::KeyId => "key_id_invalid",
            Self::SignatureAlphabet => "signature_not_base64url",
            Self::SignatureEncoding => "signature_not_canonical",
            Self::Canonical(error) => error.code(),
            Self::Json => "receipt_json_invalid",
        }
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("the receipt is not a JSON object"),
            Self::SignatureMissing => f.write_str("the receipt carries no signature object"),
            Self::FieldSet => f.write_str(
                "the signature object must have algorithm, key_id and signature, may have signed_at, and nothing else",
            ),
            Self::SignedAt => f.write_str("signature.signed_at is not a valid RFC 3339 instant"),
            Self::SignedAtMismatch => f.write_str("signature.signed_at is not the text of the signed checked_at"),
            Self::Algorithm => f.write_str("the signature algorithm is not Ed25519"),
            Self::KeyId => write!(f, "signature.key_id is not a string of 1 to {MAX_KEY_ID_LEN} characters"),
            Self::SignatureAlphabet => f.write_str("signature.signature is not unpadded base64url"),
            Self::SignatureEncoding => f.write_str("signature.signature is not the canonical base64url of 64 bytes"),
            Self::Canonical(error) => error.fmt(f),
            Self::Json => f.write_str("the receipt is not strict JSON"),
        }
    }
}

impl core::error::Error for EnvelopeError {}

/// Reads the signature block of a receipt.
///
/// Does not check the signature, nor any other member but `checked_at`, to which `signed_at` must be equal
/// as text when both are there.
///
/// # Errors
///
/// [`EnvelopeError`], the first in the order of the specification.
///
/// Source: receipt verification, section 4.
pub fn read_envelope<'r, 'a>(receipt: &'r Value<'a>) -> Result<Envelope<'r, 'a>, EnvelopeError> {
    let receipt = receipt.as_object().ok_or(EnvelopeError::NotAnObject)?;
    let block = receipt.get("signature").and_then(Value::as_object).ok_or(EnvelopeError::SignatureMissing)?;
    let required = ["algorithm", "key_id", "signature"];
    let signed_at = block.get("signed_at");
    let expected = required.len() + usize::from(signed_at.is_some());
    if block.len() != expected || !required.iter().all(|name| block.contains(name)) {
        return Err(EnvelopeError::FieldSet);
    }
    if let Some(signed_at) = signed_at {
        Instant::from_value(signed_at).ok_or(EnvelopeError::SignedAt)?;
        let checked_at = receipt.get("checked_at").filter(|checked_at| checked_at.as_string().is_some());
        if checked_at.is_some_and(|checked_at| checked_at != signed_at) {
            return Err(EnvelopeError::SignedAtMismatch);
        }
    }
    if block.get("algorithm").and_then(Value::as_string).is_none_or(|name| *name != *"Ed25519") {
        return Err(EnvelopeError::Algorithm);
    }
    let key_id = block.get("key_id").and_then(Value::as_string).filter(|id| keyset::is_key_id(id));
    let key_id = key_id.ok_or(EnvelopeError::KeyId)?;
    let signature = base64url::decode(block.get("signature")).map_err(|fault| match fault {
        Base64Fault::Alphabet => EnvelopeError::SignatureAlphabet,
        Base64Fault::NotCanonical => EnvelopeError::SignatureEncoding,
    })?;
    Ok(Envelope { key_id, signature })
}
