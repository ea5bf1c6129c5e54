//! The API key: where it comes from, what is taken off it, what is refused.

use std::fs;

use kaval_fake_api::Api;
use serde_json::json;

use crate::harness::{Launch, good_calls};

/// The `Authorization` header of a call made with this environment.
fn authorization(launch: impl Fn(Launch) -> Launch) -> (Option<String>, String) {
    let api = Api::start_default();
    let mut server = launch(Launch::bare().env("KAVAL_BASE_URL", &api.url())).open();
    server.call("list_sources", &json!({}));
    let sent = api.requests().first().and_then(|request| request.header("authorization").map(str::to_owned));
    (sent, server.stderr())
}

#[test]
fn whitespace_a_mark_and_one_pair_of_quotes_are_taken_off() {
    for given in [
        "abc",
        " abc ",
        "abc\n",
        "\tabc\r\n",
        "\u{feff}abc",
        "\"abc\"",
        "'abc'",
        " \"abc\"\n",
        "\u{feff}'abc' ",
    ] {
        let (sent, _) = authorization(|launch| launch.env("KAVAL_API_KEY", given));
        assert_eq!(sent.as_deref(), Some("Bearer abc"), "{given:?}");
    }
}

#[test]
fn a_blank_or_unexpanded_key_is_missing_with_a_warning() {
    for given in ["", "  ", "${KAVAL_API_KEY}", "${user_config.api_key}", "\"\"", " ${env:KEY} "] {
        let api = Api::start_default();
        let mut server = Launch::bare().env("KAVAL_API_KEY", given).env("KAVAL_BASE_URL", &api.url()).open();
        for (tool, arguments) in good_calls() {
            let body = server.failure(tool, &arguments);
            assert_eq!(body["error"], "missing_api_key", "{given:?} {tool}");
            let message = body["message"].as_str().unwrap();
            assert!(message.contains("KAVAL_API_KEY"), "{message}");
        }
        assert_eq!(api.count(), 0, "{given:?}");
        assert!(server.stderr().contains("KAVAL_API_KEY"), "no warning for {given:?}: {}", server.stderr());
    }
}

#[test]
fn without_a_key_the_tools_are_listed_and_calls_say_how_to_set_it() {
    let api = Api::start_default();
    let mut server = Launch::bare().env("KAVAL_BASE_URL", &api.url()).open();
    let tools = server.request("tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 7);
    let body = server.failure("check", &json!({"action": "a"}));
    assert_eq!(body["error"], "missing_api_key");
    assert_eq!(api.count(), 0);
}

#[test]
fn a_required_key_that_is_missing_is_exit_1() {
    for launch in [
        Launch::bare().env("KAVAL_REQUIRE_KEY", "1"),
        Launch::bare().arg("--require-key"),
        Launch::bare().arg("--require-key").env("KAVAL_API_KEY", "${KAVAL_API_KEY}"),
    ] {
        let finished = launch.run();
        assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
        assert_eq!(finished.stdout, "");
        assert!(finished.stderr.contains("KAVAL_API_KEY"), "{}", finished.stderr);
        assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    }
    let finished = Launch::bare().arg("--require-key").env("KAVAL_API_KEY", "k").run();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
}

#[test]
fn a_key_that_no_header_can_carry_is_refused_without_showing_it() {
    for given in [
        "canary\nkey",
        "canary\r\nx-evil: 1",
        "canary key",
        "canary\u{e9}key",
        "canary\u{7f}key",
        "canary\tkey",
        "Bearer canarykey",
        "bearer canarykey",
        "\u{201c}canary\u{201d}",
    ] {
        let finished = Launch::bare().env("KAVAL_API_KEY", given).run();
        assert_eq!(finished.status.code(), Some(1), "{given:?}: {}", finished.stderr);
        assert_eq!(finished.stdout, "");
        assert!(finished.stderr.contains("KAVAL_API_KEY"), "{given:?}: {}", finished.stderr);
        assert!(!finished.stderr.contains("canary"), "{given:?} is shown: {}", finished.stderr);
    }
}

#[test]
fn a_key_that_is_not_utf_8_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = Launch::bare().into_command();
    let output = command
        .env("KAVAL_API_KEY", std::ffi::OsStr::from_bytes(b"canary\xff"))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("KAVAL_API_KEY") && !stderr.contains("canary"), "{stderr}");
}

#[test]
fn a_key_file_is_read_as_the_variable_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    for text in ["abc", "abc\n", "\u{feff}abc\r\n", " 'abc' \n"] {
        fs::write(&file, text).unwrap();
        let (sent, _) = authorization(|launch| launch.env_path("KAVAL_API_KEY_FILE", &file));
        assert_eq!(sent.as_deref(), Some("Bearer abc"), "{text:?}");
    }
}

#[test]
fn the_variable_wins_over_the_file_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, "from-file").unwrap();
    let (sent, stderr) = authorization(|launch| {
        launch.env("KAVAL_API_KEY", "from-variable").env_path("KAVAL_API_KEY_FILE", &file)
    });
    assert_eq!(sent.as_deref(), Some("Bearer from-variable"));
    assert!(stderr.contains("KAVAL_API_KEY_FILE"), "{stderr}");
    assert!(!stderr.contains("from-"), "{stderr}");
}

#[test]
fn an_unreadable_key_file_is_exit_1() {
    let folder = tempfile::tempdir().unwrap();
    let finished = Launch::bare().env_path("KAVAL_API_KEY_FILE", &folder.path().join("absent")).run();
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("KAVAL_API_KEY_FILE"), "{}", finished.stderr);
    let finished = Launch::bare().env_path("KAVAL_API_KEY_FILE", folder.path()).run();
    assert_eq!(finished.status.code(), Some(1), "a folder is no key file");
    let bad = folder.path().join("bad");
    fs::write(&bad, "canary\nkey").unwrap();
    let finished = Launch::bare().env_path("KAVAL_API_KEY_FILE", &bad).run();
    assert_eq!(finished.status.code(), Some(1));
    assert!(!finished.stderr.contains("canary"), "{}", finished.stderr);
}
