//! Reading compressed input with a bound on how far it may expand.

use super::limits::{GZIP_RATIO_FREE_BYTES, MAX_GZIP_RATIO};
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

/// The expanded bytes of a gzip stream of any number of members.
///
/// A stream that expands beyond all measure is an error of kind [`io::ErrorKind::InvalidData`], as is one that
/// is damaged; one that is cut short is [`io::ErrorKind::UnexpectedEof`].
pub(super) struct GzipReader<R> {
    decoder: MultiGzDecoder<Counted<R>>,
    expanded: u64,
}

struct Counted<R> {
    stream: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(into)?;
        self.bytes += u64::try_from(read).unwrap_or(u64::MAX);
        Ok(read)
    }
}

impl<R: Read> GzipReader<R> {
    /// Expands a stream.
    pub(super) fn new(stream: R) -> Self {
        Self { decoder: MultiGzDecoder::new(Counted { stream, bytes: 0 }), expanded: 0 }
    }
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the compressed data ends too early")
            }
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                io::Error::new(io::ErrorKind::InvalidData, "the compressed data is damaged or is not gzip")
            }
            _ => error,
        })?;
        self.expanded += u64::try_from(read).unwrap_or(u64::MAX);
        let compressed = self.decoder.get_ref().bytes;
        if self.expanded > GZIP_RATIO_FREE_BYTES && self.expanded / MAX_GZIP_RATIO > compressed {
            let message = format!("the compressed data expands to more than {MAX_GZIP_RATIO} times its size");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn compress(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("compresses");
        encoder.finish().expect("finishes")
    }

    fn expand(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        GzipReader::new(bytes).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn members_are_joined() {
        let both = [compress(b"one\n"), compress(b"two\n")].concat();
        assert_eq!(expand(&both).expect("expands"), b"one\ntwo\n");
    }

    #[test]
    fn damage_and_truncation_are_told_apart() {
        let whole = compress(&b"some text that compresses ".repeat(100));
        let kind = |bytes: &[u8]| expand(bytes).expect_err("refused").kind();
        assert_eq!(kind(&whole[..whole.len() - 9]), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(&whole[..5]), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(b"{\"not\":\"gzip at all\"}"), io::ErrorKind::InvalidData);
        let mut damaged = whole.clone();
        let checksum = damaged.len() - 6;
        damaged[checksum] ^= 1;
        assert_eq!(kind(&damaged), io::ErrorKind::InvalidData);
        assert_eq!(kind(&[&whole[..], b"rubbish after the end"].concat()), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_bomb_is_refused_and_a_small_one_is_not_one() {
        let small = compress(&vec![b' '; 1024 * 1024]);
        assert_eq!(expand(&small).expect("expands").len(), 1024 * 1024);
        let error = expand(&compress(&vec![b' '; 20 * 1024 * 1024])).expect_err("refused");
        assert!(error.to_string().contains("500 times"), "{error}");
    }
}
