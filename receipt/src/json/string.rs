//! JSON strings that can hold what a Rust `str` cannot: unpaired surrogates.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

/// A decoded JSON string.
///
/// Kept as WTF-8: UTF-8, plus an unpaired surrogate written as the three bytes its code point would take. A
/// correct pair is always held as the one character it names, so equal strings have equal bytes. A string
/// that needed no decoding borrows from the text it was read from.
///
/// Lengths and order are those of UTF-16 code units, as the specification counts them.
///
/// Source: receipt verification, section 1.1.
#[derive(Clone)]
pub struct JsonString<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    /// Holds nothing that JSON must escape, so it can be written out as it stands.
    Plain(&'a str),
    Wtf8(Vec<u8>),
}

impl<'a> JsonString<'a> {
    /// Wraps text that the reader found free of characters that need escaping.
    pub(super) fn plain(text: &'a str) -> Self {
        Self(Repr::Plain(text))
    }

    /// Wraps WTF-8 in which every correct surrogate pair is already one character.
    pub(super) fn from_wtf8(bytes: Vec<u8>) -> Self {
        Self(Repr::Wtf8(bytes))
    }

    /// The text, when the string holds no unpaired surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Plain(text) => Some(text),
            Repr::Wtf8(bytes) => core::str::from_utf8(bytes).ok(),
        }
    }

    /// The WTF-8 bytes.
    #[must_use]
    pub fn as_wtf8(&self) -> &[u8] {
        match &self.0 {
            Repr::Plain(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self.0, Repr::Plain(_))
    }

    /// Length in UTF-16 code units.
    #[must_use]
    pub fn utf16_len(&self) -> usize {
        utf16_len(self.as_wtf8())
    }

    /// Whether nothing is left after ECMAScript `String.trim`.
    ///
    /// Source: receipt verification, notation.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self.as_str() {
            Some(text) => text.chars().all(is_ecmascript_space),
            None => false,
        }
    }

    /// The same string without a borrow.
    #[must_use]
    pub fn into_owned(self) -> JsonString<'static> {
        match self.0 {
            Repr::Plain(text) => JsonString(Repr::Wtf8(Vec::from(text.as_bytes()))),
            Repr::Wtf8(bytes) => JsonString(Repr::Wtf8(bytes)),
        }
    }

    /// A copy without a borrow.
    #[must_use]
    pub fn to_owned_string(&self) -> JsonString<'static> {
        JsonString(Repr::Wtf8(Vec::from(self.as_wtf8())))
    }

    /// The same string borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> JsonString<'_> {
        match &self.0 {
            Repr::Plain(text) => JsonString(Repr::Plain(text)),
            Repr::Wtf8(bytes) => JsonString(Repr::Wtf8(bytes.clone())),
        }
    }

    /// The start of the text for a message: whoever wrote the receipt does not set a message's length.
    #[must_use]
    pub fn excerpt(&self) -> String {
        const MAX_CHARS: usize = 128;
        // No character takes more bytes, so the rest of a long text need not be looked at.
        const MAX_BYTES: usize = 4 * (MAX_CHARS + 1);
        let bytes = self.as_wtf8();
        let text = match bytes.get(..MAX_BYTES) {
            Some(start) => JsonString(Repr::Wtf8(Vec::from(start))).to_display_string(),
            None => self.to_display_string(),
        };
        match text.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => alloc::format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        }
    }

    /// The text with each unpaired surrogate spelled as the escape `\udXXX`.
    #[must_use]
    pub fn to_display_string(&self) -> String {
        match self.as_str() {
            Some(text) => String::from(text),
            None => alloc::format!("{self}"),
        }
    }
}

impl PartialEq for JsonString<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_wtf8() == other.as_wtf8()
    }
}

impl Eq for JsonString<'_> {}

impl PartialEq<str> for JsonString<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_wtf8() == other.as_bytes()
    }
}

impl PartialEq<&str> for JsonString<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_wtf8() == other.as_bytes()
    }
}

impl PartialOrd for JsonString<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Order of UTF-16 code units.
impl Ord for JsonString<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_utf16(self.as_wtf8(), other.as_wtf8())
    }
}

impl fmt::Debug for JsonString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Writes the text with each unpaired surrogate as `\udXXX` and everything else as it is.
impl fmt::Display for JsonString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.as_wtf8();
        while !rest.is_empty() {
            let valid = match core::str::from_utf8(rest) {
                Ok(text) => return f.write_str(text),
                Err(error) => error.valid_up_to(),
            };
            let (text, tail) = rest.split_at(valid);
            f.write_str(core::str::from_utf8(text).unwrap_or_default())?;
            match decode_surrogate(tail) {
                Some(unit) => write!(f, "\\u{unit:04x}")?,
                None => f.write_str("\u{fffd}")?,
            }
            rest = tail.get(3..).unwrap_or_default();
        }
        Ok(())
    }
}

impl<'a> From<&'a str> for JsonString<'a> {
    fn from(text: &'a str) -> Self {
        if plain_prefix_len(text.as_bytes()) == text.len() {
            Self(Repr::Plain(text))
        } else {
            Self(Repr::Wtf8(Vec::from(text.as_bytes())))
        }
    }
}

impl From<String> for JsonString<'_> {
    fn from(text: String) -> Self {
        Self(Repr::Wtf8(text.into_bytes()))
    }
}

/// The code unit of an unpaired surrogate that `bytes` starts with, if it does.
pub(super) fn decode_surrogate(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, ..] => {
            Some(0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F))
        }
        _ => None,
    }
}

/// Appends one UTF-16 code unit that came from an escape, joining it to a high surrogate before it.
pub(super) fn push_unit(out: &mut Vec<u8>, unit: u16) {
    if (0xDC00..0xE000).contains(&unit)
        && let Some(start) = out.len().checked_sub(3)
        && let Some(high @ 0xD800..0xDC00) = out.get(start..).and_then(decode_surrogate)
    {
        out.truncate(start);
        let code = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(unit) - 0xDC00);
        push_char(out, char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return;
    }
    match char::from_u32(u32::from(unit)) {
        Some(c) => push_char(out, c),
        None => {
            let [high, low] = unit.to_be_bytes();
            out.extend_from_slice(&[0xED, 0x80 | ((high & 0x0F) << 2) | (low >> 6), 0x80 | (low & 0x3F)]);
        }
    }
}

fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Number of UTF-16 code units that WTF-8 (or UTF-8) bytes stand for.
pub(crate) fn utf16_len(bytes: &[u8]) -> usize {
    bytes.iter().map(|&byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}

/// Compares two WTF-8 strings by UTF-16 code units.
///
/// Byte order is code point order, which differs from code unit order only where a character beyond the
/// basic plane (a surrogate pair, so a unit from U+D800) meets one from U+D800 to U+FFFF.
#[must_use]
pub fn compare_utf16(left: &[u8], right: &[u8]) -> Ordering {
    let Some((a, b)) = left.iter().zip(right).find(|(a, b)| a != b) else {
        return left.len().cmp(&right.len());
    };
    if *a.max(b) >= 0xF0 && *a.min(b) >= 0xED { units(left).cmp(units(right)) } else { a.cmp(b) }
}

/// The UTF-16 code units of a WTF-8 string.
fn units(mut bytes: &[u8]) -> impl Iterator<Item = u16> {
    let mut pending = None;
    core::iter::from_fn(move || {
        if let Some(unit) = pending.take() {
            return Some(unit);
        }
        let (&first, rest) = bytes.split_first()?;
        let (mut code, extra) = match first {
            0x00..=0x7F => (u32::from(first), 0),
            0x80..=0xDF => (u32::from(first & 0x1F), 1),
            0xE0..=0xEF => (u32::from(first & 0x0F), 2),
            _ => (u32::from(first & 0x07), 3),
        };
        let (tail, rest) = rest.split_at(extra.min(rest.len()));
        for byte in tail {
            code = code << 6 | u32::from(byte & 0x3F);
        }
        bytes = rest;
        match code.checked_sub(0x10000) {
            None => u16::try_from(code).ok(),
            Some(offset) => {
                pending = u16::try_from(0xDC00 + (offset & 0x3FF)).ok();
                u16::try_from(0xD800 + (offset >> 10)).ok()
            }
        }
    })
}

/// White space that ECMAScript `String.trim` removes; U+0085 is not in it.
pub(crate) fn is_ecmascript_space(c: char) -> bool {
    matches!(c,
        '\u{9}'..='\u{D}' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}'
        | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{FEFF}')
}

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Length of the prefix that holds no quote, no backslash and no control character below U+0020.
///
/// Eight bytes at a time: a subtraction borrows into a byte's high bit exactly where the byte is too small,
/// and the lowest such bit is never a false one.
pub(super) fn plain_prefix_len(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (LOW_BITS * 0x22);
        let backslash = word ^ (LOW_BITS * 0x5C);
        let found = (quote.wrapping_sub(LOW_BITS) & !quote)
            | (backslash.wrapping_sub(LOW_BITS) & !backslash)
            | (word.wrapping_sub(LOW_BITS * 0x20) & !word);
        let found = found & HIGH_BITS;
        if found != 0 {
            return index * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let skipped = bytes.len() - tail.len();
    skipped + tail.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\').unwrap_or(tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn an_excerpt_ends_after_128_characters() {
        for character in ["c", "é", "😀"] {
            let exact = character.repeat(128);
            assert_eq!(JsonString::from(&*exact).excerpt(), exact);
            for more in [1, 2, 100_000] {
                let long = JsonString::from(character.repeat(128 + more));
                assert_eq!(long.excerpt(), alloc::format!("{exact}…"));
            }
        }
    }

    #[test]
    fn a_pair_written_as_two_escapes_is_one_character() {
        let mut out = vec![];
        push_unit(&mut out, 0xD83D);
        push_unit(&mut out, 0xDE00);
        assert_eq!(out, "😀".as_bytes());
    }

    #[test]
    fn unpaired_surrogates_keep_their_unit() {
        for unit in [0xD800, 0xDBFF, 0xDC00, 0xDFFF] {
            let mut out = vec![];
            push_unit(&mut out, unit);
            assert_eq!(decode_surrogate(&out), Some(unit));
            assert_eq!(utf16_len(&out), 1);
            assert_eq!(units(&out).collect::<Vec<_>>(), [unit]);
        }
    }

    #[test]
    fn order_is_that_of_code_units() {
        let lone = |unit| {
            let mut out = vec![];
            push_unit(&mut out, unit);
            JsonString::from_wtf8(out)
        };
        let sorted = [
            JsonString::from(""),
            JsonString::from("10"),
            JsonString::from("9"),
            JsonString::from("B"),
            JsonString::from("a"),
            JsonString::from("\u{D7FF}"),
            lone(0xD83D),
            JsonString::from("😀"),
            lone(0xD83E),
            lone(0xDE00),
            JsonString::from("\u{E000}"),
            JsonString::from("ﬁ"),
        ];
        assert!(sorted.is_sorted());
        for pair in sorted.windows(2) {
            assert_eq!(pair[1].cmp(&pair[0]), Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn the_wide_scan_agrees_with_a_plain_one() {
        for length in 0..40usize {
            for position in 0..=length {
                for special in [b'"', b'\\', 0, 0x1F, 0x0A] {
                    for filler in [b'a', 0x20, 0x7F, 0x80, 0xFF, 0x21, 0x23, 0x5B, 0x5D] {
                        let mut bytes = vec![filler; length];
                        if let Some(slot) = bytes.get_mut(position) {
                            *slot = special;
                        }
                        assert_eq!(plain_prefix_len(&bytes), position, "{length} {position} {special}");
                    }
                }
            }
        }
    }

    #[test]
    fn next_line_is_not_trimmed() {
        assert!(JsonString::from(" \u{9}\u{FEFF}\u{3000}\u{2029}").is_blank());
        assert!(!JsonString::from("\u{85}").is_blank());
        assert!(JsonString::from("").is_blank());
    }
}
