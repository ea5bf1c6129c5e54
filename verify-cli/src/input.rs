//! Reading files and stdin within limits. Every way in which that can end has a name.

use crate::escape::Escaped;
use crate::exit::Failure;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Largest receipt document, in bytes. Source: receipt verification, section 11.
pub(crate) const MAX_RECEIPT_BYTES: u64 = 8_388_608;
/// Largest key document, in bytes. Source: receipt verification, section 11.
pub(crate) const MAX_KEYSET_BYTES: u64 = 1_048_576;

/// Where a document comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input, written `-`.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// The source a command line argument names.
    pub(crate) fn from_argument(argument: &Path) -> Self {
        if argument.as_os_str() == "-" { Self::Stdin } else { Self::File(argument.to_owned()) }
    }

    /// Reads all of it.
    ///
    /// # Errors
    ///
    /// [`InputError`] when it is missing, not a regular file, over the limit, or fails to be read.
    pub(crate) fn read(&self, max_bytes: u64) -> Result<Vec<u8>, InputError> {
        match self {
            Self::Stdin => read_all(io::stdin().lock(), 0, max_bytes),
            Self::File(path) => {
                let (file, length) = open_regular(path)?;
                if length > max_bytes {
                    return Err(InputError::TooLarge { max_bytes });
                }
                read_all(file, length, max_bytes)
            }
        }
    }
}

/// The name shown to people, with control characters escaped.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::File(path) => Escaped::new(&path.to_string_lossy()).fmt(f),
        }
    }
}

/// Why an input could not be read.
#[derive(Debug)]
pub(crate) enum InputError {
    /// Reading failed, or the file is missing.
    Io(io::Error),
    /// A directory, FIFO, socket or device.
    NotRegular,
    /// More bytes than allowed.
    TooLarge {
        /// The limit.
        max_bytes: u64,
    },
}

impl InputError {
    /// The failure `unreadable`, naming the source.
    pub(crate) fn into_failure(self, source: &Source) -> Failure {
        Failure::unreadable(match self {
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => format!("{source} does not exist"),
            Self::Io(error) => format!("{source} cannot be read: {error}"),
            Self::NotRegular => format!("{source} is not a regular file"),
            Self::TooLarge { max_bytes } => format!("{source} exceeds the {max_bytes}-byte limit"),
        })
    }
}

/// Opens a regular file and says how long it claims to be.
///
/// The kind is looked at before opening, because opening a FIFO would wait for somebody to write to it, and
/// again afterwards, because the name may stand for something else by then.
///
/// # Errors
///
/// [`InputError`] when it is missing, not a regular file, or cannot be opened.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), InputError> {
    if !fs::metadata(path).map_err(InputError::Io)?.is_file() {
        return Err(InputError::NotRegular);
    }
    let file = File::open(path).map_err(InputError::Io)?;
    let metadata = file.metadata().map_err(InputError::Io)?;
    if metadata.is_file() { Ok((file, metadata.len())) } else { Err(InputError::NotRegular) }
}

fn read_all(input: impl Read, expected: u64, max_bytes: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0).saturating_add(1));
    // One byte more than allowed tells a full input from one that goes on.
    input.take(max_bytes + 1).read_to_end(&mut bytes).map_err(InputError::Io)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= max_bytes) {
        Ok(bytes)
    } else {
        Err(InputError::TooLarge { max_bytes })
    }
}

/// What a text that is not strict JSON may be instead, for the advice beside the error.
pub(crate) fn encoding_hint(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xEF, 0xBB, 0xBF, ..] => " (it starts with a byte order mark, which JSON does not allow)",
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => " (it looks like UTF-16; JSON is UTF-8)",
        _ if bytes.contains(&0) => " (it holds NUL bytes)",
        [] => " (it is empty)",
        _ => "",
    }
}
