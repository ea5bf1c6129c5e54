//! Gates on top of verification, ending in one outcome.

use crate::canonical::{self, Digest};
use crate::decision::{DecisionFault, Verdict};
use crate::envelope::EnvelopeError;
use crate::expect::Expectations;
use crate::instant::{EvaluationTime, Instant};
use crate::json::{self, JsonError, JsonString, Value};
use crate::keyset::{Keyset, KeysetError};
use crate::outcome::Outcome;
use crate::result::{CanonicalizationReport, VerificationResult};
use crate::verify::{self, Criteria};
use crate::wrapper::{self, WrapperError, Wrappers};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// How far ahead of the time of evaluation a receipt's own time may lie before [`Gates::max_age`] refuses it:
/// clocks of two machines rarely differ more.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Whether the verdict must follow from the facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Derive {
    /// When the receipt's `decision` and `decision_rule_version` are both strings.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a receipt must satisfy beyond being authentic.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// Whether the verdict must follow from the facts.
    pub derive: Derive,
    /// Whether freshness must be `fresh`.
    pub require_fresh: bool,
    /// Greatest age of the signed `checked_at` at the time of evaluation.
    pub max_age: Option<Duration>,
    /// The decisions that pass; empty when any does. Insists on derivation.
    pub require_decision: Vec<Verdict>,
    /// Members the receipt must have.
    pub expectations: Option<Expectations>,
}

/// Why checking stopped before there was a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The text is not strict JSON.
    Json(JsonError),
    /// There is no receipt in the document.
    Wrapper(WrapperError),
    /// `signature` is not an object.
    NoSignature,
    /// `signature.key_id` is not a string.
    NoKeyId,
}

impl Stop {
    /// A stable name for the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(error) => error.code(),
            Self::Wrapper(error) => error.code(),
            Self::NoSignature => EnvelopeError::SignatureMissing.code(),
            Self::NoKeyId => "key_id_missing",
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Wrapper(error) => error.fmt(f),
            Self::NoSignature => EnvelopeError::SignatureMissing.fmt(f),
            Self::NoKeyId => f.write_str("the receipt's signature names no key id"),
        }
    }
}

impl core::error::Error for Stop {}

/// What became of one receipt.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// The outcome: the first that applies, in the order of [`Outcome`].
    pub outcome: Outcome,
    /// The outcome in words, when it is not `accepted`.
    pub detail: Option<String>,
    /// The full result, or why checking stopped before there was one.
    pub result: Result<VerificationResult, Stop>,
    /// The receipt's `id`, else its `proof_id`, when that is a string.
    pub receipt_id: Option<JsonString<'static>>,
    /// The stated decision, when it is a string.
    pub decision: Option<JsonString<'static>>,
    /// The key id the signature block names, when it is a string.
    pub key_id: Option<JsonString<'static>>,
    /// Digest of the canonical bytes, whenever there are any.
    pub digest: Option<Digest>,
}

/// Assesses a receipt document given as text.
///
/// `canonical` is a buffer for canonical bytes; using one for many receipts spares allocations.
#[must_use]
pub fn assess_text(
    text: &str,
    keyset: &Keyset,
    at: &EvaluationTime,
    gates: &Gates,
    wrappers: Wrappers,
    canonical: &mut Vec<u8>,
) -> Assessment {
    match json::parse(text) {
        Ok(document) => assess_document(&document, keyset, at, gates, wrappers, canonical),
        Err(error) => stopped(None, Stop::Json(error), canonical),
    }
}

/// Assesses a receipt document: a receipt, or one inside an accepted wrapper.
///
/// Source: receipt verification, sections 3 and 11.
#[must_use]
pub fn assess_document(
    document: &Value<'_>,
    keyset: &Keyset,
    at: &EvaluationTime,
    gates: &Gates,
    wrappers: Wrappers,
    canonical: &mut Vec<u8>,
) -> Assessment {
    let receipt = match find_signed(document, wrappers) {
        Ok(receipt) => receipt,
        Err((receipt, stop)) => return stopped(receipt, stop, canonical),
    };
    let criteria = Criteria { at, derive_verdict: gates.derives(receipt) };
    let result = verify::check(receipt, keyset, &criteria, canonical);
    let (outcome, detail) = judge(receipt, keyset, &result, at, gates);
    let digest = match result.canonicalization {
        CanonicalizationReport::Valid(digest) => Some(digest),
        CanonicalizationReport::Invalid(_) => digest_of(receipt, canonical),
    };
    Assessment { outcome, detail, digest, ..described(Some(receipt), Ok(result)) }
}

/// The receipt in a document, once it names a key.
///
/// # Errors
///
/// [`Stop`] when it does not, as [`assess_document`] meets it.
pub fn signed_receipt<'r, 'a>(document: &'r Value<'a>, wrappers: Wrappers) -> Result<&'r Value<'a>, Stop> {
    find_signed(document, wrappers).map_err(|(_, stop)| stop)
}

fn find_signed<'r, 'a>(
    document: &'r Value<'a>,
    wrappers: Wrappers,
) -> Result<&'r Value<'a>, (Option<&'r Value<'a>>, Stop)> {
    let receipt =
        wrapper::extract_receipt(document, wrappers).map_err(|error| (None, Stop::Wrapper(error)))?;
    let signature = receipt.get("signature").and_then(Value::as_object);
    let signature = signature.ok_or((Some(receipt), Stop::NoSignature))?;
    match signature.get("key_id") {
        Some(Value::String(_)) => Ok(receipt),
        _ => Err((Some(receipt), Stop::NoKeyId)),
    }
}

fn stopped(receipt: Option<&Value<'_>>, stop: Stop, canonical: &mut Vec<u8>) -> Assessment {
    let digest = receipt.and_then(|receipt| digest_of(receipt, canonical));
    Assessment { digest, detail: Some(format!("{stop}")), ..described(receipt, Err(stop)) }
}

fn digest_of(receipt: &Value<'_>, canonical: &mut Vec<u8>) -> Option<Digest> {
    canonical.clear();
    canonical::write_unsigned_receipt(canonical, receipt).ok()?;
    Some(Digest::of(canonical))
}

fn described(receipt: Option<&Value<'_>>, result: Result<VerificationResult, Stop>) -> Assessment {
    let text = |value: Option<&Value<'_>>| value.and_then(Value::as_string).map(JsonString::to_owned_string);
    let member = |name| receipt.and_then(|receipt| receipt.get(name));
    Assessment {
        outcome: Outcome::Malformed,
        detail: None,
        result,
        receipt_id: text(member("id")).or_else(|| text(member("proof_id"))),
        decision: text(member("decision")),
        key_id: text(member("signature").and_then(|signature| signature.get("key_id"))),
        digest: None,
    }
}

impl Gates {
    fn derives(&self, receipt: &Value<'_>) -> bool {
        let is_string = |name| matches!(receipt.get(name), Some(Value::String(_)));
        match self.derive {
            _ if !self.require_decision.is_empty() => true,
            Derive::Always => true,
            Derive::Never => false,
            Derive::Auto => is_string("decision") && is_string("decision_rule_version"),
        }
    }
}

type Judgement = (Outcome, Option<String>);

fn judge(
    receipt: &Value<'_>,
    keyset: &Keyset,
    result: &VerificationResult,
    at: &EvaluationTime,
    gates: &Gates,
) -> Judgement {
    if let Some(note) = &result.format.error {
        return (Outcome::Malformed, Some(note.text.clone().into_owned()));
    }
    if !result.key.found {
        let is_unknown = result.key.reason.code == KeysetError::Unknown.code();
        let outcome = if is_unknown { Outcome::KeyUnknown } else { Outcome::KeysMalformed };
        return (outcome, Some(result.key.reason.text.clone().into_owned()));
    }
    if let Some(note) = &result.cryptographic.error {
        return (Outcome::SignatureInvalid, Some(note.text.clone().into_owned()));
    }
    if !result.key.trusted {
        let mut detail = result.key.reason.text.clone().into_owned();
        detail.push_str(&own_time_note(receipt, keyset, result));
        return (Outcome::KeyUntrusted, Some(detail));
    }
    if let Some(fault) = result.decision.as_ref().and_then(|decision| decision.fault.as_ref()) {
        let outcome = if DecisionFault::is_contradiction(fault) {
            Outcome::VerdictMismatch
        } else {
            Outcome::NotDerivable
        };
        return (outcome, Some(format!("{fault}")));
    }
    judge_gates(receipt, result, at, gates)
}

fn judge_gates(
    receipt: &Value<'_>,
    result: &VerificationResult,
    at: &EvaluationTime,
    gates: &Gates,
) -> Judgement {
    let status = result.freshness.freshness.status;
    if gates.require_fresh && status != crate::freshness::FreshnessStatus::Fresh {
        return (Outcome::NotFresh, Some(format!("freshness is {}, and fresh is required", status.as_str())));
    }
    if let Some(detail) = gates.max_age.and_then(|max_age| too_old(receipt, at, max_age)) {
        return (Outcome::NotFresh, Some(detail));
    }
    if let Some(mismatch) =
        gates.expectations.as_ref().and_then(|expectations| expectations.mismatch(receipt))
    {
        return (Outcome::ActionMismatch, Some(format!("{mismatch}")));
    }
    let decision = receipt.get("decision").and_then(Value::as_string);
    let is_required = |verdict: &Verdict| decision.is_some_and(|decision| *decision == *verdict.as_str());
    if !gates.require_decision.is_empty() && !gates.require_decision.iter().any(is_required) {
        let required: Vec<&str> = gates.require_decision.iter().map(|verdict| verdict.as_str()).collect();
        let stated = decision.map_or_else(|| "not stated".into(), JsonString::excerpt);
        let detail = format!("the decision is {stated}, and {} is required", required.join(" or "));
        return (Outcome::DecisionRefused, Some(detail));
    }
    (Outcome::Accepted, None)
}

fn too_old(receipt: &Value<'_>, at: &EvaluationTime, max_age: Duration) -> Option<String> {
    let nanoseconds = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
    let Some(checked_at) = receipt.get("checked_at").and_then(Instant::from_value) else {
        return Some("the receipt has no valid checked_at to measure its age by".into());
    };
    let age = at.instant().nanoseconds() - checked_at.nanoseconds();
    if age > nanoseconds(max_age) {
        let seconds = age / 1_000_000_000;
        return Some(format!(
            "the receipt was checked {seconds} s ago, and at most {} s are allowed",
            max_age.as_secs()
        ));
    }
    (age < -nanoseconds(MAX_CLOCK_SKEW)).then(|| "the receipt's checked_at lies in the future".into())
}

/// For a withdrawn key: on which side of the withdrawal the receipt's own time lies, and what that is worth.
fn own_time_note(receipt: &Value<'_>, keyset: &Keyset, result: &VerificationResult) -> String {
    let changed_at =
        result.key.key_id.as_ref().and_then(|key_id| keyset.lookup(key_id).ok()).and_then(|key| {
            key.lifecycle.as_ref()?.status_changed_at.as_ref()?.as_str().and_then(Instant::parse)
        });
    let own = ["checked_at", "created_at"]
        .into_iter()
        .find_map(|name| Some((name, receipt.get(name).and_then(Instant::from_value)?)));
    match (changed_at, own) {
        (Some(changed_at), Some((name, own))) => {
            let side = if own < changed_at { "before" } else { "after" };
            format!("; its {name} lies {side} that change, but this time is only the signer's word")
        }
        (Some(_), None) => "; it states no time of its own to compare with that change".into(),
        _ => String::new(),
    }
}
