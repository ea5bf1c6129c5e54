//! Finding the receipt inside a document.
//!
//! Source: receipt verification, section 3.

use crate::json::Value;
use core::fmt;

/// Which wrappers are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrappers {
    /// Those of the reference: a bare receipt, `packet`, `run.packet`.
    Compatible,
    /// Those and `receipt`, which the API's receipt route answers with.
    Own,
}

/// Why a document holds no receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrapperError {
    /// The document is not an object.
    NotAnObject,
    /// Neither a bare receipt nor exactly one wrapped one.
    NotExactlyOne,
}

impl WrapperError {
    /// A stable name for the fault.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotAnObject => "receipt_document_not_object",
            Self::NotExactlyOne => "receipt_not_found",
        }
    }
}

impl fmt::Display for WrapperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnObject => "the receipt document is not a JSON object",
            Self::NotExactlyOne => {
                "the document is neither a signed receipt nor a wrapper around exactly one"
            }
        })
    }
}

impl core::error::Error for WrapperError {}

/// The receipt in a document: the document itself when it has a `signature` member, else the one object
/// found in a wrapper.
///
/// # Errors
///
/// [`WrapperError`] when there is none, or more than one.
pub fn extract_receipt<'r, 'a>(
    document: &'r Value<'a>,
    wrappers: Wrappers,
) -> Result<&'r Value<'a>, WrapperError> {
    let object = document.as_object().ok_or(WrapperError::NotAnObject)?;
    if object.contains("signature") {
        return Ok(document);
    }
    let own = object.get("receipt").filter(|_| wrappers == Wrappers::Own);
    let run = object.get("run").and_then(|run| run.get("packet"));
    let mut candidates =
        [object.get("packet"), run, own].into_iter().flatten().filter(|value| value.as_object().is_some());
    match (candidates.next(), candidates.next()) {
        (Some(receipt), None) => Ok(receipt),
        _ => Err(WrapperError::NotExactlyOne),
    }
}
