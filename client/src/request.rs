//! One call as it goes out.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method};

/// Whether, and how, a call may be repeated within its deadline.
///
/// Source: MCP tool contract, section A8; HTTP API, section 13.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RetryClass {
    /// Never repeated.
    Never,
    /// Repeated once, at once, with the same key, when the outcome of the first attempt is unknown.
    SameKey,
    /// Repeated once after a short `Retry-After` of a 429 or 503.
    WaitOnce,
}

/// Whether a call carries the API key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Auth {
    /// The endpoint is public: the key is not sent.
    None,
    /// The endpoint needs the key.
    Required,
}

/// The key of a billable operation: 8 to 200 printable ASCII characters without space.
///
/// Source: MCP tool contract, section A5 (verify).
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct IdempotencyKey(Arc<str>);

/// The text is no idempotency key: not 8 to 200 characters U+0021 to U+007E.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "an idempotency key is {} to {} printable ASCII characters without space",
    IdempotencyKey::MIN_LENGTH,
    IdempotencyKey::MAX_LENGTH
)]
pub struct InvalidIdempotencyKey;

impl IdempotencyKey {
    /// Fewest characters.
    pub const MIN_LENGTH: usize = 8;
    /// Most characters.
    pub const MAX_LENGTH: usize = 200;

    /// Checks a key given by a caller.
    ///
    /// # Errors
    ///
    /// [`InvalidIdempotencyKey`] on another length or another character.
    pub fn new(text: &str) -> Result<Self, InvalidIdempotencyKey> {
        let fits = (Self::MIN_LENGTH..=Self::MAX_LENGTH).contains(&text.len());
        if !fits || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidIdempotencyKey);
        }
        Ok(Self(text.into()))
    }

    /// A fresh random key: a lower-case UUID of version 4.
    #[must_use]
    pub fn generate() -> Self {
        let mut buffer = uuid::Uuid::encode_buffer();
        let text = uuid::Uuid::new_v4().hyphenated().encode_lower(&mut buffer);
        Self((&*text).into())
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("checked on construction to be printable ASCII")
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({})", self.as_str())
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A member that the 2xx body of an endpoint has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Promised {
    /// Name of the member.
    pub name: &'static str,
    /// Kind of its value.
    pub kind: Kind,
}

/// Kind of a JSON value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Any value, null included.
    Any,
    /// An array.
    Array,
    /// An object.
    Object,
    /// A string.
    String,
}

impl Kind {
    /// Whether a compact JSON value is of this kind.
    pub(crate) fn fits(self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Array => value.starts_with('['),
            Self::Object => value.starts_with('{'),
            Self::String => value.starts_with('"'),
        }
    }
}

/// One call: what is sent, how often, and how long it may take.
#[derive(Clone, Debug)]
pub struct Request {
    /// HTTP method.
    pub method: Method,
    /// Path and query below the base URL, percent-encoded, starting with `/`. See [`Request::segment`].
    pub target: Cow<'static, str>,
    /// Body, JSON in UTF-8; none sends no body.
    pub body: Option<Bytes>,
    /// Key of the operation, sent as `Idempotency-Key`.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Whether the call may be repeated.
    pub retry: RetryClass,
    /// Whether the call carries the API key.
    pub auth: Auth,
    /// Deadline of the whole operation: connect, all attempts, waits, headers and body. `None` takes the client's.
    pub deadline: Option<Duration>,
    /// Members without which [`crate::Client::call`] refuses a 2xx body.
    pub promise: &'static [Promised],
    /// Value of the `traceparent` header to forward.
    pub traceparent: Option<HeaderValue>,
}

impl Request {
    /// A call without body, key and repetition, under the client's deadline.
    #[must_use]
    pub fn new(method: Method, path: &'static str) -> Self {
        Self {
            method,
            target: Cow::Borrowed(path),
            body: None,
            idempotency_key: None,
            retry: RetryClass::Never,
            auth: Auth::Required,
            deadline: None,
            promise: &[],
            traceparent: None,
        }
    }

    /// A GET, repeated once after a short `Retry-After`.
    #[must_use]
    pub fn get(path: &'static str) -> Self {
        Self { retry: RetryClass::WaitOnce, ..Self::new(Method::GET, path) }
    }

    /// A POST of a JSON body, never repeated.
    #[must_use]
    pub fn post(path: &'static str, body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..Self::new(Method::POST, path) }
    }

    /// Appends `/` and `text` percent-encoded as one path segment. Must come before [`Request::query`].
    #[must_use]
    pub fn segment(mut self, text: &str) -> Self {
        let target = self.target.to_mut();
        target.push('/');
        // A segment of dots alone would be resolved away by servers and proxies.
        if matches!(text, "." | "..") {
            target.push_str(&text.replace('.', "%2E"));
        } else {
            encode_into(target, text);
        }
        self
    }

    /// Appends a literal path, such as `/pause`.
    #[must_use]
    pub fn path(mut self, literal: &'static str) -> Self {
        self.target.to_mut().push_str(literal);
        self
    }

    /// Appends a query parameter, percent-encoding its value.
    #[must_use]
    pub fn query(mut self, name: &'static str, value: &str) -> Self {
        let target = self.target.to_mut();
        target.push(if target.contains('?') { '&' } else { '?' });
        target.push_str(name);
        target.push('=');
        encode_into(target, value);
        self
    }

    /// Sets the key of the operation and how the call may be repeated with it.
    #[must_use]
    pub fn keyed(mut self, key: IdempotencyKey, retry: RetryClass) -> Self {
        self.idempotency_key = Some(key);
        self.retry = retry;
        self
    }

    /// Sets how the call may be repeated.
    #[must_use]
    pub fn retry(mut self, retry: RetryClass) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the members that a 2xx body must have.
    #[must_use]
    pub fn promising(mut self, promise: &'static [Promised]) -> Self {
        self.promise = promise;
        self
    }

    /// Sets the deadline of the operation.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the `traceparent` header.
    #[must_use]
    pub fn traceparent(mut self, value: Option<HeaderValue>) -> Self {
        self.traceparent = value;
        self
    }

    /// Leaves the API key out.
    #[must_use]
    pub fn public(mut self) -> Self {
        self.auth = Auth::None;
        self
    }
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
fn encode_into(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_queries_are_encoded() {
        let request = Request::get("/v1/sources")
            .segment("a b/ü")
            .path("/pause")
            .query("before", "2026-08-03T05:00:00+02:00")
            .query("limit", "5");
        assert_eq!(
            request.target,
            "/v1/sources/a%20b%2F%C3%BC/pause?before=2026-08-03T05%3A00%3A00%2B02%3A00&limit=5"
        );
        assert_eq!(Request::get("/v1/sources").segment("..").target, "/v1/sources/%2E%2E");
    }

    #[test]
    fn idempotency_keys_are_bounded_and_printable() {
        assert!(IdempotencyKey::new("op-00017").is_ok());
        assert!(IdempotencyKey::new(&"x".repeat(200)).is_ok());
        for bad in ["op-0017", &"x".repeat(201), "op 000017", "op-0000\n17", "op-0000ü17"] {
            assert_eq!(IdempotencyKey::new(bad), Err(InvalidIdempotencyKey), "{bad:?}");
        }
        let made = IdempotencyKey::generate();
        assert_eq!((made.as_str().len(), made.as_str().as_bytes()[14]), (36, b'4'));
        assert_ne!(made, IdempotencyKey::generate());
    }
}
