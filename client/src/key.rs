//! The API key: a value that cannot be printed.

use std::borrow::Cow;
use std::fmt;

use http::HeaderValue;
use memchr::memmem;

/// Shortest key that is masked in texts. Shorter ones occur in texts by chance, and no issued key is as short.
pub const MIN_MASKED_BYTES: usize = 8;

const MASK: &str = "[redacted]";

/// A checked API key: 1 or more characters, each U+0021 to U+007E.
///
/// There is no `Display`, and `Debug` prints nothing of the key. See [`crate::Config::from_env`] for how one is
/// read from the environment.
#[derive(Clone)]
pub struct ApiKey {
    header: HeaderValue,
    /// The key as it may stand in a text: plain, and with JSON escapes where they differ.
    needles: Vec<memmem::Finder<'static>>,
}

/// Why a text is not an API key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// Nothing is left after trimming.
    #[error("is empty")]
    Empty,
    /// An unexpanded `${...}`.
    #[error("is an unexpanded placeholder")]
    Placeholder,
    /// The scheme of the header stands before the key.
    #[error("starts with `Bearer `: give the key alone")]
    BearerPrefix,
    /// A character outside U+0021 to U+007E: a line break, a space, or not ASCII.
    #[error("holds a space, a control character or a character that is not ASCII")]
    Character,
    /// Longer than [`ApiKey::MAX_BYTES`].
    #[error("is longer than {} bytes", ApiKey::MAX_BYTES)]
    TooLong,
}

impl ApiKey {
    /// Longest key accepted, in bytes: servers commonly refuse header lines above 8 KiB.
    pub const MAX_BYTES: usize = 4096;

    /// Reads a key: surrounding white space, byte order marks and one pair of quotes are removed.
    ///
    /// # Errors
    ///
    /// A [`KeyFault`] saying what is wrong, never the value.
    pub fn parse(text: &str) -> Result<Self, KeyFault> {
        let key = unwrap_value(text);
        if key.is_empty() {
            return Err(KeyFault::Empty);
        }
        if is_placeholder(key) {
            return Err(KeyFault::Placeholder);
        }
        // The word alone is what is left of `Bearer ${KEY}` where the variable is empty.
        if key.get(..7).unwrap_or(key).trim_end().eq_ignore_ascii_case("bearer") {
            return Err(KeyFault::BearerPrefix);
        }
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(KeyFault::Character);
        }
        if key.len() > Self::MAX_BYTES {
            return Err(KeyFault::TooLong);
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| KeyFault::Character)?;
        header.set_sensitive(true);
        Ok(Self { header, needles: needles(key) })
    }

    /// The value of the `Authorization` header, marked sensitive.
    pub(crate) fn authorization(&self) -> &HeaderValue {
        &self.header
    }

    /// Replaces the key wherever it stands in `text`, also JSON-escaped.
    ///
    /// Keys under [`MIN_MASKED_BYTES`] are left, since they would mask ordinary text.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Cow::Borrowed(text);
        for needle in &self.needles {
            if needle.find(out.as_bytes()).is_some() {
                out = Cow::Owned(replace_all(&out, needle));
            }
        }
        out
    }

    /// As [`ApiKey::redact`] for a JSON text: only inside strings, so that the text stays JSON.
    #[must_use]
    pub fn redact_json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // `\u006b` is a `k` to whoever reads the text: strings with such escapes are looked at decoded.
        let escaped = memmem::find(text.as_bytes(), b"\\u").is_some();
        if !escaped && self.needles.iter().all(|n| n.find(text.as_bytes()).is_none()) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = memchr::memchr(b'"', rest.as_bytes()) {
            let body = open + 1;
            let end = crate::json::string_end(rest.as_bytes(), body);
            out.push_str(&rest[..body]);
            match self.redact_escaped(&rest[body..end]) {
                Some(masked) => out.push_str(&masked),
                None => out.push_str(&self.redact(&rest[body..end])),
            }
            rest = &rest[end..];
            if let Some(after) = rest.strip_prefix('"') {
                out.push('"');
                rest = after;
            }
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

impl ApiKey {
    /// The inside of a JSON string with the key masked, if the key is in it once its escapes are resolved.
    fn redact_escaped(&self, inside: &str) -> Option<String> {
        memmem::find(inside.as_bytes(), b"\\u")?;
        let decoded: String = serde_json::from_str(&format!("\"{inside}\"")).ok()?;
        match self.redact(&decoded) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => {
                let quoted = serde_json::Value::String(masked).to_string();
                Some(quoted.get(1..quoted.len() - 1)?.to_owned())
            }
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([redacted])")
    }
}

/// Removes what hosts, editors and shells leave around a value: white space, byte order marks, one pair of quotes.
pub(crate) fn unwrap_value(text: &str) -> &str {
    let trim = |t| str::trim_matches(t, |c: char| c.is_whitespace() || c == '\u{feff}');
    let text = trim(text);
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return trim(inner);
        }
    }
    text
}

/// Whether a value is a `${...}` that a host passed on without expanding it.
pub(crate) fn is_placeholder(text: &str) -> bool {
    text.starts_with("${") && text.ends_with('}')
}

fn needles(key: &str) -> Vec<memmem::Finder<'static>> {
    if key.len() < MIN_MASKED_BYTES {
        return Vec::new();
    }
    let escaped = key.replace('\\', "\\\\").replace('"', "\\\"");
    let slashes = escaped.replace('/', "\\/");
    let mut forms = vec![slashes, escaped, key.to_owned()];
    forms.dedup();
    forms.iter().map(|form| memmem::Finder::new(form.as_bytes()).into_owned()).collect()
}

fn replace_all(text: &str, needle: &memmem::Finder<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in needle.find_iter(text.as_bytes()) {
        out.push_str(&text[from..at]);
        out.push_str(MASK);
        from = at + needle.needle().len();
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<String, KeyFault> {
        ApiKey::parse(text).map(|key| key.authorization().to_str().expect("ASCII").to_owned())
    }

    #[test]
    fn wrapping_is_removed() {
        for text in [
            "kv_live_1",
            " kv_live_1\r\n",
            "\u{feff}kv_live_1",
            "\"kv_live_1\"",
            "'kv_live_1'\n",
            "\u{feff} \" kv_live_1 \"",
        ] {
            assert_eq!(value(text).as_deref(), Ok("Bearer kv_live_1"), "{text:?}");
        }
        assert_eq!(value("\"\"a\"\"").as_deref(), Ok("Bearer \"a\""), "one pair only");
    }

    #[test]
    fn faults_are_told_apart() {
        for (text, fault) in [
            ("", KeyFault::Empty),
            (" \n", KeyFault::Empty),
            ("''", KeyFault::Empty),
            ("${KAVAL_API_KEY}", KeyFault::Placeholder),
            ("\"${input:key}\"", KeyFault::Placeholder),
            ("Bearer kv_live_1", KeyFault::BearerPrefix),
            ("bearer kv_live_1", KeyFault::BearerPrefix),
            ("Bearer ", KeyFault::BearerPrefix),
            ("kv live", KeyFault::Character),
            ("kv\nlive", KeyFault::Character),
            ("kv\u{7f}live", KeyFault::Character),
            ("kv_lïve", KeyFault::Character),
            ("kv_live\u{200b}_1", KeyFault::Character),
        ] {
            assert_eq!(value(text), Err(fault), "{text:?}");
        }
        assert_eq!(value(&"k".repeat(ApiKey::MAX_BYTES + 1)), Err(KeyFault::TooLong));
        assert!(value(&"k".repeat(ApiKey::MAX_BYTES)).is_ok());
    }

    #[test]
    fn debug_shows_nothing() {
        let key = ApiKey::parse("kv_live_canary").expect("valid");
        assert!(!format!("{key:?} {key:#?} {:?}", key.authorization()).contains("canary"));
    }

    #[test]
    fn redaction_covers_plain_and_escaped_forms() {
        let key = ApiKey::parse(r#"kv/li"ve\1"#).expect("valid");
        for echo in [r#"kv/li"ve\1"#, r#"kv/li\"ve\\1"#, r#"kv\/li\"ve\\1"#] {
            assert_eq!(key.redact(&format!("a {echo} b {echo}")), "a [redacted] b [redacted]");
        }
        assert!(matches!(key.redact("nothing here"), Cow::Borrowed(_)));
        let short = ApiKey::parse("test").expect("valid");
        assert_eq!(short.redact("a test"), "a test");
    }

    #[test]
    fn json_redaction_keeps_numbers() {
        let key = ApiKey::parse("12345678").expect("valid");
        assert_eq!(
            key.redact_json(r#"{"n":12345678,"s":"\"12345678","12345678":"x\\"}"#),
            r#"{"n":12345678,"s":"\"[redacted]","[redacted]":"x\\"}"#
        );
    }
}
