//! Typed readings of response bodies. Unknown members are ignored; the text stays the truth.
//!
//! Source: HTTP API, sections 3 to 11.

use serde::Deserialize;

/// Verdict of a check. Only [`Decision::Allow`] permits acting.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Decision {
    /// The action may go ahead.
    Allow,
    /// A belief has changed or cannot be confirmed: never permission.
    Review,
    /// The action must not go ahead.
    Block,
}
