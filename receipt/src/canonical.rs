//! Canonical form `kaval-stable-json-v1`.
//!
//! Source: receipt verification, section 2.

use crate::json::{JsonString, Object, Value, compare_utf16, write_number, write_string};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use sha2::{Digest as _, Sha256};

/// Name of the canonical form, as keys and results declare it.
pub const ALGORITHM: &str = "kaval-stable-json-v1";

/// Deepest nesting that is written. The strict reader never yields more, so this meets only values built in
/// memory, and bounds the stack for them.
const MAX_DEPTH: u16 = 1_024;

/// Objects with up to this many members are ordered in a buffer on the stack.
const SMALL_OBJECT: usize = 32;

const LARGEST_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Why a value has no canonical form. A value from the strict reader always has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CanonicalError {
    /// A number that is infinite or not a number.
    NotFinite,
    /// A receipt that is not an object.
    NotAnObject,
    /// Containers nested deeper than any reader allows.
    TooDeep,
    /// An integer beyond plus or minus 2^53-1.
    UnsafeInteger,
}

impl CanonicalError {
    /// A stable name for the fault.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotAnObject => "receipt_not_object",
            Self::NotFinite => "canonical_not_finite",
            Self::TooDeep => "canonical_too_deep",
            Self::UnsafeInteger => "canonical_unsafe_integer",
        }
    }
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnObject => "the receipt is not a JSON object",
            Self::NotFinite => "a number that is not finite has no canonical form",
            Self::TooDeep => "the value is nested too deeply for a canonical form",
            Self::UnsafeInteger => "an integer outside the safe-integer range has no canonical form",
        })
    }
}

impl core::error::Error for CanonicalError {}

/// Length and SHA-256 of canonical bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Number of canonical bytes.
    pub byte_length: usize,
    /// SHA-256 of the canonical bytes.
    pub sha256: [u8; 32],
}

impl Digest {
    /// Measures canonical bytes.
    #[must_use]
    pub fn of(canonical: &[u8]) -> Self {
        Self { byte_length: canonical.len(), sha256: Sha256::digest(canonical).into() }
    }

    /// The digest as results spell it: `sha256:` and lowercase hexadecimal.
    #[must_use]
    pub fn to_text(self) -> String {
        let mut text = String::with_capacity(71);
        text.push_str("sha256:");
        for byte in self.sha256 {
            for nibble in [byte >> 4, byte & 0xF] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        text
    }
}

/// The canonical text of a value.
///
/// # Errors
///
/// [`CanonicalError`] for values no strict reader yields.
///
/// # Example
///
/// ```
/// use kaval_receipt::{canonical, json};
///
/// let value = json::parse(r#"{ "b": 1.50, "a": [true] }"#)?;
/// assert_eq!(canonical::canonical_json(&value)?, r#"{"a":[true],"b":1.5}"#);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// Source: receipt verification, section 2.
pub fn canonical_json(value: &Value<'_>) -> Result<String, CanonicalError> {
    let mut out = Vec::new();
    write_canonical(&mut out, value)?;
    Ok(crate::json::into_string(out))
}

/// Appends the canonical bytes of a value.
///
/// # Errors
///
/// [`CanonicalError`]; what was appended by then is meaningless.
pub fn write_canonical(out: &mut Vec<u8>, value: &Value<'_>) -> Result<(), CanonicalError> {
    write_value(out, value, 0)
}

/// The canonical text of a receipt without its top-level `signature`: the bytes that were signed.
///
/// # Errors
///
/// [`CanonicalError::NotAnObject`] when the receipt is not an object, else as [`canonical_json`].
pub fn canonical_unsigned_receipt(receipt: &Value<'_>) -> Result<String, CanonicalError> {
    let mut out = Vec::new();
    write_unsigned_receipt(&mut out, receipt)?;
    Ok(crate::json::into_string(out))
}

/// Appends the bytes that were signed, as [`canonical_unsigned_receipt`] gives them.
///
/// # Errors
///
/// As [`canonical_unsigned_receipt`]; what was appended by then is meaningless.
pub fn write_unsigned_receipt(out: &mut Vec<u8>, receipt: &Value<'_>) -> Result<(), CanonicalError> {
    let object = receipt.as_object().ok_or(CanonicalError::NotAnObject)?;
    write_object(out, object, Some("signature"), 0)
}

fn write_value(out: &mut Vec<u8>, value: &Value<'_>, depth: u16) -> Result<(), CanonicalError> {
    if depth > MAX_DEPTH {
        return Err(CanonicalError::TooDeep);
    }
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => {
            if !number.is_finite() {
                return Err(CanonicalError::NotFinite);
            }
            // Every double beyond the safe range is an integer.
            if number.abs() > LARGEST_SAFE_INTEGER {
                return Err(CanonicalError::UnsafeInteger);
            }
            write_number(out, *number);
        }
        Value::String(string) => write_string(out, string),
        Value::Array(elements) => {
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(out, element, depth + 1)?;
            }
            out.push(b']');
        }
        Value::Object(object) => write_object(out, object, None, depth)?,
    }
    Ok(())
}

type Member<'a> = (JsonString<'a>, Value<'a>);

fn write_object(
    out: &mut Vec<u8>,
    object: &Object<'_>,
    without: Option<&str>,
    depth: u16,
) -> Result<(), CanonicalError> {
    let members = object.members();
    let mut small = [0_u8; SMALL_OBJECT];
    out.push(b'{');
    if is_sorted(members) {
        write_members(out, members.iter(), without, depth)?;
    } else if members.len() <= SMALL_OBJECT {
        let order = sort_small(members, &mut small);
        write_members(
            out,
            order.iter().filter_map(|&index| members.get(usize::from(index))),
            without,
            depth,
        )?;
    } else {
        let mut order: Vec<&Member<'_>> = members.iter().collect();
        order.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        write_members(out, order.into_iter(), without, depth)?;
    }
    out.push(b'}');
    Ok(())
}

fn is_sorted(members: &[Member<'_>]) -> bool {
    members.is_sorted_by(|(left, _), (right, _)| compare_utf16(left.as_wtf8(), right.as_wtf8()).is_lt())
}

/// Indexes of `members` by key, in the front of `order`. Receipts have a dozen members an object, where
/// insertion beats a general sort and its allocation.
fn sort_small<'o>(members: &[Member<'_>], order: &'o mut [u8; SMALL_OBJECT]) -> &'o [u8] {
    let mut count = 0;
    for (index, (key, _)) in (0_u8..).zip(members) {
        let sorted = order.get(..count).unwrap_or_default();
        let place = sorted.partition_point(|&other| {
            members
                .get(usize::from(other))
                .is_some_and(|(name, _)| compare_utf16(name.as_wtf8(), key.as_wtf8()).is_lt())
        });
        order.copy_within(place..count, place + 1);
        if let Some(slot) = order.get_mut(place) {
            *slot = index;
        }
        count += 1;
    }
    order.get(..count).unwrap_or_default()
}

fn write_members<'m, 'a: 'm>(
    out: &mut Vec<u8>,
    members: impl Iterator<Item = &'m Member<'a>>,
    without: Option<&str>,
    depth: u16,
) -> Result<(), CanonicalError> {
    let mut first = true;
    for (key, value) in members {
        if without.is_some_and(|name| *key == *name) {
            continue;
        }
        if !first {
            out.push(b',');
        }
        first = false;
        write_string(out, key);
        out.push(b':');
        write_value(out, value, depth + 1)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use alloc::format;
    use alloc::vec;

    fn canonical(text: &str) -> String {
        canonical_json(&parse(text).expect("strict JSON")).expect("canonical")
    }

    #[test]
    fn keys_are_ordered_by_code_unit() {
        assert_eq!(
            canonical(r#"{"ﬁ":1,"😀":2,"a":3,"B":4,"9":5,"10":6,"":7,"\ud800":8}"#),
            r#"{"":7,"10":6,"9":5,"B":4,"a":3,"\ud800":8,"😀":2,"ﬁ":1}"#
        );
    }

    #[test]
    fn large_objects_are_ordered_too() {
        for size in [2, 31, 32, 33, 200] {
            let members: Vec<String> = (0..size).rev().map(|key| format!("\"{key:04}\":{key}")).collect();
            let mut sorted = members.clone();
            sorted.sort();
            assert_eq!(canonical(&format!("{{{}}}", members.join(","))), format!("{{{}}}", sorted.join(",")));
        }
    }

    #[test]
    fn numbers_take_the_ecmascript_spelling() {
        assert_eq!(
            canonical("[-0,-0.0,1e0,1.50,0.000001,0.0000001,1.5e-7,5e-324,9007199254740991,1e15,-2.50]"),
            "[0,0,1,1.5,0.000001,1e-7,1.5e-7,5e-324,9007199254740991,1000000000000000,-2.5]"
        );
    }

    #[test]
    fn only_the_top_level_signature_is_left_out() {
        let receipt =
            parse(r#"{"z":{"signature":1},"signature":null,"a":[{"signature":2}]}"#).expect("valid");
        assert_eq!(
            canonical_unsigned_receipt(&receipt).expect("an object"),
            r#"{"a":[{"signature":2}],"z":{"signature":1}}"#
        );
        assert_eq!(
            canonical_unsigned_receipt(&parse("[]").expect("valid")),
            Err(CanonicalError::NotAnObject)
        );
    }

    #[test]
    fn values_built_in_memory_can_be_refused() {
        for (number, error) in [
            (f64::NAN, CanonicalError::NotFinite),
            (f64::NEG_INFINITY, CanonicalError::NotFinite),
            (9_007_199_254_740_992.0, CanonicalError::UnsafeInteger),
            (-1e300, CanonicalError::UnsafeInteger),
        ] {
            assert_eq!(canonical_json(&Value::Array(vec![Value::Number(number)])), Err(error));
        }
        let mut deep = Value::Null;
        for _ in 0..1_025 {
            deep = Value::Array(vec![deep]);
        }
        assert_eq!(canonical_json(&deep), Err(CanonicalError::TooDeep));
    }
}
