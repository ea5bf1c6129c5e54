use std::time::Duration;

use bytes::Bytes;
use kaval_client::{CallError, endpoints};

use crate::server::{React, Server, answer, ok};

fn check() -> kaval_client::Request {
    endpoints::check(Bytes::from_static(b"{}"))
}

#[tokio::test]
async fn nothing_connects_before_the_first_call() {
    let server = Server::start(|_, _| ok("{}")).await;
    let client = server.client();
    client.warm().await.expect("nothing to do");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn calls_in_turn_share_one_connection() {
    let server = Server::start(|n, _| match n % 3 {
        0 => ok("{\"decision\":\"ALLOW\"}"),
        1 => React::Write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n14\r\n{\"decision\":\"ALLOW\"}\r\n0\r\n\r\n".to_vec()),
        _ => React::Write(answer(404, &[], "{\"error\":\"not found\"}")),
    })
    .await;
    let client = server.client();
    for n in 0..30 {
        assert_eq!(client.clone().call(check()).await.is_ok(), n % 3 != 2);
    }
    assert_eq!((server.connections(), server.seen().len()), (1, 30));
}

/// 64 calls at once run on as many connections, all of which are then used again.
#[tokio::test]
async fn sixty_four_calls_at_once_are_not_queued() {
    let server =
        Server::start(|_, _| React::Slow(Duration::from_millis(300), "{\"decision\":\"ALLOW\"}")).await;
    let client = server.client();
    for round in 1..=2 {
        let begun = std::time::Instant::now();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..64 {
            let client = client.clone();
            calls.spawn(async move { client.call(check()).await });
        }
        while let Some(call) = calls.join_next().await {
            call.expect("joined").expect("answered");
        }
        assert!(begun.elapsed() < Duration::from_secs(6), "round {round}: {:?}", begun.elapsed());
        assert_eq!(server.seen().len(), 64 * round);
    }
    assert!(server.connections() <= 64, "{}", server.connections());
}

/// The server closes each idle connection: the next call opens another one, and nothing is sent twice.
#[tokio::test]
async fn a_connection_closed_while_idle_is_replaced() {
    let server =
        Server::start(|_, _| React::WriteAndClose(answer(200, &[], "{\"decision\":\"ALLOW\"}"))).await;
    let client = server.client();
    for n in 1..=20 {
        client.call(check()).await.expect("answered");
        assert_eq!((server.connections(), server.seen().len()), (n, n));
        // Sometimes the end has been noticed before the next call, sometimes not.
        tokio::time::sleep(Duration::from_millis(if n % 2 == 0 { 20 } else { 0 })).await;
    }
}

/// A request that reached the server on a used connection is never moved to another one, keyed or not.
#[tokio::test]
async fn a_request_that_was_sent_is_never_moved() {
    let server = Server::start(|n, _| match n {
        0 => ok("{\"decision\":\"ALLOW\"}"),
        _ => React::Reset(vec![]),
    })
    .await;
    let client = server.client();
    client.call(check()).await.expect("answered");
    let error = client.call(check()).await.expect_err("reset");
    assert!(matches!(error, CallError::Unreachable { .. }), "{error:?}");
    assert_eq!((server.connections(), server.seen().len()), (1, 2));
}
