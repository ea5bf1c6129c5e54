//! Opening and reading files of one receipt.

use super::gzip::GzipReader;
use super::limits::MAX_RECEIPT_BYTES;
use super::names::{Kind, path_of};
use crate::input::{InputError, open_regular};
use std::fs::File;
use std::io::{self, Read};

/// Opens a file for reading, if it is a regular one.
///
/// # Errors
///
/// What is wrong, in words.
pub(super) fn open(path: &[u8]) -> Result<(File, u64), String> {
    open_regular(&path_of(path)).map_err(|error| match error {
        InputError::Io(error) => words(&error),
        InputError::NotRegular => "not a regular file".to_owned(),
        InputError::TooLarge { .. } => too_large(),
    })
}

/// Reads a file of one receipt into a buffer, which is emptied first.
///
/// # Errors
///
/// What is wrong, in words.
pub(super) fn read_receipt(path: &[u8], kind: Kind, buffer: &mut Vec<u8>) -> Result<(), String> {
    let (file, length) = open(path)?;
    if !kind.is_gzip && usize::try_from(length).is_ok_and(|length| length > MAX_RECEIPT_BYTES) {
        return Err(too_large());
    }
    super::batch::reset_buffer(buffer);
    // One byte over the limit is enough to know.
    let limit = u64::try_from(MAX_RECEIPT_BYTES + 1).unwrap_or(u64::MAX);
    let read = if kind.is_gzip {
        GzipReader::new(file).take(limit).read_to_end(buffer)
    } else {
        file.take(limit).read_to_end(buffer)
    };
    match read {
        Ok(_) if buffer.len() > MAX_RECEIPT_BYTES => Err(too_large()),
        Ok(_) => Ok(()),
        Err(error) => Err(words(&error)),
    }
}

fn too_large() -> String {
    format!("more than the {MAX_RECEIPT_BYTES} bytes a receipt may have")
}

/// An I/O error in words that do not depend on the platform, where there are any.
pub(super) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "reading it is not permitted".to_owned(),
        _ => error.to_string(),
    }
}
