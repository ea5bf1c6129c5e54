//! Tasks of this workspace: `cargo run -p xtask -- fixtures [--check]`.
//!
//! Everything under `fixtures/receipts`, `fixtures/keysets`, `fixtures/audit-sample` and `fixtures/vectors`
//! is written here from fixed seeds and no clock, so a run on any machine gives the same bytes.

mod audit_sample;
mod files;
mod keysets;
mod oracle;
mod receipts;
mod signing;
mod vectors;

use files::Files;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- fixtures [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let report = match arguments.as_slice() {
        ["fixtures"] => all_fixtures().write(&root()),
        ["fixtures", "--check"] => all_fixtures().check(&root()),
        _ => Err(USAGE.to_owned()),
    };
    let (text, code) = match report {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(text) => (text, ExitCode::FAILURE),
    };
    // A closed stderr changes nothing about the result.
    let _ = writeln!(std::io::stderr(), "{text}");
    code
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn all_fixtures() -> Files {
    let mut files = Files::default();
    receipts::add(&mut files);
    keysets::add(&mut files);
    audit_sample::add(&mut files);
    vectors::add(&mut files);
    files
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_runs_give_the_same_bytes() {
        assert_eq!(super::all_fixtures(), super::all_fixtures());
    }

    #[test]
    fn the_tree_holds_what_is_generated() {
        super::all_fixtures().check(&super::root()).expect("run `cargo run -p xtask -- fixtures`");
    }
}
