//! The command from outside, audit aside: case files, streams, discovery, and rules about the build.

mod build;
#[cfg(feature = "discovery")]
mod cases;
mod compat;
#[cfg(feature = "discovery")]
mod discovery;
mod exit_codes;
mod hostile;
mod inputs;
#[cfg(feature = "discovery")]
mod pinning;
#[path = "../signing/mod.rs"]
mod signing;
mod streams;
mod support;
mod worked_examples;
