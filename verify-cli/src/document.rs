//! From the bytes of an input to a strict JSON value.

use crate::exit::Failure;
use crate::input::{InputError, Source, encoding_hint};
use kaval_receipt::Outcome;
use kaval_receipt::json::{self, Value};

/// The text of a document.
#[derive(Debug)]
pub(crate) struct Document {
    source: Source,
    text: String,
    /// What else the bytes may have been, should the text not be JSON.
    hint: &'static str,
}

impl Document {
    /// Reads a document. Sequences that are not UTF-8 become U+FFFD.
    ///
    /// Source: receipt verification, section 11.
    ///
    /// # Errors
    ///
    /// [`InputError`] when it cannot be read.
    pub(crate) fn read(source: Source, max_bytes: u64) -> Result<Self, InputError> {
        let bytes = source.read(max_bytes)?;
        let hint = encoding_hint(&bytes);
        // Valid UTF-8, the usual case, is not copied.
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(Self { source, text, hint })
    }

    /// Reads a document, or fails with `unreadable`.
    ///
    /// # Errors
    ///
    /// `unreadable` when it cannot be read.
    pub(crate) fn open(source: Source, max_bytes: u64) -> Result<Self, Failure> {
        Self::read(source.clone(), max_bytes).map_err(|error| error.into_failure(&source))
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// `outcome`, naming the source and the fault, when the text is not strict JSON.
    pub(crate) fn parse(&self, outcome: Outcome) -> Result<Value<'_>, Failure> {
        json::parse(&self.text).map_err(|error| {
            Failure::outcome(outcome, format!("{} is not strict JSON: {error}{}", self.source, self.hint))
        })
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
