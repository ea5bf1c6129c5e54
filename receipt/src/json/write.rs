//! Writing values out: compact, and indented as ECMAScript does it.

use super::number::write_number;
use super::string::{JsonString, decode_surrogate, plain_prefix_len};
use super::value::Value;
use alloc::string::String;
use alloc::vec::Vec;

/// How [`to_text`] lays a value out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// No white space.
    Compact,
    /// One member or element a line, two spaces a level, as `JSON.stringify(value, null, 2)`.
    Indented,
}

/// Writes a value as JSON text, members in the order they have.
///
/// Strings follow the escaping of the canonical form; a number that is not finite becomes `null`.
///
/// Source: receipt verification, sections 2 and 11.
#[must_use]
pub fn to_text(value: &Value<'_>, layout: Layout) -> String {
    let mut out = Vec::new();
    write_value(&mut out, value, layout, 1);
    into_string(out)
}

/// The bytes as text. Every writer here emits valid UTF-8, unpaired surrogates being spelled as escapes.
pub(crate) fn into_string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn write_value(out: &mut Vec<u8>, value: &Value<'_>, layout: Layout, level: usize) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) if number.is_finite() => write_number(out, *number),
        Value::Number(_) => out.extend_from_slice(b"null"),
        Value::String(string) => write_string(out, string),
        Value::Array(elements) => {
            write_items(out, layout, level, [b'[', b']'], elements.iter(), |out, element| {
                write_value(out, element, layout, level + 1);
            });
        }
        Value::Object(object) => {
            write_items(out, layout, level, [b'{', b'}'], object.iter(), |out, (key, value)| {
                write_string(out, key);
                out.extend_from_slice(if layout == Layout::Compact { b":" } else { b": " });
                write_value(out, value, layout, level + 1);
            });
        }
    }
}

fn write_items<I: ExactSizeIterator>(
    out: &mut Vec<u8>,
    layout: Layout,
    level: usize,
    [open, close]: [u8; 2],
    items: I,
    mut write_item: impl FnMut(&mut Vec<u8>, I::Item),
) {
    let is_empty = items.len() == 0;
    out.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        break_line(out, layout, level);
        write_item(out, item);
    }
    if !is_empty {
        break_line(out, layout, level - 1);
    }
    out.push(close);
}

fn break_line(out: &mut Vec<u8>, layout: Layout, level: usize) {
    if layout == Layout::Indented {
        out.push(b'\n');
        out.resize(out.len() + 2 * level, b' ');
    }
}

/// Appends a string in its canonical JSON spelling, quotes included.
///
/// Source: receipt verification, section 2.
pub fn write_string(out: &mut Vec<u8>, string: &JsonString<'_>) {
    out.push(b'"');
    let bytes = string.as_wtf8();
    if string.is_plain() {
        out.extend_from_slice(bytes);
    } else {
        write_escaped(out, bytes);
    }
    out.push(b'"');
}

fn write_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    // Text without a surrogate, the usual case, needs no look at each ED byte.
    let has_surrogate = core::str::from_utf8(bytes).is_err();
    loop {
        let plain = if has_surrogate {
            let special = |&byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\' | 0xED);
            bytes.iter().position(special).unwrap_or(bytes.len())
        } else {
            plain_prefix_len(bytes)
        };
        let (text, rest) = bytes.split_at(plain);
        out.extend_from_slice(text);
        let Some(&first) = rest.first() else { return };
        let used = match decode_surrogate(rest) {
            Some(unit) => {
                write_unit(out, unit);
                3
            }
            None => {
                match first {
                    b'"' => out.extend_from_slice(b"\\\""),
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    0x08 => out.extend_from_slice(b"\\b"),
                    0x0C => out.extend_from_slice(b"\\f"),
                    b'\n' => out.extend_from_slice(b"\\n"),
                    b'\r' => out.extend_from_slice(b"\\r"),
                    b'\t' => out.extend_from_slice(b"\\t"),
                    0..0x20 => write_unit(out, u16::from(first)),
                    _ => out.push(first),
                }
                1
            }
        };
        bytes = rest.get(used..).unwrap_or_default();
    }
}

fn write_unit(out: &mut Vec<u8>, unit: u16) {
    out.extend_from_slice(b"\\u");
    for nibble in (0..4).rev() {
        let digit = char::from_digit(u32::from(unit >> (4 * nibble)) & 0xF, 16).unwrap_or('0');
        out.extend_from_slice(digit.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn indentation_is_that_of_ecmascript() {
        let value = parse(r#"{"a":[],"b":{},"c":[1,{"d":"x"}]}"#).expect("valid");
        assert_eq!(
            to_text(&value, Layout::Indented),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": \"x\"\n    }\n  ]\n}"
        );
        assert_eq!(to_text(&parse("[]").expect("valid"), Layout::Indented), "[]");
    }

    #[test]
    fn strings_take_their_canonical_spelling() {
        for (text, expected) in [
            (r#""\u0000\u001f\u007f\u2028\/""#, "\"\\u0000\\u001f\u{7f}\u{2028}/\""),
            (r#""\u0008\u000c\u000a\u000d\u0009\u0022\u005c""#, r#""\b\f\n\r\t\"\\""#),
            (r#""a\uD800b\uDFFFc""#, r#""a\ud800b\udfffc""#),
            (r#""\ud83d\ude00\uFB01\ud7ff\ue000""#, "\"😀ﬁ\u{d7ff}\u{e000}\""),
            (r#""\ud7ff\n\udc00\"\udc00""#, "\"\u{d7ff}\\n\\udc00\\\"\\udc00\""),
        ] {
            assert_eq!(to_text(&parse(text).expect("valid"), Layout::Compact), expected);
        }
    }
}
