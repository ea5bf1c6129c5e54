//! The command under the name of the reference, `kaval-receipt-verify`.

use super::support::{AT, Run, finish, input};
use assert_cmd::Command;
use std::fs;
use std::os::unix::fs::symlink;

fn run(arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("kaval-receipt-verify");
    symlink(env!("CARGO_BIN_EXE_receipt-verify"), &program).expect("a link");
    let inputs = input("");
    let run = finish(Command::new(program).current_dir(inputs).args(arguments));
    assert_eq!(run.stderr, "", "{arguments:?}");
    run
}

#[test]
fn results_end_with_0_or_1_and_have_no_member_of_ours() {
    let keys = ["--keyset", "keys.json", "--at", AT];
    for (arguments, code) in [
        (&["allow.json"][..], 0),
        (&["verify", "allow.json"], 0),
        (&["block.json", "--derive-verdict"], 0),
        (&["changed-byte.json"], 1),
        (&["unknown-key.json"], 1),
        (&["other-algorithm.json"], 1),
        // The verdict is derived only when that is asked for.
        (&["verdict-mismatch.json"], 0),
        (&["verdict-mismatch.json", "--derive-verdict"], 1),
        (&["packet.json", "--require-fresh"], 0),
        (&["allow.json", "--require-fresh"], 1),
        (&["wrapped-packet.json"], 0),
        // The last of a repeated flag wins.
        (&["allow.json", "--keyset", "keys-revoked.json"], 0),
    ] {
        let run = run(&[arguments, &keys].concat());
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stdout);
        let result = run.json();
        assert!(result["scope"].is_string() && result["format"].is_object(), "{result}");
        for ours in ["\"code\"", "\"exit_code\""] {
            assert!(!run.stdout.contains(ours), "{arguments:?}: {ours}");
        }
        assert_eq!(run.stdout.lines().nth(1), Some("  \"contract_version\": \"1\","));
    }
    assert_eq!(run(&["allow.json", "--keyset", "keys-unusable.json"]).code, 1);
}

#[test]
fn compact_results_are_one_line() {
    let run = run(&["allow.json", "--keyset", "keys.json", "--compact"]);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 1));
}

#[test]
fn everything_else_ends_with_2_and_the_failure_object() {
    let keys = ["--keyset", "keys.json"];
    for arguments in [
        &[][..],
        &["verify"],
        &["", "--keyset", "keys.json"],
        &["--keyset", "keys.json"],
        &["allow.json"],
        &["allow.json", "--keyset"],
        &["allow.json", "--keyset", ""],
        &["allow.json", "--keyset", "--compact"],
        &["allow.json", "--keyset", "keys.json", "--key-url", "https://keys.example.com/"],
        &["allow.json", "--keyset", "keys.json", "--max-age", "1h"],
        &["allow.json", "--keyset=keys.json"],
        &["allow.json", "keys.json"],
        &["allow.json", "--keyset", "keys.json", "--at", "yesterday"],
        &["allow.json", "--keyset", "missing.json"],
        &["allow.json", "--keyset", "keys-not-json.json"],
        &["allow.json", "--keyset", "."],
        &["allow.json", "--key-url", "http://127.0.0.1:1/"],
        &["missing.json", "--keyset", "keys.json"],
    ] {
        failed(arguments);
    }
    for receipt in [
        "byte-order-mark.json",
        "duplicate-key.json",
        "empty.json",
        "no-key-id.json",
        "no-receipt.json",
        "no-signature-object.json",
        "nul.json",
        "utf-16.json",
        "wrapped-receipt.json",
        ".",
    ] {
        failed(&[&[receipt][..], &keys].concat());
    }
}

fn failed(arguments: &[&str]) {
    let run = run(arguments);
    assert_eq!(run.code, 2, "{arguments:?}: {}", run.stdout);
    let failure = run.json();
    let message = failure["error"]["message"].as_str().expect("a message");
    assert!(!message.is_empty());
    let expected = serde_json::json!({
        "contract_version": "1", "accepted": false,
        "error": { "code": "verification_failed", "message": message }
    });
    assert_eq!(failure, expected, "{arguments:?}");
    assert!(run.stdout.starts_with("{\n  \"contract_version\"") || arguments.contains(&"--compact"));
}

#[test]
fn compact_anywhere_makes_failures_compact() {
    let run = run(&["--nonsense", "--compact"]);
    assert!(
        run.stdout.starts_with(
            r#"{"contract_version":"1","accepted":false,"error":{"code":"verification_failed","#
        )
    );
}

#[test]
fn usage_errors_carry_the_usage_text_after_a_blank_line() {
    let failure = run(&["allow.json"]).json();
    let message = failure["error"]["message"].as_str().expect("a message");
    assert!(message.contains("\n\nusage: kaval-receipt-verify"), "{message}");
}

#[test]
fn help_wins_over_everything_and_goes_to_stdout() {
    for arguments in [&["--help"][..], &["nonsense", "-h"], &["--keyset", "--help"]] {
        let run = run(arguments);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("--derive-verdict"), "{}", run.stdout);
    }
}

#[test]
fn the_receipt_may_come_from_stdin() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("kaval-receipt-verify");
    symlink(env!("CARGO_BIN_EXE_receipt-verify"), &program).expect("a link");
    let receipt = fs::read(input("allow.json")).expect("an input");
    let keys = input("keys.json");
    let run = finish(Command::new(program).arg("-").arg("--keyset").arg(keys).write_stdin(receipt));
    assert_eq!((run.code, run.json()["accepted"].as_bool()), (0, Some(true)));
}
