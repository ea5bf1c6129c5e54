use std::time::{Duration, Instant};

use bytes::Bytes;
use kaval_client::{IdempotencyKey, endpoints};

use crate::server::{React, Server, answer, ok};

const GONE_WITHIN: Duration = Duration::from_millis(250);

fn check(body: &'static str) -> kaval_client::Request {
    endpoints::check(Bytes::from_static(body.as_bytes()))
}

/// Dropping a call closes its connection in time, while others on the same client go on.
#[tokio::test]
async fn dropping_a_call_closes_its_connection_alone() {
    let partial = answer(200, &[], "{\"decision\":\"ALLOW\"}")[..90].to_vec();
    for stall in [vec![], b"HTTP/1.1 200 OK\r\n".to_vec(), partial] {
        let server = Server::start(move |_, seen| match seen.body.as_slice() {
            b"stall" => React::Stall(stall.clone()),
            b"slow" => React::Slow(Duration::from_millis(400), "{\"decision\":\"ALLOW\"}"),
            _ => ok("{\"decision\":\"BLOCK\"}"),
        })
        .await;
        let client = server.client();
        let other = tokio::spawn({
            let client = client.clone();
            async move { client.call(check("slow")).await }
        });
        server.wait_for(1).await;
        let stalled = tokio::spawn({
            let client = client.clone();
            async move { client.call(check("stall")).await }
        });
        server.wait_for(2).await;
        // Whatever the server sent has arrived.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let dropped = Instant::now();
        stalled.abort();
        let closed = server.wait_closed(1).await[0];
        assert!(closed.duration_since(dropped) < GONE_WITHIN, "{:?}", closed.duration_since(dropped));
        assert_eq!(other.await.expect("joined").expect("unaffected").text, "{\"decision\":\"ALLOW\"}");
        for _ in 0..3 {
            assert_eq!(
                client.call(check("next")).await.expect("unaffected").text,
                "{\"decision\":\"BLOCK\"}"
            );
        }
        assert_eq!(server.seen().len(), 5, "nothing more was sent for the dropped call");
    }
}

/// No second attempt after a cancelled first one.
#[tokio::test]
async fn a_dropped_keyed_call_is_not_repeated() {
    let server = Server::start(|_, _| React::Stall(vec![])).await;
    let client = server.client();
    let request = endpoints::verify(Bytes::from_static(b"{}"), IdempotencyKey::generate());
    let call = tokio::spawn(async move { client.call(request).await });
    server.wait_for(1).await;
    call.abort();
    server.wait_closed(1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.seen().len(), 1);
}

/// A call dropped during the wait for `Retry-After` sends nothing more.
#[tokio::test]
async fn a_call_dropped_while_waiting_sends_nothing() {
    let server = Server::start(|_, _| React::Write(answer(429, &[("retry-after", "1")], ""))).await;
    let client = server.client();
    let call = tokio::spawn(async move { client.call(check("{}")).await });
    server.wait_for(1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    call.abort();
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(server.seen().len(), 1);
}
