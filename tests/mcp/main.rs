//! The built server as a client sees it: a process, two pipes, and an API on loopback that can misbehave.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "in a test a panic is the report, and helpers are outside what clippy takes for tests"
)]

mod bodies;
mod calls;
mod cancellation;
mod client;
mod eras;
mod fidelity;
mod harness;
mod inventory;
mod key;
mod limits;
mod lines;
mod load;
mod logs;
mod manifests;
mod network;
mod progress;
mod retry;
mod secrets;
mod shutdown;
mod sockets;
mod start;
mod statuses;
mod unknown;
mod verify;
