//! The server core: lifecycle, listing, and the life of one call. It knows no tool by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use kaval_client::Client;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use crate::arguments::Ignored;
use crate::call::{CallContext, Gate};
use crate::error::Failure;
use crate::reply::{self, Outcome};
use crate::toolset::{Budgets, ToolDefinition, ToolFuture, ToolOutcome, Toolset};
use crate::toolsets::facts::Facts;
use crate::version::Version;
use crate::wire::Wire;

/// How often a call that carries a progress token says that it is still running.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// What every agent gets to read about this server.
pub(crate) const INSTRUCTIONS: &str = "Call `check` before you act on a belief that may be out of date: before paying, \
     sending, publishing, deleting, or telling someone a rule, price or status. ALLOW means go ahead. REVIEW is never \
     permission: stop and escalate. BLOCK means do not act. A failed call is no verdict, so do not act on it either.";

/// The MCP server as an rmcp service: serve it on any transport.
///
/// Over [`crate::LineTransport`] what passes through keeps every digit; over other transports, results
/// go through rmcp's own types.
#[derive(Clone, Debug)]
pub struct Server(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    toolsets: Vec<Arc<dyn Toolset>>,
    /// Which toolset owns a tool.
    owners: HashMap<&'static str, usize>,
    gate: Gate,
    budgets: Budgets,
    definitions: OnceLock<Vec<ToolDefinition>>,
    lists: [OnceLock<Vec<u8>>; 4],
}

/// A server with the default toolset on an already configured client.
///
/// # Example
///
/// ```no_run
/// use rmcp::ServiceExt as _;
///
/// # async fn run(client: kaval_client::Client, stream: tokio::io::DuplexStream) {
/// let service = kaval_mcp::server(client).serve(stream).await;
/// # }
/// ```
#[must_use]
pub fn server(client: Client) -> Server {
    Server::new(client, vec![Arc::new(Facts)])
}

impl Server {
    /// A server with these toolsets; of tools with the same name the first one counts.
    #[must_use]
    pub fn new(client: Client, toolsets: Vec<Arc<dyn Toolset>>) -> Self {
        let config = client.config();
        let budgets = Budgets {
            deadline: config.deadline,
            check_ms: u32::try_from(config.check_budget().as_millis()).unwrap_or(u32::MAX),
        };
        let mut owners = HashMap::new();
        for (at, toolset) in toolsets.iter().enumerate() {
            for tool in toolset.tools() {
                owners.entry(tool).or_insert(at);
            }
        }
        Self(Arc::new(Inner {
            client,
            toolsets,
            owners,
            gate: Gate::default(),
            budgets,
            definitions: OnceLock::new(),
            lists: Default::default(),
        }))
    }

    /// The limits calls run under.
    #[must_use]
    pub fn budgets(&self) -> Budgets {
        self.0.budgets
    }

    /// The tools in the order they are listed.
    #[must_use]
    pub fn tools(&self) -> &[ToolDefinition] {
        self.0.definitions.get_or_init(|| {
            let all = self.0.toolsets.iter().enumerate();
            all.flat_map(|(at, toolset)| {
                toolset.definitions(self.0.budgets).into_iter().map(move |tool| (at, tool))
            })
            .filter(|(at, tool)| self.0.owners.get(tool.name) == Some(at))
            .map(|(_, tool)| tool)
            .collect()
        })
    }

    /// The result of `tools/list` for clients of the newest handshake revision, as JSON.
    #[must_use]
    pub fn tools_json(&self) -> &[u8] {
        self.list(Version::NEWEST_LEGACY)
    }

    fn list(&self, version: Version) -> &[u8] {
        // Four shapes: bare, with annotations, with output schemas, and modern.
        let shape = usize::from(version.knows_annotations())
            + usize::from(version.knows_structured_content())
            + usize::from(version.is_modern());
        self.0.lists[shape.min(3)].get_or_init(|| reply::list_result(version, self.tools()))
    }

    /// Runs one call to its end, or until it is cancelled.
    async fn run(&self, call: Call<'_>, cancelled: &CancellationToken) -> Option<Finished> {
        let inner = &*self.0;
        let context =
            CallContext::new(&inner.client, &inner.gate, inner.budgets, call.traceparent, call.wire);
        let owner = inner.owners.get(call.tool).and_then(|at| inner.toolsets.get(*at));
        let running: ToolFuture<'_> = match owner {
            Some(toolset) => toolset.call(call.tool, call.arguments, &context),
            None => Box::pin(std::future::ready(ToolOutcome {
                result: Err(Box::new(Failure::unknown_tool(call.tool))),
                ignored: Ignored::default(),
            })),
        };
        let Some(outcome) = self.attend(running, &call.progress, context.started(), cancelled).await else {
            log_cancelled(&inner.client, &call, context.started());
            return None;
        };
        let (json, kind) = match outcome.result {
            Ok(json) => (json, Outcome::Success),
            Err(failure) => {
                self.log_failure(&call, &failure, context.started());
                (failure.to_json(), Outcome::Failure)
            }
        };
        let json = match self.0.client.redact_json(&json) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => json,
        };
        let mut ignored = outcome.ignored;
        for name in &mut ignored.names {
            *name = self.0.client.redact(name).into_owned();
        }
        Some(Finished { json, outcome: kind, ignored })
    }

    /// Waits for a call, and says from time to time that it is still running.
    async fn attend(
        &self,
        mut running: ToolFuture<'_>,
        progress: &Progress<'_>,
        started: Instant,
        cancelled: &CancellationToken,
    ) -> Option<ToolOutcome> {
        if matches!(progress, Progress::Unwanted) {
            return tokio::select! {
                biased;
                () = cancelled.cancelled() => None,
                outcome = &mut running => Some(outcome),
            };
        }
        let total = self.0.budgets.deadline.as_secs_f64();
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        ticks.reset();
        let mut said = 0;
        loop {
            tokio::select! {
                biased;
                () = cancelled.cancelled() => return None,
                outcome = &mut running => return Some(outcome),
                _ = ticks.tick() => {
                    // Strictly rising, also when the loop was held up and two ticks come close together.
                    said = started.elapsed().as_secs().max(said + 1);
                    progress.say(said, total).await;
                }
            }
        }
    }

    /// Reads the trust store while the client makes up its mind, so that the first call need not.
    fn warm_up(&self) {
        let client = self.0.client.clone();
        tokio::spawn(async move {
            if let Err(error) = client.warm().await {
                // The first call meets the same fault and reports it to somebody who can act.
                tracing::debug!(%error, "the trust store cannot be read yet");
            }
        });
    }

    fn log_failure(&self, call: &Call<'_>, failure: &Failure, started: Instant) {
        let mask = |text: &str| self.0.client.redact(text).into_owned();
        tracing::error!(
            tool = %mask(&crate::arguments::shown_name(call.tool)),
            code = %mask(failure.code()),
            status = failure.status(),
            elapsed_ms = elapsed_ms(started),
            request_id = failure.request_id().map(mask),
            detail = failure.detail().map(mask),
            "[kaval-mcp] tool error:"
        );
    }
}

fn log_cancelled(client: &Client, call: &Call<'_>, started: Instant) {
    tracing::error!(
        tool = %client.redact(&crate::arguments::shown_name(call.tool)),
        code = %"cancelled",
        elapsed_ms = elapsed_ms(started),
        "[kaval-mcp] tool error:"
    );
}

fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// One call as it came in.
struct Call<'a> {
    tool: &'a str,
    arguments: Option<&'a str>,
    traceparent: Option<&'a str>,
    wire: Option<&'a Wire>,
    progress: Progress<'a>,
}

/// One call as it goes out.
struct Finished {
    json: String,
    outcome: Outcome,
    ignored: Ignored,
}

/// Where to say that a call is still running.
enum Progress<'a> {
    Unwanted,
    Peer(&'a Peer<RoleServer>, ProgressToken),
    Wire(&'a Wire, &'a str),
}

impl Progress<'_> {
    async fn say(&self, seconds: u64, total: f64) {
        match self {
            Self::Unwanted => {}
            Self::Wire(wire, token) => wire.notify(&reply::progress_notification(token, seconds, total)),
            Self::Peer(peer, token) => {
                // Seconds of at most an hour are exact in a float.
                let progress = f64::from(u32::try_from(seconds).unwrap_or(u32::MAX));
                let said = ProgressNotificationParam::new(token.clone(), progress)
                    .with_total(total)
                    .with_message(reply::progress_message(seconds, total));
                if let Err(error) = peer.notify_progress(said).await {
                    tracing::debug!(%error, "progress could not be sent");
                }
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let implementation =
            Implementation::new(reply::SERVER_NAME, reply::SERVER_VERSION).with_title(reply::SERVER_TITLE);
        ServerConfig::new(capabilities)
            .with_protocol_version(protocol_version(Version::NEWEST_LEGACY))
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let version = protocol_version(Version::negotiate(request.protocol_version.as_str()));
        // rmcp reads the shape of later replies from here: it must be what was settled, not what was asked.
        let mut peer = request;
        peer.protocol_version = version.clone();
        context.peer.set_peer_info(peer);
        self.warm_up();
        let result = self.get_info().with_protocol_version(version);
        answer_early(&context, &result);
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        // Modern clients would subscribe to changes, and the list has none.
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, info);
        result.ttl_ms = reply::LIST_TTL_MS;
        result.cache_scope = CacheScope::Public;
        self.warm_up();
        answer_early(&context, &result);
        Ok(result)
    }

    async fn on_custom_request(
        &self,
        _: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(wire) = context.extensions.get::<Wire>() {
            wire.finish(self.list(wire.version()));
            return Ok(ListToolsResult::default());
        }
        let version = version_of(&context);
        let mut result = ListToolsResult::with_all_items(
            self.tools().iter().map(|tool| rmcp_tool(version, tool)).collect(),
        );
        if version.is_modern() {
            result.ttl_ms = Some(reply::LIST_TTL_MS);
            result.cache_scope = Some(CacheScope::Public);
            result.meta = Some(modern_meta(serde_json::Map::new()));
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(wire) = context.extensions.get::<Wire>() {
            let call = Call {
                tool: &request.name,
                arguments: wire.arguments(),
                traceparent: wire.traceparent(),
                wire: Some(wire),
                progress: wire
                    .progress_token()
                    .map_or(Progress::Unwanted, |token| Progress::Wire(wire, token)),
            };
            if let Some(Finished { json, outcome, ignored }) = self.run(call, &context.ct).await {
                wire.finish(&reply::call_result(wire.version(), &json, outcome, &ignored));
            }
            // The transport has answered already and drops this.
            return Ok(CallToolResult::success(Vec::new()).into());
        }
        let arguments = request.arguments.as_ref().and_then(|map| serde_json::to_string(map).ok());
        let traceparent = context.meta.get("traceparent").and_then(|value| value.as_str());
        let call = Call {
            tool: &request.name,
            arguments: arguments.as_deref(),
            traceparent,
            wire: None,
            progress: context
                .meta
                .get_progress_token()
                .map_or(Progress::Unwanted, |token| Progress::Peer(&context.peer, token)),
        };
        match self.run(call, &context.ct).await {
            Some(finished) => Ok(rmcp_result(version_of(&context), finished).into()),
            None => Err(ErrorData::internal_error("cancelled", None)),
        }
    }
}

/// Results of calls do not pass through rmcp's queues; the handshake must not come after them.
fn answer_early<T: serde::Serialize>(context: &RequestContext<RoleServer>, result: &T) {
    if let Some(wire) = context.extensions.get::<Wire>()
        && let Ok(bytes) = serde_json::to_vec(result)
    {
        wire.finish(&bytes);
    }
}

fn protocol_version(version: Version) -> ProtocolVersion {
    serde_json::from_value(serde_json::Value::String(version.as_str().to_owned()))
        .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn version_of(context: &RequestContext<RoleServer>) -> Version {
    context
        .protocol_version()
        .and_then(|version| Version::parse(version.as_str()))
        .unwrap_or(Version::NEWEST_LEGACY)
}

fn modern_meta(mut meta: serde_json::Map<String, serde_json::Value>) -> MetaObject {
    meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), reply::server_info());
    MetaObject(meta)
}

/// A result in rmcp's types, for transports of others.
fn rmcp_result(version: Version, finished: Finished) -> CallToolResult {
    let Finished { json, outcome, ignored } = finished;
    let structured = (outcome == Outcome::Success && version.knows_structured_content())
        .then(|| serde_json::from_str(&json).ok())
        .flatten();
    let content = vec![ContentBlock::text(json)];
    let mut result = match outcome {
        Outcome::Failure => CallToolResult::error(content),
        Outcome::Success => CallToolResult::success(content),
    };
    if outcome == Outcome::Success {
        result.is_error = None;
    }
    result.structured_content = structured;
    let meta = reply::ignored_meta(&ignored);
    result.meta = match version.is_modern() {
        true => Some(modern_meta(meta)),
        false => (!meta.is_empty()).then(|| MetaObject(meta)),
    };
    result
}

fn rmcp_tool(version: Version, definition: &ToolDefinition) -> Tool {
    let mut tool =
        Tool::new(definition.name, definition.description.clone(), Arc::new(definition.input_schema.clone()));
    if version.knows_structured_content() {
        tool.title = Some(definition.title.to_owned());
        tool.output_schema = Some(Arc::new(definition.output_schema.clone()));
    }
    if version.knows_annotations() {
        let hints = definition.annotations;
        tool.annotations = Some(ToolAnnotations::from_raw(
            None,
            Some(hints.read_only),
            Some(hints.destructive),
            Some(hints.idempotent),
            Some(hints.open_world),
        ));
    }
    tool
}
