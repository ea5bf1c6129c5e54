//! Numbers: the token rule, the checks against lossy conversion, ECMAScript spelling.

use alloc::vec::Vec;

/// Longest number token, in characters. Bounds the work of the exact comparison.
///
/// Source: receipt verification, section 1.2.
const MAX_TOKEN_LEN: usize = 1_000;

/// Doubles of this magnitude and above are all integers beyond the safe range.
const UNSAFE_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Integers of up to this many digits are exact in a double, so nothing can have been lost.
const EXACT_INTEGER_DIGITS: usize = 15;

/// Cap for exponent arithmetic. Tokens have at most 1,000 digits, so anything near this is far outside what
/// a double can hold and was refused before, or is a zero.
const EXPONENT_CAP: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberFault {
    Lossy,
    NotFinite,
    TooLong,
    UnsafeInteger,
}

/// Length of the number token at the start of `bytes`, or `None` when there is none.
pub(super) fn token_len(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let tail = bytes.get(from..).unwrap_or_default();
        tail.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(tail.len())
    };
    let mut end = usize::from(bytes.first() == Some(&b'-'));
    end += match bytes.get(end) {
        Some(b'0') => 1,
        Some(b'1'..=b'9') => digits(end),
        _ => return None,
    };
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}

/// Converts a token that [`token_len`] delimited, refusing whatever a double would change.
pub(super) fn convert(token: &str) -> Result<f64, NumberFault> {
    if token.len() > MAX_TOKEN_LEN {
        return Err(NumberFault::TooLong);
    }
    let is_integer = !token.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    let value: f64 = token.parse().map_err(|_| NumberFault::NotFinite)?;
    if is_integer && token.len() <= EXACT_INTEGER_DIGITS {
        return Ok(value);
    }
    if value.is_infinite() {
        return Err(NumberFault::NotFinite);
    }
    if value.abs() >= UNSAFE_INTEGER {
        return Err(NumberFault::UnsafeInteger);
    }
    let mut buffer = ryu_js::Buffer::new();
    if same_decimal(token, buffer.format_finite(value)) { Ok(value) } else { Err(NumberFault::Lossy) }
}

/// Whether two spellings name exactly the same decimal number.
fn same_decimal(left: &str, right: &str) -> bool {
    let (left, right) = (Decimal::read(left), Decimal::read(right));
    match (left.is_zero(), right.is_zero()) {
        (true, true) => true,
        (false, false) => {
            left.negative == right.negative
                && left.exponent() == right.exponent()
                && left.digits().eq(right.digits())
        }
        _ => false,
    }
}

/// A decimal spelling, taken apart without copying.
struct Decimal<'t> {
    negative: bool,
    whole: &'t [u8],
    fraction: &'t [u8],
    scale: i64,
}

impl<'t> Decimal<'t> {
    fn read(token: &'t str) -> Self {
        let bytes = token.as_bytes();
        let (negative, bytes) = match bytes {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, bytes),
        };
        let split = bytes.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (mantissa, scale) = match split.map(|at| bytes.split_at(at)) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent.get(1..).unwrap_or_default())),
            None => (bytes, 0),
        };
        let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
        let (whole, fraction) = mantissa.split_at(point);
        Self { negative, whole, fraction: fraction.get(1..).unwrap_or_default(), scale }
    }

    fn all_digits(&self) -> impl DoubleEndedIterator<Item = u8> + use<'t> {
        self.whole.iter().chain(self.fraction).copied()
    }

    fn is_zero(&self) -> bool {
        self.all_digits().all(|digit| digit == b'0')
    }

    fn trailing_zeros(&self) -> usize {
        self.all_digits().rev().take_while(|&digit| digit == b'0').count()
    }

    /// Power of ten of the last significant digit.
    fn exponent(&self) -> i64 {
        let count = |n: usize| i64::try_from(n).unwrap_or(EXPONENT_CAP);
        self.scale - count(self.fraction.len()) + count(self.trailing_zeros())
    }

    /// Significant digits, without zeros at either end.
    fn digits(&self) -> impl Iterator<Item = u8> + use<'t> {
        let total = self.whole.len() + self.fraction.len();
        self.all_digits().take(total - self.trailing_zeros()).skip_while(|&digit| digit == b'0')
    }
}

fn read_exponent(text: &[u8]) -> i64 {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let size = digits
        .iter()
        .fold(0_i64, |size, digit| (size * 10 + i64::from(digit.wrapping_sub(b'0'))).min(EXPONENT_CAP));
    if negative { -size } else { size }
}

/// Appends the ECMAScript spelling of a finite double.
///
/// Source: ECMA-262, `Number::toString`.
pub(crate) fn write_number(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn tokens_are_longest_prefixes() {
        for (text, length) in [
            ("01", Some(1)),
            ("1.", Some(1)),
            ("1e", Some(1)),
            ("1e+", Some(1)),
            ("-0.5e-3x", Some(7)),
            ("-", None),
            (".5", None),
            ("+1", None),
            ("10.25E+7,", Some(8)),
        ] {
            assert_eq!(token_len(text.as_bytes()), length, "{text}");
        }
    }

    #[test]
    fn exact_spellings_pass() {
        for token in [
            "1.0",
            "1e0",
            "100e-2",
            "1.10",
            "-0",
            "-0.0",
            "0e10",
            "0e99",
            "5e-324",
            "9007199254740991",
            "-9007199254740991",
            "0.1",
            "1e-30",
            "0.000001",
            "123456789012345",
            "1234567890123456",
            "9007199254740991.0",
            "4503599627370495.5",
        ] {
            assert!(convert(token).is_ok(), "{token}");
        }
        let zero = String::from("0e") + &"9".repeat(900);
        assert_eq!(convert(&zero), Ok(0.0));
    }

    #[test]
    fn each_fault_has_its_name() {
        for (token, fault) in [
            ("0.10000000000000001", NumberFault::Lossy),
            ("1.0000000000000001", NumberFault::Lossy),
            ("1e-400", NumberFault::Lossy),
            ("4.94e-324", NumberFault::Lossy),
            ("0.3000000000000000444", NumberFault::Lossy),
            ("9007199254740992", NumberFault::UnsafeInteger),
            ("9007199254740993", NumberFault::UnsafeInteger),
            ("-9007199254740992", NumberFault::UnsafeInteger),
            ("9.007199254740992e15", NumberFault::UnsafeInteger),
            ("1e21", NumberFault::UnsafeInteger),
            ("1.7976931348623157e308", NumberFault::UnsafeInteger),
            ("1e400", NumberFault::NotFinite),
            ("-1e400", NumberFault::NotFinite),
        ] {
            assert_eq!(convert(token), Err(fault), "{token}");
        }
        let tiny = String::from("1e-") + &"9".repeat(900);
        assert_eq!(convert(&tiny), Err(NumberFault::Lossy));
        let huge = String::from("1e") + &"9".repeat(900);
        assert_eq!(convert(&huge), Err(NumberFault::NotFinite));
        let shifted = String::from("1") + &"0".repeat(600) + "e-600";
        assert_eq!(convert(&shifted), Ok(1.0));
        assert_eq!(convert(&"1".repeat(1_001)), Err(NumberFault::TooLong));
        assert_eq!(convert(&"1".repeat(1_000)), Err(NumberFault::NotFinite));
        assert_eq!(convert(&(String::from("0.") + &"0".repeat(998))), Ok(0.0));
    }
}
