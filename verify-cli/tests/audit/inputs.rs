//! Files, folders, streams and everything that can be wrong with them.

use crate::support::{Room, gzip, padded_receipt, receipt, tampered};
use std::fs;

#[test]
fn a_folder_is_read_in_the_order_of_path_bytes() {
    let room = Room::new();
    for name in ["b.json", "a/z.json", "a.json", "a-b.json", "B.json", "a/b/c.json"] {
        room.put(name, receipt(name));
    }
    room.put("a/m.jsonl", format!("{}\n{}\n", receipt("m1"), receipt("m2")));
    room.put("readme.md", "ignored");
    let expected = [
        "in/B.json accepted",
        "in/a-b.json accepted",
        "in/a.json accepted",
        "in/a/b/c.json accepted",
        "in/a/m.jsonl:1 accepted",
        "in/a/m.jsonl:2 accepted",
        "in/a/z.json accepted",
        "in/b.json accepted",
    ];
    for jobs in ["1", "7"] {
        let run = room.json(&["in", "--jobs", jobs]);
        assert_eq!(run.codes(), expected);
        assert_eq!(run.summary["ignored_files"], 1);
    }
}

#[test]
fn lines_are_counted_and_blank_ones_skipped() {
    let room = Room::new();
    let text = format!("{}\r\n\r\n \t\n{}\n\n{}", receipt("a"), tampered("b"), receipt("c"));
    let expected = ["-:1 accepted", "-:4 signature_invalid", "-:6 accepted"];
    let mut command = room.audit(&["-", "--format", "json"]);
    let run = crate::support::Run::of(command.write_stdin(text));
    assert_eq!(run.codes(), expected);
}

#[test]
fn encodings_that_are_not_plain_utf8_are_outcomes_with_a_hint() {
    let room = Room::new();
    let receipt = receipt("a");
    let utf16: Vec<u8> =
        [0xFEFF].into_iter().chain(receipt.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    room.put("1-bom.json", format!("\u{feff}{receipt}"));
    room.put("2-utf16.json", utf16);
    room.put("3-nul.json", format!("{receipt}\0"));
    room.put("4-empty.json", "");
    room.put(
        "5-latin1.json",
        receipt
            .replace("xxxxxxxxxx", "?")
            .into_bytes()
            .iter()
            .map(|&byte| if byte == b'?' { 0xE9 } else { byte })
            .collect::<Vec<u8>>(),
    );
    let run = room.json(&["in"]);
    for (row, hint) in [(0, "byte order mark"), (1, "UTF-16"), (2, "NUL"), (3, "empty")] {
        assert_eq!(run.rows[row]["code"], "malformed");
        assert!(run.detail(row).contains(hint), "{}", run.detail(row));
    }
    assert_eq!(run.rows[4]["code"], "signature_invalid");
}

#[test]
fn compressed_files_are_read_and_damaged_ones_told_after_what_could_be_read() {
    let room = Room::new();
    let lines: String = (0..2_000).map(|id| format!("{}\n", padded_receipt(&id.to_string(), 200))).collect();
    room.put("1-one.json.gz", gzip(receipt("one").as_bytes()));
    room.put("2-cut.json.gz", &gzip(receipt("cut").as_bytes())[..60]);
    room.put("3-not.json.gz", receipt("plain"));
    let whole = gzip(lines.as_bytes());
    room.put("4-many.ndjson.gz", [&whole[..], &gzip(receipt("last").as_bytes())].concat());
    room.put("5-cut.jsonl.gz", &whole[..whole.len() / 2]);
    let run = room.json(&["in"]);
    let codes = run.codes();
    assert_eq!(codes[0], "in/1-one.json.gz accepted");
    assert_eq!(codes[1], "in/2-cut.json.gz unreadable");
    assert!(run.detail(1).contains("ends too early"), "{}", run.detail(1));
    assert_eq!(codes[2], "in/3-not.json.gz unreadable");
    assert!(run.detail(2).contains("not gzip"), "{}", run.detail(2));
    assert_eq!(codes[3 + 2_000], "in/4-many.ndjson.gz:2001 accepted");
    let cut = &codes[3 + 2_001..];
    let (last, before) = cut.split_last().expect("rows");
    assert!(before.len() > 500 && before.iter().all(|row| row.ends_with(" accepted")), "{}", before.len());
    assert_eq!(*last, format!("in/5-cut.jsonl.gz:{} unreadable", before.len() + 1));
    assert_eq!(run.code, 2);
}

#[test]
fn inputs_that_are_missing_or_named_otherwise_are_unreadable() {
    let room = Room::new();
    room.put("good.json", receipt("a"));
    room.put("receipt.txt", receipt("b"));
    let run = room.json(&["in/good.json", "in/receipt.txt", "nowhere", "nowhere.json", "in/good.json"]);
    let expected = [
        "in/good.json accepted",
        "in/receipt.txt unreadable",
        "nowhere unreadable",
        "nowhere.json unreadable",
        "in/good.json accepted",
    ];
    assert_eq!(run.codes(), expected);
    assert!(run.detail(1).contains(".json"), "{}", run.detail(1));
    assert!(run.detail(2).contains("no such file or folder"), "{}", run.detail(2));
}

#[cfg(unix)]
#[test]
fn links_loops_and_special_files_hold_nothing_up() {
    use std::os::unix::fs::symlink;
    let room = Room::new();
    let at = |name: &str| room.path("in").join(name);
    room.put("real/one.json", receipt("one"));
    symlink("real", at("link-to-folder")).expect("a link");
    symlink("..", at("real/up")).expect("a link");
    symlink("one.json", at("real/two.json")).expect("a link");
    symlink("nowhere", at("dangling.json")).expect("a link");
    symlink("loop.json", at("loop.json")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(at("pipe.json")).status().expect("mkfifo runs");
    assert!(made.success());
    let run = room.json(&["in", "in/pipe.json"]);
    let expected = [
        "in/dangling.json unreadable",
        "in/loop.json unreadable",
        "in/pipe.json unreadable",
        "in/real/one.json accepted",
        "in/real/two.json accepted",
        "in/pipe.json unreadable",
    ];
    assert_eq!(run.codes(), expected);
    assert_eq!(run.summary["links_not_entered"], 2);
    // A link to a folder that is given is one that was asked for.
    assert_eq!(room.json(&["in/link-to-folder"]).codes().len(), 2);
}

#[cfg(unix)]
#[test]
fn names_are_shown_and_never_obeyed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let room = Room::new();
    room.put("a\u{1b}[2J\u{9b}\n.json", receipt("é\u{202e}😀"));
    fs::write(room.path("in").join(OsStr::from_bytes(b"z\xff.json")), "{}").expect("a file");
    let run = room.json(&["in"]);
    assert_eq!(run.rows[0]["source"], "in/a\u{1b}[2J\u{9b}\n.json");
    assert_eq!(run.rows[0]["receipt_id"], "é\u{202e}😀");
    assert_eq!(run.rows[1]["source"], "in/z\u{fffd}.json");
    for format in ["text", "json", "csv", "junit"] {
        let output = room.audit(&["in", "--format", format, "--require-fresh"]).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let steers =
            |c: char| (c.is_control() && !matches!(c, '\n' | '\r')) || (format == "text" && c == '\u{202e}');
        assert!(!text.contains(steers), "{format}: {text:?}");
        assert!(text.contains("\\u001b[2J\\u009b"), "{format}: {text}");
    }
}
