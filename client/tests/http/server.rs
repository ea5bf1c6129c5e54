//! A small HTTP/1.1 server that answers from a script and records what it sees.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kaval_client::base_url::PlainHttp;
use kaval_client::{ApiKey, BaseUrl, Client, Config};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The key of every test client: must be seen in `Authorization` alone.
pub(crate) const CANARY: &str = "kv_live_canary_5d41402abc4b2a76";

/// One request as received.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) connection: usize,
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum React {
    /// Writes these bytes and goes on with the connection.
    Write(Vec<u8>),
    /// Writes these bytes and closes.
    WriteAndClose(Vec<u8>),
    /// Writes these bytes and waits until the client closes.
    Stall(Vec<u8>),
    /// Waits, then answers 200 with this JSON.
    Slow(Duration, &'static str),
    /// Writes these bytes and resets the connection.
    Reset(Vec<u8>),
}

/// 200 with a JSON body.
pub(crate) fn ok(body: &str) -> React {
    React::Write(answer(200, &[], body))
}

/// An answer with `content-length`.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    text.into_bytes()
}

/// A stream that can be reset.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    fn reset(&self);
}

impl Stream for TcpStream {
    fn reset(&self) {
        self.set_zero_linger().expect("linger");
    }
}

impl Stream for tokio_rustls::server::TlsStream<TcpStream> {
    fn reset(&self) {
        self.get_ref().0.set_zero_linger().expect("linger");
    }
}

type Script = Arc<dyn Fn(usize, &Seen) -> React + Send + Sync>;
type Accepted<S> = Pin<Box<dyn Future<Output = Option<S>> + Send>>;

#[derive(Default)]
struct Record {
    seen: Vec<Seen>,
    connections: usize,
    closed: Vec<Instant>,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
    record: Arc<Mutex<Record>>,
}

impl Server {
    /// Serves plain HTTP; `script` gets the number of the request, from 0, and the request.
    pub(crate) async fn start(script: impl Fn(usize, &Seen) -> React + Send + Sync + 'static) -> Self {
        Self::with_accept(|tcp| Box::pin(async { Some(tcp) }), script).await
    }

    /// Serves over what `accept` makes of each connection.
    pub(crate) async fn with_accept<S: Stream>(
        accept: impl Fn(TcpStream) -> Accepted<S> + Send + Sync + 'static,
        script: impl Fn(usize, &Seen) -> React + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let port = listener.local_addr().expect("address").port();
        let record = Arc::new(Mutex::new(Record::default()));
        let (shared, script): (_, Script) = (record.clone(), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (record, script, accepted) = (shared.clone(), script.clone(), accept(tcp));
                tokio::spawn(async move {
                    let Some(stream) = accepted.await else { return };
                    let number = {
                        let mut record = record.lock().unwrap();
                        record.connections += 1;
                        record.connections
                    };
                    serve(stream, number, &record, &script).await;
                });
            }
        });
        Self { port, record }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.record.lock().unwrap().seen.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.record.lock().unwrap().connections
    }

    /// Waits until `n` requests have arrived.
    pub(crate) async fn wait_for(&self, n: usize) {
        for _ in 0..500 {
            if self.record.lock().unwrap().seen.len() >= n {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{n} requests expected, {} seen", self.seen().len());
    }

    /// Waits until `n` stalled connections were closed by the client, and gives the times.
    pub(crate) async fn wait_closed(&self, n: usize) -> Vec<Instant> {
        for _ in 0..500 {
            let closed = self.record.lock().unwrap().closed.clone();
            if closed.len() >= n {
                return closed;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{n} connections should have been closed by the client");
    }

    pub(crate) fn config(&self) -> Config {
        config(&format!("http://127.0.0.1:{}", self.port))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.config())
    }
}

/// A configuration with the canary key and a deadline that no passing test reaches.
pub(crate) fn config(base: &str) -> Config {
    let mut config = Config::new(BaseUrl::parse(base, PlainHttp::Anywhere).expect("base URL"));
    config.api_key = Some(ApiKey::parse(CANARY).expect("key"));
    config.deadline = Duration::from_secs(10);
    config
}

async fn serve<S: Stream>(mut stream: S, number: usize, record: &Mutex<Record>, script: &Script) {
    let mut buffer = Vec::new();
    while let Some(mut seen) = read_request(&mut stream, &mut buffer).await {
        seen.connection = number;
        let index = {
            let mut record = record.lock().unwrap();
            record.seen.push(seen.clone());
            record.seen.len() - 1
        };
        match script(index, &seen) {
            React::Write(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            React::WriteAndClose(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                return;
            }
            React::Stall(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.flush().await;
                while stream.read(&mut [0; 1024]).await.is_ok_and(|n| n > 0) {}
                record.lock().unwrap().closed.push(Instant::now());
                return;
            }
            React::Slow(wait, body) => {
                tokio::time::sleep(wait).await;
                if stream.write_all(&answer(200, &[], body)).await.is_err() {
                    return;
                }
            }
            React::Reset(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.flush().await;
                if !bytes.is_empty() {
                    // A reset discards what the client has not read yet.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                stream.reset();
                return;
            }
        }
        let _ = stream.flush().await;
    }
}

async fn read_request<S: Stream>(stream: &mut S, buffer: &mut Vec<u8>) -> Option<Seen> {
    let mut chunk = [0; 4096];
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        let n = stream.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        buffer.extend_from_slice(&chunk[..n]);
    };
    let head = String::from_utf8(buffer[..head_end].to_vec()).expect("ASCII head");
    let mut lines = head.lines();
    let line = lines.next().expect("request line").to_owned();
    let headers: Vec<_> =
        lines.filter_map(|l| l.split_once(':')).map(|(n, v)| (n.to_owned(), v.trim().to_owned())).collect();
    let length = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case("content-length"));
    let length = length.map_or(0, |(_, v)| v.parse().expect("length"));
    while buffer.len() < head_end + length {
        let n = stream.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        buffer.extend_from_slice(&chunk[..n]);
    }
    let body = buffer[head_end..head_end + length].to_vec();
    buffer.drain(..head_end + length);
    Some(Seen { connection: 0, line, headers, body })
}
