//! Unpadded base64url of a fixed length.
//!
//! Source: receipt verification, section 4.

use crate::json::Value;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Why a value is not canonical base64url of the wanted length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base64Fault {
    /// Not a string of the base64url alphabet, or empty.
    Alphabet,
    /// Another length, or spare bits that are not zero.
    NotCanonical,
}

/// Decodes a value to exactly `N` bytes.
pub(crate) fn decode<const N: usize>(value: Option<&Value<'_>>) -> Result<[u8; N], Base64Fault> {
    let text = value.and_then(Value::as_string).ok_or(Base64Fault::Alphabet)?.as_wtf8();
    let in_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if text.is_empty() || !text.iter().all(in_alphabet) {
        return Err(Base64Fault::Alphabet);
    }
    if Some(text.len()) != base64::encoded_len(N, false) {
        return Err(Base64Fault::NotCanonical);
    }
    let mut decoded = [0; N];
    match URL_SAFE_NO_PAD.decode_slice(text, &mut decoded) {
        Ok(length) if length == N => Ok(decoded),
        _ => Err(Base64Fault::NotCanonical),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_decodes() {
        let decoded = |text: &str| decode::<2>(Some(&Value::from(text)));
        assert_eq!(decoded("AQI"), Ok([1, 2]));
        assert_eq!(decoded("_-8"), Ok([0xFF, 0xEF]));
        for text in ["AQJ", "AQ", "AQID", "AQIDA"] {
            assert_eq!(decoded(text), Err(Base64Fault::NotCanonical), "{text}");
        }
        for text in ["", "AQ=", "A+I", "A I", "AQI\n", "é"] {
            assert_eq!(decoded(text), Err(Base64Fault::Alphabet), "{text}");
        }
        assert_eq!(decode::<2>(None), Err(Base64Fault::Alphabet));
        assert_eq!(decode::<2>(Some(&Value::Null)), Err(Base64Fault::Alphabet));
    }
}
