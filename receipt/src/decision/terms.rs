//! The published words of the decision contract.
//!
//! Source: receipt verification, section 10.2.

use crate::json::{JsonString, Value};

/// Declares an enum of published words: the variants, their spelling, and reading them from JSON.
macro_rules! terms {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every value, in published order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The published word.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value of a word.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }

            pub(crate) fn from_value(value: Option<&Value<'_>>) -> Option<Self> {
                value.and_then(Value::as_string).and_then(JsonString::as_str).and_then(Self::parse)
            }
        }
    };
}

terms! {
    /// What an agent may do.
    Verdict {
        /// Act.
        Allow = "ALLOW",
        /// A person must look first; never permission.
        Review = "REVIEW",
        /// Do not act.
        Block = "BLOCK",
    }
}

terms! {
    /// What was found out about a fact.
    FactState {
        /// Still true.
        Holds = "holds",
        /// No longer true.
        Changed = "changed",
        /// Could not be established.
        Unknown = "unknown",
    }
}

terms! {
    /// How a fact was established.
    FactMethod {
        /// From watched state.
        State = "state",
        /// By research during the check.
        Live = "live",
        /// Not: the budget ran out.
        Timeout = "timeout",
    }
}

terms! {
    /// How much depends on a fact.
    Materiality {
        /// Little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Everything.
        Critical = "critical",
    }
}

terms! {
    /// Why a fact's basis is no longer fresh.
    FreshnessFailure {
        /// Older than allowed.
        Stale = "stale",
        /// Its source is no longer watched.
        Dormant = "dormant",
        /// A later version replaced the basis.
        BasisSuperseded = "basis_superseded",
        /// The source could not be reached.
        SourceUnreachable = "source_unreachable",
        /// Its time to live has passed.
        TtlExpired = "ttl_expired",
    }
}

terms! {
    /// Why a verdict is what it is. The first eight come from the facts, the rest from the ALLOW gate.
    ReasonCode {
        /// Every fact holds.
        AllFactsHold = "ALL_FACTS_HOLD",
        /// A fact changed.
        FactChanged = "FACT_CHANGED",
        /// A fact ran out.
        FactExpired = "FACT_EXPIRED",
        /// A fact could not be established.
        FactUnknown = "FACT_UNKNOWN",
        /// A source changed and its facts wait for review.
        SourceUpdatedPendingReview = "SOURCE_UPDATED_PENDING_REVIEW",
        /// A source could not be reached.
        SourceUnreachable = "SOURCE_UNREACHABLE",
        /// A fact is new and not verified yet.
        NewFactUnverified = "NEW_FACT_UNVERIFIED",
        /// It is not certain that the facts are all the action rests on.
        CompilationUncertain = "COMPILATION_UNCERTAIN",
        /// The action has no class.
        AllowActionUnclassified = "ALLOW_ACTION_UNCLASSIFIED",
        /// No current policy covers the action's class.
        AllowPolicyUnbound = "ALLOW_POLICY_UNBOUND",
        /// No calibration belongs to the policy.
        AllowCalibrationUnbound = "ALLOW_CALIBRATION_UNBOUND",
        /// The calibration is not good enough for the policy.
        AllowCalibrationInsufficient = "ALLOW_CALIBRATION_INSUFFICIENT",
        /// The calibration has run out.
        AllowCalibrationExpired = "ALLOW_CALIBRATION_EXPIRED",
        /// The gate could not be evaluated.
        AllowGateUnavailable = "ALLOW_GATE_UNAVAILABLE",
    }
}

impl ReasonCode {
    /// Whether the code comes from the ALLOW gate.
    #[must_use]
    pub fn is_gate_code(self) -> bool {
        self >= Self::AllowActionUnclassified
    }
}

terms! {
    /// What the ALLOW gate did.
    GateStatus {
        /// The candidate was not ALLOW.
        NotApplicable = "not_applicable",
        /// ALLOW stands.
        Passed = "passed",
        /// ALLOW became REVIEW.
        Downgraded = "downgraded",
    }
}

terms! {
    /// Which policies the gate may use.
    GateMode {
        /// Real ones.
        Production = "production",
        /// Those marked as demonstrations.
        Demo = "demo",
    }
}

terms! {
    /// Whether the gate could be evaluated.
    GateEvaluation {
        /// It could.
        Available = "available",
        /// It could not.
        Unavailable = "unavailable",
    }
}

terms! {
    /// Whether the action was put into a class.
    Classification {
        /// It was.
        Classified = "classified",
        /// It was not.
        Unclassified = "unclassified",
    }
}
