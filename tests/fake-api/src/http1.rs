//! HTTP/1.1, by hand, so that a fault sits at an exact byte.

use std::future::pending;
use std::io;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::{Fault, Reply, Request, State};

/// Heads are at most this long: far above what a client of the API sends.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// First size of a connection's read buffer: one request of usual length.
const BUFFER_BYTES: usize = 8 * 1024;

/// A stream whose next close can be turned into a reset.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {
    fn reset_on_close(&self);
}

impl Stream for TcpStream {
    fn reset_on_close(&self) {
        let _ = self.set_zero_linger();
    }
}

impl Stream for TlsStream<TcpStream> {
    fn reset_on_close(&self) {
        let _ = self.get_ref().0.set_zero_linger();
    }
}

pub(crate) async fn serve<S: Stream>(mut stream: S, number: usize, state: &State) {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut out = Vec::with_capacity(BUFFER_BYTES);
    while let Ok(Some(request)) = read_request(&mut stream, &mut buffer, number).await {
        let head_only = request.method == "HEAD";
        let reply = state.begin(request);
        let goes_on = answer(&mut stream, &mut buffer, &mut out, &reply, head_only, state).await;
        state.end();
        if !goes_on {
            return;
        }
    }
}

/// Sends the reply; false if the connection is over.
async fn answer<S: Stream>(
    stream: &mut S,
    buffer: &mut Vec<u8>,
    out: &mut Vec<u8>,
    reply: &Reply,
    head_only: bool,
    state: &State,
) -> bool {
    if !reply.delay.is_zero() {
        tokio::select! {
            () = tokio::time::sleep(reply.delay) => {}
            () = gone(stream, buffer) => {
                state.note_abort();
                return false;
            }
        }
    }
    match reply.fault {
        Fault::Close => return false,
        Fault::Reset => {
            stream.reset_on_close();
            return false;
        }
        Fault::Hang => {
            gone(stream, buffer).await;
            state.note_abort();
            return false;
        }
        Fault::None | Fault::Cut { .. } | Fault::Stall { .. } => {}
    }
    out.clear();
    head(out, reply);
    let sent = match reply.fault {
        Fault::Cut { after } | Fault::Stall { after } => after.min(reply.body.len()),
        _ if head_only => 0,
        _ => reply.body.len(),
    };
    out.extend_from_slice(&reply.body[..sent]);
    if stream.write_all(out).await.is_err() || stream.flush().await.is_err() {
        state.note_abort();
        return false;
    }
    match reply.fault {
        Fault::Cut { .. } => {
            let _ = stream.shutdown().await;
            false
        }
        Fault::Stall { .. } => {
            gone(stream, buffer).await;
            state.note_abort();
            false
        }
        _ => true,
    }
}

fn head(out: &mut Vec<u8>, reply: &Reply) {
    let reason = http::StatusCode::from_u16(reply.status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Unassigned");
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(reply.status.to_string().as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\n");
    let named = |name: &str| reply.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    if !named("content-type") {
        out.extend_from_slice(b"content-type: application/json\r\n");
    }
    for (name, value) in &reply.headers {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    // 204 and 304 have no body and no length (RFC 9110, section 8.6).
    if reply.status != 204 && reply.status != 304 {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(reply.body.len().to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Resolves when the peer has closed or reset the connection; what it still sends is kept.
async fn gone<S: Stream>(stream: &mut S, buffer: &mut Vec<u8>) {
    loop {
        if buffer.len() > MAX_HEAD_BYTES {
            pending::<()>().await;
        }
        match stream.read_buf(buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// The next request, or `None` when the peer closed between requests.
async fn read_request<S: Stream>(
    stream: &mut S,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> io::Result<Option<Request>> {
    let head_end = loop {
        if let Some(at) = find(buffer, b"\r\n\r\n") {
            break at;
        }
        if buffer.len() > MAX_HEAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
        if !buffer.first().is_some_and(u8::is_ascii_alphabetic) {
            // A TLS greeting, say: answered as any HTTP server would.
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await?;
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    buffer.drain(..head_end + 4);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let value_of = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let body = if value_of("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        read_chunks(stream, buffer).await?
    } else {
        let length = value_of("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        take(stream, buffer, length).await?
    };
    Ok(Some(Request { at: Instant::now(), method, target, headers, body, connection, http2: false }))
}

async fn read_chunks<S: Stream>(stream: &mut S, buffer: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = find(buffer, b"\r\n") {
                break at;
            }
            if stream.read_buf(buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let line = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end + 2);
        let size = usize::from_str_radix(line.trim(), 16)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        let chunk = take(stream, buffer, size + 2).await?;
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return Ok(body);
        }
    }
}

async fn take<S: Stream>(stream: &mut S, buffer: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.drain(..length).collect())
}

fn find(buffer: &[u8], needle: &[u8]) -> Option<usize> {
    buffer.windows(needle.len()).position(|window| window == needle)
}
