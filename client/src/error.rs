//! Outcomes of a call that produced no usable answer.

use std::fmt;
use std::time::Duration;

use crate::request::IdempotencyKey;

/// The part of an exchange that failed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Stage {
    /// The host name has no address.
    Dns,
    /// No TCP connection could be made.
    Connect,
    /// The proxy could not be reached or refused to forward.
    Proxy,
    /// The TLS handshake failed, or the trust store cannot be used.
    Tls,
    /// The connection broke while the request was written.
    Send,
    /// The connection broke, or stopped being HTTP, while the response was awaited or read.
    Read,
}

impl Stage {
    /// The stage as a lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Proxy => "proxy",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Read => "read",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a 2xx body is not the promised answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyFault {
    /// The body ended early or its framing is broken.
    #[error("the body was cut off")]
    Cut,
    /// The body is not UTF-8.
    #[error("the body is not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// Offset of the first wrong byte.
        offset: usize,
    },
    /// The body is not JSON.
    #[error("the body is not JSON at byte {offset}")]
    NotJson {
        /// Offset of the first wrong byte.
        offset: usize,
    },
    /// The body nests deeper than is read.
    #[error("the body nests deeper than {limit} levels")]
    TooDeep {
        /// Levels accepted.
        limit: usize,
    },
    /// The body is JSON of another kind than an object.
    #[error("the body is not a JSON object")]
    NotObject,
    /// The body is JSON, but does not fit the view asked for.
    #[error("the body has not the documented members")]
    Shape,
    /// The object lacks the member that the endpoint promises.
    #[error("the body has no member `{name}` of the promised kind")]
    MissingMember {
        /// Name of the member.
        name: &'static str,
    },
}

/// A call that gave no usable answer.
///
/// No variant holds the API key; text that came from the API is masked and bounded.
///
/// Source: MCP tool contract, sections A7 and A8; HTTP API, section 12.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The API answered with another status than 2xx.
    #[error("the API answered {status}{}", code.as_deref().map(|c| format!(" {c}")).unwrap_or_default())]
    Api {
        /// HTTP status.
        status: u16,
        /// `error.code`, or `error` where that is a string; absent for other bodies.
        code: Option<Box<str>>,
        /// `error.message` where it is a string that is not empty.
        message: Option<Box<str>>,
        /// Seconds from the `Retry-After` header, absent when there is none or it is junk.
        retry_after_seconds: Option<u64>,
        /// Request id of the response headers, for a support question.
        request_id: Option<Box<str>>,
        /// The key of the call, where the code says that its outcome is unknown.
        idempotency_key: Option<IdempotencyKey>,
        /// Where a retired route was folded into: set for a 410 with a flat `tool_retired` body only.
        retired_replacement: Option<Box<str>>,
    },
    /// A keyed call whose outcome is unknown: repeat it with the same key.
    #[error("the outcome of operation {idempotency_key} is unknown: {cause}")]
    Ambiguous {
        /// The key to repeat the call with.
        idempotency_key: IdempotencyKey,
        /// What happened, for a log line.
        #[source]
        cause: Box<CallError>,
    },
    /// The deadline passed before the answer was complete.
    #[error("no complete answer within {} ms", deadline.as_millis())]
    Timeout {
        /// The deadline of the call.
        deadline: Duration,
    },
    /// No answer: the exchange failed at `stage`.
    #[error("the API cannot be reached ({stage}): {detail}")]
    Unreachable {
        /// The part that failed.
        stage: Stage,
        /// What the operating system or the library said, for a log line.
        detail: Box<str>,
    },
    /// The body of a 2xx answer is larger than is accepted.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// Bytes accepted.
        limit: usize,
    },
    /// A 2xx answer whose body is not what the endpoint promises.
    #[error("status {status}, but {fault}")]
    InvalidResponse {
        /// HTTP status, a 2xx.
        status: u16,
        /// What is wrong with the body.
        fault: BodyFault,
        /// Request id of the response headers.
        request_id: Option<Box<str>>,
    },
    /// The endpoint needs a key and none is configured; nothing was sent.
    #[error("no API key is configured")]
    MissingKey,
    /// The request cannot be sent as it is; nothing was sent.
    #[error("the request cannot be built: {0}")]
    InvalidRequest(&'static str),
}

impl CallError {
    /// The error as the caller of an operation sees it: where the operation carried `key` and no usable answer
    /// came, its outcome is unknown, and the error becomes [`CallError::Ambiguous`].
    #[must_use]
    pub fn for_operation(self, key: Option<&IdempotencyKey>) -> Self {
        let Some(key) = key else { return self };
        match self {
            Self::Timeout { .. }
            | Self::Unreachable { .. }
            | Self::TooLarge { .. }
            | Self::InvalidResponse { .. } => {
                Self::Ambiguous { idempotency_key: key.clone(), cause: Box::new(self) }
            }
            other => other,
        }
    }

    /// Stable snake_case code of the failure; for [`CallError::Api`] the API's own code, or `request_failed`.
    ///
    /// Source: MCP tool contract, section A7.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Api { retired_replacement: Some(_), .. } => "tool_retired",
            Self::Api { code, .. } => code.as_deref().unwrap_or("request_failed"),
            Self::Ambiguous { .. } => "request_ambiguous",
            Self::Timeout { .. } => "timeout",
            Self::Unreachable { .. } => "network_unreachable",
            Self::TooLarge { .. } => "response_too_large",
            Self::InvalidResponse { .. } => "invalid_response",
            Self::MissingKey => "missing_api_key",
            Self::InvalidRequest(_) => "invalid_request",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(code: Option<&str>, retired: Option<&str>) -> CallError {
        CallError::Api {
            status: 410,
            code: code.map(Into::into),
            message: None,
            retry_after_seconds: None,
            request_id: None,
            idempotency_key: None,
            retired_replacement: retired.map(Into::into),
        }
    }

    /// Codes are a contract: a change here is a change for every caller.
    #[test]
    fn codes_are_stable_and_unique() {
        let key = IdempotencyKey::new("op-000017").expect("key");
        let errors = [
            api(None, None),
            api(Some("not_found"), None),
            api(Some("tool_retired"), Some("/v1/check")),
            CallError::Timeout { deadline: Duration::from_secs(1) },
            CallError::Timeout { deadline: Duration::from_secs(1) }.for_operation(Some(&key)),
            CallError::Unreachable { stage: Stage::Dns, detail: "x".into() },
            CallError::TooLarge { limit: 1 },
            CallError::InvalidResponse { status: 200, fault: BodyFault::Cut, request_id: None },
            CallError::MissingKey,
            CallError::InvalidRequest("x"),
        ];
        let codes: Vec<_> = errors.iter().map(CallError::code).collect();
        assert_eq!(
            codes,
            [
                "request_failed",
                "not_found",
                "tool_retired",
                "timeout",
                "request_ambiguous",
                "network_unreachable",
                "response_too_large",
                "invalid_response",
                "missing_api_key",
                "invalid_request",
            ]
        );
        let unique: std::collections::HashSet<_> = codes.iter().collect();
        assert_eq!(unique.len(), codes.len());
    }

    #[test]
    fn only_a_keyed_call_without_usable_answer_becomes_ambiguous() {
        let key = IdempotencyKey::new("op-000017").expect("key");
        assert!(matches!(CallError::TooLarge { limit: 1 }.for_operation(None), CallError::TooLarge { .. }));
        assert!(matches!(api(None, None).for_operation(Some(&key)), CallError::Api { .. }));
        assert!(matches!(CallError::MissingKey.for_operation(Some(&key)), CallError::MissingKey));
        assert!(matches!(
            CallError::TooLarge { limit: 1 }.for_operation(Some(&key)),
            CallError::Ambiguous { cause, .. } if matches!(*cause, CallError::TooLarge { limit: 1 })
        ));
    }
}
