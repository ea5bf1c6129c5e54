//! One receipt as one row of a report.

use super::escape::{brief, write_csv, write_json, write_script_json, write_xml};
use crate::args::AuditFormat as Format;
use kaval_receipt::canonical::Digest;
use kaval_receipt::json::JsonString;
use kaval_receipt::{Assessment, Outcome};
use std::borrow::Cow;
use std::io::Write as _;

/// The columns of CSV, which are the members of JSON.
pub(super) const CSV_HEADER: &str =
    "source,line,receipt_id,decision,key_id,sha256,accepted,code,exit_code,detail\r\n";

/// What a report says about one receipt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'r> {
    /// The file, or `-`.
    pub(super) source: &'r str,
    /// The line in it, when it holds one receipt a line.
    pub(super) line: Option<u64>,
    /// What the receipt says of itself.
    pub(super) receipt_id: Option<&'r JsonString<'static>>,
    /// The decision it states.
    pub(super) decision: Option<&'r JsonString<'static>>,
    /// The key it names.
    pub(super) key_id: Option<&'r JsonString<'static>>,
    /// Digest of the canonical bytes.
    pub(super) digest: Option<Digest>,
    /// What became of it.
    pub(super) outcome: Outcome,
    /// The outcome in words, when it is not `accepted`.
    pub(super) detail: Option<&'r str>,
}

impl<'r> Row<'r> {
    /// The row of a receipt that was assessed.
    pub(super) fn assessed(source: &'r str, line: Option<u64>, assessment: &'r Assessment) -> Self {
        Self {
            source,
            line,
            receipt_id: assessment.receipt_id.as_ref(),
            decision: assessment.decision.as_ref(),
            key_id: assessment.key_id.as_ref(),
            digest: assessment.digest,
            outcome: assessment.outcome,
            detail: assessment.detail.as_deref(),
        }
    }

    /// The row of something that could not be read.
    pub(super) fn unreadable(source: &'r str, line: Option<u64>, detail: &'r str) -> Self {
        Self {
            source,
            line,
            receipt_id: None,
            decision: None,
            key_id: None,
            digest: None,
            outcome: Outcome::Unreadable,
            detail: Some(detail),
        }
    }
}

/// Writes the rows of one batch.
#[derive(Debug)]
pub(super) struct RowWriter {
    format: Format,
    group: Option<String>,
}

impl RowWriter {
    /// A writer of that format.
    pub(super) fn new(format: Format) -> Self {
        Self { format, group: None }
    }

    /// Appends a row.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, row: &Row<'_>) {
        match self.format {
            Format::Csv => write_csv_row(out, row),
            Format::Html => self.write_html_row(out, row),
            Format::Json => write_json_row(out, row),
            Format::Junit => write_junit_row(out, row),
            Format::Text => write_text_row(out, row),
        }
    }

    /// Ends the batch.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.group.take().is_some() {
            out.extend_from_slice(b"]]");
        }
    }

    /// Rows of one source share a group, which spares naming it each time. Every group starts with a comma;
    /// the page has an empty group before the first.
    fn write_html_row(&mut self, out: &mut Vec<u8>, row: &Row<'_>) {
        if self.group.as_deref() == Some(row.source) {
            out.extend_from_slice(b",\n");
        } else {
            self.finish(out);
            out.extend_from_slice(b",\n[");
            write_script_json(out, row.source);
            out.extend_from_slice(b",");
            self.group = Some(row.source.to_owned());
            out.extend_from_slice(b"[");
        }
        // The order is that in which page.js takes a row apart.
        let _ = write!(out, "[{},{}", row.outcome.index(), row.line.unwrap_or(0));
        for text in [row.receipt_id, row.decision, row.key_id] {
            out.push(b',');
            match text {
                Some(text) => write_script_json(out, &text.to_display_string()),
                None => out.push(b'0'),
            }
        }
        out.extend_from_slice(b",\"");
        if let Some(digest) = row.digest {
            write_digest(out, digest);
        }
        out.extend_from_slice(b"\"");
        if let Some(detail) = row.detail {
            out.push(b',');
            write_script_json(out, detail);
        }
        out.push(b']');
    }
}

fn write_json_row(out: &mut Vec<u8>, row: &Row<'_>) {
    out.extend_from_slice(b"{\"source\":");
    write_json(out, &JsonString::from(row.source));
    if let Some(line) = row.line {
        let _ = write!(out, ",\"line\":{line}");
    }
    for (name, text) in [("receipt_id", row.receipt_id), ("decision", row.decision), ("key_id", row.key_id)] {
        if let Some(text) = text {
            let _ = write!(out, ",\"{name}\":");
            write_json(out, text);
        }
    }
    if let Some(digest) = row.digest {
        out.extend_from_slice(b",\"sha256\":\"");
        write_digest(out, digest);
        out.push(b'"');
    }
    let is_accepted = row.outcome == Outcome::Accepted;
    let (code, exit_code) = (row.outcome.code(), row.outcome.exit_code());
    let _ = write!(out, ",\"accepted\":{is_accepted},\"code\":\"{code}\",\"exit_code\":{exit_code}");
    if let Some(detail) = row.detail {
        out.extend_from_slice(b",\"detail\":");
        write_json(out, &JsonString::from(detail));
    }
    out.extend_from_slice(b"}\n");
}

fn write_csv_row(out: &mut Vec<u8>, row: &Row<'_>) {
    write_csv(out, row.source);
    out.push(b',');
    if let Some(line) = row.line {
        let _ = write!(out, "{line}");
    }
    for text in [row.receipt_id, row.decision, row.key_id] {
        out.push(b',');
        if let Some(text) = text {
            write_csv(out, &shown(text));
        }
    }
    out.push(b',');
    if let Some(digest) = row.digest {
        write_digest(out, digest);
    }
    let is_accepted = row.outcome == Outcome::Accepted;
    let _ = write!(out, ",{is_accepted},{},{},", row.outcome.code(), row.outcome.exit_code());
    write_csv(out, row.detail.unwrap_or_default());
    out.extend_from_slice(b"\r\n");
}

fn write_junit_row(out: &mut Vec<u8>, row: &Row<'_>) {
    out.extend_from_slice(b"    <testcase classname=\"");
    write_xml(out, row.source);
    out.extend_from_slice(b"\" name=\"");
    match (row.line, row.receipt_id) {
        (Some(line), Some(id)) => {
            let _ = write!(out, "line {line}: ");
            write_xml(out, &shown(id));
        }
        (Some(line), None) => {
            let _ = write!(out, "line {line}");
        }
        (None, Some(id)) => write_xml(out, &shown(id)),
        (None, None) => out.extend_from_slice(b"receipt"),
    }
    out.extend_from_slice(b"\"");
    if row.outcome == Outcome::Accepted {
        out.extend_from_slice(b"/>\n");
        return;
    }
    let element = junit_element(row.outcome);
    let _ = write!(out, ">\n      <{element} type=\"{}\" message=\"", row.outcome.code());
    write_xml(out, row.detail.unwrap_or_default());
    out.extend_from_slice(b"\"/>\n    </testcase>\n");
}

/// An `error` is a receipt that could not be checked; a `failure` is one that was checked and did not pass.
pub(super) fn junit_element(outcome: Outcome) -> &'static str {
    if outcome.exit_code() == 2 { "error" } else { "failure" }
}

/// Only receipts that need attention, one line each.
fn write_text_row(out: &mut Vec<u8>, row: &Row<'_>) {
    if row.outcome == Outcome::Accepted {
        return;
    }
    let _ = write!(out, "  {:<18} {}", row.outcome.code(), brief(row.source));
    if let Some(line) = row.line {
        let _ = write!(out, ":{line}");
    }
    if let Some(id) = row.receipt_id {
        let _ = write!(out, "  {}", brief(&shown(id)));
    }
    let _ = write!(out, "\n  {:<18} {}\n", "", brief(row.detail.unwrap_or_default()));
}

fn shown<'s>(text: &'s JsonString<'_>) -> Cow<'s, str> {
    match text.as_str() {
        Some(text) => text.into(),
        None => text.to_display_string().into(),
    }
}

fn write_digest(out: &mut Vec<u8>, digest: Digest) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"sha256:");
    for byte in digest.sha256 {
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 0xF)]);
    }
}
