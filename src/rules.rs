//! Rules that values of arguments keep: each reads one value, or adds an issue and yields nothing.
//!
//! Lengths are UTF-16 code units, and white space is what ECMAScript's `trim` takes away, because the API
//! and the reference server count and trim that way.
//!
//! Source: MCP tool contract, section A5.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::arguments::{Issues, Path, RawArray};

/// Whether surrounding white space belongs to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum White {
    /// It is counted and sent.
    Kept,
    /// It is taken away before the value is counted and sent.
    Trimmed,
}

/// Bounds of a string, in UTF-16 code units.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Fewest units.
    pub min: usize,
    /// Most units.
    pub max: usize,
    /// What happens to surrounding white space.
    pub white: White,
}

impl Text {
    /// A trimmed text of 1 to `max` units.
    #[must_use]
    pub const fn trimmed(max: usize) -> Self {
        Self { min: 1, max, white: White::Trimmed }
    }

    /// An untrimmed text.
    #[must_use]
    pub const fn kept(min: usize, max: usize) -> Self {
        Self { min, max, white: White::Kept }
    }

    /// Reads a string within these bounds.
    pub fn read<'a>(self, raw: &'a RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Cow<'a, str>> {
        let text = string(raw, at, issues)?;
        let text = match (self.white, text) {
            (White::Kept, text) => text,
            (White::Trimmed, Cow::Borrowed(text)) => Cow::Borrowed(trim(text)),
            (White::Trimmed, Cow::Owned(text)) => Cow::Owned(trim(&text).to_owned()),
        };
        let units = utf16_len(&text);
        if units < self.min {
            let trimmed = if self.white == White::Trimmed { " after trimming" } else { "" };
            issues.add(at, "too_short", format!("at least {} characters{trimmed}, given {units}", self.min));
            None
        } else if units > self.max {
            issues.add(at, "too_long", format!("at most {} characters, given {units}", self.max));
            None
        } else {
            Some(text)
        }
    }
}

/// Reads any string.
pub fn string<'a>(raw: &'a RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Cow<'a, str>> {
    if !raw.get().starts_with('"') {
        wrong_type(raw, "a string", at, issues);
        return None;
    }
    let text = crate::stdio::string_content(raw.get());
    if text.is_none() {
        issues.add(at, "invalid_text", "the string holds half a surrogate pair, which no Unicode text can");
    }
    text
}

/// Reads one of a few words.
pub fn choice(
    raw: &RawValue,
    allowed: &'static [&'static str],
    at: &Path<'_>,
    issues: &mut Issues,
) -> Option<&'static str> {
    let text = string(raw, at, issues)?;
    let found = allowed.iter().copied().find(|word| *word == text);
    if found.is_none() {
        let given = match utf16_len(&text) {
            // Long enough for every word of ours, too short for a key.
            0..=16 if text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') => format!("`{text}`"),
            units => format!("a string of {units} characters"),
        };
        issues.add(at, "not_allowed", format!("one of `{}`, given {given}", allowed.join("`, `")));
    }
    found
}

/// Reads true or false.
pub fn boolean(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<bool> {
    match raw.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => {
            wrong_type(raw, "true or false", at, issues);
            None
        }
    }
}

/// Reads an integer in any spelling (`1000`, `1000.0`, `1e3`).
pub fn integer(raw: &RawValue, min: u32, max: u32, at: &Path<'_>, issues: &mut Issues) -> Option<u32> {
    let text = raw.get();
    if !is_number(text) {
        wrong_type(raw, "an integer", at, issues);
        return None;
    }
    // Every integer within the bounds is exact in a float, and none outside comes within by rounding.
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    if value.is_finite() && value.fract() != 0.0 {
        issues.add(at, "not_an_integer", format!("an integer, given {}", shown_number(text)));
        return None;
    }
    if !(f64::from(min)..=f64::from(max)).contains(&value) {
        issues.add(at, "out_of_range", format!("{min} to {max}, given {}", shown_number(text)));
        return None;
    }
    // The range check leaves integers that fit.
    format!("{value:.0}").trim_start_matches('-').parse().ok()
}

/// Whether the value is a number that a double can hold.
pub fn finite_number(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<()> {
    let finite = raw.get().parse::<f64>().is_ok_and(f64::is_finite);
    if !finite {
        issues.add(at, "out_of_range", format!("a finite number, given {}", shown_number(raw.get())));
    }
    finite.then_some(())
}

/// Reads a UUID: 8-4-4-4-12 hexadecimal digits of any case and version.
pub fn uuid<'a>(raw: &'a RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Cow<'a, str>> {
    let text = string(raw, at, issues)?;
    let fits = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if !fits {
        let units = utf16_len(&text);
        issues.add(
            at,
            "not_a_uuid",
            format!("a UUID of 36 characters, given a string of {units} characters"),
        );
    }
    fits.then_some(text)
}

/// Reads an http or https URL without user and password; its spelling is kept.
pub fn http_url<'a>(raw: &'a RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Cow<'a, str>> {
    let text = string(raw, at, issues)?;
    let fault = match url::Url::parse(&text) {
        Err(error) => Some(format!("an http or https URL, given a string that is no URL: {error}")),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            Some("an http or https URL, given a URL of another scheme".to_owned())
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Some("a URL without user and password".to_owned())
        }
        Ok(_) => None,
    };
    if let Some(fault) = fault {
        issues.add(at, "not_an_http_url", fault);
        return None;
    }
    Some(text)
}

/// Reads an RFC 3339 instant; its spelling is kept.
pub fn datetime<'a>(raw: &'a RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Cow<'a, str>> {
    let text = string(raw, at, issues)?;
    let fits = is_datetime(&text);
    if !fits {
        issues.add(
            at,
            "not_a_datetime",
            "a date and time with offset that exists, such as 2026-08-03T01:42:10Z",
        );
    }
    fits.then_some(text)
}

/// Reads an array of `min` to `max` elements; the elements are left to the caller.
pub fn array<'a>(
    raw: &'a RawValue,
    min: usize,
    max: usize,
    at: &Path<'_>,
    issues: &mut Issues,
) -> Option<Vec<&'a RawValue>> {
    let Some(RawArray(elements)) =
        raw.get().starts_with('[').then(|| serde_json::from_str(raw.get()).ok()).flatten()
    else {
        wrong_type(raw, "an array", at, issues);
        return None;
    };
    if elements.len() < min {
        issues.add(at, "too_few", format!("at least {min} elements, given {}", elements.len()));
        None
    } else if elements.len() > max {
        issues.add(at, "too_many", format!("at most {max} elements, given {}", elements.len()));
        None
    } else {
        Some(elements)
    }
}

/// Adds the issue for a value of another type.
pub fn wrong_type(raw: &RawValue, wanted: &str, at: &Path<'_>, issues: &mut Issues) {
    issues.add(at, "wrong_type", format!("{wanted}, given {}", kind(raw)));
}

/// The JSON type of a value, in words.
#[must_use]
pub fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Whether a JSON value is a number.
#[must_use]
pub fn is_number(text: &str) -> bool {
    matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
}

/// Length in UTF-16 code units.
#[must_use]
pub fn utf16_len(text: &str) -> usize {
    // Almost every text is ASCII, where bytes and units are the same.
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Takes away what ECMAScript's `trim` does: byte order marks count as white space, U+0085 does not.
#[must_use]
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

fn shown_number(text: &str) -> &str {
    // A number of thousands of digits says no more than its beginning, and none of ours is as long.
    if text.len() > 32 { "a number of more than 32 characters" } else { text }
}

/// `YYYY-MM-DDTHH:MM`, optional `:SS` and fraction, then `Z` or an offset; the day must exist.
fn is_datetime(text: &str) -> bool {
    parse_datetime(text.as_bytes()).is_some()
}

fn parse_datetime(text: &[u8]) -> Option<()> {
    let (date, rest) = text.split_at_checked(10)?;
    let year = number(date.get(..4)?)?;
    let month = number(date.get(5..7)?)?;
    let day = number(date.get(8..)?)?;
    if date.get(4) != Some(&b'-') || date.get(7) != Some(&b'-') || day < 1 || day > days_in(year, month)? {
        return None;
    }
    let rest = rest.strip_prefix(b"T")?;
    let (time, mut rest) = rest.split_at_checked(5)?;
    if time.get(2) != Some(&b':') || number(time.get(..2)?)? > 23 || number(time.get(3..)?)? > 59 {
        return None;
    }
    if let Some(seconds) = rest.strip_prefix(b":") {
        let (second, after) = seconds.split_at_checked(2)?;
        if number(second)? > 59 {
            return None;
        }
        rest = after;
        if let Some(fraction) = rest.strip_prefix(b".") {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            rest = fraction.get(digits..)?;
        }
    }
    match rest {
        b"Z" => Some(()),
        [b'+' | b'-', offset @ ..] => match offset {
            [a, b, b':', c, d] | [a, b, c, d] => {
                [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()).then_some(())
            }
            _ => None,
        },
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0')))
}

fn days_in(year: u32, month: u32) -> Option<u32> {
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(
        text: &str,
        rule: impl FnOnce(&RawValue, &Path<'_>, &mut Issues) -> Option<T>,
    ) -> Result<T, &'static str> {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let mut issues = Issues::default();
        let value = rule(&raw, &Path::argument("x"), &mut issues);
        match (value, issues.list.as_slice()) {
            (Some(value), []) => Ok(value),
            (None, [issue]) => Err(issue.code),
            (value, issues) => panic!("{text}: {} with {issues:?}", value.is_some()),
        }
    }

    #[test]
    fn texts_are_trimmed_as_ecmascript_does_and_counted_in_utf16() {
        let trimmed = |text: &str| {
            read(text, |raw, at, issues| Text::trimmed(3).read(raw, at, issues).map(Cow::into_owned))
        };
        assert_eq!(trimmed(r#"" \ufeff\u00a0\u2028abc\t\n""#).unwrap(), "abc");
        assert_eq!(trimmed(r#""\u0085""#).unwrap(), "\u{85}", "U+0085 is not white space there");
        assert_eq!(trimmed(r#""   ""#), Err("too_short"));
        assert_eq!(trimmed(r#""abcd""#), Err("too_long"));
        assert_eq!(trimmed("\"\u{1f600}a\"").unwrap(), "\u{1f600}a");
        assert_eq!(trimmed("\"\u{1f600}\u{1f600}\""), Err("too_long"), "two units each");
        assert_eq!(trimmed(r#""\ud800""#), Err("invalid_text"));
        assert_eq!(trimmed("7"), Err("wrong_type"));
        let kept =
            read(r#"" a ""#, |raw, at, issues| Text::kept(1, 3).read(raw, at, issues).map(Cow::into_owned));
        assert_eq!(kept.unwrap(), " a ");
    }

    #[test]
    fn integers_may_be_spelled_as_they_like() {
        let check = |text: &str| read(text, |raw, at, issues| integer(raw, 0, 45_000, at, issues));
        for (text, value) in
            [("0", 0), ("-0", 0), ("1000.0", 1000), ("1e3", 1000), ("4.5E4", 45_000), ("45000", 45_000)]
        {
            assert_eq!(check(text), Ok(value), "{text}");
        }
        for (text, code) in [
            ("45001", "out_of_range"),
            ("-1", "out_of_range"),
            ("1e999", "out_of_range"),
            ("0.5", "not_an_integer"),
            ("\"1\"", "wrong_type"),
            ("true", "wrong_type"),
        ] {
            assert_eq!(check(text), Err(code), "{text}");
        }
    }

    #[test]
    fn uuids_of_any_case_and_version_pass() {
        for text in ["00000000-0000-0000-0000-000000000000", "B7B0A3DE-52d4-4d0e-8f0b-3c1f9a6e2d11"] {
            assert!(
                read(&format!("\"{text}\""), |raw, at, issues| uuid(raw, at, issues).map(Cow::into_owned))
                    .is_ok()
            );
        }
        for text in [
            "",
            "b7b0a3de52d44d0e8f0b3c1f9a6e2d11",
            "g7b0a3de-52d4-4d0e-8f0b-3c1f9a6e2d11",
            " b7b0a3de-52d4-4d0e-8f0b-3c1f9a6e2d1",
        ] {
            let seen =
                read(&format!("\"{text}\""), |raw, at, issues| uuid(raw, at, issues).map(Cow::into_owned));
            assert_eq!(seen, Err("not_a_uuid"), "{text}");
        }
    }

    #[test]
    fn urls_are_read_as_browsers_do_and_never_repeated() {
        let check = |text: &str| {
            read(&format!("\"{text}\""), |raw, at, issues| http_url(raw, at, issues).map(Cow::into_owned))
        };
        for text in [
            "https://a.example/x",
            "HTTP://A.example",
            " https://a.example ",
            "http:a.example",
            "http://@a.example/",
        ] {
            assert_eq!(check(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "a.example",
            "ftp://a.example",
            "https://",
            "https://user:secret@a.example",
            "https://u@a.example",
        ] {
            assert_eq!(check(text), Err("not_an_http_url"), "{text}");
        }
        let raw: Box<RawValue> = serde_json::from_str("\"https://user:secret@a.example\"").unwrap();
        let mut issues = Issues::default();
        http_url(&raw, &Path::argument("x"), &mut issues);
        assert!(!issues.list[0].message.contains("secret"));
    }

    #[test]
    fn datetimes_need_an_offset_and_a_day_that_exists() {
        for text in [
            "2026-08-03T01:42Z",
            "2026-08-03T01:42:10Z",
            "2026-08-03T01:42:10.123456789012Z",
            "2024-02-29T23:59:59+99:99",
            "2000-02-29T00:00-0530",
        ] {
            assert!(is_datetime(text), "{text}");
        }
        for text in [
            "2026-08-03",
            "2026-08-03T01:42",
            "2026-08-03t01:42Z",
            "2026-08-03T01:42z",
            "2026-08-03 01:42Z",
            "2023-02-29T00:00Z",
            "1900-02-29T00:00Z",
            "2026-13-01T00:00Z",
            "2026-00-01T00:00Z",
            "2026-04-31T00:00Z",
            "2026-01-00T00:00Z",
            "2026-01-01T24:00Z",
            "2026-01-01T00:60Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00.5Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+1",
            "2026-01-01T00:00:00+01:0",
            "2026-01-01T00:00:00Zx",
            "2026-01-0\u{e9}T00:00Z",
        ] {
            assert!(!is_datetime(text), "{text}");
        }
    }

    #[test]
    fn choices_name_what_is_allowed() {
        let check = |text: &str| read(text, |raw, at, issues| choice(raw, &["fast", "standard"], at, issues));
        assert_eq!(check("\"fast\""), Ok("fast"));
        assert_eq!(check("\"Fast\""), Err("not_allowed"));
        assert_eq!(check("1"), Err("wrong_type"));
    }
}
