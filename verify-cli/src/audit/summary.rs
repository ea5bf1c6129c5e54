//! What a whole run comes to.

use super::escape::write_json;
use super::ids::{Completeness, Listed};
use super::tree::Passed;
use kaval_receipt::Outcome;
use kaval_receipt::auditor::Counts;
use kaval_receipt::json::JsonString;
use std::io::Write as _;

/// Exit code of a run in which an expected id is missing or another one turned up, when no receipt is worse: the
/// receipts are authentic, but they are not the required ones.
const INCOMPLETE: u8 = 5;

/// What a whole run comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// Receipts per outcome.
    pub(super) counts: Counts,
    /// What was passed by in folders.
    pub(super) passed: Passed,
    /// How the ids compare with the expected ones, when there were any.
    pub(super) completeness: Option<Completeness>,
    /// When freshness was judged, as it was spelled.
    pub(super) at: String,
    /// Which keys were used, in words.
    pub(super) keys: String,
    /// What the run did not check, in words.
    pub(super) not_checked: Vec<&'static str>,
    /// Whether a report for people says only what needs attention.
    pub(super) is_brief: bool,
}

impl Summary {
    /// The exit code: the worst there is in the order 2, 1, 3, 4, 5, 0; 2 when there was no receipt.
    pub(super) fn exit_code(&self) -> u8 {
        match &self.completeness {
            Some(completeness) if !completeness.is_complete() => {
                Outcome::worse_exit_code(self.counts.exit_code(), INCOMPLETE)
            }
            _ => self.counts.exit_code(),
        }
    }

    /// The outcomes that occurred, with their counts, worst first.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = (Outcome, u64)> {
        Outcome::ALL
            .into_iter()
            .map(|outcome| (outcome, self.counts.of(outcome)))
            .filter(|&(_, count)| count > 0)
    }

    /// The run in one line.
    pub(super) fn headline(&self) -> String {
        let (total, accepted) = (grouped(self.counts.total()), grouped(self.counts.of(Outcome::Accepted)));
        let attention = grouped(self.attention());
        let ids = match &self.completeness {
            Some(completeness) if !completeness.is_complete() => {
                let (missing, unexpected) = (completeness.missing.count, completeness.unexpected.count);
                format!(", {} ids missing, {} unexpected", grouped(missing), grouped(unexpected))
            }
            _ => String::new(),
        };
        format!(
            "{total} audited: {accepted} accepted, {attention} need attention{ids}; exit code {}",
            self.exit_code()
        )
    }

    /// Number of receipts that were not accepted.
    pub(super) fn attention(&self) -> u64 {
        self.counts.total() - self.counts.of(Outcome::Accepted)
    }

    /// Appends the last line of a JSON report.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        let (total, accepted) = (self.counts.total(), self.counts.of(Outcome::Accepted));
        // Writing to a vector does not fail.
        let _ = write!(out, "{{\"summary\":{{\"total\":{total},\"accepted\":{accepted},\"outcomes\":{{");
        for (index, (outcome, count)) in self.outcomes().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(out, "{comma}\"{}\":{count}", outcome.code());
        }
        let _ = write!(out, "}},\"exit_code\":{}", self.exit_code());
        for (name, count) in self.passed_by() {
            let _ = write!(out, ",\"{name}\":{count}");
        }
        if let Some(completeness) = &self.completeness {
            let _ = write!(out, ",\"expected_ids\":{}", completeness.expected);
            for (kind, listed) in completeness.kinds() {
                let _ = write!(out, ",\"{kind}_ids\":{}", listed.count);
            }
            let _ = write!(out, ",\"without_id\":{}", completeness.without_id);
            for (kind, listed) in completeness.kinds() {
                let _ = write!(out, ",\"{kind}_id_list\":[");
                for (index, id) in listed.first.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_json(out, id);
                }
                out.push(b']');
            }
        }
        out.extend_from_slice(b"}}\n");
    }

    /// What folders held besides receipts, where there was any.
    pub(super) fn passed_by(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [("ignored_files", self.passed.ignored_files), ("links_not_entered", self.passed.links_not_entered)]
            .into_iter()
            .filter(|&(_, count)| count > 0)
    }
}

impl Completeness {
    /// Missing, unexpected and duplicate ids by name.
    pub(super) fn kinds(&self) -> [(&'static str, &Listed); 3] {
        [("missing", &self.missing), ("unexpected", &self.unexpected), ("duplicate", &self.duplicate)]
    }
}

impl Listed {
    /// The first ids and the number of those left out.
    pub(super) fn shown(&self, most: usize) -> (&[JsonString<'static>], u64) {
        let first = self.first.get(..most).unwrap_or(&self.first);
        (first, self.count - u64::try_from(first.len()).unwrap_or(self.count))
    }
}

/// A number with its thousands set apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(outcomes: &[Outcome], completeness: Option<Completeness>) -> Summary {
        let mut summary = Summary { completeness, ..Summary::default() };
        for &outcome in outcomes {
            summary.counts.add(outcome);
        }
        summary
    }

    #[test]
    fn missing_ids_count_as_code_5() {
        let missing = |count| {
            let missing = Listed { count, first: Vec::new() };
            Some(Completeness { missing, ..Completeness::default() })
        };
        for (outcomes, completeness, code) in [
            (&[][..], None, 2),
            (&[Outcome::Accepted], None, 0),
            (&[Outcome::Accepted], missing(0), 0),
            (&[Outcome::Accepted], missing(1), 5),
            (&[Outcome::NotFresh], missing(1), 4),
            (&[Outcome::SignatureInvalid, Outcome::KeyUnknown], missing(1), 1),
        ] {
            assert_eq!(summary(outcomes, completeness).exit_code(), code);
        }
    }

    #[test]
    fn the_json_line_has_its_members_in_order() {
        let mut out = Vec::new();
        summary(&[Outcome::Accepted, Outcome::Malformed, Outcome::Accepted], None).write_json(&mut out);
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "{\"summary\":{\"total\":3,\"accepted\":2,\"outcomes\":{\"malformed\":1,\"accepted\":2},\"exit_code\":2}}\n"
        );
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
