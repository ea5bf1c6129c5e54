//! Making connections: DNS, TCP, proxy, TLS, each with its own failure.

use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::base_url::BaseUrl;
use crate::config::Config;
use crate::error::Stage;
use crate::proxy::{Proxy, ProxyKind};
use crate::tls;

/// Longest wait for each step of making a connection. Half of what a patient TCP stack would take, and short of
/// the usual deadline, so that the error can name the step.
const STEP_TIMEOUT: Duration = Duration::from_secs(15);

/// When probes of a silent connection start and how often they follow; with the three of them unanswered, or data
/// unacknowledged for [`UNACKNOWLEDGED_TIMEOUT`], the connection is given up before a call's usual deadline.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(20);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest head of a proxy's answer to CONNECT, in bytes: real ones are a few hundred.
const MAX_PROXY_HEAD_BYTES: usize = 8 * 1024;

/// A failure with the part that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{stage}: {detail}")]
pub(crate) struct StageError {
    pub(crate) stage: Stage,
    pub(crate) detail: String,
}

impl StageError {
    fn new(stage: Stage, detail: impl Into<String>) -> Self {
        Self { stage, detail: detail.into() }
    }
}

/// Connects to the one origin of a configuration.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector<Resolver>,
    shared: Arc<Shared>,
}

struct Shared {
    base: BaseUrl,
    proxy: Option<Proxy>,
    ca_file: Option<PathBuf>,
    tls: OnceCell<TlsConnector>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("base", &self.shared.base)
            .field("proxy", &self.shared.proxy)
            .finish_non_exhaustive()
    }
}

impl Connector {
    pub(crate) fn new(config: &Config) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(STEP_TIMEOUT));
        tcp.set_keepalive(Some(KEEPALIVE_AFTER));
        tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT));
        let shared = Shared {
            base: config.base_url.clone(),
            proxy: config.proxy.clone(),
            ca_file: config.ca_file.clone(),
            tls: OnceCell::new(),
        };
        Self { tcp, shared: Arc::new(shared) }
    }

    /// Reads the trust store where it will be needed.
    pub(crate) async fn warm(&self) -> Result<(), StageError> {
        if self.shared.base.is_https() {
            self.shared.tls().await?;
        }
        Ok(())
    }

    async fn connect(mut self) -> Result<Conn, StageError> {
        let shared = self.shared;
        let base = &shared.base;
        let Some(proxy) = &shared.proxy else {
            let tcp = dial(&mut self.tcp, origin_uri(base.scheme(), base.authority().clone())?).await?;
            return shared.secured(tcp, Hop::Direct).await;
        };
        let through_proxy =
            |e: StageError| StageError::new(Stage::Proxy, format!("{}: {}", e.stage, e.detail));
        let address = origin_uri(&Scheme::HTTP, proxy_authority(proxy)?)?;
        let mut tcp = dial(&mut self.tcp, address.clone()).await.map_err(through_proxy)?;
        if proxy.kind() == ProxyKind::Socks5 {
            let tcp = socks_tunnel(tcp, address, base, proxy).await?;
            return shared.secured(tcp, Hop::Direct).await;
        }
        if base.is_https() {
            let tunnel = open_tunnel(&mut tcp, base, proxy);
            tokio::time::timeout(STEP_TIMEOUT, tunnel)
                .await
                .map_err(|_| StageError::new(Stage::Proxy, "the proxy does not answer"))??;
        }
        shared.secured(tcp, Hop::Proxy).await
    }
}

/// How the connection reaches the origin.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Hop {
    Direct,
    Proxy,
}

impl Shared {
    async fn tls(&self) -> Result<&TlsConnector, StageError> {
        let load = || async {
            let ca_file = self.ca_file.clone();
            let loaded = tokio::task::spawn_blocking(move || tls::client_config(ca_file.as_deref())).await;
            let config =
                loaded.map_err(|_| StageError::new(Stage::Tls, "the trust store could not be read"))?;
            config.map(TlsConnector::from).map_err(|detail| StageError::new(Stage::Tls, detail))
        };
        self.tls.get_or_try_init(load).await
    }

    async fn secured(&self, tcp: TcpStream, hop: Hop) -> Result<Conn, StageError> {
        if !self.base.is_https() {
            return Ok(Conn {
                io: Io::Plain(TokioIo::new(tcp)),
                absolute_form: hop == Hop::Proxy,
                h2: false,
                unsent: false,
            });
        }
        let connector = self.tls().await?;
        let name = match self.base.ip() {
            Some(address) => ServerName::IpAddress(address.into()),
            None => ServerName::try_from(self.base.host())
                .map_err(|_| StageError::new(Stage::Tls, "the host cannot be named in a certificate"))?,
        };
        let stream = tokio::time::timeout(STEP_TIMEOUT, connector.connect(name, tcp))
            .await
            .map_err(|_| StageError::new(Stage::Tls, "the handshake does not end"))?
            .map_err(|e| StageError::new(Stage::Tls, e.to_string()))?;
        let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Conn { io: Io::Tls(Box::new(TokioIo::new(stream))), absolute_form: false, h2, unsent: false })
    }
}

fn origin_uri(scheme: &Scheme, authority: Authority) -> Result<Uri, StageError> {
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme.clone());
    parts.authority = Some(authority);
    parts.path_and_query = Some(PathAndQuery::from_static("/"));
    Uri::from_parts(parts).map_err(|e| StageError::new(Stage::Connect, e.to_string()))
}

async fn dial(tcp: &mut HttpConnector<Resolver>, uri: Uri) -> Result<TcpStream, StageError> {
    match tcp.call(uri).await {
        Ok(stream) => Ok(stream.into_inner()),
        Err(error) => Err(dial_error(&error)),
    }
}

/// Finds a failure of DNS in the chain of causes; without one the connection failed.
fn dial_error(error: &(dyn std::error::Error + 'static)) -> StageError {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref::<StageError>() {
            return found.clone();
        }
        detail = inner.to_string();
        cause = inner.source();
    }
    StageError::new(Stage::Connect, detail)
}

/// Asks the proxy at `address` for a tunnel to the origin, whose name it resolves.
///
/// Source: RFC 1928 and RFC 1929.
async fn socks_tunnel(
    tcp: TcpStream,
    address: Uri,
    base: &BaseUrl,
    proxy: &Proxy,
) -> Result<TcpStream, StageError> {
    let mut socks = SocksV5::new(address, Dialled(Some(TokioIo::new(tcp))));
    if let Some((user, password)) = proxy.credentials() {
        socks = socks.with_auth(user.clone(), password.clone());
    }
    // Without a port in the address, 443 would be taken for http too.
    let target = format!("{}:{}", base.authority().host(), base.port());
    let target = target.parse().map_err(|_| StageError::new(Stage::Proxy, "the host is not valid"))?;
    let tunnel = tokio::time::timeout(STEP_TIMEOUT, socks.call(origin_uri(base.scheme(), target)?))
        .await
        .map_err(|_| StageError::new(Stage::Proxy, "the proxy does not answer"))?;
    tunnel.map(TokioIo::into_inner).map_err(|e| StageError::new(Stage::Proxy, e.to_string()))
}

/// A connector that hands out a connection made before, so that its failures stay our own.
struct Dialled(Option<TokioIo<TcpStream>>);

impl Service<Uri> for Dialled {
    type Response = TokioIo<TcpStream>;
    type Error = StageError;
    type Future = std::future::Ready<Result<Self::Response, StageError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StageError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(
            self.0.take().ok_or_else(|| StageError::new(Stage::Proxy, "the tunnel was asked for twice")),
        )
    }
}

fn proxy_authority(proxy: &Proxy) -> Result<Authority, StageError> {
    let text = if proxy.host().contains(':') {
        format!("[{}]:{}", proxy.host(), proxy.port())
    } else {
        format!("{}:{}", proxy.host(), proxy.port())
    };
    text.parse().map_err(|_| StageError::new(Stage::Proxy, "the proxy's host is not valid"))
}

/// Asks the proxy for a tunnel to the origin.
///
/// Source: RFC 9110, section 9.3.6.
async fn open_tunnel(tcp: &mut TcpStream, base: &BaseUrl, proxy: &Proxy) -> Result<(), StageError> {
    let fault = |detail: &str| StageError::new(Stage::Proxy, detail);
    let broken = |e: io::Error| StageError::new(Stage::Proxy, e.to_string());
    let host = base.authority().host();
    let mut request =
        format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n", port = base.port()).into_bytes();
    if let Some(value) = proxy.authorization() {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    tcp.write_all(&request).await.map_err(broken)?;
    // The bytes after the head belong to the tunnel. A server never speaks first in TLS, so none are there yet.
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        let n = tcp.read(&mut buffer).await.map_err(broken)?;
        if n == 0 {
            return Err(fault("the proxy closed the connection"));
        }
        head.extend_from_slice(&buffer[..n]);
        if head.len() > MAX_PROXY_HEAD_BYTES {
            return Err(fault("the proxy's answer is too long"));
        }
    }
    let status = head
        .strip_prefix(b"HTTP/1.")
        .and_then(|rest| rest.get(2..5))
        .and_then(|s| std::str::from_utf8(s).ok());
    match status.and_then(|s| s.parse::<u16>().ok()) {
        Some(200..=299) if head.ends_with(b"\r\n\r\n") => Ok(()),
        Some(200..=299) => Err(fault("the proxy sent data ahead of the tunnel")),
        Some(status) => Err(fault(&format!("the proxy answered {status}"))),
        None => Err(fault("the proxy does not speak HTTP")),
    }
}

impl Service<Uri> for Connector {
    type Response = Conn;
    type Error = StageError;
    type Future = Pin<Box<dyn Future<Output = Result<Conn, StageError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StageError>> {
        Poll::Ready(Ok(()))
    }

    /// All requests go to the configured origin: the URI only repeats it.
    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}

/// The system's resolver, its failures marked.
#[derive(Clone, Debug)]
struct Resolver;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = StageError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, StageError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StageError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            let lookup = tokio::net::lookup_host((name.as_str(), 0));
            let found = tokio::time::timeout(STEP_TIMEOUT, lookup)
                .await
                .map_err(|_| StageError::new(Stage::Dns, "the name server does not answer"))?
                .map_err(|e| StageError::new(Stage::Dns, e.to_string()))?;
            let addresses: Vec<_> = found.collect();
            if addresses.is_empty() {
                return Err(StageError::new(Stage::Dns, "the host has no address"));
            }
            Ok(addresses.into_iter())
        })
    }
}

/// One connection to the origin. Failures of reading and writing are marked as such.
pub(crate) struct Conn {
    io: Io,
    absolute_form: bool,
    h2: bool,
    /// The peer does not take what was written: part of a request is still to be sent.
    unsent: bool,
}

enum Io {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for Conn {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.absolute_form);
        if self.h2 { connected.negotiated_h2() } else { connected }
    }
}

/// Marks a failure, unless TLS itself failed.
fn marked(stage: Stage, error: io::Error) -> io::Error {
    let tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
    let stage = if tls { Stage::Tls } else { stage };
    io::Error::new(error.kind(), StageError::new(stage, error.to_string()))
}

impl Read for Conn {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_read(cx, buf),
        };
        // A reset is seen by whichever half is polled first.
        let stage = if self.unsent { Stage::Send } else { Stage::Read };
        polled.map_err(|e| marked(stage, e))
    }
}

impl Write for Conn {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_write(cx, buf),
        };
        self.unsent = polled.is_pending();
        polled.map_err(|e| marked(Stage::Send, e))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_write_vectored(cx, bufs),
        };
        self.unsent = polled.is_pending();
        polled.map_err(|e| marked(Stage::Send, e))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            Io::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_flush(cx),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_flush(cx),
        };
        polled.map_err(|e| marked(Stage::Send, e))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_shutdown(cx),
        }
    }
}
