//! `report_outcome`: tell whether a verdict turned out right.

use kaval_client::Request;
use serde_json::json;

use super::body::Body;
use super::{Tool, schema};
use crate::arguments::{Arguments, Path};
use crate::error::Failure;
use crate::rules::{self, Text};
use crate::toolset::{Annotations, Budgets, ToolDefinition};

pub(super) const TOOL: Tool = Tool {
    name: "report_outcome",
    arguments: &["id", "kind", "note"],
    define,
    request,
    only: None,
    on_timeout: "no answer inside the deadline; the report may have arrived all the same",
};

const KINDS: &[&str] =
    &["current_later_contradicted", "stale_caught_real", "stale_was_false_alarm", "relied_and_correct"];
const NOTE: Text = Text::kept(0, 2048);

fn define(_: Budgets) -> ToolDefinition {
    ToolDefinition {
        name: TOOL.name,
        title: "Report an outcome",
        description: "Say how a verdict turned out: `relied_and_correct` (acted on it, rightly), \
                      `current_later_contradicted` (it held, then proved wrong), `stale_caught_real` (a warning was \
                      justified), `stale_was_false_alarm` (a warning was not)."
            .to_owned(),
        annotations: Annotations { read_only: false, destructive: false, idempotent: false, open_world: false },
        input_schema: schema::arguments(
            &json!({
                "id": schema::uuid("Receipt id of the check"),
                "kind": schema::choice(KINDS, "How it turned out"),
                "note": { "type": "string", "maxLength": NOTE.max, "description": "Details" }
            }),
            &["id", "kind"],
        ),
        output_schema: schema::result(&json!({ "ok": { "description": "true once it is recorded" } }), &[]),
    }
}

fn request(mut arguments: Arguments<'_>, _: Budgets) -> Result<Request, Box<Failure>> {
    let mut body = Body::new();
    if let Some(raw) = arguments.required("id") {
        body.optional("id", rules::uuid(raw, &Path::argument("id"), &mut arguments.issues).as_deref());
    }
    if let Some(raw) = arguments.required("kind") {
        body.optional("kind", rules::choice(raw, KINDS, &Path::argument("kind"), &mut arguments.issues));
    }
    if let Some(raw) = arguments.optional("note") {
        let at = Path::argument("note");
        let note = NOTE.read(raw, &at, &mut arguments.issues);
        if note.as_deref().is_some_and(|note| note.contains('\0')) {
            arguments.issues.add(&at, "null_byte", "must not contain null bytes");
        }
        body.optional("note", note.as_deref());
    }
    arguments.finish()?;
    Ok(Request::post("/v1/report-outcome", body.finish()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{body_of, failure_of};
    use super::*;

    const ID: &str = "b7b0a3de-52d4-4d0e-8f0b-3c1f9a6e2d11";

    #[test]
    fn the_note_is_sent_as_it_is() {
        let arguments = format!(r#"{{"note":" \u0041\n ","kind":"relied_and_correct","id":"{ID}"}}"#);
        assert_eq!(
            body_of(&TOOL, &arguments),
            format!(r#"{{"id":"{ID}","kind":"relied_and_correct","note":" A\n "}}"#)
        );
        let empty = format!(r#"{{"id":"{ID}","kind":"stale_caught_real","note":""}}"#);
        assert_eq!(body_of(&TOOL, &empty), empty);
    }

    #[test]
    fn faults() {
        assert!(failure_of(&TOOL, "{}").contains(r#""path":["kind"],"code":"required""#));
        let nul = format!(r#"{{"id":"{ID}","kind":"stale_caught_real","note":"a\u0000b"}}"#);
        assert!(failure_of(&TOOL, &nul).contains("must not contain null bytes"));
    }
}
