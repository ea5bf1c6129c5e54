//! Putting rows and the summary together.

mod html;
mod junit;
mod text;

use super::batch::Batch;
use super::limits::MAX_LISTED_RECEIPTS;
use super::output::Output;
use super::row::CSV_HEADER;
use super::summary::Summary;
use crate::args::AuditFormat as Format;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

/// A report that is being written.
#[derive(Debug)]
pub(super) struct Report {
    format: Format,
    out: Output,
    /// Rows of a format whose totals come first. In a file, so that memory stays flat.
    spool: Option<BufWriter<File>>,
    /// Rows of the text report, bounded in number.
    listed: Vec<u8>,
    lines_left: usize,
}

impl Report {
    /// Starts a report.
    ///
    /// # Errors
    ///
    /// When the output or the temporary file cannot be written.
    pub(super) fn start(format: Format, mut out: Output) -> io::Result<Self> {
        if format == Format::Csv {
            out.write_all(CSV_HEADER.as_bytes())?;
        }
        let spool = match format {
            Format::Html | Format::Junit => {
                let named =
                    |error: io::Error| io::Error::new(error.kind(), format!("temporary file: {error}"));
                Some(BufWriter::new(tempfile::tempfile().map_err(named)?))
            }
            Format::Csv | Format::Json | Format::Text => None,
        };
        // Each row of text is two lines.
        Ok(Self { format, out, spool, listed: Vec::new(), lines_left: 2 * MAX_LISTED_RECEIPTS })
    }

    /// Whether rows go out as they come, rather than at the end.
    pub(super) fn is_streaming(format: Format) -> bool {
        matches!(format, Format::Csv | Format::Json)
    }

    /// Adds the rows of a batch.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(super) fn add(&mut self, batch: &Batch) -> io::Result<()> {
        if self.format == Format::Text {
            for line in batch.rows.split_inclusive(|&byte| byte == b'\n').take(self.lines_left) {
                self.listed.extend_from_slice(line);
                self.lines_left -= 1;
            }
            return Ok(());
        }
        match &mut self.spool {
            Some(spool) => spool.write_all(&batch.rows),
            None => self.out.write_all(&batch.rows),
        }
    }

    /// Lets a reader see what was written so far, in formats that are written as they come.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &self.out {
            Output::Stdout(_) if Self::is_streaming(self.format) => self.out.flush(),
            _ => Ok(()),
        }
    }

    /// Completes the report.
    ///
    /// # Errors
    ///
    /// When it cannot be written to its end.
    pub(super) fn finish(mut self, summary: &Summary) -> io::Result<()> {
        let mut text = Vec::new();
        match self.format {
            Format::Csv => {}
            Format::Json => summary.write_json(&mut text),
            Format::Text => text::write(&mut text, summary, &self.listed),
            Format::Html => html::write_before_rows(&mut text, summary),
            Format::Junit => junit::write_before_rows(&mut text, summary),
        }
        self.out.write_all(&text)?;
        if let Some(spool) = self.spool {
            let mut rows = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
            rows.rewind()?;
            io::copy(&mut rows, &mut self.out)?;
            let end = if self.format == Format::Html { html::AFTER_ROWS } else { junit::AFTER_ROWS };
            self.out.write_all(end.as_bytes())?;
        }
        self.out.finish()
    }
}
