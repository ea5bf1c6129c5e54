//! The ALLOW gate of rules that have one: signed inputs, and what they make of a candidate ALLOW.
//!
//! Source: receipt verification, section 10.5.

use super::table::{Decision, Rule};
use super::terms::{Classification, GateEvaluation, GateMode, GateStatus, ReasonCode, Verdict};
use super::{GatedDecision, Refusal};
use crate::instant::Instant;
use crate::json::{JsonString, Object, Value};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

const MAX_BASIS_POINTS: f64 = 10_000.0;
/// Most unknown members that a message names.
const MAX_NAMED: usize = 10;
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// What is wrong with a member of the gate inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateFault {
    /// Not an object, nor null where null is allowed.
    NotAnObject,
    /// Members missing or not known, as one text.
    FieldSet(String),
    /// Not one of the published words.
    Term(&'static str),
    /// The action class does not go with the classification status.
    ClassMismatch,
    /// Not a text of the allowed length.
    Text(&'static str),
    /// Not a whole number of the allowed size.
    Integer(&'static str),
    /// Not an instant.
    Instant(&'static str),
    /// An interval that ends before it starts, or is empty.
    Interval,
    /// Not a boolean.
    Boolean(&'static str),
    /// A reason code that is not published.
    ReasonCodes,
    /// A reason code twice.
    DuplicateReasonCode,
}

impl GateFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::NotAnObject => "gate_input_not_object",
            Self::FieldSet(_) => "gate_input_field_set",
            Self::Term(_) => "gate_input_term_unknown",
            Self::ClassMismatch => "gate_input_class_mismatch",
            Self::Text(_) => "gate_input_text_invalid",
            Self::Integer(_) => "gate_input_integer_invalid",
            Self::Instant(_) => "gate_input_instant_invalid",
            Self::Interval => "gate_input_interval_invalid",
            Self::Boolean(_) => "gate_input_boolean_invalid",
            Self::ReasonCodes => "gate_input_reason_codes_unknown",
            Self::DuplicateReasonCode => "gate_input_reason_code_duplicate",
        }
    }
}

impl fmt::Display for GateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("is not a JSON object"),
            Self::FieldSet(difference) => write!(f, "has other members than it must: {difference}"),
            Self::Term(name) => write!(f, "has a {name} that is not a published one"),
            Self::ClassMismatch => f.write_str("has an action_class that does not go with its status"),
            Self::Text(name) => write!(f, "has no {name} of an allowed length"),
            Self::Integer(name) => write!(f, "has a {name} that is not a whole number in its range"),
            Self::Instant(name) => write!(f, "has a {name} that is not a valid RFC 3339 instant"),
            Self::Interval => f.write_str("covers an empty or reversed interval"),
            Self::Boolean(name) => write!(f, "has a {name} that is not a boolean"),
            Self::ReasonCodes => f.write_str("has a reason code that is not a published one"),
            Self::DuplicateReasonCode => f.write_str("has a reason code twice"),
        }
    }
}

/// The signed inputs of the gate, and what the receipt states of its outcome.
#[derive(Debug)]
pub(super) struct GateFields<'r, 'a> {
    candidate: Verdict,
    decision: Verdict,
    reason_codes: Vec<ReasonCode>,
    checked_at: Instant,
    /// The class, when the action was classified.
    action_class: Option<&'r JsonString<'a>>,
    policy: Option<Policy<'r, 'a>>,
    calibration: Option<Calibration<'r, 'a>>,
    gate: Gate,
}

#[derive(Debug)]
struct Policy<'r, 'a> {
    id: &'r JsonString<'a>,
    version: &'r JsonString<'a>,
    action_class: &'r JsonString<'a>,
    minimum_sample_size: f64,
    maximum_bound_bps: f64,
    valid_from: Instant,
    valid_until: Option<Instant>,
    demo_only: bool,
}

#[derive(Debug)]
struct Calibration<'r, 'a> {
    policy_id: &'r JsonString<'a>,
    policy_version: &'r JsonString<'a>,
    action_class: &'r JsonString<'a>,
    sample_size: f64,
    bound_bps: f64,
    evaluated_at: Instant,
    expires_at: Instant,
    demo_only: bool,
}

#[derive(Debug)]
struct Gate {
    mode: GateMode,
    evaluation: GateEvaluation,
    status: GateStatus,
    reason_codes: Vec<ReasonCode>,
}

impl<'r, 'a> GateFields<'r, 'a> {
    /// Part A: every field has its published form.
    pub(super) fn read(receipt: &'r Object<'a>, rule: &Rule, receipt_version: &str) -> Result<Self, Refusal> {
        let is = |name, text: &str| {
            receipt.get(name).and_then(Value::as_string).is_some_and(|value| *value == *text)
        };
        if !is("receipt_version", receipt_version) {
            return Err(Refusal::ReceiptVersion);
        }
        if !is("decision_rule_version", rule.version) {
            return Err(Refusal::RuleVersionMismatch);
        }
        let candidate =
            Verdict::from_value(receipt.get("candidate_decision")).ok_or(Refusal::CandidateVerdict)?;
        let decision = Verdict::from_value(receipt.get("decision")).ok_or(Refusal::FinalVerdict)?;
        let checked_at = receipt.get("checked_at").and_then(Instant::from_value).ok_or(Refusal::CheckedAt)?;
        let reason_codes =
            read_codes(receipt.get("reason_codes"), |_| true).map_err(|fault| match fault {
                GateFault::DuplicateReasonCode => Refusal::DuplicateReasonCode,
                _ => Refusal::ReasonCodes,
            })?;
        let named = |object: &'static str| move |fault| Refusal::GateInput { object, fault };
        Ok(Self {
            candidate,
            decision,
            reason_codes,
            checked_at,
            action_class: read_classification(receipt.get("action_classification"))
                .map_err(named("action_classification"))?,
            policy: read_policy(receipt.get("policy_binding")).map_err(named("policy_binding"))?,
            calibration: read_calibration(receipt.get("calibration_binding"))
                .map_err(named("calibration_binding"))?,
            gate: read_gate(receipt.get("gate")).map_err(named("gate"))?,
        })
    }

    /// Parts B to D: the stated candidate, gate and final decision are those that follow.
    pub(super) fn apply(self, candidate: Decision) -> Result<(Decision, GatedDecision), Refusal> {
        if candidate.verdict != self.candidate {
            return Err(Refusal::CandidateMismatch { stated: self.candidate, derived: candidate.verdict });
        }
        let (status, codes) = self.derive_gate();
        if (status, &codes) != (self.gate.status, &self.gate.reason_codes) {
            return Err(Refusal::GateMismatch {
                stated: (self.gate.status, self.gate.reason_codes),
                derived: (status, codes),
            });
        }
        let last = match status {
            GateStatus::Downgraded => Decision { verdict: Verdict::Review, reason_codes: codes.clone() },
            GateStatus::NotApplicable | GateStatus::Passed => candidate.clone(),
        };
        if last.verdict != self.decision {
            return Err(Refusal::FinalMismatch { stated: self.decision, derived: last.verdict });
        }
        if last.reason_codes != self.reason_codes {
            return Err(Refusal::FinalCodesMismatch {
                stated: self.reason_codes,
                derived: last.reason_codes,
            });
        }
        Ok((last, GatedDecision { candidate, status, reason_codes: codes }))
    }

    fn derive_gate(&self) -> (GateStatus, Vec<ReasonCode>) {
        let downgraded = |code| (GateStatus::Downgraded, vec![code]);
        if self.candidate != Verdict::Allow {
            return (GateStatus::NotApplicable, vec![]);
        }
        if self.gate.evaluation == GateEvaluation::Unavailable {
            return downgraded(ReasonCode::AllowGateUnavailable);
        }
        let Some(action_class) = self.action_class else {
            return downgraded(ReasonCode::AllowActionUnclassified);
        };
        let Some(policy) = self.policy.as_ref().filter(|policy| self.is_current(policy, action_class)) else {
            return downgraded(ReasonCode::AllowPolicyUnbound);
        };
        let bound =
            self.calibration.as_ref().filter(|calibration| self.is_bound(calibration, policy, action_class));
        let Some(calibration) = bound else {
            return downgraded(ReasonCode::AllowCalibrationUnbound);
        };
        let mut codes = vec![];
        if calibration.sample_size < policy.minimum_sample_size
            || calibration.bound_bps > policy.maximum_bound_bps
        {
            codes.push(ReasonCode::AllowCalibrationInsufficient);
        }
        if self.checked_at >= calibration.expires_at {
            codes.push(ReasonCode::AllowCalibrationExpired);
        }
        let status = if codes.is_empty() { GateStatus::Passed } else { GateStatus::Downgraded };
        (status, codes)
    }

    fn mode_allows(&self, demo_only: bool) -> bool {
        demo_only == (self.gate.mode == GateMode::Demo)
    }

    fn is_current(&self, policy: &Policy<'_, '_>, action_class: &JsonString<'_>) -> bool {
        policy.action_class == action_class
            && self.mode_allows(policy.demo_only)
            && policy.valid_from <= self.checked_at
            && policy.valid_until.is_none_or(|until| self.checked_at < until)
    }

    fn is_bound(
        &self,
        calibration: &Calibration<'_, '_>,
        policy: &Policy<'_, '_>,
        action_class: &JsonString<'_>,
    ) -> bool {
        calibration.action_class == action_class
            && calibration.policy_id == policy.id
            && calibration.policy_version == policy.version
            && self.mode_allows(calibration.demo_only)
            && calibration.evaluated_at <= self.checked_at
    }
}

fn read_classification<'r, 'a>(
    value: Option<&'r Value<'a>>,
) -> Result<Option<&'r JsonString<'a>>, GateFault> {
    let fields = Fields::of(value, &["status", "action_class", "classifier_version"])?;
    let status = Classification::from_value(fields.get("status")).ok_or(GateFault::Term("status"))?;
    let action_class = match (status, fields.get("action_class")) {
        (Classification::Classified, Some(Value::String(class))) if has_length(class, 256) => Some(class),
        (Classification::Unclassified, Some(Value::Null)) => None,
        _ => return Err(GateFault::ClassMismatch),
    };
    fields.text("classifier_version", 128)?;
    Ok(action_class)
}

fn read_policy<'r, 'a>(value: Option<&'r Value<'a>>) -> Result<Option<Policy<'r, 'a>>, GateFault> {
    if value == Some(&Value::Null) {
        return Ok(None);
    }
    let fields = Fields::of(
        value,
        &[
            "id",
            "version",
            "action_class",
            "minimum_sample_size",
            "maximum_false_allow_upper_bound_bps",
            "valid_from",
            "valid_until",
            "demo_only",
        ],
    )?;
    let valid_from = fields.instant("valid_from")?;
    let valid_until = match fields.get("valid_until") {
        Some(Value::Null) => None,
        _ => Some(fields.instant("valid_until")?),
    };
    if valid_until.is_some_and(|until| until <= valid_from) {
        return Err(GateFault::Interval);
    }
    let demo_only = fields.boolean("demo_only")?;
    Ok(Some(Policy {
        id: fields.text("id", 256)?,
        version: fields.text("version", 128)?,
        action_class: fields.text("action_class", 256)?,
        minimum_sample_size: fields.integer("minimum_sample_size", MAX_SAFE_INTEGER)?,
        maximum_bound_bps: fields.integer("maximum_false_allow_upper_bound_bps", MAX_BASIS_POINTS)?,
        valid_from,
        valid_until,
        demo_only,
    }))
}

fn read_calibration<'r, 'a>(value: Option<&'r Value<'a>>) -> Result<Option<Calibration<'r, 'a>>, GateFault> {
    if value == Some(&Value::Null) {
        return Ok(None);
    }
    let fields = Fields::of(
        value,
        &[
            "id",
            "policy_id",
            "policy_version",
            "action_class",
            "sample_size",
            "false_allow_upper_bound_bps",
            "evaluated_at",
            "expires_at",
            "demo_only",
        ],
    )?;
    // The contract checks this one first here, and later in a policy.
    let demo_only = fields.boolean("demo_only")?;
    let evaluated_at = fields.instant("evaluated_at")?;
    let expires_at = fields.instant("expires_at")?;
    if expires_at <= evaluated_at {
        return Err(GateFault::Interval);
    }
    fields.text("id", 256)?;
    Ok(Some(Calibration {
        policy_id: fields.text("policy_id", 256)?,
        policy_version: fields.text("policy_version", 128)?,
        action_class: fields.text("action_class", 256)?,
        sample_size: fields.integer("sample_size", MAX_SAFE_INTEGER)?,
        bound_bps: fields.integer("false_allow_upper_bound_bps", MAX_BASIS_POINTS)?,
        evaluated_at,
        expires_at,
        demo_only,
    }))
}

fn read_gate(value: Option<&Value<'_>>) -> Result<Gate, GateFault> {
    let fields = Fields::of(value, &["mode", "evaluation_status", "status", "reason_codes"])?;
    Ok(Gate {
        mode: GateMode::from_value(fields.get("mode")).ok_or(GateFault::Term("mode"))?,
        evaluation: GateEvaluation::from_value(fields.get("evaluation_status"))
            .ok_or(GateFault::Term("evaluation_status"))?,
        status: GateStatus::from_value(fields.get("status")).ok_or(GateFault::Term("status"))?,
        reason_codes: read_codes(fields.get("reason_codes"), ReasonCode::is_gate_code)?,
    })
}

/// An array of published reason codes that pass `accept`, each once.
fn read_codes(
    value: Option<&Value<'_>>,
    accept: fn(ReasonCode) -> bool,
) -> Result<Vec<ReasonCode>, GateFault> {
    let elements = value.and_then(Value::as_array).ok_or(GateFault::ReasonCodes)?;
    let mut codes = Vec::new();
    let mut has_duplicate = false;
    for element in elements {
        let code = ReasonCode::from_value(Some(element)).filter(|&code| accept(code));
        let code = code.ok_or(GateFault::ReasonCodes)?;
        // At most as many as there are codes, however long the array is.
        if codes.contains(&code) {
            has_duplicate = true;
        } else {
            codes.push(code);
        }
    }
    if has_duplicate { Err(GateFault::DuplicateReasonCode) } else { Ok(codes) }
}

fn has_length(text: &JsonString<'_>, max: usize) -> bool {
    (1..=max).contains(&text.utf16_len())
}

/// An object with exactly the members it must have.
struct Fields<'r, 'a>(&'r Object<'a>);

impl<'r, 'a> Fields<'r, 'a> {
    fn of(value: Option<&'r Value<'a>>, names: &[&'static str]) -> Result<Self, GateFault> {
        let object = value.and_then(Value::as_object).ok_or(GateFault::NotAnObject)?;
        let missing: Vec<&str> = names.iter().copied().filter(|name| !object.contains(name)).collect();
        let is_unknown = |key: &JsonString<'_>| !names.iter().any(|name| *key == **name);
        let mut unknown = object.iter().map(|(key, _)| key).filter(|key| is_unknown(key));
        if missing.is_empty() && unknown.clone().next().is_none() {
            return Ok(Self(object));
        }
        let mut parts = Vec::new();
        if !missing.is_empty() {
            parts.push(alloc::format!("missing {}", missing.join(", ")));
        }
        let named: Vec<String> = unknown.by_ref().take(MAX_NAMED).map(JsonString::excerpt).collect();
        if !named.is_empty() {
            let more = if unknown.next().is_some() { " and more" } else { "" };
            parts.push(alloc::format!("unknown {}{more}", named.join(", ")));
        }
        Err(GateFault::FieldSet(parts.join("; ")))
    }

    fn get(&self, name: &str) -> Option<&'r Value<'a>> {
        self.0.get(name)
    }

    fn text(&self, name: &'static str, max: usize) -> Result<&'r JsonString<'a>, GateFault> {
        let text = self.get(name).and_then(Value::as_string);
        text.filter(|text| has_length(text, max)).ok_or(GateFault::Text(name))
    }

    /// A whole number from 0 to `max`; doubles in the safe range hold it exactly.
    fn integer(&self, name: &'static str, max: f64) -> Result<f64, GateFault> {
        match self.get(name) {
            Some(Value::Number(number)) if (0.0..=max).contains(number) && number % 1.0 == 0.0 => Ok(*number),
            _ => Err(GateFault::Integer(name)),
        }
    }

    fn instant(&self, name: &'static str) -> Result<Instant, GateFault> {
        self.get(name).and_then(Instant::from_value).ok_or(GateFault::Instant(name))
    }

    fn boolean(&self, name: &'static str) -> Result<bool, GateFault> {
        self.get(name).and_then(Value::as_bool).ok_or(GateFault::Boolean(name))
    }
}
