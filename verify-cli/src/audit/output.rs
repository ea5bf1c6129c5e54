//! Where a report goes: standard output, or a file that appears only once it is whole.

use super::names::{bytes_of, kind_of};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a report goes.
#[derive(Debug)]
pub(super) enum Output {
    /// Standard output.
    Stdout(BufWriter<io::Stdout>),
    /// A file beside its final place, moved there at the end.
    Staged {
        /// What is written.
        file: BufWriter<NamedTempFile>,
        /// Where it goes.
        path: PathBuf,
    },
    /// Something that is not a regular file, such as a device or a FIFO: it cannot be replaced.
    Direct(BufWriter<File>),
}

/// The input that a report at that place would replace: the very file, or the folder in which it counts as a
/// receipt or key document. A receipt may exist nowhere else.
pub(super) fn replaced<'i>(place: &Path, inputs: impl IntoIterator<Item = &'i Path>) -> Option<&'i Path> {
    let place = place.canonicalize().ok().filter(|place| place.is_file())?;
    let is_receipt = kind_of(bytes_of(place.as_os_str())).is_some();
    inputs.into_iter().find(|input| {
        let input = input.canonicalize();
        input.is_ok_and(|input| place == input || (is_receipt && place.starts_with(input)))
    })
}

impl Output {
    /// Opens the place of the report.
    ///
    /// # Errors
    ///
    /// When nothing can be written there.
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else {
            return Ok(Self::Stdout(BufWriter::new(io::stdout())));
        };
        // A link keeps pointing where it points.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                Ok(Self::Direct(BufWriter::new(File::options().write(true).open(path)?)))
            }
            _ => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let mut builder = tempfile::Builder::new();
                builder.prefix(".receipt-verify-").suffix(".part");
                #[cfg(unix)]
                {
                    // As any new file; the umask takes its part away.
                    use std::os::unix::fs::PermissionsExt;
                    builder.permissions(std::fs::Permissions::from_mode(0o666));
                }
                let file = BufWriter::new(builder.tempfile_in(folder.unwrap_or(Path::new(".")))?);
                Ok(Self::Staged { file, path })
            }
        }
    }

    /// Completes the report.
    ///
    /// # Errors
    ///
    /// When it could not be written to its end; then there is no file.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush(),
            Self::Direct(mut out) => out.flush(),
            Self::Staged { file, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.as_file().sync_all()?;
                file.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Direct(out) => out.write(bytes),
            Self::Staged { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Direct(out) => out.flush(),
            Self::Staged { file, .. } => file.flush(),
        }
    }
}
