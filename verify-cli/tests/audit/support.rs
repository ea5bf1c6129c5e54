//! Receipts signed with the published example seed, and runs of the binary.

use crate::signing::signing_key;
pub(crate) use crate::signing::{KEY_ID, sign};
use assert_cmd::Command;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) const AT: &str = "2026-08-01T10:00:00Z";

/// A signed receipt with that id whose verdict follows from its facts; some bytes of padding in a fact.
pub(crate) fn padded_receipt(id: &str, padding: usize) -> String {
    let text = "x".repeat(padding);
    sign(&format!(
        r#"{{"receipt_version":"check-receipt/1.0.0","id":"{id}","decision":"ALLOW","reason_codes":["ALL_FACTS_HOLD"],"decision_rule_version":"check-decision/1.1.0","checked_at":"2026-08-01T09:30:00.000Z","compilation_uncertain":false,"facts":[{{"text":"{text}","materiality":"high","state":"holds","method":"state","temporal_state":"current","stale_pending":false,"novel":false,"freshness_failure":null,"basis":[]}}]}}"#
    ))
}

/// A signed receipt with that id.
pub(crate) fn receipt(id: &str) -> String {
    padded_receipt(id, 10)
}

/// The receipt with one signed character changed.
pub(crate) fn tampered(id: &str) -> String {
    receipt(id).replace("xxxxxxxxxx", "xxxxxxxxxy")
}

/// An authentic receipt whose verdict does not follow.
pub(crate) fn mismatched(id: &str) -> String {
    sign(&format!(
        r#"{{"id":"{id}","decision":"ALLOW","reason_codes":["ALL_FACTS_HOLD"],"decision_rule_version":"check-decision/1.1.0","compilation_uncertain":true,"facts":[]}}"#
    ))
}

/// A receipt of a key nobody knows.
pub(crate) fn unknown_key(id: &str) -> String {
    receipt(id).replace(KEY_ID, "another-key")
}

pub(crate) fn keyset(lifecycle: &str) -> String {
    let x = URL_SAFE_NO_PAD.encode(signing_key().verifying_key().to_bytes());
    format!(
        r#"{{"canonicalization":"kaval-stable-json-v1","keys":[{{"contract_version":"1","key_id":"{KEY_ID}","algorithm":"Ed25519","use":"proof_verification","public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{x}"}},"lifecycle":{lifecycle}}}]}}"#
    )
}

/// A folder with a keyset outside of what is audited.
pub(crate) struct Room {
    folder: TempDir,
}

impl Room {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("in")).expect("a folder");
        fs::write(folder.path().join("keys.json"), keyset(r#"{"status":"active"}"#)).expect("a file");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file below the folder of receipts.
    pub(crate) fn put(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path("in").join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, contents).expect("a file");
        path
    }

    /// The command, run inside the room, with the keyset.
    pub(crate) fn audit(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare_audit(arguments);
        command.args(["--keyset", "keys.json"]);
        command
    }

    /// The command without a keyset.
    pub(crate) fn bare_audit(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_receipt-verify"));
        command.current_dir(self.folder.path()).arg("audit").args(["--at", AT]).args(arguments);
        command
    }

    /// Runs with `--format json` and answers exit code, rows and summary.
    pub(crate) fn json(&self, arguments: &[&str]) -> Run {
        Run::of(self.audit(arguments).args(["--format", "json"]))
    }
}

/// What a run with `--format json` said.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) rows: Vec<Value>,
    pub(crate) summary: Value,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("it runs");
        let stdout = String::from_utf8(output.stdout).expect("UTF-8");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        let mut rows: Vec<Value> =
            stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
        let summary = rows.pop().unwrap_or_else(|| panic!("no summary: {stderr}"));
        let summary = summary.get("summary").cloned().expect("the last line is the summary");
        Self { code: output.status.code().expect("an exit code"), rows, summary, stderr }
    }

    /// `source:line code` of every row.
    pub(crate) fn codes(&self) -> Vec<String> {
        let row = |row: &Value| {
            let mut text = row["source"].as_str().expect("a source").to_owned();
            if let Some(line) = row.get("line") {
                let _ = write!(text, ":{line}");
            }
            format!("{text} {}", row["code"].as_str().expect("a code"))
        };
        self.rows.iter().map(row).collect()
    }

    pub(crate) fn detail(&self, row: usize) -> &str {
        self.rows[row]["detail"].as_str().expect("a detail")
    }
}

/// Names in a folder that a run may have left behind.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("finishes")
}
