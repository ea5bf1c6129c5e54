//! Pieces of the input schemas.
//!
//! Many clients read no `$ref` and no type arrays, and strict ones refuse keywords without a `type`.

use serde_json::{Map, Value, json};

pub(super) const MATERIALITY: &[&str] = &["low", "medium", "high", "critical"];

/// The schema of a tool's arguments.
pub(super) fn arguments(properties: &Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    into_map(schema)
}

/// The schema of a result: what is promised, and room for what the API may add.
pub(super) fn result(properties: &Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(true);
    into_map(schema)
}

fn into_map(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

pub(super) fn text(max: usize, description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max, "description": description })
}

pub(super) fn choice(words: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": description })
}

pub(super) fn uuid(description: &str) -> Value {
    json!({ "type": "string", "format": "uuid", "description": description })
}

pub(super) fn url() -> Value {
    json!({ "type": "string", "format": "uri" })
}

pub(super) fn datetime(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": description })
}
