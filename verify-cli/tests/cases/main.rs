//! The command from outside, audit aside: case files, streams, discovery, and rules about the build.

mod build;
mod cases;
mod compat;
mod discovery;
mod exit_codes;
mod inputs;
mod pinning;
mod streams;
mod support;
mod worked_examples;
