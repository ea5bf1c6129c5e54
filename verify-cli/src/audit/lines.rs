//! Cutting a stream into batches of whole lines without ever holding more than one long line.

use super::limits::{BATCH_BYTES, BATCH_LINES, MAX_RECEIPT_BYTES};
use std::io::{self, Read};

/// Cuts a stream into whole lines.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    stream: R,
    buffer: Vec<u8>,
    /// Where the bytes not handed out yet start.
    start: usize,
    /// Number of the line at `start`, from 1.
    line: u64,
    is_at_end: bool,
}

/// What came next in a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Whole lines were appended to the buffer given; the first has this number.
    Lines(u64),
    /// The line of this number is longer than a receipt may be. It was skipped.
    TooLong(u64),
    /// The stream is used up.
    End,
}

impl<R: Read> LineReader<R> {
    /// Reads lines from a stream.
    pub(super) fn new(stream: R) -> Self {
        Self { stream, buffer: Vec::new(), start: 0, line: 1, is_at_end: false }
    }

    /// The number of the line that would come next.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Appends the next lines to `out`: about [`BATCH_BYTES`] or [`BATCH_LINES`] of them, or one longer line.
    /// Only the last line of a stream can lack its line end.
    ///
    /// # Errors
    ///
    /// Whatever the stream answers; the lines before it have been handed out by then.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) -> io::Result<Next> {
        let mut searched = 0;
        loop {
            let pending = self.buffer.get(self.start..).unwrap_or_default();
            let (cut, lines) = whole_lines(pending, searched);
            if cut > 0 {
                return Ok(self.hand_out(out, cut, lines));
            }
            if self.is_at_end {
                return Ok(self.last_line(out));
            }
            // One byte more than a receipt may have could still be the CR of the line end.
            if pending.len() > MAX_RECEIPT_BYTES + 1 {
                return self.skip_line();
            }
            searched = pending.len();
            self.compact();
            self.fill()?;
        }
    }

    fn hand_out(&mut self, out: &mut Vec<u8>, cut: usize, lines: u32) -> Next {
        let end = self.start + cut;
        out.extend_from_slice(self.buffer.get(self.start..end).unwrap_or_default());
        self.start = end;
        let first = self.line;
        self.line += u64::from(lines);
        Next::Lines(first)
    }

    fn last_line(&mut self, out: &mut Vec<u8>) -> Next {
        match self.buffer.len() - self.start {
            0 => Next::End,
            length => self.hand_out(out, length, 1),
        }
    }

    /// Skips the rest of a line, which may be endless, without keeping it.
    fn skip_line(&mut self) -> io::Result<Next> {
        let line = self.line;
        self.line += 1;
        loop {
            super::batch::reset_buffer(&mut self.buffer);
            self.start = 0;
            if self.is_at_end {
                return Ok(Next::TooLong(line));
            }
            self.fill()?;
            if let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                self.start = end + 1;
                return Ok(Next::TooLong(line));
            }
        }
    }

    /// Moves what is pending to the front of the buffer.
    fn compact(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.len() < BATCH_BYTES {
            self.buffer.shrink_to(super::limits::KEPT_BUFFER_BYTES);
        }
    }

    /// Reads once more, up to a batch.
    fn fill(&mut self) -> io::Result<()> {
        let filled = self.buffer.len();
        self.buffer.resize(filled + BATCH_BYTES, 0);
        let read = loop {
            match self.stream.read(self.buffer.get_mut(filled..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(filled + read.as_ref().copied().unwrap_or(0));
        self.is_at_end = read? == 0;
        Ok(())
    }
}

/// Length and number of the whole lines to hand out, given that the first `searched` bytes hold no line end.
fn whole_lines(bytes: &[u8], searched: usize) -> (usize, u32) {
    let (mut cut, mut lines) = (0, 0);
    for end in memchr::memchr_iter(b'\n', bytes.get(searched..).unwrap_or_default()) {
        let end = searched + end + 1;
        if lines > 0 && end > BATCH_BYTES {
            break;
        }
        (cut, lines) = (end, lines + 1);
        if lines == BATCH_LINES {
            break;
        }
    }
    (cut, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers at most so many bytes at a time, then an error if there is one.
    struct Dribble<'b>(&'b [u8], usize, Option<io::ErrorKind>);

    impl Read for Dribble<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(self.1).min(into.len());
            let (now, later) = self.0.split_at(length);
            into[..length].copy_from_slice(now);
            self.0 = later;
            match self.2 {
                Some(kind) if length == 0 => Err(kind.into()),
                _ => Ok(length),
            }
        }
    }

    fn lines_of(bytes: &[u8], at_once: usize) -> Vec<(u64, Vec<u8>)> {
        let mut reader = LineReader::new(Dribble(bytes, at_once, None));
        let mut lines = Vec::new();
        loop {
            let mut batch = Vec::new();
            match reader.next(&mut batch).expect("no error") {
                Next::End => return lines,
                Next::TooLong(line) => lines.push((line, b"TOO LONG".to_vec())),
                Next::Lines(first) => {
                    for (line, text) in (first..).zip(batch.split_inclusive(|&byte| byte == b'\n')) {
                        lines.push((line, text.strip_suffix(b"\n").unwrap_or(text).to_vec()));
                    }
                }
            }
        }
    }

    #[test]
    fn every_line_comes_once_with_its_number_however_it_arrives() {
        let text = b"a\r\n\n\nbb\n\xff\0\nlast";
        let expected: Vec<(u64, Vec<u8>)> =
            (1..).zip(text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec)).collect();
        for at_once in [1, 2, 3, 7, 1000] {
            assert_eq!(lines_of(text, at_once), expected, "{at_once} at once");
        }
        assert_eq!(lines_of(b"", 1), []);
        assert_eq!(lines_of(b"\n", 1), [(1, Vec::new())]);
    }

    #[test]
    fn batches_are_bounded_by_lines_and_by_bytes() {
        let mut reader = LineReader::new(Dribble(&[b'\n'; 1000], 1000, None));
        let mut batch = Vec::new();
        assert_eq!(reader.next(&mut batch).expect("no error"), Next::Lines(1));
        assert_eq!(batch.len(), BATCH_LINES as usize);
        batch.clear();
        assert_eq!(reader.next(&mut batch).expect("no error"), Next::Lines(1 + u64::from(BATCH_LINES)));

        let line = [vec![b'x'; 1500], vec![b'\n']].concat().repeat(1000);
        let mut reader = LineReader::new(Dribble(&line, usize::MAX, None));
        while reader
            .next({
                batch.clear();
                &mut batch
            })
            .expect("no error")
            != Next::End
        {
            assert!(batch.len() <= BATCH_BYTES && batch.len() % 1501 == 0, "{}", batch.len());
        }
    }

    #[test]
    fn a_line_far_over_the_limit_is_skipped_and_one_at_it_is_not() {
        let fits = vec![b' '; MAX_RECEIPT_BYTES];
        // What ends within the read that passes the limit is handed out, for the worker to refuse.
        let over = vec![b' '; MAX_RECEIPT_BYTES + 2 * BATCH_BYTES];
        let text = [&fits[..], b"\r\n", &over, b"\nnext\n", &over, &over].concat();
        let lines = lines_of(&text, usize::MAX);
        let lengths: Vec<(u64, usize)> = lines.iter().map(|(line, text)| (*line, text.len())).collect();
        assert_eq!(lengths, [(1, MAX_RECEIPT_BYTES + 1), (2, 8), (3, 4), (4, 8)]);
    }

    #[test]
    fn an_error_comes_after_the_lines_before_it() {
        let mut reader = LineReader::new(Dribble(b"one\ntw", 10, Some(io::ErrorKind::UnexpectedEof)));
        let mut batch = Vec::new();
        assert_eq!(reader.next(&mut batch).expect("a line"), Next::Lines(1));
        assert_eq!(batch, b"one\n");
        let error = reader.next(&mut batch).expect_err("the stream broke");
        assert_eq!((error.kind(), reader.line()), (io::ErrorKind::UnexpectedEof, 2));
    }
}
