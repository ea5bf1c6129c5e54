//! Results as bytes, in the shape each protocol revision knows.

use serde_json::{Value, json};

use crate::arguments::Ignored;
use crate::toolset::ToolDefinition;
use crate::version::Version;

/// Name in the handshake.
pub(crate) const SERVER_NAME: &str = "kaval";

/// Title in the handshake.
pub(crate) const SERVER_TITLE: &str = "Kaval";

/// Version in the handshake.
pub(crate) const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long a client may keep the tool list: it changes with the configuration only, at a restart.
pub(crate) const LIST_TTL_MS: u64 = 300_000;

/// Key under which a result names the arguments it ignored.
pub(crate) const IGNORED_KEY: &str = "io.github.kaval-mcp/ignored_arguments";

/// Key under which a result counts the ignored arguments it does not name.
pub(crate) const IGNORED_MORE_KEY: &str = "io.github.kaval-mcp/ignored_arguments_omitted";

const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Whether a call gave what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Failure,
    Success,
}

/// The result of a tool call. `json` is one compact JSON object.
pub(crate) fn call_result(version: Version, json: &str, outcome: Outcome, ignored: &Ignored) -> Vec<u8> {
    // The text repeats the payload with its quotes escaped.
    let mut out = Vec::with_capacity(json.len() * 2 + json.len() / 8 + 128);
    out.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
    write_json(&mut out, &json);
    out.extend_from_slice(b"}]");
    match outcome {
        Outcome::Failure => out.extend_from_slice(br#","isError":true"#),
        Outcome::Success if version.knows_structured_content() => {
            out.extend_from_slice(br#","structuredContent":"#);
            out.extend_from_slice(json.as_bytes());
        }
        Outcome::Success => {}
    }
    if version.is_modern() {
        out.extend_from_slice(br#","resultType":"complete""#);
    }
    write_meta(&mut out, version, ignored);
    out.push(b'}');
    out
}

fn write_meta(out: &mut Vec<u8>, version: Version, ignored: &Ignored) {
    let mut meta = ignored_meta(ignored);
    if version.is_modern() {
        meta.insert(SERVER_INFO_KEY.to_owned(), server_info());
    }
    if !meta.is_empty() {
        out.extend_from_slice(br#","_meta":"#);
        write_json(out, &meta);
    }
}

/// What a result's `_meta` says about arguments that were ignored.
pub(crate) fn ignored_meta(ignored: &Ignored) -> serde_json::Map<String, Value> {
    let mut meta = serde_json::Map::new();
    if !ignored.names.is_empty() {
        meta.insert(IGNORED_KEY.to_owned(), json!(ignored.names));
    }
    if ignored.omitted > 0 {
        meta.insert(IGNORED_MORE_KEY.to_owned(), json!(ignored.omitted));
    }
    meta
}

pub(crate) fn server_info() -> Value {
    json!({ "name": SERVER_NAME, "title": SERVER_TITLE, "version": SERVER_VERSION })
}

/// The result of `tools/list`.
pub(crate) fn list_result(version: Version, tools: &[ToolDefinition]) -> Vec<u8> {
    let tools: Vec<Value> = tools.iter().map(|tool| tool_entry(version, tool)).collect();
    let mut result = json!({ "tools": tools });
    if version.is_modern() {
        result["resultType"] = json!("complete");
        result["ttlMs"] = json!(LIST_TTL_MS);
        result["cacheScope"] = json!("public");
        result["_meta"] = json!({ SERVER_INFO_KEY: server_info() });
    }
    let mut out = Vec::new();
    write_json(&mut out, &result);
    out
}

/// One tool as a client of that revision sees it.
pub(crate) fn tool_entry(version: Version, tool: &ToolDefinition) -> Value {
    let mut entry = json!({ "name": tool.name });
    if version.knows_structured_content() {
        entry["title"] = json!(tool.title);
    }
    entry["description"] = json!(tool.description);
    entry["inputSchema"] = json!(tool.input_schema);
    if version.knows_structured_content() {
        entry["outputSchema"] = json!(tool.output_schema);
    }
    if version.knows_annotations() {
        entry["annotations"] = json!({
            "readOnlyHint": tool.annotations.read_only,
            "destructiveHint": tool.annotations.destructive,
            "idempotentHint": tool.annotations.idempotent,
            "openWorldHint": tool.annotations.open_world,
        });
    }
    entry
}

/// A progress notification: seconds gone, of the seconds there are.
pub(crate) fn progress_notification(token: &str, seconds: u64, total: f64) -> Vec<u8> {
    let mut out =
        br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"#.to_vec();
    out.extend_from_slice(token.as_bytes());
    out.extend_from_slice(format!(r#","progress":{seconds},"total":{total},"message":"#).as_bytes());
    write_json(&mut out, &progress_message(seconds, total));
    out.extend_from_slice(b"}}");
    out
}

pub(crate) fn progress_message(seconds: u64, total: f64) -> String {
    format!("waiting for the API: {seconds} s of at most {total} s")
}

fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("writing text and trees to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(version: Version, outcome: Outcome) -> String {
        String::from_utf8(call_result(version, r#"{"n":1.10,"t":"\""}"#, outcome, &Ignored::default()))
            .unwrap()
    }

    #[test]
    fn structured_content_is_for_successes_and_versions_that_know_it() {
        let text = r#"{"content":[{"type":"text","text":"{\"n\":1.10,\"t\":\"\\\"\"}"}]"#;
        assert_eq!(call(Version::V2025_03_26, Outcome::Success), format!("{text}}}"));
        assert_eq!(
            call(Version::V2025_06_18, Outcome::Success),
            format!(r#"{text},"structuredContent":{{"n":1.10,"t":"\""}}}}"#)
        );
        assert_eq!(call(Version::V2025_11_25, Outcome::Failure), format!(r#"{text},"isError":true}}"#));
        let modern = call(Version::V2026_07_28, Outcome::Failure);
        assert!(modern.contains(
            r#""isError":true,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo""#
        ));
        assert!(!modern.contains("structuredContent"));
    }

    #[test]
    fn ignored_arguments_are_named() {
        let ignored = Ignored { names: vec!["a\"b".to_owned()], omitted: 2 };
        let result = call_result(Version::V2025_11_25, "{}", Outcome::Success, &ignored);
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["_meta"], json!({ IGNORED_KEY: ["a\"b"], IGNORED_MORE_KEY: 2 }));
    }

    #[test]
    fn progress_repeats_the_token_as_spelled() {
        let json: Value = serde_json::from_slice(&progress_notification("\"a\\u0062\"", 5, 55.0)).unwrap();
        assert_eq!(json["params"]["progressToken"], "ab");
        assert_eq!(json["params"]["progress"], 5);
        assert_eq!(json["params"]["total"], 55);
    }
}
