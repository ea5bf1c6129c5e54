//! `remove_source`: stop watching, which frees its place in the registry.

use kaval_client::Request;
use kaval_client::request::RetryClass;
use serde_json::json;

use super::{Tool, schema};
use crate::arguments::{Arguments, Path};
use crate::error::Failure;
use crate::rules;
use crate::toolset::{Annotations, Budgets, ToolDefinition};

pub(super) const TOOL: Tool = Tool {
    name: "remove_source",
    arguments: &["id"],
    define,
    request,
    only: None,
    on_timeout: "no answer inside the deadline; the source may be gone all the same: see list_sources before you retry",
};

fn define(_: Budgets) -> ToolDefinition {
    ToolDefinition {
        name: TOOL.name,
        title: "Remove a source",
        description: "Stop watching a source. The only way to free registry capacity, in which automatic registrations \
                      count too."
            .to_owned(),
        annotations: Annotations { read_only: false, destructive: true, idempotent: true, open_world: false },
        input_schema: schema::arguments(&json!({ "id": schema::uuid("`id` from list_sources") }), &["id"]),
        output_schema: schema::result(
            &json!({
                "deleted": { "description": "true once it is gone" },
                "id": { "description": "Its id" }
            }),
            &[],
        ),
    }
}

fn request(mut arguments: Arguments<'_>, _: Budgets) -> Result<Request, Box<Failure>> {
    let id = arguments
        .required("id")
        .and_then(|raw| rules::uuid(raw, &Path::argument("id"), &mut arguments.issues));
    arguments.finish()?;
    let request = Request::new(http::Method::DELETE, "/v1/sources").retry(RetryClass::Never);
    Ok(request.segment(&id.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{failure_of, request_of};
    use super::*;

    #[test]
    fn deletes_by_id() {
        let request = request_of(&TOOL, r#"{"id":"aa41f7c9-0d3b-4e58-9c26-1b7d2e8f4056"}"#);
        assert_eq!(request.method, http::Method::DELETE);
        assert_eq!(request.target, "/v1/sources/aa41f7c9-0d3b-4e58-9c26-1b7d2e8f4056");
        assert!(failure_of(&TOOL, r#"{"id":"*"}"#).contains("not_a_uuid"));
    }
}
