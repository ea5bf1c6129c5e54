//! The JUnit report, around its test cases.

use crate::audit::escape::write_xml;
use crate::audit::limits::MAX_LISTED_IDS;
use crate::audit::row::junit_element;
use crate::audit::summary::Summary;
use std::io::Write as _;

/// What follows the test cases.
pub(super) const AFTER_ROWS: &str = "  </testsuite>\n</testsuites>\n";

/// Appends what precedes the test cases, which includes the totals.
pub(super) fn write_before_rows(out: &mut Vec<u8>, summary: &Summary) {
    let of = |element| -> u64 {
        let matching = |&(outcome, _): &(kaval_receipt::Outcome, u64)| {
            outcome.exit_code() != 0 && junit_element(outcome) == element
        };
        summary.outcomes().filter(matching).map(|(_, count)| count).sum()
    };
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"",
        summary.counts.total(),
        of("failure"),
        of("error")
    );
    // Writing to a vector does not fail.
    let _ = writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>");
    let _ = writeln!(out, "  <testsuite name=\"receipt-verify audit\" {totals}>\n    <properties>");
    let mut property = |name: &str, value: &str| {
        let _ = write!(out, "      <property name=\"{name}\" value=\"");
        write_xml(out, value);
        out.extend_from_slice(b"\"/>\n");
    };
    property("exit_code", &summary.exit_code().to_string());
    property("evaluated_at", &summary.at);
    property("keys", &summary.keys);
    for (outcome, count) in summary.outcomes() {
        property(outcome.code(), &count.to_string());
    }
    for (name, count) in summary.passed_by() {
        property(name, &count.to_string());
    }
    for words in &summary.not_checked {
        property("not_checked", words);
    }
    if let Some(completeness) = &summary.completeness {
        property("expected_ids", &completeness.expected.to_string());
        property("without_id", &completeness.without_id.to_string());
        for (kind, listed) in completeness.kinds() {
            property(&format!("{kind}_ids"), &listed.count.to_string());
            for id in listed.shown(MAX_LISTED_IDS).0 {
                property(&format!("{kind}_id"), &id.to_display_string());
            }
        }
    }
    out.extend_from_slice(b"    </properties>\n");
}
