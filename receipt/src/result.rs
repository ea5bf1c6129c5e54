//! The result of checking one receipt.
//!
//! Source: receipt verification, section 9.

use crate::canonical::{self, Digest};
use crate::decision::{self, DecisionReport};
use crate::freshness::Freshness;
use crate::json::{JsonString, Object, Value};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// A stable code and the sentence that goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// snake_case, part of the contract.
    pub code: &'static str,
    /// For people; not part of the contract.
    pub text: Cow<'static, str>,
}

impl Note {
    /// Pairs a code with its sentence.
    pub fn new(code: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into() }
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Signature, envelope, key and freshness.
    SignatureEnvelope,
    /// That, and whether the verdict follows from the facts.
    SignatureEnvelopeAndDecisionTable,
}

impl Scope {
    /// The word results use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignatureEnvelope => "signature_envelope",
            Self::SignatureEnvelopeAndDecisionTable => "signature_envelope+decision_table",
        }
    }
}

/// What checking one receipt against one key document found.
///
/// Each answer stands alone: a valid signature says nothing about trust, and freshness never changes
/// `accepted`.
#[derive(Clone, Debug, PartialEq)]
pub struct VerificationResult {
    /// What was looked at.
    pub scope: Scope,
    /// Signature valid, key trusted and, when derivation is in scope, the verdict confirmed.
    pub accepted: bool,
    /// Whether the receipt has a usable signature block.
    pub format: FormatReport,
    /// What the receipt says about itself.
    pub receipt: ReceiptReport,
    /// The canonical bytes.
    pub canonicalization: CanonicalizationReport,
    /// The signature.
    pub cryptographic: CryptographicReport,
    /// The key.
    pub key: KeyReport,
    /// Freshness at the time of evaluation.
    pub freshness: FreshnessReport,
    /// The derived verdict, when derivation is in scope.
    pub decision: Option<DecisionReport>,
}

/// Whether the receipt has a usable signature block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatReport {
    /// Why not.
    pub error: Option<Note>,
}

/// What the receipt says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceiptReport {
    /// Its `proof_id`, when that is a string.
    pub proof_id: Option<JsonString<'static>>,
    /// The algorithm and key id of a usable signature block.
    pub signed_by: Option<JsonString<'static>>,
}

/// The canonical bytes that were signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CanonicalizationReport {
    /// Their length and digest.
    Valid(Digest),
    /// Why there are none.
    Invalid(Note),
}

/// Whether the signature is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptographicReport {
    /// Why not.
    pub error: Option<Note>,
}

/// The key and whether it is trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyReport {
    /// Whether the key document holds the key.
    pub found: bool,
    /// The id that was looked for.
    pub key_id: Option<JsonString<'static>>,
    /// `active`, `retired`, `revoked`, `compromised` or `unknown`.
    pub lifecycle_status: &'static str,
    /// The canonical form the key declares.
    pub canonicalization: Option<JsonString<'static>>,
    /// Whether a valid signature of the key counts.
    pub trusted: bool,
    /// Why, or why not.
    pub reason: Note,
    /// When the lifecycle status was entered.
    pub status_changed_at: Option<JsonString<'static>>,
}

/// Freshness at the time of evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct FreshnessReport {
    /// The judgement.
    pub freshness: Freshness,
    /// The time of evaluation as it was spelled.
    pub evaluated_at: String,
}

/// Which texts a rendered result carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// The members of the reference and no others.
    Reference,
    /// A `code` of ours after each human text as well.
    WithCodes,
}

impl VerificationResult {
    /// The result as a JSON value, members in the order of the specification.
    ///
    /// Source: receipt verification, section 9.
    #[must_use]
    pub fn to_value(&self, texts: Texts) -> Value<'_> {
        let mut root = Object::new();
        root.insert("contract_version", "1");
        root.insert("scope", self.scope.as_str());
        root.insert("accepted", self.accepted);
        root.insert("format", valid_or(self.format.error.as_ref(), texts));
        root.insert("receipt", self.receipt.to_object());
        root.insert("canonicalization", self.canonicalization.to_object(texts));
        root.insert("cryptographic", valid_or(self.cryptographic.error.as_ref(), texts));
        root.insert("key", self.key.to_object(texts));
        root.insert("freshness", self.freshness.to_object(texts));
        if let Some(decision) = &self.decision {
            root.insert("decision", decision_object(decision, texts));
        }
        root.into()
    }
}

fn valid_or<'r>(error: Option<&'r Note>, texts: Texts) -> Object<'r> {
    let mut object = Object::new();
    object.insert("valid", error.is_none());
    if let Some(note) = error {
        insert_note(&mut object, "error", note, texts);
    }
    object
}

fn insert_note<'r>(object: &mut Object<'r>, name: &'static str, note: &'r Note, texts: Texts) {
    object.insert(name, &*note.text);
    if texts == Texts::WithCodes {
        object.insert("code", note.code);
    }
}

fn insert_string<'r>(object: &mut Object<'r>, name: &'static str, value: Option<&'r JsonString<'static>>) {
    if let Some(value) = value {
        object.insert(name, Value::String(value.borrowed()));
    }
}

impl ReceiptReport {
    fn to_object(&self) -> Object<'_> {
        let mut object = Object::new();
        insert_string(&mut object, "proof_id", self.proof_id.as_ref());
        if let Some(key_id) = &self.signed_by {
            object.insert("algorithm", "Ed25519");
            insert_string(&mut object, "key_id", Some(key_id));
        }
        object
    }
}

impl CanonicalizationReport {
    fn to_object(&self, texts: Texts) -> Object<'_> {
        let mut object = Object::new();
        object.insert("algorithm", canonical::ALGORITHM);
        object.insert("valid", matches!(self, Self::Valid(_)));
        match self {
            Self::Valid(digest) => {
                // Receipts are far smaller than 2^53 bytes, so the length is exact.
                #[allow(clippy::cast_precision_loss, reason = "no receipt has 2^53 bytes")]
                object.insert("byte_length", digest.byte_length as f64);
                object.insert("sha256", Value::String(digest.to_text().into()));
            }
            Self::Invalid(note) => insert_note(&mut object, "error", note, texts),
        }
        object
    }
}

impl KeyReport {
    fn to_object(&self, texts: Texts) -> Object<'_> {
        let mut object = Object::new();
        object.insert("found", self.found);
        insert_string(&mut object, "key_id", self.key_id.as_ref());
        object.insert("lifecycle_status", self.lifecycle_status);
        insert_string(&mut object, "canonicalization", self.canonicalization.as_ref());
        object.insert("trusted", self.trusted);
        insert_note(&mut object, "reason", &self.reason, texts);
        insert_string(&mut object, "status_changed_at", self.status_changed_at.as_ref());
        object
    }
}

impl FreshnessReport {
    fn to_object(&self, texts: Texts) -> Object<'_> {
        let mut object = Object::new();
        object.insert("status", self.freshness.status.as_str());
        object.insert("evaluated_at", self.evaluated_at.as_str());
        for (name, time) in
            ["issued_at", "recheck_at", "expires_at"].into_iter().zip(self.freshness.times.iter().flatten())
        {
            insert_string(&mut object, name, Some(time));
        }
        if let Some(fault) = self.freshness.fault {
            object.insert("reason", fault.message());
            if texts == Texts::WithCodes {
                object.insert("code", fault.code());
            }
        }
        object
    }
}

fn decision_object(report: &DecisionReport, texts: Texts) -> Object<'_> {
    let codes = |codes: &[decision::ReasonCode]| -> Value<'static> {
        Value::Array(codes.iter().map(|code| Value::from(code.as_str())).collect::<Vec<_>>())
    };
    let mut object = Object::new();
    object.insert("supported_rule_version", decision::NEWEST_VERSION);
    insert_string(&mut object, "receipt_rule_version", report.receipt_rule_version.as_ref());
    if let Some(stated) = &report.stated {
        let mut member = Object::new();
        insert_string(&mut member, "verdict", stated.verdict.as_ref());
        if let Some(codes) = &stated.reason_codes {
            let codes = codes.iter().map(|code| Value::String(code.borrowed()));
            member.insert("reason_codes", codes.collect::<Vec<_>>());
        }
        object.insert("stated", member);
    }
    object.insert("matches", report.matches());
    if let Some(derived) = &report.derived {
        let mut member = Object::new();
        member.insert("verdict", derived.decision.verdict.as_str());
        member.insert("reason_codes", codes(&derived.decision.reason_codes));
        member.insert("decision_rule_version", derived.rule_version);
        if let Some(gated) = &derived.gate {
            member.insert("candidate_decision", gated.candidate.verdict.as_str());
            member.insert("candidate_reason_codes", codes(&gated.candidate.reason_codes));
            let mut gate = Object::new();
            gate.insert("status", gated.status.as_str());
            gate.insert("reason_codes", codes(&gated.reason_codes));
            member.insert("gate", gate);
        }
        object.insert("derived", member);
    }
    if let Some(fault) = &report.fault {
        object.insert("error", Value::String(alloc::format!("{fault}").into()));
        if texts == Texts::WithCodes {
            object.insert("code", fault.code());
        }
    }
    object
}
