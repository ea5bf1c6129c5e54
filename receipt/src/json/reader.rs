//! The strict reader.

use super::number::{self, NumberFault};
use super::string::{JsonString, plain_prefix_len, push_unit, utf16_len};
use super::value::{Object, Value};
use super::write::{Layout, to_text};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

/// Objects with up to this many members look for an equal key by comparing; larger ones keep a set.
const SMALL_OBJECT: usize = 16;

/// How deep and how large a document may be.
///
/// Source: receipt verification, entry points and section 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    max_depth: u16,
    max_nodes: u32,
}

impl Limits {
    /// Greatest `max_depth`: the reader recurses, and this bounds its stack.
    pub const MAX_DEPTH: u16 = 1_024;
    /// Greatest `max_nodes`.
    pub const MAX_NODES: u32 = 10_000_000;

    /// Limits of `max_depth` nested containers and `max_nodes` values (keys are not counted).
    ///
    /// # Errors
    ///
    /// [`LimitError`] when `max_depth` is not 1 to 1,024 or `max_nodes` is not 1 to 10,000,000.
    pub fn new(max_depth: u64, max_nodes: u64) -> Result<Self, LimitError> {
        let depth = u16::try_from(max_depth).ok().filter(|depth| (1..=Self::MAX_DEPTH).contains(depth));
        let nodes = u32::try_from(max_nodes).ok().filter(|nodes| (1..=Self::MAX_NODES).contains(nodes));
        Ok(Self { max_depth: depth.ok_or(LimitError::Depth)?, max_nodes: nodes.ok_or(LimitError::Nodes)? })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 128, max_nodes: 1_000_000 }
    }
}

/// A limit outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// `max_depth` is not 1 to 1,024.
    Depth,
    /// `max_nodes` is not 1 to 10,000,000.
    Nodes,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth => write!(f, "max_depth takes a whole number from 1 to {}", Limits::MAX_DEPTH),
            Self::Nodes => write!(f, "max_nodes takes a whole number from 1 to {}", Limits::MAX_NODES),
        }
    }
}

impl core::error::Error for LimitError {}

/// Why a text is not strict JSON, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// Where, as a 0-based index of UTF-16 code units.
    pub offset: usize,
}

/// What is wrong with a text that is not strict JSON.
///
/// Source: receipt verification, section 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// Neither `,` nor `]` after an array element.
    ArraySeparator,
    /// No `:` after an object key.
    Colon,
    /// A raw character below U+0020 inside a string.
    ControlCharacter,
    /// Containers nested deeper than the limit.
    DepthLimit,
    /// A key that this object already has, compared after decoding.
    DuplicateKey(JsonString<'static>),
    /// A backslash before a character that names no escape.
    Escape,
    /// No quote where an object key must start.
    Key,
    /// A literal that starts like this one but is not it: `true`, `false` or `null`.
    Literal(&'static str),
    /// A number that a double would change.
    LossyNumber,
    /// More values than the limit.
    NodeLimit,
    /// A minus sign without digits.
    Number,
    /// A number beyond the range of a double.
    NumberRange,
    /// A number token of more than 1,000 characters.
    NumberLength,
    /// Neither `,` nor `}` after an object member.
    ObjectSeparator,
    /// Something after the value.
    TrailingInput,
    /// `\u` without four hexadecimal digits.
    UnicodeEscape,
    /// An integer beyond plus or minus 2^53-1.
    UnsafeInteger,
    /// The text ends inside a string.
    UnterminatedString,
    /// Nothing that starts a value.
    Value,
}

impl JsonError {
    /// A stable name for the kind of fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.kind {
            JsonErrorKind::ArraySeparator => "json_array_separator",
            JsonErrorKind::Colon => "json_colon",
            JsonErrorKind::ControlCharacter => "json_control_character",
            JsonErrorKind::DepthLimit => "json_depth_limit",
            JsonErrorKind::DuplicateKey(_) => "json_duplicate_key",
            JsonErrorKind::Escape => "json_escape",
            JsonErrorKind::Key => "json_key",
            JsonErrorKind::Literal(_) => "json_literal",
            JsonErrorKind::LossyNumber => "json_lossy_number",
            JsonErrorKind::NodeLimit => "json_node_limit",
            JsonErrorKind::Number => "json_number",
            JsonErrorKind::NumberRange => "json_number_range",
            JsonErrorKind::NumberLength => "json_number_length",
            JsonErrorKind::ObjectSeparator => "json_object_separator",
            JsonErrorKind::TrailingInput => "json_trailing_input",
            JsonErrorKind::UnicodeEscape => "json_unicode_escape",
            JsonErrorKind::UnsafeInteger => "json_unsafe_integer",
            JsonErrorKind::UnterminatedString => "json_unterminated_string",
            JsonErrorKind::Value => "json_value",
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The published conformance vectors search these messages for a few set phrases.
        match &self.kind {
            JsonErrorKind::ArraySeparator => f.write_str("an array element must be followed by ',' or ']'"),
            JsonErrorKind::Colon => f.write_str("an object key must be followed by ':'"),
            JsonErrorKind::ControlCharacter => {
                f.write_str("a string holds a control character that is not escaped")
            }
            JsonErrorKind::DepthLimit => f.write_str("the document is nested too deeply"),
            JsonErrorKind::DuplicateKey(key) => {
                let spelled = JsonString::from(to_text(&Value::String(key.borrowed()), Layout::Compact));
                write!(f, "duplicate JSON object key {}", spelled.excerpt())
            }
            JsonErrorKind::Escape => f.write_str("invalid JSON string escape"),
            JsonErrorKind::Key => f.write_str("an object key in quotes must stand here"),
            JsonErrorKind::Literal(literal) => write!(f, "this is not the literal {literal}"),
            JsonErrorKind::LossyNumber => {
                f.write_str("the number loses information when it is read as a double")
            }
            JsonErrorKind::NodeLimit => f.write_str("the document holds too many values"),
            JsonErrorKind::Number => f.write_str("a number must have digits"),
            JsonErrorKind::NumberRange => f.write_str("the number is outside the finite range of a double"),
            JsonErrorKind::NumberLength => f.write_str("a number has more than 1000 characters"),
            JsonErrorKind::ObjectSeparator => f.write_str("an object member must be followed by ',' or '}'"),
            JsonErrorKind::TrailingInput => f.write_str("unexpected trailing input after the value"),
            JsonErrorKind::UnicodeEscape => f.write_str("four hexadecimal digits must follow \\u"),
            JsonErrorKind::UnsafeInteger => f.write_str("the integer is outside the safe-integer range"),
            JsonErrorKind::UnterminatedString => f.write_str("the text ends inside a string"),
            JsonErrorKind::Value => f.write_str("a JSON value must stand here"),
        }?;
        write!(f, " at JSON offset {}", self.offset)
    }
}

impl core::error::Error for JsonError {}

/// Reads one JSON value with the default limits: depth 128, 1,000,000 values.
///
/// # Errors
///
/// [`JsonError`] for anything outside the strict profile.
///
/// # Example
///
/// ```
/// use kaval_receipt::json;
///
/// let error = json::parse(r#"{"a":1,"\u0061":2}"#).unwrap_err();
/// assert_eq!((error.code(), error.offset), ("json_duplicate_key", 15));
/// ```
///
/// Source: receipt verification, section 1.
pub fn parse(text: &str) -> Result<Value<'_>, JsonError> {
    parse_with_limits(text, Limits::default())
}

/// Reads one JSON value with limits of the caller's.
///
/// # Errors
///
/// [`JsonError`] for anything outside the strict profile or beyond the limits.
///
/// Source: receipt verification, section 1.
pub fn parse_with_limits(text: &str, limits: Limits) -> Result<Value<'_>, JsonError> {
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        position: 0,
        nodes: 0,
        limits,
        elements: Vec::new(),
        members: Vec::new(),
    };
    reader.document().map_err(|Fault { kind, position }| JsonError {
        kind,
        offset: utf16_len(text.as_bytes().get(..position).unwrap_or_default()),
    })
}

/// A fault and the byte it was met at.
struct Fault {
    kind: JsonErrorKind,
    position: usize,
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    nodes: u32,
    limits: Limits,
    /// Finished elements of the arrays being read, innermost last; each array takes its own in one move.
    elements: Vec<Value<'a>>,
    /// The same for members of objects.
    members: Vec<(JsonString<'a>, Value<'a>)>,
}

type Read<T> = Result<T, Fault>;

impl<'a> Reader<'a> {
    fn document(&mut self) -> Read<Value<'a>> {
        self.skip_whitespace();
        let value = self.value(0)?;
        self.skip_whitespace();
        if self.position < self.bytes.len() { self.fault(JsonErrorKind::TrailingInput) } else { Ok(value) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    fn fault<T>(&self, kind: JsonErrorKind) -> Read<T> {
        Err(Fault { kind, position: self.position })
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.position += 1;
        }
    }

    fn value(&mut self, depth: u16) -> Read<Value<'a>> {
        if depth > self.limits.max_depth {
            return self.fault(JsonErrorKind::DepthLimit);
        }
        if self.nodes == self.limits.max_nodes {
            return self.fault(JsonErrorKind::NodeLimit);
        }
        self.nodes += 1;
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fault(JsonErrorKind::Value),
        }
    }

    fn literal(&mut self, literal: &'static str, value: Value<'a>) -> Read<Value<'a>> {
        if !self.rest().starts_with(literal.as_bytes()) {
            return self.fault(JsonErrorKind::Literal(literal));
        }
        self.position += literal.len();
        Ok(value)
    }

    fn number(&mut self) -> Read<Value<'a>> {
        let start = self.position;
        let Some(length) = number::token_len(self.rest()) else {
            return self.fault(JsonErrorKind::Number);
        };
        self.position += length;
        match number::convert(self.text.get(start..self.position).unwrap_or_default()) {
            Ok(value) => Ok(Value::Number(value)),
            Err(NumberFault::Lossy) => self.fault(JsonErrorKind::LossyNumber),
            Err(NumberFault::NotFinite) => self.fault(JsonErrorKind::NumberRange),
            Err(NumberFault::TooLong) => self.fault(JsonErrorKind::NumberLength),
            Err(NumberFault::UnsafeInteger) => self.fault(JsonErrorKind::UnsafeInteger),
        }
    }

    fn array(&mut self, depth: u16) -> Read<Value<'a>> {
        self.position += 1;
        self.skip_whitespace();
        if self.peek() == Some(b']') {
            self.position += 1;
            return Ok(Value::Array(Vec::new()));
        }
        let start = self.elements.len();
        loop {
            let element = self.value(depth + 1)?;
            self.elements.push(element);
            self.skip_whitespace();
            match self.peek() {
                Some(b',') => self.position += 1,
                Some(b']') => break,
                _ => return self.fault(JsonErrorKind::ArraySeparator),
            }
            self.skip_whitespace();
        }
        self.position += 1;
        Ok(Value::Array(self.elements.drain(start..).collect()))
    }

    fn object(&mut self, depth: u16) -> Read<Value<'a>> {
        self.position += 1;
        self.skip_whitespace();
        if self.peek() == Some(b'}') {
            self.position += 1;
            return Ok(Value::Object(Object::new()));
        }
        let start = self.members.len();
        let mut seen = SeenKeys::default();
        loop {
            if self.peek() != Some(b'"') {
                return self.fault(JsonErrorKind::Key);
            }
            let key = self.string()?;
            if seen.contains(&key, self.members.get(start..).unwrap_or_default()) {
                return self.fault(JsonErrorKind::DuplicateKey(key.into_owned()));
            }
            self.skip_whitespace();
            if self.peek() != Some(b':') {
                return self.fault(JsonErrorKind::Colon);
            }
            self.position += 1;
            self.skip_whitespace();
            let value = self.value(depth + 1)?;
            self.members.push((key, value));
            self.skip_whitespace();
            match self.peek() {
                Some(b',') => self.position += 1,
                Some(b'}') => break,
                _ => return self.fault(JsonErrorKind::ObjectSeparator),
            }
            self.skip_whitespace();
        }
        self.position += 1;
        Ok(Value::Object(Object::from_distinct(self.members.drain(start..).collect())))
    }

    fn string(&mut self) -> Read<JsonString<'a>> {
        self.position += 1;
        let start = self.position;
        self.position += plain_prefix_len(self.rest());
        if self.peek() == Some(b'"') {
            let text = self.text.get(start..self.position).unwrap_or_default();
            self.position += 1;
            return Ok(JsonString::plain(text));
        }
        self.escaped_string(start)
    }

    /// The rest of a string whose plain prefix from `start` ends at the position.
    fn escaped_string(&mut self, start: usize) -> Read<JsonString<'a>> {
        let mut decoded = Vec::from(self.bytes.get(start..self.position).unwrap_or_default());
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(JsonString::from_wtf8(decoded));
                }
                Some(b'\\') => {
                    self.position += 1;
                    self.escape(&mut decoded)?;
                }
                Some(_) => return self.fault(JsonErrorKind::ControlCharacter),
                None => return self.fault(JsonErrorKind::UnterminatedString),
            }
            let rest = self.rest();
            let plain = plain_prefix_len(rest);
            decoded.extend_from_slice(rest.get(..plain).unwrap_or_default());
            self.position += plain;
        }
    }

    /// An escape; the position is behind its backslash.
    fn escape(&mut self, decoded: &mut Vec<u8>) -> Read<()> {
        let byte = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let digits = self.bytes.get(self.position + 1..self.position + 5).unwrap_or_default();
                let Some(unit) = hex_unit(digits) else {
                    return self.fault(JsonErrorKind::UnicodeEscape);
                };
                push_unit(decoded, unit);
                self.position += 5;
                return Ok(());
            }
            _ => return self.fault(JsonErrorKind::Escape),
        };
        decoded.push(byte);
        self.position += 1;
        Ok(())
    }
}

fn hex_unit(digits: &[u8]) -> Option<u16> {
    if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}

/// Finds equal keys, in time that stays near linear however many members an object has.
#[derive(Default)]
struct SeenKeys(Option<BTreeSet<Vec<u8>>>);

impl SeenKeys {
    /// Whether `members`, which grew by at most one since the last call, already hold `key`.
    fn contains(&mut self, key: &JsonString<'_>, members: &[(JsonString<'_>, Value<'_>)]) -> bool {
        if members.len() <= SMALL_OBJECT {
            return members.iter().any(|(name, _)| name == key);
        }
        let set =
            self.0.get_or_insert_with(|| members.iter().map(|(name, _)| name.as_wtf8().into()).collect());
        !set.insert(key.as_wtf8().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    /// The code and the offset of the fault in `text`.
    fn fault(text: &str) -> (&'static str, usize) {
        match parse(text) {
            Ok(value) => panic!("{text} was read as {value:?}"),
            Err(error) => (error.code(), error.offset),
        }
    }

    #[test]
    fn each_fault_has_its_name_and_offset() {
        for (text, code, offset) in [
            ("", "json_value", 0),
            ("  ", "json_value", 2),
            ("\u{feff}1", "json_value", 0),
            ("\u{a0}1", "json_value", 0),
            ("1 2", "json_trailing_input", 2),
            ("01", "json_trailing_input", 1),
            ("1.", "json_trailing_input", 1),
            ("1e", "json_trailing_input", 1),
            ("[01]", "json_array_separator", 2),
            ("tru", "json_literal", 0),
            ("[falsy]", "json_literal", 1),
            (" nul", "json_literal", 1),
            ("truely", "json_trailing_input", 4),
            ("\"a\u{1f}\"", "json_control_character", 2),
            ("\"\u{e9}\n\"", "json_control_character", 2),
            ("\"\u{1f600}\n\"", "json_control_character", 3),
            (r#""\x20""#, "json_escape", 2),
            (r#""ab\"#, "json_escape", 4),
            (r#""\u12g4""#, "json_unicode_escape", 2),
            (r#""\u123"#, "json_unicode_escape", 2),
            (r#""\u+123""#, "json_unicode_escape", 2),
            ("\"abc", "json_unterminated_string", 4),
            ("[1 2]", "json_array_separator", 3),
            ("[1", "json_array_separator", 2),
            ("[1,]", "json_value", 3),
            ("[,1]", "json_value", 1),
            ("{a:1}", "json_key", 1),
            (r#"{"a":1,}"#, "json_key", 7),
            (r#"{"a":1,"a":2}"#, "json_duplicate_key", 10),
            (r#"{"a":1,"\u0061" x"#, "json_duplicate_key", 15),
            (r#"{"\ud800":1,"\ud800":2}"#, "json_duplicate_key", 20),
            (r#"{"a" 1}"#, "json_colon", 5),
            (r#"{"a":1 "b":2}"#, "json_object_separator", 7),
            (r#"{"a":1"#, "json_object_separator", 6),
            ("-", "json_number", 0),
            ("[-x]", "json_number", 1),
            ("[1e400]", "json_number_range", 6),
            ("9007199254740992", "json_unsafe_integer", 16),
            (r#"{"v":0.10000000000000001}"#, "json_lossy_number", 24),
        ] {
            assert_eq!(fault(text), (code, offset), "{text}");
        }
    }

    #[test]
    fn depth_is_counted_as_published() {
        let nested = |depth: usize, inner: &str| "[".repeat(depth) + inner + &"]".repeat(depth);
        assert!(parse(&nested(128, "1")).is_ok());
        assert_eq!(fault(&nested(129, "1")), ("json_depth_limit", 129));
        assert!(parse(&nested(129, "")).is_ok());
        assert_eq!(fault(&nested(130, "")), ("json_depth_limit", 129));
        let deepest = Limits::new(1_024, 10).expect("in range");
        assert_eq!(
            parse_with_limits(&nested(1_024, "1"), deepest).map_err(|error| error.code()).unwrap_err(),
            "json_node_limit"
        );
        let deepest = Limits::new(1_024, 2_000).expect("in range");
        assert!(parse_with_limits(&nested(1_024, "1"), deepest).is_ok());
    }

    #[test]
    fn nodes_are_counted_as_published() {
        let array = |scalars: usize| String::from("[") + &"0,".repeat(scalars - 1) + "0]";
        assert!(parse(&array(999_999)).is_ok());
        assert_eq!(fault(&array(1_000_000)), ("json_node_limit", 1_999_999));
        let three = Limits::new(1, 3).expect("in range");
        assert!(parse_with_limits(r#"{"a":1,"b":2}"#, three).is_ok());
        assert!(parse_with_limits(r#"{"a":1,"b":2,"c":3}"#, three).is_err());
    }

    #[test]
    fn limits_have_ranges() {
        for (depth, nodes, expected) in [
            (0, 1, Err(LimitError::Depth)),
            (1_025, 1, Err(LimitError::Depth)),
            (1, 0, Err(LimitError::Nodes)),
            (1, 10_000_001, Err(LimitError::Nodes)),
            (u64::MAX, u64::MAX, Err(LimitError::Depth)),
        ] {
            assert_eq!(Limits::new(depth, nodes), expected);
        }
        assert!(Limits::new(1_024, 10_000_000).is_ok());
    }

    #[test]
    fn large_objects_find_equal_keys_too() {
        let object = |keys: &mut dyn Iterator<Item = usize>| {
            let members: Vec<String> = keys.map(|key| alloc::format!("\"k{key}\":0")).collect();
            alloc::format!("{{{}}}", members.join(","))
        };
        for size in [1, 15, 16, 17, 18, 40, 3_000] {
            assert!(parse(&object(&mut (0..size))).is_ok());
            for duplicate in [0, size / 2, size - 1] {
                let text = object(&mut (0..size).chain([duplicate]));
                assert_eq!(fault(&text).0, "json_duplicate_key", "{size} {duplicate}");
            }
        }
    }

    #[test]
    fn raw_delete_and_line_separators_are_allowed() {
        let value = parse("\"\u{7f}\u{2028}\u{2029}\"").expect("valid");
        assert_eq!(value.as_string().and_then(JsonString::as_str), Some("\u{7f}\u{2028}\u{2029}"));
    }

    #[test]
    fn strings_decode() {
        let value = parse(r#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\uD83D""#).expect("valid");
        let string = value.as_string().expect("a string");
        assert_eq!(string.to_string(), "a\"\\/\u{8}\u{c}\n\r\té😀\\ud83d");
        assert_eq!(string.utf16_len(), 13);
        assert_eq!(string.as_str(), None);
    }

    #[test]
    fn whitespace_is_the_four_characters() {
        assert_eq!(parse(" \n\r\t{ \n\"a\" :\t[ ] }\r "), parse(r#"{"a":[]}"#));
    }
}
