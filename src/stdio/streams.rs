//! Standard input and output without a thread hand-off for every message.
//!
//! Tokio's own handles do each read and write on another thread, which costs four times what the rest of
//! a call costs. Pipes and sockets can be driven by the event loop instead: hosts written in Python or
//! Rust give pipes, hosts on Node give Unix sockets. Anything else (a terminal, a file) falls back.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Standard input and output as the event loop takes them best.
#[derive(Debug)]
pub struct Standard {
    /// Standard input.
    pub input: Input,
    /// Standard output.
    pub output: Output,
    /// Keep this until both are done with: it gives shared descriptors their flags back.
    pub restore: Restore,
}

/// Standard input.
#[derive(Debug)]
pub enum Input {
    /// Reads on another thread.
    Blocking(tokio::io::Stdin),
    /// A pipe in the event loop.
    #[cfg(unix)]
    Pipe(tokio::net::unix::pipe::Receiver),
    /// A socket in the event loop.
    #[cfg(unix)]
    Socket(tokio::net::UnixStream),
}

/// Standard output.
#[derive(Debug)]
pub enum Output {
    /// Writes on another thread.
    Blocking(tokio::io::Stdout),
    /// A pipe in the event loop.
    #[cfg(unix)]
    Pipe(tokio::net::unix::pipe::Sender),
    /// A socket in the event loop.
    #[cfg(unix)]
    Socket(tokio::net::UnixStream),
}

/// Gives descriptors shared with other processes their blocking mode back when dropped.
#[derive(Debug, Default)]
pub struct Restore {
    #[cfg(unix)]
    saved: Vec<(std::os::fd::OwnedFd, rustix::fs::OFlags)>,
}

/// Takes over standard input and output.
///
/// # Panics
///
/// Outside of a Tokio runtime with I/O enabled.
#[must_use]
pub fn standard_streams() -> Standard {
    #[cfg(unix)]
    {
        let mut restore = Restore::default();
        let input = unix::input(&mut restore).unwrap_or_else(|| Input::Blocking(tokio::io::stdin()));
        let output = unix::output(&mut restore).unwrap_or_else(|| Output::Blocking(tokio::io::stdout()));
        Standard { input, output, restore }
    }
    #[cfg(not(unix))]
    Standard {
        input: Input::Blocking(tokio::io::stdin()),
        output: Output::Blocking(tokio::io::stdout()),
        restore: Restore::default(),
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions};
    use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output, Restore};

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum End {
        Read,
        Write,
    }

    enum Stream {
        Pipe(OwnedFd),
        Socket(OwnedFd),
    }

    pub(super) fn input(restore: &mut Restore) -> Option<Input> {
        match open(std::io::stdin().as_fd(), End::Read, restore)? {
            Stream::Pipe(fd) => pipe::Receiver::from_owned_fd(fd).ok().map(Input::Pipe),
            Stream::Socket(fd) => UnixStream::from_std(fd.into()).ok().map(Input::Socket),
        }
    }

    pub(super) fn output(restore: &mut Restore) -> Option<Output> {
        match open(std::io::stdout().as_fd(), End::Write, restore)? {
            Stream::Pipe(fd) => pipe::Sender::from_owned_fd(fd).ok().map(Output::Pipe),
            Stream::Socket(fd) => UnixStream::from_std(fd.into()).ok().map(Output::Socket),
        }
    }

    fn open(fd: BorrowedFd<'_>, end: End, restore: &mut Restore) -> Option<Stream> {
        let own = fd.try_clone_to_owned().ok()?;
        let file = File::from(own);
        let kind = file.metadata().ok()?.file_type();
        let own = OwnedFd::from(file);
        if kind.is_fifo() {
            return match reopen(fd, end) {
                Some(fd) => Some(Stream::Pipe(fd)),
                None => unblock(own, restore).map(Stream::Pipe),
            };
        }
        kind.is_socket().then(|| unblock(own, restore).map(Stream::Socket)).flatten()
    }

    /// Opens a pipe anew, so that the flag is set on a description nobody else shares.
    fn reopen(fd: BorrowedFd<'_>, end: End) -> Option<OwnedFd> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let flag = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
        let file = OpenOptions::new()
            .read(end == End::Read)
            .write(end == End::Write)
            .custom_flags(flag)
            .open(format!("/proc/self/fd/{}", fd.as_raw_fd()))
            .ok()?;
        file.metadata().ok()?.file_type().is_fifo().then(|| file.into())
    }

    /// Sets the flag on the description that is there, and remembers how it was.
    fn unblock(fd: OwnedFd, restore: &mut Restore) -> Option<OwnedFd> {
        let before = fcntl_getfl(&fd).ok()?;
        if !before.contains(OFlags::NONBLOCK) {
            let kept = fd.try_clone().ok()?;
            fcntl_setfl(&fd, before | OFlags::NONBLOCK).ok()?;
            restore.saved.push((kept, before));
        }
        Some(fd)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        #[cfg(unix)]
        for (fd, flags) in self.saved.drain(..) {
            // Nobody is left to tell, and the process is about to end.
            let _ = rustix::fs::fcntl_setfl(&fd, flags);
        }
    }
}

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Blocking(inner) => Pin::new(inner).poll_read(cx, buffer),
            #[cfg(unix)]
            Self::Pipe(inner) => Pin::new(inner).poll_read(cx, buffer),
            #[cfg(unix)]
            Self::Socket(inner) => Pin::new(inner).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Blocking(inner) => Pin::new(inner).poll_write(cx, bytes),
            #[cfg(unix)]
            Self::Pipe(inner) => Pin::new(inner).poll_write(cx, bytes),
            #[cfg(unix)]
            Self::Socket(inner) => Pin::new(inner).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Blocking(inner) => Pin::new(inner).poll_flush(cx),
            #[cfg(unix)]
            Self::Pipe(inner) => Pin::new(inner).poll_flush(cx),
            #[cfg(unix)]
            Self::Socket(inner) => Pin::new(inner).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Blocking(inner) => Pin::new(inner).poll_shutdown(cx),
            #[cfg(unix)]
            Self::Pipe(inner) => Pin::new(inner).poll_shutdown(cx),
            #[cfg(unix)]
            Self::Socket(inner) => Pin::new(inner).poll_shutdown(cx),
        }
    }
}
