//! Whether the receipts that should be there are there.

use super::limits::MAX_LISTED_IDS;
use kaval_receipt::json::{self, JsonString, Limits};

/// Why a list of expected ids cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum IdsError {
    /// It starts as a JSON array and is not one of strings.
    NotStrings,
    /// It starts as a JSON array and is not strict JSON.
    Json(json::JsonError),
    /// It is not UTF-8.
    NotUtf8,
    /// It holds no id at all, which would make every receipt unexpected.
    Empty,
}

impl std::fmt::Display for IdsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotStrings => {
                f.write_str("the list of ids is a JSON array with something else than strings")
            }
            Self::Json(error) => write!(f, "the list of ids is not strict JSON: {error}"),
            Self::NotUtf8 => f.write_str("the list of ids is not UTF-8"),
            Self::Empty => f.write_str("the list of ids holds no id"),
        }
    }
}

/// The ids that should be there, sorted, each once.
#[derive(Debug, Default)]
pub(super) struct ExpectedIds {
    text: Vec<u8>,
    /// Start and end in the text.
    spans: Vec<(u32, u32)>,
}

impl ExpectedIds {
    /// Reads a list: a JSON array of strings, or one id a line with blank lines skipped.
    ///
    /// # Errors
    ///
    /// [`IdsError`] when it is neither.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, IdsError> {
        let text = std::str::from_utf8(bytes).map_err(|_| IdsError::NotUtf8)?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut ids = Self::default();
        if text.trim_start().starts_with('[') {
            let limits = Limits::new(2, u64::from(Limits::MAX_NODES)).unwrap_or_default();
            let document = json::parse_with_limits(text, limits).map_err(IdsError::Json)?;
            for id in document.as_array().unwrap_or_default() {
                ids.push(id.as_string().ok_or(IdsError::NotStrings)?.as_wtf8());
            }
        } else {
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                ids.push(line.as_bytes());
            }
        }
        if ids.spans.is_empty() {
            return Err(IdsError::Empty);
        }
        let Self { text, spans } = &mut ids;
        spans.sort_unstable_by(|left, right| span(text, *left).cmp(span(text, *right)));
        spans.dedup_by(|left, right| span(text, *left) == span(text, *right));
        Ok(ids)
    }

    fn push(&mut self, id: &[u8]) {
        let position = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let start = position(self.text.len());
        self.text.extend_from_slice(id);
        self.spans.push((start, position(self.text.len())));
    }

    fn get(&self, index: usize) -> &[u8] {
        self.spans.get(index).map(|&at| span(&self.text, at)).unwrap_or_default()
    }

    /// Notes a receipt's id.
    pub(super) fn sight(&self, id: Option<&JsonString<'static>>, sightings: &mut Sightings) {
        let Some(id) = id else {
            sightings.without_id += 1;
            return;
        };
        match self.spans.binary_search_by(|&at| span(&self.text, at).cmp(id.as_wtf8())) {
            Ok(index) => sightings.expected.push(index),
            Err(_) => sightings.unexpected.push(id.clone()),
        }
    }
}

fn span(text: &[u8], (start, end): (u32, u32)) -> &[u8] {
    text.get(start as usize..end as usize).unwrap_or_default()
}

/// The ids met in one batch.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    expected: Vec<usize>,
    unexpected: Vec<JsonString<'static>>,
    without_id: u64,
}

impl Sightings {
    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.expected.clear();
        self.unexpected.clear();
        self.without_id = 0;
    }
}

/// Ids of one kind: how many, and the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listed {
    /// How many there are.
    pub(super) count: u64,
    /// The first [`MAX_LISTED_IDS`].
    pub(super) first: Vec<JsonString<'static>>,
}

impl Listed {
    fn add(&mut self, id: impl FnOnce() -> JsonString<'static>) {
        self.count += 1;
        if self.first.len() < MAX_LISTED_IDS {
            self.first.push(id());
        }
    }
}

/// How the ids met compare with those expected.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Completeness {
    /// Number of ids that were expected.
    pub(super) expected: u64,
    /// Expected ids that no receipt has.
    pub(super) missing: Listed,
    /// Receipts with an id that was not expected.
    pub(super) unexpected: Listed,
    /// Expected ids that more than one receipt has, once for each receipt beyond the first.
    pub(super) duplicate: Listed,
    /// Receipts in which no id could be read.
    pub(super) without_id: u64,
}

impl Completeness {
    /// Whether every expected id is there and no other.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.count == 0 && self.unexpected.count == 0
    }
}

/// Collects what batches met.
#[derive(Debug)]
pub(super) struct Tally<'i> {
    ids: &'i ExpectedIds,
    is_seen: Vec<bool>,
    completeness: Completeness,
}

impl<'i> Tally<'i> {
    /// Nothing was met yet.
    pub(super) fn new(ids: &'i ExpectedIds) -> Self {
        let expected = u64::try_from(ids.spans.len()).unwrap_or(u64::MAX);
        let completeness = Completeness { expected, ..Completeness::default() };
        Self { ids, is_seen: vec![false; ids.spans.len()], completeness }
    }

    /// Adds what a batch met.
    pub(super) fn add(&mut self, sightings: &mut Sightings) {
        for &index in &sightings.expected {
            match self.is_seen.get_mut(index) {
                Some(is_seen) if !*is_seen => *is_seen = true,
                _ => self.completeness.duplicate.add(|| owned(self.ids.get(index))),
            }
        }
        for id in sightings.unexpected.drain(..) {
            self.completeness.unexpected.add(|| id);
        }
        self.completeness.without_id += sightings.without_id;
    }

    /// The comparison, once everything was met.
    pub(super) fn finish(mut self) -> Completeness {
        for (index, _) in self.is_seen.iter().enumerate().filter(|(_, is_seen)| !**is_seen) {
            self.completeness.missing.add(|| owned(self.ids.get(index)));
        }
        self.completeness
    }
}

/// An id that came from a list: text, or the spelling a JSON array gave it.
fn owned(id: &[u8]) -> JsonString<'static> {
    match std::str::from_utf8(id) {
        Ok(text) => JsonString::from(text.to_owned()),
        // Only an unpaired surrogate in a JSON array gets here.
        Err(_) => JsonString::from(String::from_utf8_lossy(id).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(list: &str, met: &[Option<&str>]) -> Completeness {
        let ids = ExpectedIds::parse(list.as_bytes()).expect("a list");
        let mut tally = Tally::new(&ids);
        for id in met {
            let mut sightings = Sightings::default();
            let id = id.map(|id| JsonString::from(id.to_owned()));
            ids.sight(id.as_ref(), &mut sightings);
            tally.add(&mut sightings);
        }
        tally.finish()
    }

    fn names(listed: &Listed) -> Vec<String> {
        listed.first.iter().map(JsonString::to_display_string).collect()
    }

    #[test]
    fn missing_unexpected_and_duplicate_ids_are_told_apart() {
        for list in ["b\r\n\n  a \nc\nb\n", r#" ["b","a","c","b"]"#, "\u{feff}a\nb\nc"] {
            let found = compare(list, &[Some("b"), None, Some("x"), Some("b"), Some("c")]);
            assert_eq!(found.expected, 3, "{list}");
            assert_eq!(names(&found.missing), ["a"]);
            assert_eq!(names(&found.unexpected), ["x"]);
            assert_eq!(names(&found.duplicate), ["b"]);
            assert_eq!(found.without_id, 1);
            assert!(!found.is_complete());
        }
        let found = compare("a\nb", &[Some("b"), Some("a"), Some("a")]);
        assert!(found.is_complete());
        assert_eq!(found.duplicate.count, 1);
    }

    #[test]
    fn lists_are_bounded_and_counts_are_not() {
        let list: String = (0..MAX_LISTED_IDS + 5).map(|id| format!("{id}\n")).collect();
        let found = compare(&list, &[]);
        assert_eq!(found.missing.count, 1_005);
        assert_eq!(found.missing.first.len(), MAX_LISTED_IDS);
    }

    #[test]
    fn lists_that_are_none_are_refused() {
        for (list, error) in [
            (&b"[1]"[..], IdsError::NotStrings),
            (b"[[\"a\"]]", IdsError::NotStrings),
            (b"[]", IdsError::Empty),
            (b" \n\n", IdsError::Empty),
            (b"\xff", IdsError::NotUtf8),
        ] {
            assert_eq!(ExpectedIds::parse(list).err(), Some(error), "{list:?}");
        }
        assert!(matches!(ExpectedIds::parse(b"[\"a\""), Err(IdsError::Json(_))));
    }
}
