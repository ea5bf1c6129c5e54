//! HTTP/2 over TLS, for the cases about pooling and stream resets.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::{Fault, Request, State};

/// Notes an abandoned stream when hyper drops the service future before its answer.
struct Watch<'a> {
    state: &'a State,
    finished: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.state.end();
        if !self.finished {
            self.state.note_abort();
        }
    }
}

pub(crate) async fn serve(stream: TlsStream<TcpStream>, number: usize, state: Arc<State>) {
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let state = Arc::clone(&state);
        async move {
            let (parts, body) = request.into_parts();
            let body = match body.collect().await {
                Ok(body) => body.to_bytes().to_vec(),
                Err(_) => Vec::new(),
            };
            let headers = parts
                .headers
                .iter()
                .map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                    (name.as_str().to_owned(), value)
                })
                .collect();
            let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
            let reply = state.begin(Request {
                at: Instant::now(),
                method: parts.method.to_string(),
                target,
                headers,
                body,
                connection: number,
                http2: true,
            });
            let mut watch = Watch { state: &state, finished: false };
            tokio::time::sleep(reply.delay).await;
            if reply.fault != Fault::None {
                // Only hanging is offered here: byte-exact faults are what the HTTP/1.1 side is for.
                std::future::pending::<()>().await;
            }
            watch.finished = true;
            let mut response =
                http::Response::builder().status(reply.status).header("content-type", "application/json");
            for (name, value) in &reply.headers {
                response = response.header(name, value);
            }
            Ok::<_, Infallible>(response.body(Full::<Bytes>::new(reply.body)).unwrap())
        }
    });
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
