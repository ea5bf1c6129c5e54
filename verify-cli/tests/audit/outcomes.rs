//! What becomes of receipts, of the run, and of the list of expected ids.

use crate::support::{Room, keyset, mismatched, receipt, sign, tampered, unknown_key};
use std::fs;

#[test]
fn every_receipt_has_one_row_in_order_and_faults_stop_nothing() {
    let room = Room::new();
    let lines =
        [receipt("a"), tampered("b"), "not JSON".into(), unknown_key("d"), mismatched("e"), receipt("f")];
    room.put("all.jsonl", lines.join("\n"));
    let run = room.json(&["in/all.jsonl"]);
    let expected = [
        "in/all.jsonl:1 accepted",
        "in/all.jsonl:2 signature_invalid",
        "in/all.jsonl:3 malformed",
        "in/all.jsonl:4 key_unknown",
        "in/all.jsonl:5 verdict_mismatch",
        "in/all.jsonl:6 accepted",
    ];
    assert_eq!(run.codes(), expected);
    assert_eq!(run.code, 2);
    let expected = serde_json::json!({
        "total": 6, "accepted": 2, "exit_code": 2,
        "outcomes": {"malformed": 1, "key_unknown": 1, "signature_invalid": 1, "verdict_mismatch": 1, "accepted": 2},
    });
    assert_eq!(run.summary, expected);
}

#[test]
fn the_exit_code_is_the_worst_present() {
    let (good, forged, unknown, inconsistent) =
        (receipt("a"), tampered("b"), unknown_key("c"), mismatched("d"));
    let old = sign(r#"{"id":"e","checked_at":"2026-07-01T00:00:00Z"}"#);
    for (lines, flags, code) in [
        (vec![&good], &[][..], 0),
        (vec![&good, &forged], &[], 1),
        (vec![&good, &inconsistent], &[], 1),
        (vec![&unknown, &forged], &[], 1),
        (vec![&good, &unknown], &[], 3),
        (vec![&good, &old], &["--max-age", "1h"], 4),
        (vec![&old, &unknown], &["--max-age", "1h"], 3),
        (vec![&good], &["--require-decision", "BLOCK"], 5),
        (vec![&good], &["--require-fresh"], 4),
        (vec![&forged, &unknown], &["--require-fresh"], 1),
    ] {
        let room = Room::new();
        room.put("all.jsonl", lines.into_iter().map(|line| format!("{line}\n")).collect::<String>());
        let run = room.json(&[&["in"], flags].concat());
        assert_eq!(
            (run.code, run.summary["exit_code"].as_i64()),
            (code, Some(i64::from(code))),
            "{:?}",
            run.codes()
        );
    }
}

#[test]
fn no_receipt_at_all_is_code_2() {
    let room = Room::new();
    room.put("notes.txt", "");
    room.put("empty.jsonl", "\n \r\n");
    let run = room.json(&["in"]);
    assert_eq!(run.code, 2);
    let expected =
        serde_json::json!({"total": 0, "accepted": 0, "outcomes": {}, "exit_code": 2, "ignored_files": 1});
    assert_eq!(run.summary, expected);
    assert!(run.stderr.contains("there was no receipt"), "{}", run.stderr);
}

#[test]
fn rows_carry_what_could_be_read() {
    let room = Room::new();
    room.put("a.json", receipt("a"));
    room.put("b.json", format!(r#"{{"receipt":{}}}"#, receipt("b")));
    room.put("c.json", sign(r#"{"proof_id":"c"}"#).replace("Ed25519", "RS256"));
    room.put("d.json", "{}");
    let run = room.json(&["in"]);
    let members = |row: usize| {
        // Sorted, for what a map keeps of the order depends on features that others switch on; the next test
        // looks at the order in the text.
        let row = run.rows[row].as_object().expect("an object");
        let mut names: Vec<_> = row.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    };
    let mut whole = ["source", "receipt_id", "decision", "key_id", "sha256", "accepted", "code", "exit_code"];
    whole.sort_unstable();
    assert_eq!(members(0), whole);
    assert_eq!(run.codes()[1], "in/b.json accepted");
    assert_eq!(run.rows[1]["receipt_id"], "b");
    // Malformed, but its canonical bytes exist.
    assert_eq!((&run.rows[2]["code"], &run.rows[2]["receipt_id"]), (&"malformed".into(), &"c".into()));
    assert!(run.rows[2]["sha256"].as_str().is_some_and(|digest| digest.len() == 71), "{:?}", run.rows[2]);
    assert_eq!(members(3), ["accepted", "code", "detail", "exit_code", "source"]);
}

#[test]
fn members_stand_in_the_documented_order() {
    let room = Room::new();
    room.put("a.jsonl", receipt("a"));
    let output =
        room.audit(&["in", "--format", "json", "--require-decision", "BLOCK"]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let members = [
        "source",
        "line",
        "receipt_id",
        "decision",
        "key_id",
        "sha256",
        "accepted",
        "code",
        "exit_code",
        "detail",
    ];
    let positions: Vec<_> = members.iter().map(|member| text.find(&format!("\"{member}\":"))).collect();
    assert!(positions.iter().all(Option::is_some) && positions.is_sorted(), "{text}");
}

#[test]
fn a_keyset_that_cannot_be_used_is_an_outcome_of_every_receipt() {
    let room = Room::new();
    room.put("a.json", receipt("a"));
    fs::write(room.path("keys.json"), r#"{"keys":[{}]}"#).expect("a file");
    let run = room.json(&["in"]);
    assert_eq!((run.code, run.codes()), (2, vec!["in/a.json keys_malformed".to_owned()]));
    assert!(run.rows[0]["sha256"].is_string());
}

#[test]
fn keys_of_a_folder_are_searched_together_and_a_faulty_one_is_named() {
    let room = Room::new();
    room.put("a.json", receipt("a"));
    fs::create_dir(room.path("keys")).expect("a folder");
    let other = keyset(r#"{"status":"active"}"#).replace("example-key", "other-key").replace("A6EH", "B6EH");
    fs::write(room.path("keys/other.json"), other).expect("a file");
    let with_folder = || room.bare_audit(&["in", "--keys", "keys", "--format", "json"]);
    let run = crate::support::Run::of(&mut with_folder());
    assert_eq!((run.code, run.codes()), (3, vec!["in/a.json key_unknown".to_owned()]));

    fs::copy(room.path("keys.json"), room.path("keys/this.json")).expect("a copy");
    assert_eq!(crate::support::Run::of(&mut with_folder()).code, 0);

    let revoked = r#"{"status":"revoked","status_changed_at":"2026-01-01T00:00:00Z","reason":"lost"}"#;
    fs::write(room.path("keys/z.json"), keyset(revoked)).expect("a file");
    let output = with_folder().output().expect("it runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("keys_malformed") && text.contains("z.json"), "{text}");
}

#[test]
fn expected_ids_that_are_missing_or_others_make_the_run_code_5() {
    let room = Room::new();
    room.put("all.jsonl", [receipt("a"), receipt("b"), receipt("x"), receipt("b")].join("\n"));
    fs::write(room.path("ids.txt"), "b\r\n\na\nmissing-1\nmissing-2").expect("a file");
    let run = room.json(&["in", "--expect-ids", "ids.txt"]);
    assert_eq!(run.code, 5);
    let expected = serde_json::json!({
        "total": 4, "accepted": 4, "outcomes": {"accepted": 4}, "exit_code": 5, "expected_ids": 4,
        "missing_ids": 2, "unexpected_ids": 1, "duplicate_ids": 1, "without_id": 0,
        "missing_id_list": ["missing-1", "missing-2"], "unexpected_id_list": ["x"], "duplicate_id_list": ["b"],
    });
    assert_eq!(run.summary, expected);

    fs::write(room.path("ids.json"), r#"["a","b","x"]"#).expect("a file");
    let run = room.json(&["in", "--expect-ids", "ids.json"]);
    assert_eq!((run.code, run.summary["duplicate_ids"].as_i64()), (0, Some(1)));

    fs::write(room.path("bad.json"), "[1]").expect("a file");
    for list in ["bad.json", "nowhere.txt", "in"] {
        let output = room.audit(&["in", "--expect-ids", list]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{list}");
    }
}
