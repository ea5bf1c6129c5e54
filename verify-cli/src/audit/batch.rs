//! The unit of work that travels from the feeder to a worker, on to the writer, and back.

use super::ids::Sightings;
use super::limits::KEPT_BUFFER_BYTES;
use kaval_receipt::auditor::Counts;
use std::sync::Arc;

/// What a worker does with a batch.
#[derive(Debug, Default)]
pub(super) enum Work {
    /// The input holds whole lines, the first being the line of that number.
    Lines {
        /// Number of the first line.
        first: u64,
    },
    /// The input holds paths of files with one receipt each, each path ended by a NUL.
    Files,
    /// There is nothing to read, and this is why.
    Fault {
        /// The line that could not be read, when the fault is one of a line.
        line: Option<u64>,
        /// What went wrong.
        detail: String,
    },
    /// Nothing.
    #[default]
    Nothing,
}

/// Input for a worker and the rows it made of it. The buffers are used again and again.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Position in the order of the input.
    pub(super) sequence: u64,
    /// What to do.
    pub(super) work: Work,
    /// Where lines come from, as reports name it.
    pub(super) source: Arc<str>,
    /// Lines or paths.
    pub(super) input: Vec<u8>,
    /// Rendered rows.
    pub(super) rows: Vec<u8>,
    /// Bytes of input this batch stands for, when it holds lines.
    pub(super) bytes: u64,
    /// Number of receipts per outcome.
    pub(super) counts: Counts,
    /// Ids that were seen, when there are expected ones.
    pub(super) sightings: Sightings,
}

impl Batch {
    /// Empties the batch for its next use.
    pub(super) fn reset(&mut self) {
        self.work = Work::Nothing;
        self.bytes = 0;
        self.counts = Counts::default();
        self.sightings.clear();
        reset_buffer(&mut self.input);
        reset_buffer(&mut self.rows);
    }
}

/// Empties a buffer, and gives its memory back if one large receipt made it grow.
pub(super) fn reset_buffer(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(KEPT_BUFFER_BYTES);
}
