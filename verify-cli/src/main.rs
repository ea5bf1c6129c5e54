//! The auditor's command: checks signed verdict receipts offline.
//!
//! Called as `kaval-receipt-verify` it speaks the contract of the reference package of that name instead.

mod args;
mod audit;
mod compat;
#[cfg(feature = "discovery")]
mod discovery;
mod document;
mod escape;
mod exit;
mod explain;
mod gates;
mod input;
mod key_source;
mod keys;
mod output;
mod report;
mod supported;
mod usage;
mod verify;
mod webhook;

use crate::args::{AuditFormat, Cli, Command, KeysCommand, RenderingArgs};
use crate::exit::{ExitStatus, Failure};
use crate::output::{Format, Layout};
use clap::Parser as _;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if compat::is_called_so(arguments.first()) {
        return compat::run(arguments.get(1..).unwrap_or_default()).into();
    }
    let status = match Cli::try_parse_from(&arguments) {
        Ok(cli) => run(&cli.command),
        Err(error) => usage::report(&error, &arguments),
    };
    status.into()
}

fn run(command: &Command) -> ExitStatus {
    let ended = match command {
        Command::Audit(args) => audit::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Keys(KeysCommand::Fetch(args)) => keys::fetch(args),
        Command::Keys(KeysCommand::Inspect(args)) => keys::inspect(args),
        Command::Supported(args) => supported::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Webhook(args) => webhook::run(args),
    };
    ended.unwrap_or_else(|failure: Failure| {
        let (format, layout) = command.rendering();
        failure.report(format, layout)
    })
}

impl Command {
    /// How a failure of the command is printed: as its result would have been.
    fn rendering(&self) -> (Format, Layout) {
        match self {
            Self::Audit(args) => {
                let format = match args.format {
                    None => Format::or_by_terminal(None),
                    Some(AuditFormat::Json) => Format::Json,
                    Some(_) => Format::Text,
                };
                (format, Layout::Compact)
            }
            Self::Explain(args) => (args.format, output::layout(args.compact)),
            Self::Keys(KeysCommand::Fetch(args)) => args.rendering.resolved(),
            Self::Keys(KeysCommand::Inspect(args)) => args.rendering.resolved(),
            Self::Supported(args) => args.rendering.resolved(),
            Self::Verify(args) => args.rendering.resolved(),
            Self::Webhook(args) => args.rendering.resolved(),
        }
    }
}

impl RenderingArgs {
    /// The format and layout to print in.
    pub(crate) fn resolved(&self) -> (Format, Layout) {
        (Format::or_by_terminal(self.format), output::layout(self.compact))
    }
}
