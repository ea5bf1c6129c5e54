//! Members a receipt is expected to have, so that an authentic receipt for another action is refused.

use crate::json::{JsonString, Value};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Members that must be equal to those of a receipt.
///
/// Read from a JSON object. A name that starts with `/` is a JSON pointer into the receipt; any other is a
/// top-level member, or one of the short names `action_class` (the class of the classified action),
/// `workspace` (the workspace id) and `fact_fingerprints` (a list of the fingerprints of all facts, in any
/// order). An expected object names only the members that matter; everything else must be equal.
#[derive(Clone, Debug)]
pub struct Expectations {
    members: Vec<Expectation>,
}

#[derive(Clone, Debug)]
struct Expectation {
    target: Target,
    value: Value<'static>,
}

#[derive(Clone, Debug)]
enum Target {
    Pointer(String),
    FactFingerprints,
}

/// Why a document does not state expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectError {
    /// It is not an object.
    NotAnObject,
    /// It names no member, so it would accept every receipt.
    Empty,
    /// A member's name is not valid text, or a pointer holds `~` without 0 or 1 after it.
    Name,
    /// `fact_fingerprints` is not an array of strings.
    FactFingerprints,
}

impl fmt::Display for ExpectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the expected members are none, which every receipt would meet",
            Self::FactFingerprints => "the expected fact_fingerprints are not an array of strings",
            Self::Name => "an expected member's name is not a valid JSON pointer or text",
            Self::NotAnObject => "the expected members are not a JSON object",
        })
    }
}

impl core::error::Error for ExpectError {}

/// A member that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// JSON pointer of the member in the receipt.
    pub pointer: String,
    /// Whether the receipt has the member at all.
    pub is_present: bool,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finding = if self.is_present { "has another value than expected" } else { "is missing" };
        write!(f, "{} {finding}", self.pointer)
    }
}

impl Expectations {
    /// Reads expectations from a JSON object.
    ///
    /// # Errors
    ///
    /// [`ExpectError`] when the document states none.
    pub fn from_value(document: &Value<'_>) -> Result<Self, ExpectError> {
        let object = document.as_object().ok_or(ExpectError::NotAnObject)?;
        if object.is_empty() {
            return Err(ExpectError::Empty);
        }
        let read = |(name, value): (&JsonString<'_>, &Value<'_>)| {
            let name = name.as_str().ok_or(ExpectError::Name)?;
            let target = match name {
                "fact_fingerprints" => {
                    let elements = value.as_array().ok_or(ExpectError::FactFingerprints)?;
                    if elements.iter().any(|element| element.as_string().is_none()) {
                        return Err(ExpectError::FactFingerprints);
                    }
                    Target::FactFingerprints
                }
                "action_class" => Target::Pointer("/action_classification/action_class".to_owned()),
                "workspace" => Target::Pointer("/workspace_id".to_owned()),
                "" => return Err(ExpectError::Name),
                pointer if pointer.starts_with('/') => {
                    let is_escaped = |rest: &str| rest.starts_with(['0', '1']);
                    if !pointer.split('~').skip(1).all(is_escaped) {
                        return Err(ExpectError::Name);
                    }
                    Target::Pointer(pointer.to_owned())
                }
                member => Target::Pointer(child("", member)),
            };
            Ok(Expectation { target, value: owned(value) })
        };
        Ok(Self { members: object.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// The first member of a receipt that is not as expected.
    #[must_use]
    pub fn mismatch(&self, receipt: &Value<'_>) -> Option<Mismatch> {
        self.members.iter().find_map(|expectation| match &expectation.target {
            Target::Pointer(pointer) => compare(pointer, &expectation.value, receipt.pointer(pointer)),
            Target::FactFingerprints => compare_fingerprints(&expectation.value, receipt),
        })
    }
}

fn compare(pointer: &str, expected: &Value<'_>, actual: Option<&Value<'_>>) -> Option<Mismatch> {
    let mismatch = |is_present| Some(Mismatch { pointer: pointer.to_owned(), is_present });
    match (expected, actual) {
        (_, None) => mismatch(false),
        (Value::Object(expected), Some(Value::Object(actual))) => {
            expected.iter().find_map(|(name, value)| {
                let found = actual.iter().find(|(other, _)| *other == name).map(|(_, value)| value);
                compare(&child(pointer, &name.to_display_string()), value, found)
            })
        }
        (Value::Array(expected), Some(Value::Array(actual))) if expected.len() == actual.len() => {
            expected.iter().zip(actual).enumerate().find_map(|(index, (expected, actual))| {
                compare(&format!("{pointer}/{index}"), expected, Some(actual))
            })
        }
        (expected, Some(actual)) if expected == actual => None,
        _ => mismatch(true),
    }
}

fn compare_fingerprints(expected: &Value<'_>, receipt: &Value<'_>) -> Option<Mismatch> {
    let sorted = |values: &mut dyn Iterator<Item = Option<JsonString<'static>>>| {
        let mut strings: Vec<_> = values.collect();
        strings.sort();
        strings
    };
    let facts = receipt.get("facts").and_then(Value::as_array);
    let text = |value: &Value<'_>| value.as_string().map(JsonString::to_owned_string);
    let actual =
        sorted(&mut facts.unwrap_or_default().iter().map(|fact| fact.get("fingerprint").and_then(text)));
    let expected = sorted(&mut expected.as_array().unwrap_or_default().iter().map(text));
    (facts.is_none() || actual != expected)
        .then(|| Mismatch { pointer: "/facts".to_owned(), is_present: facts.is_some() })
}

fn child(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A copy of a value that borrows nothing.
fn owned(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(*value),
        Value::Number(value) => Value::Number(*value),
        Value::String(text) => Value::String(text.to_owned_string()),
        Value::Array(elements) => Value::Array(elements.iter().map(owned).collect()),
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| (key.to_owned_string(), owned(value)));
            Value::Object(crate::json::Object::from_distinct(members.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn mismatch(expected: &str, receipt: &str) -> Option<String> {
        let expected = Expectations::from_value(&parse(expected).expect("JSON")).expect("expectations");
        expected.mismatch(&parse(receipt).expect("JSON")).map(|mismatch| mismatch.pointer)
    }

    const RECEIPT: &str = r#"{"workspace_id":null,"n":1.0,"action_classification":{"action_class":"refund","x":1},
        "facts":[{"fingerprint":"b"},{"fingerprint":"a"}],"a/b":{"~":true}}"#;

    #[test]
    fn members_that_are_equal_pass() {
        for expected in [
            r#"{"workspace_id":null}"#,
            r#"{"workspace":null,"n":1}"#,
            r#"{"action_class":"refund"}"#,
            r#"{"/action_classification/action_class":"refund"}"#,
            r#"{"action_classification":{"action_class":"refund"}}"#,
            r#"{"fact_fingerprints":["a","b"]}"#,
            r#"{"facts":[{"fingerprint":"b"},{}]}"#,
            r#"{"/a~1b/~0":true,"a/b":{"~":true}}"#,
        ] {
            assert_eq!(mismatch(expected, RECEIPT), None, "{expected}");
        }
    }

    #[test]
    fn the_first_other_member_is_named() {
        for (expected, pointer) in [
            (r#"{"workspace":"w"}"#, "/workspace_id"),
            (r#"{"action_class":"payout"}"#, "/action_classification/action_class"),
            (r#"{"action_classification":{"x":2}}"#, "/action_classification/x"),
            (r#"{"fact_fingerprints":["a"]}"#, "/facts"),
            (r#"{"fact_fingerprints":["a","a"]}"#, "/facts"),
            (r#"{"facts":[{}]}"#, "/facts"),
            (r#"{"facts":[{},{"fingerprint":"c"}]}"#, "/facts/1/fingerprint"),
            (r#"{"/facts/2":{}}"#, "/facts/2"),
            (r#"{"a/b":{"~":false}}"#, "/a~1b/~0"),
            (r#"{"n":"1"}"#, "/n"),
        ] {
            assert_eq!(mismatch(expected, RECEIPT).as_deref(), Some(pointer), "{expected}");
        }
    }

    #[test]
    fn documents_without_expectations_are_refused() {
        for (document, error) in [
            ("[]", ExpectError::NotAnObject),
            ("{}", ExpectError::Empty),
            (r#"{"":1}"#, ExpectError::Name),
            (r#"{"/a~2":1}"#, ExpectError::Name),
            (r#"{"\ud800":1}"#, ExpectError::Name),
            (r#"{"fact_fingerprints":"a"}"#, ExpectError::FactFingerprints),
            (r#"{"fact_fingerprints":[1]}"#, ExpectError::FactFingerprints),
        ] {
            let document = parse(document).expect("JSON");
            assert_eq!(Expectations::from_value(&document).err(), Some(error));
        }
    }
}
