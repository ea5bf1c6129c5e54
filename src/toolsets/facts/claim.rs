//! Claims: a sentence, or a fact taken apart.
//!
//! Source: MCP tool contract, section A5, "Shared types".

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::body::{Body, json_string};
use super::schema::MATERIALITY;
use crate::arguments::{Issues, Path, RawObject, shown_name};
use crate::rules::{self, Text};

const CLAIM_UNITS: usize = 2000;
const PART_UNITS: usize = 1000;

pub(super) fn schema() -> Value {
    let entity = |description: &str| {
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1, "description": "Name" },
                "id": { "type": "string", "minLength": 1, "description": "Id" },
                "type": { "type": "string", "minLength": 1, "description": "Kind" }
            },
            "required": ["name"],
            "description": description
        })
    };
    json!({
        "anyOf": [
            { "type": "string", "minLength": 1, "maxLength": CLAIM_UNITS, "description": "One sentence" },
            {
                "type": "object",
                "properties": {
                    "subject": {
                        "anyOf": [{ "type": "string", "minLength": 1, "maxLength": PART_UNITS }, entity("Entity")],
                        "description": "What the fact is about"
                    },
                    "predicate": {
                        "type": "string", "minLength": 1, "maxLength": PART_UNITS,
                        "description": "Property or relation"
                    },
                    "object": {
                        "anyOf": [
                            { "type": "string", "minLength": 1, "maxLength": CLAIM_UNITS },
                            entity("Entity"),
                            { "type": "number" },
                            { "type": "boolean" },
                            { "type": "null" }
                        ],
                        "description": "Believed value"
                    },
                    "scope": {
                        "type": "object",
                        "additionalProperties": {
                            "anyOf": [
                                { "type": "string" }, { "type": "number" }, { "type": "boolean" }, { "type": "null" }
                            ]
                        },
                        "description": "Where it applies, e.g. {\"plan\":\"B\"}"
                    },
                    "materiality": { "type": "string", "enum": MATERIALITY, "description": "Weight" },
                    "text": {
                        "type": "string", "minLength": 1, "maxLength": CLAIM_UNITS,
                        "description": "The fact as a sentence"
                    }
                },
                "required": ["subject", "predicate"],
                "additionalProperties": false,
                "description": "Structured fact; skips extraction"
            }
        ]
    })
}

/// Reads a claim and yields the JSON that is sent: trimmed, otherwise as the caller wrote it.
pub(super) fn read(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    match raw.get().as_bytes().first() {
        Some(b'"') => Text::trimmed(CLAIM_UNITS).read(raw, at, issues).map(|text| json_string(&text)),
        Some(b'{') => structured(raw, at, issues),
        _ => {
            rules::wrong_type(raw, "a string or an object", at, issues);
            None
        }
    }
}

fn structured(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    let object = members(raw, at, issues)?;
    for name in ["subject", "predicate"] {
        if object.get(name).is_none() {
            issues.add(&at.member(name), "required", format!("`{name}` is required"));
        }
    }
    let mut body = Body::new();
    for (name, value) in object.members() {
        let path = at.member(name);
        let json = match name {
            "subject" => text_or_entity(value, PART_UNITS, &path, issues),
            "predicate" => text(value, PART_UNITS, &path, issues),
            "object" => believed_value(value, &path, issues),
            "scope" => scope(value, &path, issues),
            "materiality" => rules::choice(value, MATERIALITY, &path, issues).map(json_string),
            "text" => text(value, CLAIM_UNITS, &path, issues),
            _ => {
                let allowed = "subject, predicate, object, scope, materiality, text";
                let message = format!("`{}` is no member of a claim; those are {allowed}", shown_name(name));
                issues.add(&path, "unknown_member", message);
                None
            }
        };
        add(&mut body, name, json);
    }
    Some(body.finish())
}

/// An entity is open: members it does not have are left out.
fn entity(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    let object = members(raw, at, issues)?;
    if object.get("name").is_none() {
        issues.add(&at.member("name"), "required", "an entity needs a `name`");
    }
    let mut body = Body::new();
    for (name, value) in object.members() {
        if matches!(name, "name" | "id" | "type") {
            let json = Text::kept(1, usize::MAX)
                .read(value, &at.member(name), issues)
                .map(|text| json_string(&text));
            add(&mut body, name, json);
        }
    }
    Some(body.finish())
}

fn believed_value(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    match raw.get().as_bytes().first() {
        Some(b'"' | b'{') => text_or_entity(raw, CLAIM_UNITS, at, issues),
        _ => scalar(raw, "a string, an entity, a number, true, false or null", at, issues),
    }
}

fn scope(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    let object = members(raw, at, issues)?;
    let mut body = Body::new();
    for (name, value) in object.members() {
        let path = at.member(name);
        let json = match value.get().as_bytes().first() {
            Some(b'"') => rules::string(value, &path, issues).map(|text| json_string(&text)),
            _ => scalar(value, "a string, a number, true, false or null", &path, issues),
        };
        add(&mut body, name, json);
    }
    Some(body.finish())
}

/// A number, true, false or null, in the caller's spelling.
fn scalar(raw: &RawValue, wanted: &str, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    match raw.get() {
        "true" | "false" | "null" => {}
        number if rules::is_number(number) => rules::finite_number(raw, at, issues)?,
        _ => {
            rules::wrong_type(raw, wanted, at, issues);
            return None;
        }
    }
    Some(raw.get().as_bytes().to_vec())
}

fn text_or_entity(raw: &RawValue, max: usize, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    match raw.get().as_bytes().first() {
        Some(b'{') => entity(raw, at, issues),
        Some(b'"') => text(raw, max, at, issues),
        _ => {
            rules::wrong_type(raw, "a string or an entity", at, issues);
            None
        }
    }
}

fn text(raw: &RawValue, max: usize, at: &Path<'_>, issues: &mut Issues) -> Option<Vec<u8>> {
    Text::trimmed(max).read(raw, at, issues).map(|text| json_string(&text))
}

fn members<'a>(raw: &'a RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<RawObject<'a>> {
    if !raw.get().starts_with('{') {
        rules::wrong_type(raw, "an object", at, issues);
        return None;
    }
    let object = RawObject::parse(raw.get()).ok();
    if object.is_none() {
        issues.add(
            at,
            "invalid_text",
            "a member name holds half a surrogate pair, which no Unicode text can",
        );
    }
    object
}

fn add(body: &mut Body, name: &str, json: Option<Vec<u8>>) {
    // Without a value there is an issue, and the body is not sent.
    if let Some(text) = json.as_deref().and_then(|json| std::str::from_utf8(json).ok()) {
        body.raw(name, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Result<String, Vec<(String, &'static str)>> {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let mut issues = Issues::default();
        let json = read(&raw, &Path::argument("c"), &mut issues);
        if issues.is_empty() {
            return Ok(String::from_utf8(json.unwrap()).unwrap());
        }
        Err(issues
            .list
            .into_iter()
            .map(|issue| (serde_json::to_string(&issue.path).unwrap(), issue.code))
            .collect())
    }

    #[test]
    fn sentences_are_trimmed() {
        assert_eq!(claim("\"  a b \"").unwrap(), "\"a b\"");
    }

    #[test]
    fn structured_claims_keep_order_and_digits() {
        let text = r#"{ "predicate": " p ", "subject": {"type":" t ","name":"n","extra":1}, "object": 1.10e2, "scope": {"b": 2, "a": null, "b": -0.0}, "text": "x" }"#;
        let want = r#"{"predicate":"p","subject":{"type":" t ","name":"n"},"object":1.10e2,"scope":{"a":null,"b":-0.0},"text":"x"}"#;
        assert_eq!(claim(text).unwrap(), want);
    }

    #[test]
    fn faults_are_found_where_they_are() {
        let text =
            r#"{"subject":{"id":""},"object":[1],"scope":{"a":{}},"materiality":"huge","text":" ","more":1}"#;
        let found = claim(text).unwrap_err();
        let want = [
            (r#"["c","predicate"]"#, "required"),
            (r#"["c","subject","name"]"#, "required"),
            (r#"["c","subject","id"]"#, "too_short"),
            (r#"["c","object"]"#, "wrong_type"),
            (r#"["c","scope","a"]"#, "wrong_type"),
            (r#"["c","materiality"]"#, "not_allowed"),
            (r#"["c","text"]"#, "too_short"),
            (r#"["c","more"]"#, "unknown_member"),
        ];
        let want: Vec<_> = want.iter().map(|(path, code)| ((*path).to_owned(), *code)).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn values_no_double_can_hold_are_refused() {
        let found = claim(r#"{"subject":"s","predicate":"p","object":1e999}"#).unwrap_err();
        assert_eq!(found, [(r#"["c","object"]"#.to_owned(), "out_of_range")]);
        assert_eq!(claim("7").unwrap_err()[0].1, "wrong_type");
    }
}
