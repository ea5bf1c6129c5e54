//! The `kaval-mcp` binary: reads flags and environment, then serves.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::{Parser as _, ValueEnum as _};
use kaval_mcp::cli::{Cli, Command, Settings, Tools};
use kaval_mcp::toolset::Toolset;
use kaval_mcp::{Client, Server, Standard, docs, log, toolsets};
use tokio_util::sync::CancellationToken;

/// A configuration or start-up failure.
const FAILURE: u8 = 1;

/// A usage error.
const USAGE: u8 = 2;

/// Said on a terminal, where nobody sends JSON.
const HINT: &str = "\
kaval-mcp is an MCP server: it waits on standard input for an MCP client, such as the agent you use, to speak JSON to it.
Put it into that client's configuration instead of running it here. To look around:
  kaval-mcp --help      variables, flags and examples
  kaval-mcp tools       the tools it offers
Press Ctrl-D or Ctrl-C to leave.";

/// What ends the process early: the exit code and what to say on standard error.
struct Exit(u8, String);

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no error; a closed one leaves nobody to tell.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Exit(code, message)) => {
            let _ = writeln!(io::stderr(), "kaval-mcp: {message}");
            ExitCode::from(code)
        }
    }
}

fn run(cli: &Cli) -> Result<(), Exit> {
    let settings = &cli.settings;
    let toolsets = read_toolsets(settings)?;
    if let Some(Command::Tools(tools)) = &cli.command {
        return print_tools(tools, toolsets);
    }
    let format = match (settings.log_format, variable("KAVAL_LOG_FORMAT")) {
        (Some(format), _) => format,
        (None, Some(text)) => log::Format::from_str(&text, true)
            .map_err(|_| Exit(FAILURE, "KAVAL_LOG_FORMAT is neither text nor json".to_owned()))?,
        (None, None) => log::Format::default(),
    };
    let filter = settings.log.clone().or_else(|| variable("KAVAL_LOG"));
    let _log = log::init(filter.as_deref(), format).map_err(|error| Exit(FAILURE, error.to_string()))?;
    let client = configure(settings)?;
    if io::stdin().is_terminal() {
        let _ = writeln!(io::stderr(), "{HINT}");
    }
    serve(Server::new(client, toolsets))
}

fn configure(settings: &Settings) -> Result<Client, Exit> {
    let (client, warnings) = Client::from_env(&lookup).map_err(|error| Exit(FAILURE, error.to_string()))?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let required = settings.require_key
        || match variable("KAVAL_REQUIRE_KEY").as_deref() {
            None | Some("0" | "false") => false,
            Some("1" | "true") => true,
            Some(_) => return Err(Exit(FAILURE, "KAVAL_REQUIRE_KEY is neither 1 nor 0".to_owned())),
        };
    if client.config().api_key.is_none() {
        if required {
            let message = "no API key, and one is required: get one at https://usekaval.com and give it in KAVAL_API_KEY \
                           or KAVAL_API_KEY_FILE";
            return Err(Exit(FAILURE, message.to_owned()));
        }
        tracing::warn!(
            "no API key is configured: the tools are listed, and every call fails with missing_api_key"
        );
    }
    Ok(client)
}

fn read_toolsets(settings: &Settings) -> Result<Vec<Arc<dyn Toolset>>, Exit> {
    let (text, code, origin) = match &settings.toolsets {
        Some(text) => (text.clone(), USAGE, "--toolsets"),
        None => (variable("KAVAL_TOOLSETS").unwrap_or_default(), FAILURE, "KAVAL_TOOLSETS"),
    };
    let mut names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        names.push(toolsets::facts::NAME);
    }
    names
        .into_iter()
        .map(|name| {
            toolsets::by_name(name).ok_or_else(|| {
                let known = toolsets::NAMES.join(", ");
                Exit(code, format!("{origin}: there is no toolset `{name}`; there are: {known}"))
            })
        })
        .collect()
}

fn print_tools(tools: &Tools, toolsets: Vec<Arc<dyn Toolset>>) -> Result<(), Exit> {
    // The list depends on the deadline alone, so a missing or wrong key must not hide it.
    let deadline_only = |name: &str| lookup(name).filter(|_| name == "KAVAL_TOOL_DEADLINE_MS");
    let (client, _) = Client::from_env(&deadline_only).map_err(|error| Exit(FAILURE, error.to_string()))?;
    let server = Server::new(client, toolsets);
    let text = if tools.json {
        let tree: serde_json::Value =
            serde_json::from_slice(server.tools_json()).map_err(|error| Exit(FAILURE, error.to_string()))?;
        format!("{tree:#}\n")
    } else if tools.markdown {
        docs::tools_markdown(&server)
    } else {
        let width = server.tools().iter().map(|tool| tool.name.len()).max().unwrap_or_default();
        server.tools().iter().map(|tool| format!("{:width$}  {}\n", tool.name, tool.title)).collect()
    };
    let mut out = io::stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Exit(FAILURE, format!("standard output: {error}")))
}

fn serve(server: Server) -> Result<(), Exit> {
    remember_parent();
    // One thread: handing calls between threads costs more than it brings (see the README's speed table).
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Exit(FAILURE, format!("the runtime cannot start: {error}")))?;
    runtime.block_on(async {
        let signal =
            stop_signal().map_err(|error| Exit(FAILURE, format!("signals cannot be watched: {error}")))?;
        let Standard { input, output, restore } = kaval_mcp::standard_streams();
        tokio::select! {
            () = kaval_mcp::serve(server, input, output, parent_alive, CancellationToken::new()) => {}
            () = signal => {}
        }
        drop(restore);
        Ok(())
    })?;
    // A pending read of a terminal cannot be interrupted and must not hold the exit.
    runtime.shutdown_background();
    Ok(())
}

#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    })
}

/// Who started us; 0 where nobody can tell.
static PARENT: AtomicU32 = AtomicU32::new(0);

fn remember_parent() {
    PARENT.store(parent(), Ordering::Relaxed);
}

fn parent_alive() -> bool {
    PARENT.load(Ordering::Relaxed) == parent()
}

#[cfg(unix)]
fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent() -> u32 {
    0
}

fn lookup(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A variable of ours; blank, or an unexpanded `${...}`, counts as not set, as hosts pass optional fields so.
fn variable(name: &str) -> Option<String> {
    let text = lookup(name)?.to_string_lossy().trim().to_owned();
    (!text.is_empty() && !text.starts_with("${")).then_some(text)
}
