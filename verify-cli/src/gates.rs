//! From flags to gates and to the instant a receipt is judged at.

use crate::args::GateArgs;
use crate::exit::Failure;
use crate::input::{MAX_KEYSET_BYTES, Source, encoding_hint};
use kaval_receipt::assess::{Derive, Gates};
use kaval_receipt::expect::Expectations;
use kaval_receipt::{EvaluationTime, json};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

impl GateArgs {
    /// The instant to judge at: `--at`, else now.
    ///
    /// # Errors
    ///
    /// `usage` when `--at` is not in the RFC 3339 profile.
    pub(crate) fn evaluation_time(&self) -> Result<EvaluationTime, Failure> {
        evaluation_time(self.at.as_deref())
    }

    /// The gates the flags ask for.
    ///
    /// # Errors
    ///
    /// `unreadable` or `usage` when the file of `--expect-action` cannot be used.
    pub(crate) fn gates(&self) -> Result<Gates, Failure> {
        let derive = match (self.derive_verdict, self.no_derive_verdict) {
            (true, _) => Derive::Always,
            (false, true) => Derive::Never,
            (false, false) => Derive::Auto,
        };
        Ok(Gates {
            derive,
            require_fresh: self.require_fresh,
            max_age: self.max_age,
            require_decision: self.require_decision.iter().map(|decision| decision.verdict()).collect(),
            expectations: self.expect_action.as_deref().map(read_expectations).transpose()?,
        })
    }
}

/// The instant of a flag, else now.
///
/// # Errors
///
/// `usage` when the flag is not in the RFC 3339 profile.
pub(crate) fn evaluation_time(at: Option<&str>) -> Result<EvaluationTime, Failure> {
    match at {
        Some(at) => {
            let error = |error| Failure::usage(format!("--at: {error}, such as 2026-08-01T10:00:00Z"));
            EvaluationTime::parse(at).map_err(error)
        }
        None => EvaluationTime::from_unix_millis(unix_millis())
            .map_err(|_| Failure::usage("the clock shows no year from 0000 to 9999: give --at")),
    }
}

/// The wall clock, in milliseconds since the epoch.
fn unix_millis() -> i64 {
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(before) => -millis(before.duration()),
    }
}

fn read_expectations(path: &Path) -> Result<Expectations, Failure> {
    let source = Source::File(path.to_owned());
    // Expectations are a few members of a receipt, so the smaller of the two limits is ample.
    let bytes = source.read(MAX_KEYSET_BYTES).map_err(|error| error.into_failure(&source))?;
    let text = String::from_utf8_lossy(&bytes);
    let document = json::parse(&text).map_err(|error| {
        Failure::usage(format!("--expect-action: {source}: {error}{}", encoding_hint(&bytes)))
    })?;
    Expectations::from_value(&document)
        .map_err(|error| Failure::usage(format!("--expect-action: {source}: {error}")))
}
