//! What an agent reads: names, descriptions, schemas, and how much of it there is.

use kaval_mcp::toolset::ToolDefinition;
use serde_json::Value;

use crate::support::{Script, client};

fn with_tools(check: impl Fn(&ToolDefinition)) {
    let (client, _) = client(Script::Hang);
    let server = kaval_mcp::server(client);
    assert_eq!(server.tools().len(), 7);
    server.tools().iter().for_each(check);
}

fn tool(name: &str) -> ToolDefinition {
    let (client, _) = client(Script::Hang);
    let server = kaval_mcp::server(client);
    server.tools().iter().find(|tool| tool.name == name).unwrap().clone()
}

/// Every schema below and including `schema`, with whether it is a root.
fn walk(schema: &Value, at: &str, visit: &mut impl FnMut(&Value, &str)) {
    visit(schema, at);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{at}.{name}"), visit);
    }
    for (index, kind) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
        walk(kind, &format!("{at}|{index}"), visit);
    }
    for below in ["items", "additionalProperties"] {
        if schema[below].is_object() {
            walk(&schema[below], &format!("{at}[]"), visit);
        }
    }
}

#[tokio::test]
async fn schemas_use_only_what_every_client_reads() {
    with_tools(|tool| {
        assert!(tool.name.len() <= 36 && tool.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
        assert!(tool.description.len() < 1900);
        for schema in [&tool.input_schema, &tool.output_schema] {
            assert_eq!(schema["type"], "object");
            for keyword in ["anyOf", "oneOf", "allOf", "if", "not"] {
                assert!(!schema.contains_key(keyword), "{}: {keyword} at the root", tool.name);
            }
            walk(&Value::Object(schema.clone()), tool.name, &mut |schema, at| {
                assert!(!schema["type"].is_array(), "{at}: a type array");
                for keyword in ["$ref", "$defs", "definitions", "oneOf", "allOf", "if", "nullable"] {
                    assert!(schema.get(keyword).is_none(), "{at}: {keyword}");
                }
            });
        }
        assert_eq!(tool.input_schema["additionalProperties"], false);
        assert_eq!(tool.output_schema["additionalProperties"], true);
    });
}

#[tokio::test]
async fn every_argument_is_described() {
    with_tools(|tool| {
        walk(&Value::Object(tool.input_schema.clone()), tool.name, &mut |schema, at| {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                assert!(property["description"].is_string(), "{at}.{name} has no description");
            }
        });
    });
}

#[tokio::test]
async fn descriptions_say_what_agents_must_know() {
    let check = tool("check");
    let vital = check.description.find("REVIEW IS NEVER PERMISSION TO ACT").unwrap();
    assert!(vital < 500, "at {vital}");
    for verdict in ["ALLOW", "REVIEW", "BLOCK"] {
        assert!(check.description.contains(verdict));
    }
    let wait = check.input_schema["properties"]["max_wait_ms"]["description"].as_str().unwrap();
    assert!(wait.contains("45000") && wait.contains("100000") && wait.contains('0'));
    let text = serde_json::to_string(&check.input_schema).unwrap() + &check.description;
    for word in ["background", "3000", "15000", "warm"] {
        // 15000 and 3000 were limits of earlier releases.
        assert!(!text.contains(word), "{word}");
    }
    let outcome = tool("report_outcome");
    for kind in outcome.input_schema["properties"]["kind"]["enum"].as_array().unwrap() {
        assert!(outcome.description.contains(kind.as_str().unwrap()));
    }
    let verify = tool("verify");
    assert!(verify.description.contains("DEPRECATED") && verify.description.contains("`check`"));
    let conclusion = verify.input_schema["properties"]["conclusion"]["description"].as_str().unwrap();
    assert!(conclusion.contains("verify whether"));
    assert!(conclusion.contains("The 2024 International Building Code is the current IBC edition."));
    let key = verify.input_schema["properties"]["idempotency_key"]["description"].as_str().unwrap();
    assert!(!key.contains("unique") && key.contains("retry") && key.contains("omit"));
    with_tools(|tool| {
        let text = (serde_json::to_string(&tool.input_schema).unwrap() + tool.name + &tool.description)
            .to_lowercase();
        for word in
            ["offer", "product research", "commerce", "quote", "purchase", "checkout", "merchant", "seller"]
        {
            assert!(!text.contains(word), "{}: {word}", tool.name);
        }
    });
}

/// What the list weighs; a change here is a change of what every agent pays for.
#[tokio::test]
async fn the_list_keeps_its_size() {
    let (client, _) = client(Script::Hang);
    let server = kaval_mcp::server(client);
    let bytes = server.tools_json().len();
    println!("tools/list: {bytes} bytes");
    assert!(bytes <= 10_500, "{bytes} bytes");
}
