//! A line on the terminal that says how far a long run is.

use super::batch::Batch;
use super::limits::{PROGRESS_AFTER, PROGRESS_EVERY};
use super::summary::grouped;
use kaval_receipt::Outcome;
use std::io::{self, IsTerminal, Write};
use std::time::Instant;

/// Width of the bar, in characters.
const WIDTH: u64 = 24;

/// Progress on standard error.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    shown: Option<Instant>,
    receipts: u64,
    attention: u64,
    bytes: u64,
    /// Bytes of the input, when they are known beforehand.
    total_bytes: Option<u64>,
}

impl Progress {
    /// Progress for a terminal; none when standard error is something else.
    pub(super) fn on_terminal(total_bytes: Option<u64>) -> Option<Self> {
        io::stderr().is_terminal().then(|| Self::new(total_bytes))
    }

    fn new(total_bytes: Option<u64>) -> Self {
        Self { started: Instant::now(), shown: None, receipts: 0, attention: 0, bytes: 0, total_bytes }
    }

    /// Counts a batch, and shows how far things are if it is time to.
    pub(super) fn add(&mut self, batch: &Batch) {
        let total = batch.counts.total();
        self.receipts += total;
        self.attention += total - batch.counts.of(Outcome::Accepted);
        self.bytes += batch.bytes;
        let now = Instant::now();
        let due = match self.shown {
            None => now.duration_since(self.started) >= PROGRESS_AFTER,
            Some(shown) => now.duration_since(shown) >= PROGRESS_EVERY,
        };
        if due {
            self.shown = Some(now);
            self.draw(&self.line(now.duration_since(self.started).as_secs_f64()));
        }
    }

    fn line(&self, seconds: f64) -> String {
        let mut line = String::new();
        if let Some(total) = self.total_bytes.filter(|&total| total > 0) {
            let part = |whole: u64| {
                let part = u128::from(self.bytes.min(total)) * u128::from(whole) / u128::from(total);
                u64::try_from(part).unwrap_or(whole)
            };
            let filled = part(WIDTH);
            let cells = |count: u64, cell: &str| cell.repeat(usize::try_from(count).unwrap_or_default());
            line = format!("[{}{}] {:>3} %  ", cells(filled, "█"), cells(WIDTH - filled, "·"), part(100));
        }
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate for the eye"
        )]
        let rate = (self.receipts as f64 / seconds.max(0.001)) as u64;
        let (receipts, attention) = (grouped(self.receipts), grouped(self.attention));
        format!("{line}{receipts} receipts, {attention} need attention, {}/s", grouped(rate))
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.shown.is_some() {
            self.draw("");
        }
    }

    fn draw(&self, line: &str) {
        // A terminal that went away is no reason to stop.
        let _ = write!(io::stderr(), "\r\u{1b}[K{line}");
        let _ = io::stderr().flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_how_much_and_how_fast() {
        let mut progress = Progress::new(Some(4_000));
        progress.receipts = 2_000;
        progress.attention = 3;
        progress.bytes = 1_000;
        let line = progress.line(2.0);
        assert_eq!(
            line,
            format!("[{}{}]  25 %  2,000 receipts, 3 need attention, 1,000/s", "█".repeat(6), "·".repeat(18))
        );
        progress.total_bytes = None;
        assert_eq!(progress.line(2.0), "2,000 receipts, 3 need attention, 1,000/s");
    }
}
