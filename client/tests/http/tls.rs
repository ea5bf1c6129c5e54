use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kaval_client::{CallError, Client, Stage, endpoints};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{React, Seen, Server, config, ok};

/// A private certificate authority and its certificate in a file.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("key");
        let certificate = params.self_signed(&key).expect("certificate");
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(certificate.pem().as_bytes()).expect("written");
        Self { issuer: Issuer::new(params, key), file }
    }

    pub(crate) fn path(&self) -> String {
        self.file.path().to_str().expect("UTF-8").to_owned()
    }

    fn acceptor(&self, host: &str, alpn: &[&[u8]]) -> TlsAcceptor {
        let key = KeyPair::generate().expect("key");
        let params = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
        let certificate = params.signed_by(&key, &self.issuer).expect("certificate");
        let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("certificate");
        config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    pub(crate) async fn serve(
        &self,
        host: &str,
        alpn: &[&[u8]],
        script: impl Fn(usize, &Seen) -> React + Send + Sync + 'static,
    ) -> Server {
        let acceptor = self.acceptor(host, alpn);
        Server::with_accept(
            move |tcp| {
                Box::pin({
                    let acceptor = acceptor.clone();
                    async move { acceptor.accept(tcp).await.ok() }
                })
            },
            script,
        )
        .await
    }
}

fn check() -> kaval_client::Request {
    endpoints::check(Bytes::from_static(b"{}"))
}

fn client(host: &str, port: u16, ca_file: Option<PathBuf>) -> Client {
    let mut config = config(&format!("https://{host}:{port}"));
    config.ca_file = ca_file;
    Client::new(config)
}

#[tokio::test]
async fn a_private_authority_is_trusted_through_its_file() {
    let authority = Authority::new();
    let by_name = authority.serve("localhost", &[], |_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    let by_address =
        authority.serve("127.0.0.1", &[b"http/1.1"], |_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    for (host, server) in [("localhost", by_name), ("127.0.0.1", by_address)] {
        let client = client(host, server.port, Some(authority.path().into()));
        client.warm().await.expect("trust store");
        for _ in 0..3 {
            client.call(check()).await.expect(host);
        }
        assert_eq!((server.connections(), server.seen().len()), (1, 3));
    }
}

#[tokio::test]
async fn an_unknown_authority_or_another_name_is_tls() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = authority.serve("localhost", &[], |_, _| ok("{}")).await;
    let plain = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let plain_port = plain.local_addr().expect("address").port();
    tokio::spawn(async move {
        let (mut tcp, _) = plain.accept().await.expect("accepted");
        tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.expect("written");
    });
    for (what, client) in [
        ("unknown authority", client("localhost", server.port, Some(other.path().into()))),
        ("another name", client("127.0.0.1", server.port, Some(authority.path().into()))),
        ("no TLS", client("127.0.0.1", plain_port, None)),
    ] {
        let error = client.call(check()).await.expect_err(what);
        assert!(matches!(error, CallError::Unreachable { stage: Stage::Tls, .. }), "{what}: {error:?}");
    }
    assert_eq!(server.seen().len(), 0, "no request is sent");
}

#[tokio::test]
async fn a_certificate_file_that_cannot_be_used_is_named() {
    let empty = tempfile::NamedTempFile::new().expect("temporary file");
    for path in [PathBuf::from("/nonexistent/ca.pem"), empty.path().to_owned()] {
        let client = client("localhost", 9, Some(path));
        for error in
            [client.warm().await.expect_err("unusable"), client.call(check()).await.expect_err("refused")]
        {
            assert!(matches!(error, CallError::Unreachable { .. }), "{error:?}");
        }
        let error = client.warm().await.expect_err("unusable").to_string();
        assert!(error.contains("(tls)") && error.contains("SSL_CERT_FILE"), "{error}");
    }
}

#[derive(Default)]
struct H2Record {
    connections: usize,
    requests: usize,
    resets: Vec<Instant>,
}

/// An HTTP/2 server: answers requests with a body of `{}`, and hangs on others until they are reset.
async fn h2_server(authority: &Authority) -> (u16, Arc<Mutex<H2Record>>) {
    let acceptor = authority.acceptor("localhost", &[b"h2", b"http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("address").port();
    let record = Arc::new(Mutex::new(H2Record::default()));
    let shared = record.clone();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, record) = (acceptor.clone(), shared.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(tcp).await else { return };
                let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                record.lock().unwrap().connections += 1;
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let record = record.clone();
                    tokio::spawn(async move {
                        record.lock().unwrap().requests += 1;
                        let mut body = request.into_body();
                        let data = body.data().await.expect("body").expect("data");
                        if &data[..] == b"{}" {
                            let head = http::Response::new(());
                            let mut send = respond.send_response(head, false).expect("head");
                            send.send_data(Bytes::from_static(b"{\"decision\":\"ALLOW\"}"), true)
                                .expect("body");
                        } else {
                            let _ = std::future::poll_fn(|cx| respond.poll_reset(cx)).await;
                            record.lock().unwrap().resets.push(Instant::now());
                        }
                    });
                }
            });
        }
    });
    (port, record)
}

/// Where the server offers it, all calls share one HTTP/2 connection, and a dropped one resets its stream alone.
#[tokio::test]
async fn http2_is_used_where_offered() {
    let authority = Authority::new();
    let (port, record) = h2_server(&authority).await;
    let client = client("localhost", port, Some(authority.path().into()));
    client.call(check()).await.expect("answered");
    let stalled = tokio::spawn({
        let client = client.clone();
        async move { client.call(endpoints::check(Bytes::from_static(b"stall"))).await }
    });
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let client = client.clone();
        calls.spawn(async move { client.call(check()).await });
    }
    while let Some(call) = calls.join_next().await {
        call.expect("joined").expect("answered");
    }
    while record.lock().unwrap().requests < 66 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let dropped = Instant::now();
    stalled.abort();
    while record.lock().unwrap().resets.is_empty() {
        assert!(dropped.elapsed() < Duration::from_millis(250), "the stream is not reset");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.call(check()).await.expect("unaffected");
    let record = record.lock().unwrap();
    assert_eq!((record.connections, record.requests), (1, 67));
}
