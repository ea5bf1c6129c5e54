//! The fake API as a program: prints its base URL on stdout and runs until its stdin ends.
#![allow(clippy::unwrap_used, reason = "a test bed that cannot start should say so at once")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};

use kaval_fake_api::{Api, Recording, controlled};

fn main() {
    let (handler, running) = controlled();
    let api = Api::start_at(handler, Recording::CountOnly, IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let url = api.url();
    let _ = running.set(api);
    if writeln!(std::io::stdout(), "{url}").is_err() {
        return;
    }
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
