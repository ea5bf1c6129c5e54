//! Unreachable, TLS, proxy: what failed is named, and the key goes nowhere else.

use std::fs;
use std::time::Duration;

use kaval_fake_api::{Api, Authority, Fault, Protocols, Proxy, Reply, default_reply};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{KEY, Kaval, Launch, PATIENCE};

fn call(launch: Launch) -> (Value, Kaval) {
    let mut server = launch.deadline_ms(8000).open();
    let result = server.call("list_sources", &json!({}));
    (result, server)
}

/// The call fails as unreachable, and the log or the message names the part.
fn unreachable_at(launch: Launch, part: &str) {
    let (result, server) = call(launch);
    let body = crate::harness::failure_body(&result);
    assert_eq!(body["error"], "network_unreachable", "{body}");
    let told = format!("{body} {}", server.stderr()).to_lowercase();
    assert!(told.contains(&part.to_lowercase()), "{part} is not named: {told}");
}

fn to(url: &str) -> Launch {
    Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_BASE_URL", url)
}

struct Tls {
    authority: Authority,
    folder: TempDir,
}

impl Tls {
    fn new() -> Self {
        let authority = Authority::new();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        Self { authority, folder }
    }

    fn trusting(&self, url: &str) -> Launch {
        to(url).env_path("SSL_CERT_FILE", &self.folder.path().join("ca.pem"))
    }
}

#[test]
fn a_refused_connection_is_named() {
    unreachable_at(to("http://127.0.0.1:9"), "connect");
}

#[test]
fn a_name_that_does_not_exist_is_named() {
    unreachable_at(to("https://no-such-host.invalid"), "dns");
}

#[test]
fn an_answer_that_is_not_http_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            use std::io::Write as _;
            let _ = stream.unwrap().write_all(b"SSH-2.0-OpenSSH_9.9\r\n");
        }
    });
    let (result, _) = call(to(&format!("http://{address}")));
    assert_eq!(crate::harness::failure_body(&result)["error"], "network_unreachable");
}

#[test]
fn a_private_authority_is_trusted_through_ssl_cert_file() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http1, default_reply);
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{}", api.address().port());
        let (result, server) = call(tls.trusting(&url));
        assert_ne!(result["isError"], true, "{host}: {result} {}", server.stderr());
    }
}

#[test]
fn an_unknown_authority_is_a_tls_fault() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http1, default_reply);
    unreachable_at(to(&api.url()), "tls");
    assert_eq!(api.count(), 0);
}

#[test]
fn a_certificate_for_another_name_is_a_tls_fault() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http1, default_reply);
    let proxy = Proxy::start(api.address(), None);
    unreachable_at(tls.trusting("https://other.kaval.test").env("HTTPS_PROXY", &proxy.url()), "tls");
    assert_eq!(api.count(), 0);
}

#[test]
fn plain_http_where_tls_is_expected_is_a_tls_fault() {
    let api = Api::start_default();
    let url = format!("https://{}", api.address());
    unreachable_at(to(&url), "tls");
}

#[test]
fn http_2_is_used_where_offered_on_one_connection() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http2, |request| {
        default_reply(request).after(Duration::from_millis(50))
    });
    let mut server = tls.trusting(&api.url()).open();
    server.success("list_sources", &json!({}));
    let ids: Vec<u64> = (0..20).map(|_| server.begin("check", &json!({"action": "a"}))).collect();
    for id in ids {
        server.success_of(id);
    }
    assert!(api.requests().iter().all(|request| request.http2));
    assert_eq!(api.connections(), 1);
}

#[test]
fn cancelling_over_http_2_resets_the_stream_alone() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http2, |request| {
        if request.path() == "/v1/check" { Reply::fault(Fault::Hang) } else { default_reply(request) }
    });
    let mut server = tls.trusting(&api.url()).open();
    server.success("list_sources", &json!({}));
    let id = server.begin("check", &json!({"action": "a"}));
    assert!(api.wait_for_requests(2, PATIENCE));
    let cancelled = std::time::Instant::now();
    server.cancel(id);
    assert!(api.wait_for_aborts(1, PATIENCE));
    assert!(api.aborted()[0].saturating_duration_since(cancelled) < Duration::from_millis(250));
    server.success("list_sources", &json!({}));
    assert_eq!(api.connections(), 1, "the connection was thrown away with the stream");
}

#[test]
fn a_connect_proxy_is_used_for_https_in_either_case() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http1, default_reply);
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        let proxy = Proxy::start(api.address(), None);
        let before = api.count();
        let (result, server) = call(tls.trusting("https://api.kaval.test:8443").env(variable, &proxy.url()));
        assert_ne!(result["isError"], true, "{variable}: {result} {}", server.stderr());
        assert_eq!(api.count(), before + 1);
        let heads = proxy.heads();
        assert!(heads[0].starts_with("CONNECT api.kaval.test:8443 HTTP/1.1\r\n"), "{heads:?}");
        assert!(!heads.concat().contains(KEY), "the proxy was shown the key");
    }
}

#[test]
fn proxy_credentials_go_to_the_proxy_alone() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http1, default_reply);
    let proxy = Proxy::start(api.address(), None);
    let url = proxy.url().replace("http://", "http://user:p%40ss@");
    let (result, server) = call(tls.trusting("https://api.kaval.test").env("HTTPS_PROXY", &url));
    assert_ne!(result["isError"], true, "{result} {}", server.stderr());
    // user:p@ss
    assert!(
        proxy.heads()[0].to_lowercase().contains("proxy-authorization: basic dxnlcjpwqhnz"),
        "{:?}",
        proxy.heads()
    );
    assert!(api.requests()[0].header("proxy-authorization").is_none());
}

#[test]
fn no_proxy_names_hosts_suffixes_and_networks() {
    let tls = Tls::new();
    let api = Api::start_tls(&tls.authority, Protocols::Http1, default_reply);
    let port = api.address().port();
    for (variable, list, url) in [
        ("NO_PROXY", "localhost", format!("https://localhost:{port}")),
        ("no_proxy", "a.example, localhost", format!("https://localhost:{port}")),
        ("NO_PROXY", "127.0.0.0/8", format!("https://127.0.0.1:{port}")),
        ("NO_PROXY", "127.0.0.1", format!("https://127.0.0.1:{port}")),
        ("NO_PROXY", "*", format!("https://localhost:{port}")),
    ] {
        let proxy = Proxy::start(api.address(), None);
        let (result, server) = call(tls.trusting(&url).env("HTTPS_PROXY", &proxy.url()).env(variable, list));
        assert_ne!(result["isError"], true, "{list}: {result} {}", server.stderr());
        assert!(proxy.heads().is_empty(), "{list}: went through the proxy");
    }
    let proxy = Proxy::start(api.address(), None);
    let (_, _) = call(
        tls.trusting("https://api.kaval.test")
            .env("HTTPS_PROXY", &proxy.url())
            .env("NO_PROXY", "kaval.example,10.0.0.0/8"),
    );
    assert_eq!(proxy.heads().len(), 1, "another name still goes through the proxy");
}

#[test]
fn a_proxy_that_refuses_is_named() {
    let api = Api::start_default();
    let proxy = Proxy::start(api.address(), Some("407 Proxy Authentication Required"));
    unreachable_at(to("https://api.kaval.test").env("HTTPS_PROXY", &proxy.url()), "proxy");
    unreachable_at(to("https://api.kaval.test").env("HTTPS_PROXY", "http://127.0.0.1:9"), "proxy");
}

#[test]
fn a_connection_that_is_never_accepted_ends_at_the_deadline() {
    // The proxy takes the connection and says nothing: the CONNECT is inside the call's deadline.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let start = std::time::Instant::now();
    let mut server = to("https://api.kaval.test").env("HTTPS_PROXY", &url).deadline_ms(1000).open();
    let body = server.failure("list_sources", &json!({}));
    assert_eq!(body["error"], "timeout", "{body}");
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
}
