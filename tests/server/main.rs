//! The server in process, without a network: the protocol on the line, embedding, and the documents.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod docs;
mod embed;
mod protocol;
mod support;
mod surface;
