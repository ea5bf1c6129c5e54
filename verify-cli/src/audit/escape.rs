//! Spelling values so that no output can be steered by what they hold.

use super::limits::MAX_SHOWN_CHARS;
use crate::escape::is_unsafe;
use kaval_receipt::json::{JsonString, write_string};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;

/// Appends a JSON string, with DEL and the C1 controls escaped too: JSON permits them raw, terminals obey them.
pub(super) fn write_json(out: &mut Vec<u8>, text: &JsonString<'_>) {
    let start = out.len();
    write_string(out, text);
    let is_control = |pair: &[u8]| pair[0] == 0x7F || (pair[0] == 0xC2 && pair[1] < 0xA0);
    // The closing quote is the last byte, so a DEL always has a byte after it.
    if out.get(start..).unwrap_or_default().windows(2).any(is_control) {
        let written = String::from_utf8_lossy(out.get(start..).unwrap_or_default()).into_owned();
        out.truncate(start);
        for c in written.chars() {
            if matches!(c, '\u{7F}'..='\u{9F}') {
                // Writing to a vector does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            } else {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// The text with controls, line and paragraph separators and marks that reorder text spelled as escapes.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, 0x20..0x7F)) || !text.chars().any(is_unsafe) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if is_unsafe(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.into()
}

/// [`visible`] text of bounded length; what was left out is said.
pub(super) fn brief(text: &str) -> Cow<'_, str> {
    let mut ends = text.char_indices().skip(MAX_SHOWN_CHARS);
    match ends.next() {
        None => visible(text),
        Some((end, _)) => {
            let more = ends.count() + 1;
            format!("{}… ({more} more characters)", visible(text.get(..end).unwrap_or_default())).into()
        }
    }
}

/// Appends text to an XML document, as character data or inside an attribute's quotes.
pub(super) fn write_xml(out: &mut Vec<u8>, text: &str) {
    for c in visible(text).chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&#39;"),
            // XML has no way to write these two.
            '\u{FFFE}' | '\u{FFFF}' => out.extend_from_slice("\u{FFFD}".as_bytes()),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Appends a CSV cell: quoted where RFC 4180 wants it, and defused where a spreadsheet would run it.
pub(super) fn write_csv(out: &mut Vec<u8>, text: &str) {
    let runs = |c: char| matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r' | '＝' | '＋' | '－' | '＠');
    let defused = text.starts_with(runs);
    let text = visible(text);
    let quoted = text.contains([',', '"']) || text.starts_with(' ') || text.ends_with(' ');
    if quoted {
        out.push(b'"');
    }
    if defused {
        out.push(b'\'');
    }
    for (index, part) in text.split('"').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part.as_bytes());
    }
    if quoted {
        out.push(b'"');
    }
}

/// Appends a JSON string that can stand inside a `script` element.
pub(super) fn write_script_json(out: &mut Vec<u8>, text: &str) {
    let start = out.len();
    write_json(out, &JsonString::from(text));
    if out.get(start..).unwrap_or_default().iter().any(|byte| matches!(byte, b'<' | b'>' | b'&')) {
        let written = out.split_off(start);
        for byte in written {
            match byte {
                b'<' => out.extend_from_slice(b"\\u003c"),
                b'>' => out.extend_from_slice(b"\\u003e"),
                b'&' => out.extend_from_slice(b"\\u0026"),
                byte => out.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Vec<u8>, &str), text: &str) -> String {
        let mut out = b"before".to_vec();
        write(&mut out, text);
        String::from_utf8(out).expect("UTF-8").strip_prefix("before").expect("appended").to_owned()
    }

    #[test]
    fn json_escapes_what_a_terminal_obeys() {
        let json = |text: &str| written(|out, text| write_json(out, &JsonString::from(text)), text);
        assert_eq!(json("a\u{1b}[2J\u{7f}\u{9b}é\u{a0}\n\""), "\"a\\u001b[2J\\u007f\\u009bé\u{a0}\\n\\\"\"");
        assert_eq!(json("\u{7f}"), "\"\\u007f\"");
        assert_eq!(json(""), "\"\"");
    }

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(
            visible("a\u{1b}[31m\t\r\n\u{202e}\u{2066}\u{85}é😀"),
            "a\\u001b[31m\\t\\r\\n\\u202e\\u2066\\u0085é😀"
        );
        assert!(matches!(visible("plain é"), Cow::Borrowed("plain é")));
    }

    #[test]
    fn long_text_says_what_is_missing() {
        let long = "é".repeat(MAX_SHOWN_CHARS + 5);
        assert_eq!(brief(&long), format!("{}… (5 more characters)", "é".repeat(MAX_SHOWN_CHARS)));
        let fits = "é".repeat(MAX_SHOWN_CHARS);
        assert_eq!(brief(&fits), fits);
    }

    #[test]
    fn xml_holds_only_what_xml_can() {
        assert_eq!(
            written(write_xml, "<a b=\"c\" d='e'>&\0\u{1b}\u{ffff}]]>"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\\u0000\\u001b\u{fffd}]]&gt;"
        );
    }

    #[test]
    fn csv_cells_are_quoted_and_defused() {
        for (text, cell) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "'=1+1"),
            ("@SUM(A1,B1)", "\"'@SUM(A1,B1)\""),
            ("-", "'-"),
            ("+49", "'+49"),
            ("\t=1", "'\\t=1"),
            ("\r=1", "'\\r=1"),
            ("＝1", "'＝1"),
            ("a=b", "a=b"),
            ("two\nlines", "two\\nlines"),
            (" padded", "\" padded\""),
            ("", ""),
        ] {
            assert_eq!(written(write_csv, text), cell, "{text:?}");
        }
    }

    #[test]
    fn script_text_cannot_close_its_element() {
        let text = written(write_script_json, "</script><!-- &amp; \u{2028}");
        assert_eq!(text, "\"\\u003c/script\\u003e\\u003c!-- \\u0026amp; \u{2028}\"");
    }
}
