//! Freshness of a packet at an instant.
//!
//! Source: receipt verification, section 8.

use crate::instant::{EvaluationTime, Instant};
use crate::json::{JsonString, Value};

/// Where an instant lies in a packet's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreshnessStatus {
    /// Before `recheck_at`.
    Fresh,
    /// From `recheck_at` on.
    RecheckDue,
    /// From `expires_at` on.
    Expired,
    /// Before `issued_at`.
    NotYetIssued,
    /// The three times are not all there, not valid, or in no possible order. Always so for check receipts,
    /// which carry no expiry.
    Unknown,
}

impl FreshnessStatus {
    /// The word results use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Fresh => "fresh",
            Self::NotYetIssued => "not_yet_issued",
            Self::RecheckDue => "recheck_due",
            Self::Unknown => "unknown",
        }
    }
}

/// Why freshness is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreshnessFault {
    /// One of the three times is missing or not an instant.
    Timestamps,
    /// The three times are in no possible order.
    Ordering,
}

impl FreshnessFault {
    /// A stable name for the fault.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Ordering => "expiry_order_invalid",
            Self::Timestamps => "expiry_missing",
        }
    }

    /// The fault in words.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::Ordering => "the expiry times of the receipt are in an impossible order",
            Self::Timestamps => "the receipt does not state valid issue, recheck and expiry times",
        }
    }
}

/// Freshness of one receipt at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Freshness {
    /// Where the instant lies.
    pub status: FreshnessStatus,
    /// `issued_at`, `recheck_at` and `expires_at` as spelled, when all are valid instants.
    pub times: Option<[JsonString<'static>; 3]>,
    /// Why the status is unknown, when the receipt is an object.
    pub fault: Option<FreshnessFault>,
}

/// Judges freshness. A receipt that is not an object has none, for no stated reason.
///
/// Source: receipt verification, sections 8 and 9.3.
#[must_use]
pub fn judge(receipt: &Value<'_>, at: &EvaluationTime) -> Freshness {
    let unknown = |fault, times| Freshness { status: FreshnessStatus::Unknown, times, fault };
    let Some(receipt) = receipt.as_object() else {
        return unknown(None, None);
    };
    let read = |name| {
        let value = receipt.get("expiry")?.get(name)?;
        Some((Instant::from_value(value)?, value.as_string()?))
    };
    let (Some(issued), Some(recheck), Some(expires)) =
        (read("issued_at"), read("recheck_at"), read("expires_at"))
    else {
        return unknown(Some(FreshnessFault::Timestamps), None);
    };
    let times = Some([issued.1, recheck.1, expires.1].map(JsonString::to_owned_string));
    let (issued, recheck, expires) = (issued.0, recheck.0, expires.0);
    if recheck < issued || recheck >= expires || expires <= issued {
        return unknown(Some(FreshnessFault::Ordering), times);
    }
    let at = at.instant();
    let status = if at < issued {
        FreshnessStatus::NotYetIssued
    } else if at >= expires {
        FreshnessStatus::Expired
    } else if at >= recheck {
        FreshnessStatus::RecheckDue
    } else {
        FreshnessStatus::Fresh
    };
    Freshness { status, times, fault: None }
}
