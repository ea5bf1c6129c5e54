//! The client against real sockets: one module for each kind of behaviour.

#![allow(clippy::unwrap_used)]

mod cancel;
mod deadline;
mod endpoints;
mod failures;
mod injected;
mod pool;
mod proxy;
mod retry;
mod server;
mod tls;
