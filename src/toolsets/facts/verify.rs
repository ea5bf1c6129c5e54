//! `verify`: the older, billable way to have one statement checked.

use std::collections::HashSet;

use kaval_client::{IdempotencyKey, Request, RetryClass};
use serde_json::json;
use serde_json::value::RawValue;

use super::body::{Body, json_string};
use super::{Tool, schema};
use crate::arguments::{Arguments, Issues, Path, RawObject, shown_name};
use crate::error::Failure;
use crate::rules::{self, Text};
use crate::toolset::{Annotations, Budgets, ToolDefinition};

pub(super) const TOOL: Tool = Tool {
    name: "verify",
    arguments: &[
        "conclusion",
        "evidence_refs",
        "as_of",
        "materiality",
        "intended_action",
        "reversibility",
        "jurisdiction",
        "context",
        "idempotency_key",
    ],
    define,
    request,
    only: None,
    on_timeout: "no answer inside the deadline",
};

const CONCLUSION: Text = Text::kept(1, 10_000);
const MAX_REFS: usize = 20;
const DOCUMENT_ID: Text = Text::trimmed(2000);
const INTENDED_ACTION: Text = Text::trimmed(10_000);
const REVERSIBILITY: &[&str] = &["reversible", "partially_reversible", "irreversible", "unknown"];
const JURISDICTION: Text = Text::trimmed(256);
const CONTEXT: Text = Text::trimmed(4000);

fn define(_: Budgets) -> ToolDefinition {
    ToolDefinition {
        name: TOOL.name,
        title: "Verify a statement (deprecated)",
        description: "DEPRECATED: call `check` instead. Verifies one statement against given evidence; billable. After \
                      `request_ambiguous`, repeat the call with the same idempotency_key."
            .to_owned(),
        annotations: Annotations { read_only: false, destructive: false, idempotent: false, open_world: true },
        input_schema: schema::arguments(
            &json!({
                "conclusion": schema::text(
                    CONCLUSION.max,
                    "A statement, not a question or an order such as `verify whether`. Good: `The 2024 International \
                     Building Code is the current IBC edition.`"
                ),
                "evidence_refs": {
                    "type": "array", "minItems": 1, "maxItems": MAX_REFS,
                    "items": {
                        "anyOf": [
                            schema::url(),
                            {
                                "type": "object",
                                "properties": {
                                    "url": { "type": "string", "format": "uri", "description": "Address" },
                                    "document_id": schema::text(DOCUMENT_ID.max, "Stable id, no two alike")
                                },
                                "required": ["url", "document_id"],
                                "additionalProperties": false
                            }
                        ]
                    },
                    "description": "Evidence"
                },
                "as_of": schema::datetime("When it was concluded"),
                "materiality": schema::choice(schema::MATERIALITY, "What being wrong would cost"),
                "intended_action": schema::text(INTENDED_ACTION.max, "What you will do"),
                "reversibility": schema::choice(REVERSIBILITY, "Can it be undone"),
                "jurisdiction": schema::text(JURISDICTION.max, "Where it applies"),
                "context": schema::text(CONTEXT.max, "Background"),
                "idempotency_key": {
                    "type": "string", "minLength": IdempotencyKey::MIN_LENGTH, "maxLength": IdempotencyKey::MAX_LENGTH,
                    "pattern": r"^[\x21-\x7e]+$",
                    "description": "Same key to retry a call; omit otherwise"
                }
            }),
            &["conclusion", "evidence_refs"],
        ),
        output_schema: schema::result(
            &json!({
                "status": { "description": "valid, invalidated or could_not_verify" },
                "receipt": { "description": "Decision, reason and signed packet" }
            }),
            &[],
        ),
    }
}

fn request(mut arguments: Arguments<'_>, _: Budgets) -> Result<Request, Box<Failure>> {
    let mut body = Body::new();
    if let Some(raw) = arguments.required("conclusion") {
        let text = CONCLUSION.read(raw, &Path::argument("conclusion"), &mut arguments.issues);
        body.optional("conclusion", text.as_deref());
    }
    if let Some(raw) = arguments.required("evidence_refs") {
        body.array("evidence_refs", &evidence_refs(raw, &mut arguments.issues));
    }
    if let Some(raw) = arguments.optional("as_of") {
        let as_of = rules::datetime(raw, &Path::argument("as_of"), &mut arguments.issues);
        body.optional("as_of", as_of.as_deref());
    }
    if let Some(raw) = arguments.optional("materiality") {
        let at = Path::argument("materiality");
        body.optional("materiality", rules::choice(raw, schema::MATERIALITY, &at, &mut arguments.issues));
    }
    if let Some(raw) = arguments.optional("intended_action") {
        let text = INTENDED_ACTION.read(raw, &Path::argument("intended_action"), &mut arguments.issues);
        body.optional("intended_action", text.as_deref());
    }
    if let Some(raw) = arguments.optional("reversibility") {
        let at = Path::argument("reversibility");
        body.optional("reversibility", rules::choice(raw, REVERSIBILITY, &at, &mut arguments.issues));
    }
    for (name, rule) in [("jurisdiction", JURISDICTION), ("context", CONTEXT)] {
        if let Some(raw) = arguments.optional(name) {
            body.optional(name, rule.read(raw, &Path::argument(name), &mut arguments.issues).as_deref());
        }
    }
    let given = arguments.optional("idempotency_key").map(|raw| idempotency_key(raw, &mut arguments.issues));
    arguments.finish()?;
    let key = given.flatten().unwrap_or_else(IdempotencyKey::generate);
    Ok(Request::post("/v1/verify", body.finish()).keyed(key, RetryClass::SameKey))
}

fn idempotency_key(raw: &RawValue, issues: &mut Issues) -> Option<IdempotencyKey> {
    let at = Path::argument("idempotency_key");
    let text = rules::string(raw, &at, issues)?;
    let key = IdempotencyKey::new(&text).ok();
    if key.is_none() {
        let units = rules::utf16_len(&text);
        issues.add(
            &at,
            "not_an_idempotency_key",
            format!(
                "8 to 200 printable ASCII characters without space, given a string of {units} characters"
            ),
        );
    }
    key
}

fn evidence_refs(raw: &RawValue, issues: &mut Issues) -> Vec<Vec<u8>> {
    let at = Path::argument("evidence_refs");
    let mut ids = HashSet::new();
    let mut refs = Vec::new();
    for (index, raw) in
        rules::array(raw, 1, MAX_REFS, &at, issues).unwrap_or_default().into_iter().enumerate()
    {
        let at = at.index(index);
        if raw.get().starts_with('{') {
            if let Some((json, id)) = document(raw, &at, issues) {
                if !ids.insert(id) {
                    let message = "stable document_id values must be unique";
                    issues.add(&at.member("document_id"), "not_unique", message);
                }
                refs.push(json);
            }
        } else if let Some(url) = rules::http_url(raw, &at, issues) {
            refs.push(json_string(&url));
        }
    }
    refs
}

/// A reference with an id: the JSON that is sent, and the id.
fn document(raw: &RawValue, at: &Path<'_>, issues: &mut Issues) -> Option<(Vec<u8>, String)> {
    let Ok(object) = RawObject::parse(raw.get()) else {
        issues.add(
            at,
            "invalid_text",
            "a member name holds half a surrogate pair, which no Unicode text can",
        );
        return None;
    };
    let mut body = Body::new();
    let mut id = None;
    for name in ["url", "document_id"] {
        if object.get(name).is_none() {
            issues.add(&at.member(name), "required", format!("`{name}` is required"));
        }
    }
    for (name, value) in object.members() {
        let path = at.member(name);
        match name {
            "url" => {
                body.optional(name, rules::http_url(value, &path, issues).as_deref());
            }
            "document_id" => {
                id = DOCUMENT_ID.read(value, &path, issues).map(std::borrow::Cow::into_owned);
                body.optional(name, id.as_deref());
            }
            _ => {
                let message =
                    format!("`{}` is no member of a reference; those are url, document_id", shown_name(name));
                issues.add(&path, "unknown_member", message);
            }
        }
    }
    Some((body.finish(), id?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{body_of, failure_of, request_of};
    use super::*;

    #[test]
    fn the_key_goes_into_the_header_and_never_into_the_body() {
        let arguments = r#"{"idempotency_key":"op-000017","conclusion":" c ","evidence_refs":["https://a.example",{"document_id":" d ","url":"https://b.example"}],
            "context":"x","jurisdiction":"y","reversibility":"unknown","intended_action":"z","materiality":"low","as_of":"2026-08-03T01:42Z"}"#;
        let request = request_of(&TOOL, arguments);
        assert_eq!(request.idempotency_key.unwrap().as_str(), "op-000017");
        assert_eq!(request.retry, RetryClass::SameKey);
        assert_eq!(
            body_of(&TOOL, arguments),
            r#"{"conclusion":" c ","evidence_refs":["https://a.example",{"document_id":"d","url":"https://b.example"}],"as_of":"2026-08-03T01:42Z","materiality":"low","intended_action":"z","reversibility":"unknown","jurisdiction":"y","context":"x"}"#
        );
    }

    #[test]
    fn a_key_is_made_when_none_is_given() {
        let arguments = r#"{"conclusion":"c","evidence_refs":["https://a.example"]}"#;
        let one = request_of(&TOOL, arguments).idempotency_key.unwrap();
        let two = request_of(&TOOL, arguments).idempotency_key.unwrap();
        assert_ne!(one.as_str(), two.as_str());
    }

    #[test]
    fn faults() {
        for (arguments, code) in [
            (r#"{"conclusion":"c","evidence_refs":[]}"#, "too_few"),
            (r#"{"conclusion":"c","evidence_refs":[{"url":"https://a.example"}]}"#, "required"),
            (
                r#"{"conclusion":"c","evidence_refs":[{"url":"https://a.example","document_id":"d","x":1}]}"#,
                "unknown_member",
            ),
            (
                r#"{"conclusion":"c","evidence_refs":[{"url":"https://a.example","document_id":"d"},{"url":"https://b.example","document_id":" d"}]}"#,
                "stable document_id values must be unique",
            ),
            (
                r#"{"conclusion":"c","evidence_refs":["https://a.example"],"idempotency_key":"short"}"#,
                "not_an_idempotency_key",
            ),
            (
                r#"{"conclusion":"c","evidence_refs":["https://a.example"],"idempotency_key":"has a space"}"#,
                "not_an_idempotency_key",
            ),
            (r#"{"evidence_refs":["https://a.example"]}"#, "required"),
        ] {
            assert!(failure_of(&TOOL, arguments).contains(code), "{arguments}");
        }
    }
}
