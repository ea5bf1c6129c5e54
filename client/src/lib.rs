//! Async client of the Kaval verification API.
//!
//! One [`Client`] talks to one configured origin. It bounds every call by one deadline, repeats a call only
//! where the API's contract makes that safe, and turns every failure into one [`CallError`].
//!
//! What the crate does not do: it keeps no global state (no TLS provider, logger or signal handler), reads the
//! environment only through the lookup given to [`Config::from_env`], never logs an error it returns, follows no
//! redirect, and holds no opinion about a verdict.
//!
//! - [`config`], [`base_url`], [`key`], [`proxy`]: what is read at start, and refused there
//! - [`request`], [`response`], [`error`]: one call and its outcome
//! - [`retry`]: the decision after an attempt, as a pure function
//! - [`client`], [`endpoints`]: the client and one method for every endpoint
//! - [`transport`]: the HTTP stack in use, and the trait to inject another
//! - [`json`]: strict compaction of response bodies
//! - [`views`]: typed readings of response bodies, made on demand

pub mod base_url;
pub mod client;
pub mod config;
mod connect;
pub mod endpoints;
pub mod error;
pub mod json;
pub mod key;
pub mod proxy;
pub mod request;
pub mod response;
pub mod retry;
mod tls;
pub mod transport;
pub mod views;

pub use base_url::BaseUrl;
pub use client::{Client, Clock, SystemClock};
pub use config::{Config, ConfigError, Warning};
pub use error::{CallError, Stage};
pub use key::ApiKey;
pub use request::{Auth, IdempotencyKey, Request, RetryClass};
pub use response::{Answer, Response};

/// Largest response body accepted, in bytes.
///
/// Answers of the API are kilobytes; 8 MiB leaves room for every documented body and keeps 64 calls at once
/// within what a small machine can hold.
pub const MAX_RESPONSE_BYTES: usize = 8 * 1024 * 1024;
