//! Unix sockets as stdin and stdout, which is what a Node host gives its children.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use kaval_fake_api::{Api, default_reply};
use serde_json::json;

use crate::harness::{Kaval, Launch, PATIENCE};

struct Ends {
    server: Kaval,
    input: UnixStream,
}

fn over_sockets(api: &Api) -> Ends {
    let (input, child_input) = UnixStream::pair().unwrap();
    let (output, child_output) = UnixStream::pair().unwrap();
    let mut command = Launch::on(api).into_command();
    let child = command
        .stdin(Stdio::from(OwnedFd::from(child_input)))
        .stdout(Stdio::from(OwnedFd::from(child_output)))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command keeps its copies of the child's ends until it is dropped.
    drop(command);
    let keep = input.try_clone().unwrap();
    let mut server = Kaval::around(child, Some(Box::new(input)), output);
    server.initialize("2025-11-25");
    Ends { server, input: keep }
}

#[test]
fn calls_work_over_unix_sockets() {
    let api = Api::start_default();
    let mut ends = over_sockets(&api);
    for _ in 0..20 {
        ends.server.success("check", &json!({"action": "a"}));
    }
    let ids: Vec<u64> = (0..300).map(|_| ends.server.begin("list_sources", &json!({}))).collect();
    for id in ids {
        ends.server.success_of(id);
    }
}

#[test]
fn end_of_input_on_a_socket_drains_and_ends_with_0() {
    let api = Api::start(|request| default_reply(request).after(Duration::from_millis(500)));
    let mut ends = over_sockets(&api);
    let id = ends.server.begin("check", &json!({"action": "a"}));
    assert!(api.wait_for_requests(1, PATIENCE));
    ends.input.shutdown(std::net::Shutdown::Write).unwrap();
    ends.server.success_of(id);
    assert_eq!(ends.server.exit(Duration::from_secs(2)).unwrap().code(), Some(0));
}

#[test]
fn large_answers_pass_a_small_socket_buffer_whole() {
    let pad = "z".repeat(2 * 1024 * 1024);
    let body = json!({"deleted": true, "pad": pad}).to_string();
    let sent = body.clone();
    let api = Api::start(move |_| kaval_fake_api::Reply::new(200, sent.clone()));
    let mut ends = over_sockets(&api);
    assert_eq!(ends.server.success("remove_source", &json!({"id": crate::harness::ID})), body);
}

#[test]
fn files_as_stdin_and_stdout_work() {
    let api = Api::start_default();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    let script = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_sources","arguments":{}}}"#,
        "\n"
    );
    std::fs::write(&input, script).unwrap();
    let output = folder.path().join("out");
    let status = Launch::on(&api)
        .into_command()
        .stdin(std::fs::File::open(&input).unwrap())
        .stdout(std::fs::File::create(&output).unwrap())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    let lines = std::fs::read_to_string(&output).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.contains("\"id\":2") && lines.contains("sources"), "{lines}");
}
