//! Odd input on the pipe: whatever a line holds, the session lives.

use serde_json::{Value, json};

use kaval_fake_api::Api;

use crate::harness::{Kaval, Launch, PATIENCE};

/// Longest line that is read.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

fn session() -> (Api, Kaval) {
    let api = Api::start_default();
    let server = Launch::on(&api).open();
    (api, server)
}

fn still_works(server: &mut Kaval) {
    server.success("list_sources", &json!({}));
}

#[test]
fn junk_lines_are_survived() {
    let (_api, mut server) = session();
    for junk in [
        &b"hello\n"[..],
        b"\n",
        b"\r\n",
        b"   \t \n",
        b"{\n",
        b"}{\n",
        b"\xff\xfe\x00\x01\n",
        b"[]\n",
        b"[1,2]\n",
        b"1\n",
        b"null\n",
        b"\"text\"\n",
        b"{}\n",
        b"{\"jsonrpc\":\"2.0\"}\n",
        b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":7}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/what\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"$/what\",\"params\":[1]}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":999,\"error\":{\"code\":1,\"message\":\"m\"}}\n",
        b"Content-Length: 20\r\n",
    ] {
        server.send_raw(junk);
        still_works(&mut server);
    }
}

#[test]
fn junk_before_the_handshake_is_survived() {
    let api = Api::start_default();
    for junk in [
        "hello\n",
        "\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n",
        "[]\n",
    ] {
        let mut server = Launch::on(&api).spawn();
        server.send_raw(junk.as_bytes());
        assert_eq!(server.initialize("2025-11-25")["serverInfo"]["name"], "kaval", "{junk:?}");
        still_works(&mut server);
    }
}

#[test]
fn nesting_beyond_reason_is_survived() {
    let (_api, mut server) = session();
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}1{}}}\n",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    server.send_raw(deep.as_bytes());
    still_works(&mut server);
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2001,\"method\":\"tools/call\",\"params\":{{\"name\":\"check\",\"arguments\":{{\"claims\":[{{\"subject\":\"s\",\"predicate\":\"p\",\"object\":{}{}}}]}}}}}}\n",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    server.send_raw(line.as_bytes());
    still_works(&mut server);
}

#[test]
fn crlf_and_a_byte_order_mark_are_accepted() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).spawn();
    server.send_raw("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\r\n".as_bytes());
    assert!(server.response(1)["result"]["serverInfo"].is_object());
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r\n");
    server.send_raw(b" {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"} \r\n");
    assert_eq!(server.response(2)["result"], json!({}));
}

#[test]
fn a_message_in_pieces_and_many_in_one_write_are_read() {
    let (_api, mut server) = session();
    for byte in b"{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"ping\"}\n" {
        server.send_raw(&[*byte]);
    }
    assert_eq!(server.response(50)["result"], json!({}));
    let many: String =
        (100..400).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")).collect();
    server.send_raw(many.as_bytes());
    for id in 100..400 {
        assert_eq!(server.response(id)["result"], json!({}));
    }
}

#[test]
fn an_oversized_call_is_dropped_with_an_error_under_its_id() {
    let (api, mut server) = session();
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":4001,\"method\":\"tools/call\",\"params\":{{\"name\":\"check\",\"arguments\":{{\"action\":\"{}\"}}}}}}\n",
        "x".repeat(MAX_LINE_BYTES)
    );
    server.send_raw(line.as_bytes());
    let answer = server.response(4001);
    assert!(answer["error"]["code"].is_i64(), "{answer:.300}");
    assert!(
        answer["error"]["message"].as_str().unwrap().contains(&MAX_LINE_BYTES.to_string())
            || answer["error"]["message"].as_str().unwrap().contains("MiB"),
        "{answer}"
    );
    assert_eq!(api.count(), 0);
    still_works(&mut server);
}

#[test]
fn an_oversized_line_without_an_id_is_dropped() {
    let (_api, mut server) = session();
    let mut line = vec![b'x'; MAX_LINE_BYTES * 2];
    line.push(b'\n');
    server.send_raw(&line);
    still_works(&mut server);
}

#[test]
fn a_line_just_under_the_limit_is_read() {
    let (api, mut server) = session();
    // A field of 10,000 is the most a call may say, so the room is filled by an unknown argument.
    let head = "{\"jsonrpc\":\"2.0\",\"id\":4002,\"method\":\"tools/call\",\"params\":{\"name\":\"check\",\"arguments\":{\"action\":\"a\",\"pad\":\"";
    let tail = "\"}}}\n";
    let line = format!("{head}{}{tail}", "x".repeat(MAX_LINE_BYTES - head.len() - tail.len()));
    server.send_raw(line.as_bytes());
    assert_ne!(server.response(4002)["result"]["isError"], true);
    assert_eq!(api.requests()[0].text(), r#"{"action":"a","max_wait_ms":45000}"#);
}

#[test]
fn an_endless_line_does_not_grow_the_process() {
    let (_api, mut server) = session();
    let chunk = vec![b'x'; 1024 * 1024];
    for _ in 0..64 {
        server.send_raw(&chunk);
    }
    let resident = resident_kib(server.pid());
    assert!(resident < 40 * 1024, "{resident} KiB after 64 MiB of one line");
    server.send_raw(b"\n");
    still_works(&mut server);
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn unknown_methods_are_32601() {
    let (_api, mut server) = session();
    for method in ["no/such", "resources/list", "prompts/list", "logging/setLevel", "tools/what", ""] {
        let answer = server.request(method, &json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        assert!(answer["error"]["message"].is_string());
    }
}

#[test]
fn misshapen_params_are_32602() {
    let (_api, mut server) = session();
    for params in [
        json!(7),
        json!({}),
        json!({"name": 7}),
        json!({"name": "check", "arguments": []}),
        json!({"name": "check", "arguments": "x"}),
    ] {
        let answer = server.request("tools/call", &params);
        let refused = answer["error"]["code"] == -32602
            || answer["error"]["code"] == -32600
            || answer["result"]["isError"] == true;
        assert!(refused, "{params}: {answer}");
    }
    still_works(&mut server);
}

#[test]
fn text_ids_are_answered_as_given() {
    let (_api, mut server) = session();
    for id in [json!("a"), json!(""), json!("7"), json!(0), json!(-5), json!(9_007_199_254_740_993_i64)] {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        let found = server.find(PATIENCE, |message| message["id"] == id).unwrap().1;
        assert_eq!(found["result"], json!({}), "{id}");
    }
}

#[test]
fn every_line_on_stdout_is_one_message_of_version_2() {
    let (_api, mut server) = session();
    server.send_raw(b"junk\n[]\n{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n");
    still_works(&mut server);
    for line in server.stdout().lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
}
