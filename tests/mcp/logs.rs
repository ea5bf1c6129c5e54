//! One line per failed call, and nothing on stdout but the protocol.

use kaval_fake_api::{Api, Reply, wait_until};
use serde_json::{Value, json};

use crate::harness::{Launch, PATIENCE};

fn failing() -> Api {
    Api::start(|_| {
        Reply::error(503, "unavailable", "later\nagain \u{1b}[31m").header("x-request-id", "req-5521")
    })
}

#[test]
fn a_failed_call_is_one_line_of_text() {
    let api = failing();
    let mut server = Launch::on(&api).open();
    server.failure("check", &json!({"action": "a"}));
    assert!(wait_until(PATIENCE, || server.stderr().ends_with('\n')));
    let stderr = server.stderr();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    for part in ["[kaval-mcp] tool error:", "check", "unavailable", "503", "req-5521"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert!(!stderr.contains('\u{1b}'), "control characters of the API reach a terminal: {stderr:?}");
}

#[test]
fn a_failed_call_is_one_json_line() {
    let api = failing();
    let mut server = Launch::on(&api).env("KAVAL_LOG_FORMAT", "json").open();
    server.failure("check", &json!({"action": "a"}));
    assert!(wait_until(PATIENCE, || server.stderr().ends_with('\n')));
    let stderr = server.stderr();
    let lines: Vec<Value> = stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    let told = lines[0].to_string();
    for part in ["check", "unavailable", "503", "req-5521", "elapsed"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn refused_arguments_are_logged_too() {
    let api = failing();
    let mut server = Launch::on(&api).open();
    server.failure("get_receipt", &json!({}));
    assert!(wait_until(PATIENCE, || server.stderr().contains("[kaval-mcp] tool error:")));
    assert!(server.stderr().contains("invalid_arguments"), "{}", server.stderr());
}

#[test]
fn a_higher_level_says_nothing_and_a_wrong_one_is_told() {
    let api = failing();
    let mut server = Launch::on(&api).env("KAVAL_LOG", "off").open();
    server.failure("check", &json!({"action": "a"}));
    assert_eq!(server.stderr(), "");
    let finished = Launch::on(&api).env("KAVAL_LOG_FORMAT", "xml").run();
    assert!(finished.stderr.contains("KAVAL_LOG_FORMAT"), "{}", finished.stderr);
}

#[test]
fn a_closed_stderr_ends_no_session() {
    let api = failing();
    let mut command = Launch::on(&api).into_command();
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let stdin = child.stdin.take().map(crate::harness::boxed);
    let stdout = child.stdout.take().unwrap();
    let mut server = crate::harness::Kaval::around(child, stdin, stdout);
    server.initialize("2025-11-25");
    for _ in 0..3 {
        server.failure("check", &json!({"action": "a"}));
    }
}
