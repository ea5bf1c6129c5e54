//! Finding input and cutting it into batches, in order.

use super::batch::{Batch, Work};
use super::files::{open, words};
use super::gzip::GzipReader;
use super::limits::BATCH_FILES;
use super::lines::{LineReader, Next};
use super::names::{Shape, bytes_of, kind_of, path_of, shown};
use super::tree::{Found, Passed, walk};
use super::worker::line_too_long;
use std::ffi::OsString;
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

/// The other side is gone: the writer failed, and there is no use in going on.
#[derive(Debug)]
pub(super) struct Stopped;

/// Cuts input into batches and hands them to the workers.
#[derive(Debug)]
pub(super) struct Feeder {
    /// Batches that are free.
    free: Receiver<Box<Batch>>,
    /// Where filled ones go.
    work: SyncSender<Box<Batch>>,
    sequence: u64,
    /// Files collected for the next batch.
    files: Option<(Box<Batch>, u32)>,
}

impl Feeder {
    /// A feeder between two channels.
    pub(super) fn new(free: Receiver<Box<Batch>>, work: SyncSender<Box<Batch>>) -> Self {
        Self { free, work, sequence: 0, files: None }
    }

    /// Hands out every input in order. Answers what was passed by in folders.
    ///
    /// # Errors
    ///
    /// [`Stopped`] when nobody takes the batches.
    pub(super) fn feed(mut self, inputs: &[OsString]) -> Result<Passed, Stopped> {
        let mut passed = Passed::default();
        for input in inputs {
            let path = bytes_of(input);
            if path == b"-" {
                self.lines("-".into(), std::io::stdin().lock())?;
                continue;
            }
            match std::fs::metadata(path_of(path)) {
                Err(error) => self.fault(shown(path).into(), None, words(&error))?,
                Ok(metadata) if metadata.is_dir() => {
                    passed.add(walk(path, |path, found| match found {
                        Found::File => self.file(path),
                        Found::Fault(detail) => self.fault(shown(path).into(), None, detail),
                    })?);
                }
                Ok(metadata) if !metadata.is_file() => {
                    self.fault(shown(path).into(), None, "not a regular file".to_owned())?;
                }
                Ok(_) => self.file(path)?,
            }
        }
        self.flush_files()?;
        Ok(passed)
    }

    /// A file, by what its name says.
    fn file(&mut self, path: &[u8]) -> Result<(), Stopped> {
        let source = || Arc::<str>::from(shown(path));
        match kind_of(path) {
            None => {
                let detail = "the name ends in none of .json, .jsonl, .ndjson (each also .gz)".to_owned();
                self.fault(source(), None, detail)
            }
            Some(kind) if kind.shape == Shape::Single => self.single(path),
            Some(kind) => match open(path) {
                Err(detail) => self.fault(source(), None, detail),
                Ok((file, _)) if kind.is_gzip => self.lines(source(), GzipReader::new(file)),
                Ok((file, _)) => self.lines(source(), file),
            },
        }
    }

    /// Adds a file of one receipt to the batch that collects them.
    fn single(&mut self, path: &[u8]) -> Result<(), Stopped> {
        let (mut batch, count) = match self.files.take() {
            Some(collecting) => collecting,
            None => (self.take()?, 0),
        };
        batch.input.extend_from_slice(path);
        batch.input.push(0);
        self.files = Some((batch, count + 1));
        if count + 1 == BATCH_FILES { self.flush_files() } else { Ok(()) }
    }

    fn flush_files(&mut self) -> Result<(), Stopped> {
        match self.files.take() {
            Some((batch, _)) => self.send(batch, Work::Files),
            None => Ok(()),
        }
    }

    fn lines(&mut self, source: Arc<str>, stream: impl Read) -> Result<(), Stopped> {
        self.flush_files()?;
        let mut reader = LineReader::new(stream);
        loop {
            let mut batch = self.take()?;
            batch.source = Arc::clone(&source);
            match reader.next(&mut batch.input) {
                Ok(Next::Lines(first)) => {
                    batch.bytes = u64::try_from(batch.input.len()).unwrap_or_default();
                    self.send(batch, Work::Lines { first })?;
                }
                Ok(Next::TooLong(line)) => {
                    self.send(batch, Work::Fault { line: Some(line), detail: line_too_long() })?;
                }
                Ok(Next::End) => return self.send(batch, Work::Nothing),
                Err(error) => {
                    let line = Some(reader.line());
                    return self.send(batch, Work::Fault { line, detail: words(&error) });
                }
            }
        }
    }

    fn fault(&mut self, source: Arc<str>, line: Option<u64>, detail: String) -> Result<(), Stopped> {
        self.flush_files()?;
        let mut batch = self.take()?;
        batch.source = source;
        self.send(batch, Work::Fault { line, detail })
    }

    fn take(&mut self) -> Result<Box<Batch>, Stopped> {
        self.free.recv().map_err(|_| Stopped)
    }

    fn send(&mut self, mut batch: Box<Batch>, work: Work) -> Result<(), Stopped> {
        batch.work = work;
        batch.sequence = self.sequence;
        self.sequence += 1;
        self.work.send(batch).map_err(|_| Stopped)
    }
}
