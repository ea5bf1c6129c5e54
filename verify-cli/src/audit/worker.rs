//! Turning batches into rows.

use super::batch::{Batch, Work};
use super::files::read_receipt;
use super::ids::ExpectedIds;
use super::limits::MAX_RECEIPT_BYTES;
use super::names::{kind_of, shown};
use super::row::{Row, RowWriter};
use crate::args::AuditFormat as Format;
use crate::input::encoding_hint;
use kaval_receipt::assess::Stop;
use kaval_receipt::{Assessment, Auditor, Outcome};

/// Assesses receipts and renders their rows.
#[derive(Debug)]
pub(super) struct Worker<'k> {
    auditor: Auditor<'k>,
    rows: RowWriter,
    expected: Option<&'k ExpectedIds>,
    file: Vec<u8>,
}

impl<'k> Worker<'k> {
    /// A worker that renders rows of that format.
    pub(super) fn new(auditor: Auditor<'k>, format: Format, expected: Option<&'k ExpectedIds>) -> Self {
        Self { auditor, rows: RowWriter::new(format), expected, file: Vec::new() }
    }

    /// Does what the batch asks for.
    pub(super) fn work(&mut self, batch: &mut Batch) {
        let source = std::sync::Arc::clone(&batch.source);
        let input = std::mem::take(&mut batch.input);
        match std::mem::take(&mut batch.work) {
            Work::Nothing => {}
            Work::Fault { line, detail } => self.write_fault(batch, &source, line, &detail),
            Work::Lines { first } => {
                let lines = input.strip_suffix(b"\n").unwrap_or(&input).split(|&byte| byte == b'\n');
                for (line, text) in (first..).zip(lines) {
                    self.work_line(batch, &source, line, text);
                }
            }
            Work::Files => {
                for path in input.split(|&byte| byte == 0).filter(|path| !path.is_empty()) {
                    self.work_file(batch, path);
                }
            }
        }
        self.rows.finish(&mut batch.rows);
        batch.input = input;
    }

    fn work_line(&mut self, batch: &mut Batch, source: &str, line: u64, text: &[u8]) {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.len() > MAX_RECEIPT_BYTES {
            self.write_fault(batch, source, Some(line), &line_too_long());
        } else if !text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            let assessment = self.assess(text);
            self.write_assessed(batch, source, Some(line), &assessment);
        }
    }

    fn work_file(&mut self, batch: &mut Batch, path: &[u8]) {
        let source = shown(path);
        let Some(kind) = kind_of(path) else { return };
        let mut file = std::mem::take(&mut self.file);
        match read_receipt(path, kind, &mut file) {
            Ok(()) => {
                let assessment = self.assess(&file);
                self.write_assessed(batch, &source, None, &assessment);
            }
            Err(detail) => self.write_fault(batch, &source, None, &detail),
        }
        super::batch::reset_buffer(&mut file);
        self.file = file;
    }

    fn assess(&mut self, text: &[u8]) -> Assessment {
        let mut assessment = self.auditor.assess_bytes(text);
        if let (Err(Stop::Json(_)), Some(detail)) = (&assessment.result, &mut assessment.detail) {
            detail.push_str(encoding_hint(text));
        }
        assessment
    }

    fn write_assessed(
        &mut self,
        batch: &mut Batch,
        source: &str,
        line: Option<u64>,
        assessment: &Assessment,
    ) {
        batch.counts.add(assessment.outcome);
        if let Some(expected) = self.expected {
            expected.sight(assessment.receipt_id.as_ref(), &mut batch.sightings);
        }
        self.rows.write(&mut batch.rows, &Row::assessed(source, line, assessment));
    }

    fn write_fault(&mut self, batch: &mut Batch, source: &str, line: Option<u64>, detail: &str) {
        batch.counts.add(Outcome::Unreadable);
        if let Some(expected) = self.expected {
            expected.sight(None, &mut batch.sightings);
        }
        self.rows.write(&mut batch.rows, &Row::unreadable(source, line, detail));
    }
}

/// What is said of a line over the limit.
pub(super) fn line_too_long() -> String {
    format!("the line has more than the {MAX_RECEIPT_BYTES} bytes a receipt may have")
}
