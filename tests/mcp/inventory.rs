//! The list of tools as a whole: schemas frozen in files, rules every entry obeys, and its size.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use kaval_fake_api::Api;
use serde_json::{Map, Value, json};

use crate::harness::{Launch, good_calls};

/// Names in the order clients see them.
const ORDER: [&str; 7] =
    ["check", "get_receipt", "add_source", "list_sources", "remove_source", "report_outcome", "verify"];
/// Hosts put a prefix before the name and cut at 64.
const MAX_NAME_CHARS: usize = 36;
/// Hosts cut descriptions and instructions at 2 KB.
const MAX_TEXT_BYTES: usize = 1900;
/// What every session pays for the list, in bytes of the answer. Raised only on purpose.
const MAX_LIST_BYTES: usize = 14_000;

fn listed() -> (Vec<Value>, String, Value) {
    let api = Api::start_default();
    let mut server = Launch::on(&api).spawn();
    let initialized = server.initialize("2025-11-25");
    let answer = server.request("tools/list", &json!({}));
    let line = server.stdout().lines().last().unwrap().to_owned();
    (answer["result"]["tools"].as_array().unwrap().clone(), line, initialized)
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            Value::Object(
                names.into_iter().map(|name| (name.clone(), sorted(&members[name]))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn snapshot_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

#[test]
fn each_tool_is_as_its_snapshot_says() {
    // UPDATE_SNAPSHOTS=1 rewrites the files; the change is then a visible diff.
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let (tools, _, initialized) = listed();
    let mut entries: Vec<(String, String)> = tools
        .iter()
        .map(|tool| {
            let text = serde_json::to_string_pretty(&sorted(tool)).unwrap() + "\n";
            (format!("{}.json", tool["name"].as_str().unwrap()), text)
        })
        .collect();
    entries.push((
        "instructions.txt".to_owned(),
        format!("{}\n", initialized["instructions"].as_str().unwrap()),
    ));
    let mut differing = Vec::new();
    for (name, text) in &entries {
        let file = snapshot_folder().join(name);
        if update {
            fs::create_dir_all(snapshot_folder()).unwrap();
            fs::write(&file, text).unwrap();
        }
        if fs::read_to_string(&file).unwrap_or_default() != *text {
            differing.push(name.clone());
        }
    }
    assert!(differing.is_empty(), "{differing:?} differ; run with UPDATE_SNAPSHOTS=1 and look at the diff");
    let files: HashSet<String> = fs::read_dir(snapshot_folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, entries.into_iter().map(|(name, _)| name).collect(), "a snapshot without its tool");
}

#[test]
fn names_are_unique_short_plain_and_in_order() {
    let (tools, ..) = listed();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ORDER);
    for name in names {
        assert!(name.len() <= MAX_NAME_CHARS);
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
    }
}

#[test]
fn titles_and_all_four_hints_are_explicit_and_true() {
    let (tools, ..) = listed();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        let hints = &tool["annotations"];
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(hints[hint].is_boolean(), "{name}: {hint}");
        }
        let reads = ["check", "get_receipt", "list_sources"].contains(&name);
        assert_eq!(hints["readOnlyHint"], reads, "{name}");
        assert_eq!(hints["destructiveHint"], name == "remove_source", "{name}");
        if reads {
            assert_eq!(hints["idempotentHint"], true, "{name}");
        }
    }
}

#[test]
fn schemas_use_only_what_every_host_reads() {
    let (tools, ..) = listed();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        for member in ["inputSchema", "outputSchema"] {
            let schema = &tool[member];
            assert_eq!(schema["type"], "object", "{name} {member}");
            for banned in ["anyOf", "oneOf", "allOf", "not", "if", "enum"] {
                assert!(schema.get(banned).is_none(), "{name} {member} has {banned} at its root");
            }
            walk(schema, &mut |node| {
                assert!(node.get("$ref").is_none(), "{name} {member} has a $ref");
                assert!(!node["type"].is_array(), "{name} {member} has a list of types");
                if let Some(format) = node["format"].as_str() {
                    assert!(["uri", "uuid", "date-time"].contains(&format), "{name} {member}: {format}");
                }
            });
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_ne!(tool["outputSchema"]["additionalProperties"], false, "{name}: the API may add members");
        for (field, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(
                schema["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{name}.{field} says nothing"
            );
        }
    }
}

/// Visits every schema node, not the names of properties.
fn walk(schema: &Value, visit: &mut impl FnMut(&Value)) {
    visit(schema);
    for keyword in ["items", "additionalProperties", "not"] {
        if schema[keyword].is_object() {
            walk(&schema[keyword], visit);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for branch in schema[keyword].as_array().into_iter().flatten() {
            walk(branch, visit);
        }
    }
    for property in schema["properties"].as_object().into_iter().flatten() {
        walk(property.1, visit);
    }
}

#[test]
fn limits_of_the_contract_are_published() {
    let (tools, ..) = listed();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"].clone();
    for (name, required) in [
        ("check", json!([])),
        ("get_receipt", json!(["receipt_id"])),
        ("add_source", json!(["kind"])),
        ("list_sources", json!([])),
        ("remove_source", json!(["id"])),
        ("report_outcome", json!(["id", "kind"])),
        ("verify", json!(["conclusion", "evidence_refs"])),
    ] {
        let given = tool(name)["required"].clone();
        assert_eq!(if given.is_null() { json!([]) } else { given }, required, "{name}");
    }
    for (name, field, keyword, value) in [
        ("check", "action", "maxLength", json!(10_000)),
        ("check", "action", "minLength", json!(1)),
        ("check", "context", "maxLength", json!(10_000)),
        ("check", "claims", "minItems", json!(1)),
        ("check", "claims", "maxItems", json!(20)),
        ("check", "mode", "enum", json!(["fast", "standard"])),
        ("check", "max_wait_ms", "type", json!("integer")),
        ("check", "max_wait_ms", "minimum", json!(0)),
        ("check", "max_wait_ms", "maximum", json!(45000)),
        ("check", "origin_urls", "maxItems", json!(20)),
        ("check", "materiality", "enum", json!(["low", "medium", "high", "critical"])),
        ("check", "as_of", "format", json!("date-time")),
        ("get_receipt", "receipt_id", "format", json!("uuid")),
        ("add_source", "kind", "enum", json!(["url", "push", "connection", "entity", "discovered"])),
        ("add_source", "locator", "maxLength", json!(2048)),
        ("add_source", "name", "maxLength", json!(2048)),
        ("add_source", "label", "maxLength", json!(512)),
        ("add_source", "intent", "maxLength", json!(512)),
        ("add_source", "scope_keys", "maxItems", json!(64)),
        ("add_source", "poll_interval_s", "minimum", json!(60)),
        ("add_source", "poll_interval_s", "maximum", json!(604_800)),
        ("list_sources", "include_inactive", "type", json!("boolean")),
        ("remove_source", "id", "format", json!("uuid")),
        ("report_outcome", "note", "maxLength", json!(2048)),
        ("verify", "conclusion", "maxLength", json!(10_000)),
        ("verify", "evidence_refs", "minItems", json!(1)),
        ("verify", "evidence_refs", "maxItems", json!(20)),
        (
            "verify",
            "reversibility",
            "enum",
            json!(["reversible", "partially_reversible", "irreversible", "unknown"]),
        ),
        ("verify", "jurisdiction", "maxLength", json!(256)),
        ("verify", "context", "maxLength", json!(4000)),
        ("verify", "idempotency_key", "minLength", json!(8)),
        ("verify", "idempotency_key", "maxLength", json!(200)),
    ] {
        assert_eq!(tool(name)["properties"][field][keyword], value, "{name}.{field}.{keyword}");
    }
}

#[test]
fn texts_say_what_an_agent_must_know() {
    let (tools, _, initialized) = listed();
    let text = |name: &str| {
        tools.iter().find(|tool| tool["name"] == name).unwrap()["description"].as_str().unwrap().to_owned()
    };
    let field = |name: &str, field: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["inputSchema"]["properties"][field]["description"].as_str().unwrap().to_owned()
    };
    let has = |text: &str, words: &[&str]| {
        for word in words {
            assert!(text.contains(word), "{word:?} is missing: {text}");
        }
    };
    let check = text("check");
    has(&check, &["ALLOW", "REVIEW", "BLOCK", "REVIEW IS NEVER PERMISSION TO ACT"]);
    assert!(check.chars().take(500).collect::<String>().contains("REVIEW IS NEVER PERMISSION TO ACT"));
    has(&check.to_lowercase(), &["before", "status"]);
    let wait = field("check", "max_wait_ms");
    has(&wait, &["45000", "100000", "0"]);
    for said in [&check, &wait] {
        for never in ["background", "warm", "3000", "15000"] {
            assert!(!said.to_lowercase().contains(never), "{never}: {said}");
        }
    }
    has(&text("get_receipt").to_lowercase(), &["sign", "offline"]);
    has(&text("remove_source").to_lowercase(), &["capacity", "automatic"]);
    has(&text("list_sources").to_lowercase(), &["automatic"]);
    has(
        &text("report_outcome"),
        &["current_later_contradicted", "stale_caught_real", "stale_was_false_alarm", "relied_and_correct"],
    );
    has(&text("verify"), &["DEPRECATED", "`check`"]);
    has(
        &field("verify", "conclusion"),
        &["verify whether", "The 2024 International Building Code is the current IBC edition."],
    );
    let key = field("verify", "idempotency_key").to_lowercase();
    has(&key, &["same", "omit"]);
    assert!(!key.contains("unique"), "{key}");
    let instructions = initialized["instructions"].as_str().unwrap();
    has(instructions, &["check", "REVIEW"]);
    assert!(instructions.to_lowercase().contains("never"), "{instructions}");
    assert!(instructions.len() < MAX_TEXT_BYTES, "{} bytes", instructions.len());
}

#[test]
fn texts_are_short_and_free_of_words_that_mislead_hosts() {
    let (tools, ..) = listed();
    let banned =
        ["offer", "product research", "commerce", "quote", "purchase", "checkout", "merchant", "seller"];
    for tool in &tools {
        let description = tool["description"].as_str().unwrap();
        assert!(description.len() < MAX_TEXT_BYTES, "{}: {} bytes", tool["name"], description.len());
        let mut texts = vec![tool["name"].as_str().unwrap().to_owned(), description.to_owned()];
        walk(&tool["inputSchema"], &mut |node| texts.extend(node["description"].as_str().map(str::to_owned)));
        texts.extend(tool["title"].as_str().map(str::to_owned));
        for text in texts {
            for word in banned {
                assert!(!text.to_lowercase().contains(word), "{word}: {text}");
            }
        }
    }
}

#[test]
fn the_list_fits_its_budget() {
    let (tools, line, initialized) = listed();
    println!("tools/list answer: {} bytes for {} tools", line.len(), tools.len());
    println!("instructions: {} bytes", initialized["instructions"].as_str().unwrap().len());
    assert!(line.len() <= MAX_LIST_BYTES, "{} bytes, at most {MAX_LIST_BYTES}", line.len());
}

#[test]
fn every_answer_fits_its_own_output_schema() {
    // A reading of the few keywords output schemas use, enough to catch a promise that is not kept.
    fn fits(value: &Value, schema: &Value, at: &str) {
        let right = match schema["type"].as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("number") => value.is_number(),
            Some("integer") => value.is_i64() || value.is_u64(),
            _ => true,
        };
        assert!(right, "{at}: {value} is no {}", schema["type"]);
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(value.get(required.as_str().unwrap()).is_some(), "{at}: {required} is missing");
        }
        if let Some(choices) = schema["enum"].as_array() {
            assert!(choices.contains(value), "{at}: {value} is none of {choices:?}");
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(member) = value.get(name) {
                fits(member, property, &format!("{at}.{name}"));
            }
        }
        for item in value.as_array().into_iter().flatten() {
            fits(item, &schema["items"], &format!("{at}[]"));
        }
    }
    let (tools, ..) = listed();
    let api = Api::start_default();
    let mut server = Launch::on(&api).open();
    for (tool, arguments) in good_calls() {
        let schema = &tools.iter().find(|entry| entry["name"] == tool).unwrap()["outputSchema"];
        let result = server.call(tool, &arguments);
        fits(&result["structuredContent"], schema, tool);
    }
}
