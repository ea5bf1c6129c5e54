//! The auditor's command: checks signed verdict receipts offline.

mod args;
mod audit;
mod escape;
mod exit;
mod gates;
mod input;
mod output;

use crate::args::{Cli, Command};
use crate::exit::{ExitStatus, Failure};
use crate::output::{Format, Layout};
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    run(&cli.command).into()
}

fn run(command: &Command) -> ExitStatus {
    let ended = match command {
        Command::Audit(args) => audit::run(args),
        _ => Err(Failure::usage("not yet")),
    };
    ended.unwrap_or_else(|failure| failure.report(Format::or_by_terminal(None), Layout::Indented))
}
