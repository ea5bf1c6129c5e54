//! How a session ends: running calls are answered, signals stop at once, orphans do not linger.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kaval_fake_api::{Api, Fault, Reply, default_reply, wait_until};
use rustix::process::Signal;
use serde_json::json;

use crate::harness::{Launch, PATIENCE};

#[test]
fn end_of_input_ends_the_process_with_0() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    server.success("list_sources", &json!({}));
    let start = Instant::now();
    server.close_input();
    assert_eq!(server.exit(PATIENCE).unwrap().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn end_of_input_before_anything_ends_with_0() {
    let finished = Launch::bare().env("KAVAL_API_KEY", "k").run();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    assert_eq!(finished.stdout, "");
}

#[test]
fn running_calls_are_answered_after_end_of_input() {
    // Longer than the five seconds after which the protocol library would give up on its own.
    let api = Api::start(|request| default_reply(request).after(Duration::from_millis(6000)));
    let mut server = Launch::on(&api).open();
    let calls: Vec<u64> = (0..3).map(|_| server.begin("check", &json!({"action": "a"}))).collect();
    assert!(api.wait_for_requests(3, PATIENCE));
    server.close_input();
    for id in calls {
        assert_ne!(server.result(id)["isError"], true);
    }
    assert_eq!(server.exit(Duration::from_secs(2)).unwrap().code(), Some(0));
}

#[test]
fn a_call_sent_just_before_the_end_is_answered() {
    let api = Api::start_default();
    for _ in 0..20 {
        let mut server = Launch::on(&api).open();
        let id = server.begin("check", &json!({"action": "a"}));
        server.close_input();
        assert_ne!(server.result(id)["isError"], true);
        assert_eq!(server.exit(PATIENCE).unwrap().code(), Some(0));
    }
}

#[test]
fn a_hanging_call_ends_the_process_at_its_deadline() {
    let api = Api::start(|_| Reply::fault(Fault::Hang));
    let mut server = Launch::on(&api).deadline_ms(1200).open();
    let id = server.begin("check", &json!({"action": "a"}));
    assert!(api.wait_for_requests(1, PATIENCE));
    server.close_input();
    assert_eq!(server.failure_of(id)["error"], "timeout");
    assert_eq!(server.exit(Duration::from_secs(2)).unwrap().code(), Some(0));
}

#[test]
fn a_last_line_without_newline_is_no_reason_to_hang() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    server.send_raw(br#"{"jsonrpc":"2.0","id":77,"method":"ping"}"#);
    server.close_input();
    assert_eq!(server.exit(PATIENCE).unwrap().code(), Some(0));
}

#[test]
fn signals_stop_at_once_and_close_upstream() {
    for signal in [Signal::TERM, Signal::INT] {
        let api = Api::start(|_| Reply::fault(Fault::Hang));
        let mut server = Launch::on(&api).open();
        server.begin("check", &json!({"action": "a"}));
        assert!(api.wait_for_requests(1, PATIENCE));
        let start = Instant::now();
        server.signal(signal);
        assert_eq!(server.exit(PATIENCE).unwrap().code(), Some(0), "{signal:?}");
        assert!(start.elapsed() < Duration::from_secs(1), "{signal:?}: {:?}", start.elapsed());
        assert!(api.wait_for_aborts(1, PATIENCE));
    }
}

#[test]
fn a_signal_while_idle_ends_with_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let api = Api::start_default();
        let mut server = Launch::on(&api).open();
        server.signal(signal);
        assert_eq!(server.exit(PATIENCE).unwrap().code(), Some(0), "{signal:?}");
    }
}

#[test]
fn a_reader_that_went_away_ends_the_process() {
    let api = Api::start_default();
    let mut command = Launch::on(&api).into_command();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let ended = wait_until(PATIENCE, || {
        let _ = stdin.write_all(line.as_bytes());
        child.try_wait().unwrap().is_some()
    });
    let _ = child.kill();
    let status = child.wait().unwrap();
    assert!(ended, "still running without a reader");
    assert!(status.code().is_some(), "died of a signal: {status}");
}

#[test]
fn running_calls_are_dropped_when_the_parent_is_gone() {
    // A shell starts the server and dies of SIGKILL; the server's stdin comes from the shell's own pipe,
    // so it sees the end of input and a new parent at the same time.
    let api = Api::start(|_| Reply::fault(Fault::Hang));
    let call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"check\",\"arguments\":{\"action\":\"a\"}}}\n";
    let mut shell = Command::new("/bin/sh")
        .arg("-c")
        // The server reads a FIFO that this shell alone keeps open; `read` blocks without a child.
        .arg("exec 3<>\"$FIFO\"; printf '%s' \"$CALL\" >&3; \"$BIN\" <\"$FIFO\" 3<&- >/dev/null & echo $!; read x")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("BIN", env!("CARGO_BIN_EXE_kaval-mcp"))
        .env("CALL", call)
        .env("KAVAL_API_KEY", "k")
        .env("KAVAL_BASE_URL", api.url())
        .env("FIFO", fifo().as_os_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.stdout.take().unwrap()), &mut line)
        .unwrap();
    let pid: i32 = line.trim().parse().unwrap();
    assert!(api.wait_for_requests(1, PATIENCE));
    let start = Instant::now();
    shell.kill().unwrap();
    shell.wait().unwrap();
    let gone = wait_until(PATIENCE, || is_gone(pid));
    assert!(gone, "the server outlives its parent");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert!(api.wait_for_aborts(1, PATIENCE), "upstream stays open");
}

fn fifo() -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("kaval-mcp-test-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

/// True once the process is no more, or a zombie nobody has waited for yet.
fn is_gone(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}
