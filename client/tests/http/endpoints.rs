use bytes::Bytes;
use kaval_client::endpoints::Inactive;
use kaval_client::error::BodyFault;
use kaval_client::response::Answer;
use kaval_client::{CallError, Client, IdempotencyKey};

use crate::server::{CANARY, Server, config, ok};

const BODY: &[u8] = br#"{"a":"b"}"#;

/// A body that keeps the promise of every endpoint.
const EVERYTHING: &str = r#"{"decision":"ALLOW","receipt":{},"source":{},"sources":[],"deleted":true,"job_id":"j","accepted":true,
    "subscription":{},"subscriptions":[],"subscription_id":"s","items":[],"rotation":{},"ok":true,"status":"valid"}"#;

/// Every endpoint of the API, with the line and body it sends.
#[tokio::test]
async fn every_endpoint_sends_what_the_contract_says() {
    let server = Server::start(|_, _| ok(EVERYTHING)).await;
    let c = server.client();
    let body = || Bytes::from_static(BODY);
    let key = || IdempotencyKey::new("op-000017").expect("key");
    let id = "AA41f7c9-0d3b";
    let answers: Vec<(&str, &[u8], Result<Answer, CallError>)> = vec![
        ("POST /v1/check", BODY, c.check(body()).await),
        ("GET /v1/receipts/AA41f7c9-0d3b", b"", c.receipt(id).await),
        ("POST /v1/sources", BODY, c.add_source(body()).await),
        ("GET /v1/sources", b"", c.sources(Inactive::Leave).await),
        ("GET /v1/sources?include_inactive=true", b"", c.sources(Inactive::Include).await),
        ("GET /v1/sources/AA41f7c9-0d3b", b"", c.source(id).await),
        ("DELETE /v1/sources/AA41f7c9-0d3b", b"", c.remove_source(id).await),
        ("POST /v1/sources/AA41f7c9-0d3b/pause", b"{}", c.pause_source(id).await),
        ("POST /v1/sources/AA41f7c9-0d3b/resume", b"{}", c.resume_source(id).await),
        ("POST /v1/sources/AA41f7c9-0d3b/recompile", b"{}", c.recompile_source(id).await),
        ("POST /v1/events", BODY, c.push_event(body()).await),
        ("POST /v1/webhooks", BODY, c.add_webhook(body(), key()).await),
        ("GET /v1/webhooks", b"", c.webhooks().await),
        ("PATCH /v1/webhooks/AA41f7c9-0d3b", BODY, c.update_webhook(id, body()).await),
        ("DELETE /v1/webhooks/AA41f7c9-0d3b", b"", c.remove_webhook(id).await),
        ("GET /v1/webhooks/AA41f7c9-0d3b/deliveries", b"", c.webhook_deliveries(id, None, None).await),
        (
            "GET /v1/webhooks/AA41f7c9-0d3b/deliveries?before=2026-08-03T05%3A00%3A00Z&limit=200",
            b"",
            c.webhook_deliveries(id, Some("2026-08-03T05:00:00Z"), Some(200)).await,
        ),
        ("POST /v1/webhooks/AA41f7c9-0d3b/rotate", BODY, c.rotate_webhook(id, body()).await),
        ("POST /v1/webhook-deliveries/AA41f7c9-0d3b/replay", b"{}", c.replay_delivery(id).await),
        ("POST /v1/report-outcome", BODY, c.report_outcome(body()).await),
        ("POST /v1/verify", BODY, c.verify(body(), key()).await),
        ("GET /health", b"", c.health().await),
        ("GET /v1/proof-verification-keys", b"", c.verification_keys().await),
        ("GET /v1/proof-verification-keys/a%2Fb%20c", b"", c.verification_key("a/b c").await),
    ];
    let seen = server.seen();
    assert_eq!((seen.len(), answers.len(), server.connections()), (24, 24, 1));
    for (seen, (line, body, answer)) in seen.iter().zip(answers) {
        let answer = answer.unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(!answer.text.contains(' '), "compact");
        assert_eq!((seen.line.as_str(), seen.body.as_slice()), (format!("{line} HTTP/1.1").as_str(), body));
        let public = line.starts_with("GET /health") || line.contains("verification-keys");
        let bearer = format!("Bearer {CANARY}");
        assert_eq!(seen.header("authorization"), (!public).then_some(bearer.as_str()), "{line}");
        let keyed = line.starts_with("POST /v1/verify") || line.ends_with("POST /v1/webhooks");
        assert_eq!(seen.header("idempotency-key"), keyed.then_some("op-000017"), "{line}");
        assert_eq!(seen.header("content-type"), (!body.is_empty()).then_some("application/json"), "{line}");
        assert_eq!(seen.header("host"), Some(format!("127.0.0.1:{}", server.port).as_str()));
    }
}

/// Each endpoint with a promise refuses a 2xx that breaks it; for the keyed ones the outcome is unknown.
#[tokio::test]
async fn a_broken_promise_is_an_invalid_response() {
    let server = Server::start(|_, _| ok("{\"decision\":null,\"sources\":{},\"status\":7}")).await;
    let c = server.client();
    let body = || Bytes::from_static(BODY);
    let key = IdempotencyKey::new("op-000017").expect("key");
    for (name, result) in [
        ("decision", c.check(body()).await),
        ("receipt", c.receipt("x").await),
        ("source", c.add_source(body()).await),
        ("sources", c.sources(Inactive::Leave).await),
        ("deleted", c.remove_source("x").await),
        ("ok", c.report_outcome(body()).await),
        ("status", c.verify(body(), key.clone()).await),
    ] {
        let error = match result.expect_err(name) {
            CallError::Ambiguous { idempotency_key, cause } => {
                assert_eq!((name, &idempotency_key), ("status", &key));
                *cause
            }
            other => other,
        };
        assert!(
            matches!(&error, CallError::InvalidResponse { status: 200, fault: BodyFault::MissingMember { name: n }, .. } if *n == name),
            "{name}: {error:?}"
        );
    }
    assert_eq!(server.seen().len(), 7, "a 2xx is never repeated");
}

#[tokio::test]
async fn base_url_forms_reach_the_same_path() {
    let server = Server::start(|_, _| ok("{\"ok\":true}")).await;
    let origin = format!("http://127.0.0.1:{}", server.port);
    for (suffix, path) in [
        ("", "/health"),
        ("/", "/health"),
        ("//", "/health"),
        ("/kaval", "/kaval/health"),
        ("/kaval/", "/kaval/health"),
        ("/a/b//", "/a/b/health"),
    ] {
        Client::new(config(&format!("{origin}{suffix}"))).health().await.expect(suffix);
        let line = server.seen().last().expect("a request").line.clone();
        assert_eq!(line, format!("GET {path} HTTP/1.1"), "{suffix}");
    }
    let prefixed = Client::new(config(&format!("{origin}/a%20b/")));
    prefixed.sources(Inactive::Include).await.expect_err("no sources in the answer");
    let line = server.seen().last().expect("a request").line.clone();
    assert_eq!(line, "GET /a%20b/v1/sources?include_inactive=true HTTP/1.1");
}

#[tokio::test]
async fn ipv6_literals_and_names_work() {
    let Ok(listener) = tokio::net::TcpListener::bind("[::1]:0").await else {
        println!("skipped: no IPv6 loopback on this machine");
        return;
    };
    let port = listener.local_addr().expect("address").port();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut tcp, _) = listener.accept().await.expect("accepted");
        let mut buffer = vec![0; 4096];
        let n = tcp.read(&mut buffer).await.expect("request");
        let text = String::from_utf8_lossy(&buffer[..n]).into_owned();
        assert!(text.to_lowercase().contains(&format!("host: [::1]:{port}\r\n")), "{text}");
        tcp.write_all(&crate::server::answer(200, &[], "{\"ok\":true}")).await.expect("answer");
    });
    Client::new(config(&format!("http://[::1]:{port}"))).health().await.expect("answered over IPv6");

    let server = Server::start(|_, _| ok("{\"ok\":true}")).await;
    Client::new(config(&format!("http://localhost:{}", server.port))).health().await.expect("by name");
}

#[tokio::test]
async fn without_a_key_only_public_endpoints_are_called() {
    let server = Server::start(|_, _| ok("{\"ok\":true}")).await;
    let mut config = server.config();
    config.api_key = None;
    let client = Client::new(config);
    let key = IdempotencyKey::generate();
    for error in
        [client.check(Bytes::from_static(BODY)).await, client.verify(Bytes::from_static(BODY), key).await]
    {
        let error = error.expect_err("no key");
        assert!(matches!(error, CallError::MissingKey), "{error:?}");
        assert_eq!(error.code(), "missing_api_key");
    }
    client.health().await.expect("public");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_impossible_path_is_refused_before_sending() {
    let server = Server::start(|_, _| ok("{}")).await;
    let request = kaval_client::Request::get("/v1/a b");
    let error = server.client().send(request).await.expect_err("refused");
    assert!(matches!(error, CallError::InvalidRequest(_)), "{error:?}");
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn traceparent_is_forwarded() {
    let server = Server::start(|_, _| ok("{\"ok\":true}")).await;
    let value = http::HeaderValue::from_static("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let request = kaval_client::endpoints::health().traceparent(Some(value.clone()));
    server.client().call(request).await.expect("answered");
    assert_eq!(server.seen()[0].header("traceparent"), value.to_str().ok());
}

#[tokio::test]
async fn bodies_are_compact_with_order_numbers_and_unknown_members_kept() {
    let body = "{ \"z\" : 1.0, \"decision\":\"ALLOW\", \"n\": 123456789012345678901234567890.10, \"a\":\"\\u00e9 \u{fc}\", \"z\":2e5 }";
    let server = Server::start(move |_, _| ok(body)).await;
    let answer = server.client().check(Bytes::from_static(BODY)).await.expect("answered");
    let expected =
        "{\"z\":2e5,\"decision\":\"ALLOW\",\"n\":123456789012345678901234567890.10,\"a\":\"\\u00e9 \u{fc}\"}";
    assert_eq!(answer.text, expected);
    assert_eq!(answer.member("decision"), Some("\"ALLOW\""));
    let raw = server
        .client()
        .send(kaval_client::endpoints::check(Bytes::from_static(BODY)))
        .await
        .expect("answered");
    assert_eq!(raw.body, body.as_bytes(), "send keeps the bytes received");
}
