//! Reading the facts a verdict is derived from.
//!
//! Source: receipt verification, section 10.3.

use super::Refusal;
use super::terms::{FactMethod, FactState, FreshnessFailure, Materiality};
use crate::json::{Object, Value};
use alloc::vec::Vec;
use core::fmt;

/// What the decision tables look at in a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// How much depends on it.
    pub materiality: Materiality,
    /// What was found out.
    pub state: FactState,
    /// How.
    pub method: FactMethod,
    /// Whether its `temporal_state` is the text `expired`.
    pub temporally_expired: bool,
    /// Whether its source changed and it waits for review.
    pub stale_pending: bool,
    /// Whether it is new.
    pub novel: bool,
    /// Why its basis is not fresh, when it is not.
    pub freshness_failure: Option<FreshnessFailure>,
    /// Whether some basis has the role `contesting`.
    pub contested: bool,
}

/// Why a fact cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactFault {
    /// Not an object.
    NotAnObject,
    /// `stale_pending` or `novel` is not a boolean.
    Discriminators,
    /// `temporal_state` is absent.
    TemporalStateMissing,
    /// `freshness_failure` is neither null nor a published value.
    FreshnessFailure,
    /// `materiality` is not a published value.
    Materiality,
    /// `state` is not a published value.
    State,
    /// `method` is not a published value.
    Method,
    /// `temporal_state` is neither null nor a string.
    TemporalState,
}

impl FactFault {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::NotAnObject => "fact_not_object",
            Self::Discriminators => "fact_discriminators_missing",
            Self::TemporalStateMissing => "fact_temporal_state_missing",
            Self::FreshnessFailure => "fact_freshness_failure_unknown",
            Self::Materiality => "fact_materiality_unknown",
            Self::State => "fact_state_unknown",
            Self::Method => "fact_method_unknown",
            Self::TemporalState => "fact_temporal_state_invalid",
        }
    }
}

// The published conformance vectors search for these phrases, so they are kept.
impl fmt::Display for FactFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnObject => "is not a JSON object",
            Self::Discriminators => "omits the stale-pending/novel discriminators",
            Self::TemporalStateMissing => "omits its temporal state",
            Self::FreshnessFailure => "carries a freshness failure this contract does not define",
            Self::Materiality => "carries a materiality this contract does not define",
            Self::State => "carries a state this contract does not define",
            Self::Method => "carries a method this contract does not define",
            Self::TemporalState => "carries a non-textual temporal state",
        })
    }
}

/// The facts of a receipt and whether its compilation was uncertain.
pub(super) fn read_facts(receipt: &Object<'_>) -> Result<(Vec<Fact>, bool), Refusal> {
    let uncertain = receipt.get("compilation_uncertain").and_then(Value::as_bool);
    let uncertain = uncertain.ok_or(Refusal::CompilationUncertain)?;
    let facts = receipt.get("facts").and_then(Value::as_array).ok_or(Refusal::FactList)?;
    let facts = facts
        .iter()
        .enumerate()
        .map(|(index, fact)| read_fact(fact).map_err(|fault| Refusal::Fact { index, fault }));
    Ok((facts.collect::<Result<_, _>>()?, uncertain))
}

fn read_fact(fact: &Value<'_>) -> Result<Fact, FactFault> {
    let members = Members::of(fact.as_object().ok_or(FactFault::NotAnObject)?);
    let flag = |value: Option<&Value<'_>>| value.and_then(Value::as_bool).ok_or(FactFault::Discriminators);
    let (stale_pending, novel) = (flag(members.stale_pending)?, flag(members.novel)?);
    let temporal_state = members.temporal_state.ok_or(FactFault::TemporalStateMissing)?;
    let freshness_failure = match members.freshness_failure {
        Some(Value::Null) => None,
        value => Some(FreshnessFailure::from_value(value).ok_or(FactFault::FreshnessFailure)?),
    };
    let materiality = Materiality::from_value(members.materiality).ok_or(FactFault::Materiality)?;
    let state = FactState::from_value(members.state).ok_or(FactFault::State)?;
    let method = FactMethod::from_value(members.method).ok_or(FactFault::Method)?;
    let temporally_expired = match temporal_state {
        Value::Null => false,
        Value::String(text) => *text == *"expired",
        _ => return Err(FactFault::TemporalState),
    };
    let basis = members.basis.and_then(Value::as_array).unwrap_or_default();
    let contested = basis
        .iter()
        .any(|basis| basis.get("role").and_then(Value::as_string).is_some_and(|role| *role == *"contesting"));
    Ok(Fact {
        materiality,
        state,
        method,
        temporally_expired,
        stale_pending,
        novel,
        freshness_failure,
        contested,
    })
}

/// The members of a fact that are read, found in one pass over it.
#[derive(Default)]
struct Members<'r, 'a> {
    stale_pending: Option<&'r Value<'a>>,
    novel: Option<&'r Value<'a>>,
    temporal_state: Option<&'r Value<'a>>,
    freshness_failure: Option<&'r Value<'a>>,
    materiality: Option<&'r Value<'a>>,
    state: Option<&'r Value<'a>>,
    method: Option<&'r Value<'a>>,
    basis: Option<&'r Value<'a>>,
}

impl<'r, 'a> Members<'r, 'a> {
    fn of(fact: &'r Object<'a>) -> Self {
        let mut members = Self::default();
        for (name, value) in fact.members() {
            let slot = match name.as_wtf8() {
                b"stale_pending" => &mut members.stale_pending,
                b"novel" => &mut members.novel,
                b"temporal_state" => &mut members.temporal_state,
                b"freshness_failure" => &mut members.freshness_failure,
                b"materiality" => &mut members.materiality,
                b"state" => &mut members.state,
                b"method" => &mut members.method,
                b"basis" => &mut members.basis,
                _ => continue,
            };
            *slot = Some(value);
        }
        members
    }
}
