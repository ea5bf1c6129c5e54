//! `explain`: what a receipt decided, fact by fact, in plain words. Looks at no key and no signature.

use crate::args::ExplainArgs;
use crate::document::Document;
use crate::escape::Escaped;
use crate::exit::{ExitStatus, Failure};
use crate::input::{MAX_RECEIPT_BYTES, Source};
use crate::output::{self, Format};
use kaval_receipt::Outcome;
use kaval_receipt::decision::{
    self, DEFAULT_VERSION, DecisionReport, Derived, FactState, Materiality, ReasonCode, Verdict,
};
use kaval_receipt::json::{JsonString, Object, Value};
use kaval_receipt::wrapper::{self, Wrappers};
use std::fmt::Write as _;

/// Explains one receipt. Ends with 1 when the verdict does not follow from the facts and with 2 when that
/// cannot be told; a receipt that names no rule is explained as far as it goes.
///
/// # Errors
///
/// `unreadable` or `malformed` when there is no receipt to explain.
pub(crate) fn run(args: &ExplainArgs) -> Result<ExitStatus, Failure> {
    let document = Document::open(Source::from_argument(&args.receipt), MAX_RECEIPT_BYTES)?;
    let document = document.parse(Outcome::Malformed)?;
    let receipt = wrapper::extract_receipt(&document, Wrappers::Own)
        .map_err(|error| Failure::outcome(Outcome::Malformed, error.to_string()))?;
    let report = decision::report(receipt);
    let facts = explained_facts(receipt, &report);
    let outcome = outcome(receipt, &report);
    match args.format {
        Format::Text => output::print(&to_text(receipt, &report, &facts))?,
        Format::Json => {
            output::print_json(&to_value(receipt, &report, &facts, outcome), output::layout(args.compact))?;
        }
    }
    Ok(outcome.map_or(ExitStatus::Accepted, ExitStatus::from))
}

/// The outcome derivation alone leads to; none when the verdict is confirmed or none is stated under a rule.
fn outcome(receipt: &Value<'_>, report: &DecisionReport) -> Option<Outcome> {
    let fault = report.fault.as_ref()?;
    let names_rule = receipt.get("decision_rule_version").is_some();
    match (fault.is_contradiction(), names_rule) {
        (true, _) => Some(Outcome::VerdictMismatch),
        (false, true) => Some(Outcome::NotDerivable),
        (false, false) => None,
    }
}

/// A fact and what it would decide if it were the only one.
struct ExplainedFact<'r, 'a> {
    fact: &'r Value<'a>,
    alone: Option<Derived>,
}

fn explained_facts<'r, 'a>(receipt: &'r Value<'a>, report: &DecisionReport) -> Vec<ExplainedFact<'r, 'a>> {
    let facts = receipt.get("facts").and_then(Value::as_array).unwrap_or_default();
    // A rule with a gate judges facts as the default table does, and the gate is told apart.
    let version = report.receipt_rule_version.as_ref().and_then(JsonString::as_str).and_then(decision::rule);
    let version = version.filter(|rule| rule.gated_receipt_version.is_none());
    let version = version.map_or(DEFAULT_VERSION, |rule| rule.version);
    let alone = |fact: &Value<'a>| {
        let mut single = Object::new();
        single.insert("decision_rule_version", version);
        single.insert("compilation_uncertain", false);
        single.insert("facts", vec![fact.clone()]);
        decision::derive(&single.into()).ok()
    };
    facts.iter().map(|fact| ExplainedFact { fact, alone: alone(fact) }).collect()
}

fn to_value<'r>(
    receipt: &'r Value<'_>,
    report: &'r DecisionReport,
    facts: &[ExplainedFact<'r, '_>],
    outcome: Option<Outcome>,
) -> Value<'r> {
    let mut root = Object::new();
    root.insert("contract_version", "1");
    root.insert("signature_checked", false);
    for name in ["id", "proof_id", "checked_at", "decision", "decision_rule_version"] {
        if let Some(text) = receipt.get(name).and_then(Value::as_string) {
            root.insert(name, Value::String(text.borrowed()));
        }
    }
    root.insert("matches", report.matches());
    if let Some(derived) = &report.derived {
        let mut member = Object::new();
        member.insert("verdict", derived.decision.verdict.as_str());
        member.insert("reason_codes", codes(&derived.decision.reason_codes));
        root.insert("derived", member);
    }
    if let Some(outcome) = outcome {
        root.insert("code", outcome.code());
    }
    if let Some(fault) = &report.fault {
        root.insert("detail", Value::String(fault.to_string().into()));
    }
    let facts = facts.iter().map(|fact| {
        let mut member = Object::new();
        for name in ["fingerprint", "text", "materiality", "state", "method"] {
            if let Some(text) = fact.fact.get(name).and_then(Value::as_string) {
                member.insert(name, Value::String(text.borrowed()));
            }
        }
        if let Some(alone) = &fact.alone {
            member.insert("verdict_alone", alone.decision.verdict.as_str());
            member.insert("reason_codes_alone", codes(&alone.decision.reason_codes));
        }
        member.insert("explanation", Value::String(in_words(fact).into()));
        Value::from(member)
    });
    let facts: Vec<_> = facts.collect();
    root.insert("facts", facts);
    root.into()
}

fn codes(codes: &[ReasonCode]) -> Value<'static> {
    Value::Array(codes.iter().map(|code| Value::from(code.as_str())).collect())
}

fn to_text(receipt: &Value<'_>, report: &DecisionReport, facts: &[ExplainedFact<'_, '_>]) -> String {
    let mut text = String::new();
    let stated = receipt.get("decision").and_then(Value::as_string);
    let stated_meaning = stated.and_then(JsonString::as_str).and_then(Verdict::parse).map(meaning);
    match (stated, stated_meaning) {
        (Some(stated), Some(meaning)) => {
            let _ = writeln!(text, "{}: {meaning}.", shown(stated));
        }
        (Some(stated), None) => {
            let _ = writeln!(text, "{}: not a published decision.", shown(stated));
        }
        (None, _) => text.push_str("The receipt states no decision.\n"),
    }
    for (name, words) in [("checked_at", "Checked at"), ("decision_rule_version", "Decided under")] {
        if let Some(value) = receipt.get(name).and_then(Value::as_string) {
            let _ = writeln!(text, "{words} {}.", shown(value));
        }
    }
    for code in report.stated.iter().flat_map(|stated| stated.reason_codes.iter().flatten()) {
        let words = code.as_str().and_then(ReasonCode::parse).map_or("not a published reason", reason);
        let _ = writeln!(text, "Reason {}: {words}.", shown(code));
    }
    if receipt.get("compilation_uncertain").and_then(Value::as_bool) == Some(true) {
        text.push_str("It is not certain that these facts are all the action rests on.\n");
    }
    let _ = writeln!(text, "\nFacts: {}", facts.len());
    for (number, fact) in (1..).zip(facts) {
        let _ = writeln!(text, "{number:>3}. {}", fact_name(fact.fact));
        let _ = writeln!(text, "     {}", Escaped::new(&in_words(fact)));
        if let Some(alone) = &fact.alone {
            let verdict = alone.decision.verdict;
            let _ = writeln!(text, "     On its own it leads to {}: {}.", verdict.as_str(), meaning(verdict));
        }
    }
    text.push('\n');
    if let Some(gated) = report.derived.as_ref().and_then(|derived| derived.gate.as_ref()) {
        let _ = writeln!(
            text,
            "The facts alone lead to {}; the ALLOW gate is {}{}.",
            gated.candidate.verdict.as_str(),
            gated.status.as_str().replace('_', " "),
            gated.reason_codes.iter().map(|code| format!("; {}", reason(*code))).collect::<String>()
        );
    }
    match (&report.fault, &report.derived) {
        (None, Some(derived)) => {
            let _ =
                writeln!(text, "The verdict {} follows from the facts.", derived.decision.verdict.as_str());
        }
        (Some(fault), _) => {
            let _ = writeln!(text, "The verdict is not confirmed: {}.", Escaped::new(&fault.to_string()));
        }
        (None, None) => {}
    }
    text.push_str("The signature was not checked: use `receipt-verify verify` for that.\n");
    text
}

fn fact_name(fact: &Value<'_>) -> String {
    let name = ["text", "fingerprint"].into_iter().find_map(|name| fact.get(name)?.as_string());
    name.map_or_else(|| "(a fact without text)".to_owned(), shown)
}

fn shown(text: &JsonString<'_>) -> String {
    Escaped::new(&text.to_display_string()).to_string()
}

/// State, weight and basis of a fact in a sentence. Holds text of the receipt, so it is escaped to be shown.
fn in_words(fact: &ExplainedFact<'_, '_>) -> String {
    let word = |name| fact.fact.get(name).and_then(Value::as_string).map(JsonString::to_display_string);
    let flag = |name| fact.fact.get(name).and_then(Value::as_bool) == Some(true);
    if fact.alone.is_none() {
        return "It lacks something the decision tables need, so it cannot be judged.".to_owned();
    }
    let state = match word("state").as_deref().and_then(FactState::parse) {
        Some(FactState::Holds) => "It still holds",
        Some(FactState::Changed) => "It no longer holds",
        Some(FactState::Unknown) | None => "It could not be established",
    };
    let weight = match word("materiality").as_deref().and_then(Materiality::parse) {
        Some(Materiality::Low) => "little depends on it",
        Some(Materiality::Medium) => "some of the action depends on it",
        Some(Materiality::High) => "much of the action depends on it",
        Some(Materiality::Critical) | None => "the action depends on it entirely",
    };
    let mut words = format!("{state}; {weight}");
    match word("method").as_deref() {
        Some("state") => words.push_str("; known from watched sources"),
        Some("live") => words.push_str("; researched during the check"),
        Some("timeout") => words.push_str("; there was no time left to research it"),
        _ => {}
    }
    if flag("stale_pending") {
        words.push_str("; its source changed and waits for review");
    }
    if flag("novel") {
        words.push_str("; it is new");
    }
    if let Some(failure) = word("freshness_failure") {
        let _ = write!(words, "; its basis is not fresh ({})", failure.replace('_', " "));
    }
    let basis = fact.fact.get("basis").and_then(Value::as_array).unwrap_or_default();
    let is_contesting = |basis: &&Value<'_>| {
        basis.get("role").and_then(Value::as_string).is_some_and(|role| *role == *"contesting")
    };
    match (basis.len(), basis.iter().filter(is_contesting).count()) {
        (0, _) => words.push_str("; no source is named"),
        (1, 0) => words.push_str("; one source"),
        (sources, 0) => {
            let _ = write!(words, "; {sources} sources");
        }
        (sources, contesting) => {
            let _ = write!(words, "; {sources} sources, {contesting} of them contesting it");
        }
    }
    words.push('.');
    words
}

fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "the agent may act",
        Verdict::Review => "a person must look before the agent acts",
        Verdict::Block => "the agent must not act",
    }
}

fn reason(code: ReasonCode) -> &'static str {
    match code {
        ReasonCode::AllFactsHold => "every fact holds",
        ReasonCode::FactChanged => "a fact changed",
        ReasonCode::FactExpired => "a fact ran out",
        ReasonCode::FactUnknown => "a fact could not be established",
        ReasonCode::SourceUpdatedPendingReview => "a source changed and its facts wait for review",
        ReasonCode::SourceUnreachable => "a source could not be reached",
        ReasonCode::NewFactUnverified => "a fact is new and not verified yet",
        ReasonCode::CompilationUncertain => "it is not certain that the facts are complete",
        ReasonCode::AllowActionUnclassified => "the action belongs to no class",
        ReasonCode::AllowPolicyUnbound => "no current policy covers this class of action",
        ReasonCode::AllowCalibrationUnbound => "no calibration belongs to the policy",
        ReasonCode::AllowCalibrationInsufficient => "the calibration does not meet the policy",
        ReasonCode::AllowCalibrationExpired => "the calibration has run out",
        ReasonCode::AllowGateUnavailable => "the gate could not be evaluated",
    }
}
