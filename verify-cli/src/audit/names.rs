//! What a file holds, told by its name, and names as bytes.

use std::ffi::OsStr;
use std::path::Path;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// One receipt, or one a line.
    pub(super) shape: Shape,
    /// Whether the file is compressed.
    pub(super) is_gzip: bool,
}

/// How receipts lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The file is one receipt.
    Single,
    /// Each line is one.
    Lines,
}

/// What a file of that name holds, if it holds receipts.
pub(super) fn kind_of(name: &[u8]) -> Option<Kind> {
    let lower = |ending: &[u8]| {
        let start = name.len().checked_sub(ending.len())?;
        let stem = name.get(..start).filter(|stem| !stem.is_empty() && !stem.ends_with(b"/"))?;
        name.get(start..).is_some_and(|found| found.eq_ignore_ascii_case(ending)).then_some(stem)
    };
    [
        (&b".json"[..], Shape::Single, false),
        (b".jsonl", Shape::Lines, false),
        (b".ndjson", Shape::Lines, false),
        (b".json.gz", Shape::Single, true),
        (b".jsonl.gz", Shape::Lines, true),
        (b".ndjson.gz", Shape::Lines, true),
    ]
    .into_iter()
    .find(|(ending, ..)| lower(ending).is_some())
    .map(|(_, shape, is_gzip)| Kind { shape, is_gzip })
}

/// The bytes of a name as the system spells them.
pub(super) fn bytes_of(name: &OsStr) -> &[u8] {
    name.as_encoded_bytes()
}

/// The name that [`bytes_of`] spelled.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> std::borrow::Cow<'_, Path> {
    use std::os::unix::ffi::OsStrExt;
    Path::new(OsStr::from_bytes(bytes)).into()
}

/// The name that [`bytes_of`] spelled. Names that are not Unicode do not survive, and are then not found.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> std::borrow::Cow<'_, Path> {
    std::path::PathBuf::from(String::from_utf8_lossy(bytes).into_owned()).into()
}

/// The name as reports show it, bytes that are not UTF-8 replaced.
pub(super) fn shown(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell_what_a_file_holds() {
        let single = Some((Shape::Single, false));
        for (name, expected) in [
            ("a.json", single),
            ("a.JSON", single),
            ("dir/.x.json", single),
            ("a.json.gz", Some((Shape::Single, true))),
            ("a.jsonl", Some((Shape::Lines, false))),
            ("a.ndjson", Some((Shape::Lines, false))),
            ("a.Jsonl.GZ", Some((Shape::Lines, true))),
            ("a.ndjson.gz", Some((Shape::Lines, true))),
            (".json", None),
            ("dir/.jsonl", None),
            ("a.gz", None),
            ("a.json5", None),
            ("json", None),
            ("", None),
        ] {
            let kind = kind_of(name.as_bytes()).map(|kind| (kind.shape, kind.is_gzip));
            assert_eq!(kind, expected, "{name}");
        }
    }
}
