//! Many calls at once: all answered, none mixed up, bounded upstream.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use kaval_fake_api::{Api, Fault, Reply};
use serde_json::json;

use crate::harness::{Launch, PATIENCE};

/// Calls that may be upstream at one time.
const MAX_UPSTREAM: usize = 64;
/// Calls that may wait for a place.
const MAX_WAITING: usize = 1024;

#[test]
fn a_thousand_calls_at_once_are_each_answered_with_their_own_body() {
    let api = Api::start(|request| {
        let action = request.json()["action"].as_str().unwrap().to_owned();
        Reply::new(
            200,
            json!({"decision": "REVIEW", "reason_codes": [], "facts": [], "receipt": {}, "latency_ms": {}, "echo": action}).to_string(),
        )
        .after(Duration::from_millis(20))
    });
    let mut server = Launch::on(&api).open();
    let ids: Vec<u64> =
        (0..1000).map(|number| server.begin("check", &json!({"action": format!("call {number}")}))).collect();
    for (number, id) in ids.into_iter().enumerate() {
        let text = server.success_of(id);
        assert!(text.contains(&format!("\"call {number}\"")), "{number}: {text}");
    }
    assert_eq!(api.count(), 1000);
    assert!(api.peak_in_flight() > 16, "calls ran one after another");
    assert!(api.peak_in_flight() <= MAX_UPSTREAM, "{} upstream at once", api.peak_in_flight());
}

#[test]
fn answers_come_out_of_order_when_the_api_gives_them_so() {
    let api = Api::start(|request| {
        let slow = request.text().contains("slow");
        kaval_fake_api::default_reply(request).after(Duration::from_millis(if slow { 600 } else { 0 }))
    });
    let mut server = Launch::on(&api).open();
    let slow = server.begin("check", &json!({"action": "slow"}));
    let quick = server.begin("check", &json!({"action": "quick"}));
    let first = server.find(PATIENCE, |message| message["id"] == slow || message["id"] == quick).unwrap().1;
    assert_eq!(first["id"], quick);
    server.result(slow);
}

#[test]
fn beyond_the_waiting_room_calls_are_told_so_at_once() {
    let api = Api::start(|_| Reply::fault(Fault::Hang));
    let mut server = Launch::on(&api).deadline_ms(4000).open();
    let over = 40;
    let total = MAX_UPSTREAM + MAX_WAITING + over;
    let start = Instant::now();
    let ids: Vec<u64> = (0..total).map(|_| server.begin("check", &json!({"action": "a"}))).collect();
    let mut codes = Vec::new();
    for id in ids {
        codes.push(server.failure_of(id)["error"].as_str().unwrap().to_owned());
    }
    let overloaded = codes.iter().filter(|code| *code == "overloaded").count();
    let kinds: HashSet<&String> = codes.iter().collect();
    assert_eq!(overloaded, over, "{kinds:?}");
    // The waiting ones end inside their own deadline, not one deadline after another.
    assert!(
        codes.iter().filter(|code| *code == "timeout").count() == MAX_UPSTREAM + MAX_WAITING,
        "{kinds:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    assert!(api.peak_in_flight() <= MAX_UPSTREAM, "{} upstream at once", api.peak_in_flight());
}

#[test]
fn two_calls_under_one_id_do_not_end_the_session() {
    let api = Api::start(|request| kaval_fake_api::default_reply(request).after(Duration::from_millis(100)));
    let mut server = Launch::on(&api).open();
    for _ in 0..2 {
        server.send(&json!({"jsonrpc": "2.0", "id": 5000, "method": "tools/call", "params": {"name": "list_sources", "arguments": {}}}));
    }
    assert!(server.response_within(5000, PATIENCE).is_some());
    server.success("list_sources", &json!({}));
}

/// The client sends and does not read: what waits for it is bounded, and nothing is lost.
#[test]
fn no_call_goes_upstream_while_the_client_does_not_read() {
    const CALLS: usize = 160;
    // A text and a structured result: more than 32 answers are over the 64 MiB that may wait.
    let body = format!("{{\"decision\":\"ALLOW\",\"x\":\"{}\"}}", "x".repeat(1 << 20));
    let api = Api::start(move |_| Reply::new(200, body.clone()));
    let mut child =
        Launch::on(&api).into_command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}});
    writeln!(input, "{start}").unwrap();
    for id in 1..=CALLS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "check", "arguments": {"action": "a"}}});
        writeln!(input, "{call}").unwrap();
    }
    assert!(api.wait_for_requests(MAX_UPSTREAM, PATIENCE));
    let mut sent = 0;
    while api.count() > sent {
        sent = api.count();
        std::thread::sleep(Duration::from_secs(2));
    }
    // The first calls went before any answer was there; each answer up to the limit let one more through.
    assert!(sent < MAX_UPSTREAM + 50, "{sent} of {CALLS} calls went upstream with nobody reading");

    drop(input);
    let mut seen = HashSet::new();
    for line in output.lines() {
        let message: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_ne!(message["result"]["isError"], true, "{:.200}", message["result"]["content"].to_string());
        assert!(seen.insert(message["id"].as_u64()), "{} came twice", message["id"]);
    }
    assert_eq!(seen.len(), CALLS + 1);
    assert!(child.wait().unwrap().success());
}
