use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use kaval_client::transport::{Answered, BodyError, BodyLimits, Exchange, Transport, TransportError};
use kaval_client::{CallError, Client, Clock, Stage, endpoints};

use crate::server::{CANARY, config};

/// Answers from a function instead of a network.
struct Fake {
    count: Arc<AtomicUsize>,
    answer: fn(usize) -> Result<Answered, TransportError>,
}

impl Transport for Fake {
    fn exchange(&self, request: http::Request<Bytes>, limits: BodyLimits) -> Exchange<'_> {
        assert_eq!(request.uri(), "https://api.kaval.example/v1/check");
        assert_eq!(request.headers()["authorization"], format!("Bearer {CANARY}"));
        assert!(limits.failure < limits.success);
        let n = self.count.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready((self.answer)(n)))
    }
}

/// Sun, 06 Nov 1994 08:49:37 GMT.
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
    }
}

fn client(answer: fn(usize) -> Result<Answered, TransportError>) -> (Client, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let fake = Fake { count: count.clone(), answer };
    (Client::with_transport(config("https://api.kaval.example"), fake, Fixed), count)
}

fn reply(status: u16, retry_after: Option<&str>, body: Result<Bytes, BodyError>) -> Answered {
    let mut builder = http::Response::builder().status(status);
    if let Some(value) = retry_after {
        builder = builder.header("retry-after", value);
    }
    builder.body(body).expect("response")
}

#[tokio::test(start_paused = true)]
async fn another_stack_and_clock_can_be_put_in_place() {
    let (client, count) = client(|n| {
        Ok(match n {
            0 => reply(429, Some("Sun, 06 Nov 1994 08:49:41 GMT"), Ok(Bytes::new())),
            _ => reply(200, None, Ok(Bytes::from_static(b"{\"decision\":\"ALLOW\"}"))),
        })
    });
    let begun = tokio::time::Instant::now();
    client.warm().await.expect("nothing to warm");
    let answer = client.check(Bytes::from_static(b"{}")).await.expect("answered");
    assert_eq!(answer.text, "{\"decision\":\"ALLOW\"}");
    assert_eq!((begun.elapsed().as_secs(), count.load(Ordering::SeqCst)), (4, 2));
}

#[tokio::test]
async fn what_another_stack_reports_is_masked_and_bounded() {
    let (client, _) = client(|_| {
        let detail = format!("{CANARY}\n\u{1b}[31m{}", "\u{fc}".repeat(1_000));
        Err(TransportError { stage: Stage::Tls, detail })
    });
    let error = client.call(endpoints::check(Bytes::new())).await.expect_err("unreachable");
    let CallError::Unreachable { stage: Stage::Tls, detail } = &error else { panic!("{error:?}") };
    assert!(detail.len() <= 300 && detail.starts_with("[redacted][31m"), "{detail:?}");
    assert!(!format!("{error:?} {error}").contains("canary"));
}
