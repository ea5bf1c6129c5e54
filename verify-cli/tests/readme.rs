//! The auditor's part of the README, run as it stands.
//!
//! What a command of each block must end with and print is written here: the README shows commands, and a
//! reader sees the output of their own run.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const SECTION: &str = "\n## An auditor's first minute\n";
/// The key server of the README, which the test stands in for.
const SERVER: &str = "127.0.0.1:8799";

/// What a command must end with, and words that its output must and must not hold.
struct Expected {
    /// Words by which the command is known.
    command: &'static [&'static str],
    code: i32,
    holds: &'static [&'static str],
}

const EXPECTED: &[Expected] = &[
    Expected { command: &["verify fixtures/receipts/allow.json"], code: 0, holds: &["accepted", "ALLOW"] },
    Expected { command: &["sed ", "verify -"], code: 1, holds: &["signature_invalid"] },
    Expected { command: &["keys fetch"], code: 0, holds: &[] },
    Expected { command: &["keys inspect"], code: 0, holds: &["sample-key-2026"] },
    Expected { command: &["audit fixtures/audit-sample", "--format html"], code: 2, holds: &[] },
    Expected { command: &["audit fixtures/audit-sample"], code: 2, holds: &["malformed"] },
];

/// Commands that are not run: they show names of files that a reader has and a checkout has not.
const SHOWN_ONLY: &[&str] = &["verify receipt.json"];

/// Commands of the section in order, without their prompt.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("a README");
    let (_, section) = readme.split_once(SECTION).expect("the auditor's section");
    let section = section.split("\n## ").next().expect("a section");
    section.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

/// A folder with the sample files and the command under its own name.
fn workplace() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("bin")).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_receipt-verify"), folder.join("bin/receipt-verify"))
        .expect("a link");
    std::os::unix::fs::symlink(
        Path::new(ROOT).join("fixtures").canonicalize().expect("fixtures"),
        folder.join("fixtures"),
    )
    .expect("a link");
    folder
}

/// Serves the files of a folder until the test ends; answers each connection with one file.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = String::new();
            let mut lines =
                BufReader::new(stream.try_clone().expect("a handle")).lines().map_while(Result::ok);
            request.push_str(&lines.next().unwrap_or_default());
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
            let body = fs::read(folder.join(&name)).expect("a file that is there");
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(&[head.as_bytes(), &body].concat()).expect("a reader");
        }
    });
    address
}

#[test]
fn the_first_minute_of_an_auditor() {
    let folder = workplace();
    let address = serve(folder.join("fixtures/keysets"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut seen = vec![false; EXPECTED.len()];
    let mut failures = Vec::new();
    for command in commands() {
        if SHOWN_ONLY.iter().any(|shown| command.contains(shown)) || command.contains("http.server") {
            continue;
        }
        let known =
            EXPECTED.iter().position(|expected| expected.command.iter().all(|word| command.contains(word)));
        let Some(index) = known else {
            failures.push(format!("{command}: not a command this test knows"));
            continue;
        };
        let expected = &EXPECTED[index];
        seen[index] = true;
        let output = Command::new("sh")
            .args(["-c", &command.replace(SERVER, &address)])
            .current_dir(&folder)
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .output()
            .expect("a shell");
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() != Some(expected.code) {
            failures.push(format!(
                "{command}: ended with {:?}, not {}\n{text}",
                output.status.code(),
                expected.code
            ));
        }
        for word in expected.holds.iter().filter(|word| !text.contains(**word)) {
            failures.push(format!("{command}: says nothing of {word}\n{text}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(seen.iter().all(|&seen| seen), "not every expected command stands in the README: {seen:?}");
    let report = fs::read_to_string(folder.join("report.html")).expect("the report of the last audit");
    assert!(report.trim_end().ends_with("</html>"), "the report is cut");
}
