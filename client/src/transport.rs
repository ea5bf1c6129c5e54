//! The HTTP stack in use, and the trait to put another in its place.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::config::Config;
use crate::connect::{Connector, StageError};
use crate::error::Stage;

/// Idle connections kept: as many as the server lets run at once.
const MAX_IDLE_CONNECTIONS: usize = 64;

/// How long an idle connection is kept: below the 60 s after which common load balancers close theirs, so that a
/// request rarely meets a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(55);

/// How often an HTTP/2 connection with calls in flight is probed, and how long the answer may take: a connection
/// that died silently, as after a laptop's sleep, is noticed before the deadline.
const H2_PING_INTERVAL: Duration = Duration::from_secs(15);
const H2_PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Room reserved for a body before its length is trusted, in bytes.
const BODY_RESERVE_BYTES: u64 = 64 * 1024;

/// An exchange that failed before an answer arrived.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{stage}: {detail}")]
pub struct TransportError {
    /// The part that failed.
    pub stage: Stage,
    /// What was said about it.
    pub detail: String,
}

/// A body that could not be read to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BodyError {
    /// It ended early, or the connection broke.
    Cut,
    /// It is larger than the limit.
    TooLarge,
}

/// Largest bodies to read, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BodyLimits {
    /// Of a 2xx answer.
    pub success: usize,
    /// Of any other answer.
    pub failure: usize,
}

impl BodyLimits {
    /// The limit for a status.
    #[must_use]
    pub fn of(self, status: http::StatusCode) -> usize {
        if status.is_success() { self.success } else { self.failure }
    }
}

/// An answer: head, and body as far as it could be read.
pub type Answered = http::Response<Result<Bytes, BodyError>>;

/// Future of one exchange. Dropping it must close the request's connection, or reset its stream.
pub type Exchange<'a> = Pin<Box<dyn Future<Output = Result<Answered, TransportError>> + Send + 'a>>;

/// An HTTP stack: sends one request to the absolute URI in it and reads the whole answer.
///
/// An implementation follows no redirect, repeats nothing that may have been sent, and sets no limit in time, since
/// the client drops the exchange at the deadline.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` and reads the answer, its body up to `limits`.
    fn exchange(&self, request: http::Request<Bytes>, limits: BodyLimits) -> Exchange<'_>;
}

/// The stack of this crate: HTTP/1.1 and HTTP/2 over TCP, through a proxy and TLS where configured.
#[derive(Clone, Debug)]
pub(crate) struct HttpStack {
    client: legacy::Client<Connector, Full<Bytes>>,
    connector: Connector,
}

impl HttpStack {
    pub(crate) fn new(config: &Config) -> Self {
        let connector = Connector::new(config);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .http2_keep_alive_interval(H2_PING_INTERVAL)
            .http2_keep_alive_timeout(H2_PING_TIMEOUT)
            // Only requests that were never taken up by a connection are moved to another one.
            .retry_canceled_requests(true)
            .build(connector.clone());
        Self { client, connector }
    }

    pub(crate) async fn warm(&self) -> Result<(), TransportError> {
        self.connector.warm().await.map_err(|e| TransportError { stage: e.stage, detail: e.detail })
    }

    pub(crate) async fn exchange(
        &self,
        request: http::Request<Bytes>,
        limits: BodyLimits,
    ) -> Result<Answered, TransportError> {
        let answer = self.client.request(request.map(Full::new)).await.map_err(|e| classified(&e))?;
        let (head, body) = answer.into_parts();
        let body = read_body(body, limits.of(head.status)).await;
        Ok(http::Response::from_parts(head, body))
    }
}

async fn read_body(mut body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    let too_large = |n: u64| usize::try_from(n).map_or(true, |n| n > limit);
    if too_large(body.size_hint().lower()) {
        return Err(BodyError::TooLarge);
    }
    let mut first = Bytes::new();
    let mut rest: Option<BytesMut> = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyError::Cut)?.into_data() else { continue };
        let have = rest.as_ref().map_or(first.len(), BytesMut::len);
        if data.len() > limit - have {
            return Err(BodyError::TooLarge);
        }
        if have == 0 {
            // Most answers are one piece: no copy.
            first = data;
            continue;
        }
        let buffer = rest.get_or_insert_with(|| {
            let expected = body.size_hint().lower().min(BODY_RESERVE_BYTES);
            let mut buffer =
                BytesMut::with_capacity(have + data.len() + usize::try_from(expected).unwrap_or(0));
            buffer.extend_from_slice(&first);
            buffer
        });
        buffer.extend_from_slice(&data);
    }
    Ok(rest.map_or(first, BytesMut::freeze))
}

/// Finds the stage of a failure in the chain of its causes.
fn classified(error: &legacy::Error) -> TransportError {
    let mut stage = if error.is_connect() { Stage::Connect } else { Stage::Read };
    let mut detail = error.to_string();
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = cause {
        if let Some(found) = staged(inner) {
            return found;
        }
        if let Some(error) = inner.downcast_ref::<hyper::Error>()
            && (error.is_canceled() || error.is_closed() || error.is_body_write_aborted())
        {
            stage = Stage::Send;
        }
        detail = inner.to_string();
        cause = inner.source();
    }
    TransportError { stage, detail }
}

fn staged(error: &(dyn Error + 'static)) -> Option<TransportError> {
    let from = |e: &StageError| TransportError { stage: e.stage, detail: e.detail.clone() };
    if let Some(found) = error.downcast_ref::<StageError>() {
        return Some(from(found));
    }
    // The source of an I/O error skips the error it was made of.
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    inner.downcast_ref::<StageError>().map(from)
}
