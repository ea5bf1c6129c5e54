//! The text report: totals, and what needs attention.

use crate::audit::escape::brief;
use crate::audit::limits::MAX_LISTED_RECEIPTS;
use crate::audit::summary::{Summary, grouped};
use kaval_receipt::Outcome;
use std::io::Write as _;

/// Width of the longest bar of the chart, in characters.
const BAR_WIDTH: u64 = 30;

/// Appends the report.
pub(super) fn write(out: &mut Vec<u8>, summary: &Summary, listed: &[u8]) {
    // Writing to a vector does not fail; the results of `write!` say nothing here.
    let (total, attention) = (summary.counts.total(), summary.attention());
    let noun = |count: u64| if count == 1 { "receipt" } else { "receipts" };
    let _ = writeln!(out, "{} {} audited at {}", grouped(total), noun(total), summary.at);
    if total == 0 {
        let _ = writeln!(out, "\nThere was no receipt in the input.");
    }
    if summary.is_brief && summary.exit_code() == 0 {
        return;
    }
    let most = summary.outcomes().map(|(_, count)| count).max().unwrap_or(1);
    for (outcome, count) in summary.outcomes() {
        let mark = if outcome == Outcome::Accepted { "✓" } else { "✗" };
        let cells = usize::try_from((count * BAR_WIDTH).div_ceil(most)).unwrap_or_default();
        let _ =
            writeln!(out, "  {mark} {:<18} {:>12}  {}", outcome.code(), grouped(count), "█".repeat(cells));
    }
    if attention > 0 {
        let _ = writeln!(
            out,
            "\n{} need{} attention:\n",
            grouped(attention),
            if attention == 1 { "s" } else { "" }
        );
        out.extend_from_slice(listed);
        let left = attention.saturating_sub(u64::try_from(MAX_LISTED_RECEIPTS).unwrap_or(u64::MAX));
        if left > 0 {
            let _ =
                writeln!(out, "  … and {} more; --format json, csv or html lists them all", grouped(left));
        }
    }
    write_completeness(out, summary);
    if summary.is_brief {
        return;
    }
    let _ = writeln!(out, "  checked with {}", summary.keys);
    for words in &summary.not_checked {
        let _ = writeln!(out, "  {words}");
    }
    for (name, count) in summary.passed_by() {
        let words = match name {
            "ignored_files" => "not named as receipts, ignored",
            _ => "links to folders, not entered",
        };
        let _ = writeln!(out, "  {} {words}", grouped(count));
    }
}

fn write_completeness(out: &mut Vec<u8>, summary: &Summary) {
    let Some(completeness) = &summary.completeness else {
        out.push(b'\n');
        return;
    };
    let _ = writeln!(out, "\nCompleteness, ids expected: {}", grouped(completeness.expected));
    if completeness.is_complete() {
        let _ = writeln!(out, "  ✓ all of them are there, and no other");
    }
    for (kind, listed) in completeness.kinds() {
        if listed.count == 0 {
            continue;
        }
        let mark = if kind == "duplicate" { "!" } else { "✗" };
        let _ = writeln!(out, "  {mark} {} {kind}", grouped(listed.count));
        let (first, left) = listed.shown(MAX_LISTED_RECEIPTS);
        for id in first {
            let _ = writeln!(out, "      {}", brief(&id.to_display_string()));
        }
        if left > 0 {
            let _ = writeln!(out, "      … and {} more", grouped(left));
        }
    }
    if completeness.without_id > 0 {
        let _ = writeln!(out, "  ! {} in which no id could be read", grouped(completeness.without_id));
    }
    out.push(b'\n');
}
