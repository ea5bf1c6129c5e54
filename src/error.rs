//! Failures of tool calls: their stable codes and the JSON an agent reads.
//!
//! Source: MCP tool contract, section A7.

use std::borrow::Cow;

use kaval_client::{CallError, Stage};
use serde::Serialize;

use crate::arguments::{Issue, Issues};

/// A code of ours. The API's own codes pass through beside these, unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// Required arguments are missing together: one of several would do.
    BadRequest,
    /// A fault of this server.
    Internal,
    /// An argument breaks a rule.
    InvalidArguments,
    /// The API answered 2xx with something else than it promises.
    InvalidResponse,
    /// No key is configured.
    MissingApiKey,
    /// No response arrived.
    NetworkUnreachable,
    /// Too many calls are waiting already.
    Overloaded,
    /// The outcome of a billable operation is unknown.
    RequestAmbiguous,
    /// The API answered with another status than 2xx and named no code.
    RequestFailed,
    /// The API's answer is too large.
    ResponseTooLarge,
    /// The deadline passed.
    Timeout,
    /// The API has withdrawn the capability.
    ToolRetired,
    /// No tool has this name.
    UnknownTool,
}

impl Code {
    /// Every code, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::InvalidArguments,
        Self::BadRequest,
        Self::UnknownTool,
        Self::MissingApiKey,
        Self::ToolRetired,
        Self::RequestFailed,
        Self::RequestAmbiguous,
        Self::Timeout,
        Self::NetworkUnreachable,
        Self::InvalidResponse,
        Self::ResponseTooLarge,
        Self::Overloaded,
        Self::Internal,
    ];

    /// The word in the `error` member.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            // With a space: clients of the reference server match this text.
            Self::Internal => "internal error",
            Self::InvalidArguments => "invalid_arguments",
            Self::InvalidResponse => "invalid_response",
            Self::MissingApiKey => "missing_api_key",
            Self::NetworkUnreachable => "network_unreachable",
            Self::Overloaded => "overloaded",
            Self::RequestAmbiguous => "request_ambiguous",
            Self::RequestFailed => "request_failed",
            Self::ResponseTooLarge => "response_too_large",
            Self::Timeout => "timeout",
            Self::ToolRetired => "tool_retired",
            Self::UnknownTool => "unknown_tool",
        }
    }

    /// What happened, for the table of codes.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::BadRequest => "none of several alternative arguments was given; nothing was sent",
            Self::Internal => "a fault of this server",
            Self::InvalidArguments => "arguments break a rule; `issues` lists each; nothing was sent",
            Self::InvalidResponse => "the API answered 2xx, but not with the JSON it promises",
            Self::MissingApiKey => "no API key is configured; nothing was sent",
            Self::NetworkUnreachable => "no response; `stage` is dns, connect, proxy, tls, send or read",
            Self::Overloaded => "1,024 calls are waiting already; nothing was sent",
            Self::RequestAmbiguous => "a billable operation may or may not have taken effect",
            Self::RequestFailed => "the API answered an error `status` without a code of its own",
            Self::ResponseTooLarge => "the API's answer is over the size limit",
            Self::Timeout => "no complete answer inside the deadline of the call",
            Self::ToolRetired => "the API has withdrawn this capability",
            Self::UnknownTool => "no tool of this server has that name",
        }
    }

    /// What the caller can do, for the table of codes.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::BadRequest => "give one of the arguments the message names",
            Self::Internal => "report it with the log line",
            Self::InvalidArguments => "correct the named fields and call again",
            Self::InvalidResponse => {
                "treat it as no verdict; retry, then report it with the request id of the log"
            }
            Self::MissingApiKey => "set `KAVAL_API_KEY` or `KAVAL_API_KEY_FILE` and restart the server",
            Self::NetworkUnreachable => "check `KAVAL_BASE_URL`, proxy and network, then retry",
            Self::Overloaded => "retry later with fewer calls at once",
            Self::RequestAmbiguous => "retry later with the same `idempotency_key`",
            Self::RequestFailed => "act on the status: 4xx needs another request, 5xx a retry",
            Self::ResponseTooLarge => "ask for less",
            Self::Timeout => "retry; for `check` with mode `fast` or a smaller `max_wait_ms`",
            Self::ToolRetired => "call `check`",
            Self::UnknownTool => "use a name from `tools/list`",
        }
    }
}

/// A failed call, as the agent gets to read it. Boxed where it travels, since calls seldom fail.
#[derive(Debug, Default, Serialize)]
pub struct Failure {
    #[serde(rename = "error")]
    code: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "is_zero")]
    issues_omitted: usize,
    /// For the log only.
    #[serde(skip)]
    request_id: Option<Box<str>>,
    /// For the log only.
    #[serde(skip)]
    detail: Option<Box<str>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Failure {
    /// A failure with a code of ours.
    #[must_use]
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: code.as_str().into(), message: Some(message.into()), ..Self::default() }
    }

    /// Arguments that break rules.
    #[must_use]
    pub fn invalid_arguments(issues: Issues) -> Self {
        let Issues { list, omitted } = issues;
        let (count, noun) =
            (list.len() + omitted, if list.len() + omitted == 1 { "fault" } else { "faults" });
        let message = format!("nothing was sent: correct the {count} {noun} listed in issues and call again");
        Self { issues: list, issues_omitted: omitted, ..Self::new(Code::InvalidArguments, message) }
    }

    /// A billable operation whose outcome is unknown.
    #[must_use]
    pub fn ambiguous(idempotency_key: String) -> Self {
        Self {
            idempotency_key: Some(idempotency_key),
            ..Self::new(
                Code::RequestAmbiguous,
                "the operation may or may not have taken effect: retry later with the same idempotency_key",
            )
        }
    }

    /// A call of a tool that is not there.
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        let name = crate::arguments::shown_name(name);
        Self::new(Code::UnknownTool, format!("this server has no tool `{name}`: see tools/list"))
    }

    /// Whether the deadline passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.code == Code::Timeout.as_str()
    }

    /// The code, ours or the API's.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The HTTP status, if the API answered.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The request id the API sent, for the log.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// What the operating system or a library said, for the log.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Replaces the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Adds the key the operation can be repeated with.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: String) -> Self {
        self.idempotency_key = Some(key);
        self
    }

    /// The compact JSON of the result's text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"error":"internal error"}"#.to_owned())
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Api { status, retired_replacement: Some(replacement), request_id, .. } => Self {
                status: Some(status),
                request_id,
                ..Self::new(
                    Code::ToolRetired,
                    format!(
                        "the API has folded this into {replacement}: call `check` with the planned action or the facts under it"
                    ),
                )
            },
            CallError::Api {
                status,
                code,
                message,
                retry_after_seconds,
                request_id,
                idempotency_key,
                ..
            } => Self {
                code: code
                    .map_or(Cow::Borrowed(Code::RequestFailed.as_str()), |code| Cow::Owned(code.into())),
                message: message.map(|message| Cow::Owned(message.into())),
                status: Some(status),
                idempotency_key: idempotency_key.map(|key| key.as_str().to_owned()),
                retry_after_seconds,
                request_id,
                ..Self::default()
            },
            CallError::Ambiguous { idempotency_key, cause } => Self {
                detail: Some(cause.to_string().into()),
                ..Self::ambiguous(idempotency_key.as_str().to_owned())
            },
            CallError::Timeout { deadline } => Self::new(
                Code::Timeout,
                format!(
                    "no complete answer within {} ms: nothing is known about the outcome",
                    deadline.as_millis()
                ),
            ),
            CallError::Unreachable { stage, detail } => Self {
                stage: Some(stage.as_str()),
                detail: Some(detail),
                ..Self::new(Code::NetworkUnreachable, unreachable_advice(stage))
            },
            CallError::TooLarge { limit } => {
                Self::new(Code::ResponseTooLarge, format!("the API's answer is larger than {limit} bytes"))
            }
            CallError::InvalidResponse { status, fault, request_id } => Self {
                status: Some(status),
                request_id,
                ..Self::new(
                    Code::InvalidResponse,
                    format!("the API answered, but {fault}: this is no verdict"),
                )
            },
            CallError::MissingKey => Self::new(
                Code::MissingApiKey,
                "no API key: create one at https://usekaval.com, set KAVAL_API_KEY (or KAVAL_API_KEY_FILE) for this \
                 server in the MCP client's configuration, and restart it",
            ),
            other => Self {
                detail: Some(other.to_string().into()),
                code: Code::Internal.as_str().into(),
                ..Self::default()
            },
        }
    }
}

fn unreachable_advice(stage: Stage) -> &'static str {
    match stage {
        Stage::Dns => {
            "the API's host name has no address: check KAVAL_BASE_URL and name resolution, then retry"
        }
        Stage::Proxy => {
            "the proxy does not forward to the API: check HTTPS_PROXY, ALL_PROXY and NO_PROXY, then retry"
        }
        Stage::Tls => {
            "no trusted TLS connection to the API: check KAVAL_BASE_URL, the clock and SSL_CERT_FILE, then retry"
        }
        Stage::Read | Stage::Send => "the connection to the API broke: check network access, then retry",
        _ => "the API cannot be reached: check KAVAL_BASE_URL and network access, then retry",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Path;

    #[test]
    fn codes_are_unique_and_all_are_listed() {
        let mut words: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(
            words,
            [
                "invalid_arguments",
                "bad_request",
                "unknown_tool",
                "missing_api_key",
                "tool_retired",
                "request_failed",
                "request_ambiguous",
                "timeout",
                "network_unreachable",
                "invalid_response",
                "response_too_large",
                "overloaded",
                "internal error"
            ]
        );
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Code::ALL.len());
    }

    fn api(status: u16, code: Option<&str>, message: Option<&str>) -> CallError {
        CallError::Api {
            status,
            code: code.map(Box::from),
            message: message.map(Box::from),
            retry_after_seconds: None,
            request_id: None,
            idempotency_key: None,
            retired_replacement: None,
        }
    }

    #[test]
    fn api_errors_pass_through() {
        for (error, json) in [
            (
                api(401, Some("unauthorized"), Some("invalid API key")),
                r#"{"error":"unauthorized","message":"invalid API key","status":401}"#,
            ),
            (api(502, None, None), r#"{"error":"request_failed","status":502}"#),
            (api(404, Some("not found"), None), r#"{"error":"not found","status":404}"#),
        ] {
            assert_eq!(Failure::from(error).to_json(), json);
        }
    }

    #[test]
    fn issues_are_listed_with_path_code_and_message() {
        let mut issues = Issues::default();
        let claims = Path::argument("claims");
        issues.add(&claims.index(0).member("subject"), "required", "`subject` is required");
        let json = Failure::invalid_arguments(issues).to_json();
        assert_eq!(
            json,
            r#"{"error":"invalid_arguments","message":"nothing was sent: correct the 1 fault listed in issues and call again","issues":[{"path":["claims",0,"subject"],"code":"required","message":"`subject` is required"}]}"#
        );
    }

    #[test]
    fn details_of_the_inside_stay_out_of_the_answer() {
        let error = CallError::Unreachable { stage: Stage::Dns, detail: "secret-host.internal".into() };
        let failure = Failure::from(error);
        assert!(failure.to_json().contains(r#""stage":"dns""#));
        assert!(!failure.to_json().contains("secret-host"));
        assert_eq!(failure.detail(), Some("secret-host.internal"));
    }
}
