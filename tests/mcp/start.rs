//! Start-up: base URL, deadline, flags, help, and what is said to someone at a terminal.

use kaval_fake_api::{Api, Reply, default_reply};
use serde_json::json;

use crate::harness::{KEY, Launch};

fn refused(launch: Launch, names: &[&str]) {
    let finished = launch.run();
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    assert_eq!(finished.stdout, "");
    for name in names {
        assert!(finished.stderr.contains(name), "{name} is not named: {}", finished.stderr);
    }
    assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
}

#[test]
fn slashes_and_prefixes_of_the_base_url_lead_to_the_same_path() {
    for (suffix, path) in [
        ("", "/v1/sources"),
        ("/", "/v1/sources"),
        ("//", "/v1/sources"),
        ("/kaval", "/kaval/v1/sources"),
        ("/kaval/", "/kaval/v1/sources"),
        ("/kaval//", "/kaval/v1/sources"),
        ("/a/b%20c/", "/a/b%20c/v1/sources"),
    ] {
        let api = Api::start(|_| Reply::new(200, r#"{"sources":[]}"#));
        let mut server = Launch::bare()
            .env("KAVAL_API_KEY", KEY)
            .env("KAVAL_BASE_URL", &format!("{}{suffix}", api.url()))
            .open();
        server.success("list_sources", &json!({}));
        assert_eq!(api.requests()[0].target, path, "{suffix:?}");
    }
}

#[test]
fn surrounding_space_of_the_base_url_is_no_part_of_it() {
    let api = Api::start_default();
    let mut server =
        Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_BASE_URL", &format!(" {}\n", api.url())).open();
    server.success("list_sources", &json!({}));
}

#[test]
fn an_ipv6_literal_is_a_base_url() {
    let api = Api::start_at(
        std::sync::Arc::new(default_reply),
        kaval_fake_api::Recording::Keep,
        std::net::IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        0,
    );
    let mut server = Launch::on(&api).open();
    server.success("list_sources", &json!({}));
    let host = format!("[::1]:{}", api.address().port());
    assert_eq!(api.requests()[0].header("host"), Some(host.as_str()));
}

#[test]
fn a_base_url_with_more_than_an_origin_and_a_path_is_refused() {
    for url in [
        "https://user@a.example",
        "https://user:hunter2@a.example",
        "https://a.example/?q=1",
        "https://a.example/?",
        "https://a.example/#f",
        "ftp://a.example",
        "a.example",
        "https://",
        "not a url",
        "http://a.example:99999",
        "/v1",
    ] {
        let finished = Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_BASE_URL", url).run();
        assert_eq!(finished.status.code(), Some(1), "{url}: {}", finished.stderr);
        assert!(finished.stderr.contains("KAVAL_BASE_URL"), "{url}: {}", finished.stderr);
        assert!(!finished.stderr.contains("hunter2"), "{}", finished.stderr);
    }
}

#[test]
fn http_to_another_host_needs_to_be_allowed() {
    for url in ["http://a.example", "http://192.0.2.1:8080", "http://localhost.evil.example"] {
        refused(
            Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_BASE_URL", url),
            &["KAVAL_BASE_URL", "KAVAL_ALLOW_HTTP"],
        );
        let finished = Launch::bare()
            .env("KAVAL_API_KEY", KEY)
            .env("KAVAL_BASE_URL", url)
            .env("KAVAL_ALLOW_HTTP", "1")
            .run();
        assert_eq!(finished.status.code(), Some(0), "{url}: {}", finished.stderr);
    }
    for url in [
        "http://localhost:1",
        "http://127.0.0.1:1",
        "http://127.9.9.9",
        "http://[::1]:1",
        "https://a.example",
    ] {
        let finished = Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_BASE_URL", url).run();
        assert_eq!(finished.status.code(), Some(0), "{url}: {}", finished.stderr);
    }
}

#[test]
fn an_empty_or_unexpanded_base_url_is_unset() {
    for url in ["", "  ", "${KAVAL_BASE_URL}"] {
        let finished = Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_BASE_URL", url).run();
        assert_eq!(finished.status.code(), Some(0), "{url:?}: {}", finished.stderr);
    }
}

#[test]
fn the_deadline_is_a_number_within_its_bounds() {
    for value in ["999", "3600001", "-1", "1e4", "ten", "55000ms", "1000.5"] {
        refused(
            Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_TOOL_DEADLINE_MS", value),
            &["KAVAL_TOOL_DEADLINE_MS"],
        );
    }
    for value in ["1000", "3600000", "", "${DEADLINE}"] {
        let finished = Launch::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_TOOL_DEADLINE_MS", value).run();
        assert_eq!(finished.status.code(), Some(0), "{value:?}: {}", finished.stderr);
    }
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    let finished = Launch::bare().arg("--no-such-flag").run();
    assert_eq!(finished.status.code(), Some(2));
    assert_eq!(finished.stdout, "");
    // A secret is never taken from a flag.
    let finished = Launch::bare().arg("--api-key=canary").run();
    assert_eq!(finished.status.code(), Some(2));
}

#[test]
fn help_lists_every_variable_and_flag() {
    let finished = Launch::bare().arg("--help").run();
    assert_eq!(finished.status.code(), Some(0));
    for name in [
        "KAVAL_API_KEY",
        "KAVAL_API_KEY_FILE",
        "KAVAL_REQUIRE_KEY",
        "KAVAL_BASE_URL",
        "KAVAL_ALLOW_HTTP",
        "KAVAL_TOOL_DEADLINE_MS",
        "KAVAL_LOG",
        "KAVAL_LOG_FORMAT",
        "SSL_CERT_FILE",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "--require-key",
        "--help",
        "--version",
    ] {
        assert!(finished.stdout.contains(name), "{name} is missing");
    }
    let finished = Launch::bare().arg("--version").run();
    assert_eq!(finished.stdout.trim(), format!("kaval-mcp {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn on_a_terminal_it_says_what_it_waits_for_and_what_to_try() {
    use std::os::unix::ffi::OsStringExt as _;
    let api = Api::start_default();
    let master =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
    let terminal = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(std::ffi::OsString::from_vec(name.into_bytes()))
        .unwrap();
    let mut command = Launch::on(&api).into_command();
    let mut child = command
        .stdin(terminal)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(command);
    let stdout = child.stdout.take().unwrap();
    let mut server = crate::harness::Kaval::around(child, None, stdout);
    assert!(kaval_fake_api::wait_until(crate::harness::PATIENCE, || server.stderr().contains("--help")));
    let said = server.stderr();
    assert!(said.contains("MCP") && said.contains("client"), "{said}");
    assert_eq!(server.stdout(), "", "stdout is the protocol");
    server.signal(rustix::process::Signal::INT);
    assert_eq!(server.exit(crate::harness::PATIENCE).unwrap().code(), Some(0));
    drop(master);
}

#[test]
fn a_start_without_faults_says_nothing() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    server.success("check", &json!({"action": "a"}));
    assert_eq!(server.stderr(), "");
    assert_eq!(api.connections(), 1, "one pooled connection");
}

#[test]
fn nothing_connects_before_the_first_call() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    server.request("tools/list", &json!({}));
    server.request("ping", &json!({}));
    std::thread::sleep(crate::harness::SILENCE);
    assert_eq!(api.connections(), 0);
}

#[test]
fn calls_one_after_another_share_a_connection() {
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for _ in 0..50 {
        server.success("list_sources", &json!({}));
    }
    assert_eq!(api.connections(), 1);
}

#[test]
fn the_tool_list_is_printed_as_the_server_gives_it() {
    let finished = Launch::bare().arg("tools").arg("--json").run();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let printed: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let printed = printed.get("tools").unwrap_or(&printed).clone();
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    let listed = server.request("tools/list", &json!({}));
    assert_eq!(printed, listed["result"]["tools"]);
}
