//! Text from outside, made safe for a terminal and a log.

use std::fmt::{self, Write as _};

/// Shows text with every control character (C0, DEL, C1) and every character that changes the direction or
/// the line of what follows spelled as `\uXXXX`, so that a receipt cannot draw on the reader's screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escaped<'t> {
    text: &'t str,
    keeps_line_breaks: bool,
}

impl<'t> Escaped<'t> {
    /// Text that must stay on one line.
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, keeps_line_breaks: false }
    }

    /// Text of ours that has lines of its own; values in it were escaped before.
    pub(crate) fn lines(text: &'t str) -> Self {
        Self { text, keeps_line_breaks: true }
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.text.chars() {
            if is_unsafe(c) && !(self.keeps_line_breaks && c == '\n') {
                write!(f, "\\u{:04x}", u32::from(c))?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// Whether a character must not reach a terminal as it is.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{061c}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let shown = Escaped::new("a\u{1b}[31m\n\t\u{7f}\u{85}\u{9b}\u{202e}é😀").to_string();
        assert_eq!(shown, "a\\u001b[31m\\u000a\\u0009\\u007f\\u0085\\u009b\\u202eé😀");
        assert_eq!(Escaped::lines("a\nb\r").to_string(), "a\nb\\u000d");
    }
}
