//! How reports are spelled and where they go.

use crate::support::{Room, names, receipt, tampered, unknown_key};
use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

fn mixed(room: &Room) {
    room.put("a.json", receipt("a"));
    room.put("b.jsonl", [tampered("=cmd|x"), unknown_key("c,\\\"d\\\""), "{".into()].join("\n"));
}

fn stdout(room: &Room, arguments: &[&str]) -> (i32, String) {
    let output = room.audit(arguments).output().expect("it runs");
    (output.status.code().expect("a code"), String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn csv_has_a_header_and_cells_no_spreadsheet_runs() {
    let room = Room::new();
    mixed(&room);
    let (code, text) = stdout(&room, &["in", "--format", "csv"]);
    assert_eq!(code, 2);
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines[0], "source,line,receipt_id,decision,key_id,sha256,accepted,code,exit_code,detail");
    assert!(lines[1].starts_with("in/a.json,,a,ALLOW,example-key-2026,sha256:"), "{text}");
    assert!(lines[1].ends_with(",true,accepted,0,"), "{text}");
    assert!(lines[2].starts_with("in/b.jsonl,1,'=cmd|x,ALLOW,"), "{text}");
    assert!(lines[3].starts_with("in/b.jsonl,2,\"c,\"\"d\"\"\",ALLOW,another-key,"), "{text}");
    assert!(lines[4].starts_with("in/b.jsonl,3,,,,,false,malformed,2,"), "{text}");
    assert_eq!(lines.len(), 5);
}

#[test]
fn junit_counts_first_and_has_one_test_case_a_receipt() {
    let room = Room::new();
    mixed(&room);
    let (code, text) = stdout(&room, &["in", "--format", "junit"]);
    assert_eq!(code, 2);
    assert!(text.contains("tests=\"4\" failures=\"2\" errors=\"1\" skipped=\"0\""), "{text}");
    assert_eq!(text.matches("<testcase ").count(), 4);
    assert!(text.contains("classname=\"in/b.jsonl\" name=\"line 2: c,&quot;d&quot;\""), "{text}");
    assert!(text.contains("<failure type=\"signature_invalid\""), "{text}");
    assert!(text.contains("<error type=\"malformed\""), "{text}");
    // Python's parser is the strictest at hand; without it the counts above must do.
    let mut parser = match Command::new("python3")
        .args(["-c", "import sys,xml.dom.minidom as m; m.parseString(sys.stdin.buffer.read())"])
        .stdin(Stdio::piped())
        .spawn()
    {
        Ok(parser) => parser,
        Err(_) => return eprintln!("skipped: no python3 to parse the XML with"),
    };
    std::io::Write::write_all(&mut parser.stdin.take().expect("a pipe"), text.as_bytes()).expect("written");
    assert!(parser.wait().expect("it ran").success(), "{text}");
}

#[test]
fn text_gives_totals_and_what_needs_attention() {
    let room = Room::new();
    mixed(&room);
    room.put("notes.md", "");
    let (_, text) = stdout(&room, &["in", "--format", "text"]);
    for words in [
        "4 receipts audited at 2026-08-01T10:00:00Z",
        "✓ accepted",
        "3 need attention",
        "signature_invalid  in/b.jsonl:1  =cmd|x",
        "completeness not checked",
        "1 not named as receipts, ignored",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    room.put("many.jsonl", "{\n".repeat(300));
    let (_, text) = stdout(&room, &["in", "--format", "text"]);
    assert!(text.contains("303 need attention") && text.contains("… and 203 more"), "{text}");
    assert_eq!(
        text.matches("\n  malformed ").count()
            + text.matches("\n  signature_invalid ").count()
            + text.matches("\n  key_unknown ").count(),
        100
    );
    let quiet = stdout(&room, &["in/a.json", "--format", "text", "--quiet"]);
    assert_eq!(quiet, (0, "1 receipt audited at 2026-08-01T10:00:00Z\n".to_owned()));
}

#[test]
fn text_compares_with_the_expected_ids() {
    let room = Room::new();
    mixed(&room);
    fs::write(room.path("ids"), "a\nghost\u{1b}\n").expect("a file");
    let (code, text) = stdout(&room, &["in/a.json", "--format", "text", "--expect-ids", "ids"]);
    assert_eq!(code, 5);
    assert!(text.contains("✗ 1 missing\n      ghost\\u001b\n"), "{text}");
    assert!(!text.contains("completeness not checked"), "{text}");
    fs::write(room.path("ids"), "a\n").expect("a file");
    let (code, text) = stdout(&room, &["in/a.json", "--format", "text", "--expect-ids", "ids"]);
    assert_eq!(code, 0);
    assert!(text.contains("✓ all of them are there, and no other"), "{text}");
}

#[test]
fn the_page_is_self_contained_and_values_are_never_markup() {
    let room = Room::new();
    room.put("a.json", receipt("</script><img src=x onerror=alert(1)>"));
    let (code, text) = stdout(&room, &["in", "--format", "html"]);
    assert_eq!(code, 0);
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
    assert_eq!(text.matches("</script>").count(), 3, "the three scripts of the page");
    assert!(text.contains("\\u003c/script\\u003e\\u003cimg src=x"));
    for outside in ["http://", "https://", "src=\"", "@import", "url("] {
        assert!(!text.contains(outside), "{outside}");
    }
}

#[test]
fn the_page_rounds_shares_and_puts_words_beside_the_exit_code() {
    let room = Room::new();
    room.put("a.json", receipt("a"));
    room.put("b.json", receipt("b"));
    room.put("c.json", "{}");
    room.put("notes.txt", "");
    let (code, text) = stdout(&room, &["in", "--format", "html"]);
    assert_eq!(code, 2);
    for part in
        ["33.3 %", "66.7 %", "Exit code 2: at worst, something could not be checked.", "1 file not named"]
    {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_report_file_appears_whole_or_not_at_all() {
    let room = Room::new();
    mixed(&room);
    let command = |place: &str, format: &str| {
        let output = room.audit(&["in", "--format", format, "--output", place]).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().expect("a code"), text(&output.stdout), text(&output.stderr))
    };
    for format in ["json", "csv", "junit", "html", "text"] {
        let (code, stdout, stderr) = command("report", format);
        assert_eq!((code, &*stdout), (2, ""));
        assert!(stderr.contains("4 audited: 1 accepted, 3 need attention"), "{stderr}");
        assert!(fs::read(room.path("report")).expect("a file").len() > 300, "{format}");
    }
    for place in ["nowhere/report", "in", "keys.json/report"] {
        let (code, stdout, _) = command(place, "json");
        assert_eq!(code, 2, "{place}");
        assert!(
            stdout.contains(r#""code":"unwritable""#) && stdout.contains("cannot be written"),
            "{stdout}"
        );
    }
    assert_eq!(names(&room.path("")), ["in", "keys.json", "report"]);
}

#[test]
fn a_report_never_replaces_what_the_run_reads() {
    let room = Room::new();
    let kept = room.put("a.json", receipt("a"));
    fs::write(room.path("ids.txt"), "a").expect("a file");
    let files =
        || ["in/a.json", "keys.json", "ids.txt"].map(|name| fs::read(room.path(name)).expect("a file"));
    let before = files();
    let run = |input: &str, place: &str| {
        let output =
            room.audit(&[input, "--expect-ids", "ids.txt", "--output", place, "--format", "json"]).output();
        let output = output.expect("it runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let kept = kept.to_str().expect("UTF-8");
    for (input, place) in [
        ("in/a.json", "in/a.json"),
        ("in", kept),
        ("in", "./in/../in/a.json"),
        ("in", "keys.json"),
        ("in", "ids.txt"),
    ] {
        let (code, stdout) = run(input, place);
        assert_eq!(code, Some(2), "{place}");
        assert!(stdout.contains(r#""code":"usage""#) && stdout.contains("would replace"), "{stdout}");
        assert_eq!(files(), before, "{place}");
    }
    // A report that counts as no receipt may lie in the folder, and be renewed there.
    for _ in 0..2 {
        assert_eq!(run("in", "in/report.txt"), (Some(0), String::new()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_that_fails_is_never_success() {
    let room = Room::new();
    room.put("a.json", receipt("a"));
    for format in ["json", "csv", "junit", "html", "text"] {
        let full = fs::File::options().write(true).open("/dev/full").expect("a device");
        let status = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
            .current_dir(room.path(""))
            .args(["audit", "in", "--keyset", "keys.json", "--format", format])
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        assert_eq!(status.status.code(), Some(2), "{format}");
        assert!(String::from_utf8_lossy(&status.stderr).contains("cannot be written"));
        let output =
            room.audit(&["in", "--format", format, "--output", "/dev/full"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{format}");
    }
}

#[cfg(unix)]
#[test]
fn an_output_that_is_a_device_or_a_link_stays_one() {
    let room = Room::new();
    room.put("a.json", receipt("a"));
    fs::write(room.path("target"), "old").expect("a file");
    std::os::unix::fs::symlink("target", room.path("link")).expect("a link");
    let run =
        |place: &str| room.audit(&["in", "--format", "csv", "--output", place]).output().expect("it runs");
    assert_eq!(run("link").status.code(), Some(0));
    assert!(fs::symlink_metadata(room.path("link")).expect("it is there").is_symlink());
    assert!(fs::read_to_string(room.path("target")).expect("a file").starts_with("source,"));
    let output = run("/dev/stdout");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("source,"));
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let room = Room::new();
    let line = receipt("a");
    room.put("many.jsonl", format!("{line}\n").repeat(3_000));
    let mut child = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
        .current_dir(room.path(""))
        .args(["audit", "in", "--keyset", "keys.json", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut first = [0; 10];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("some output");
    // The pipe is closed here, long before the end.
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("unwritable") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_reader_that_goes_away_does_not_leave_the_run_waiting_for_input() {
    let room = Room::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
        .current_dir(room.path(""))
        .args(["audit", "-", "--keyset", "keys.json", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    let lines = format!("{}\n", "{".repeat(100)).repeat(3_000);
    // It may end before it took everything.
    let _ = std::io::Write::write_all(&mut stdin, lines.as_bytes());
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    drop(stdin);
}

/// Runs a shell command on a terminal of its own and answers what appeared there; none without `script`.
#[cfg(target_os = "linux")]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn on_terminal(room: &Room, command: &str) -> Option<String> {
    let output = Command::new("script")
        .current_dir(room.path(""))
        .args(["--quiet", "--return", "--command", command, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_shown_on_a_terminal_after_a_while_and_taken_away() {
    let room = Room::new();
    let path = room.put("a.jsonl", format!("{}\n", receipt("a")));
    let (binary, path) = (env!("CARGO_BIN_EXE_receipt-verify"), path.display());
    let slow = format!("(cat '{path}'; sleep 1.8; cat '{path}') | '{binary}' audit - --keyset keys.json");
    let run = |flags: &str| on_terminal(&room, &format!("{slow} {flags}"));
    let Some(shown) = run("--format text") else {
        return eprintln!("skipped: no script(1) to make a terminal with");
    };
    assert!(shown.contains("\r\u{1b}[K2 receipts, 0 need attention, "), "{shown:?}");
    assert!(shown.contains("/s\r\u{1b}[K2 receipts audited"), "{shown:?}");
    for flags in ["--format text --quiet", "--format json", "--format text 2>/dev/null"] {
        let shown = run(flags).expect("it worked before");
        assert!(!shown.contains("need attention, "), "{flags}: {shown:?}");
    }
}

#[test]
fn csv_has_its_totals_beside_it() {
    let room = Room::new();
    mixed(&room);
    let stderr = |flags: &[&str]| {
        let output = room.audit(&[&["in", "--format", "csv"], flags].concat()).output().expect("it runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(stderr(&[]), "receipt-verify: 4 audited: 1 accepted, 3 need attention; exit code 2\n");
    assert_eq!(stderr(&["--quiet"]), "");
    fs::write(room.path("ids"), "a\nb\n").expect("a file");
    assert!(stderr(&["--expect-ids", "ids"]).contains(", 1 ids missing, 2 unexpected;"));
}

#[cfg(unix)]
#[test]
fn runs_that_cannot_start_say_why() {
    let room = Room::new();
    room.put("a.json", receipt("a"));
    fs::write(room.path("broken.json"), "{").expect("a file");
    for (flags, words) in [
        (&["--keyset", "nowhere.json"][..], "unreadable: nowhere.json"),
        (&["--keyset", "broken.json"], "keys_malformed: broken.json"),
        (&["--keys", "nowhere"], "unreadable: nowhere"),
        (&["--keys", "in/../in", "--jobs", "1"], "keys_malformed: in/../in/a.json"),
        (&["--keyset", "keys.json", "--jobs", "513"], "--jobs takes a number from 1 to 512"),
        (&["--keyset", "keys.json", "--jobs", "0"], "--jobs"),
        (&["--keyset", "keys.json", "--at", "yesterday"], "--at"),
        (&["--keyset", "keys.json", "--keys", "in"], "cannot be used with"),
        (&[], "--keyset"),
    ] {
        let mut command = room.bare_audit(&["in", "--format", "junit"]);
        if flags.contains(&"--at") {
            command = Command::new(env!("CARGO_BIN_EXE_receipt-verify")).into();
            command.current_dir(room.path("")).args(["audit", "in", "--format", "junit"]);
        }
        let output = command.args(flags).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words) && output.stdout.is_empty(), "{stderr}");
    }
    let output =
        room.audit(&["in", "--format", "junit"]).env("TMPDIR", "/nowhere").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("temporary file"));
}
