//! The `kaval-mcp` binary.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let known = matches!(arguments.next().as_deref(), Some("--version" | "-V"));
    let written = if known && arguments.next().is_none() {
        writeln!(std::io::stdout(), "kaval-mcp {}", env!("CARGO_PKG_VERSION"))
    } else {
        return usage();
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn usage() -> ExitCode {
    // A closed stderr leaves nobody to tell; the exit code still says it.
    let _ = writeln!(std::io::stderr(), "usage: kaval-mcp --version");
    ExitCode::from(2)
}
