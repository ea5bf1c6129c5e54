//! `keys fetch`: what ends up in the pinned file, and what never does.

use super::discovery::served;
use super::support::{KEY_ID, Run, active_keyset, keyset, run};
use std::fs;
use std::path::Path;

fn fetch(document: &str, output: &Path) -> Run {
    let url = served(document);
    let output = output.to_str().expect("UTF-8");
    run(&["keys", "fetch", "--key-url", &url, "--allow-http-loopback", "--kid", KEY_ID, "--output", output])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

#[test]
fn the_document_is_pinned_byte_for_byte_and_can_be_renewed() {
    let folder = tempfile::tempdir().expect("a folder");
    let pinned = folder.path().join("keys.json");
    let run = fetch(&active_keyset(), &pinned);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.json()["keys"][0]["key_id"], KEY_ID);
    assert_eq!(fs::read_to_string(&pinned).expect("a file"), active_keyset());
    // The same key with another lifecycle is news, not another key.
    let retired = keyset(r#","lifecycle":{"status":"retired"}"#);
    assert_eq!(fetch(&retired, &pinned).code, 0);
    assert_eq!(fs::read_to_string(&pinned).expect("a file"), retired);
    assert_eq!(names(folder.path()), ["keys.json"]);
}

#[test]
fn a_key_that_changed_under_its_id_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let pinned = folder.path().join("keys.json");
    assert_eq!(fetch(&active_keyset(), &pinned).code, 0);
    let forged = active_keyset().replace("A6EHv", "B6EHv");
    assert_ne!(forged, active_keyset());
    let run = fetch(&forged, &pinned);
    assert_eq!((run.code, run.failure_code()), (3, "key_changed".to_owned()));
    assert!(run.stdout.contains(KEY_ID), "{run:?}");
    assert_eq!(fs::read_to_string(&pinned).expect("a file"), active_keyset());
    assert_eq!(names(folder.path()), ["keys.json"]);
}

#[test]
fn nothing_is_written_without_the_wanted_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let pinned = folder.path().join("keys.json");
    let other = active_keyset().replace(KEY_ID, "other");
    for (document, code, name) in [(&*other, 3, "key_unknown"), ("{", 2, "keys_malformed")] {
        let run = fetch(document, &pinned);
        assert_eq!((run.code, run.failure_code()), (code, name.to_owned()));
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
#[cfg(unix)]
fn a_link_to_the_pinned_file_stays_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pinned, link) = (folder.path().join("keys.json"), folder.path().join("current.json"));
    assert_eq!(fetch(&active_keyset(), &pinned).code, 0);
    std::os::unix::fs::symlink("keys.json", &link).expect("a link");
    let retired = keyset(r#","lifecycle":{"status":"retired"}"#);
    assert_eq!(fetch(&retired, &link).code, 0);
    assert_eq!(fs::read_link(&link).expect("a link"), Path::new("keys.json"));
    assert_eq!(fs::read_to_string(&pinned).expect("a file"), retired);
}

#[test]
fn a_file_that_is_no_key_document_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("notes.txt");
    fs::write(&other, "my notes").expect("a file");
    let run = fetch(&active_keyset(), &other);
    assert_eq!((run.code, run.failure_code()), (2, "keys_malformed".to_owned()));
    assert_eq!(fs::read_to_string(&other).expect("a file"), "my notes");
    let run = fetch(&active_keyset(), folder.path());
    assert_eq!((run.code, run.failure_code()), (2, "unreadable".to_owned()));
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = fetch(&active_keyset(), &folder.path().join("missing/keys.json"));
    assert_eq!((run.code, run.failure_code()), (2, "unwritable".to_owned()));
}

#[test]
fn ids_that_are_gone_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let pinned = folder.path().join("keys.json");
    fs::write(&pinned, active_keyset().replace(KEY_ID, "old-key").replace("A6EHv", "B6EHv")).expect("a file");
    let run = fetch(&active_keyset(), &pinned);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("old-key"), "{run:?}");
}
