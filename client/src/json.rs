//! Strict compaction of JSON bodies: white space goes, nothing else changes.
//!
//! Member order, unknown members, the spelling of numbers and string escapes stay as received. Of members with
//! equal names the last value counts, at the place of the first. Escapes of lone surrogates stay escapes.

use std::borrow::Cow;

use crate::error::BodyFault;

/// Deepest nesting read: one less than the depth at which common readers stop, and a bound on our own recursion.
pub const MAX_DEPTH: usize = 127;

/// Members up to which equal names are searched pair by pair; above, by sorting, so that time stays bounded.
const PAIRWISE_MEMBERS: usize = 16;

/// Compacts a JSON text. A leading byte order mark is dropped.
///
/// # Errors
///
/// [`BodyFault::NotUtf8`], [`BodyFault::NotJson`] with the offset into `bytes`, or [`BodyFault::TooDeep`].
///
/// # Example
///
/// ```
/// let text = kaval_client::json::compact(br#" { "n" : 1.50, "n" : 2e3 } "#).expect("JSON");
/// assert_eq!(text, r#"{"n":2e3}"#);
/// ```
pub fn compact(bytes: &[u8]) -> Result<String, BodyFault> {
    let text = std::str::from_utf8(bytes).map_err(|e| BodyFault::NotUtf8 { offset: e.valid_up_to() })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let offset = bytes.len() - text.len();
    let mut compactor =
        Compactor { text, at: 0, run: 0, out: String::with_capacity(text.len()), members: Vec::new() };
    compactor.document().map_err(|fault| match fault {
        BodyFault::NotJson { offset: at } => BodyFault::NotJson { offset: at + offset },
        other => other,
    })?;
    Ok(compactor.out)
}

/// The value of a top-level member of a compact JSON object, as it stands in `text`.
///
/// `text` must come from [`compact`]; another text gives an arbitrary answer, never a panic.
#[must_use]
pub fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let mut at = 1;
    while bytes.get(at) == Some(&b'"') {
        let key_end = string_end(bytes, at + 1);
        let key = bytes.get(at + 1..key_end)?;
        let value = key_end + 2;
        let value_end = value_end(bytes, value);
        if key == name.as_bytes() || (key.contains(&b'\\') && decoded(key) == name.as_bytes()) {
            return text.get(value..value_end);
        }
        at = value_end + 1;
    }
    None
}

/// Index of the quote that closes the string whose content starts at `from`; the length if there is none.
pub(crate) fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

/// Index after the value that starts at `from` in a compact text.
fn value_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    let mut depth = 0usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at + 1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// One member of an object being read.
struct Member {
    /// Content of the name in the input.
    name_start: usize,
    name_end: usize,
    escaped: bool,
    /// The member in the output, from the opening quote of its name to the end of its value.
    start: usize,
    end: usize,
}

struct Compactor<'a> {
    text: &'a str,
    at: usize,
    /// Start of the input not yet copied to `out`: text without white space is copied in one piece.
    run: usize,
    out: String,
    /// Members of the objects being read, innermost last.
    members: Vec<Member>,
}

impl Compactor<'_> {
    fn document(&mut self) -> Result<(), BodyFault> {
        self.space();
        self.value(0)?;
        self.space();
        if self.at < self.text.len() {
            return Err(self.fault());
        }
        self.flush();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self) -> BodyFault {
        BodyFault::NotJson { offset: self.at }
    }

    /// Position in the output of the input position `at`.
    fn position(&self) -> usize {
        self.out.len() + (self.at - self.run)
    }

    fn flush(&mut self) {
        self.out.push_str(&self.text[self.run..self.at]);
        self.run = self.at;
    }

    fn space(&mut self) {
        if !matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            return;
        }
        self.flush();
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        self.run = self.at;
    }

    fn value(&mut self, depth: usize) -> Result<(), BodyFault> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.fault()),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), BodyFault> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.fault());
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), BodyFault> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == from { Err(self.fault()) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), BodyFault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Reads a string and says whether it holds escapes.
    fn string(&mut self) -> Result<bool, BodyFault> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at = plain_end(bytes, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            let digits = bytes.get(self.at + 1..self.at + 5);
                            if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(self.fault());
                            }
                            self.at += 5;
                        }
                        _ => return Err(self.fault()),
                    }
                }
                // A control character, or the end of the input.
                _ => return Err(self.fault()),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), BodyFault> {
        if depth > MAX_DEPTH {
            return Err(BodyFault::TooDeep { limit: MAX_DEPTH });
        }
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.fault()),
            }
            self.space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), BodyFault> {
        if depth > MAX_DEPTH {
            return Err(BodyFault::TooDeep { limit: MAX_DEPTH });
        }
        let base = self.members.len();
        self.at += 1;
        let start = self.position();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.fault());
            }
            let (name_start, member_start) = (self.at + 1, self.position());
            let escaped = self.string()?;
            let name_end = self.at - 1;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.fault());
            }
            self.at += 1;
            self.space();
            self.value(depth)?;
            self.members.push(Member {
                name_start,
                name_end,
                escaped,
                start: member_start,
                end: self.position(),
            });
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.fault()),
            }
            self.space();
        }
        if self.has_equal_names(base) {
            self.keep_last(base, start);
        }
        self.members.truncate(base);
        self.at += 1;
        Ok(())
    }

    fn name(&self, member: &Member) -> Cow<'_, [u8]> {
        let raw = &self.text.as_bytes()[member.name_start..member.name_end];
        if member.escaped { Cow::Owned(decoded(raw)) } else { Cow::Borrowed(raw) }
    }

    fn has_equal_names(&self, base: usize) -> bool {
        let members = &self.members[base..];
        if members.len() > PAIRWISE_MEMBERS || members.iter().any(|m| m.escaped) {
            let mut names: Vec<_> = members.iter().map(|m| self.name(m)).collect();
            names.sort_unstable();
            return names.windows(2).any(|pair| pair[0] == pair[1]);
        }
        let bytes = self.text.as_bytes();
        members.iter().enumerate().any(|(i, one)| {
            let name = &bytes[one.name_start..one.name_end];
            members[..i].iter().any(|two| &bytes[two.name_start..two.name_end] == name)
        })
    }

    /// Rewrites the object whose members start at `start` in the output.
    fn keep_last(&mut self, base: usize, start: usize) {
        self.flush();
        let members = &self.members[base..];
        let mut order: Vec<_> = members.iter().enumerate().map(|(i, m)| (self.name(m), i)).collect();
        order.sort_unstable();
        // For each name: where it first stands, and its last member.
        let mut kept: Vec<(usize, usize)> = order
            .chunk_by(|one, two| one.0 == two.0)
            .filter_map(|same| Some((same.first()?.1, same.last()?.1)))
            .collect();
        kept.sort_unstable();
        let old = self.out[start..].to_owned();
        self.out.truncate(start);
        for (i, &(_, last)) in kept.iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            let member = &self.members[base + last];
            self.out.push_str(&old[member.start - start..member.end - start]);
        }
    }
}

/// Index of the next quote, backslash or control character from `from` on, or the length.
fn plain_end(bytes: &[u8], from: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let mut at = from;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        // Eight bytes at once: the top bit of a byte is set where the byte is below the one subtracted.
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5c);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let hits =
            (quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash) | control;
        let hits = hits & (ONES << 7);
        if hits != 0 {
            // The lowest hit is exact; borrows only disturb bytes above it.
            return at + usize::try_from(hits.trailing_zeros() / 8).unwrap_or(0);
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|b| !matches!(b, b'"' | b'\\' | 0..0x20)) {
        at += 1;
    }
    at
}

/// The characters of a valid string body, a lone surrogate in the three bytes that UTF-8 would give it.
fn decoded(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        let simple = match raw.get(at + 1) {
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let Some(unit) = unit(raw, at) else { break };
                at += 6;
                let mut point = unit;
                if (0xd800..0xdc00).contains(&unit)
                    && let Some(low) = self::unit(raw, at).filter(|low| (0xdc00..0xe000).contains(low))
                {
                    point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    at += 6;
                }
                push_point(&mut out, point);
                continue;
            }
            Some(&other) => other,
            None => break,
        };
        out.push(simple);
        at += 2;
    }
    out
}

/// The code unit of the `\uXXXX` at `at`.
fn unit(raw: &[u8], at: usize) -> Option<u32> {
    let escape = raw.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

fn push_point(out: &mut Vec<u8>, point: u32) {
    if let Some(c) = char::from_u32(point) {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        let low = |shift: u32| u8::try_from(0x80 | (point >> shift & 0x3f)).unwrap_or(0x80);
        out.extend_from_slice(&[0xe0 | low(12) & 0x0f, low(6), low(0)]);
    }
}

#[cfg(test)]
mod tests;
