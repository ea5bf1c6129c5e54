//! The decision tables, as data. A new version is a new entry of [`RULES`].
//!
//! Source: receipt verification, section 10.4.

use super::facts::Fact;
use super::terms::{FactMethod, FactState, FreshnessFailure, Materiality, ReasonCode, Verdict};
use alloc::vec;
use alloc::vec::Vec;

/// One published version of the rules.
#[derive(Debug)]
pub struct Rule {
    /// The name receipts carry, such as `check-decision/1.1.0`.
    pub version: &'static str,
    /// Rows in order; the first that matches decides, and ALLOW is left when none does.
    rows: &'static [Row],
    /// The receipt version whose signed gate inputs decide whether ALLOW stands, for rules with a gate.
    pub gated_receipt_version: Option<&'static str>,
}

#[derive(Debug)]
struct Row {
    when: When,
    verdict: Verdict,
}

#[derive(Debug)]
enum When {
    /// Some fact is in that state, with one of those materialities.
    SomeFact { state: FactState, materialities: &'static [Materiality], contested: Contested },
    /// Compilation is uncertain, or some fact does not hold, timed out or is stale pending.
    Unsettled,
}

/// Whether contested facts count for a row.
#[derive(Debug, PartialEq, Eq)]
enum Contested {
    Counts,
    DoesNotCount,
}

const CHANGED_BLOCKS: Row = Row {
    when: When::SomeFact {
        state: FactState::Changed,
        materialities: &[Materiality::High, Materiality::Critical],
        contested: Contested::Counts,
    },
    verdict: Verdict::Block,
};

const UNKNOWN_CRITICAL_BLOCKS: Row = Row {
    when: When::SomeFact {
        state: FactState::Unknown,
        materialities: &[Materiality::Critical],
        contested: Contested::Counts,
    },
    verdict: Verdict::Block,
};

const UNCONTESTED_UNKNOWN_CRITICAL_BLOCKS: Row = Row {
    when: When::SomeFact {
        state: FactState::Unknown,
        materialities: &[Materiality::Critical],
        contested: Contested::DoesNotCount,
    },
    verdict: Verdict::Block,
};

const UNSETTLED_IS_REVIEW: Row = Row { when: When::Unsettled, verdict: Verdict::Review };

/// Every version that can be derived, oldest first.
pub const RULES: &[Rule] = &[
    Rule {
        version: "check-decision/1.0.0",
        rows: &[CHANGED_BLOCKS, UNKNOWN_CRITICAL_BLOCKS, UNSETTLED_IS_REVIEW],
        gated_receipt_version: None,
    },
    Rule {
        version: "check-decision/1.1.0",
        rows: &[CHANGED_BLOCKS, UNCONTESTED_UNKNOWN_CRITICAL_BLOCKS, UNSETTLED_IS_REVIEW],
        gated_receipt_version: None,
    },
    Rule {
        version: "check-decision/2.0.0",
        rows: &[CHANGED_BLOCKS, UNCONTESTED_UNKNOWN_CRITICAL_BLOCKS, UNSETTLED_IS_REVIEW],
        gated_receipt_version: Some("check-receipt/2.0.0"),
    },
];

/// The version results name as supported.
pub const NEWEST_VERSION: &str = "check-decision/2.0.0";

/// The version a decision without a named version is made under.
pub const DEFAULT_VERSION: &str = "check-decision/1.1.0";

/// The rule of that version.
#[must_use]
pub fn rule(version: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.version == version)
}

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, without repetition, in the order the causes were met.
    pub reason_codes: Vec<ReasonCode>,
}

impl Rule {
    /// Decides over facts, without the ALLOW gate.
    ///
    /// Source: receipt verification, section 10.4.
    #[must_use]
    pub fn decide(&self, facts: &[Fact], compilation_uncertain: bool) -> Decision {
        let row = self.rows.iter().find(|row| row.when.matches(facts, compilation_uncertain));
        let verdict = row.map_or(Verdict::Allow, |row| row.verdict);
        let reason_codes = match verdict {
            Verdict::Allow => vec![ReasonCode::AllFactsHold],
            _ => reason_codes(facts, compilation_uncertain),
        };
        Decision { verdict, reason_codes }
    }
}

impl When {
    fn matches(&self, facts: &[Fact], compilation_uncertain: bool) -> bool {
        match self {
            Self::SomeFact { state, materialities, contested } => facts.iter().any(|fact| {
                fact.state == *state
                    && materialities.contains(&fact.materiality)
                    && (*contested == Contested::Counts || !fact.contested)
            }),
            Self::Unsettled => {
                compilation_uncertain
                    || facts.iter().any(|fact| {
                        fact.state != FactState::Holds
                            || fact.method == FactMethod::Timeout
                            || fact.stale_pending
                    })
            }
        }
    }
}

fn reason_codes(facts: &[Fact], compilation_uncertain: bool) -> Vec<ReasonCode> {
    let mut codes = Vec::new();
    if compilation_uncertain {
        codes.push(ReasonCode::CompilationUncertain);
    }
    for code in facts.iter().filter_map(fact_code) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    if codes.is_empty() {
        // Only a fact that holds although its check timed out gets here.
        codes.push(ReasonCode::FactUnknown);
    }
    codes
}

fn fact_code(fact: &Fact) -> Option<ReasonCode> {
    match fact.state {
        FactState::Changed if fact.temporally_expired => Some(ReasonCode::FactExpired),
        FactState::Changed => Some(ReasonCode::FactChanged),
        _ if fact.stale_pending => Some(ReasonCode::SourceUpdatedPendingReview),
        FactState::Unknown if fact.freshness_failure == Some(FreshnessFailure::SourceUnreachable) => {
            Some(ReasonCode::SourceUnreachable)
        }
        FactState::Unknown if fact.novel || fact.method == FactMethod::Timeout => {
            Some(ReasonCode::NewFactUnverified)
        }
        FactState::Unknown => Some(ReasonCode::FactUnknown),
        FactState::Holds => None,
    }
}
