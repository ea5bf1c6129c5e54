use std::time::{Duration, Instant};

use bytes::Bytes;
use kaval_client::{CallError, Client, IdempotencyKey, Request, Stage, endpoints};

use crate::server::{React, Server, answer, config};

const DEADLINE: Duration = Duration::from_millis(300);

async fn expires(client: &Client, request: Request) -> CallError {
    let begun = Instant::now();
    let error = client.call(request.deadline(DEADLINE)).await.expect_err("too late");
    let elapsed = begun.elapsed();
    assert!(elapsed >= DEADLINE && elapsed < DEADLINE * 10, "{elapsed:?}");
    error
}

/// Nothing answers, the head stops, the body stops: one deadline covers each.
#[tokio::test]
async fn the_deadline_covers_head_and_body() {
    let whole = answer(200, &[], "{\"decision\":\"ALLOW\"}");
    let failed = answer(500, &[], "{\"error\":\"x\"}");
    for bytes in
        [vec![], whole[..20].to_vec(), whole[..whole.len() - 1].to_vec(), failed[..failed.len() - 1].to_vec()]
    {
        let stalled = bytes.clone();
        let server = Server::start(move |_, _| React::Stall(stalled.clone())).await;
        let client = server.client();
        let error = expires(&client, endpoints::check(Bytes::from_static(b"{}"))).await;
        assert!(matches!(error, CallError::Timeout { deadline: DEADLINE }), "{bytes:?} {error:?}");
        assert_eq!(error.code(), "timeout");
        server.wait_closed(1).await;

        let key = IdempotencyKey::new("op-000017").expect("key");
        let error = expires(&client, endpoints::verify(Bytes::from_static(b"{}"), key)).await;
        let CallError::Ambiguous { idempotency_key, cause } = error else {
            panic!("ambiguous expected: {error:?}")
        };
        assert!(matches!(*cause, CallError::Timeout { .. }));
        assert_eq!(idempotency_key.as_str(), "op-000017");
        assert_eq!(server.seen().len(), 2, "nothing is repeated after the deadline");
    }
}

/// A listener that never accepts and a proxy that never answers.
#[tokio::test]
async fn the_deadline_covers_tls_and_proxy() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("address").port();
    let tls = Client::new(config(&format!("https://127.0.0.1:{port}")));
    let mut proxied = config("https://api.kaval.invalid");
    proxied.proxy = Some(kaval_client::proxy::Proxy::parse(&format!("127.0.0.1:{port}")).expect("proxy"));
    // The trust store is read beforehand: here it could take longer than the deadline.
    tls.warm().await.expect("trust store");
    for client in [tls, Client::new(proxied)] {
        let error = expires(&client, endpoints::check(Bytes::from_static(b"{}"))).await;
        assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    }
}

/// The second attempt gets what the first one left.
#[tokio::test]
async fn the_deadline_covers_both_attempts() {
    let slow = Server::start(|n, _| match n {
        0 => React::Reset(b"HTTP/1.1 20".to_vec()),
        _ => React::Stall(vec![]),
    })
    .await;
    let key = IdempotencyKey::generate();
    let error = expires(&slow.client(), endpoints::verify(Bytes::from_static(b"{}"), key)).await;
    assert!(matches!(error, CallError::Ambiguous { .. }), "{error:?}");
    assert_eq!(slow.seen().len(), 2);
}

/// Long deadlines leave room to say which step of connecting hangs. The clock runs ahead whenever nothing else does.
#[tokio::test(start_paused = true)]
async fn a_step_of_connecting_that_hangs_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("address").port();
    let mut tls = config(&format!("https://127.0.0.1:{port}"));
    let mut proxied = config("https://api.kaval.invalid");
    proxied.proxy = Some(kaval_client::proxy::Proxy::parse(&format!("127.0.0.1:{port}")).expect("proxy"));
    for (config, stage) in [(&mut tls, Stage::Tls), (&mut proxied, Stage::Proxy)] {
        config.deadline = Duration::from_secs(3_600);
        let client = Client::new(config.clone());
        let error = client.check(Bytes::from_static(b"{}")).await.expect_err("no answer");
        assert!(matches!(&error, CallError::Unreachable { stage: s, .. } if *s == stage), "{error:?}");
    }
}
