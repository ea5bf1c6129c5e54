//! The command line.

use clap::{Args, Parser, Subcommand};

use crate::log::Format;

const AFTER_HELP: &str = "\
Environment (flags win over it):
  KAVAL_API_KEY           API key, sent as a bearer token; without one the tools are listed and every call fails
  KAVAL_API_KEY_FILE      file that holds the key instead
  KAVAL_REQUIRE_KEY       1: exit 1 at start when there is no key
  KAVAL_BASE_URL          where the API is; default https://api.usekaval.com; a path prefix is allowed
  KAVAL_ALLOW_HTTP        1: allow http to other hosts than this one
  KAVAL_TOOL_DEADLINE_MS  deadline of one call, 1000 to 3600000, default 55000; the research budget of a check is
                          10000 less, at most 100000
  KAVAL_TOOLSETS          comma list of toolsets; default facts
  KAVAL_LOG               level or filter: error, warn (default), info, debug, trace, off
  KAVAL_LOG_FORMAT        text (default) or json; logs go to standard error
  SSL_CERT_FILE           PEM file of certificates trusted beside the platform's
  HTTPS_PROXY, ALL_PROXY, NO_PROXY  as usual, in either case; NO_PROXY takes hosts, suffixes and CIDR

Examples:
  kaval-mcp                       serve MCP on standard input and output; this is what an MCP client starts
  kaval-mcp tools                 list the tools
  kaval-mcp tools --json          the same as a client gets it
  KAVAL_API_KEY_FILE=~/.kaval-key kaval-mcp --require-key

Exit codes: 0 input ended or told to stop; 1 cannot start as configured; 2 wrong command line.";

/// MCP server that an agent calls before it acts: ALLOW, REVIEW or BLOCK, from the Kaval verification API.
///
/// Without a subcommand it serves MCP on standard input and output.
#[derive(Debug, Parser)]
#[command(name = "kaval-mcp", version, after_help = AFTER_HELP, max_term_width = 120)]
pub struct Cli {
    /// Settings of every subcommand.
    #[command(flatten)]
    pub settings: Settings,
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Settings that flags can give.
#[derive(Args, Debug)]
pub struct Settings {
    /// Exit 1 at start when no API key is configured.
    #[arg(long, global = true)]
    pub require_key: bool,
    /// Comma list of toolsets to offer.
    #[arg(long, global = true, value_name = "NAMES")]
    pub toolsets: Option<String>,
    /// Level or filter of the log on standard error.
    #[arg(long, global = true, value_name = "FILTER")]
    pub log: Option<String>,
    /// Form of the log.
    #[arg(long, global = true, value_enum)]
    pub log_format: Option<Format>,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the tools this server offers.
    Tools(Tools),
}

/// `tools`.
#[derive(Args, Debug)]
pub struct Tools {
    /// Print the answer to `tools/list` as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print the page of the documentation.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}
