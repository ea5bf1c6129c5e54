//! What became of one receipt, as one word and one exit code.

/// What became of one receipt. The order is that of precedence: the first that applies is the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The bytes could not be had: no such regular file, too many of them, or reading failed.
    Unreadable,
    /// Not strict JSON, no receipt inside, or the signature block is invalid.
    Malformed,
    /// The key document has a fault that spoils all of it.
    KeysMalformed,
    /// The key document does not hold the receipt's key id.
    KeyUnknown,
    /// The named key did not sign these canonical bytes.
    SignatureInvalid,
    /// The key is revoked, compromised, without lifecycle, or declares another canonical form.
    KeyUntrusted,
    /// The verdict should be derived, and the rule version or a fact is beyond judgement.
    NotDerivable,
    /// Authentic, but its facts lead to another verdict or to other reason codes.
    VerdictMismatch,
    /// Freshness is required and not given.
    NotFresh,
    /// A member that was expected has another value.
    ActionMismatch,
    /// Another decision is required.
    DecisionRefused,
    /// No other outcome applies.
    Accepted,
}

impl Outcome {
    /// Every outcome, in order of precedence.
    pub const ALL: [Self; 12] = [
        Self::Unreadable,
        Self::Malformed,
        Self::KeysMalformed,
        Self::KeyUnknown,
        Self::SignatureInvalid,
        Self::KeyUntrusted,
        Self::NotDerivable,
        Self::VerdictMismatch,
        Self::NotFresh,
        Self::ActionMismatch,
        Self::DecisionRefused,
        Self::Accepted,
    ];

    /// Exit codes from the worst to the best; a run over many receipts ends with the worst it met.
    pub const EXIT_CODES_WORST_FIRST: [u8; 6] = [2, 1, 3, 4, 5, 0];

    /// The stable name.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Malformed => "malformed",
            Self::KeysMalformed => "keys_malformed",
            Self::KeyUnknown => "key_unknown",
            Self::SignatureInvalid => "signature_invalid",
            Self::KeyUntrusted => "key_untrusted",
            Self::NotDerivable => "not_derivable",
            Self::VerdictMismatch => "verdict_mismatch",
            Self::NotFresh => "not_fresh",
            Self::ActionMismatch => "action_mismatch",
            Self::DecisionRefused => "decision_refused",
            Self::Accepted => "accepted",
        }
    }

    /// The exit code of a process that checked one receipt.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Accepted => 0,
            Self::SignatureInvalid | Self::VerdictMismatch => 1,
            Self::Unreadable | Self::Malformed | Self::KeysMalformed | Self::NotDerivable => 2,
            Self::KeyUnknown | Self::KeyUntrusted => 3,
            Self::NotFresh => 4,
            Self::ActionMismatch | Self::DecisionRefused => 5,
        }
    }

    /// Position in [`ALL`](Self::ALL), for tables of counts.
    #[must_use]
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|&outcome| outcome == self).unwrap_or(0)
    }

    /// The worse of two exit codes.
    #[must_use]
    pub fn worse_exit_code(left: u8, right: u8) -> u8 {
        Self::EXIT_CODES_WORST_FIRST.into_iter().find(|&code| code == left || code == right).unwrap_or(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_the_order_of_the_table() {
        assert!(Outcome::ALL.is_sorted());
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome.index(), index);
            assert!(Outcome::EXIT_CODES_WORST_FIRST.contains(&outcome.exit_code()));
        }
    }

    #[test]
    fn two_is_worst_and_zero_is_best() {
        let worst = |codes: &[u8]| codes.iter().copied().fold(0, Outcome::worse_exit_code);
        assert_eq!(worst(&[0, 5, 4, 3, 1, 2]), 2);
        assert_eq!(worst(&[0, 5, 4, 3, 1]), 1);
        assert_eq!(worst(&[5, 4, 3]), 3);
        assert_eq!(worst(&[5, 4]), 4);
        assert_eq!(worst(&[0, 5]), 5);
        assert_eq!(worst(&[]), 0);
    }
}
