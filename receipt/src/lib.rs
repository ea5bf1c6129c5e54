//! Offline verification of signed verdict receipts.
//!
//! Bytes in, typed answers out. The crate reads strict JSON, makes canonical bytes, checks an Ed25519
//! signature over them, looks the key up in a keyset, judges freshness and derives the verdict again from
//! the receipt's own facts. It also checks webhook deliveries.
//!
//! It does no I/O, reads no clock, opens no connection and writes no log: the instant to judge against is
//! always an argument. `no_std` with `alloc` keeps it that way.
//!
//! | module | holds |
//! | --- | --- |
//! | [`json`] | the strict reader, values, strings that keep lone surrogates, writers |
//! | [`canonical`] | canonical form `kaval-stable-json-v1` and its digest |
//! | [`instant`] | the RFC 3339 profile with exact nanoseconds |
//! | [`keyset`] | key documents of every accepted shape, lifecycle and trust |
//! | [`envelope`] | the signature block of a receipt |
//! | [`freshness`] | issued, recheck and expiry times against an instant |
//! | [`decision`] | decision tables, the ALLOW gate, verdict derivation |
//! | [`wrapper`] | finding the receipt inside an API answer |
//! | [`verify`] | one receipt against one keyset, as a [`result::VerificationResult`] |
//! | [`assess`] | gates on top of that, ending in one [`outcome::Outcome`] |
//! | [`auditor`] | many receipts against one keyset, with counts |
//! | [`webhook`] | HMAC verification of deliveries |
//!
//! ```
//! use kaval_receipt::{instant::EvaluationTime, verify};
//!
//! let at = EvaluationTime::parse("2026-08-01T10:00:00Z").expect("a valid instant");
//! let options = verify::Options { at, derive_verdict: true };
//! let result = verify::verify_receipt_text("{}", "{}", &options);
//! assert!(!result.accepted);
//! assert_eq!(result.format.error.as_ref().map(|note| note.code), Some("signature_missing"));
//! ```
#![no_std]

extern crate alloc;

pub mod assess;
pub mod auditor;
mod base64url;
pub mod canonical;
pub mod decision;
pub mod envelope;
pub mod expect;
pub mod freshness;
pub mod instant;
pub mod json;
pub mod keyset;
pub mod outcome;
pub mod result;
pub mod signature;
pub mod verify;
pub mod webhook;
pub mod wrapper;

pub use assess::{Assessment, Gates};
pub use auditor::Auditor;
pub use instant::EvaluationTime;
pub use json::Value;
pub use keyset::Keyset;
pub use outcome::Outcome;
pub use result::VerificationResult;
