//! A canary key is looked for in everything the process writes.

use std::fs;

use kaval_fake_api::{Api, Fault, Reply};
use serde_json::json;

use crate::harness::{Launch, good_calls};

const CANARY: &str = "kv_live_canary-8842-never-print-me";

fn search(what: &str, text: &str) {
    assert!(!text.contains(CANARY), "the key is in {what}: {text}");
    // A part of it long enough to be useful to a thief counts too.
    assert!(!text.contains("canary-8842"), "part of the key is in {what}: {text}");
}

#[test]
fn the_key_is_in_no_output_at_trace_level() {
    let replies: [fn() -> Reply; 8] = [
        || {
            Reply::new(
                200,
                format!(
                    "{{\"decision\":\"ALLOW\",\"echo\":\"{CANARY}\",\"receipt\":{{\"k\":\"{CANARY}\"}},\"sources\":[\"{CANARY}\"]}}"
                ),
            )
        },
        || Reply::error(401, "unauthorized", &format!("the key {CANARY} is not known")),
        || Reply::error(400, CANARY, "Bearer kv_live_canary-8842-never-print-me"),
        || Reply::new(500, format!("<html>{CANARY}</html>")),
        || Reply::new(200, format!("not json {CANARY}")),
        || Reply::new(200, "{}").header("x-request-id", CANARY),
        || Reply::fault(Fault::Reset),
        || Reply::new(410, format!("{{\"error\":\"tool_retired\",\"replacement\":\"{CANARY}\"}}")),
    ];
    for format in ["text", "json"] {
        for reply in replies {
            let api = Api::start(move |_| reply());
            let mut server = Launch::on(&api)
                .env("KAVAL_API_KEY", CANARY)
                .env("KAVAL_LOG", "trace")
                .env("KAVAL_LOG_FORMAT", format)
                .env("RUST_BACKTRACE", "1")
                .deadline_ms(2000)
                .open();
            server.request("tools/list", &json!({}));
            for (tool, arguments) in good_calls() {
                server.call(tool, &arguments);
            }
            assert!(api.requests()[0].header("authorization").unwrap().contains(CANARY), "the case is real");
            server.close_input();
            server.exit(crate::harness::PATIENCE);
            search("stdout", &server.stdout());
            search("stderr", &server.stderr());
            assert!(!server.stderr().is_empty(), "trace says something");
        }
    }
}

#[test]
fn an_escaped_echo_of_the_key_is_masked_too() {
    let escaped: String = CANARY.chars().map(|char| format!("\\u{:04x}", u32::from(char))).collect();
    let api = Api::start(move |_| Reply::new(200, format!("{{\"deleted\":true,\"echo\":\"{escaped}\"}}")));
    let mut server = Launch::on(&api).env("KAVAL_API_KEY", CANARY).open();
    let result = server.call("remove_source", &json!({"id": crate::harness::ID}));
    search("the result", &result.to_string());
    let text = result["content"][0]["text"].as_str().unwrap();
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    search("the decoded text", value["echo"].as_str().unwrap_or_default());
}

#[test]
fn the_key_is_in_no_help_and_no_start_up_error() {
    for arguments in
        [vec!["--help"], vec!["--version"], vec!["tools", "--json"], vec!["--no-such"], vec!["tools"]]
    {
        let mut launch = Launch::bare().env("KAVAL_API_KEY", CANARY).env("KAVAL_LOG", "trace");
        for argument in arguments {
            launch = launch.arg(argument);
        }
        let finished = launch.run();
        search("stdout", &finished.stdout);
        search("stderr", &finished.stderr);
    }
    let finished = Launch::bare()
        .env("KAVAL_API_KEY", CANARY)
        .env("KAVAL_BASE_URL", "junk")
        .env("KAVAL_LOG", "trace")
        .run();
    search("stderr", &finished.stderr);
}

#[test]
fn a_key_from_a_file_is_as_secret() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, CANARY).unwrap();
    let api = Api::start(|request| {
        Reply::error(401, "unauthorized", request.header("authorization").unwrap_or("none"))
    });
    let mut server = Launch::on(&api)
        .without("KAVAL_API_KEY")
        .env_path("KAVAL_API_KEY_FILE", &file)
        .env("KAVAL_LOG", "trace")
        .open();
    let result = server.call("list_sources", &json!({}));
    assert_eq!(api.requests()[0].header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    search("the result", &result.to_string());
    search("stderr", &server.stderr());
}

#[test]
fn arguments_stay_out_of_the_log_below_debug() {
    let api = Api::start(|_| Reply::error(500, "internal", "no"));
    for level in ["warn", "info"] {
        let mut server = Launch::on(&api).env("KAVAL_LOG", level).open();
        server.failure(
            "check",
            &json!({"action": "wire the private-argument-77 amount", "unknown": "private-argument-77"}),
        );
        assert!(!server.stderr().contains("private-argument-77"), "{level}: {}", server.stderr());
    }
}
