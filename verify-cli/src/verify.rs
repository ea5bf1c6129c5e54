//! `verify`: one receipt against one keyset.

use crate::args::VerifyArgs;
use crate::document::Document;
use crate::escape::Escaped;
use crate::exit::{ExitStatus, Failure};
use crate::input::{MAX_RECEIPT_BYTES, Source};
use crate::output::{self, Format, Layout};
use crate::report;
use kaval_receipt::assess::{self, Assessment, Gates, Stop};
use kaval_receipt::json::{JsonString, Object, Value};
use kaval_receipt::result::{Texts, VerificationResult};
use kaval_receipt::wrapper::Wrappers;
use kaval_receipt::{EvaluationTime, Outcome};

/// Checks one receipt and prints the result.
///
/// # Errors
///
/// A [`Failure`] where checking stops without a result: see receipt verification, section 11.
pub(crate) fn run(args: &VerifyArgs) -> Result<ExitStatus, Failure> {
    args.keys.check()?;
    let at = args.gates.evaluation_time()?;
    let gates = args.gates.gates()?;
    let document = Document::open(Source::from_argument(&args.receipt), MAX_RECEIPT_BYTES)?;
    let receipt = document.parse(Outcome::Malformed)?;
    let signed = assess::signed_receipt(&receipt, Wrappers::Own).map_err(stopped)?;
    let keyset = args.keys.keyset(&key_id(signed)?)?;
    let assessment = assess::assess_document(&receipt, &keyset, &at, &gates, Wrappers::Own, &mut Vec::new());
    let (format, layout) = args.rendering.resolved();
    print(&assessment, signed, &at, &gates, format, layout)?;
    Ok(assessment.outcome.into())
}

/// The failure a [`Stop`] is.
pub(crate) fn stopped(stop: Stop) -> Failure {
    Failure::outcome(Outcome::Malformed, stop.to_string())
}

/// The key id of a receipt that [`assess::signed_receipt`] found one in.
pub(crate) fn key_id<'r>(receipt: &'r Value<'_>) -> Result<JsonString<'r>, Failure> {
    let key_id = receipt.pointer("/signature/key_id").and_then(Value::as_string);
    key_id.map(JsonString::borrowed).ok_or_else(|| stopped(Stop::NoKeyId))
}

fn print(
    assessment: &Assessment,
    receipt: &Value<'_>,
    at: &EvaluationTime,
    gates: &Gates,
    format: Format,
    layout: Layout,
) -> Result<(), Failure> {
    let result = assessment.result.as_ref().map_err(|stop| stopped(stop.clone()))?;
    match format {
        Format::Text => {
            output::print(&report::render(assessment, result, receipt, at, gates, output::palette()))
        }
        Format::Json => {
            output::print_json(&with_outcome(result, assessment.outcome), layout)?;
            // The result has no place for what the gates and a withdrawn key's times amount to.
            if let Some(detail) = &assessment.detail {
                output::advise(&format_args!("{}: {}", assessment.outcome.code(), Escaped::new(detail)));
            }
            Ok(())
        }
    }
}

/// The result object with `code` and `exit_code` after `accepted`.
fn with_outcome(result: &VerificationResult, outcome: Outcome) -> Value<'_> {
    let value = result.to_value(Texts::WithCodes);
    let mut extended = Object::new();
    for (name, member) in value.as_object().into_iter().flat_map(Object::iter) {
        extended.insert(name.clone(), member.clone());
        if *name == *"accepted" {
            extended.insert("code", outcome.code());
            extended.insert("exit_code", f64::from(outcome.exit_code()));
        }
    }
    extended.into()
}
