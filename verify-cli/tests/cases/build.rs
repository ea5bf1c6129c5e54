//! Rules about the build that no type can hold.

use super::support::{AT, input, run};
use std::process::Command;

/// Crates that open connections, or run those that do.
const NETWORK_CRATES: [&str; 16] = [
    "async-std",
    "curl",
    "h2",
    "hickory-resolver",
    "hyper",
    "isahc",
    "mio",
    "native-tls",
    "openssl",
    "reqwest",
    "ring",
    "rustls",
    "socket2",
    "tokio",
    "ureq",
    "url",
];

#[test]
fn without_discovery_no_network_crate_is_in_the_tree() {
    let tree = |features: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--locked", "-p", "receipt-verify", "-e", "normal", "--prefix", "none"])
            .args(features)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect::<Vec<_>>()
    };
    let offline = tree(&["--no-default-features"]);
    assert!(offline.iter().any(|name| name == "kaval-receipt"), "{offline:?}");
    let found: Vec<_> = offline.iter().filter(|name| NETWORK_CRATES.contains(&name.as_str())).collect();
    assert!(found.is_empty(), "{found:?}");
    // The list is worth something only if it names what discovery brings.
    assert!(tree(&[]).iter().any(|name| name == "ureq"));
}

#[test]
fn the_default_build_verifies_without_a_network() {
    let isolated = ["--map-root-user", "--net", "--"];
    let permitted =
        Command::new("unshare").args(isolated).arg("true").status().is_ok_and(|status| status.success());
    if !permitted {
        println!("skipped: this machine permits no empty network namespace");
        return;
    }
    let output = Command::new("unshare")
        .args(isolated)
        .arg(env!("CARGO_BIN_EXE_receipt-verify"))
        .args(["verify", "--keyset"])
        .args([input("keys.json"), input("allow.json")])
        .args(["--at", AT])
        .output()
        .expect("a run");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn offline_refuses_a_key_url_before_anything_is_read() {
    let run = run(&["verify", "missing.json", "--key-url", "https://keys.example.com/", "--offline"]);
    assert_eq!((run.code, run.failure_code()), (2, "usage".to_owned()));
}
