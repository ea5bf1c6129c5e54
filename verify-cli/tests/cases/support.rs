//! Receipts signed with the published example seed, and runs of the binary.

use crate::signing::signing_key;
pub(crate) use crate::signing::{KEY_ID, sign};
use assert_cmd::Command;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) const AT: &str = "2026-08-01T10:00:00Z";

/// A key entry with other members added, such as a lifecycle.
pub(crate) fn key(more: &str) -> String {
    let x = URL_SAFE_NO_PAD.encode(signing_key().verifying_key().to_bytes());
    format!(
        r#"{{"contract_version":"1","key_id":"{KEY_ID}","algorithm":"Ed25519","use":"proof_verification","public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{x}"}}{more}}}"#
    )
}

/// A keyset of one key.
pub(crate) fn keyset(more: &str) -> String {
    format!(r#"{{"contract_version":"1","canonicalization":"kaval-stable-json-v1","keys":[{}]}}"#, key(more))
}

/// A keyset with the key in use.
pub(crate) fn active_keyset() -> String {
    keyset(r#","lifecycle":{"status":"active"}"#)
}

/// The committed input of that name.
pub(crate) fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/inputs").join(name)
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The JSON on stdout.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of the JSON on stdout.
    pub(crate) fn failure_code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// The command, not run yet. One that hangs is a failure.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_receipt-verify"));
    command.args(arguments).timeout(Duration::from_secs(60));
    command
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().expect("a run");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run {
        code: output.status.code().expect("no signal"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs the command to its end.
pub(crate) fn run(arguments: &[&str]) -> Run {
    finish(&mut command(arguments))
}

/// The folder of reference material, when it is there.
pub(crate) fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("KAVAL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    folder.is_dir().then_some(folder)
}
