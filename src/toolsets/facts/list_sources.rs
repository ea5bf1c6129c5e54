//! `list_sources`: what is being watched.

use kaval_client::Request;
use kaval_client::request::{Kind, Promised};
use serde_json::json;

use super::{Tool, schema};
use crate::arguments::{Arguments, Path};
use crate::error::Failure;
use crate::rules;
use crate::toolset::{Annotations, Budgets, ToolDefinition};

pub(super) const TOOL: Tool = Tool {
    name: "list_sources",
    arguments: &["include_inactive"],
    define,
    request,
    only: Some("sources"),
    on_timeout: "the list did not arrive inside the deadline: retry",
};

fn define(_: Budgets) -> ToolDefinition {
    ToolDefinition {
        name: TOOL.name,
        title: "List sources",
        description: "Every watched source, those registered automatically from citations included. Shows whether anything \
                      backs a fact."
            .to_owned(),
        annotations: Annotations { read_only: true, destructive: false, idempotent: true, open_world: false },
        input_schema: schema::arguments(
            &json!({ "include_inactive": { "type": "boolean", "description": "Also paused ones" } }),
            &[],
        ),
        output_schema: schema::result(
            &json!({ "sources": { "type": "array", "description": "Watched sources" } }),
            &["sources"],
        ),
    }
}

fn request(mut arguments: Arguments<'_>, _: Budgets) -> Result<Request, Box<Failure>> {
    let inactive = arguments
        .optional("include_inactive")
        .and_then(|raw| rules::boolean(raw, &Path::argument("include_inactive"), &mut arguments.issues));
    arguments.finish()?;
    let request =
        Request::get("/v1/sources").promising(const { &[Promised { name: "sources", kind: Kind::Array }] });
    Ok(if inactive == Some(true) { request.query("include_inactive", "true") } else { request })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{failure_of, request_of};
    use super::*;

    #[test]
    fn only_true_asks_for_inactive_ones() {
        assert_eq!(request_of(&TOOL, "{}").target, "/v1/sources");
        assert_eq!(request_of(&TOOL, r#"{"include_inactive":false}"#).target, "/v1/sources");
        assert_eq!(
            request_of(&TOOL, r#"{"include_inactive":true}"#).target,
            "/v1/sources?include_inactive=true"
        );
        assert!(failure_of(&TOOL, r#"{"include_inactive":"yes"}"#).contains("wrong_type"));
    }
}
