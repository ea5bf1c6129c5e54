//! The contract of the reference command `kaval-receipt-verify`: JSON alone on stdout, nothing on stderr,
//! exit 0, 1 or 2, and no member that the reference does not print.
//!
//! Source: receipt verification, section 11.

use crate::args::KeySourceArgs;
use crate::document::Document;
use crate::exit::{ExitStatus, Failure};
use crate::gates;
use crate::input::{MAX_RECEIPT_BYTES, Source};
use crate::output::{self, Layout};
use crate::verify;
use kaval_receipt::Outcome;
use kaval_receipt::assess;
use kaval_receipt::freshness::FreshnessStatus;
use kaval_receipt::json::{Object, Value};
use kaval_receipt::result::Texts;
use kaval_receipt::verify::{Options, verify_receipt};
use kaval_receipt::wrapper::Wrappers;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const NAME: &str = "kaval-receipt-verify";

const USAGE: &str = "\
usage: kaval-receipt-verify [verify] RECEIPT (--keyset PATH | --key-url URL) [--at RFC3339]
       [--require-fresh] [--derive-verdict] [--allow-http-loopback] [--compact]

RECEIPT is a file, or - for stdin. The result is JSON on stdout.
Exit codes: 0 accepted, 1 not accepted, 2 could not check.
";

/// Whether the process was started under the reference's name.
pub(crate) fn is_called_so(program: Option<&OsString>) -> bool {
    let name = program.and_then(|program| Path::new(program).file_name()).and_then(OsStr::to_str);
    name.is_some_and(|name| name == NAME || name.strip_suffix(".exe") == Some(NAME))
}

/// Runs the command on its arguments, the program's name left out.
pub(crate) fn run(arguments: &[OsString]) -> ExitStatus {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return printed(output::print(USAGE), ExitStatus::Accepted);
    }
    let compact = arguments.iter().any(|argument| argument == "--compact");
    let layout = output::layout(compact);
    let ended = Arguments::read(arguments).and_then(|arguments| arguments.verify(layout));
    ended.unwrap_or_else(|failure| {
        printed(output::print_json(&failure_object(&failure.message), layout), ExitStatus::Unchecked)
    })
}

/// The status, unless its output got lost. stderr stays empty in any case.
fn printed(written: Result<(), Failure>, status: ExitStatus) -> ExitStatus {
    if written.is_ok() { status } else { ExitStatus::Unchecked }
}

fn failure_object(message: &str) -> Value<'_> {
    let mut error = Object::new();
    error.insert("code", "verification_failed");
    error.insert("message", message);
    let mut root = Object::new();
    root.insert("contract_version", "1");
    root.insert("accepted", false);
    root.insert("error", error);
    root.into()
}

struct Arguments {
    receipt: PathBuf,
    keys: KeySourceArgs,
    at: Option<String>,
    require_fresh: bool,
    derive_verdict: bool,
}

impl Arguments {
    fn read(arguments: &[OsString]) -> Result<Self, Failure> {
        let mut rest = arguments.iter().peekable();
        rest.next_if(|first| *first == "verify");
        let receipt = rest.next().filter(|path| is_value(path));
        let receipt = receipt.ok_or_else(|| misused("the path of a receipt is missing"))?;
        let mut read = Self {
            receipt: receipt.into(),
            keys: KeySourceArgs { keyset: None, key_url: None, allow_http_loopback: false, offline: false },
            at: None,
            require_fresh: false,
            derive_verdict: false,
        };
        while let Some(option) = rest.next() {
            let mut value = || {
                let value = rest.next().filter(|value| is_value(value));
                value.ok_or_else(|| misused(&format!("{} needs a value", option.to_string_lossy())))
            };
            match option.to_str() {
                Some("--keyset") => read.keys.keyset = Some(value()?.into()),
                Some("--key-url") => read.keys.key_url = Some(value()?.to_string_lossy().into_owned()),
                Some("--at") => read.at = Some(value()?.to_string_lossy().into_owned()),
                Some("--require-fresh") => read.require_fresh = true,
                Some("--derive-verdict") => read.derive_verdict = true,
                Some("--allow-http-loopback") => read.keys.allow_http_loopback = true,
                Some("--compact") => {}
                _ => return Err(misused(&format!("the option {} is not known", option.to_string_lossy()))),
            }
        }
        if read.keys.keyset.is_some() == read.keys.key_url.is_some() {
            return Err(misused("give one of --keyset and --key-url"));
        }
        Ok(read)
    }

    fn verify(&self, layout: Layout) -> Result<ExitStatus, Failure> {
        let at = gates::evaluation_time(self.at.as_deref())?;
        let document = Document::open(Source::from_argument(&self.receipt), MAX_RECEIPT_BYTES)?;
        let document = document.parse(Outcome::Malformed)?;
        let receipt = assess::signed_receipt(&document, Wrappers::Compatible).map_err(verify::stopped)?;
        let keyset = self.keys.keyset(&verify::key_id(receipt)?)?;
        let result = verify_receipt(receipt, &keyset, &Options { at, derive_verdict: self.derive_verdict });
        output::print_json(&result.to_value(Texts::Reference), layout)?;
        let is_stale = self.require_fresh && result.freshness.freshness.status != FreshnessStatus::Fresh;
        Ok(if result.accepted && !is_stale { ExitStatus::Accepted } else { ExitStatus::Refuted })
    }
}

fn is_value(argument: &OsStr) -> bool {
    !argument.is_empty() && !argument.as_encoded_bytes().starts_with(b"--")
}

fn misused(message: &str) -> Failure {
    Failure::usage(format!("{message}\n\n{USAGE}"))
}
