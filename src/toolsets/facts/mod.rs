//! `facts`: check before acting, the receipts of checks, and the sources that facts are checked against.
//!
//! One file per tool. Each is a pure mapping of arguments to a request; the answer is handed on.
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

use kaval_client::Request;

use crate::arguments::Arguments;
use crate::call::CallContext;
use crate::error::Failure;
use crate::toolset::{Budgets, ToolDefinition, ToolFuture, ToolOutcome, Toolset};

/// Name of the toolset.
pub const NAME: &str = "facts";

/// The toolset that is on when nothing else is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts;

/// One tool: its definition, and how arguments become a request.
struct Tool {
    name: &'static str,
    arguments: &'static [&'static str],
    define: fn(Budgets) -> ToolDefinition,
    request: fn(Arguments<'_>, Budgets) -> Result<Request, Box<Failure>>,
    /// The member of the answer that is the payload, under its own name; without one it is the whole body.
    only: Option<&'static str>,
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
    match context.call(request).await {
        Ok(answer) => Ok(match tool.only {
            None => answer.text,
            // The request promised the member, so the client has seen it.
            Some(name) => format!("{{\"{name}\":{}}}", answer.member(name).unwrap_or("null")),
        }),
        Err(failure) if failure.is_timeout() => Err(Box::new(failure.with_message(tool.on_timeout))),
        Err(failure) => Err(failure),
    }
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
