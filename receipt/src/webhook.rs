//! HMAC verification of webhook deliveries.
//!
//! Source: Kaval API, section 7.4.

use crate::json::is_ecmascript_space;
use alloc::string::String;
use alloc::vec::Vec;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use core::fmt;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Tolerance between delivery and check that is used unless another is given, in seconds.
pub const DEFAULT_TOLERANCE_SECONDS: f64 = 300.0;

/// Most characters of header text that are echoed.
const MAX_ECHO: usize = 128;

/// The lenient reading of MACs and secrets: spare bits need not be zero.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// One secret of a subscription.
#[derive(Clone)]
pub struct Secret {
    key_id: String,
    bytes: Vec<u8>,
}

impl Secret {
    /// A secret as the API hands it out: the key id, and base64url text.
    #[must_use]
    pub fn new(key_id: impl Into<String>, base64url: &str) -> Self {
        // Text that is no base64 is an empty secret, which no key id is known by.
        Self { key_id: key_id.into(), bytes: decode_lenient(base64url.as_bytes()).unwrap_or_default() }
    }
}

/// Shows the key id and never the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// A delivery whose signature is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The key that signed.
    pub key_id: String,
    /// The event id, by which deliveries are told apart.
    pub webhook_id: String,
    /// The timestamp as it was sent.
    pub timestamp: String,
}

/// Why a delivery is rejected. The order of the variants is that of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// A header is absent, empty, or there more than once.
    MissingHeader,
    /// The timestamp is not 10 to 13 digits.
    MalformedTimestamp,
    /// No secret is known for the key id.
    UnknownKeyId,
    /// Signatures of other versions only.
    UnsupportedSignatureVersion,
    /// No signature in the form `v1,<base64url of 32 bytes>`.
    MalformedSignature,
    /// No signature is that of the body under the secret.
    SignatureMismatch,
    /// The signature is valid and the timestamp too far from now.
    TimestampOutOfTolerance,
}

impl Rejection {
    /// The published reason.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::MissingHeader => "missing_header",
            Self::MalformedTimestamp => "malformed_timestamp",
            Self::UnknownKeyId => "unknown_key_id",
            Self::UnsupportedSignatureVersion => "unsupported_signature_version",
            Self::MalformedSignature => "malformed_signature",
            Self::SignatureMismatch => "signature_mismatch",
            Self::TimestampOutOfTolerance => "timestamp_out_of_tolerance",
        }
    }
}

/// A rejection with a sentence that can be logged: it holds no secret and little of the headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Why.
    pub reason: Rejection,
    /// Why, in words.
    pub message: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Rejected {}

/// A call that cannot mean anything, whatever the delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// No secret was given.
    NoSecrets,
    /// The tolerance is negative or not finite.
    Tolerance,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSecrets => "at least one webhook secret is needed",
            Self::Tolerance => "the tolerance must be a finite number of seconds, not negative",
        })
    }
}

impl core::error::Error for Misuse {}

/// What deliveries are checked against.
#[derive(Clone, Debug)]
pub struct Verifier {
    secrets: Vec<Secret>,
    tolerance_seconds: Option<f64>,
}

impl Verifier {
    /// A verifier with the secrets of a subscription and a tolerance in seconds; `None` accepts any time.
    ///
    /// # Errors
    ///
    /// [`Misuse`] without a secret, or for a tolerance that is negative or not finite.
    pub fn new(secrets: Vec<Secret>, tolerance_seconds: Option<f64>) -> Result<Self, Misuse> {
        if secrets.is_empty() {
            return Err(Misuse::NoSecrets);
        }
        if tolerance_seconds.is_some_and(|seconds| !seconds.is_finite() || seconds < 0.0) {
            return Err(Misuse::Tolerance);
        }
        Ok(Self { secrets, tolerance_seconds })
    }

    /// Checks a delivery: its headers, its exact body bytes, and the time now in milliseconds.
    ///
    /// # Errors
    ///
    /// [`Rejected`] with the first reason that applies. [`Rejection::TimestampOutOfTolerance`] comes last, so
    /// it always means an authentic delivery.
    ///
    /// # Example
    ///
    /// ```
    /// use kaval_receipt::webhook::{Rejection, Secret, Verifier};
    ///
    /// let verifier = Verifier::new(vec![Secret::new("wsk_1", "c2VjcmV0")], Some(300.0))?;
    /// let rejected = verifier.verify(&[("webhook-id", "evt_1")], b"{}", 1_785_247_391_000.0).unwrap_err();
    /// assert_eq!(rejected.reason, Rejection::MissingHeader);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// Source: Kaval API, section 7.4.
    pub fn verify(&self, headers: &[(&str, &str)], body: &[u8], now_ms: f64) -> Result<Delivery, Rejected> {
        let webhook_id = header(headers, "webhook-id")?;
        let timestamp = header(headers, "webhook-timestamp")?;
        let key_id = header(headers, "webhook-key-id")?;
        let signatures = header(headers, "webhook-signature")?;
        let digits = timestamp.len();
        if !(10..=13).contains(&digits) || !timestamp.bytes().all(|byte| byte.is_ascii_digit()) {
            let message = alloc::format!("webhook-timestamp {} is not 10 to 13 digits", echo(timestamp));
            return Err(Rejected { reason: Rejection::MalformedTimestamp, message });
        }
        let known = self.secrets.iter().find(|secret| secret.key_id == key_id && !secret.bytes.is_empty());
        let secret = known.ok_or_else(|| Rejected {
            reason: Rejection::UnknownKeyId,
            message: alloc::format!("no secret is known for webhook-key-id {}", echo(key_id)),
        })?;
        let candidates = read_signatures(signatures)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.bytes).map_err(|_| mismatch())?;
        for part in [webhook_id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        // Every candidate is compared, so that the time taken tells nothing about which one fits.
        let is_valid = candidates
            .iter()
            .fold(false, |is_valid, candidate| mac.clone().verify_slice(candidate).is_ok() | is_valid);
        if !is_valid {
            return Err(mismatch());
        }
        self.check_time(timestamp, now_ms)?;
        Ok(Delivery { key_id: key_id.into(), webhook_id: webhook_id.into(), timestamp: timestamp.into() })
    }

    fn check_time(&self, timestamp: &str, now_ms: f64) -> Result<(), Rejected> {
        // At most 13 digits, so a double holds it exactly.
        let sent: f64 = timestamp.parse().unwrap_or(f64::NAN);
        let sent_ms = if timestamp.len() >= 12 { sent } else { sent * 1_000.0 };
        let is_within = |tolerance: f64| (now_ms - sent_ms).abs() <= tolerance * 1_000.0;
        match self.tolerance_seconds {
            Some(tolerance) if !is_within(tolerance) => Err(Rejected {
                reason: Rejection::TimestampOutOfTolerance,
                message: alloc::format!(
                    "the delivery is authentic, but was not sent within {tolerance} s of now"
                ),
            }),
            _ => Ok(()),
        }
    }
}

fn mismatch() -> Rejected {
    Rejected {
        reason: Rejection::SignatureMismatch,
        message: "no signature of the delivery fits its body under the known secret".into(),
    }
}

fn header<'h>(headers: &[(&str, &'h str)], name: &'static str) -> Result<&'h str, Rejected> {
    let mut found =
        headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
    match (found.next(), found.next()) {
        (Some(value), None) if !value.is_empty() => Ok(value),
        _ => Err(Rejected {
            reason: Rejection::MissingHeader,
            message: alloc::format!("the header {name} must be there once and not be empty"),
        }),
    }
}

/// The MACs of the usable elements of a `webhook-signature` header.
fn read_signatures(header: &str) -> Result<Vec<[u8; 32]>, Rejected> {
    let mut macs = Vec::new();
    let mut has_other_version = false;
    for element in header.split(is_ecmascript_space).filter(|element| !element.is_empty()) {
        let mut parts = element.split(',');
        let (Some(version), Some(text), None) = (parts.next(), parts.next(), parts.next()) else { continue };
        if text.is_empty() {
            continue;
        }
        if version != "v1" {
            has_other_version = true;
        } else if let Some(mac) = decode_lenient(text.as_bytes()).and_then(|mac| mac.try_into().ok()) {
            macs.push(mac);
        }
    }
    match (macs.is_empty(), has_other_version) {
        (false, _) => Ok(macs),
        (true, true) => Err(Rejected {
            reason: Rejection::UnsupportedSignatureVersion,
            message: "webhook-signature holds no signature of version v1".into(),
        }),
        (true, false) => Err(Rejected {
            reason: Rejection::MalformedSignature,
            message: "webhook-signature holds no signature in the form v1,<base64url of 32 bytes>".into(),
        }),
    }
}

/// Base64 in either alphabet, as far as it goes: whatever is in neither, padding and white space included, is
/// passed over, as is a last character that completes no byte. `None` when no byte is left.
fn decode_lenient(text: &[u8]) -> Option<Vec<u8>> {
    let symbol = |byte: &u8| match byte {
        b'+' => Some(b'-'),
        b'/' => Some(b'_'),
        b'-' | b'_' => Some(*byte),
        _ => byte.is_ascii_alphanumeric().then_some(*byte),
    };
    let mut symbols: Vec<u8> = text.iter().filter_map(symbol).collect();
    if symbols.len() % 4 == 1 {
        symbols.pop();
    }
    LENIENT.decode(symbols).ok().filter(|bytes| !bytes.is_empty())
}

/// Header text for a message: its start, with everything but printable ASCII escaped.
fn echo(text: &str) -> String {
    text.chars().take(MAX_ECHO).flat_map(char::escape_default).collect()
}
