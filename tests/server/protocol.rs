//! What every line of input is answered with.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kaval_mcp::{Drain, LineTransport};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;

use crate::support::{KEY, Script, Session, call, client};

const ALLOW: &str =
    r#"{ "decision": "ALLOW", "n": 1.10, "big": 123456789012345678901234567890, "z": 1, "a": 2 }"#;
const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

#[tokio::test]
async fn initialize_settles_on_a_version() {
    for (asked, settled) in [
        ("2024-10-07", "2024-10-07"),
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut session = Session::start(Script::Hang);
        let reply = session.initialize(asked).await;
        assert_eq!(reply["result"]["protocolVersion"], settled);
        assert_eq!(reply["result"]["serverInfo"]["name"], "kaval");
        assert_eq!(reply["result"]["capabilities"], json!({ "tools": { "listChanged": true } }));
        assert!(reply["result"]["instructions"].as_str().unwrap().contains("REVIEW is never permission"));
        assert!(session.finish().await.is_empty());
    }
}

#[tokio::test]
async fn lines_that_are_no_message_are_answered_and_the_session_lives() {
    let mut session = Session::initialized(Script::Hang, "2025-11-25").await;
    let deep = "[".repeat(100_000);
    let deep_message = format!(r#"{{"jsonrpc":"2.0","id":8,"method":{deep}"#);
    for (line, code, id) in [
        ("hello", -32700, None),
        (r#"{"jsonrpc":"2.0","id":7,"method":"#, -32700, Some(json!(7))),
        (deep_message.as_str(), -32700, Some(json!(8))),
        ("1", -32600, None),
        ("null", -32600, None),
        ("[]", -32600, None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, None),
        ("{}", -32600, None),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Some(json!(1.5))),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, Some(json!("a"))),
        (r#"{"jsonrpc":"2.0","id":9}"#, -32600, Some(json!(9))),
        (r#"{"jsonrpc":"2.0","id":9,"method":7}"#, -32600, Some(json!(9))),
    ] {
        session.send(line).await;
        let reply = session.line().await;
        assert_eq!(reply["error"]["code"], code, "{}", &line[..line.len().min(80)]);
        assert_eq!(reply.get("id").cloned(), id, "{}", &line[..line.len().min(80)]);
    }
    session.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n").await;
    assert_eq!(session.line().await["error"]["code"], -32700);
    session.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    assert_eq!(session.line().await, json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
}

#[tokio::test]
async fn blank_lines_crlf_and_a_byte_order_mark_are_nothing_special() {
    let mut session = Session::start(Script::Hang);
    session.send_bytes(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\r\n\n  \n").await;
    assert_eq!(session.line().await["id"], 1);
    session.silence().await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_dropped_and_answered_where_its_id_can_be_read() {
    let mut session = Session::initialized(Script::Body(ALLOW), "2025-11-25").await;
    let text = "x".repeat(4 * 1024 * 1024);
    // The official TypeScript SDK writes the id last.
    session
        .send(&format!(r#"{{"method":"tools/call","params":{{"name":"check","arguments":{{"action":"{text}"}}}},"jsonrpc":"2.0","id":5}}"#))
        .await;
    let reply = session.line().await;
    assert_eq!((reply["id"].clone(), reply["error"]["code"].clone()), (json!(5), json!(-32600)));
    session.send(&text).await;
    assert!(session.line().await.get("id").is_none());
    session.send(&call("6", "check", r#"{"action":"x"}"#)).await;
    assert_eq!(session.line().await["result"]["structuredContent"]["decision"], "ALLOW");
}

#[tokio::test]
async fn stray_notifications_and_responses_first_are_ignored() {
    let mut session = Session::start(Script::Hang);
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"$/progress","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}"#,
    ] {
        session.send(line).await;
    }
    session.silence().await;
    assert_eq!(session.initialize("2025-06-18").await["result"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn legacy_requests_need_a_handshake_first() {
    let mut session = Session::start(Script::Body(ALLOW));
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
        call("1", "check", r#"{"action":"x"}"#),
    ] {
        session.send(&line).await;
        let reply = session.line().await;
        assert_eq!((reply["id"].clone(), reply["error"]["code"].clone()), (json!(1), json!(-32602)));
        assert!(reply["error"]["message"].as_str().unwrap().contains("initialize"));
    }
    assert_eq!(session.stack.asked.load(Ordering::SeqCst), 0);
    session.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await;
    assert_eq!(session.line().await["result"], json!({}));
}

#[tokio::test]
async fn params_that_do_not_fit_are_invalid_params() {
    let mut session = Session::initialized(Script::Body(ALLOW), "2025-11-25").await;
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check","_meta":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    ] {
        session.send(line).await;
        let reply = session.line().await;
        assert_eq!(
            (reply["id"].clone(), reply["error"]["code"].clone()),
            (json!(1), json!(-32602)),
            "{line}"
        );
    }
    for method in
        ["nope", "resources/list", "prompts/list", "logging/setLevel", "completion/complete", "tasks/get"]
    {
        session.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"x":1}}}}"#)).await;
        assert_eq!(session.line().await["error"]["code"], -32601, "{method}");
    }
    assert_eq!(session.stack.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_unknown_tool_is_a_failed_call() {
    let mut session = Session::initialized(Script::Hang, "2025-11-25").await;
    session.send(&call("1", "checks", "{}")).await;
    let reply = session.line().await;
    assert_eq!(reply["result"]["isError"], true);
    assert!(
        reply["result"]["content"][0]["text"].as_str().unwrap().starts_with(r#"{"error":"unknown_tool""#)
    );
}

#[tokio::test]
async fn results_keep_order_and_digits() {
    let mut session = Session::initialized(Script::Body(ALLOW), "2025-11-25").await;
    session.send(&call("1", "check", r#"{"action":"x"}"#)).await;
    let compact = r#"{"decision":"ALLOW","n":1.10,"big":123456789012345678901234567890,"z":1,"a":2}"#;
    let text = serde_json::to_string(compact).unwrap();
    assert_eq!(
        session.raw_line().await,
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{compact}}}}}"#
        )
    );
}

#[tokio::test]
async fn older_versions_get_what_they_know() {
    for (version, structured, annotations) in [
        ("2024-11-05", false, false),
        ("2025-03-26", false, true),
        ("2025-06-18", true, true),
        ("2025-11-25", true, true),
    ] {
        let mut session = Session::initialized(Script::Body(ALLOW), version).await;
        session.send(&call("1", "check", r#"{"action":"x"}"#)).await;
        let result = session.line().await["result"].clone();
        assert_eq!(result.get("structuredContent").is_some(), structured, "{version}");
        assert!(result.get("resultType").is_none() && result.get("_meta").is_none());
        session.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
        let list = session.line().await["result"].clone();
        assert!(list.get("ttlMs").is_none());
        for tool in list["tools"].as_array().unwrap() {
            assert_eq!(tool.get("outputSchema").is_some(), structured, "{version}");
            assert_eq!(tool.get("annotations").is_some(), annotations, "{version}");
        }
    }
}

#[tokio::test]
async fn both_eras_share_one_pipe_in_any_order() {
    let mut session = Session::start(Script::Body(ALLOW));
    let modern_call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"check","arguments":{{"action":"x"}},{MODERN}}}}}"#
    );
    let modern = |result: &serde_json::Value| {
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "kaval");
    };
    session.send(&modern_call).await;
    modern(&session.line().await["result"]);
    session.initialize("2025-06-18").await;
    session.send(&call("2", "check", r#"{"action":"x"}"#)).await;
    assert!(session.line().await["result"].get("resultType").is_none());
    session.send(&modern_call).await;
    modern(&session.line().await["result"]);
    session.send(&format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{{{MODERN}}}}}"#)).await;
    let list = session.line().await["result"].clone();
    modern(&list);
    assert_eq!((list["ttlMs"].as_u64(), list["cacheScope"].as_str()), (Some(300_000), Some("public")));
    session
        .send(&format!(r#"{{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{{{MODERN}}}}}"#))
        .await;
    let discovered = session.line().await["result"].clone();
    modern(&discovered);
    assert!(discovered["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    session.send(&format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{{MODERN}}}}}"#)).await;
    assert_eq!(session.line().await["error"]["code"], -32601);
    let unknown = MODERN.replace("2026-07-28", "2027-01-01");
    session
        .send(&format!(r#"{{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{{{unknown}}}}}"#))
        .await;
    let error = session.line().await["error"].clone();
    assert_eq!(
        (error["code"].as_i64(), error["data"]["requested"].as_str()),
        (Some(-32022), Some("2027-01-01"))
    );
    assert!(error["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
}

#[tokio::test]
async fn batches_work_where_the_version_has_them() {
    let mut session = Session::initialized(Script::Body(ALLOW), "2025-03-26").await;
    let check = call("\"c\"", "check", r#"{"action":"x"}"#);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    session.send(&format!("[{check},{note},{ping},7]")).await;
    let reply = session.line().await;
    let replies = reply.as_array().unwrap();
    assert_eq!(replies.len(), 3);
    let with_id = |id: serde_json::Value| replies.iter().find(|reply| reply["id"] == id).unwrap();
    assert_eq!(with_id(json!("c"))["result"]["content"][0]["type"], "text");
    assert_eq!(with_id(json!(2))["result"], json!({}));
    assert!(replies.iter().any(|reply| reply["error"]["code"] == -32600));
    session.send(&format!("[{note}]")).await;
    session.silence().await;
    session.send("[]").await;
    assert_eq!(session.line().await["error"]["code"], -32600);
    let many = vec![ping; 257].join(",");
    session.send(&format!("[{many}]")).await;
    assert_eq!(session.line().await["error"]["code"], -32600);
}

#[tokio::test]
async fn an_id_in_flight_is_not_taken_twice() {
    let mut session = Session::initialized(Script::Hang, "2025-11-25").await;
    session.send(&call("1", "check", r#"{"action":"x"}"#)).await;
    session.until_open(1).await;
    session.send(&call("1", "check", r#"{"action":"y"}"#)).await;
    let reply = session.line().await;
    assert_eq!((reply["id"].clone(), reply["error"]["code"].clone()), (json!(1), json!(-32600)));
    assert_eq!(session.stack.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn ids_come_back_as_they_were_spelled() {
    let mut session = Session::start(Script::Hang);
    for id in ["0", "-7", "9223372036854775808", r#""""#, r#""\u00e9\n""#, r#""7""#] {
        session.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        assert_eq!(session.raw_line().await, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[tokio::test]
async fn a_cancelled_call_closes_its_exchange_and_is_never_answered() {
    let mut session = Session::initialized(Script::Hang, "2025-11-25").await;
    session.send(&call("1", "check", r#"{"action":"x"}"#)).await;
    session.send(&call("\"two\"", "check", r#"{"action":"x"}"#)).await;
    session.until_open(2).await;
    session
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}"#)
        .await;
    session.until_open(1).await;
    session.silence().await;
    session
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}"#)
        .await;
    session.until_open(0).await;
    session.silence().await;
    assert!(session.finish().await.is_empty());
}

#[tokio::test]
async fn calls_running_at_the_end_of_the_input_are_answered() {
    let mut session = Session::initialized(Script::Body(ALLOW), "2025-11-25").await;
    for id in 0..50 {
        session.send(&call(&id.to_string(), "check", r#"{"action":"x"}"#)).await;
    }
    let mut ids: Vec<_> = session.finish().await.iter().map(|reply| reply["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
}

#[tokio::test]
async fn calls_of_a_dead_parent_are_dropped_at_the_end_of_the_input() {
    let mut session = Session::start_with_parent(Script::Hang, || false);
    session.initialize("2025-11-25").await;
    session.send(&call("1", "check", r#"{"action":"x"}"#)).await;
    session.until_open(1).await;
    let stack = session.stack.clone();
    assert!(session.finish().await.is_empty());
    assert_eq!(stack.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn at_most_64_calls_are_with_the_api_and_1024_wait() {
    let mut session = Session::initialized(Script::Hang, "2025-11-25").await;
    for id in 0..64 + 1024 {
        session.send(&call(&id.to_string(), "check", r#"{"action":"x"}"#)).await;
    }
    session.send(&call("\"over\"", "check", r#"{"action":"x"}"#)).await;
    let reply = session.line().await;
    assert_eq!(reply["id"], "over");
    assert!(reply["result"]["content"][0]["text"].as_str().unwrap().starts_with(r#"{"error":"overloaded""#));
    session.until_open(64).await;
    // A place that becomes free goes to one that waits.
    session.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#).await;
    for _ in 0..2000 {
        if session.stack.asked.load(Ordering::SeqCst) == 65 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("nobody took the free place");
}

#[tokio::test]
async fn ignored_arguments_are_named_and_nulls_are_absent() {
    let mut session = Session::initialized(Script::Body(ALLOW), "2025-11-25").await;
    session.send(&call("1", "check", r#"{"action":"x","mode":null,"conversation_id":"secret"}"#)).await;
    let result = session.line().await["result"].clone();
    assert_eq!(result["_meta"], json!({ "io.github.kaval-mcp/ignored_arguments": ["conversation_id"] }));
    assert_eq!(session.stack.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn bodies_that_are_no_answer_are_invalid_responses() {
    for body in ["", "<html>", "{", "[]", "null", r#"{"verdict":"ALLOW"}"#, r#"{"decision":null}"#] {
        let mut session = Session::initialized(Script::Body(body), "2025-11-25").await;
        session.send(&call("1", "check", r#"{"action":"x"}"#)).await;
        let result = session.line().await["result"].clone();
        assert_eq!(result["isError"], true, "{body:?}");
        assert!(result.get("structuredContent").is_none());
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(r#"{"error":"invalid_response""#), "{body:?}: {text}");
    }
    let verify = r#"{"conclusion":"c","evidence_refs":["https://a.example"],"idempotency_key":"op-000017"}"#;
    let mut session = Session::initialized(Script::Body("<html>"), "2025-11-25").await;
    session.send(&call("1", "verify", verify)).await;
    let result = session.line().await["result"].clone();
    let text: serde_json::Value =
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (text["error"].as_str(), text["idempotency_key"].as_str()),
        (Some("request_ambiguous"), Some("op-000017"))
    );
}

#[tokio::test]
async fn the_key_is_masked_where_the_api_echoes_it() {
    const ECHO: &str = r#"{"decision":"ALLOW","echo":"Bearer kv_live_canary_0123456789"}"#;
    assert!(ECHO.contains(KEY));
    let mut session = Session::initialized(Script::Body(ECHO), "2025-11-25").await;
    session.send(&call("1", "check", &format!(r#"{{"action":"x","{KEY}":1}}"#))).await;
    let line = session.raw_line().await;
    assert!(line.contains("ALLOW") && !line.contains(KEY), "{line}");
}

#[tokio::test]
async fn the_server_ends_when_the_client_no_longer_reads() {
    let (client, stack) = client(Script::Hang);
    let (mut input, reader) = tokio::io::duplex(64 * 1024);
    let (output, writer) = tokio::io::duplex(64 * 1024);
    let stop = CancellationToken::new();
    let served = tokio::spawn(kaval_mcp::serve(kaval_mcp::server(client), reader, writer, || true, stop));
    let modern_call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"check","arguments":{{"action":"x"}},{MODERN}}}}}"#
    );
    input.write_all(format!("{modern_call}\n").as_bytes()).await.unwrap();
    while stack.open.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(output);
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").await.unwrap();
    tokio::time::timeout(Duration::from_secs(20), served).await.expect("the server ends").unwrap();
    assert_eq!(stack.open.load(Ordering::SeqCst), 0, "the call was left running");
}

#[tokio::test]
async fn calls_that_outlast_the_drain_are_dropped() {
    let (client, stack) = client(Script::Hang);
    let (mut input, reader) = tokio::io::duplex(64 * 1024);
    let (_output, writer) = tokio::io::duplex(64 * 1024);
    let stop = CancellationToken::new();
    let drain = Drain { limit: Duration::from_millis(50), parent_alive: || true };
    let transport = LineTransport::new(reader, writer, drain, stop.clone());
    let served = rmcp::service::serve_directly_with_ct(kaval_mcp::server(client), transport, None, stop);
    let modern_call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"check","arguments":{{"action":"x"}},{MODERN}}}}}"#
    );
    input.write_all(format!("{modern_call}\n").as_bytes()).await.unwrap();
    drop(input);
    tokio::time::timeout(Duration::from_secs(4), served.waiting()).await.expect("the server ends").unwrap();
    assert_eq!((stack.asked.load(Ordering::SeqCst), stack.open.load(Ordering::SeqCst)), (1, 0));
}
