//! One feeder, many workers, one writer: rows in the order of the input, memory bounded by the batches.
//!
//! Batches are made once and go round: the feeder takes a free one, fills it and queues it, a worker adds rows,
//! and the writer, once all before it are written, writes those and sets it free. With no free batch the feeder
//! waits, so nothing piles up however slow the writer or one receipt is.

use super::batch::Batch;
use super::feeder::Feeder;
use super::ids::ExpectedIds;
use super::limits::{BATCHES_PER_JOB, SPARE_BATCHES, WORKER_STACK_BYTES};
use super::tree::Passed;
use super::worker::Worker;
use crate::args::AuditFormat as Format;
use kaval_receipt::{Auditor, EvaluationTime, Gates, Keyset};
use std::ffi::OsString;
use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What all threads share.
#[derive(Debug)]
pub(super) struct Job {
    /// Files, folders, `-`.
    pub(super) inputs: Vec<OsString>,
    /// The keys to check with.
    pub(super) keyset: Keyset,
    /// When freshness is judged.
    pub(super) at: EvaluationTime,
    /// What a receipt must satisfy beyond being authentic.
    pub(super) gates: Gates,
    /// The ids that should be there.
    pub(super) expected: Option<ExpectedIds>,
    /// How rows are spelled.
    pub(super) format: Format,
    /// Number of workers.
    pub(super) jobs: usize,
}

/// Why a run ended early.
#[derive(Debug)]
pub(super) enum Broken {
    /// The report could not be written.
    Write(io::Error),
    /// A thread could not be started, or ended early.
    Thread(io::Error),
}

/// What the writer is told.
#[derive(Debug)]
pub(super) enum Event<'b> {
    /// The next batch in order is done.
    Batch(&'b mut Batch),
    /// Nothing more is done yet, so what was written so far should be seen.
    Idle,
}

/// Runs a job. `write` gets every batch in order, on the thread of the caller.
///
/// When `write` fails the threads are left to end by themselves: one of them may be waiting for a standard
/// input that never ends.
///
/// # Errors
///
/// [`Broken`] with whatever `write` answers, or for the sake of a thread.
pub(super) fn run(
    job: &Arc<Job>,
    mut write: impl FnMut(Event<'_>) -> io::Result<()>,
) -> Result<Passed, Broken> {
    let batches = job.jobs * BATCHES_PER_JOB + SPARE_BATCHES;
    let (free, free_batches) = sync_channel(batches);
    let (work, work_queue) = sync_channel(batches);
    let (done, done_batches) = channel();
    for _ in 0..batches {
        free.send(Box::<Batch>::default()).map_err(|error| Broken::Thread(io::Error::other(error)))?;
    }
    let work_queue = Arc::new(Mutex::new(work_queue));
    for number in 0..job.jobs {
        let (job, work_queue, done) = (Arc::clone(job), Arc::clone(&work_queue), done.clone());
        let thread = thread::Builder::new().name(format!("worker {number}")).stack_size(WORKER_STACK_BYTES);
        let thread = thread.spawn(move || {
            let auditor = Auditor::new(&job.keyset, job.at.clone(), job.gates.clone());
            let mut worker = Worker::new(auditor, job.format, job.expected.as_ref());
            while let Some(mut batch) = next(&work_queue) {
                worker.work(&mut batch);
                if done.send(batch).is_err() {
                    return;
                }
            }
        });
        thread.map_err(Broken::Thread)?;
    }
    // Only the workers hold these now, so that the ends of both queues are seen.
    drop((done, work_queue));
    let feeder = {
        let (job, feeder) = (Arc::clone(job), Feeder::new(free_batches, work));
        let thread = thread::Builder::new().name("feeder".to_owned());
        thread.spawn(move || feeder.feed(&job.inputs)).map_err(Broken::Thread)?
    };

    let mut waiting: Vec<Option<Box<Batch>>> = (0..batches).map(|_| None).collect();
    let slot = |sequence: u64| usize::try_from(sequence).unwrap_or(usize::MAX) % batches;
    let mut sequence = 0;
    loop {
        let batch = match done_batches.try_recv() {
            Err(TryRecvError::Empty) => {
                write(Event::Idle).map_err(Broken::Write)?;
                done_batches.recv().ok()
            }
            batch => batch.ok(),
        };
        let Some(batch) = batch else { break };
        // No two batches in flight share a slot: there are only as many batches as slots.
        let place = slot(batch.sequence);
        if let Some(place) = waiting.get_mut(place) {
            *place = Some(batch);
        }
        while let Some(mut batch) = waiting.get_mut(slot(sequence)).and_then(Option::take) {
            write(Event::Batch(&mut batch)).map_err(Broken::Write)?;
            batch.reset();
            sequence += 1;
            // At the end of the input the feeder takes no batch back.
            let _ = free.send(batch);
        }
    }
    let passed =
        feeder.join().map_err(|_| Broken::Thread(io::Error::other("reading the input broke off")))?;
    match passed {
        Ok(passed) if waiting.iter().all(Option::is_none) => Ok(passed),
        _ => Err(Broken::Thread(io::Error::other("a worker broke off"))),
    }
}

fn next(queue: &Mutex<Receiver<Box<Batch>>>) -> Option<Box<Batch>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
