//! The toolsets in the box.

pub mod facts;

use std::sync::Arc;

use crate::toolset::Toolset;

/// Names that `--toolsets` and `KAVAL_TOOLSETS` take.
pub const NAMES: &[&str] = &[facts::NAME];

/// The toolset of that name.
#[must_use]
pub fn by_name(name: &str) -> Option<Arc<dyn Toolset>> {
    match name {
        facts::NAME => Some(Arc::new(facts::Facts)),
        _ => None,
    }
}
