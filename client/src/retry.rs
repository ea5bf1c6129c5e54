//! The decision after an attempt, as a pure function.
//!
//! Source: MCP tool contract, section A8; HTTP API, section 13.

use std::time::Duration;

use crate::request::RetryClass;

/// Most attempts of one call.
pub const MAX_ATTEMPTS: u32 = 2;

/// Longest `Retry-After` that is waited for; a longer one is better decided by the caller.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// Codes of answers that leave the outcome of a keyed operation unknown, whatever their status.
pub const AMBIGUOUS_CODES: [&str; 3] =
    ["idempotency_in_progress", "idempotency_resolution_pending", "event_persistence_pending"];

/// What one attempt came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// A 2xx whose body is complete.
    Success,
    /// A 2xx whose body was cut off or too large: the operation happened.
    BodyFailed,
    /// A complete answer with another status.
    Status {
        /// HTTP status.
        status: u16,
        /// The answer's error code.
        code: Option<&'a str>,
        /// Seconds of a readable `Retry-After`.
        retry_after_seconds: Option<u64>,
        /// The route is retired: a 410 with a flat `tool_retired` body.
        retired: bool,
    },
    /// The exchange failed before an answer arrived.
    TransportFailed,
    /// The deadline passed, or the call was cancelled.
    TimedOut,
    /// Nothing was sent, since the call cannot be sent.
    NotSent,
}

/// What to do after an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// The outcome is final.
    Return,
    /// Attempt again after this wait.
    RetryAfter(Duration),
}

/// Whether a code leaves the outcome of a keyed operation unknown.
#[must_use]
pub fn is_ambiguous(code: &str) -> bool {
    AMBIGUOUS_CODES.contains(&code)
}

/// Decides what follows the attempt number `attempt` (from 1) with `remaining` time before the deadline.
///
/// - [`RetryClass::SameKey`]: again at once after a failure without answer, or an ambiguous code.
/// - [`RetryClass::WaitOnce`]: again after the `Retry-After` of a 429 or 503 that is at most
///   [`MAX_RETRY_AFTER`] and shorter than `remaining`.
/// - everything else is final.
#[must_use]
pub fn decide(class: RetryClass, attempt: u32, outcome: Outcome<'_>, remaining: Duration) -> Decision {
    if attempt >= MAX_ATTEMPTS || remaining.is_zero() {
        return Decision::Return;
    }
    match (class, outcome) {
        (RetryClass::SameKey, Outcome::TransportFailed) => Decision::RetryAfter(Duration::ZERO),
        (RetryClass::SameKey, Outcome::Status { code: Some(code), retired: false, .. })
            if is_ambiguous(code) =>
        {
            Decision::RetryAfter(Duration::ZERO)
        }
        (
            RetryClass::WaitOnce,
            Outcome::Status { status: 429 | 503, retry_after_seconds: Some(seconds), .. },
        ) => {
            let wait = Duration::from_secs(seconds);
            if wait <= MAX_RETRY_AFTER && wait < remaining {
                Decision::RetryAfter(wait)
            } else {
                Decision::Return
            }
        }
        _ => Decision::Return,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(55);
    const AGAIN: Decision = Decision::RetryAfter(Duration::ZERO);
    const CLASSES: [RetryClass; 3] = [RetryClass::Never, RetryClass::SameKey, RetryClass::WaitOnce];

    fn status(status: u16, code: Option<&str>, retry_after_seconds: Option<u64>) -> Outcome<'_> {
        Outcome::Status { status, code, retry_after_seconds, retired: false }
    }

    /// Every combination of class, status, code and header, against the rule said another way.
    #[test]
    fn every_answer() {
        let codes =
            [None, Some("unavailable"), Some("bad_request")].into_iter().chain(AMBIGUOUS_CODES.map(Some));
        let mut seen = 0;
        for code in codes {
            for number in [301, 400, 401, 402, 403, 404, 409, 410, 413, 422, 429, 500, 502, 503, 504] {
                for header in [None, Some(0), Some(2), Some(5), Some(6), Some(120), Some(u64::MAX)] {
                    for class in CLASSES {
                        let waits = matches!(number, 429 | 503) && header.is_some_and(|s| s <= 5);
                        let pending =
                            code.is_some_and(|c| c.contains("pending") || c.contains("in_progress"));
                        let expected = match class {
                            RetryClass::SameKey if pending => AGAIN,
                            RetryClass::WaitOnce if waits => {
                                Decision::RetryAfter(Duration::from_secs(header.unwrap_or(9)))
                            }
                            _ => Decision::Return,
                        };
                        let outcome = status(number, code, header);
                        assert_eq!(decide(class, 1, outcome, LONG), expected, "{class:?} {outcome:?}");
                        assert_eq!(
                            decide(class, 2, outcome, LONG),
                            Decision::Return,
                            "second {class:?} {outcome:?}"
                        );
                        assert_eq!(
                            decide(class, 1, outcome, Duration::ZERO),
                            Decision::Return,
                            "late {class:?} {outcome:?}"
                        );
                        seen += 1;
                    }
                }
            }
        }
        assert_eq!(seen, 6 * 15 * 7 * 3);
    }

    #[test]
    fn only_a_keyed_call_repeats_after_a_failure_without_answer() {
        for class in CLASSES {
            let expected = if class == RetryClass::SameKey { AGAIN } else { Decision::Return };
            assert_eq!(decide(class, 1, Outcome::TransportFailed, LONG), expected);
            assert_eq!(decide(class, 2, Outcome::TransportFailed, LONG), Decision::Return);
            for last in [Outcome::Success, Outcome::BodyFailed, Outcome::TimedOut, Outcome::NotSent] {
                assert_eq!(decide(class, 1, last, LONG), Decision::Return, "{class:?} {last:?}");
            }
        }
    }

    #[test]
    fn a_wait_must_end_before_the_deadline() {
        let throttled = status(429, None, Some(2));
        let wait = Decision::RetryAfter(Duration::from_secs(2));
        assert_eq!(decide(RetryClass::WaitOnce, 1, throttled, Duration::from_millis(2001)), wait);
        assert_eq!(decide(RetryClass::WaitOnce, 1, throttled, Duration::from_secs(2)), Decision::Return);
    }

    #[test]
    fn a_retired_answer_is_final() {
        for class in CLASSES {
            for code in AMBIGUOUS_CODES {
                let outcome = Outcome::Status {
                    status: 410,
                    code: Some(code),
                    retry_after_seconds: Some(0),
                    retired: true,
                };
                assert_eq!(decide(class, 1, outcome, LONG), Decision::Return);
            }
        }
    }
}
