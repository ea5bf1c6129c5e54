//! `supported`: what this build knows.

use crate::args::SupportedArgs;
use crate::exit::{ExitStatus, Failure};
use crate::output::{self, Format};
use kaval_receipt::canonical;
use kaval_receipt::decision::RULES;
use kaval_receipt::json::{Object, Value};
use std::fmt::Write as _;

/// The receipt version of rules without an ALLOW gate.
const FIRST_RECEIPT_VERSION: &str = "check-receipt/1.0.0";

/// Prints the versions, forms and algorithms.
///
/// # Errors
///
/// `unwritable`.
pub(crate) fn run(args: &SupportedArgs) -> Result<ExitStatus, Failure> {
    let gated = RULES.iter().filter_map(|rule| rule.gated_receipt_version);
    let lists: [(&str, Vec<&str>); 6] = [
        ("receipt_versions", [FIRST_RECEIPT_VERSION].into_iter().chain(gated).collect()),
        ("decision_rule_versions", RULES.iter().map(|rule| rule.version).collect()),
        ("canonical_forms", vec![canonical::ALGORITHM]),
        ("signature_algorithms", vec!["Ed25519"]),
        ("key_document_versions", vec!["1"]),
        ("webhook_signature_versions", vec!["v1"]),
    ];
    let discovery = cfg!(feature = "discovery");
    let (format, layout) = args.rendering.resolved();
    if format == Format::Json {
        let mut root = Object::new();
        root.insert("contract_version", "1");
        root.insert("version", env!("CARGO_PKG_VERSION"));
        for (name, words) in lists {
            root.insert(name, words.into_iter().map(Value::from).collect::<Vec<_>>());
        }
        root.insert("discovery", discovery);
        output::print_json(&root.into(), layout)?;
    } else {
        let mut text = format!("receipt-verify {}\n\n", env!("CARGO_PKG_VERSION"));
        for (name, words) in lists {
            let _ = writeln!(text, "{:<28}{}", name.replace('_', " "), words.join(", "));
        }
        let _ = writeln!(text, "{:<28}{}", "key discovery", if discovery { "built in" } else { "left out" });
        output::print(&text)?;
    }
    Ok(ExitStatus::Accepted)
}
