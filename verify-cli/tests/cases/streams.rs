//! What case files cannot say: pipes, FIFOs, devices, stdin, sizes, names.

use super::support::{AT, active_keyset, command, finish, input, run};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

fn path(name: &str) -> String {
    input(name).to_str().expect("UTF-8").to_owned()
}

fn verify(receipt: &str) -> Vec<String> {
    ["verify", receipt, "--keyset", &path("keys.json"), "--at", AT].map(str::to_owned).to_vec()
}

fn verify_run(receipt: &str) -> super::support::Run {
    let arguments = verify(receipt);
    run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_closed_pipe_is_neither_a_panic_nor_a_success() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
        .args(verify(&path("allow.json")))
        .stdout(Stdio::from(writer))
        .stderr(Stdio::piped())
        .output()
        .expect("a run");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("unwritable") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_full_disk_is_not_a_success() {
    for arguments in [verify(&path("allow.json")), vec!["supported".to_owned()], vec!["--help".to_owned()]] {
        let full = File::options().write(true).open("/dev/full").expect("the device");
        let status = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
            .args(&arguments)
            .stdout(full)
            .stderr(Stdio::null())
            .status()
            .expect("a run");
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn closed_pipes_for_stdout_and_stderr_do_not_panic() {
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    let status = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
        .args(["verify", "missing", "--keyset", "missing", "--format", "text"])
        .stdout(closed())
        .stderr(closed())
        .status()
        .expect("a run");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_dash_reads_the_receipt_from_stdin() {
    let arguments = verify("-");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = finish(command(&arguments).write_stdin(fs::read(input("allow.json")).expect("an input")));
    assert_eq!((run.code, run.failure_code()), (0, "accepted".to_owned()));
    let run = finish(command(&arguments).write_stdin(" ".repeat(8_388_609)));
    assert_eq!((run.code, run.failure_code()), (2, "unreadable".to_owned()));
    assert!(run.stdout.contains("stdin exceeds the 8388608-byte limit"));
}

#[test]
fn a_dash_is_an_ordinary_name_for_a_keyset() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("-"), active_keyset()).expect("a keyset");
    let arguments = ["verify", &path("allow.json"), "--keyset", "-", "--at", AT];
    assert_eq!(finish(command(&arguments).current_dir(folder.path())).code, 0);
}

#[test]
fn special_files_are_unreadable_and_never_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    assert!(Command::new("mkfifo").arg(name("fifo")).status().expect("mkfifo").success());
    symlink(name("fifo"), name("link-to-fifo")).expect("a link");
    symlink(name("loop"), name("loop")).expect("a link");
    symlink(name("nothing"), name("dangling")).expect("a link");
    let special = [name("fifo"), name("link-to-fifo"), name("loop"), name("dangling"), name("missing")];
    let others = [name(""), "/dev/zero".to_owned(), "/dev/null".to_owned()];
    for special in special.iter().chain(&others) {
        let run_as_receipt = verify_run(special);
        assert_eq!(
            (run_as_receipt.code, run_as_receipt.failure_code()),
            (2, "unreadable".to_owned()),
            "{special}"
        );
        let run = run(&["verify", &path("allow.json"), "--keyset", special]);
        assert_eq!((run.code, run.failure_code()), (2, "unreadable".to_owned()), "{special}");
    }
}

#[test]
fn sizes_are_limited_to_the_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let padded = |text: &[u8], length: usize| [text.to_vec(), vec![b' '; length - text.len()]].concat();
    let receipt = fs::read(input("allow.json")).expect("an input");
    let keys = active_keyset().into_bytes();
    for (receipt_length, keys_length, code) in
        [(8_388_608, 1_048_576, 0), (8_388_609, 1_048_576, 2), (8_388_608, 1_048_577, 2)]
    {
        fs::write(name("receipt"), padded(&receipt, receipt_length)).expect("a receipt");
        fs::write(name("keys"), padded(&keys, keys_length)).expect("keys");
        let run = run(&["verify", &name("receipt"), "--keyset", &name("keys"), "--at", AT]);
        assert_eq!(run.code, code, "{receipt_length} {keys_length}");
        assert_eq!(run.failure_code(), if code == 0 { "accepted" } else { "unreadable" });
    }
}

#[test]
fn control_characters_in_names_and_values_are_escaped() {
    for arguments in [
        ["verify", "a\u{1b}[2Jb\nc", "--keyset", "k", "--format", "text"],
        ["verify", "a", "--keyset", "k", "--format", "text\u{1b}[2J\nb"],
        ["verify", "\u{9b}2J\u{7f}", "--at", AT, "--keyset=k", "--format=text"],
    ] {
        let run = run(&arguments);
        assert_eq!(run.code, 2);
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert!(shown.contains("\\u00"), "{shown}");
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
}

#[test]
fn colours_are_for_terminals_alone() {
    let arguments = verify(&path("allow.json"));
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(["--format", "text"]);
    assert!(!run(&arguments).stdout.contains('\u{1b}'));
    let on_terminal = |no_color: Option<&str>| {
        let binary = env!("CARGO_BIN_EXE_receipt-verify");
        let shell = format!("'{binary}' verify '{}' --keyset '{}'", path("allow.json"), path("keys.json"));
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &shell, "/dev/null"]).stdin(Stdio::null());
        match no_color {
            Some(value) => script.env("NO_COLOR", value),
            None => script.env_remove("NO_COLOR"),
        };
        script.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(coloured) = on_terminal(None) else {
        println!("skipped: no script(1) to make a terminal with");
        return;
    };
    assert!(coloured.starts_with("\u{1b}[32mACCEPTED\u{1b}[0m"), "{coloured:?}");
    let plain = on_terminal(Some("1")).expect("it ran before");
    assert!(plain.starts_with("ACCEPTED") && !plain.contains('\u{1b}'), "{plain:?}");
}
