//! Arguments of a tool call as the caller spelled them, and the list of what is wrong with them.
//!
//! Nothing here parses a number into a float or rebuilds a value: what a tool sends on is cut out of the
//! caller's text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Failure;

/// Most issues one answer lists; what is beyond is counted. Twenty claims with five faults each fit.
const MAX_ISSUES: usize = 100;

/// Most ignored arguments that are named in a result; what is beyond is counted.
const MAX_IGNORED: usize = 32;

/// Longest name of an unknown member that is repeated; longer ones are described by their length.
const MAX_NAME_CHARS: usize = 64;

/// A JSON object as written: members in their order, equal names included.
#[derive(Debug, Default)]
pub struct RawObject<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawObject<'a> {
    /// Reads an object.
    ///
    /// # Errors
    ///
    /// The text is not an object, or a member name holds half a surrogate pair.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The value of a member; of equal names the last one counts.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// The members in their order, of equal names the last one only.
    #[must_use]
    pub fn members(&self) -> Vec<(&str, &'a RawValue)> {
        let last: HashMap<&str, usize> =
            self.0.iter().enumerate().map(|(at, (name, _))| (name.as_ref(), at)).collect();
        let counts = |at: usize, name: &str| last.get(name) == Some(&at);
        self.0
            .iter()
            .enumerate()
            .filter(|(at, (name, _))| counts(*at, name))
            .map(|(_, (name, value))| (name.as_ref(), *value))
            .collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<Name<'de>>()? {
                    members.push((name.0, map.next_value()?));
                }
                Ok(RawObject(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The elements of a JSON array as written.
#[derive(Debug)]
pub struct RawArray<'a>(pub Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for RawArray<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = RawArray<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = sequence.next_element()? {
                    elements.push(element);
                }
                Ok(RawArray(elements))
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

/// Where in the arguments a value stands.
#[derive(Clone, Copy, Debug)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Index(usize),
    Member(&'p str),
}

impl<'p> Path<'p> {
    /// An argument.
    #[must_use]
    pub fn argument(name: &'p str) -> Self {
        Self { parent: None, step: Step::Member(name) }
    }

    /// A member of the object that stands here.
    #[must_use]
    pub fn member(&'p self, name: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Member(name) }
    }

    /// An element of the array that stands here.
    #[must_use]
    pub fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    fn write(&self, out: &mut Vec<serde_json::Value>) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        out.push(match self.step {
            Step::Index(index) => index.into(),
            Step::Member(name) => shown_name(name).into_owned().into(),
        });
    }
}

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Issue {
    /// Member names and array indices down to the value.
    pub path: Vec<serde_json::Value>,
    /// Stable name of the rule that is broken.
    pub code: &'static str,
    /// The rule, and what was given; never the text of a string.
    pub message: String,
}

/// Everything that is wrong with the arguments of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Issues {
    pub(crate) list: Vec<Issue>,
    pub(crate) omitted: usize,
}

impl Issues {
    /// Adds an issue about the value at `path`.
    pub fn add(&mut self, path: &Path<'_>, code: &'static str, message: impl Into<String>) {
        if self.list.len() == MAX_ISSUES {
            self.omitted += 1;
            return;
        }
        let mut steps = Vec::new();
        path.write(&mut steps);
        self.list.push(Issue { path: steps, code, message: message.into() });
    }

    /// Nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// An issue about the arguments as a whole.
    pub fn add_root(&mut self, code: &'static str, message: impl Into<String>) {
        self.list.push(Issue { path: Vec::new(), code, message: message.into() });
    }
}

/// Arguments the tool does not have: they are ignored, and the result says so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ignored {
    /// Names, in the order given; long ones are described.
    pub names: Vec<String>,
    /// How many more there were.
    pub omitted: usize,
}

/// The arguments of one call.
#[derive(Debug)]
pub struct Arguments<'a> {
    object: RawObject<'a>,
    known: &'static [&'static str],
    /// What is wrong so far.
    pub issues: Issues,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a tool that has the arguments `known`. Absent arguments are none at all.
    #[must_use]
    pub fn new(text: Option<&'a str>, known: &'static [&'static str]) -> Self {
        let mut issues = Issues::default();
        let object = text.map_or_else(
            || Ok(RawObject::default()),
            |text| {
                RawObject::parse(text).inspect_err(|_| {
                    issues.add_root(
                        "invalid_text",
                        "the arguments must be an object whose member names are Unicode text",
                    );
                })
            },
        );
        Self { object: object.unwrap_or_default(), known, issues }
    }

    /// An argument; null counts as absent.
    #[must_use]
    pub fn optional(&self, name: &str) -> Option<&'a RawValue> {
        self.object.get(name).filter(|raw| raw.get() != "null")
    }

    /// An argument that must be there; its absence is an issue.
    pub fn required(&mut self, name: &'static str) -> Option<&'a RawValue> {
        let value = self.optional(name);
        if value.is_none() {
            let hint = self
                .near_miss(&[name])
                .map(|(given, _)| format!("; `{given}` is not an argument of this tool"));
            let message = format!("`{name}` is required{}", hint.unwrap_or_default());
            self.issues.add(&Path::argument(name), "required", message);
        }
        value
    }

    /// An unknown argument whose name is close to one of `names` that is absent: as given, and as meant.
    #[must_use]
    pub fn near_miss(&self, names: &[&'static str]) -> Option<(String, &'static str)> {
        let absent = names.iter().filter(|name| self.optional(name).is_none());
        absent
            .flat_map(|name| self.unknown().map(move |given| (given, *name)))
            .find(|(given, name)| is_near(given, name))
            .map(|(given, name)| (given.to_owned(), name))
    }

    /// Ends the reading: what is wrong, if anything is.
    ///
    /// # Errors
    ///
    /// The failure that lists every issue.
    pub fn finish(&mut self) -> Result<(), Box<Failure>> {
        if self.issues.is_empty() {
            return Ok(());
        }
        Err(Box::new(Failure::invalid_arguments(std::mem::take(&mut self.issues))))
    }

    /// The unknown arguments, for the result's `_meta`.
    #[must_use]
    pub fn ignored(&self) -> Ignored {
        let mut ignored = Ignored::default();
        for name in self.unknown() {
            if ignored.names.len() == MAX_IGNORED {
                ignored.omitted += 1;
            } else {
                let shown = shown_name(name);
                if !ignored.names.iter().any(|known| *known == shown) {
                    ignored.names.push(shown.into_owned());
                }
            }
        }
        ignored
    }

    fn unknown(&self) -> impl Iterator<Item = &str> {
        self.object.0.iter().map(|(name, _)| name.as_ref()).filter(|name| !self.known.contains(name))
    }
}

/// A name fit to be repeated: bounded, and without control characters.
pub(crate) fn shown_name(name: &str) -> Cow<'_, str> {
    let chars = name.chars().count();
    if chars > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        Cow::Owned(format!("(a name of {chars} characters)"))
    } else {
        Cow::Borrowed(name)
    }
}

/// Whether two names differ only in case and separators, or by at most two edits for their length.
fn is_near(given: &str, name: &str) -> bool {
    if given.len() > MAX_NAME_CHARS {
        return false;
    }
    let plain = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (given, name) = (plain(given), plain(name));
    // Short names are close to everything: `id` must not be taken for `kind`.
    let allowed = match name.len() {
        0..=3 => 0,
        4..=5 => 1,
        _ => 2,
    };
    edits(&given, &name) <= allowed
}

/// Levenshtein distance.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, y) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *slot;
            left = replaced.min(diagonal + 1).min(left + 1);
            *slot = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_members_the_last_counts() {
        let object = RawObject::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(object.get("a").unwrap().get(), "3");
        let members: Vec<_> = object.members().into_iter().map(|(name, value)| (name, value.get())).collect();
        assert_eq!(members, [("b", "2"), ("a", "3")]);
    }

    #[test]
    fn numbers_keep_their_digits() {
        let object = RawObject::parse(r#"{"a":123456789012345678901234567890.10}"#).unwrap();
        assert_eq!(object.get("a").unwrap().get(), "123456789012345678901234567890.10");
    }

    #[test]
    fn near_misses_are_found_and_far_ones_are_not() {
        for (given, name) in [
            ("claim", "claims"),
            ("receiptId", "receipt_id"),
            ("recieptid", "receipt_id"),
            ("KIND", "kind"),
            ("knd", "kind"),
        ] {
            assert!(is_near(given, name), "{given} {name}");
        }
        for (given, name) in
            [("url", "id"), ("i", "id"), ("note", "kind"), ("context", "claims"), ("", "kind")]
        {
            assert!(!is_near(given, name), "{given} {name}");
        }
    }

    #[test]
    fn unknown_arguments_are_named_and_bounded() {
        let long = "x".repeat(65);
        let many: Vec<String> = (0..40).map(|n| format!("\"m{n}\":0")).collect();
        let text = format!("{{\"id\":1,\"{long}\":2,{}}}", many.join(","));
        let arguments = Arguments::new(Some(&text), &["id"]);
        let ignored = arguments.ignored();
        assert_eq!(ignored.names.len(), MAX_IGNORED);
        assert_eq!(ignored.names[0], "(a name of 65 characters)");
        assert_eq!(ignored.omitted, 41 - MAX_IGNORED);
    }

    #[test]
    fn a_missing_argument_names_the_one_that_was_meant() {
        let mut arguments = Arguments::new(Some(r#"{"receiptId":"x"}"#), &["receipt_id"]);
        assert!(arguments.required("receipt_id").is_none());
        let issue = &arguments.issues.list[0];
        assert_eq!((issue.code, issue.path.as_slice()), ("required", &["receipt_id".into()][..]));
        assert!(issue.message.contains("receiptId"), "{}", issue.message);
    }

    #[test]
    fn null_is_absent() {
        let arguments = Arguments::new(Some(r#"{"id":null}"#), &["id"]);
        assert!(arguments.optional("id").is_none());
        assert_eq!(arguments.ignored(), Ignored::default());
    }

    #[test]
    fn issues_beyond_the_limit_are_counted() {
        let mut issues = Issues::default();
        for _ in 0..MAX_ISSUES + 3 {
            issues.add(&Path::argument("a"), "required", "x");
        }
        assert_eq!((issues.list.len(), issues.omitted), (MAX_ISSUES, 3));
    }
}
