//! The public conformance data beside the checkout, which a plain clone does not have.

use std::path::PathBuf;

/// Reads a file of the conformance data, or says that it is absent and yields `None`.
pub(crate) fn read(path: &str) -> Option<String> {
    let root = match std::env::var_os("KAVAL_SHARED") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")),
    };
    let text = std::fs::read_to_string(root.join(path)).ok();
    if text.is_none() {
        println!("skipped: the conformance data has no {path} here (set KAVAL_SHARED to its folder)");
    }
    text
}
