//! `check`: is what I am about to do still backed by current facts?

use std::borrow::Cow;

use kaval_client::request::{Kind, Promised};
use kaval_client::{Request, RetryClass};
use serde_json::json;

use super::body::Body;
use super::{Tool, claim, schema};
use crate::arguments::{Arguments, Path};
use crate::error::{Code, Failure};
use crate::rules::{self, Text};
use crate::toolset::{Annotations, Budgets, ToolDefinition};

pub(super) const TOOL: Tool = Tool {
    name: "check",
    arguments: &["action", "context", "claims", "mode", "max_wait_ms", "origin_urls", "materiality", "as_of"],
    define,
    request,
    only: None,
    on_timeout: "no verdict inside the deadline, so nothing is permitted: retry with mode `fast` (what is watched already, no \
                 research) or a smaller max_wait_ms",
};

const ACTION: Text = Text::trimmed(10_000);
const MAX_CLAIMS: usize = 20;
const MAX_ORIGINS: usize = 20;
const MODES: &[&str] = &["fast", "standard"];

/// Research budget the API takes when a caller gives none.
const API_DEFAULT_MS: u32 = 100_000;

fn define(budgets: Budgets) -> ToolDefinition {
    let budget = budgets.check_ms;
    ToolDefinition {
        name: TOOL.name,
        title: "Check before acting",
        description: "Call this before you act on something you believe. The verdict is ALLOW: every fact holds, go ahead; \
             REVIEW: something is unknown, stale or unverified, so stop and escalate; or BLOCK: a fact has changed, do \
             not act. REVIEW IS NEVER PERMISSION TO ACT, and an error is no verdict. Each fact comes with its status \
             (holds, changed, unknown), so you see which belief moved. Cheap when watched sources already cover the \
             facts, otherwise seconds of research. Give `action`, `claims` or both."
            .to_owned(),
        annotations: Annotations { read_only: true, destructive: false, idempotent: true, open_world: true },
        input_schema: schema::arguments(
            &json!({
                "action": schema::text(ACTION.max, "What you are about to do; facts are taken from it"),
                "context": schema::text(ACTION.max, "What the action rests on"),
                "claims": {
                    "type": "array", "minItems": 1, "maxItems": MAX_CLAIMS, "items": claim::schema(),
                    "description": "The facts to check"
                },
                "mode": schema::choice(MODES, "fast: stored state only; standard: may research"),
                "max_wait_ms": {
                    "type": "integer", "minimum": 0, "maximum": budget,
                    "description": wait_description(budget)
                },
                "origin_urls": {
                    "type": "array", "maxItems": MAX_ORIGINS, "items": schema::url(),
                    "description": "Pages you took the facts from"
                },
                "materiality": schema::choice(schema::MATERIALITY, "What being wrong would cost"),
                "as_of": schema::datetime("When you learned the facts")
            }),
            &[],
        ),
        output_schema: schema::result(
            &json!({
                "decision": { "type": "string", "description": "ALLOW, REVIEW or BLOCK; only ALLOW permits acting" },
                "reason_codes": { "description": "Why" },
                "facts": { "description": "Each fact with its status: holds, changed or unknown" },
                "receipt": { "description": "Id and signature of the receipt" },
                "latency_ms": { "description": "Where the time went" }
            }),
            &["decision"],
        ),
    }
}

fn wait_description(budget: u32) -> String {
    format!(
        "Research budget, default and limit {budget} here (API default {API_DEFAULT_MS}); 0 disables research"
    )
}

fn request(mut arguments: Arguments<'_>, budgets: Budgets) -> Result<Request, Box<Failure>> {
    let mut body = Body::new();
    let action = text(&mut arguments, "action");
    let context = text(&mut arguments, "context");
    body.optional("action", action.as_deref()).optional("context", context.as_deref());
    if let Some(raw) = arguments.optional("claims") {
        let at = Path::argument("claims");
        let issues = &mut arguments.issues;
        let claims: Vec<_> = rules::array(raw, 1, MAX_CLAIMS, &at, issues)
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .filter_map(|(index, raw)| claim::read(raw, &at.index(index), issues))
            .collect();
        body.array("claims", &claims);
    }
    if let Some(raw) = arguments.optional("mode") {
        body.optional("mode", rules::choice(raw, MODES, &Path::argument("mode"), &mut arguments.issues));
    }
    let wait = match arguments.optional("max_wait_ms") {
        Some(raw) => {
            rules::integer(raw, 0, budgets.check_ms, &Path::argument("max_wait_ms"), &mut arguments.issues)
        }
        None => Some(budgets.check_ms),
    };
    if let Some(raw) = arguments.optional("origin_urls") {
        let at = Path::argument("origin_urls");
        let issues = &mut arguments.issues;
        let urls: Vec<_> = rules::array(raw, 0, MAX_ORIGINS, &at, issues)
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .filter_map(|(index, raw)| rules::http_url(raw, &at.index(index), issues))
            .map(|url| super::body::json_string(&url))
            .collect();
        body.array("origin_urls", &urls);
    }
    if let Some(raw) = arguments.optional("materiality") {
        let at = Path::argument("materiality");
        body.optional("materiality", rules::choice(raw, schema::MATERIALITY, &at, &mut arguments.issues));
    }
    if let Some(raw) = arguments.optional("as_of") {
        let as_of = rules::datetime(raw, &Path::argument("as_of"), &mut arguments.issues);
        body.optional("as_of", as_of.as_deref());
    }
    if arguments.issues.is_empty()
        && arguments.optional("action").is_none()
        && arguments.optional("claims").is_none()
    {
        let hint = arguments
            .near_miss(&["action", "claims"])
            .map(|(given, meant)| format!("; `{given}` was given: did you mean `{meant}`?"));
        return Err(Box::new(Failure::new(
            Code::BadRequest,
            format!(
                "give `action` (the step that comes next) or `claims` (the facts under it){}",
                hint.unwrap_or_default()
            ),
        )));
    }
    arguments.finish()?;
    body.raw("max_wait_ms", &wait.unwrap_or(budgets.check_ms).to_string());
    // An answer without a verdict is none, whatever its status.
    Ok(Request::post("/v1/check", body.finish())
        .retry(RetryClass::WaitOnce)
        .promising(const { &[Promised { name: "decision", kind: Kind::String }] }))
}

fn text<'a>(arguments: &mut Arguments<'a>, name: &'static str) -> Option<Cow<'a, str>> {
    let raw = arguments.optional(name)?;
    ACTION.read(raw, &Path::argument(name), &mut arguments.issues)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{body_of, failure_of};
    use super::*;

    #[test]
    fn members_follow_the_table_with_the_budget_last() {
        let arguments = r#"{"as_of":"2026-08-03T01:42Z","max_wait_ms":0,"claims":[" a ",{"predicate":"p","subject":"s"}],
            "origin_urls":["https://a.example"],"materiality":"high","mode":"fast","context":"c","action":" x "}"#;
        assert_eq!(
            body_of(&TOOL, arguments),
            r#"{"action":"x","context":"c","claims":["a",{"predicate":"p","subject":"s"}],"mode":"fast","origin_urls":["https://a.example"],"materiality":"high","as_of":"2026-08-03T01:42Z","max_wait_ms":0}"#
        );
        assert_eq!(body_of(&TOOL, r#"{"action":"x"}"#), r#"{"action":"x","max_wait_ms":45000}"#);
        assert_eq!(
            body_of(&TOOL, r#"{"action":"x","max_wait_ms":4.5e4}"#),
            r#"{"action":"x","max_wait_ms":45000}"#
        );
    }

    #[test]
    fn neither_action_nor_claims_is_a_bad_request() {
        assert_eq!(
            failure_of(&TOOL, r#"{"mode":"fast"}"#),
            r#"{"error":"bad_request","message":"give `action` (the step that comes next) or `claims` (the facts under it)"}"#
        );
        assert!(failure_of(&TOOL, r#"{"claim":["x"]}"#).contains("did you mean `claims`?"));
        assert!(failure_of(&TOOL, r#"{"action":null}"#).contains("bad_request"));
    }

    #[test]
    fn every_fault_is_listed_at_once() {
        let failure = failure_of(
            &TOOL,
            r#"{"action":"","context":1,"claims":[],"mode":"slow","max_wait_ms":45001,"origin_urls":["x"],"materiality":2,"as_of":"y"}"#,
        );
        let failure: serde_json::Value = serde_json::from_str(&failure).unwrap();
        assert_eq!(failure["error"], "invalid_arguments");
        let found: Vec<_> =
            failure["issues"].as_array().unwrap().iter().map(|issue| issue["code"].clone()).collect();
        let want = [
            "too_short",
            "wrong_type",
            "too_few",
            "not_allowed",
            "out_of_range",
            "not_an_http_url",
            "wrong_type",
            "not_a_datetime",
        ];
        assert_eq!(found, want);
    }

    #[test]
    fn the_budget_moves_with_the_deadline() {
        let budgets = Budgets { deadline: std::time::Duration::from_secs(90), check_ms: 80_000 };
        let definition = define(budgets);
        assert_eq!(definition.input_schema["properties"]["max_wait_ms"]["maximum"], 80_000);
        let arguments = Arguments::new(Some(r#"{"action":"x","max_wait_ms":80000}"#), TOOL.arguments);
        assert!(request(arguments, budgets).is_ok());
    }
}
