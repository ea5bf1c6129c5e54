//! A 2xx answer as received, and reading of response headers.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::HeaderMap;

use crate::error::{BodyFault, CallError};
use crate::json;

/// A 2xx answer. The body is the bytes received, not yet checked to be JSON.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status, 200 to 299.
    pub status: u16,
    /// Body as received, at most [`crate::MAX_RESPONSE_BYTES`].
    pub body: Bytes,
    /// Request id of the headers, bounded and printable.
    pub request_id: Option<Box<str>>,
}

impl Response {
    /// The body as compact strict JSON: see [`json::compact`].
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidResponse`] when the body is not UTF-8 or not JSON.
    pub fn compact(&self) -> Result<String, CallError> {
        json::compact(&self.body).map_err(|fault| self.invalid(fault))
    }

    /// The error for a body that is not what the endpoint promises.
    #[must_use]
    pub fn invalid(&self, fault: BodyFault) -> CallError {
        CallError::InvalidResponse { status: self.status, fault, request_id: self.request_id.clone() }
    }
}

/// A 2xx answer whose body is the promised JSON.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status, 200 to 299.
    pub status: u16,
    /// Body as compact JSON: a single object, member order and number spelling as received, the API key masked.
    pub text: String,
    /// Request id of the headers.
    pub request_id: Option<Box<str>>,
}

impl Answer {
    /// The value of a top-level member as compact JSON.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&str> {
        json::member(&self.text, name)
    }

    /// Reads the body into a typed view, such as those of [`crate::views`].
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidResponse`] when the body lacks what `T` needs.
    pub fn view<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, CallError> {
        serde_json::from_str(&self.text).map_err(|_| CallError::InvalidResponse {
            status: self.status,
            fault: BodyFault::Shape,
            request_id: self.request_id.clone(),
        })
    }
}

/// Seconds to wait according to `Retry-After`: digits, or an HTTP date after `now`, rounded up.
///
/// Absent when there is no such header, it is repeated, or it is neither form. A date that has passed is 0.
///
/// Source: RFC 9110, section 10.2.3.
#[must_use]
pub fn retry_after_seconds(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let mut values = headers.get_all(http::header::RETRY_AFTER).iter();
    let text = values.next()?.to_str().ok()?.trim();
    if values.next().is_some() || text.is_empty() {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let wait = date.duration_since(now).unwrap_or(Duration::ZERO);
    Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
}

/// Longest request id kept, in bytes: longer ones are no ids.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// The request id of `x-request-id` or `request-id`: printable ASCII without space, bounded; else absent.
#[must_use]
pub fn request_id(headers: &HeaderMap) -> Option<Box<str>> {
    ["x-request-id", "request-id"].iter().find_map(|name| {
        let text = headers.get(*name)?.to_str().ok()?.trim();
        let usable = !text.is_empty()
            && text.len() <= MAX_REQUEST_ID_BYTES
            && text.bytes().all(|b| b.is_ascii_graphic());
        usable.then(|| text.into())
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: &'static str, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_str(value).expect("header"));
        }
        headers
    }

    #[test]
    fn retry_after_forms() {
        // Sun, 06 Nov 1994 08:49:37 GMT, and half a second.
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_500);
        for (text, seconds) in [
            ("0", Some(0)),
            ("2", Some(2)),
            (" 120 ", Some(120)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("Sun, 06 Nov 1994 08:49:39 GMT", Some(2)),
            ("Sunday, 06-Nov-94 08:49:39 GMT", Some(2)),
            ("Sun Nov  6 08:49:39 1994", Some(2)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("+2", None),
            ("1.5", None),
            ("2s", None),
            ("soon", None),
            ("2, 3", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
        ] {
            assert_eq!(retry_after_seconds(&headers("retry-after", &[text]), now), seconds, "{text:?}");
        }
        assert_eq!(retry_after_seconds(&headers("retry-after", &["1", "2"]), now), None);
        assert_eq!(retry_after_seconds(&HeaderMap::new(), now), None);
        let mut raw = HeaderMap::new();
        raw.insert("retry-after", HeaderValue::from_bytes(b"2\xff").expect("opaque"));
        assert_eq!(retry_after_seconds(&raw, now), None);
    }

    #[test]
    fn request_ids_are_bounded_and_printable() {
        assert_eq!(request_id(&headers("x-request-id", &["req_1"])).as_deref(), Some("req_1"));
        assert_eq!(request_id(&headers("request-id", &["req_2"])).as_deref(), Some("req_2"));
        for bad in ["", "a b", "a\tb", &"x".repeat(129)] {
            assert_eq!(request_id(&headers("x-request-id", &[bad])), None, "{bad:?}");
        }
    }
}
