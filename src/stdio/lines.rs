//! Splits a byte stream into lines of bounded length.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::id_scan::IdScan;

/// Longest message accepted, in bytes without its newline.
///
/// Tool arguments are tens of kilobytes at most (a check is 2 x 10,000 characters and 20 claims); this
/// leaves room for escapes and for members that hosts add, and keeps one line from filling the memory.
pub(crate) const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Room asked of the reader at a time: one pipe buffer of Linux.
const READ_BYTES: usize = 64 * 1024;

/// One step of the input.
#[derive(Debug)]
pub(crate) enum Line {
    /// A complete line, without its newline; fetch the bytes with [`Lines::text`].
    Complete { start: usize, end: usize },
    /// A line over [`MAX_LINE_BYTES`] went by; the id that could be read from it.
    TooLong { id: Option<String> },
    /// The end of the input.
    End,
}

/// Reads lines; dropping a pending [`Lines::next`] loses nothing.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the next line starts in `buffer`.
    start: usize,
    /// Bytes after `start` already known to hold no newline.
    scanned: usize,
    /// Set while the rest of an oversized line is thrown away.
    skipping: Option<IdScan>,
    ended: bool,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::with_limit(reader, MAX_LINE_BYTES)
    }

    fn with_limit(reader: R, limit: usize) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, scanned: 0, skipping: None, ended: false, limit }
    }

    pub(crate) fn text(&self, start: usize, end: usize) -> &[u8] {
        self.buffer.get(start..end).unwrap_or_default()
    }

    /// The next line, or what stood in its place.
    ///
    /// # Errors
    ///
    /// Whatever the reader reports; a reset connection counts as the end of the input.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(line);
            }
            if self.ended {
                return Ok(self.last());
            }
            self.make_room();
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.ended = true,
                Err(error) => return Err(error),
            }
        }
    }

    fn buffered(&mut self) -> Option<Line> {
        let fresh = self.buffer.get(self.start + self.scanned..).unwrap_or_default();
        if let Some(at) = memchr::memchr(b'\n', fresh) {
            let (start, end) = (self.start, self.start + self.scanned + at);
            self.start = end + 1;
            self.scanned = 0;
            if let Some(scan) = self.skipping.take() {
                return Some(self.finish_skipping(scan, start, end));
            }
            if end - start > self.limit {
                return Some(self.finish_skipping(IdScan::default(), start, end));
            }
            return Some(Line::Complete { start, end });
        }
        self.scanned += fresh.len();
        if self.skipping.is_some() || self.scanned > self.limit {
            let mut scan = self.skipping.take().unwrap_or_default();
            scan.feed(self.buffer.get(self.start..).unwrap_or_default());
            self.skipping = Some(scan);
            self.buffer = Vec::new();
            self.start = 0;
            self.scanned = 0;
        }
        None
    }

    fn finish_skipping(&self, mut scan: IdScan, start: usize, end: usize) -> Line {
        scan.feed(self.text(start, end));
        Line::TooLong { id: scan.finish() }
    }

    /// What is left once the input has ended: a last line without a newline counts as a line.
    fn last(&mut self) -> Line {
        if let Some(scan) = self.skipping.take() {
            return Line::TooLong { id: scan.finish() };
        }
        let (start, end) = (self.start, self.buffer.len());
        self.start = end;
        self.scanned = 0;
        if start == end { Line::End } else { Line::Complete { start, end } }
    }

    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            // One long line must not keep its memory for the rest of the session.
            self.buffer.shrink_to(READ_BYTES);
            self.start = 0;
        } else if self.start > 0 && self.buffer.capacity() - self.buffer.len() < READ_BYTES / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES / 2 {
            self.buffer.reserve(READ_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out `step` bytes at a time.
    struct Trickle<'a> {
        left: &'a [u8],
        step: usize,
    }

    impl AsyncRead for Trickle<'_> {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            let take = self.step.min(self.left.len()).min(buffer.remaining());
            let (now, later) = self.left.split_at(take);
            buffer.put_slice(now);
            self.left = later;
            std::task::Poll::Ready(Ok(()))
        }
    }

    fn lines(input: &str, limit: usize, step: usize) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = Lines::with_limit(Trickle { left: input.as_bytes(), step }, limit);
            let mut seen = Vec::new();
            loop {
                match lines.next().await.unwrap() {
                    Line::Complete { start, end } => {
                        seen.push(String::from_utf8(lines.text(start, end).to_vec()).unwrap());
                    }
                    Line::TooLong { id } => seen.push(format!("too long, id {id:?}")),
                    Line::End => return seen,
                }
            }
        })
    }

    #[test]
    fn cuts_at_newlines_whatever_the_read_size() {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(lines("a\n\nbc\r\nd", 100, step), ["a", "", "bc\r", "d"], "step {step}");
            assert!(lines("", 100, step).is_empty());
        }
    }

    #[test]
    fn drops_a_long_line_and_goes_on() {
        let long = r#"{"params":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","id":9}"#;
        for step in [1, 5, 1000] {
            let input = format!("ok\n{long}\nnext\n{long}");
            let want = ["ok", r#"too long, id Some("9")"#, "next", r#"too long, id Some("9")"#];
            // At the end of the input the last line is complete only if it fits.
            let seen = lines(&input, 20, step);
            assert_eq!(seen[..3], want[..3], "step {step}");
            assert_eq!(seen.len(), 4, "step {step}");
        }
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        assert_eq!(lines("12345\n123456\n", 5, 100), ["12345", "too long, id None"]);
    }
}
