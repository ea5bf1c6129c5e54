//! `fixtures/vectors`: frozen cases, one file a topic. Expected values are stated by hand or come from
//! [`oracle`](crate::oracle), never from the library under test.

use crate::files::Files;

pub(crate) fn add(_files: &mut Files) {}
