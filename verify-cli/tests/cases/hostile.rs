//! Files made to mislead, or to cost more than their size.

use super::support::{input, run};
use std::fs;
use std::path::Path;

#[test]
fn a_long_inherited_form_is_not_repeated_for_every_key() {
    const KEYS: usize = 100;
    let key = |id: usize| {
        format!(
            r#"{{"contract_version":"1","key_id":"k{id}","algorithm":"Ed25519","use":"proof_verification","public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{id:0>42}A"}}}}"#
        )
    };
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.json");
    for form in ["c".repeat(500_000), r"\ud800".repeat(80_000)] {
        let text = format!(r#"{{"canonicalization":"{form}","keys":[{}]}}"#, keys.join(","));
        fs::write(&file, text).expect("a file");
        for format in ["json", "text"] {
            let run = run(&["keys", "inspect", file.to_str().expect("UTF-8"), "--format", format]);
            assert_eq!(run.code, 0);
            assert!(run.stdout.len() < KEYS * 4_096, "{} bytes", run.stdout.len());
        }
    }
}

/// The delivery of the case files, with one of its files replaced.
fn webhook(folder: &Path, replaced: &str, bytes: &[u8]) -> super::support::Run {
    let path = |name: &str| {
        let path = if name == replaced { folder.join(name) } else { input(name) };
        path.to_str().expect("UTF-8").to_owned()
    };
    fs::write(folder.join(replaced), bytes).expect("a file");
    let (body, secrets, headers) = (path("delivery.body"), path("secrets.txt"), path("headers.txt"));
    let at = "2026-08-01T10:00:00Z";
    run(&["webhook", &body, "--secret-file", &secrets, "--headers", &headers, "--at", at])
}

#[test]
fn what_editors_put_before_a_text_rejects_no_delivery() {
    let folder = tempfile::tempdir().expect("a folder");
    for (replaced, original) in [
        ("secrets.txt", "secrets.json"),
        ("secrets.txt", "secrets.txt"),
        ("headers.txt", "headers.json"),
        ("headers.txt", "headers.txt"),
    ] {
        let text = fs::read_to_string(input(original)).expect("an input");
        // The first line of the secrets is a comment; the mark must not hide a name either.
        let text = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        let run = webhook(folder.path(), replaced, format!("\u{feff}{text}").as_bytes());
        assert_eq!(run.code, 0, "{original}: {run:?}");
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let run = webhook(folder.path(), replaced, &utf16);
        assert_eq!((run.code, run.failure_code()), (2, "usage".to_owned()), "{original}");
    }
}
