//! Handshake and versions: the legacy revisions and 2026-07-28, alone and on one pipe.

use kaval_fake_api::Api;
use serde_json::{Value, json};

use crate::harness::{Kaval, Launch};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"}
    })
}

fn modern(server: &mut Kaval, method: &str, mut params: Value) -> Value {
    params["_meta"] = meta(MODERN);
    server.request(method, &params)
}

fn fresh() -> (Api, Kaval) {
    let api = Api::start_default();
    let server = Launch::on(&api).spawn();
    (api, server)
}

#[test]
fn legacy_versions_are_echoed() {
    for version in LEGACY {
        let (_api, mut server) = fresh();
        let result = server.initialize(version);
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "kaval");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(result["capabilities"]["tools"].is_object(), "{result}");
        for absent in ["resources", "prompts", "logging", "completions"] {
            assert!(result["capabilities"].get(absent).is_none(), "{absent}: {result}");
        }
        assert!(result["instructions"].as_str().is_some_and(|text| text.contains("check")));
        assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
        server.success("list_sources", &json!({}));
    }
}

#[test]
fn other_versions_are_offered_the_newest_legacy_one() {
    for version in ["2024-10-07", "2023-01-01", "2099-01-01", MODERN, "", "x"] {
        let (_api, mut server) = fresh();
        let offered = server.initialize(version)["protocolVersion"].clone();
        if version == "2024-10-07" {
            // The reference knew this draft; either echo or the newest is a valid negotiation.
            assert!(offered == "2024-10-07" || offered == "2025-11-25");
        } else {
            assert_eq!(offered, "2025-11-25", "{version}");
        }
        // What follows is answered in the era that was agreed on.
        let tools = server.request("tools/list", &json!({}));
        assert!(tools["result"].get("resultType").is_none(), "{version}: {tools:.200}");
    }
}

#[test]
fn discover_answers_without_a_handshake() {
    let (_api, mut server) = fresh();
    let answer = modern(&mut server, "server/discover", json!({}));
    let result = &answer["result"];
    let versions: Vec<&str> =
        result["supportedVersions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(versions.contains(&MODERN), "{answer}");
    assert!(result["capabilities"]["tools"].is_object(), "{answer}");
    assert_eq!(result["resultType"], "complete", "{answer}");
    assert!(answer.to_string().contains("\"kaval\""), "names itself: {answer}");
}

#[test]
fn modern_calls_need_no_handshake() {
    let (_api, mut server) = fresh();
    let listed = modern(&mut server, "tools/list", json!({}));
    assert_eq!(listed["result"]["resultType"], "complete", "{listed:.300}");
    assert!(listed["result"]["ttlMs"].is_u64());
    assert!(["public", "private"].contains(&listed["result"]["cacheScope"].as_str().unwrap()));
    let called = modern(&mut server, "tools/call", json!({"name": "list_sources", "arguments": {}}));
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    assert_eq!(called["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "kaval", "{called}");
    let failed = modern(&mut server, "tools/call", json!({"name": "check", "arguments": {}}));
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(failed["result"]["resultType"], "complete", "{failed}");
}

#[test]
fn an_unknown_modern_version_is_32022_with_the_choices() {
    let (_api, mut server) = fresh();
    for method in ["tools/list", "tools/call", "server/discover"] {
        let answer = server
            .request(method, &json!({"name": "list_sources", "arguments": {}, "_meta": meta("2031-01-01")}));
        assert_eq!(answer["error"]["code"], -32022, "{method}: {answer}");
        assert_eq!(answer["error"]["data"]["requested"], "2031-01-01");
        assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!(MODERN)));
    }
    assert_eq!(modern(&mut server, "tools/list", json!({}))["result"]["resultType"], "complete");
}

#[test]
fn modern_meta_without_capabilities_is_32602() {
    let (_api, mut server) = fresh();
    let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}});
    assert_eq!(server.request("tools/list", &params)["error"]["code"], -32602);
}

#[test]
fn what_the_modern_era_removed_is_32601_there() {
    let (_api, mut server) = fresh();
    for method in ["ping", "logging/setLevel", "resources/subscribe"] {
        let answer = modern(&mut server, method, json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        assert_eq!(answer["error"]["message"], "Method not found", "{method}: {answer}");
    }
}

#[test]
fn a_version_that_is_no_text_is_32602() {
    let (_api, mut server) = fresh();
    for version in [json!(5), json!(null), json!({}), json!([MODERN]), json!(true)] {
        let mut params = json!({"_meta": meta(MODERN)});
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.clone();
        for method in ["tools/list", "server/discover"] {
            let answer = server.request(method, &params);
            assert_eq!(answer["error"]["code"], -32602, "{method} {version}: {answer}");
        }
    }
}

#[test]
fn both_eras_share_one_pipe_in_either_order() {
    for modern_first in [true, false] {
        let (_api, mut server) = fresh();
        if modern_first {
            assert!(modern(&mut server, "server/discover", json!({}))["result"].is_object());
            assert!(modern(&mut server, "tools/list", json!({}))["result"].is_object());
        }
        assert_eq!(server.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
        for _ in 0..3 {
            let legacy = server.call("list_sources", &json!({}));
            assert!(legacy.get("resultType").is_none(), "legacy answer turned modern: {legacy}");
            let new = modern(&mut server, "tools/call", json!({"name": "list_sources", "arguments": {}}));
            assert_eq!(new["result"]["resultType"], "complete", "{new}");
            let listed = server.request("tools/list", &json!({}));
            assert!(listed["result"].get("ttlMs").is_none());
        }
    }
}

#[test]
fn calls_before_initialize_do_not_end_the_session() {
    let (_api, mut server) = fresh();
    assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
    for (method, params) in
        [("tools/list", json!({})), ("tools/call", json!({"name": "list_sources", "arguments": {}}))]
    {
        let answer = server.request(method, &params);
        assert!(answer["result"].is_object() || answer["error"]["code"].is_i64(), "{answer}");
    }
    assert_eq!(server.initialize("2025-11-25")["protocolVersion"], "2025-11-25");
    server.success("list_sources", &json!({}));
}

#[test]
fn a_broken_initialize_is_32602_and_may_be_repeated() {
    let (_api, mut server) = fresh();
    for params in [json!({}), json!({"protocolVersion": 7}), json!([])] {
        let answer = server.request("initialize", &params);
        assert!(
            answer["error"]["code"] == -32602 || answer["result"]["protocolVersion"].is_string(),
            "{params}: {answer}"
        );
    }
    assert_eq!(server.initialize("2025-11-25")["serverInfo"]["name"], "kaval");
    server.success("list_sources", &json!({}));
}

#[test]
fn a_client_is_not_refused_for_what_this_server_never_asks() {
    let told = [
        (json!({"experimental": {"x": true}}), json!({})),
        (json!({"roots": true, "sampling": {"context": true}, "extensions": {"io.x/y": 1}}), json!({})),
        (json!({}), json!({"icons": [{"src": "data:,", "sizes": "any", "theme": "sepia"}]})),
        (json!({}), json!({"title": 5, "websiteUrl": []})),
    ];
    for (capabilities, mut info) in told {
        let (_api, mut server) = fresh();
        info["name"] = json!("tests");
        info["version"] = json!("1");
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info});
        let answer = server.request("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{params}: {answer}");
        server.success("list_sources", &json!({}));
    }
    let (_api, mut server) = fresh();
    for (capabilities, info) in [
        (json!([]), json!({"name": "tests", "version": "1"})),
        (json!({}), json!({"name": "tests"})),
        (json!({}), json!({"name": 5, "version": "1"})),
        (json!({}), json!("tests")),
    ] {
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info});
        assert_eq!(server.request("initialize", &params)["error"]["code"], -32602, "{params}");
    }
}

#[test]
fn a_second_initialize_is_answered() {
    let (_api, mut server) = fresh();
    server.initialize("2025-11-25");
    let answer = server.request("initialize", &json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}));
    assert!(answer["result"].is_object() || answer["error"].is_object());
    server.success("list_sources", &json!({}));
}

#[test]
fn members_a_version_does_not_know_are_left_out() {
    for (version, structured, titles) in [
        ("2024-11-05", false, false),
        ("2025-03-26", false, false),
        ("2025-06-18", true, true),
        ("2025-11-25", true, true),
    ] {
        let (_api, mut server) = fresh();
        server.initialize(version);
        let result = server.call("list_sources", &json!({}));
        assert_eq!(result.get("structuredContent").is_some(), structured, "{version}");
        let tools = server.request("tools/list", &json!({}));
        let tool = &tools["result"]["tools"][0];
        assert_eq!(tool.get("outputSchema").is_some(), structured, "{version}");
        assert_eq!(tool.get("title").is_some(), titles, "{version}");
    }
}
