//! The result of `verify` for people: the verdict first, then each check with a mark and words, and what was
//! not checked.

use crate::escape::Escaped;
use crate::output::{Mark, Palette};
use kaval_receipt::assess::{Assessment, Gates};
use kaval_receipt::decision::{DecisionReport, Verdict};
use kaval_receipt::freshness::FreshnessStatus;
use kaval_receipt::json::{JsonString, Value};
use kaval_receipt::result::{CanonicalizationReport, VerificationResult};
use kaval_receipt::{EvaluationTime, Outcome};
use std::fmt::Write as _;

/// Renders one result as text that is safe to show on a terminal.
pub(crate) fn render(
    assessment: &Assessment,
    result: &VerificationResult,
    receipt: &Value<'_>,
    at: &EvaluationTime,
    gates: &Gates,
    palette: Palette,
) -> String {
    let mut report = Report { text: String::new(), palette };
    report.verdict(assessment);
    report.identity(assessment, at);
    report.signature(result);
    report.key(result);
    report.freshness(result, assessment.outcome, gates);
    report.derivation(result);
    report.gates(receipt, assessment.outcome, gates);
    report.line(Mark::Neutral, "completeness", "not checked: a receipt cannot show that no other was issued");
    report.text
}

struct Report {
    text: String,
    palette: Palette,
}

impl Report {
    fn verdict(&mut self, assessment: &Assessment) {
        let outcome = assessment.outcome;
        if outcome == Outcome::Accepted {
            let _ = writeln!(self.text, "{}", self.palette.paint(Mark::Pass, "ACCEPTED"));
        } else {
            let refused = self.palette.paint(Mark::Fail, "NOT ACCEPTED");
            let _ = writeln!(self.text, "{refused}: {} (exit {})", outcome.code(), outcome.exit_code());
        }
        if let Some(detail) = &assessment.detail {
            let _ = writeln!(self.text, "{}", Escaped::new(detail));
        }
        self.text.push('\n');
    }

    fn identity(&mut self, assessment: &Assessment, at: &EvaluationTime) {
        let shown = |text: &Option<JsonString<'static>>| match text {
            Some(text) => escaped(text),
            None => "not stated".to_owned(),
        };
        let _ = writeln!(self.text, "  receipt       {}", shown(&assessment.receipt_id));
        let verdict = assessment.decision.as_ref().and_then(JsonString::as_str).and_then(Verdict::parse);
        // What a verdict permits is said of a receipt that stands, and of no other.
        let meaning = match (assessment.outcome, verdict) {
            (Outcome::Accepted, Some(Verdict::Allow)) => " (the agent may act)",
            (Outcome::Accepted, Some(Verdict::Review)) => " (a person must look first)",
            (Outcome::Accepted, Some(Verdict::Block)) => " (the agent must not act)",
            (_, None) => "",
            (_, Some(_)) => " (stated, and not accepted)",
        };
        let _ = writeln!(self.text, "  decision      {}{meaning}", shown(&assessment.decision));
        let _ = writeln!(self.text, "  judged at     {}\n", Escaped::new(at.as_str()));
    }

    fn signature(&mut self, result: &VerificationResult) {
        let error = result.format.error.as_ref().or(result.cryptographic.error.as_ref());
        match (error, &result.canonicalization) {
            (None, CanonicalizationReport::Valid(digest)) => {
                let words = format!("valid Ed25519 over {} bytes, {}", digest.byte_length, digest.to_text());
                self.line(Mark::Pass, "signature", &words);
            }
            (Some(error), _) | (None, CanonicalizationReport::Invalid(error)) => {
                // Without a key or a form to check by, nothing is known about the signature.
                let is_unchecked = result.format.error.is_some() || !result.key.found;
                let mark = if is_unchecked { Mark::Neutral } else { Mark::Fail };
                self.line(mark, "signature", &error.text);
            }
        }
    }

    fn key(&mut self, result: &VerificationResult) {
        let key = &result.key;
        let mark = match (&key.key_id, key.trusted) {
            (None, _) => Mark::Neutral,
            (Some(_), true) => Mark::Pass,
            (Some(_), false) => Mark::Fail,
        };
        let mut words = key.key_id.as_ref().map_or_else(String::new, |id| format!("{id}: "));
        words.push_str(&key.reason.text);
        if let Some(changed_at) = &key.status_changed_at {
            let _ = write!(words, " (since {changed_at})");
        }
        self.line(mark, "key", &words);
    }

    fn freshness(&mut self, result: &VerificationResult, outcome: Outcome, gates: &Gates) {
        let freshness = &result.freshness.freshness;
        let mark = match freshness.status {
            FreshnessStatus::Fresh => Mark::Pass,
            _ if gates.require_fresh => Mark::Fail,
            _ => Mark::Neutral,
        };
        let mut words = freshness.status.as_str().replace('_', " ");
        if let Some([issued, recheck, expires]) = &freshness.times {
            let _ = write!(words, ": issued {issued}, recheck {recheck}, expires {expires}");
        }
        if let Some(fault) = freshness.fault {
            let _ = write!(words, ": {}", fault.message());
        }
        if !gates.require_fresh {
            words.push_str("; not required");
        }
        self.line(mark, "freshness", &words);
        match gates.max_age {
            None => self.line(Mark::Neutral, "age", "not limited"),
            Some(max_age) => {
                let words = format!("at most {} s since checked_at", max_age.as_secs());
                let is_refused = outcome == Outcome::NotFresh;
                self.gate(outcome, Outcome::NotFresh, is_refused, "age", &words);
            }
        }
    }

    fn derivation(&mut self, result: &VerificationResult) {
        let Some(decision) = &result.decision else {
            self.line(Mark::Neutral, "derivation", "not checked: the verdict was not derived from the facts");
            return;
        };
        match (&decision.fault, derived_words(decision)) {
            (None, Some(words)) => self.line(Mark::Pass, "derivation", &words),
            (None, None) => self.line(Mark::Neutral, "derivation", "not checked"),
            (Some(fault), _) => self.line(Mark::Fail, "derivation", &fault.to_string()),
        }
    }

    fn gates(&mut self, receipt: &Value<'_>, outcome: Outcome, gates: &Gates) {
        match &gates.expectations {
            None => self.line(Mark::Neutral, "action", "not compared with an expected one"),
            Some(expectations) => {
                let mismatch = expectations.mismatch(receipt);
                let words = match &mismatch {
                    None => "the expected members are there".to_owned(),
                    Some(mismatch) => mismatch.to_string(),
                };
                self.gate(outcome, Outcome::ActionMismatch, mismatch.is_some(), "action", &words);
            }
        }
        if gates.require_decision.is_empty() {
            self.line(Mark::Neutral, "requirement", "none: any decision passes");
            return;
        }
        let required: Vec<&str> = gates.require_decision.iter().map(|verdict| verdict.as_str()).collect();
        let decision = receipt.get("decision").and_then(Value::as_string);
        let is_met = required.iter().any(|required| decision.is_some_and(|decision| *decision == **required));
        let words = format!("the decision must be {}", required.join(" or "));
        self.gate(outcome, Outcome::DecisionRefused, !is_met, "requirement", &words);
    }

    /// A gate counts only for a receipt that got as far as it; before that, nothing is said about it.
    fn gate(&mut self, outcome: Outcome, own: Outcome, is_refused: bool, name: &str, words: &str) {
        if outcome < own {
            self.line(Mark::Neutral, name, &format!("not reached: {words}"));
        } else {
            self.line(if is_refused { Mark::Fail } else { Mark::Pass }, name, words);
        }
    }

    fn line(&mut self, mark: Mark, name: &str, words: &str) {
        let mark = self.palette.mark(mark);
        let _ = writeln!(self.text, "{mark} {name:<13} {}", Escaped::new(words));
    }
}

fn derived_words(decision: &DecisionReport) -> Option<String> {
    let derived = decision.derived.as_ref()?;
    let codes: Vec<&str> = derived.decision.reason_codes.iter().map(|code| code.as_str()).collect();
    let verdict = derived.decision.verdict.as_str();
    let mut words =
        format!("{verdict} [{}] follows from the facts under {}", codes.join(", "), derived.rule_version);
    if let Some(gated) = &derived.gate {
        let _ = write!(
            words,
            "; the facts alone give {}, the gate is {}",
            gated.candidate.verdict.as_str(),
            gated.status.as_str().replace('_', " ")
        );
    }
    Some(words)
}

fn escaped(text: &JsonString<'_>) -> String {
    Escaped::new(&text.to_display_string()).to_string()
}
