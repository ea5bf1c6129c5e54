//! Checking one receipt against one key document.
//!
//! Source: receipt verification, sections 4 to 10.

use crate::canonical::{self, Digest};
use crate::decision;
use crate::envelope::{self, EnvelopeError};
use crate::freshness;
use crate::instant::EvaluationTime;
use crate::json::{self, JsonError, JsonString, Value};
use crate::keyset::{Key, Keyset, KeysetError};
use crate::result::{
    CanonicalizationReport, CryptographicReport, FormatReport, FreshnessReport, KeyReport, Note,
    ReceiptReport, Scope, VerificationResult,
};
use alloc::format;
use alloc::vec::Vec;

/// What to judge a receipt by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The instant freshness is judged at.
    pub at: EvaluationTime,
    /// Whether the verdict must follow from the receipt's own facts.
    pub derive_verdict: bool,
}

/// Checks a receipt. Does not unwrap it: see [`wrapper`](crate::wrapper).
///
/// # Example
///
/// ```
/// use kaval_receipt::{EvaluationTime, Keyset, json, verify};
///
/// let receipt = json::parse(r#"{"signature":null}"#)?;
/// let keyset = Keyset::from_value(&json::parse(r#"{"keys":[]}"#)?);
/// let at = EvaluationTime::parse("2026-08-01T10:00:00Z")?;
/// let result = verify::verify_receipt(&receipt, &keyset, &verify::Options { at, derive_verdict: false });
/// assert!(!result.accepted);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// Source: receipt verification, sections 4 to 10.
#[must_use]
pub fn verify_receipt(receipt: &Value<'_>, keyset: &Keyset, options: &Options) -> VerificationResult {
    check(receipt, keyset, &options.criteria(), &mut Vec::new())
}

/// Checks a receipt and a key document given as text.
///
/// Source: receipt verification, section 9.4.
#[must_use]
pub fn verify_receipt_text(receipt: &str, key_document: &str, options: &Options) -> VerificationResult {
    let receipt = match json::parse(receipt) {
        Ok(receipt) => receipt,
        Err(error) => {
            let note =
                Note::new(EnvelopeError::Json.code(), format!("the receipt is not strict JSON: {error}"));
            return malformed(&Value::Null, note, &options.criteria());
        }
    };
    match json::parse(key_document) {
        Ok(document) => verify_receipt(&receipt, &Keyset::from_value(&document), options),
        Err(error) => {
            let result =
                verify_receipt(&receipt, &Keyset::from_value(&Value::Object(json::Object::new())), options);
            with_key_text_fault(result, &error)
        }
    }
}

fn with_key_text_fault(mut result: VerificationResult, error: &JsonError) -> VerificationResult {
    let note = Note::new("key_json_invalid", format!("the key document is not strict JSON: {error}"));
    result.accepted = false;
    result.cryptographic.error = Some(note.clone());
    result.key = KeyReport { key_id: result.key.key_id, ..no_key(note) };
    result
}

/// [`Options`] without ownership, so that many receipts can share one.
pub(crate) struct Criteria<'o> {
    pub(crate) at: &'o EvaluationTime,
    pub(crate) derive_verdict: bool,
}

impl Options {
    fn criteria(&self) -> Criteria<'_> {
        Criteria { at: &self.at, derive_verdict: self.derive_verdict }
    }
}

/// Checks a receipt, writing its canonical bytes to a buffer of the caller's.
///
/// Checking many receipts with one buffer spares an allocation for each.
pub(crate) fn check(
    receipt: &Value<'_>,
    keyset: &Keyset,
    criteria: &Criteria<'_>,
    canonical: &mut Vec<u8>,
) -> VerificationResult {
    canonical.clear();
    let envelope = envelope::read_envelope(receipt).and_then(|envelope| {
        canonical::write_unsigned_receipt(canonical, receipt).map_err(EnvelopeError::Canonical)?;
        Ok(envelope)
    });
    let envelope = match envelope {
        Ok(envelope) => envelope,
        Err(error) => return malformed(receipt, Note::new(error.code(), format!("{error}")), criteria),
    };
    let (cryptographic, key) = match keyset.lookup(envelope.key_id) {
        Ok(key) => {
            let is_valid = key.public_key.verify(canonical, &envelope.signature);
            let mismatch = || {
                Note::new("signature_mismatch", "the signature is not this key's over the canonical bytes")
            };
            (CryptographicReport { error: (!is_valid).then(mismatch) }, key_report(key))
        }
        Err(error) => unusable_key(envelope.key_id, &error),
    };
    let decision = criteria.derive_verdict.then(|| decision::report(receipt));
    VerificationResult {
        scope: scope(criteria),
        accepted: cryptographic.error.is_none()
            && key.trusted
            && decision.as_ref().is_none_or(decision::DecisionReport::matches),
        format: FormatReport::default(),
        receipt: ReceiptReport {
            proof_id: proof_id(receipt),
            signed_by: Some(envelope.key_id.to_owned_string()),
        },
        canonicalization: CanonicalizationReport::Valid(Digest::of(canonical)),
        cryptographic,
        key,
        freshness: freshness_report(receipt, criteria),
        decision,
    }
}

fn scope(criteria: &Criteria<'_>) -> Scope {
    if criteria.derive_verdict { Scope::SignatureEnvelopeAndDecisionTable } else { Scope::SignatureEnvelope }
}

fn proof_id(receipt: &Value<'_>) -> Option<JsonString<'static>> {
    receipt.get("proof_id").and_then(Value::as_string).map(JsonString::to_owned_string)
}

fn freshness_report(receipt: &Value<'_>, criteria: &Criteria<'_>) -> FreshnessReport {
    FreshnessReport {
        freshness: freshness::judge(receipt, criteria.at),
        evaluated_at: criteria.at.as_str().into(),
    }
}

fn key_report(key: &Key) -> KeyReport {
    KeyReport {
        found: true,
        key_id: Some(key.key_id.clone()),
        lifecycle_status: key.lifecycle.as_ref().map_or("unknown", |lifecycle| lifecycle.status.as_str()),
        canonicalization: key.canonicalization.as_deref().cloned(),
        trusted: key.is_trusted(),
        reason: Note::new(key.trust_code(), key.trust_reason()),
        status_changed_at: key.lifecycle.as_ref().and_then(|lifecycle| lifecycle.status_changed_at.clone()),
    }
}

fn no_key(reason: Note) -> KeyReport {
    KeyReport {
        found: false,
        key_id: None,
        lifecycle_status: "unknown",
        canonicalization: None,
        trusted: false,
        reason,
        status_changed_at: None,
    }
}

/// Source: receipt verification, section 9.2.
fn unusable_key(key_id: &JsonString<'_>, error: &KeysetError) -> (CryptographicReport, KeyReport) {
    let (checked, reason) = match error {
        KeysetError::Unknown => {
            (format!("the signature was not checked: the key {key_id} is not known"), format!("{error}"))
        }
        _ => (
            format!("the signature was not checked: {error}"),
            format!("the key document cannot be used: {error}"),
        ),
    };
    let key = KeyReport { key_id: Some(key_id.to_owned_string()), ..no_key(Note::new(error.code(), reason)) };
    (CryptographicReport { error: Some(Note::new(error.code(), checked)) }, key)
}

/// Source: receipt verification, section 9.3.
fn malformed(receipt: &Value<'_>, error: Note, criteria: &Criteria<'_>) -> VerificationResult {
    VerificationResult {
        scope: scope(criteria),
        accepted: false,
        format: FormatReport { error: Some(error) },
        receipt: ReceiptReport { proof_id: proof_id(receipt), signed_by: None },
        canonicalization: CanonicalizationReport::Invalid(Note::new(
            "format_invalid",
            "no canonical bytes were made of a receipt in this form",
        )),
        cryptographic: CryptographicReport {
            error: Some(Note::new(
                "format_invalid",
                "the signature was not checked: the receipt's form is invalid",
            )),
        },
        key: no_key(Note::new("format_invalid", "the receipt names no key in a valid signature block")),
        freshness: freshness_report(receipt, criteria),
        decision: criteria.derive_verdict.then(|| decision::report(receipt)),
    }
}
