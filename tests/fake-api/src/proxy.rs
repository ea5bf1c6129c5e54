//! A CONNECT proxy that leads every name to one address.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::lock;

/// Heads are at most this long: far above what a client sends.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The running proxy.
pub struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy that leads every CONNECT to `upstream`, or answers it with `refusal` if given.
    ///
    /// # Panics
    ///
    /// If no port can be bound.
    #[must_use]
    pub fn start(upstream: SocketAddr, refusal: Option<&'static str>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(relay(stream, upstream, refusal, Arc::clone(&seen)));
                }
            });
        });
        Self { address, heads }
    }

    /// Base URL of the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The request heads received, in order.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        lock(&self.heads).clone()
    }
}

async fn relay(
    mut client: TcpStream,
    upstream: SocketAddr,
    refusal: Option<&'static str>,
    heads: Arc<Mutex<Vec<String>>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES {
            return;
        }
        match client.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    lock(&heads).push(String::from_utf8_lossy(&head).into_owned());
    if let Some(line) = refusal {
        let _ = client.write_all(format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await;
        return;
    }
    let Ok(mut server) = TcpStream::connect(upstream).await else {
        return;
    };
    let _ = client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
    let _ = copy_bidirectional(&mut client, &mut server).await;
}
