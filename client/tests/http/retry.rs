use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use kaval_client::endpoints::Inactive;
use kaval_client::retry::AMBIGUOUS_CODES;
use kaval_client::{CallError, IdempotencyKey, Request, endpoints};

use crate::server::{React, Server, answer, ok};

const KEY: &str = "op-2026-08-000017";

fn key() -> IdempotencyKey {
    IdempotencyKey::new(KEY).expect("key")
}

fn body() -> Bytes {
    Bytes::from_static(b"{}")
}

fn verify() -> Request {
    endpoints::verify(body(), key())
}

fn coded(status: u16, code: &str) -> React {
    React::Write(answer(status, &[], &format!("{{\"error\":{{\"code\":\"{code}\"}}}}")))
}

/// Every call that never repeats, and the reads and the check, which do not repeat after a failure either.
fn others() -> Vec<Request> {
    vec![
        endpoints::check(body()),
        endpoints::receipt("x"),
        endpoints::sources(Inactive::Leave),
        endpoints::health(),
        endpoints::add_source(body()),
        endpoints::remove_source("x"),
        endpoints::report_outcome(body()),
        endpoints::push_event(body()),
        endpoints::add_webhook(body(), key()),
    ]
}

/// The operation is committed, then the connection dies: one repetition with the same key finds it.
#[tokio::test]
async fn verify_is_repeated_once_with_the_same_key_after_a_reset() {
    for first in [React::Reset(vec![]), React::WriteAndClose(vec![]), React::Reset(b"HTTP/1.1 200".to_vec())]
    {
        let reaction = first.clone();
        let server =
            Server::start(move |n, _| if n == 0 { reaction.clone() } else { ok("{\"status\":\"valid\"}") })
                .await;
        let answer = server.client().call(verify()).await.unwrap_or_else(|e| panic!("{first:?}: {e}"));
        assert_eq!(answer.text, "{\"status\":\"valid\"}");
        let seen = server.seen();
        assert_eq!(seen.len(), 2);
        for attempt in &seen {
            assert_eq!((attempt.header("idempotency-key"), attempt.body.as_slice()), (Some(KEY), &b"{}"[..]));
        }
    }
}

#[tokio::test]
async fn verify_gives_up_after_the_second_failure() {
    let server = Server::start(|_, _| React::Reset(vec![])).await;
    let error = server.client().call(verify()).await.expect_err("reset twice");
    assert!(
        matches!(&error, CallError::Ambiguous { idempotency_key, .. } if idempotency_key.as_str() == KEY),
        "{error:?}"
    );
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn verify_is_repeated_after_an_ambiguous_code_whatever_the_status() {
    for code in AMBIGUOUS_CODES {
        for status in [409, 503, 500, 400] {
            let server =
                Server::start(
                    move |n, _| if n == 0 { coded(status, code) } else { ok("{\"status\":\"valid\"}") },
                )
                .await;
            server.client().call(verify()).await.expect(code);
            assert_eq!(server.seen().len(), 2);

            let server = Server::start(move |_, _| coded(status, code)).await;
            let error = server.client().call(verify()).await.expect_err(code);
            assert_eq!((server.seen().len(), error.code()), (2, code));
            assert!(
                matches!(&error, CallError::Api { idempotency_key: Some(k), .. } if k.as_str() == KEY),
                "{error:?}"
            );
        }
    }
}

#[tokio::test]
async fn verify_is_not_repeated_after_other_answers() {
    for react in [
        coded(500, "internal"),
        coded(503, "unavailable"),
        coded(409, "conflict"),
        React::Write(answer(429, &[("retry-after", "0")], "")),
        React::Write(answer(503, &[("retry-after", "0")], "")),
        React::Write(answer(410, &[], "{\"error\":\"tool_retired\"}")),
    ] {
        let reaction = react.clone();
        let server = Server::start(move |_, _| reaction.clone()).await;
        let error = server.client().call(verify()).await.expect_err("an error");
        assert!(matches!(error, CallError::Api { idempotency_key: None, .. }), "{error:?}");
        assert_eq!(server.seen().len(), 1, "{react:?}");
    }
}

#[tokio::test]
async fn no_other_call_is_repeated_after_a_failure() {
    for request in others() {
        let server = Server::start(|_, _| React::Reset(vec![])).await;
        let keyed = request.idempotency_key.is_some();
        let error = server.client().call(request).await.expect_err("reset");
        assert_eq!(matches!(error, CallError::Ambiguous { .. }), keyed, "{error:?}");
        assert_eq!(server.seen().len(), 1);
    }
    for request in others() {
        let server = Server::start(|_, _| coded(503, "idempotency_resolution_pending")).await;
        let keyed = request.idempotency_key.is_some();
        let error = server.client().call(request).await.expect_err("an error");
        assert!(
            matches!(&error, CallError::Api { idempotency_key, .. } if idempotency_key.is_some() == keyed),
            "{error:?}"
        );
        assert_eq!(server.seen().len(), 1);
    }
}

/// Check and reads wait for a short `Retry-After` once; the others report it at once.
#[tokio::test]
async fn a_short_retry_after_is_waited_for_once_on_check_and_reads() {
    for status in [429, 503] {
        for request in others() {
            let waits = request.method == http::Method::GET || request.target == "/v1/check";
            let server =
                Server::start(move |_, _| React::Write(answer(status, &[("retry-after", "1")], "{}"))).await;
            let begun = Instant::now();
            let error = server.client().call(request.clone()).await.expect_err("throttled");
            assert!(
                matches!(error, CallError::Api { status: s, retry_after_seconds: Some(1), .. } if s == status),
                "{error:?}"
            );
            let attempts = if waits { 2 } else { 1 };
            assert_eq!(server.seen().len(), attempts, "{request:?}");
            assert_eq!(begun.elapsed() >= Duration::from_secs(1), waits, "{request:?}");
        }
    }
}

#[tokio::test]
async fn retry_after_forms_on_a_check() {
    let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(2));
    let past = httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(60));
    for (header, again) in [
        ("0", true),
        (soon.as_str(), true),
        (past.as_str(), true),
        ("6", false),
        ("120", false),
        ("-1", false),
        ("soon", false),
        ("99999999999999999999", false),
    ] {
        let value = header.to_owned();
        let server = Server::start(move |n, _| match n {
            0 => React::Write(answer(429, &[("retry-after", &value)], "")),
            _ => ok("{\"decision\":\"ALLOW\"}"),
        })
        .await;
        let begun = Instant::now();
        let result = server.client().call(endpoints::check(body())).await;
        assert_eq!(
            (result.is_ok(), server.seen().len()),
            (again, if again { 2 } else { 1 }),
            "{header}: {result:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(4), "{header}");
        if let Err(CallError::Api { retry_after_seconds, .. }) = result {
            assert_eq!(retry_after_seconds, header.parse().ok(), "{header}");
        }
    }
}

#[tokio::test]
async fn a_wait_that_does_not_fit_the_deadline_is_left_to_the_caller() {
    let server = Server::start(|_, _| React::Write(answer(429, &[("retry-after", "2")], ""))).await;
    let begun = Instant::now();
    let request = endpoints::check(body()).deadline(Duration::from_millis(1_900));
    let error = server.client().call(request).await.expect_err("throttled");
    assert!(matches!(error, CallError::Api { retry_after_seconds: Some(2), .. }), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(server.seen().len(), 1);
}
