//! Key documents: one, or a folder of them that are looked up together.

use super::limits::MAX_KEY_DOCUMENTS;
use crate::exit::Failure;
use crate::input::{InputError, MAX_KEYSET_BYTES, Source, encoding_hint};
use kaval_receipt::Outcome;
use kaval_receipt::json::{self, JsonString};
use kaval_receipt::keyset::{Key, Keyset};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads a key document.
///
/// A document that is JSON but not a usable keyset is an outcome of every receipt, not a failure here.
///
/// # Errors
///
/// `unreadable` or `keys_malformed`, naming the file.
pub(super) fn read_file(path: &Path) -> Result<Keyset, Failure> {
    read_document(path)
}

/// Reads every `.json` key document of a folder as one keyset.
///
/// The same key may stand in several documents, but only with the same content: if one says that a key is
/// active and another that it is revoked, nobody here can tell which is right.
///
/// # Errors
///
/// `unreadable` or `keys_malformed`, naming the file.
pub(super) fn read_folder(folder: &Path) -> Result<Keyset, Failure> {
    let mut keysets = Vec::new();
    let mut known: BTreeMap<Vec<u8>, (Key, Source)> = BTreeMap::new();
    for path in documents(folder)? {
        let source = Source::File(path.clone());
        let keyset = read_document(&path)?;
        if let Some(fault) = keyset.fault() {
            return Err(malformed(&source, &fault.to_string()));
        }
        for key in keyset.keys() {
            if let Err(fault) = keyset.lookup(&key.key_id) {
                return Err(malformed(&source, &fault.to_string()));
            }
            match known.get(key.key_id.as_wtf8()) {
                Some((other, place)) if !is_same(key, other) => {
                    let fault = format!("the key id {} stands with other content in {place}", key.key_id);
                    return Err(malformed(&source, &fault));
                }
                Some(_) => {}
                None => {
                    known.insert(key.key_id.as_wtf8().to_vec(), (key.clone(), source.clone()));
                }
            }
        }
        keysets.push(keyset);
    }
    let merged = Keyset::merge(keysets);
    match merged.fault() {
        Some(fault) => Err(malformed(&Source::File(folder.to_owned()), &fault.to_string())),
        None => Ok(merged),
    }
}

/// The key documents of a folder, in the order of their names.
fn documents(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let source = Source::File(folder.to_owned());
    let unreadable = |error| InputError::Io(error).into_failure(&source);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
            paths.push(path);
        }
        if paths.len() > MAX_KEY_DOCUMENTS {
            return Err(Failure::unreadable(format!(
                "{source} has more than {MAX_KEY_DOCUMENTS} key documents"
            )));
        }
    }
    if paths.is_empty() {
        return Err(Failure::unreadable(format!("{source} has no key document (*.json)")));
    }
    paths.sort();
    Ok(paths)
}

fn read_document(path: &Path) -> Result<Keyset, Failure> {
    let source = Source::File(path.to_owned());
    let bytes = source.read(MAX_KEYSET_BYTES).map_err(|error| error.into_failure(&source))?;
    read_text(&source, &bytes)
}

fn read_text(source: &Source, bytes: &[u8]) -> Result<Keyset, Failure> {
    let text = String::from_utf8_lossy(bytes);
    let document = json::parse(&text)
        .map_err(|error| malformed(source, &format!("not strict JSON: {error}{}", encoding_hint(bytes))))?;
    Ok(Keyset::from_value(&document))
}

fn malformed(source: &Source, fault: &str) -> Failure {
    Failure::outcome(Outcome::KeysMalformed, format!("{source}: {fault}"))
}

fn is_same(left: &Key, right: &Key) -> bool {
    let lifecycle = |key: &Key| {
        let lifecycle = key.lifecycle.as_ref()?;
        let text = |text: &Option<JsonString<'static>>| text.as_ref().map(|text| text.as_wtf8().to_vec());
        Some((lifecycle.status, text(&lifecycle.status_changed_at), text(&lifecycle.reason)))
    };
    left.public_key.as_bytes() == right.public_key.as_bytes()
        && left.canonicalization == right.canonicalization
        && lifecycle(left) == lifecycle(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn key(id: &str, x: char, lifecycle: &str) -> String {
        // The last character of 32 bytes in base64url carries four bits, the rest being zero.
        let x: String = std::iter::repeat_n(x, 42).chain(['A']).collect();
        format!(
            r#"{{"contract_version":"1","key_id":"{id}","algorithm":"Ed25519","use":"proof_verification",
            "canonicalization":"kaval-stable-json-v1","lifecycle":{lifecycle},
            "public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{x}"}}}}"#
        )
    }

    const ACTIVE: &str = r#"{"status":"active"}"#;
    const REVOKED: &str =
        r#"{"status":"revoked","status_changed_at":"2026-01-01T00:00:00Z","reason":"lost"}"#;

    fn read(files: &[(&str, &str)]) -> Result<Keyset, String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        read_folder(folder.path()).map_err(|failure| failure.message)
    }

    #[test]
    fn documents_of_a_folder_are_looked_up_together() {
        let both = format!(r#"{{"keys":[{},{}]}}"#, key("a", 'B', ACTIVE), key("c", 'C', REVOKED));
        let keyset = read(&[
            ("1.json", &both),
            ("2.JSON", &key("d", 'D', ACTIVE)),
            ("notes.txt", "{"),
            ("3.json", &key("a", 'B', ACTIVE)),
        ])
        .expect("a keyset");
        for id in ["a", "c", "d"] {
            assert!(keyset.lookup(&JsonString::from(id)).is_ok(), "{id}");
        }
        assert!(keyset.lookup(&JsonString::from("x")).is_err());
    }

    #[test]
    fn faults_name_the_file() {
        for (files, words) in [
            (&[][..], "no key document"),
            (&[("a.json", "{")], "a.json: not strict JSON"),
            (&[("a.json", "[]")], "a.json: the key document is not a JSON object"),
            (
                &[("a.json", &*key("a", 'B', ACTIVE)), ("b.json", &key("a", 'C', ACTIVE))],
                "b.json: the key id a",
            ),
            (
                &[("a.json", &*key("a", 'B', ACTIVE)), ("b.json", &key("a", 'B', REVOKED))],
                "b.json: the key id a",
            ),
            (&[("a.json", &*key("a", 'B', ACTIVE)), ("b.json", &key("b", 'B', ACTIVE))], "two ids"),
        ] {
            let fault = read(files).expect_err("refused");
            assert!(fault.contains(words), "{fault}");
        }
        let large = " ".repeat(1_048_577);
        assert!(read(&[("a.json", &large)]).expect_err("refused").contains("1048576-byte"));
    }
}
