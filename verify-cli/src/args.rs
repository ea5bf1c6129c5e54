//! The command line of `receipt-verify`.

use crate::output::Format;
use clap::{ArgAction, ArgGroup, Args, Parser, Subcommand, ValueEnum};
use kaval_receipt::decision::Verdict;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Check signed verdict receipts offline: authenticity, key trust, freshness and derivation.
#[derive(Debug, Parser)]
#[command(name = "receipt-verify", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check one receipt against a keyset
    Verify(VerifyArgs),
    /// Check every receipt of files, folders and streams
    Audit(AuditArgs),
    /// Say what a receipt decided, fact by fact, without checking its signature
    Explain(ExplainArgs),
    /// Look at key documents, or pin one
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Check the signature of a webhook delivery
    Webhook(WebhookArgs),
    /// List the receipt and rule versions, canonical forms and algorithms this build knows
    Supported(SupportedArgs),
}

/// What a receipt must satisfy beyond being authentic.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gates")]
pub(crate) struct GateArgs {
    /// Judge at this RFC 3339 instant instead of now
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Refuse (4) unless freshness is `fresh`; receipts without expiry never are
    #[arg(long)]
    pub(crate) require_fresh: bool,
    /// Refuse (4) when the signed checked_at is older: a number and s, m, h or d, such as 24h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) max_age: Option<Duration>,
    /// Insist that the verdict follows from the receipt's own facts
    #[arg(long, conflicts_with = "no_derive_verdict")]
    pub(crate) derive_verdict: bool,
    /// Leave the derivation of the verdict out
    #[arg(long, conflicts_with = "require_decision")]
    pub(crate) no_derive_verdict: bool,
    /// Refuse (5) any other decision; repeat or separate by commas; insists on derivation
    #[arg(long, value_name = "DECISION", value_delimiter = ',', action = ArgAction::Append)]
    pub(crate) require_decision: Vec<DecisionArg>,
    /// Refuse (5) unless the receipt has the members of this JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) expect_action: Option<PathBuf>,
}

/// A decision that `--require-decision` lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum DecisionArg {
    /// The agent may act.
    Allow,
    /// A person must look first.
    Review,
    /// The agent must not act.
    Block,
}

impl DecisionArg {
    /// The verdict it names.
    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Review => Verdict::Review,
            Self::Block => Verdict::Block,
        }
    }
}

/// Arguments of `verify`.
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES, group = key_group("key_source", ["keyset", "key_url"]))]
pub(crate) struct VerifyArgs {
    /// The receipt, or an API answer around it; `-` reads stdin
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: PathBuf,
    /// Where the keys come from.
    #[command(flatten)]
    pub(crate) keys: KeySourceArgs,
    /// The gates.
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    /// How to print.
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) rendering: RenderingArgs,
}

/// Where the keys of `verify` come from.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct KeySourceArgs {
    /// The key document
    #[arg(long, value_name = "FILE")]
    pub(crate) keyset: Option<PathBuf>,
    /// Fetch the key document from this https URL
    #[arg(long, value_name = "URL")]
    pub(crate) key_url: Option<String>,
    /// Let --key-url be http on a loopback host
    #[arg(long)]
    pub(crate) allow_http_loopback: bool,
    /// Refuse anything that needs a network
    #[arg(long)]
    pub(crate) offline: bool,
}

/// How one result is printed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct RenderingArgs {
    /// Print for people or for programs; by default text on a terminal, else JSON
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Print JSON on one line
    #[arg(long)]
    pub(crate) compact: bool,
}

/// Arguments of `audit`.
#[derive(Args, Debug)]
#[command(after_help = AUDIT_EXAMPLES, group = key_group("audit_keys", ["keyset", "keys"]))]
pub(crate) struct AuditArgs {
    /// Folders, .json files, .jsonl or .ndjson files (each also .gz); `-` reads JSON Lines from stdin
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The key document
    #[arg(long, value_name = "FILE")]
    pub(crate) keyset: Option<PathBuf>,
    /// A folder of key documents that are searched together
    #[arg(long, value_name = "DIR")]
    pub(crate) keys: Option<PathBuf>,
    /// The gates.
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    /// Report ids that are missing or unexpected; one id a line
    #[arg(long, value_name = "FILE")]
    pub(crate) expect_ids: Option<PathBuf>,
    /// How to report; by default text on a terminal, else JSON lines
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<AuditFormat>,
    /// Write the report to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Number of threads; by default one a core
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// No progress bar, and in text only what needs attention
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// How an audit is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
    /// One row a receipt.
    Csv,
    /// One testcase a receipt.
    Junit,
    /// One self-contained page.
    Html,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The receipt, or an API answer around it; `-` reads stdin
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: PathBuf,
    /// Print for people (the default) or for programs
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
    /// Print JSON on one line
    #[arg(long)]
    pub(crate) compact: bool,
}

/// What to do with key documents.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// List the keys of a document: id, status, whether trusted and why
    Inspect(InspectArgs),
    /// Fetch a key document once and pin it in a file
    Fetch(FetchArgs),
}

/// Arguments of `keys inspect`.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// The key document
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How to print.
    #[command(flatten)]
    pub(crate) rendering: RenderingArgs,
}

/// Arguments of `keys fetch`.
#[derive(Args, Debug)]
#[command(after_help = FETCH_EXAMPLES)]
pub(crate) struct FetchArgs {
    /// Where the key document is, an https URL
    #[arg(long, value_name = "URL")]
    pub(crate) key_url: String,
    /// The key id the document must hold
    #[arg(long, value_name = "ID")]
    pub(crate) kid: String,
    /// The file to pin the document in
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Let --key-url be http on a loopback host
    #[arg(long)]
    pub(crate) allow_http_loopback: bool,
    /// How to print.
    #[command(flatten)]
    pub(crate) rendering: RenderingArgs,
}

/// Arguments of `webhook`.
#[derive(Args, Debug)]
#[command(after_help = WEBHOOK_EXAMPLES)]
pub(crate) struct WebhookArgs {
    /// The request body exactly as received; `-` reads stdin
    #[arg(value_name = "BODY")]
    pub(crate) body: PathBuf,
    /// Secrets: a JSON object from key id to secret, or lines `keyid:secret` or `keyid=secret`
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: PathBuf,
    /// Request headers: a JSON object or array, or lines `Name: value`
    #[arg(long, value_name = "FILE")]
    pub(crate) headers: PathBuf,
    /// Judge at this RFC 3339 instant instead of now
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Most seconds between the delivery's timestamp and now, or `none`
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) tolerance: String,
    /// How to print.
    #[command(flatten)]
    pub(crate) rendering: RenderingArgs,
}

/// Arguments of `supported`.
#[derive(Args, Debug)]
pub(crate) struct SupportedArgs {
    /// How to print.
    #[command(flatten)]
    pub(crate) rendering: RenderingArgs,
}

/// Exactly one of two ways to name the keys.
fn key_group(id: &'static str, arguments: [&'static str; 2]) -> ArgGroup {
    ArgGroup::new(id).required(true).args(arguments)
}

/// A number of seconds, minutes, hours or days.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let form = "give a whole number and a unit: s, m, h or d, such as 24h";
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).unwrap_or((text, ""));
    let seconds_per_unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "" => return Err(format!("the unit is missing: {form}")),
        _ => return Err(form.into()),
    };
    if number.is_empty() {
        return Err(form.into());
    }
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds_per_unit));
    seconds.map(Duration::from_secs).ok_or_else(|| "the duration is too long".into())
}

const EXAMPLES: &str = "\
Examples:
  receipt-verify verify receipt.json --keyset keys.json
  receipt-verify audit receipts/ --keyset keys.json --format html --output report.html
  receipt-verify explain receipt.json

Exit codes: 0 accepted; 1 forged or inconsistent; 2 could not check; 3 key unknown or not trusted;
4 not fresh although required; 5 authentic, but not the required verdict or action";

const VERIFY_EXAMPLES: &str = "\
Examples:
  receipt-verify verify receipt.json --keyset keys.json
  receipt-verify verify receipt.json --keyset keys.json --require-decision ALLOW --max-age 24h
  receipt-verify verify - --keyset keys.json --expect-action expected.json < answer.json

The file of --expect-action holds members the receipt must have:
  {\"action_class\": \"refund_issue\", \"workspace\": \"...\", \"/facts/0/state\": \"holds\"}";

const AUDIT_EXAMPLES: &str = "\
Examples:
  receipt-verify audit receipts/ --keyset keys.json
  receipt-verify audit 2026-*.jsonl.gz --keys keys/ --format csv --output audit.csv
  zcat archive.gz | receipt-verify audit - --keyset keys.json --require-decision ALLOW";

const FETCH_EXAMPLES: &str = "\
Example:
  receipt-verify keys fetch --key-url https://keys.example.com/keyset.json --kid key-2026 --output keys.json";

const WEBHOOK_EXAMPLES: &str = "\
Example:
  receipt-verify webhook body.bin --secret-file secrets.json --headers headers.txt

Exit codes: 0 valid; 1 rejected; 2 could not check";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_have_a_number_and_a_unit() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("15m", 900), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "h", "24", "1.5h", "-1h", "24H", "1h30m", " 1h", "1 h", "99999999999999999999s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_duration("213503982334602d").is_err());
    }
}
