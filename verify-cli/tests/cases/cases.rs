//! Runs the case files in `tests/cmd`, and makes sure that they say all they must.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Fewer files than this means that some were lost.
const LEAST_CASES: usize = 40;

/// The runner compares with `/` in place of every backslash, so the files have it too.
#[test]
fn every_case_file_holds() {
    trycmd::TestCases::new().case("tests/cmd/*.toml").run();
}

#[test]
fn every_case_pins_status_stdout_and_stderr() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a case");
        for key in ["status.code = ", "stdout = ", "stderr = "] {
            assert!(text.lines().any(|line| line.starts_with(key)), "{}: no {key}", path.display());
        }
        names.insert(path);
    }
    assert!(names.len() >= LEAST_CASES, "only {} cases", names.len());
}
