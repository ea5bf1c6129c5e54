//! Writing results to stdout and advice to stderr, without ever panicking on a closed pipe.

use crate::exit::Failure;
use kaval_receipt::json::{self, Value};
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

pub(crate) use kaval_receipt::json::Layout;

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Format {
    /// The format asked for, else text on a terminal and JSON otherwise.
    pub(crate) fn or_by_terminal(asked: Option<Self>) -> Self {
        let by_terminal = || if io::stdout().is_terminal() { Self::Text } else { Self::Json };
        asked.unwrap_or_else(by_terminal)
    }
}

/// The layout `--compact` asks for.
pub(crate) fn layout(compact: bool) -> Layout {
    if compact { Layout::Compact } else { Layout::Indented }
}

/// The palette for text on stdout: colours on a terminal, unless `NO_COLOR` stands in the environment.
pub(crate) fn palette() -> Palette {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if !forbidden && io::stdout().is_terminal() { Palette::Colours } else { Palette::Plain }
}

/// Whether marks and verdicts are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    /// Text alone.
    Plain,
    /// ANSI colours.
    Colours,
}

/// How one check of several ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// It was not made, or nothing depends on it.
    Neutral,
}

impl Palette {
    /// The mark as it is printed.
    pub(crate) fn mark(self, mark: Mark) -> String {
        self.paint(
            mark,
            match mark {
                Mark::Pass => "✓",
                Mark::Fail => "✗",
                Mark::Neutral => "–",
            },
        )
    }

    /// Text in the colour of a mark.
    pub(crate) fn paint(self, mark: Mark, text: &str) -> String {
        let colour = match mark {
            Mark::Pass => "32",
            Mark::Fail => "31",
            Mark::Neutral => "2",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Colours => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
        }
    }
}

/// Writes text to stdout and makes sure it left the process.
///
/// # Errors
///
/// `unwritable` when not all of it could be written.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::stdout(&error))
}

/// Writes a value to stdout as JSON and a line break.
///
/// # Errors
///
/// `unwritable` when not all of it could be written.
pub(crate) fn print_json(value: &Value<'_>, layout: Layout) -> Result<(), Failure> {
    let mut text = json::to_text(value, layout);
    text.push('\n');
    print(&text)
}

/// Writes a line to stderr. Nobody can be told when that fails, so it is not an error.
pub(crate) fn advise(line: &dyn fmt::Display) {
    let _ = writeln!(io::stderr(), "receipt-verify: {line}");
}
