//! How a run ends: exit statuses, and failures that leave no result to print.

use crate::escape::Escaped;
use crate::output::{self, Format, Layout};
use kaval_receipt::Outcome;
use kaval_receipt::json::{Object, Value};
use std::fmt;
use std::io;
use std::process::ExitCode;

/// What the process ends with. The numbers are documented in `docs/exit-codes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// 0: accepted, and every gate that was asked for holds.
    Accepted,
    /// 1: forged or inconsistent.
    Refuted,
    /// 2: could not be checked.
    Unchecked,
    /// 3: the key is unknown or not trusted.
    KeyNotTrusted,
    /// 4: not fresh, although required.
    NotFresh,
    /// 5: authentic, but not the required verdict or action.
    NotRequired,
}

impl ExitStatus {
    /// Every status, by number.
    pub(crate) const ALL: [Self; 6] = [
        Self::Accepted,
        Self::Refuted,
        Self::Unchecked,
        Self::KeyNotTrusted,
        Self::NotFresh,
        Self::NotRequired,
    ];

    /// The number the process ends with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Accepted => 0,
            Self::Refuted => 1,
            Self::Unchecked => 2,
            Self::KeyNotTrusted => 3,
            Self::NotFresh => 4,
            Self::NotRequired => 5,
        }
    }

    /// The status of a number; one that is not documented counts as not checked.
    pub(crate) fn from_code(code: u8) -> Self {
        Self::ALL.into_iter().find(|status| status.code() == code).unwrap_or(Self::Unchecked)
    }
}

impl From<Outcome> for ExitStatus {
    fn from(outcome: Outcome) -> Self {
        Self::from_code(outcome.exit_code())
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// The stable name of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureCode {
    /// The command line cannot mean anything.
    Usage,
    /// A key that is already pinned has other public bytes in the new document.
    #[cfg_attr(not(feature = "discovery"), expect(dead_code, reason = "only fetching can find that out"))]
    KeyChanged,
    /// stdout could not be written, so nothing more can be said there.
    Stdout,
    /// A file could not be written.
    Unwritable,
    /// One of the outcomes a receipt can have.
    Outcome(Outcome),
}

impl FailureCode {
    /// The name, as it stands in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::KeyChanged => "key_changed",
            Self::Stdout | Self::Unwritable => "unwritable",
            Self::Outcome(outcome) => outcome.code(),
        }
    }

    fn status(self) -> ExitStatus {
        match self {
            Self::Stdout | Self::Unwritable | Self::Usage => ExitStatus::Unchecked,
            Self::KeyChanged => ExitStatus::KeyNotTrusted,
            Self::Outcome(outcome) => outcome.into(),
        }
    }
}

/// Why a command ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The stable name.
    pub(crate) code: FailureCode,
    /// What failed, with what; outside text in it is escaped where it is printed.
    pub(crate) message: String,
}

impl Failure {
    /// A command line that cannot mean anything.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: FailureCode::Usage, message: message.into() }
    }

    /// An outcome that leaves no result.
    pub(crate) fn outcome(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { code: FailureCode::Outcome(outcome), message: message.into() }
    }

    /// An input that could not be read.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::outcome(Outcome::Unreadable, message)
    }

    /// A file that could not be written.
    pub(crate) fn unwritable(message: impl Into<String>) -> Self {
        Self { code: FailureCode::Unwritable, message: message.into() }
    }

    /// Output that could not be written to stdout.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        Self { code: FailureCode::Stdout, message: format!("stdout cannot be written: {error}") }
    }

    /// Prints the failure and says how the process ends: as the failure object on stdout, or as a line on
    /// stderr for people. That stdout cannot be written is told on stderr in any case.
    pub(crate) fn report(&self, format: Format, layout: Layout) -> ExitStatus {
        if format == Format::Json && self.code != FailureCode::Stdout {
            if let Err(failure) = output::print_json(&self.to_value(), layout) {
                output::advise(&failure);
            }
        } else {
            output::advise(self);
        }
        self.code.status()
    }

    fn to_value(&self) -> Value<'_> {
        let code = self.code.as_str();
        let mut error = Object::new();
        error.insert("code", code);
        error.insert("message", self.message.as_str());
        let mut root = Object::new();
        root.insert("contract_version", "1");
        root.insert("accepted", false);
        root.insert("code", code);
        root.insert("exit_code", f64::from(self.code.status().code()));
        root.insert("error", error);
        root.into()
    }
}

/// One line for people, with control characters escaped.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), Escaped::lines(&self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_an_outcome_is_a_status() {
        for outcome in Outcome::ALL {
            assert_eq!(ExitStatus::from(outcome).code(), outcome.exit_code(), "{outcome:?}");
        }
        assert_eq!(ExitStatus::from_code(77), ExitStatus::Unchecked);
    }
}
