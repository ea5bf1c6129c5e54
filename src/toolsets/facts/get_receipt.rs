//! `get_receipt`: the signed document behind a verdict.

use kaval_client::Request;
use kaval_client::request::{Kind, Promised};
use serde_json::json;

use super::{Tool, schema};
use crate::arguments::{Arguments, Path};
use crate::error::Failure;
use crate::rules;
use crate::toolset::{Annotations, Budgets, ToolDefinition};

pub(super) const TOOL: Tool = Tool {
    name: "get_receipt",
    arguments: &["receipt_id"],
    define,
    request,
    only: Some("receipt"),
    on_timeout: "the receipt did not arrive inside the deadline: retry",
};

fn define(_: Budgets) -> ToolDefinition {
    ToolDefinition {
        name: TOOL.name,
        title: "Get a receipt",
        description: "The full signed document behind a check: every fact with its evidence basis. For escalating to a \
                      person and for offline verification."
            .to_owned(),
        annotations: Annotations { read_only: true, destructive: false, idempotent: true, open_world: false },
        input_schema: schema::arguments(
            &json!({ "receipt_id": schema::uuid("`receipt.id` of a check") }),
            &["receipt_id"],
        ),
        output_schema: schema::result(
            &json!({ "receipt": { "type": "object", "description": "The receipt exactly as signed" } }),
            &["receipt"],
        ),
    }
}

fn request(mut arguments: Arguments<'_>, _: Budgets) -> Result<Request, Box<Failure>> {
    let id = arguments
        .required("receipt_id")
        .and_then(|raw| rules::uuid(raw, &Path::argument("receipt_id"), &mut arguments.issues));
    arguments.finish()?;
    Ok(Request::get("/v1/receipts")
        .segment(&id.unwrap_or_default())
        .promising(const { &[Promised { name: "receipt", kind: Kind::Object }] }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{failure_of, request_of};
    use super::*;

    #[test]
    fn the_id_goes_into_the_path_as_given() {
        let request = request_of(&TOOL, r#"{"receipt_id":"B7B0A3DE-52d4-4d0e-8f0b-3c1f9a6e2d11"}"#);
        assert_eq!(request.target, "/v1/receipts/B7B0A3DE-52d4-4d0e-8f0b-3c1f9a6e2d11");
        assert!(request.body.is_none());
    }

    #[test]
    fn the_id_is_required_and_a_uuid() {
        assert!(failure_of(&TOOL, "{}").contains(r#""path":["receipt_id"],"code":"required""#));
        assert!(failure_of(&TOOL, r#"{"receipt_id":"../x"}"#).contains("not_a_uuid"));
    }
}
