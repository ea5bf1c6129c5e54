//! Logs: to standard error, and never in the way of a call.
//!
//! A host that starts us with a pipe for standard error and never reads it would stop the whole server
//! once the pipe is full. So lines go through a bounded queue to a thread of their own, and when the queue
//! is full they are counted instead.

use std::io::{self, Write as _};
use std::str::FromStr as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

/// Lines that may wait for a slow reader of standard error.
const MAX_QUEUED: usize = 1024;

/// How long the last lines may take at the end.
const FLUSH: Duration = Duration::from_millis(200);

/// What is logged when nothing else is asked for. rmcp warns about every method a client tries in vain.
const DEFAULT_FILTER: &str = "warn,rmcp=error";

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One JSON object a line.
    Json,
    /// For people.
    #[default]
    Text,
}

/// The filter cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no log filter: give error, warn, info, debug, trace or off, or target=level pairs separated by commas"
)]
pub struct InvalidFilter(String);

/// Writes what is still queued when dropped.
#[derive(Debug)]
pub struct Guard(Queue);

/// Installs the logger of the process.
///
/// # Errors
///
/// [`InvalidFilter`] when `filter` cannot be read.
pub fn init(filter: Option<&str>, format: Format) -> Result<Guard, InvalidFilter> {
    let text = filter.unwrap_or(DEFAULT_FILTER);
    let targets = parse_filter(text).ok_or_else(|| InvalidFilter(text.to_owned()))?;
    let queue = Queue::default();
    let lines = tracing_subscriber::fmt::layer().with_writer(queue.clone()).with_ansi(false);
    let lines = match format {
        Format::Json => lines.json().flatten_event(true).boxed(),
        Format::Text => lines.boxed(),
    };
    // A second logger in one process is a mistake of ours that must not end the server.
    let _ = tracing::subscriber::set_global_default(
        tracing_subscriber::registry().with(lines.with_filter(targets)),
    );
    Ok(Guard(queue))
}

/// A word that is no level would be taken for a target, and silence everything else.
fn parse_filter(text: &str) -> Option<Targets> {
    let fits = text.split(',').all(|part| {
        let level = part.split_once('=').map_or(part, |(_, level)| level);
        !level.trim().is_empty() && LevelFilter::from_str(level.trim()).is_ok()
    });
    if fits { Targets::from_str(text).ok() } else { None }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(sender) = self.0.sender.get() else { return };
        let (done, finished) = sync_channel(1);
        if sender.try_send(Entry::Flush(done)).is_ok() {
            // A reader of standard error that has stopped must not hold the exit.
            let _ = finished.recv_timeout(FLUSH);
        }
    }
}

enum Entry {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

#[derive(Clone, Debug, Default)]
struct Queue {
    /// The thread starts with the first line: most processes never log one.
    sender: Arc<OnceLock<SyncSender<Entry>>>,
    dropped: Arc<AtomicU64>,
}

impl Queue {
    fn push(&self, line: Vec<u8>) {
        let sender = self.sender.get_or_init(|| {
            let (sender, receiver) = sync_channel(MAX_QUEUED);
            let dropped = Arc::clone(&self.dropped);
            // Without a thread the receiver is gone, and every line counts as dropped.
            let _ = std::thread::Builder::new()
                .name("log".to_owned())
                .spawn(move || write_lines(&receiver, &dropped));
            sender
        });
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = sender.try_send(Entry::Line(line))
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write_lines(receiver: &Receiver<Entry>, dropped: &AtomicU64) {
    let mut stderr = io::stderr();
    while let Ok(entry) = receiver.recv() {
        match entry {
            Entry::Line(line) => {
                // A closed standard error leaves nobody to tell.
                let _ = stderr.write_all(&line);
            }
            Entry::Flush(done) => {
                let _ = done.send(());
            }
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(stderr, "[kaval-mcp] {lost} log lines dropped: standard error was not read");
        }
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter { queue: self, line: Vec::new() }
    }
}

/// Collects one line and queues it when dropped.
struct LineWriter<'a> {
    queue: &'a Queue,
    line: Vec<u8>,
}

impl io::Write for LineWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LineWriter<'_> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.queue.push(std::mem::take(&mut self.line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_levels_or_pairs() {
        for text in ["warn", "off", "DEBUG", "info,rmcp=trace", DEFAULT_FILTER] {
            assert!(parse_filter(text).is_some(), "{text}");
        }
        for text in ["verbose", "", "kaval_mcp", "warn,rmcp=loud", "a=b=c"] {
            assert!(parse_filter(text).is_none(), "{text}");
        }
    }

    #[test]
    fn lines_nobody_reads_are_counted_and_hold_nobody_up() {
        let queue = Queue::default();
        let (sender, receiver) = sync_channel(2);
        queue.sender.set(sender).unwrap();
        for _ in 0..5 {
            queue.push(b"x\n".to_vec());
        }
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 3);
        drop(receiver);
    }
}
