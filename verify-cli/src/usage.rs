//! What the argument parser says, in the form the caller reads.

use crate::escape::{Escaped, is_unsafe};
use crate::exit::{ExitStatus, Failure};
use crate::output::{self, Format, Layout};
use clap::error::ErrorKind;
use std::ffi::OsString;

/// Prints help or the version to stdout, or reports a command line that cannot mean anything.
pub(crate) fn report(error: &clap::Error, arguments: &[OsString]) -> ExitStatus {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match output::print(&text) {
            Ok(()) => ExitStatus::Accepted,
            Err(failure) => failure.report(Format::Text, Layout::Indented),
        };
    }
    let (format, layout) = asked_rendering(arguments);
    let text = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => format!("a subcommand is needed\n\n{text}"),
        _ => text,
    };
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    Failure::usage(escape_values(text, arguments)).report(format, layout)
}

/// The rendering the arguments ask for, as far as that can be told of a line that cannot be parsed.
fn asked_rendering(arguments: &[OsString]) -> (Format, Layout) {
    let arguments = arguments.iter().skip(1).map(|argument| argument.to_string_lossy());
    let (mut asked, mut layout, mut is_value) = (None, Layout::Indented, false);
    for argument in arguments {
        let value = if is_value { Some(&*argument) } else { argument.strip_prefix("--format=") };
        match value {
            Some("json") => asked = Some(Format::Json),
            // Formats without a form for failures show them to people.
            Some("text" | "csv" | "junit" | "html") => asked = Some(Format::Text),
            _ => {}
        }
        is_value = argument == "--format";
        if argument == "--compact" {
            layout = Layout::Compact;
        }
    }
    (Format::or_by_terminal(asked), layout)
}

/// Escapes the line breaks and control characters of arguments that the parser's message repeats.
fn escape_values(text: &str, arguments: &[OsString]) -> String {
    let mut text = text.to_owned();
    for argument in arguments.iter().skip(1).map(|argument| argument.to_string_lossy()) {
        let value = argument.split_once('=').map_or(&*argument, |(_, value)| value);
        for value in [&*argument, value] {
            if value.contains(is_unsafe) {
                text = text.replace(value, &Escaped::new(value).to_string());
            }
        }
    }
    text
}
