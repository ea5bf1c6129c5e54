//! Many receipts in one run: one outcome for each, in the order of the input, on every core.
//!
//! A feeder thread finds input and cuts it into batches, workers turn batches into rendered rows, and the
//! calling thread writes those in order. Memory is that of a fixed number of batches, whatever the input holds;
//! `limits` names every bound.

mod batch;
mod escape;
mod feeder;
mod files;
mod gzip;
mod ids;
mod keys;
mod limits;
mod lines;
mod names;
mod output;
mod pipeline;
mod progress;
mod report;
mod row;
mod summary;
mod tree;
mod worker;

use crate::args::{AuditArgs, AuditFormat};
use crate::exit::{ExitStatus, Failure};
use crate::input::Source;
use crate::output::advise;
use ids::{ExpectedIds, Tally};
use kaval_receipt::assess::Derive;
use output::Output;
use pipeline::{Broken, Event, Job};
use progress::Progress;
use report::Report;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;
use summary::Summary;

/// Audits every receipt of the inputs.
///
/// # Errors
///
/// A [`Failure`] when the run could not start or its report could not be written.
pub(crate) fn run(args: &AuditArgs) -> Result<ExitStatus, Failure> {
    keep_inputs(args)?;
    let by_terminal = || if io::stdout().is_terminal() { AuditFormat::Text } else { AuditFormat::Json };
    let format = args.format.unwrap_or_else(by_terminal);
    let at = args.gates.evaluation_time()?;
    let job = Arc::new(Job {
        inputs: args.inputs.iter().map(|input| OsString::from(input.as_os_str())).collect(),
        keyset: match (&args.keyset, &args.keys) {
            (Some(file), _) => keys::read_file(file)?,
            (None, Some(folder)) => keys::read_folder(folder)?,
            (None, None) => return Err(Failure::usage("give --keyset or --keys")),
        },
        at,
        gates: args.gates.gates()?,
        expected: args.expect_ids.as_deref().map(read_expected_ids).transpose()?,
        format,
        jobs: jobs(args)?,
    });

    let place = args.output.as_deref();
    let unwritable = |error: io::Error| match place {
        Some(path) => {
            Failure::unwritable(format!("{} cannot be written: {error}", Source::File(path.to_owned())))
        }
        None => Failure::stdout(&error),
    };
    let out = Output::open(place).map_err(unwritable)?;
    let mut report = Report::start(format, out).map_err(unwritable)?;
    // Rows that scroll by on the same terminal show the progress themselves.
    let shares_terminal = Report::is_streaming(format) && place.is_none() && io::stdout().is_terminal();
    let mut progress = match args.quiet || shares_terminal {
        true => None,
        false => Progress::on_terminal(total_bytes(&job.inputs)),
    };

    let mut summary = Summary {
        at: job.at.as_str().to_owned(),
        keys: keys_in_words(args, &job),
        not_checked: not_checked(&job),
        is_brief: args.quiet,
        ..Summary::default()
    };
    let mut tally = job.expected.as_ref().map(Tally::new);
    let run = pipeline::run(&job, |event| {
        let Event::Batch(batch) = event else { return report.flush() };
        report.add(batch)?;
        summary.counts.merge(&batch.counts);
        if let Some(tally) = &mut tally {
            tally.add(&mut batch.sightings);
        }
        if let Some(progress) = &mut progress {
            progress.add(batch);
        }
        Ok(())
    });
    if let Some(progress) = &progress {
        progress.clear();
    }
    summary.passed = run.map_err(|broken| match broken {
        Broken::Write(error) => unwritable(error),
        Broken::Thread(error) => Failure::unreadable(format!("the work could not be shared out: {error}")),
    })?;
    summary.completeness = tally.map(Tally::finish);
    report.finish(&summary).map_err(unwritable)?;
    if summary.counts.total() == 0 {
        advise(&"there was no receipt in the input");
    } else if !args.quiet && (place.is_some() || format == AuditFormat::Csv) {
        // Nothing else tells the totals then.
        advise(&summary.headline());
    }
    Ok(ExitStatus::from_code(summary.exit_code()))
}

/// Refuses a report in the place of what the run reads.
fn keep_inputs(args: &AuditArgs) -> Result<(), Failure> {
    let others = [&args.keyset, &args.keys, &args.expect_ids, &args.gates.expect_action];
    let inputs = args.inputs.iter().chain(others.into_iter().flatten()).map(PathBuf::as_path);
    match args.output.as_deref().and_then(|place| output::replaced(place, inputs)) {
        None => Ok(()),
        Some(input) => {
            let input = Source::File(input.to_owned());
            Err(Failure::usage(format!(
                "--output would replace what is read from {input}: give another place"
            )))
        }
    }
}

fn jobs(args: &AuditArgs) -> Result<usize, Failure> {
    match args.jobs.map(usize::from) {
        None => Ok(available_parallelism().map_or(1, usize::from).min(limits::MAX_JOBS)),
        Some(jobs) if jobs <= limits::MAX_JOBS => Ok(jobs),
        Some(_) => Err(Failure::usage(format!("--jobs takes a number from 1 to {}", limits::MAX_JOBS))),
    }
}

fn read_expected_ids(path: &Path) -> Result<ExpectedIds, Failure> {
    let source = Source::File(path.to_owned());
    let bytes = source.read(limits::MAX_EXPECTED_IDS_BYTES).map_err(|error| error.into_failure(&source))?;
    ExpectedIds::parse(&bytes).map_err(|error| Failure::usage(format!("--expect-ids: {source}: {error}")))
}

/// Which keys were used.
fn keys_in_words(args: &AuditArgs, job: &Job) -> String {
    let place = args.keyset.as_ref().or(args.keys.as_ref()).cloned().unwrap_or_default();
    let count = job.keyset.keys().len();
    let noun = if count == 1 { "key" } else { "keys" };
    format!("{count} {noun} from {}", Source::File(place))
}

/// What a reader could believe was checked and was not.
fn not_checked(job: &Job) -> Vec<&'static str> {
    let gates = &job.gates;
    let is_undecided = gates.require_decision.is_empty() && gates.expectations.is_none();
    [
        (job.expected.is_none(), "completeness not checked: receipts could be missing (--expect-ids)"),
        (
            !gates.require_fresh && gates.max_age.is_none(),
            "freshness not checked: old receipts are accepted (--require-fresh, --max-age)",
        ),
        (
            gates.derive == Derive::Never && gates.require_decision.is_empty(),
            "derivation not checked: verdicts could contradict their facts (--no-derive-verdict)",
        ),
        (is_undecided, "decisions not checked: BLOCK and REVIEW are accepted too (--require-decision)"),
    ]
    .into_iter()
    .filter_map(|(applies, words)| applies.then_some(words))
    .collect()
}

/// Bytes of the input, if it consists of plain files of lines, the only ones whose progress shows in bytes.
fn total_bytes(inputs: &[OsString]) -> Option<u64> {
    inputs.iter().try_fold(0_u64, |total, input| {
        let kind = names::kind_of(names::bytes_of(input))?;
        let is_plain_lines = kind.shape == names::Shape::Lines && !kind.is_gzip;
        let metadata =
            std::fs::metadata(input).ok().filter(|metadata| metadata.is_file() && is_plain_lines)?;
        total.checked_add(metadata.len())
    })
}
