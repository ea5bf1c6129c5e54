//! Every bound of an audit, with its reason.

use std::time::Duration;

/// Largest receipt, in bytes: a file, a line without its line end, or either after expansion.
///
/// Source: receipt verification, section 11.
pub(super) const MAX_RECEIPT_BYTES: usize = 8_388_608;
const _: () = assert!(MAX_RECEIPT_BYTES as u64 == crate::input::MAX_RECEIPT_BYTES);

/// Bytes of lines handed to a worker at once. Some 80 receipts of the usual size: enough that passing batches
/// around costs nothing beside the signatures, small enough that all of them fit in a few megabytes.
pub(super) const BATCH_BYTES: usize = 128 * 1024;

/// Lines handed to a worker at once. Bounds the rows of a batch when its lines are a few bytes each.
pub(super) const BATCH_LINES: u32 = 256;

/// Files handed to a worker at once.
pub(super) const BATCH_FILES: u32 = 32;

/// Buffers that grew beyond this for one large receipt are given back afterwards.
pub(super) const KEPT_BUFFER_BYTES: usize = 1024 * 1024;

/// Batches that exist for each job: one with the worker, one waiting for it.
pub(super) const BATCHES_PER_JOB: usize = 2;

/// Batches beyond those: one being filled, one being written.
pub(super) const SPARE_BATCHES: usize = 2;

/// Most worker threads. More than any machine has cores to offer, and bounds the memory of the batches.
pub(super) const MAX_JOBS: usize = 512;

/// Stack of a worker: the reader of strict JSON recurses 128 levels deep at most.
pub(super) const WORKER_STACK_BYTES: usize = 2 * 1024 * 1024;

/// Expanded bytes of a compressed stream before its ratio is looked at.
pub(super) const GZIP_RATIO_FREE_BYTES: u64 = 16 * 1024 * 1024;

/// Greatest ratio of expanded to compressed bytes beyond that. Each receipt carries 64 bytes of signature that
/// do not compress, which keeps honest archives far below.
pub(super) const MAX_GZIP_RATIO: u64 = 500;

/// Deepest folder below one that was given. Paths of the platforms end sooner.
pub(super) const MAX_TREE_DEPTH: usize = 1_024;

/// Bytes of the names that matter in one folder; offsets into them are 32 bits wide.
pub(super) const MAX_FOLDER_NAME_BYTES: usize = u32::MAX as usize;

/// Largest file of expected ids: more than a million ids.
pub(super) const MAX_EXPECTED_IDS_BYTES: u64 = 64 * 1024 * 1024;

/// Ids a report lists by name for each of missing, unexpected and duplicate; the counts are always complete.
pub(super) const MAX_LISTED_IDS: usize = 1_000;

/// Receipts needing attention that the text report and the printable part of the page list.
pub(super) const MAX_LISTED_RECEIPTS: usize = 100;

/// Longest value, in characters, that a report for people shows; a mark says what is missing.
pub(super) const MAX_SHOWN_CHARS: usize = 160;

/// Most documents in a folder of keys: thousands of rotations, and what is held in memory stays small.
pub(super) const MAX_KEY_DOCUMENTS: usize = 4_096;

/// How long a run lasts before its progress is shown: shorter ones need no company.
pub(super) const PROGRESS_AFTER: Duration = Duration::from_millis(1_500);

/// How often shown progress is renewed.
pub(super) const PROGRESS_EVERY: Duration = Duration::from_millis(200);
