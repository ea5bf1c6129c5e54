use std::time::Duration;

use bytes::Bytes;
use kaval_client::error::BodyFault;
use kaval_client::{CallError, Client, IdempotencyKey, MAX_RESPONSE_BYTES, Stage, endpoints};

use crate::server::{CANARY, React, Server, answer, config, ok};

fn check() -> kaval_client::Request {
    endpoints::check(Bytes::from_static(b"{}"))
}

fn verify(key: &str) -> kaval_client::Request {
    endpoints::verify(Bytes::from_static(b"{}"), IdempotencyKey::new(key).expect("key"))
}

async fn failure(react: React) -> CallError {
    let server = Server::start(move |_, _| react.clone()).await;
    let error = server.client().call(check()).await.expect_err("a failure");
    assert_eq!(server.seen().len(), 1, "{error:?}");
    error
}

fn stage(error: &CallError) -> Stage {
    match error {
        CallError::Unreachable { stage, .. } => *stage,
        other => panic!("unreachable expected, not {other:?}"),
    }
}

#[tokio::test]
async fn a_name_without_address_is_dns() {
    let error =
        Client::new(config("https://no-such-host.invalid")).call(check()).await.expect_err("no such host");
    assert_eq!((stage(&error), error.code()), (Stage::Dns, "network_unreachable"), "{error}");
}

#[tokio::test]
async fn a_closed_port_is_connect() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("address").port();
    drop(listener);
    let error =
        Client::new(config(&format!("http://127.0.0.1:{port}"))).call(check()).await.expect_err("refused");
    assert_eq!(stage(&error), Stage::Connect, "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_reset_or_end_before_the_answer_is_read() {
    for react in [
        React::Reset(vec![]),
        React::WriteAndClose(vec![]),
        React::WriteAndClose(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()),
        React::WriteAndClose(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
    ] {
        let error = failure(react.clone()).await;
        assert_eq!(stage(&error), Stage::Read, "{react:?}: {error}");
    }
}

#[tokio::test]
async fn a_reset_while_the_body_goes_out_is_send() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("address").port();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((tcp, _)) = listener.accept().await {
            // The receive side is never read, so that the client is still writing when the reset arrives.
            tokio::time::sleep(Duration::from_millis(100)).await;
            tcp.set_zero_linger().expect("linger");
            drop(tcp);
            kept.push(());
        }
    });
    let body = Bytes::from(vec![b' '; 64 * 1024 * 1024]);
    let request = endpoints::check(body);
    let error =
        Client::new(config(&format!("http://127.0.0.1:{port}"))).call(request).await.expect_err("reset");
    assert_eq!(stage(&error), Stage::Send, "{error}");
}

#[tokio::test]
async fn a_body_cut_off_is_an_invalid_response() {
    let mut cut = answer(200, &[], "{\"decision\":\"ALLOW\"}");
    cut.truncate(cut.len() - 3);
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"decisi\r\n".to_vec();
    for react in [React::WriteAndClose(cut.clone()), React::Reset(cut.clone()), React::WriteAndClose(chunked)]
    {
        let error = failure(react).await;
        assert!(
            matches!(error, CallError::InvalidResponse { status: 200, fault: BodyFault::Cut, .. }),
            "{error:?}"
        );
        assert_eq!(error.code(), "invalid_response");
    }
    // Without a length only the content tells.
    let error = failure(React::WriteAndClose(b"HTTP/1.1 200 OK\r\n\r\n{\"decision\":\"AL".to_vec())).await;
    assert!(
        matches!(error, CallError::InvalidResponse { fault: BodyFault::NotJson { offset: 15 }, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn bodies_that_are_not_the_promised_json() {
    for (body, fault) in [
        ("", BodyFault::NotJson { offset: 0 }),
        ("<html></html>", BodyFault::NotJson { offset: 0 }),
        ("null", BodyFault::NotObject),
        ("[{}]", BodyFault::NotObject),
        ("{}", BodyFault::MissingMember { name: "decision" }),
    ] {
        let error = failure(ok(body)).await;
        assert!(
            matches!(&error, CallError::InvalidResponse { fault: f, .. } if *f == fault),
            "{body}: {error:?}"
        );
    }
    let error = failure(React::Write(answer(204, &[], ""))).await;
    assert!(matches!(error, CallError::InvalidResponse { status: 204, .. }), "{error:?}");
    let error =
        failure(React::Write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{\"\xff\"".to_vec())).await;
    assert!(
        matches!(error, CallError::InvalidResponse { fault: BodyFault::NotUtf8 { offset: 2 }, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_declared_or_not() {
    let declared =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", MAX_RESPONSE_BYTES + 1).into_bytes();
    let mut streamed = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..9 {
        streamed.extend_from_slice(b"100000\r\n");
        streamed.resize(streamed.len() + 0x10_0000, b' ');
        streamed.extend_from_slice(b"\r\n");
    }
    for bytes in [declared, streamed] {
        let server = Server::start(move |_, _| React::Stall(bytes.clone())).await;
        let error = server.client().call(check()).await.expect_err("too large");
        assert!(matches!(error, CallError::TooLarge { limit: MAX_RESPONSE_BYTES }), "{error:?}");
        assert_eq!(error.code(), "response_too_large");
        server.wait_closed(1).await;
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_taken() {
    let mut body = String::from("{\"decision\":\"ALLOW\"}");
    body.extend(std::iter::repeat_n(' ', MAX_RESPONSE_BYTES - body.len()));
    let server = Server::start(move |_, _| ok(&body)).await;
    assert_eq!(server.client().call(check()).await.expect("taken").text, "{\"decision\":\"ALLOW\"}");
}

#[tokio::test]
async fn a_redirect_is_an_ordinary_error_and_never_followed() {
    let other = Server::start(|_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("http://127.0.0.1:{}/v1/check", other.port);
        let error = failure(React::Write(answer(status, &[("location", &location)], "{}"))).await;
        assert!(matches!(error, CallError::Api { status: s, code: None, .. } if s == status), "{error:?}");
        assert_eq!(error.code(), "request_failed");
    }
    assert_eq!(other.seen().len(), 0);
}

/// Every documented error answer, and what intermediaries make of one.
#[tokio::test]
async fn error_answers_are_read() {
    for (status, body, code, message) in [
        (400, r#"{"error":{"code":"bad_request","message":"no"}}"#, Some("bad_request"), Some("no")),
        (
            401,
            r#"{"error":{"code":"unauthorized","message":"invalid API key"}}"#,
            Some("unauthorized"),
            Some("invalid API key"),
        ),
        (402, r#"{"error":{"code":"insufficient_balance"},"x":1}"#, Some("insufficient_balance"), None),
        (403, r#"{"error":{"code":"insufficient_scope","message":""}}"#, Some("insufficient_scope"), None),
        (404, r#"{"error":"not found","message":"x"}"#, Some("not found"), None),
        (409, r#"{"error":{"code":"idempotency_in_progress"}}"#, Some("idempotency_in_progress"), None),
        (410, r#"{"error":{"code":"tool_retired"}}"#, Some("tool_retired"), None),
        (404, r#"{"error":"tool_retired","replacement":"/v1/x"}"#, Some("tool_retired"), None),
        (413, r#"{"error":{"code":7,"message":8}}"#, None, None),
        (422, r#"{"error":[]}"#, None, None),
        (
            503,
            "\u{feff}{\"error\":{\"code\":\"unavailable\",\"message\":\"\\ud800\"}}",
            Some("unavailable"),
            None,
        ),
        (429, "", None, None),
        (500, "null", None, None),
        (502, "<html><h1>Bad Gateway</h1></html>", None, None),
        (503, "\u{feff}{", None, None),
    ] {
        let headers = [("x-request-id", "req_42")];
        match failure(React::Write(answer(status, &headers, body))).await {
            CallError::Api {
                status: s,
                code: c,
                message: m,
                request_id,
                retry_after_seconds: None,
                idempotency_key: None,
                retired_replacement: None,
            } => {
                assert_eq!((s, c.as_deref(), m.as_deref()), (status, code, message), "{body}");
                assert_eq!(request_id.as_deref(), Some("req_42"));
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_retired_route_is_a_410_with_a_flat_body() {
    for (body, replacement) in [
        (r#"{"error":"tool_retired","replacement":"/v1/check2"}"#, "/v1/check2"),
        (r#"{"error":"tool_retired"}"#, "/v1/check"),
        (r#"{"error":"tool_retired","replacement":3}"#, "/v1/check"),
    ] {
        let error = failure(React::Write(answer(410, &[("retry-after", "0")], body))).await;
        assert_eq!(error.code(), "tool_retired");
        assert!(
            matches!(&error, CallError::Api { status: 410, retired_replacement: Some(r), .. } if &**r == replacement),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn an_error_body_that_is_too_large_or_cut_keeps_its_status() {
    let large = format!(r#"{{"error":{{"code":"bad_request","message":"{}"}}}}"#, "x".repeat(70_000));
    let mut cut = answer(500, &[], r#"{"error":{"code":"unavailable"}}"#);
    cut.truncate(cut.len() - 1);
    for react in [React::Write(answer(500, &[], &large)), React::WriteAndClose(cut)] {
        let error = failure(react).await;
        assert!(matches!(error, CallError::Api { status: 500, code: None, message: None, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn the_key_is_masked_where_the_api_echoes_it() {
    let echo = format!(r#"{{"decision":"ALLOW","note":"key {CANARY}!","receipt":{{"{CANARY}":1}}}}"#);
    let server = Server::start(move |_, _| ok(&echo)).await;
    let answer_text = server.client().call(check()).await.expect("answered").text;
    assert_eq!(answer_text, r#"{"decision":"ALLOW","note":"key [redacted]!","receipt":{"[redacted]":1}}"#);

    let body = format!(r#"{{"error":{{"code":"x{CANARY}","message":"bad key {CANARY}"}}}}"#);
    let error = failure(React::Write(answer(401, &[("x-request-id", CANARY)], &body))).await;
    assert!(!format!("{error} {error:?} {error:#?}").contains("canary"), "{error:?}");
    let CallError::Api { message, request_id, .. } = error else { panic!("an API error") };
    assert_eq!((message.as_deref(), request_id.as_deref()), (Some("bad key [redacted]"), Some("[redacted]")));

    let body = format!(r#"{{"error":"tool_retired","replacement":"/{CANARY}"}}"#);
    let error = failure(React::Write(answer(410, &[], &body))).await;
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}

#[tokio::test]
async fn a_keyed_call_without_usable_answer_is_ambiguous() {
    let dead = Client::new(config("http://127.0.0.1:1"));
    let error = dead.call(verify("op-000017")).await.expect_err("refused");
    assert!(
        matches!(&error, CallError::Ambiguous { idempotency_key, cause }
            if idempotency_key.as_str() == "op-000017" && matches!(**cause, CallError::Unreachable { stage: Stage::Connect, .. })),
        "{error:?}"
    );
    assert_eq!(error.code(), "request_ambiguous");

    let large = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", MAX_RESPONSE_BYTES + 1).into_bytes();
    for react in [
        ok("<html>"),
        ok("{}"),
        React::WriteAndClose(answer(200, &[], "{}")[..50].to_vec()),
        React::WriteAndClose(large),
    ] {
        let reaction = react.clone();
        let server = Server::start(move |_, _| reaction.clone()).await;
        let error = server.client().call(verify("op-000018")).await.expect_err("unusable");
        assert!(matches!(&error, CallError::Ambiguous { .. }), "{react:?}: {error:?}");
    }
}
