//! Offline verification of signed verdict receipts.
#![no_std]
extern crate alloc;
