//! The worked examples of the specification, when it is there.

use super::support::shared;
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;

/// Members that hold sentences, which are ours to write.
const TEXTS: [&str; 3] = ["error", "reason", "message"];

#[test]
fn the_worked_examples_agree_in_every_machine_member() {
    let Some(spec) =
        shared().and_then(|folder| fs::read_to_string(folder.join("spec/receipt-verification.md")).ok())
    else {
        println!("skipped: the specification is not there");
        return;
    };
    let (_, examples) = spec.split_once("## 13. Worked examples").expect("section 13");
    let blocks: Vec<&str> =
        examples.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [receipt_1, keys_1, result_1, receipt_2, keys_2, result_2, receipt_3, result_3, receipt_4, result_4] =
        blocks[..]
    else {
        panic!("{} blocks", blocks.len());
    };
    let retired = r#"{"status":"retired","status_changed_at":"2026-09-15T00:00:00Z"}"#;
    assert!(keys_2.contains(retired));
    let compromised =
        r#"{"status":"compromised","status_changed_at":"2026-06-02T12:00:00Z","reason":"HSM export"}"#;
    let keys_3 = keys_2.replace(retired, compromised);
    let keys_4 = keys_2.replace(retired, r#"{"status":"active"}"#);
    for (number, receipt, keys, at, result) in [
        (1, receipt_1, keys_1, "2026-08-01T10:00:00Z", result_1),
        (2, receipt_2, keys_2, "2026-09-20T00:00:00Z", result_2),
        (3, receipt_3, &*keys_3, "2026-06-02T00:00:00.000000001Z", result_3),
        (4, receipt_4, &*keys_4, "2026-06-02T00:00:00Z", result_4),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("kaval-receipt-verify");
        symlink(env!("CARGO_BIN_EXE_receipt-verify"), &program).expect("a link");
        fs::write(folder.path().join("receipt.json"), receipt).expect("a receipt");
        fs::write(folder.path().join("keys.json"), keys).expect("keys");
        let arguments =
            ["receipt.json", "--keyset", "keys.json", "--derive-verdict", "--compact", "--at", at];
        let output =
            Command::new(program).current_dir(folder.path()).args(arguments).output().expect("a run");
        assert!(output.stderr.is_empty());
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        let accepted = printed.contains(r#""accepted":true"#);
        assert_eq!(output.status.code(), Some(i32::from(!accepted)), "example {number}");
        // Order and spelling count, so the texts are compared, sentences put aside.
        assert_eq!(without_sentences(&printed), without_sentences(result), "example {number}");
    }
}

/// The JSON text with the value of every sentence replaced.
fn without_sentences(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    for name in TEXTS {
        let start = format!("\"{name}\":\"");
        let parts: Vec<String> = text.split(&start).map(str::to_owned).collect();
        text = parts
            .iter()
            .enumerate()
            .map(|(index, part)| match (index, part.split_once('"')) {
                (0, _) | (_, None) => part.clone(),
                (_, Some((_, rest))) => format!("{start}…\"{rest}"),
            })
            .collect();
    }
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    text
}
