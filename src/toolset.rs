//! What a set of tools must offer to the server core.
//!
//! The core knows this trait and no tool by name. A toolset owns its tools entirely: names, schemas,
//! annotations, validation, requests and payloads.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::arguments::Ignored;
use crate::call::CallContext;
use crate::error::Failure;

/// How long calls may take.
///
/// Source: MCP tool contract, section A3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Deadline of one tool call, all attempts included.
    pub deadline: Duration,
    /// Largest research budget a check may ask for, and the default, in milliseconds.
    pub check_ms: u32,
}

/// What a tool does to the world, as hints for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may take something away.
    pub destructive: bool,
    /// Repeating a call changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond the workspace, to the web.
    pub open_world: bool,
}

/// One tool as a client sees it.
#[derive(Clone, Debug)]
pub struct ToolDefinition {
    /// Name, at most 36 of `[a-zA-Z0-9_-]` so that a host's prefix still fits.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What an agent needs to know, the vital sentence first.
    pub description: String,
    /// Hints for the host.
    pub annotations: Annotations,
    /// JSON Schema of the arguments.
    pub input_schema: Map<String, Value>,
    /// JSON Schema of the structured result, open to members the API may add.
    pub output_schema: Map<String, Value>,
}

/// What a call came to.
#[derive(Debug)]
pub struct ToolOutcome {
    /// The payload, one compact JSON object, or the failure.
    pub result: Result<String, Box<Failure>>,
    /// Arguments the tool does not have.
    pub ignored: Ignored,
}

/// A running call; dropping it closes its connection to the API.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

/// A set of tools that are switched on together.
pub trait Toolset: Debug + Send + Sync + 'static {
    /// Name, as given to `--toolsets`.
    fn name(&self) -> &'static str;

    /// Names of the tools in the order they are listed.
    fn tools(&self) -> Vec<&'static str>;

    /// The tools as a client sees them, in the same order.
    fn definitions(&self, budgets: Budgets) -> Vec<ToolDefinition>;

    /// Runs one of the tools. `arguments` is the JSON object as the caller spelled it.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Option<&'a str>,
        context: &'a CallContext<'a>,
    ) -> ToolFuture<'a>;
}
