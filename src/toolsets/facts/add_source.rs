//! `add_source`: watch an authority, so that facts are checked against it.

use kaval_client::Request;
use serde_json::json;

use super::body::{Body, json_string};
use super::{Tool, schema};
use crate::arguments::{Arguments, Path};
use crate::error::{Code, Failure};
use crate::rules::{self, Text};
use crate::toolset::{Annotations, Budgets, ToolDefinition};

pub(super) const TOOL: Tool = Tool {
    name: "add_source",
    arguments: &["kind", "locator", "name", "label", "intent", "scope_keys", "poll_interval_s"],
    define,
    request,
    only: None,
    on_timeout: "no answer inside the deadline; the source may have been added all the same: see list_sources before \
                 you retry",
};

const KINDS: &[&str] = &["url", "push", "connection", "entity", "discovered"];
const LOCATOR: Text = Text::trimmed(2048);
const LABEL: Text = Text::trimmed(512);
const SCOPE_KEY: Text = Text::trimmed(256);
const MAX_SCOPE_KEYS: usize = 64;
const MIN_POLL_S: u32 = 60;
const MAX_POLL_S: u32 = 604_800;

fn define(_: Budgets) -> ToolDefinition {
    ToolDefinition {
        name: TOOL.name,
        title: "Add a source",
        description: "Watch an authority, so that facts are checked against it. Naming it is usually enough: kind `entity` \
             with `name` finds its pages; `url` watches one page; `push` takes documents you send; `connection` and \
             `discovered` name what exists already. Optional, but it makes first checks fast. Give `locator` or `name`."
            .to_owned(),
        annotations: Annotations { read_only: false, destructive: false, idempotent: true, open_world: true },
        input_schema: schema::arguments(
            &json!({
                "kind": schema::choice(KINDS, "Kind of source"),
                "locator": schema::text(LOCATOR.max, "URL or identifier"),
                "name": schema::text(LOCATOR.max, "Name of the authority, for kind entity"),
                "label": schema::text(LABEL.max, "Label for people"),
                "intent": schema::text(LABEL.max, "What it is watched for"),
                "scope_keys": {
                    "type": "array", "maxItems": MAX_SCOPE_KEYS,
                    "items": { "type": "string", "minLength": 1, "maxLength": SCOPE_KEY.max },
                    "description": "Scopes it speaks for"
                },
                "poll_interval_s": {
                    "type": "integer", "minimum": MIN_POLL_S, "maximum": MAX_POLL_S,
                    "description": "Seconds between looks"
                }
            }),
            &["kind"],
        ),
        output_schema: schema::result(
            &json!({
                "source": { "description": "The watched source" },
                "created": { "description": "false if it existed" },
                "resolved": { "description": "Sources an entity resolved to" },
                "authority": { "description": "Judged pages; ambiguous ones need a person" }
            }),
            &[],
        ),
    }
}

fn request(mut arguments: Arguments<'_>, _: Budgets) -> Result<Request, Box<Failure>> {
    let mut body = Body::new();
    if let Some(raw) = arguments.required("kind") {
        body.optional("kind", rules::choice(raw, KINDS, &Path::argument("kind"), &mut arguments.issues));
    }
    for (name, rule) in [("locator", LOCATOR), ("name", LOCATOR), ("label", LABEL), ("intent", LABEL)] {
        if let Some(raw) = arguments.optional(name) {
            body.optional(name, rule.read(raw, &Path::argument(name), &mut arguments.issues).as_deref());
        }
    }
    if let Some(raw) = arguments.optional("scope_keys") {
        let at = Path::argument("scope_keys");
        let issues = &mut arguments.issues;
        let keys: Vec<_> = rules::array(raw, 0, MAX_SCOPE_KEYS, &at, issues)
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .filter_map(|(index, raw)| SCOPE_KEY.read(raw, &at.index(index), issues))
            .map(|key| json_string(&key))
            .collect();
        body.array("scope_keys", &keys);
    }
    if let Some(raw) = arguments.optional("poll_interval_s") {
        let at = Path::argument("poll_interval_s");
        if let Some(seconds) = rules::integer(raw, MIN_POLL_S, MAX_POLL_S, &at, &mut arguments.issues) {
            body.raw("poll_interval_s", &seconds.to_string());
        }
    }
    arguments.finish()?;
    if arguments.optional("locator").is_none() && arguments.optional("name").is_none() {
        let hint = arguments
            .near_miss(&["locator", "name"])
            .map(|(given, meant)| format!("; `{given}` was given: did you mean `{meant}`?"));
        return Err(Box::new(Failure::new(
            Code::BadRequest,
            format!("give `locator`, or `name` for kind `entity`{}", hint.unwrap_or_default()),
        )));
    }
    Ok(Request::post("/v1/sources", body.finish()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{body_of, failure_of};
    use super::*;

    #[test]
    fn members_follow_the_table() {
        let arguments = r#"{"poll_interval_s":6e1,"scope_keys":[" a ","a"],"intent":"i","label":"l","name":" n ","locator":"x","kind":"entity"}"#;
        assert_eq!(
            body_of(&TOOL, arguments),
            r#"{"kind":"entity","locator":"x","name":"n","label":"l","intent":"i","scope_keys":["a","a"],"poll_interval_s":60}"#
        );
    }

    #[test]
    fn a_locator_or_a_name_is_needed() {
        let failure = failure_of(&TOOL, r#"{"kind":"url","locater":"x"}"#);
        assert!(failure.contains("bad_request") && failure.contains("did you mean `locator`?"), "{failure}");
        assert!(failure_of(&TOOL, r#"{"locator":"x"}"#).contains(r#""path":["kind"],"code":"required""#));
        for (arguments, code) in [
            (r#"{"kind":"rss","locator":"x"}"#, "not_allowed"),
            (r#"{"kind":"url","locator":" "}"#, "too_short"),
            (r#"{"kind":"url","locator":"x","poll_interval_s":59}"#, "out_of_range"),
            (r#"{"kind":"url","locator":"x","scope_keys":[""]}"#, "too_short"),
        ] {
            assert!(failure_of(&TOOL, arguments).contains(code), "{arguments}");
        }
    }
}
