//! MCP over a pair of byte streams: lines in, lines out.

mod id_scan;
mod lines;
mod message;
pub(crate) mod outbox;
mod streams;
mod transport;

pub(crate) use message::text as string_content;
pub use streams::{Input, Output, Restore, Standard, standard_streams};
pub use transport::{Drain, LineTransport};
