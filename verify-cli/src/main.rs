//! The auditor's command.
fn main() {}
