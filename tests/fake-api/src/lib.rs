//! A real HTTP server on loopback that plays the hosted API for tests and benches.
//!
//! It speaks HTTP/1.1 by hand so that a test can place a fault at an exact byte: hang, stall a body, cut
//! it, reset before or after committing. Over TLS it also offers HTTP/2. Every request is recorded with
//! its headers and body, and so is the moment its peer went away.
//!
//! It checks no argument: what a client sends is for the test to judge.
#![allow(clippy::unwrap_used, reason = "a test bed that cannot start should say so at once")]

mod bodies;
mod control;
mod http1;
mod http2;
mod proxy;
mod reply;
mod tls;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use bodies::{default_reply, pad_check};
pub use control::controlled;
pub use proxy::Proxy;
pub use reply::{Fault, Reply};
pub use tls::{Authority, Protocols};

/// How often a waiting test looks again: short against every wait it makes.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// One request as it was received.
#[derive(Clone, Debug)]
pub struct Request {
    /// When its last byte was read.
    pub at: Instant,
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// Header names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body, without any transfer coding.
    pub body: Vec<u8>,
    /// Number of the connection it came on, from 0.
    pub connection: usize,
    /// True over HTTP/2.
    pub http2: bool,
}

impl Request {
    /// First value of the header with this lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as text; a body that is not UTF-8 fails the test.
    ///
    /// # Panics
    ///
    /// If the body is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If the body is not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// Decides the answer to a request.
pub type Handler = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// Whether requests are kept for inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Keep every request (tests).
    Keep,
    /// Keep counts only (benches, where memory would grow with the calls).
    CountOnly,
}

pub(crate) struct State {
    handler: Handler,
    recording: Recording,
    requests: Mutex<Vec<Request>>,
    aborted: Mutex<Vec<Instant>>,
    count: AtomicUsize,
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    peak_in_flight: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn new(handler: Handler, recording: Recording) -> Self {
        Self {
            handler,
            recording,
            requests: Mutex::default(),
            aborted: Mutex::default(),
            count: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            peak_in_flight: AtomicUsize::new(0),
        }
    }

    /// Records the request and decides its answer.
    pub(crate) fn begin(&self, request: Request) -> Reply {
        self.count.fetch_add(1, Ordering::SeqCst);
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak_in_flight.fetch_max(now, Ordering::SeqCst);
        // Recorded before it is judged, so that a handler asking for what came before sees itself last.
        if self.recording == Recording::Keep {
            lock(&self.requests).push(request.clone());
        }
        (self.handler)(&request)
    }

    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn note_abort(&self) {
        lock(&self.aborted).push(Instant::now());
    }

    pub(crate) fn next_connection(&self) -> usize {
        self.connections.fetch_add(1, Ordering::SeqCst)
    }
}

/// The running server. Its thread ends with the process.
pub struct Api {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
}

impl Api {
    /// Starts on a free IPv4 loopback port, answering as `handler` says.
    ///
    /// # Panics
    ///
    /// If no port can be bound.
    #[must_use]
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::launch(Arc::new(handler), Recording::Keep, IpAddr::V4(Ipv4Addr::LOCALHOST), 0, None)
    }

    /// Starts with the everyday answer of every route.
    #[must_use]
    pub fn start_default() -> Self {
        Self::start(default_reply)
    }

    /// Starts on the given address and port, for the standalone program and benches.
    ///
    /// # Panics
    ///
    /// If the address cannot be bound.
    #[must_use]
    pub fn start_at(handler: Handler, recording: Recording, host: IpAddr, port: u16) -> Self {
        Self::launch(handler, recording, host, port, None)
    }

    /// Starts with TLS under a certificate of `authority` for `localhost`, `127.0.0.1` and
    /// `api.kaval.test`.
    ///
    /// # Panics
    ///
    /// If no port can be bound.
    #[must_use]
    pub fn start_tls(
        authority: &Authority,
        protocols: Protocols,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::launch(
            Arc::new(handler),
            Recording::Keep,
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            0,
            Some(authority.server_config(protocols)),
        )
    }

    fn launch(
        handler: Handler,
        recording: Recording,
        host: IpAddr,
        port: u16,
        tls: Option<Arc<rustls::ServerConfig>>,
    ) -> Self {
        let state = Arc::new(State::new(handler, recording));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = std::net::TcpListener::bind((host, port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(accept(listener, shared, tls));
        });
        Self { address, scheme, state }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Every request so far, in the order received.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.state.requests).clone()
    }

    /// How many requests were received.
    #[must_use]
    pub fn count(&self) -> usize {
        self.state.count.load(Ordering::SeqCst)
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The largest number of requests that were being answered at one time.
    #[must_use]
    pub fn peak_in_flight(&self) -> usize {
        self.state.peak_in_flight.load(Ordering::SeqCst)
    }

    /// Moments at which a peer went away before its answer was complete.
    #[must_use]
    pub fn aborted(&self) -> Vec<Instant> {
        lock(&self.state.aborted).clone()
    }

    /// Waits until `n` requests were received; false if `limit` passes first.
    #[must_use]
    pub fn wait_for_requests(&self, n: usize, limit: Duration) -> bool {
        wait_until(limit, || self.count() >= n)
    }

    /// Waits until `n` answers were abandoned by their peer; false if `limit` passes first.
    #[must_use]
    pub fn wait_for_aborts(&self, n: usize, limit: Duration) -> bool {
        wait_until(limit, || lock(&self.state.aborted).len() >= n)
    }
}

/// Polls `done` until it is true; false if `limit` passes first.
#[must_use]
pub fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if done() {
            return true;
        }
        if start.elapsed() > limit {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

async fn accept(listener: std::net::TcpListener, state: Arc<State>, tls: Option<Arc<rustls::ServerConfig>>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let acceptor = tls.map(tokio_rustls::TlsAcceptor::from);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(&state);
        let number = state.next_connection();
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Some(acceptor) = acceptor else {
                return http1::serve(stream, number, &state).await;
            };
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                http2::serve(stream, number, state).await;
            } else {
                http1::serve(stream, number, &state).await;
            }
        });
    }
}
