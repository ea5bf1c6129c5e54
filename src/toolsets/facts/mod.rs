//! `facts`: check before acting, the receipts of checks, and the sources that facts are checked against.
//!
//! One file per tool. Each is a pure mapping: arguments to a request, response to a payload.
//!
//! Source: MCP tool contract, sections A4 to A8.

mod add_source;
mod body;
mod check;
mod claim;
mod get_receipt;
mod list_sources;
mod remove_source;
mod report_outcome;
mod schema;
mod verify;

use kaval_client::{CallError, Request, Response};

use crate::arguments::{Arguments, RawObject};
use crate::call::CallContext;
use crate::error::Failure;
use crate::toolset::{Budgets, ToolDefinition, ToolFuture, ToolOutcome, Toolset};

/// Name of the toolset.
pub const NAME: &str = "facts";

/// The toolset that is on when nothing else is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts;

/// One tool: its definition and its two mappings.
struct Tool {
    name: &'static str,
    arguments: &'static [&'static str],
    define: fn(Budgets) -> ToolDefinition,
    request: fn(Arguments<'_>, Budgets) -> Result<Request, Box<Failure>>,
    payload: fn(&Response) -> Result<String, CallError>,
    /// What to tell an agent whose call ran out of time.
    on_timeout: &'static str,
}

/// In the order of the listing.
const TOOLS: [Tool; 7] = [
    check::TOOL,
    get_receipt::TOOL,
    add_source::TOOL,
    list_sources::TOOL,
    remove_source::TOOL,
    report_outcome::TOOL,
    verify::TOOL,
];

impl Toolset for Facts {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tools(&self) -> Vec<&'static str> {
        TOOLS.iter().map(|tool| tool.name).collect()
    }

    fn definitions(&self, budgets: Budgets) -> Vec<ToolDefinition> {
        TOOLS.iter().map(|tool| (tool.define)(budgets)).collect()
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Option<&'a str>,
        context: &'a CallContext<'a>,
    ) -> ToolFuture<'a> {
        Box::pin(async move {
            let Some(tool) = TOOLS.iter().find(|known| known.name == tool) else {
                return ToolOutcome {
                    result: Err(Box::new(Failure::unknown_tool(tool))),
                    ignored: Default::default(),
                };
            };
            let arguments = Arguments::new(arguments, tool.arguments);
            let ignored = arguments.ignored();
            let result = match (tool.request)(arguments, context.budgets()) {
                Ok(request) => run(tool, request, context).await,
                Err(failure) => Err(failure),
            };
            ToolOutcome { result, ignored }
        })
    }
}

async fn run(tool: &Tool, request: Request, context: &CallContext<'_>) -> Result<String, Box<Failure>> {
    let key = request.idempotency_key.clone();
    let answered = match context.send(request).await {
        Ok(response) => (tool.payload)(&response).map_err(Failure::from).map_err(|failure| match key {
            // Something was done for this key, and only a repetition can tell what.
            Some(key) => Failure::ambiguous(key.as_str().to_owned()).with_cause(&failure),
            None => failure,
        }),
        Err(failure) => Err(*failure),
    };
    answered.map_err(|failure| {
        Box::new(if failure.is_timeout() { failure.with_message(tool.on_timeout) } else { failure })
    })
}

/// The whole body: an object.
fn whole_body(response: &Response) -> Result<String, CallError> {
    let body = response.compact()?;
    object(response, &body)?;
    Ok(body)
}

/// Reads a compact body as an object.
fn object<'b>(response: &Response, body: &'b str) -> Result<RawObject<'b>, CallError> {
    RawObject::parse(body).map_err(|_| response.invalid(kaval_client::error::BodyFault::NotObject))
}

/// One member of the body, under its own name. `open` is how its value must begin.
fn one_member(response: &Response, name: &'static str, open: char) -> Result<String, CallError> {
    let body = response.compact()?;
    let object = object(response, &body)?;
    let member = object
        .get(name)
        .filter(|raw| raw.get().starts_with(open))
        .ok_or_else(|| response.invalid(kaval_client::error::BodyFault::MissingMember { name }))?;
    Ok(format!("{{\"{name}\":{}}}", member.get()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    pub(super) const BUDGETS: Budgets = Budgets { deadline: Duration::from_secs(55), check_ms: 45_000 };

    pub(super) fn request_of(tool: &Tool, arguments: &str) -> Request {
        (tool.request)(Arguments::new(Some(arguments), tool.arguments), BUDGETS)
            .unwrap_or_else(|failure| panic!("{}", failure.to_json()))
    }

    pub(super) fn body_of(tool: &Tool, arguments: &str) -> String {
        String::from_utf8(request_of(tool, arguments).body.unwrap().to_vec()).unwrap()
    }

    pub(super) fn failure_of(tool: &Tool, arguments: &str) -> String {
        (tool.request)(Arguments::new(Some(arguments), tool.arguments), BUDGETS).unwrap_err().to_json()
    }

    #[test]
    fn every_tool_is_defined_under_its_own_name_with_its_own_arguments() {
        for tool in &TOOLS {
            let definition = (tool.define)(BUDGETS);
            assert_eq!(definition.name, tool.name);
            let properties = definition.input_schema["properties"].as_object().unwrap();
            assert!(properties.keys().eq(tool.arguments), "{}", tool.name);
        }
    }
}
