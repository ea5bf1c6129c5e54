//! The line transport: JSON-RPC over a pair of byte streams, in front of rmcp's service loop.
//!
//! rmcp's own stream transport answers neither broken lines nor oversized ones, cannot repeat every id a
//! client may use, and holds arguments and results as trees. This one answers every line that is owed
//! an answer, gives each request an id of its own towards rmcp, and keeps the bytes that pass through.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientCapabilities, ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest,
    DiscoverRequest, ErrorCode, ErrorData, Implementation, InitializeRequest, InitializeRequestParams,
    JsonRpcMessage, ListToolsRequest, PingRequest, ProtocolVersion, RequestId, RequestMetaObject,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::id_scan::IdScan;
use super::lines::{Line, Lines, MAX_LINE_BYTES};
use super::message::{Kind, Message, Meta, Params, text};
use super::outbox::{Outbox, Reply};
use crate::arguments::RawObject;
use crate::version::Version;
use crate::wire::{Texts, Wire};

/// Messages one batch may hold; hosts that batch send a handful.
const MAX_BATCH: usize = 256;

/// How long the last replies may take to reach a client that reads slowly, once the session is over.
const FLUSH: Duration = Duration::from_secs(5);

/// How often the parent process is looked for while calls finish after the end of the input.
///
/// The kernel closes a dying parent's pipes a moment before it gives its children to another process,
/// so one look at the end of the input would come too early.
const PARENT_LOOKS: Duration = Duration::from_millis(50);

/// What happens to running calls when the input ends.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Calls still running after this long are dropped.
    pub limit: Duration,
    /// Ask whether the parent process is still the one that started us.
    pub parent_alive: fn() -> bool,
}

/// JSON-RPC messages, one a line, over any pair of byte streams.
#[derive(Debug)]
pub struct LineTransport<R> {
    lines: Lines<R>,
    outbox: Arc<Outbox>,
    session: Option<Version>,
    pending: VecDeque<ClientJsonRpcMessage>,
    writer: Option<JoinHandle<()>>,
    drain: Drain,
    /// Ends the session: cancels running calls and the service loop.
    stop: CancellationToken,
    ended: bool,
    drain_until: Option<Instant>,
}

impl<R: AsyncRead + Unpin + Send + 'static> LineTransport<R> {
    /// Reads messages from `reader` and writes replies to `writer`; spawns the writing task.
    ///
    /// `stop` is cancelled when the client can no longer be reached, and should be the token the service
    /// is run with.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn new<W>(reader: R, writer: W, drain: Drain, stop: CancellationToken) -> Self
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let outbox = Arc::new(Outbox::default());
        let writer = tokio::spawn({
            let (outbox, stop) = (Arc::clone(&outbox), stop.clone());
            async move {
                if let Err(error) = outbox.write_to(writer).await {
                    tracing::debug!(%error, "the client no longer reads");
                    outbox.abandon();
                    stop.cancel();
                }
            }
        });
        Self {
            lines: Lines::new(reader),
            outbox,
            session: None,
            pending: VecDeque::new(),
            writer: Some(writer),
            drain,
            stop,
            ended: false,
            drain_until: None,
        }
    }

    async fn next_line(&mut self) {
        match self.lines.next().await {
            Ok(Line::Complete { start, end }) => {
                let mut intake =
                    Intake { outbox: &self.outbox, session: &mut self.session, pending: &mut self.pending };
                intake.line(self.lines.text(start, end));
            }
            Ok(Line::TooLong { id }) => {
                let why = format!("the message is longer than {MAX_LINE_BYTES} bytes");
                self.outbox.refuse(
                    id.as_deref(),
                    None,
                    &ErrorData::new(ErrorCode::INVALID_REQUEST, why, None),
                );
            }
            Ok(Line::End) => self.ended = true,
            Err(error) => {
                tracing::warn!(%error, "the input cannot be read any further");
                self.ended = true;
            }
        }
    }

    /// Lets running calls finish, for as long as somebody may be waiting for them.
    async fn finish_calls(outbox: &Outbox, drain: Drain, until: Instant, stop: &CancellationToken) {
        let limit = tokio::time::sleep_until(until);
        tokio::pin!(limit);
        let mut looks = tokio::time::interval(PARENT_LOOKS);
        loop {
            tokio::select! {
                biased;
                () = outbox.is_idle() => return,
                () = &mut limit => break,
                _ = looks.tick() => {
                    if !(drain.parent_alive)() {
                        break;
                    }
                }
            }
        }
        outbox.abandon();
        stop.cancel();
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = Infallible;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &item {
            // A result that went out through `Wire` has closed its request already.
            JsonRpcMessage::Response(response) => {
                if let Some(key) = key_of(&response.id) {
                    match serde_json::to_vec(&response.result) {
                        Ok(bytes) => self.outbox.finish(key, &Reply::Result(&bytes)),
                        Err(error) => {
                            let error = ErrorData::internal_error(error.to_string(), None);
                            self.outbox.finish(key, &Reply::Error(&error));
                        }
                    }
                }
            }
            JsonRpcMessage::Error(error) => {
                if let Some(key) = error.id.as_ref().and_then(key_of) {
                    self.outbox.finish(key, &Reply::Error(&error.error));
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {
                if let Ok(bytes) = serde_json::to_vec(&item) {
                    self.outbox.push(&bytes);
                }
            }
        }
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.pending.pop_front() {
                return Some(message);
            }
            if self.ended {
                // The service loop drops this future and asks again, so the end of the wait is kept.
                let until = *self.drain_until.get_or_insert_with(|| Instant::now() + self.drain.limit);
                Self::finish_calls(&self.outbox, self.drain, until, &self.stop).await;
                return None;
            }
            self.outbox.has_room().await;
            self.next_line().await;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.outbox.close();
        if let Some(writer) = self.writer.take() {
            let abort = writer.abort_handle();
            if tokio::time::timeout(FLUSH, writer).await.is_err() {
                abort.abort();
            }
        }
        Ok(())
    }
}

fn key_of(id: &RequestId) -> Option<u64> {
    match id {
        RequestId::Number(number) => u64::try_from(*number).ok(),
        RequestId::String(_) => None,
    }
}

/// Turns lines into messages for rmcp, and answers those that are none.
struct Intake<'t> {
    outbox: &'t Arc<Outbox>,
    session: &'t mut Option<Version>,
    pending: &'t mut VecDeque<ClientJsonRpcMessage>,
}

impl Intake<'_> {
    fn line(&mut self, line: &[u8]) {
        // Some Windows shells start the stream with a byte order mark.
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        match line.first() {
            None => {}
            Some(b'[') => self.batch(line),
            Some(_) => match parse(line) {
                Ok(message) => self.message(&message, None),
                Err(error) => self.refuse_text(line, &error),
            },
        }
    }

    /// Answers a line that is not a message, with the id if one can be made out.
    fn refuse_text(&self, line: &[u8], error: &ErrorData) {
        let mut scan = IdScan::default();
        scan.feed(line);
        self.outbox.refuse(scan.finish().as_deref(), None, error);
    }

    fn batch(&mut self, line: &[u8]) {
        let messages = match std::str::from_utf8(line).ok().map(serde_json::from_str::<Vec<&RawValue>>) {
            Some(Ok(messages)) => messages,
            _ => return self.outbox.refuse(None, None, &not_json()),
        };
        let refusal = if !self.session.is_some_and(Version::knows_batches) {
            Some(Cow::Borrowed(
                "a line holds one message; batches belong to protocol versions up to 2025-03-26",
            ))
        } else if messages.is_empty() {
            Some(Cow::Borrowed("the batch is empty"))
        } else if messages.len() > MAX_BATCH {
            Some(Cow::Owned(format!("a batch holds at most {MAX_BATCH} messages")))
        } else {
            None
        };
        if let Some(why) = refusal {
            return self.outbox.refuse(None, None, &invalid_request(why));
        }
        let batch = self.outbox.begin_batch();
        for message in messages {
            match parse(message.get().as_bytes()) {
                Ok(message) => self.message(&message, Some(batch)),
                Err(error) => self.outbox.refuse(None, Some(batch), &error),
            }
        }
        self.outbox.end_batch(batch);
    }

    fn message(&mut self, message: &Message<'_>, batch: Option<u64>) {
        match message.kind() {
            Kind::Request { id, method } => {
                if let Err(error) = self.request(id, &method, message.params, batch) {
                    self.outbox.refuse(Some(id), batch, &error);
                }
            }
            Kind::Notification { method } => self.notification(&method, message.params),
            Kind::Response => tracing::debug!("ignored an answer to nothing we asked"),
            Kind::Invalid { id, why } => self.outbox.refuse(id, batch, &invalid_request(why)),
        }
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        // The other notifications tell a server of ours nothing.
        if method != "notifications/cancelled" {
            return;
        }
        let params = params.and_then(|raw| serde_json::from_str::<Params<'_>>(raw.get()).ok());
        let Some(id) = params.and_then(|params| params.request_id) else { return };
        let Some(key) = self.outbox.cancel(id.get()) else { return };
        let params = CancelledNotificationParam::new(Some(request_id(key)), None);
        let notification = CancelledNotification::new(params);
        self.pending.push_back(JsonRpcMessage::notification(ClientNotification::from(notification)));
    }

    fn request(
        &mut self,
        id: &str,
        method: &str,
        raw_params: Option<&RawValue>,
        batch: Option<u64>,
    ) -> Result<(), ErrorData> {
        let params = match raw_params.map(RawValue::get) {
            None => None,
            Some(raw) => Some(
                serde_json::from_str::<Params<'_>>(raw)
                    .map_err(|_| invalid_params("`params` must be an object"))?,
            ),
        };
        let meta = params.as_ref().and_then(|params| params.meta).map(RawValue::get);
        let mut full_meta = None;
        let mut texts = Texts::default();
        let mut named = None;
        if let Some(raw) = meta {
            let meta: Meta<'_> =
                serde_json::from_str(raw).map_err(|_| invalid_params("`_meta` must be an object"))?;
            texts.progress_token = meta.token();
            texts.traceparent = meta
                .traceparent
                .and_then(|raw| text(raw.get()))
                .map(|text| text.into_owned().into_boxed_str());
            if let Some(version) = meta.protocol_version {
                let version = text(version.get()).ok_or_else(|| {
                    invalid_params("`io.modelcontextprotocol/protocolVersion` must be a string")
                })?;
                named = Some(Version::parse(&version));
                // rmcp checks that everything a modern request owes is there.
                full_meta = Some(
                    serde_json::from_str::<RequestMetaObject>(raw)
                        .map_err(|_| invalid_params("`_meta` must be an object"))?,
                );
            }
        }
        let mut request = typed(method, params.as_ref(), raw_params, &mut texts)?;
        let version = match (named, *self.session) {
            (Some(named), _) => named.unwrap_or(Version::V2026_07_28),
            (None, Some(session)) => session,
            (None, None) => before_initialize(method, params.as_ref())?,
        };
        if version.is_modern() && matches!(request, ClientRequest::PingRequest(_)) {
            // That version has no `ping`: it is refused like any other unknown method.
            request = ClientRequest::CustomRequest(CustomRequest::new(method, None));
        }
        if let ClientRequest::InitializeRequest(initialize) = &request {
            if batch.is_some() {
                return Err(invalid_request("`initialize` must not be part of a batch"));
            }
            *self.session = Some(Version::negotiate(initialize.params.protocol_version.as_str()));
        }
        let key = self.outbox.open(id, batch).ok_or_else(|| {
            invalid_request(
                "the id belongs to a request that is still running; it goes on, this one does not",
            )
        })?;
        let extensions = extensions(&mut request);
        extensions.insert(Wire::new(Arc::clone(self.outbox), key, version, texts));
        if let Some(meta) = full_meta {
            extensions.insert(meta);
        }
        self.pending.push_back(JsonRpcMessage::request(request, request_id(key)));
        Ok(())
    }
}

/// What may come before the handshake: the handshake itself, `ping`, and the modern probe.
fn before_initialize(method: &str, params: Option<&Params<'_>>) -> Result<Version, ErrorData> {
    match method {
        "initialize" => {
            let requested = params.and_then(|params| params.protocol_version);
            Ok(requested
                .and_then(|raw| text(raw.get()))
                .map_or(Version::NEWEST_LEGACY, |requested| Version::negotiate(&requested)))
        }
        "ping" => Ok(Version::NEWEST_LEGACY),
        "server/discover" => Ok(Version::V2026_07_28),
        _ => Err(invalid_params(
            "not initialized: send `initialize` first, or name `io.modelcontextprotocol/protocolVersion` and \
                 `io.modelcontextprotocol/clientCapabilities` in `_meta`",
        )),
    }
}

/// The rmcp request for a method of ours; every other method becomes a custom request, which rmcp refuses.
fn typed(
    method: &str,
    params: Option<&Params<'_>>,
    raw_params: Option<&RawValue>,
    texts: &mut Texts,
) -> Result<ClientRequest, ErrorData> {
    match method {
        "tools/call" => {
            let params = params.ok_or_else(|| invalid_params("`params` is missing"))?;
            let name = params
                .name
                .and_then(|raw| text(raw.get()))
                .ok_or_else(|| invalid_params("`params.name` must be a string"))?;
            texts.arguments = match params.arguments.map(RawValue::get) {
                None | Some("null") => None,
                Some(raw) if raw.starts_with('{') => Some(raw.into()),
                Some(_) => return Err(invalid_params("`params.arguments` must be an object")),
            };
            let params = CallToolRequestParams::new(name.into_owned());
            Ok(ClientRequest::CallToolRequest(CallToolRequest::new(params)))
        }
        "tools/list" => {
            // The list is one page, so no cursor was ever handed out.
            if params.and_then(|params| params.cursor).is_some_and(|cursor| cursor.get() != "null") {
                return Err(invalid_params("`cursor` is not one this server gave out"));
            }
            Ok(ClientRequest::ListToolsRequest(ListToolsRequest::default()))
        }
        "initialize" => {
            let raw = raw_params.ok_or_else(|| invalid_params("`params` is missing"))?;
            let handshake = serde_json::from_str::<Handshake<'_>>(raw.get()).map_err(|_| {
                // What serde says may repeat what was given.
                invalid_params("`params` must hold `protocolVersion`, `capabilities` and `clientInfo`")
            })?;
            Ok(ClientRequest::InitializeRequest(InitializeRequest::new(handshake.into())))
        }
        "ping" => Ok(ClientRequest::PingRequest(PingRequest::default())),
        "server/discover" => Ok(ClientRequest::DiscoverRequest(DiscoverRequest::default())),
        other => Ok(ClientRequest::CustomRequest(CustomRequest::new(other, None))),
    }
}

/// What `initialize` owes us. This server asks nothing of its clients, so what they are able to do, and how
/// their icons look, is left unread: revisions differ there, and none of it may cost a session.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Handshake<'a> {
    protocol_version: ProtocolVersion,
    #[serde(borrow, rename = "capabilities")]
    _capabilities: RawObject<'a>,
    client_info: ClientInfo,
}

#[derive(serde::Deserialize)]
struct ClientInfo {
    name: String,
    version: String,
}

impl From<Handshake<'_>> for InitializeRequestParams {
    fn from(handshake: Handshake<'_>) -> Self {
        let ClientInfo { name, version } = handshake.client_info;
        Self::new(ClientCapabilities::default(), Implementation::new(name, version))
            .with_protocol_version(handshake.protocol_version)
    }
}

fn extensions(request: &mut ClientRequest) -> &mut rmcp::model::Extensions {
    use rmcp::model::GetExtensions as _;
    request.extensions_mut()
}

fn parse(bytes: &[u8]) -> Result<Message<'_>, ErrorData> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ErrorData::new(ErrorCode::PARSE_ERROR, "the line is not UTF-8", None))?;
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => invalid_request("a message is a JSON object"),
        _ => not_json(),
    })
}

/// rmcp's ids are signed; ours count from zero and never reach the sign.
fn request_id(key: u64) -> RequestId {
    RequestId::Number(i64::try_from(key).unwrap_or(i64::MAX))
}

fn not_json() -> ErrorData {
    ErrorData::new(ErrorCode::PARSE_ERROR, "the line is not JSON", None)
}

fn invalid_request(why: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, why, None)
}

fn invalid_params(why: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_PARAMS, why, None)
}
