//! Deriving a verdict from a receipt's own facts, and comparing it with the stated one.
//!
//! The stated decision and reason codes are compared, never used: facts, `compilation_uncertain` and, for
//! rules with an ALLOW gate, the signed gate inputs are all that counts.
//!
//! Source: receipt verification, section 10.

mod facts;
mod gate;
mod table;
mod terms;

pub use facts::{Fact, FactFault};
pub use gate::GateFault;
pub use table::{DEFAULT_VERSION, Decision, NEWEST_VERSION, RULES, Rule, rule};
pub use terms::{
    Classification, FactMethod, FactState, FreshnessFailure, GateEvaluation, GateMode, GateStatus,
    Materiality, ReasonCode, Verdict,
};

use crate::json::{JsonString, Value};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What a gate made of a candidate verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatedDecision {
    /// What the facts alone decide.
    pub candidate: Decision,
    /// What the gate did.
    pub status: GateStatus,
    /// Why.
    pub reason_codes: Vec<ReasonCode>,
}

/// A verdict derived from a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The verdict and its reasons.
    pub decision: Decision,
    /// The rule it was derived under.
    pub rule_version: &'static str,
    /// The gate's part, for rules that have one.
    pub gate: Option<GatedDecision>,
}

/// Why a receipt's verdict cannot be derived.
///
/// Source: receipt verification, sections 10.3 and 10.5.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The receipt is not an object.
    NotAnObject,
    /// `compilation_uncertain` is not a boolean.
    CompilationUncertain,
    /// `facts` is not an array.
    FactList,
    /// A fact cannot be judged.
    Fact {
        /// Which, counted from 0.
        index: usize,
        /// Why.
        fault: FactFault,
    },
    /// `decision_rule_version` names a version that is not known.
    UnsupportedRule(JsonString<'static>),
    /// `decision_rule_version` is not a string.
    NoRule,
    /// `receipt_version` is not the one the rule belongs to.
    ReceiptVersion,
    /// `decision_rule_version` is not the rule that is applied.
    RuleVersionMismatch,
    /// `candidate_decision` is not a verdict.
    CandidateVerdict,
    /// `decision` is not a verdict.
    FinalVerdict,
    /// `checked_at` is not an instant.
    CheckedAt,
    /// `reason_codes` is not an array of published codes.
    ReasonCodes,
    /// `reason_codes` holds a code twice.
    DuplicateReasonCode,
    /// An input of the gate does not have its published form.
    GateInput {
        /// The member of the receipt.
        object: &'static str,
        /// What is wrong with it.
        fault: GateFault,
    },
    /// The stated candidate does not follow from the facts.
    CandidateMismatch {
        /// What the receipt states.
        stated: Verdict,
        /// What follows.
        derived: Verdict,
    },
    /// The stated gate outcome does not follow from the signed inputs.
    GateMismatch {
        /// What the receipt states.
        stated: (GateStatus, Vec<ReasonCode>),
        /// What follows.
        derived: (GateStatus, Vec<ReasonCode>),
    },
    /// The stated decision does not follow from candidate and gate.
    FinalMismatch {
        /// What the receipt states.
        stated: Verdict,
        /// What follows.
        derived: Verdict,
    },
    /// The stated reason codes do not follow from candidate and gate.
    FinalCodesMismatch {
        /// What the receipt states.
        stated: Vec<ReasonCode>,
        /// What follows.
        derived: Vec<ReasonCode>,
    },
}

impl Refusal {
    /// Whether everything could be read, and the receipt contradicts itself.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        matches!(
            self,
            Self::CandidateMismatch { .. }
                | Self::GateMismatch { .. }
                | Self::FinalMismatch { .. }
                | Self::FinalCodesMismatch { .. }
        )
    }

    /// A stable name for the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAnObject => "receipt_not_object",
            Self::CompilationUncertain => "compilation_uncertain_missing",
            Self::FactList => "facts_missing",
            Self::Fact { fault, .. } => fault.code(),
            Self::UnsupportedRule(_) => "rule_version_unsupported",
            Self::NoRule => "rule_version_missing",
            Self::ReceiptVersion => "receipt_version_mismatch",
            Self::RuleVersionMismatch => "rule_version_mismatch",
            Self::CandidateVerdict => "candidate_decision_unknown",
            Self::FinalVerdict => "decision_unknown",
            Self::CheckedAt => "checked_at_invalid",
            Self::ReasonCodes => "reason_codes_unknown",
            Self::DuplicateReasonCode => "reason_code_duplicate",
            Self::GateInput { fault, .. } => fault.code(),
            Self::CandidateMismatch { .. } => "candidate_mismatch",
            Self::GateMismatch { .. } => "gate_mismatch",
            Self::FinalMismatch { .. } => "decision_mismatch",
            Self::FinalCodesMismatch { .. } => "reason_codes_mismatch",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The published conformance vectors search for these three and for those of a fact.
            Self::NotAnObject => f.write_str("it is not a JSON object"),
            Self::CompilationUncertain => f.write_str("it does not state whether compilation was uncertain"),
            Self::FactList => f.write_str("it does not carry a fact list"),
            Self::Fact { index, fault } => write!(f, "fact {index} {fault}"),
            Self::UnsupportedRule(version) => {
                write!(f, "its rule version {} is not known here", version.excerpt())
            }
            Self::NoRule => f.write_str("it names no rule version"),
            Self::ReceiptVersion => f.write_str("its receipt_version is not the one this rule goes with"),
            Self::RuleVersionMismatch => f.write_str("its decision_rule_version is not the rule applied"),
            Self::CandidateVerdict => f.write_str("its candidate_decision is not a verdict"),
            Self::FinalVerdict => f.write_str("its decision is not a verdict"),
            Self::CheckedAt => f.write_str("its checked_at is not a valid RFC 3339 instant"),
            Self::ReasonCodes => f.write_str("its reason_codes are not all published ones"),
            Self::DuplicateReasonCode => f.write_str("its reason_codes hold one twice"),
            Self::GateInput { object, fault } => write!(f, "its {object} {fault}"),
            Self::CandidateMismatch { stated, derived } => write!(
                f,
                "its candidate_decision is {} where its facts lead to {}",
                stated.as_str(),
                derived.as_str()
            ),
            Self::GateMismatch { stated, derived } => write!(
                f,
                "its gate says {} [{}] where the signed inputs lead to {} [{}]",
                stated.0.as_str(),
                join_codes(&stated.1),
                derived.0.as_str(),
                join_codes(&derived.1)
            ),
            Self::FinalMismatch { stated, derived } => write!(
                f,
                "its decision is {} where candidate and gate lead to {}",
                stated.as_str(),
                derived.as_str()
            ),
            Self::FinalCodesMismatch { stated, derived } => write!(
                f,
                "its reason_codes are [{}] where candidate and gate lead to [{}]",
                join_codes(stated),
                join_codes(derived)
            ),
        }
    }
}

impl core::error::Error for Refusal {}

/// Most stated reason codes that a message names; there are fewer published ones than that.
const MAX_NAMED: usize = 20;

fn join_codes(codes: &[ReasonCode]) -> String {
    codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(", ")
}

/// Derives the verdict of a receipt under the rule it names.
///
/// # Errors
///
/// [`Refusal`], the first in the order of the specification.
///
/// Source: receipt verification, sections 10.3 to 10.5.
pub fn derive(receipt: &Value<'_>) -> Result<Derived, Refusal> {
    let receipt = receipt.as_object().ok_or(Refusal::NotAnObject)?;
    let version = receipt.get("decision_rule_version").and_then(Value::as_string);
    let rule = version.and_then(JsonString::as_str).and_then(rule);
    if let Some((rule, receipt_version)) = rule.and_then(|rule| Some((rule, rule.gated_receipt_version?))) {
        let fields = gate::GateFields::read(receipt, rule, receipt_version)?;
        let (facts, uncertain) = facts::read_facts(receipt)?;
        let (decision, gate) = fields.apply(rule.decide(&facts, uncertain))?;
        return Ok(Derived { decision, rule_version: rule.version, gate: Some(gate) });
    }
    let (facts, uncertain) = facts::read_facts(receipt)?;
    let rule = rule.ok_or_else(|| match version {
        Some(version) => Refusal::UnsupportedRule(version.to_owned_string()),
        None => Refusal::NoRule,
    })?;
    Ok(Derived { decision: rule.decide(&facts, uncertain), rule_version: rule.version, gate: None })
}

/// What a receipt states as its verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stated {
    /// `decision`, when it is a string.
    pub verdict: Option<JsonString<'static>>,
    /// `reason_codes`, when it is an array of strings.
    pub reason_codes: Option<Vec<JsonString<'static>>>,
}

/// Why a stated verdict was not confirmed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DecisionFault {
    /// The receipt is not an object.
    NotAnObject,
    /// The receipt names no rule version.
    NoRule,
    /// The receipt names a rule version that is not known.
    UnsupportedRule(JsonString<'static>),
    /// Nothing can be derived.
    Refused(Refusal),
    /// Nothing is stated to compare with.
    NothingStated,
    /// The stated verdict is another.
    Verdict {
        /// What the receipt states.
        stated: JsonString<'static>,
        /// What follows.
        derived: Verdict,
    },
    /// The stated reason codes are others.
    ReasonCodes {
        /// What the receipt states.
        stated: Vec<JsonString<'static>>,
        /// What follows.
        derived: Vec<ReasonCode>,
    },
}

impl DecisionFault {
    /// Whether the receipt contradicts itself, as opposed to being beyond judgement.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        match self {
            Self::NotAnObject | Self::NoRule | Self::UnsupportedRule(_) => false,
            Self::Refused(refusal) => refusal.is_contradiction(),
            Self::NothingStated | Self::Verdict { .. } | Self::ReasonCodes { .. } => true,
        }
    }

    /// A stable name for the fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAnObject => "receipt_not_object",
            Self::NoRule => "rule_version_missing",
            Self::UnsupportedRule(_) => "rule_version_unsupported",
            Self::Refused(refusal) => refusal.code(),
            Self::NothingStated => "verdict_not_stated",
            Self::Verdict { .. } => "decision_mismatch",
            Self::ReasonCodes { .. } => "reason_codes_mismatch",
        }
    }
}

impl fmt::Display for DecisionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("the receipt is not a JSON object"),
            Self::NoRule => f.write_str("the receipt names no decision rule version"),
            Self::UnsupportedRule(version) => {
                let version = version.excerpt();
                write!(f, "the receipt was decided under {version}, which this verifier does not know")
            }
            Self::Refused(refusal) => write!(f, "the verdict cannot be derived offline: {refusal}"),
            Self::NothingStated => f.write_str("the receipt states no verdict that could be compared"),
            Self::Verdict { stated, derived } => {
                write!(f, "the receipt says {}, its facts lead to {}", stated.excerpt(), derived.as_str())
            }
            Self::ReasonCodes { stated, derived } => {
                let named: Vec<String> = stated.iter().take(MAX_NAMED).map(JsonString::excerpt).collect();
                let more = if stated.len() > MAX_NAMED { " and more" } else { "" };
                write!(
                    f,
                    "the receipt gives the reasons [{}{more}], its facts lead to [{}]",
                    named.join(", "),
                    join_codes(derived)
                )
            }
        }
    }
}

impl core::error::Error for DecisionFault {}

/// The stated and the derived verdict side by side.
///
/// Source: receipt verification, section 10.1.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionReport {
    /// The receipt's `decision_rule_version`, when it is a string.
    pub receipt_rule_version: Option<JsonString<'static>>,
    /// What the receipt states; absent when it states neither verdict nor reason codes.
    pub stated: Option<Stated>,
    /// What follows from its facts, when that can be derived.
    pub derived: Option<Derived>,
    /// Why the stated verdict is not confirmed. Absent when it is.
    pub fault: Option<DecisionFault>,
}

impl DecisionReport {
    /// Whether the stated verdict and reason codes are those that follow from the facts.
    #[must_use]
    pub fn matches(&self) -> bool {
        self.fault.is_none()
    }
}

/// Derives the verdict of a receipt and compares it with the stated one.
///
/// Does not look at the signature.
///
/// Source: receipt verification, section 10.1.
#[must_use]
pub fn report(receipt: &Value<'_>) -> DecisionReport {
    let Some(object) = receipt.as_object() else {
        let fault = Some(DecisionFault::NotAnObject);
        return DecisionReport { receipt_rule_version: None, stated: None, derived: None, fault };
    };
    let stated = Stated {
        verdict: object.get("decision").and_then(Value::as_string).map(JsonString::to_owned_string),
        reason_codes: object
            .get("reason_codes")
            .and_then(Value::as_array)
            .and_then(|codes| codes.iter().map(|code| Some(code.as_string()?.to_owned_string())).collect()),
    };
    let version = object.get("decision_rule_version").and_then(Value::as_string);
    let (derived, fault) = match version {
        None => (None, Some(DecisionFault::NoRule)),
        Some(version) if version.as_str().and_then(rule).is_none() => {
            (None, Some(DecisionFault::UnsupportedRule(version.to_owned_string())))
        }
        Some(_) => match derive(receipt) {
            Err(refusal) => (None, Some(DecisionFault::Refused(refusal))),
            Ok(derived) => {
                let fault = compare(&stated, &derived.decision);
                (Some(derived), fault)
            }
        },
    };
    DecisionReport {
        receipt_rule_version: version.map(JsonString::to_owned_string),
        stated: (stated != Stated::default()).then_some(stated),
        derived,
        fault,
    }
}

fn compare(stated: &Stated, derived: &Decision) -> Option<DecisionFault> {
    let (Some(verdict), Some(codes)) = (&stated.verdict, &stated.reason_codes) else {
        return Some(DecisionFault::NothingStated);
    };
    if *verdict != *derived.verdict.as_str() {
        return Some(DecisionFault::Verdict { stated: verdict.clone(), derived: derived.verdict });
    }
    // Derived codes are distinct and all known, so equal lengths and one match each make equal lists.
    let same = codes.len() == derived.reason_codes.len()
        && derived.reason_codes.iter().all(|code| codes.iter().any(|stated| *stated == *code.as_str()));
    (!same)
        .then(|| DecisionFault::ReasonCodes { stated: codes.clone(), derived: derived.reason_codes.clone() })
}
