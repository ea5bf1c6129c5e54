//! An MCP server that stands between an agent's intention and its action: the Kaval verification API is asked
//! about the action, or about the claims under it, and its ALLOW, REVIEW or BLOCK is handed on.
//!
//! The library holds no policy, installs no logger, TLS provider or signal handler, and never exits.
//!
//! - [`server()`] makes the rmcp service around a configured [`kaval_client::Client`]
//! - [`LineTransport`] carries it over any pair of byte streams; [`serve`] runs both together
//! - [`toolset`] is what a set of tools must offer; [`toolsets`] are those in the box
//! - [`arguments`] and [`rules`] read and check what a caller gave
//! - [`error`] holds the stable codes of failed calls
//! - [`cli`], [`log`] and [`docs`] belong to the binary
//!
//! # Example
//!
//! See `examples/embed.rs`, which runs the server inside another program.

pub mod arguments;
mod call;
pub mod cli;
pub mod docs;
pub mod error;
pub mod log;
mod reply;
pub mod rules;
mod run;
mod server;
mod stdio;
pub mod toolset;
pub mod toolsets;
mod version;
mod wire;

pub use call::CallContext;
pub use kaval_client::{Client, Config};
pub use run::serve;
pub use server::{Server, server};
pub use stdio::{Drain, Input, LineTransport, Output, Restore, Standard, standard_streams};
