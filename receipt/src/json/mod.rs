//! The strict JSON profile: reader, values and writers.
//!
//! Source: receipt verification, section 1.

mod number;
mod reader;
mod string;
mod value;
mod write;

pub(crate) use number::write_number;
pub use reader::{JsonError, JsonErrorKind, LimitError, Limits, parse, parse_with_limits};
pub(crate) use string::is_ecmascript_space;
pub use string::{JsonString, compare_utf16};
pub use value::{Object, Value};
pub(crate) use write::into_string;
pub use write::{Layout, to_text, write_string};
