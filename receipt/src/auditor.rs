//! Many receipts against one keyset, with counts.

use crate::assess::{self, Assessment, Gates};
use crate::instant::EvaluationTime;
use crate::keyset::Keyset;
use crate::outcome::Outcome;
use crate::wrapper::Wrappers;
use alloc::string::String;
use alloc::vec::Vec;

/// Number of receipts per outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Outcome::ALL.len()]);

impl Counts {
    /// Number of receipts with that outcome.
    #[must_use]
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0.get(outcome.index()).copied().unwrap_or(0)
    }

    /// Number of receipts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Counts one receipt.
    pub fn add(&mut self, outcome: Outcome) {
        if let Some(count) = self.0.get_mut(outcome.index()) {
            *count += 1;
        }
    }

    /// Adds the counts of another run, such as another thread's.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// The worst exit code among the outcomes counted; 2 when none was.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let met = Outcome::ALL.into_iter().filter(|&outcome| self.of(outcome) > 0).map(Outcome::exit_code);
        met.reduce(Outcome::worse_exit_code).unwrap_or(2)
    }
}

/// Assesses receipts one after another against one keyset.
///
/// One an OS thread, all sharing the keyset, is how an archive is audited on every core.
///
/// # Example
///
/// ```
/// use kaval_receipt::{Auditor, EvaluationTime, Gates, Keyset, Outcome, json};
///
/// let keyset = Keyset::from_value(&json::parse(r#"{"keys":[]}"#)?);
/// let mut auditor = Auditor::new(&keyset, EvaluationTime::parse("2026-08-01T10:00:00Z")?, Gates::default());
/// for line in ["{}", "not JSON"] {
///     auditor.assess_bytes(line.as_bytes());
/// }
/// assert_eq!(auditor.counts().of(Outcome::Malformed), 2);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Auditor<'k> {
    keyset: &'k Keyset,
    at: EvaluationTime,
    gates: Gates,
    wrappers: Wrappers,
    counts: Counts,
    canonical: Vec<u8>,
}

impl<'k> Auditor<'k> {
    /// An auditor that has seen nothing yet. It looks into the wrappers of [`Wrappers::Own`].
    #[must_use]
    pub fn new(keyset: &'k Keyset, at: EvaluationTime, gates: Gates) -> Self {
        Self { keyset, at, gates, wrappers: Wrappers::Own, counts: Counts::default(), canonical: Vec::new() }
    }

    /// Assesses and counts a receipt document given as bytes; sequences that are not UTF-8 become U+FFFD.
    ///
    /// Source: receipt verification, section 11.
    pub fn assess_bytes(&mut self, bytes: &[u8]) -> Assessment {
        self.assess_text(&String::from_utf8_lossy(bytes))
    }

    /// Assesses and counts a receipt document.
    pub fn assess_text(&mut self, text: &str) -> Assessment {
        let assessment =
            assess::assess_text(text, self.keyset, &self.at, &self.gates, self.wrappers, &mut self.canonical);
        self.counts.add(assessment.outcome);
        assessment
    }

    /// Counts a receipt that the caller could not get at.
    pub fn record(&mut self, outcome: Outcome) {
        self.counts.add(outcome);
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}
