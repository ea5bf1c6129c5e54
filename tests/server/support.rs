//! A session over an in-memory stream, and an HTTP stack that answers as told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use http::Response;
use kaval_client::base_url::PlainHttp;
use kaval_client::key::ApiKey;
use kaval_client::transport::{BodyLimits, Exchange, Transport};
use kaval_client::{BaseUrl, Client, Clock, Config};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

/// Longest wait for a line that must come; far above what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Wait after which a line that must not come is taken not to.
const SILENCE: Duration = Duration::from_millis(150);

pub(crate) const KEY: &str = "kv_live_canary_0123456789";

/// What the stack does with a request.
#[derive(Clone)]
pub(crate) enum Script {
    /// Answers 200 with this body.
    Body(&'static str),
    /// Never answers.
    Hang,
}

/// Counts what it was asked and what is still open.
#[derive(Clone)]
pub(crate) struct Stack {
    script: Script,
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) open: Arc<AtomicUsize>,
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Transport for Stack {
    fn exchange(&self, _: http::Request<bytes::Bytes>, _: BodyLimits) -> Exchange<'_> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        let open = Open(Arc::clone(&self.open));
        Box::pin(async move {
            let _open = open;
            match self.script {
                Script::Body(body) => Ok(Response::new(Ok(body.into()))),
                Script::Hang => std::future::pending().await,
            }
        })
    }
}

struct Now;

impl Clock for Now {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

pub(crate) fn client(script: Script) -> (Client, Stack) {
    let stack = Stack { script, asked: Arc::default(), open: Arc::default() };
    let mut config = Config::new(BaseUrl::parse("http://127.0.0.1:9", PlainHttp::Loopback).unwrap());
    config.api_key = Some(ApiKey::parse(KEY).unwrap());
    (Client::with_transport(config, stack.clone(), Now), stack)
}

/// One client's end of a running server.
pub(crate) struct Session {
    input: Option<WriteHalf<DuplexStream>>,
    output: BufReader<ReadHalf<DuplexStream>>,
    served: tokio::task::JoinHandle<()>,
    pub(crate) stack: Stack,
}

impl Session {
    pub(crate) fn start(script: Script) -> Self {
        Self::start_with_parent(script, || true)
    }

    pub(crate) fn start_with_parent(script: Script, parent_alive: fn() -> bool) -> Self {
        let (client, stack) = client(script);
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let server = kaval_mcp::server(client);
        let served =
            tokio::spawn(kaval_mcp::serve(server, reader, writer, parent_alive, CancellationToken::new()));
        let (output, input) = tokio::io::split(ours);
        Self { input: Some(input), output: BufReader::new(output), served, stack }
    }

    /// A session on which a version has been agreed.
    pub(crate) async fn initialized(script: Script, version: &str) -> Self {
        let mut session = Self::start(script);
        session.initialize(version).await;
        session
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
        ))
        .await;
        let reply = self.line().await;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        reply
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).await.unwrap();
        input.flush().await.unwrap();
    }

    /// The next line as written.
    pub(crate) async fn raw_line(&mut self) -> String {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.output.read_line(&mut line))
            .await
            .expect("a line in time")
            .unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) async fn line(&mut self) -> Value {
        let line = self.raw_line().await;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Nothing more is said for a while.
    pub(crate) async fn silence(&mut self) {
        let mut line = String::new();
        let read = tokio::time::timeout(SILENCE, self.output.read_line(&mut line)).await;
        assert!(read.is_err() || line.is_empty(), "unexpected {line:?}");
    }

    /// Ends the input and waits for the server to end; what it still said.
    pub(crate) async fn finish(mut self) -> Vec<Value> {
        let mut input = self.input.take().unwrap();
        input.shutdown().await.unwrap();
        let mut lines = Vec::new();
        loop {
            let line = self.raw_line().await;
            if line.is_empty() {
                break;
            }
            lines.push(serde_json::from_str(&line).unwrap());
        }
        tokio::time::timeout(PATIENCE, self.served).await.expect("the server ends").unwrap();
        lines
    }

    pub(crate) async fn until_open(&self, count: usize) {
        for _ in 0..2000 {
            if self.stack.open.load(Ordering::SeqCst) == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{} exchanges open, not {count}", self.stack.open.load(Ordering::SeqCst));
    }
}

pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}
