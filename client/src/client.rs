//! The client: one origin, one pool, one deadline for each operation.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use backon::{ConstantBuilder, Retryable as _};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use tokio::time::{Instant, timeout_at};

use crate::MAX_RESPONSE_BYTES;
use crate::config::{Config, ConfigError, MAX_DEADLINE, Warning};
use crate::error::{BodyFault, CallError};
use crate::json;
use crate::proxy::ProxyKind;
use crate::request::{Auth, IdempotencyKey, Request};
use crate::response::{Answer, Response, request_id, retry_after_seconds};
use crate::retry::{Decision, Outcome, decide, is_ambiguous};
use crate::transport::{Answered, BodyError, BodyLimits, HttpStack, Transport, TransportError};

/// Largest body of an answer that is not 2xx, in bytes. Error envelopes are short; a longer page of an
/// intermediary holds no code to read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Longest detail of a failed exchange kept for the log, in bytes.
const MAX_DETAIL_BYTES: usize = 300;

const LIMITS: BodyLimits = BodyLimits { success: MAX_RESPONSE_BYTES, failure: MAX_ERROR_BYTES };

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("kaval-client/", env!("CARGO_PKG_VERSION")));
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Where the client takes the time of day from, which an HTTP date in `Retry-After` is measured against.
pub trait Clock: Send + Sync + 'static {
    /// The time of day.
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A client of the API. Cheap to clone; clones share connections.
///
/// Nothing connects and no trust store is read before the first call. Must be used within a tokio runtime with
/// time and I/O enabled.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    stack: Stack,
    clock: Box<dyn Clock>,
}

enum Stack {
    Own(Box<HttpStack>),
    Injected(Box<dyn Transport>),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.inner.config).finish_non_exhaustive()
    }
}

impl Client {
    /// A client with the HTTP stack of this crate.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let stack = Stack::Own(Box::new(HttpStack::new(&config)));
        Self { inner: Arc::new(Inner { config, stack, clock: Box::new(SystemClock) }) }
    }

    /// A client configured through `lookup`: see [`Config::from_env`].
    ///
    /// # Errors
    ///
    /// The [`ConfigError`] of [`Config::from_env`].
    ///
    /// # Example
    ///
    /// ```
    /// use kaval_client::Client;
    ///
    /// // A program gives `&|name| std::env::var_os(name)`.
    /// let (client, warnings) = Client::from_env(&|_| None)?;
    /// assert_eq!(client.config().base_url.to_string(), "https://api.usekaval.com");
    /// assert!(warnings.is_empty());
    /// # Ok::<(), kaval_client::ConfigError>(())
    /// ```
    pub fn from_env(lookup: &dyn Fn(&str) -> Option<OsString>) -> Result<(Self, Vec<Warning>), ConfigError> {
        Config::from_env(lookup).map(|(config, warnings)| (Self::new(config), warnings))
    }

    /// A client over another HTTP stack and clock, for tests and embedders.
    #[must_use]
    pub fn with_transport(config: Config, transport: impl Transport, clock: impl Clock) -> Self {
        let stack = Stack::Injected(Box::new(transport));
        Self { inner: Arc::new(Inner { config, stack, clock: Box::new(clock) }) }
    }

    /// The settings of this client.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Reads the trust store ahead of the first call, off the calling thread. Connects to nothing.
    ///
    /// # Errors
    ///
    /// [`CallError::Unreachable`] at stage `tls` when the trust store cannot be used. Later calls try again.
    pub async fn warm(&self) -> Result<(), CallError> {
        match &self.inner.stack {
            Stack::Own(stack) => stack.warm().await.map_err(|e| self.unreachable(e)),
            Stack::Injected(_) => Ok(()),
        }
    }

    /// Masks the configured key wherever it stands in `text`.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.inner.config.api_key {
            Some(key) => key.redact(text),
            None => Cow::Borrowed(text),
        }
    }

    /// As [`Client::redact`] for a JSON text, which stays JSON.
    #[must_use]
    pub fn redact_json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.inner.config.api_key {
            Some(key) => key.redact_json(text),
            None => Cow::Borrowed(text),
        }
    }

    /// Makes a call and checks its answer: the body as compact JSON, the key masked, with the members that the
    /// request promises.
    ///
    /// # Errors
    ///
    /// Those of [`Client::send`], and [`CallError::InvalidResponse`] (for a keyed call
    /// [`CallError::Ambiguous`]) when a 2xx body is not the promised JSON.
    pub async fn call(&self, request: Request) -> Result<Answer, CallError> {
        let (key, promise) = (request.idempotency_key.clone(), request.promise);
        let response = self.send(request).await?;
        self.checked(&response, promise).map_err(|error| error.for_operation(key.as_ref()))
    }

    fn checked(
        &self,
        response: &Response,
        promise: &[crate::request::Promised],
    ) -> Result<Answer, CallError> {
        let mut text = response.compact()?;
        if let Cow::Owned(masked) = self.redact_json(&text) {
            text = masked;
        }
        let answer = Answer { status: response.status, text, request_id: response.request_id.clone() };
        if !answer.text.starts_with('{') {
            return Err(response.invalid(BodyFault::NotObject));
        }
        for member in promise {
            if !answer.member(member.name).is_some_and(|value| member.kind.fits(value)) {
                return Err(response.invalid(BodyFault::MissingMember { name: member.name }));
            }
        }
        Ok(answer)
    }

    /// Makes a call under one deadline, which covers connecting, all attempts, waits, headers and bodies.
    ///
    /// Dropping the future cancels the call: its connection is closed, or its stream reset, and nothing more is
    /// sent for it. The 2xx body is returned as received, unchecked.
    ///
    /// # Errors
    ///
    /// Every [`CallError`] but those about the content of a 2xx body. A keyed call that ends without a usable
    /// answer gives [`CallError::Ambiguous`], also when it timed out or never connected.
    pub async fn send(&self, request: Request) -> Result<Response, CallError> {
        let uri = self.uri(&request)?;
        let headers = self.headers(&request)?;
        let deadline = request.deadline.unwrap_or(self.inner.config.deadline).min(MAX_DEADLINE);
        let end = Instant::now() + deadline;
        let mut attempt = 0;
        let attempts = (|| self.attempt(&request, &uri, &headers))
            // How often and how long is decided below; the builder only has to allow it.
            .retry(ConstantBuilder::new().without_max_times())
            .sleep(pause)
            .adjust(|error: &CallError, _| {
                attempt += 1;
                let remaining = end.saturating_duration_since(Instant::now());
                match decide(request.retry, attempt, outcome(error), remaining) {
                    Decision::Return => None,
                    Decision::RetryAfter(wait) => Some(wait),
                }
            });
        let result = match timeout_at(end, attempts).await {
            Ok(result) => result,
            Err(_) => Err(CallError::Timeout { deadline }),
        };
        result.map_err(|error| error.for_operation(request.idempotency_key.as_ref()))
    }

    fn uri(&self, request: &Request) -> Result<Uri, CallError> {
        let base = &self.inner.config.base_url;
        let target = if base.prefix().is_empty() {
            match &request.target {
                Cow::Borrowed(path) => PathAndQuery::from_maybe_shared(Bytes::from_static(path.as_bytes())),
                Cow::Owned(target) => PathAndQuery::from_str(target),
            }
        } else {
            PathAndQuery::try_from(format!("{}{}", base.prefix(), request.target))
        };
        let target = target.map_err(|_| CallError::InvalidRequest("the path is not valid"))?;
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(base.scheme().clone());
        parts.authority = Some(base.authority().clone());
        parts.path_and_query = Some(target);
        Uri::from_parts(parts).map_err(|_| CallError::InvalidRequest("the address is not valid"))
    }

    fn headers(&self, request: &Request) -> Result<HeaderMap, CallError> {
        let config = &self.inner.config;
        let mut headers = HeaderMap::with_capacity(8);
        if request.auth == Auth::Required {
            let key = config.api_key.as_ref().ok_or(CallError::MissingKey)?;
            headers.insert(AUTHORIZATION, key.authorization().clone());
        }
        headers.insert(ACCEPT, JSON);
        headers.insert(USER_AGENT, AGENT);
        if request.body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        if let Some(key) = &request.idempotency_key {
            headers.insert(IDEMPOTENCY_KEY, key.header());
        }
        if let Some(value) = &request.traceparent {
            headers.insert(TRACEPARENT, value.clone());
        }
        // Without a tunnel an HTTP proxy reads the request itself.
        if let Some(value) = config
            .proxy
            .as_ref()
            .filter(|proxy| !config.base_url.is_https() && proxy.kind() == ProxyKind::Http)
            .and_then(|p| p.authorization())
        {
            headers.insert(PROXY_AUTHORIZATION, value.clone());
        }
        Ok(headers)
    }

    async fn attempt(
        &self,
        request: &Request,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Response, CallError> {
        let mut outgoing = http::Request::new(request.body.clone().unwrap_or_default());
        *outgoing.method_mut() = request.method.clone();
        *outgoing.uri_mut() = uri.clone();
        *outgoing.headers_mut() = headers.clone();
        let answered = match &self.inner.stack {
            Stack::Own(stack) => stack.exchange(outgoing, LIMITS).await,
            Stack::Injected(transport) => transport.exchange(outgoing, LIMITS).await,
        };
        self.read(answered.map_err(|e| self.unreachable(e))?, request.idempotency_key.as_ref())
    }

    fn read(&self, answered: Answered, key: Option<&IdempotencyKey>) -> Result<Response, CallError> {
        let (head, body) = answered.into_parts();
        let request_id = request_id(&head.headers).map(|id| self.masked(id));
        let status = head.status.as_u16();
        if head.status.is_success() {
            return match body {
                Ok(body) => Ok(Response { status, body, request_id }),
                Err(BodyError::TooLarge) => Err(CallError::TooLarge { limit: MAX_RESPONSE_BYTES }),
                Err(BodyError::Cut) => {
                    Err(CallError::InvalidResponse { status, fault: BodyFault::Cut, request_id })
                }
            };
        }
        // A body that was cut off or is too large holds no code that can be trusted.
        let envelope = Envelope::parse(&body.unwrap_or_default());
        let retired = head.status == StatusCode::GONE
            && envelope.flat
            && envelope.code.as_deref() == Some("tool_retired");
        let ambiguous = envelope.code.as_deref().is_some_and(is_ambiguous);
        Err(CallError::Api {
            status,
            code: envelope.code.map(|code| self.masked(code)),
            message: envelope.message.map(|message| self.masked(message)),
            retry_after_seconds: retry_after_seconds(&head.headers, self.inner.clock.now()),
            request_id,
            idempotency_key: key.filter(|_| ambiguous).cloned(),
            retired_replacement: retired
                .then(|| envelope.replacement.map_or_else(|| "/v1/check".into(), |r| self.masked(r))),
        })
    }

    fn masked(&self, text: Box<str>) -> Box<str> {
        match self.redact(&text) {
            Cow::Owned(masked) => masked.into(),
            Cow::Borrowed(_) => text,
        }
    }

    fn unreachable(&self, error: TransportError) -> CallError {
        let mut detail: String = self.redact(&error.detail).chars().filter(|c| !c.is_control()).collect();
        if detail.len() > MAX_DETAIL_BYTES {
            detail.truncate(detail.floor_char_boundary(MAX_DETAIL_BYTES));
        }
        CallError::Unreachable { stage: error.stage, detail: detail.into() }
    }
}

/// A wait between attempts. The timer rounds up to a millisecond, so no wait must not go through it.
async fn pause(wait: Duration) {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}

/// What an attempt that failed came to, for the decision.
fn outcome(error: &CallError) -> Outcome<'_> {
    match error {
        CallError::Api { status, code, retry_after_seconds, retired_replacement, .. } => Outcome::Status {
            status: *status,
            code: code.as_deref(),
            retry_after_seconds: *retry_after_seconds,
            retired: retired_replacement.is_some(),
        },
        CallError::Unreachable { .. } => Outcome::TransportFailed,
        CallError::Timeout { .. } => Outcome::TimedOut,
        CallError::TooLarge { .. } | CallError::InvalidResponse { .. } => Outcome::BodyFailed,
        _ => Outcome::NotSent,
    }
}

/// What is read of an error body.
///
/// Source: HTTP API, section 12.
#[derive(Default)]
struct Envelope {
    code: Option<Box<str>>,
    message: Option<Box<str>>,
    replacement: Option<Box<str>>,
    /// `error` is a string.
    flat: bool,
}

impl Envelope {
    /// Reads what is there, each member by itself: an odd message must not cost the code.
    fn parse(body: &[u8]) -> Self {
        let Ok(body) = json::compact(body) else { return Self::default() };
        let text = |object: &str, name| {
            let value = json::member(object, name)?;
            serde_json::from_str::<Box<str>>(value).ok()
        };
        match json::member(&body, "error") {
            Some(error) if error.starts_with('"') => Self {
                code: text(&body, "error"),
                message: None,
                replacement: text(&body, "replacement"),
                flat: true,
            },
            Some(error) if error.starts_with('{') => Self {
                code: text(error, "code"),
                message: text(error, "message").filter(|m| !m.is_empty()),
                replacement: None,
                flat: false,
            },
            _ => Self::default(),
        }
    }
}
