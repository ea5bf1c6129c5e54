//! `receipt-verify audit` from outside.

mod bounds;
mod formats;
mod inputs;
mod outcomes;
#[path = "../signing/mod.rs"]
mod signing;
mod support;
