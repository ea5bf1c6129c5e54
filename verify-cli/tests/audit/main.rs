//! `receipt-verify audit` from outside.

mod bounds;
mod formats;
mod inputs;
mod outcomes;
mod support;
