//! Finds the top-level `id` of a message that cannot be parsed, byte by byte and in constant memory.
//!
//! A line over the size limit is never held in full, and clients differ in where they put the `id`: some
//! write it last, after the arguments that made the line too long. So the scanner sees every byte once.

/// Longest id that is repeated in an error; clients use small numbers or uuids.
pub(crate) const MAX_ID_BYTES: usize = 4096;

/// Remembers the last top-level `id` that passed by.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: u32,
    in_string: bool,
    escaped: bool,
    expects: Expects,
    text: Vec<u8>,
    id: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expects {
    /// Nothing of interest: before the object, or inside a nested value.
    #[default]
    Nothing,
    /// A member name of the outermost object.
    Name,
    /// The colon after a name that was `id`.
    Colon,
    /// The value of the outermost `id`.
    Value,
}

impl IdScan {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The id as JSON text, if a string or a number was seen as the top-level `id`.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.end_of_value();
        let text = String::from_utf8(self.id?).ok()?;
        let usable = match text.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(&text).is_ok(),
            b'-' | b'0'..=b'9' => serde_json::from_str::<serde_json::Number>(&text).is_ok(),
            _ => false,
        };
        usable.then_some(text)
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.collect(byte);
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
                self.end_of_string();
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && matches!(self.expects, Expects::Name | Expects::Value) {
                    self.text.clear();
                }
                self.collect(byte);
            }
            b'{' | b'[' => {
                self.expects = match (self.depth, byte) {
                    (0, b'{') => Expects::Name,
                    _ => Expects::Nothing,
                };
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                self.end_of_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.end_of_value();
                self.expects = Expects::Name;
            }
            b':' if self.expects == Expects::Colon => {
                self.expects = Expects::Value;
                self.text.clear();
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.collect(byte),
        }
    }

    fn collect(&mut self, byte: u8) {
        let wanted = self.depth == 1 && matches!(self.expects, Expects::Name | Expects::Value);
        if wanted && self.text.len() <= MAX_ID_BYTES {
            self.text.push(byte);
        }
    }

    fn end_of_string(&mut self) {
        if self.depth != 1 {
            return;
        }
        match self.expects {
            Expects::Name if self.text == b"\"id\"" => self.expects = Expects::Colon,
            Expects::Name => self.expects = Expects::Nothing,
            Expects::Value => self.end_of_value(),
            Expects::Nothing | Expects::Colon => {}
        }
    }

    fn end_of_value(&mut self) {
        if self.depth == 1 && self.expects == Expects::Value && !self.text.is_empty() {
            self.id = (self.text.len() <= MAX_ID_BYTES).then(|| self.text.clone());
            self.text.clear();
            self.expects = Expects::Nothing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(text: &str) -> Option<String> {
        let mut whole = IdScan::default();
        whole.feed(text.as_bytes());
        let mut bytewise = IdScan::default();
        text.bytes().for_each(|byte| bytewise.feed(&[byte]));
        let found = whole.finish();
        assert_eq!(found, bytewise.finish(), "the answer depends on how {text:?} was cut up");
        found
    }

    #[test]
    fn finds_the_id_wherever_it_stands() {
        for (text, id) in [
            (r#"{"id":7,"method":"x"}"#, "7"),
            (r#"{"method":"x","params":{"id":1},"jsonrpc":"2.0","id":7}"#, "7"),
            (r#"{"params":[{"id":1}], "id" : "a\"b" , "x":1"#, r#""a\"b""#),
            (r#"{"id":7,"method":"x","params":{"a":"#, "7"),
            (r#"{"a":"\"id\":3","id":-4"#, "-4"),
            (r#"{"id":1,"id":2}"#, "2"),
        ] {
            assert_eq!(id_of(text).as_deref(), Some(id), "{text}");
        }
    }

    #[test]
    fn finds_nothing_where_there_is_no_usable_id() {
        for text in [
            "",
            "hello",
            "[1,2]",
            r#"{"params":{"id":1}}"#,
            r#"{"id":null}"#,
            r#"{"id":true}"#,
            r#"{"id":{"id":1}}"#,
            r#"{"id":"#,
            r#"{"id":"open"#,
            r#"{"id":1x}"#,
            r#"[{"id":1}]"#,
            r#"{"x":"id","y":2}"#,
        ] {
            assert_eq!(id_of(text), None, "{text}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "a".repeat(MAX_ID_BYTES + 1));
        assert_eq!(id_of(&long), None);
    }
}
