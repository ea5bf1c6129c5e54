//! Writes request bodies member by member, so that values can be cut out of the caller's text.

/// A JSON object in the making.
#[derive(Debug)]
pub(super) struct Body(Vec<u8>);

impl Body {
    pub(super) fn new() -> Self {
        Self(vec![b'{'])
    }

    /// A member whose value is JSON already.
    pub(super) fn raw(&mut self, name: &str, json: &str) -> &mut Self {
        self.name(name);
        self.0.extend_from_slice(json.as_bytes());
        self
    }

    /// A string member.
    pub(super) fn string(&mut self, name: &str, text: &str) -> &mut Self {
        self.name(name);
        write_string(&mut self.0, text);
        self
    }

    /// A string member, if there is one.
    pub(super) fn optional(&mut self, name: &str, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.string(name, text),
            None => self,
        }
    }

    /// An array member of values that are JSON already.
    pub(super) fn array<T: AsRef<[u8]>>(&mut self, name: &str, elements: &[T]) -> &mut Self {
        self.name(name);
        self.0.push(b'[');
        for (at, element) in elements.iter().enumerate() {
            if at > 0 {
                self.0.push(b',');
            }
            self.0.extend_from_slice(element.as_ref());
        }
        self.0.push(b']');
        self
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        write_string(&mut self.0, name);
        self.0.push(b':');
    }
}

/// A string as JSON text.
pub(super) fn json_string(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    out
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}
