//! Exact instants in the RFC 3339 profile.
//!
//! Source: receipt verification, section 5.

use crate::json::Value;
use alloc::format;
use alloc::string::String;
use core::fmt;

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// An instant: nanoseconds since 1970-01-01T00:00:00Z, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i128);

impl Instant {
    /// Reads `YYYY-MM-DDTHH:MM:SS[.f]Z` with 1 to 9 fraction digits, or with an offset `+HH:MM` or `-HH:MM`
    /// in place of `Z`. `None` for anything else, `-00:00` and leap seconds included.
    ///
    /// ```
    /// use kaval_receipt::instant::Instant;
    ///
    /// let at = Instant::parse("1970-01-01T01:00:00.000000001+01:00").expect("a valid instant");
    /// assert_eq!(at.nanoseconds(), 1);
    /// assert_eq!(Instant::parse("2026-02-29T00:00:00Z"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        parse_bytes(text.as_bytes())
    }

    /// Reads a JSON value that must be a string in the profile.
    #[must_use]
    pub fn from_value(value: &Value<'_>) -> Option<Self> {
        parse_bytes(value.as_string()?.as_wtf8())
    }

    /// Milliseconds since the epoch as an instant.
    #[must_use]
    pub fn from_unix_millis(milliseconds: i64) -> Self {
        Self(i128::from(milliseconds) * NANOS_PER_MILLI)
    }

    /// Nanoseconds since the epoch; negative before it.
    #[must_use]
    pub fn nanoseconds(self) -> i128 {
        self.0
    }
}

fn parse_bytes(text: &[u8]) -> Option<Instant> {
    let (date_time, zone) = text.split_at_checked(19)?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] = date_time
    else {
        return None;
    };
    let year = number(&[y1, y2, y3, y4])?;
    let month = number(&[m1, m2])?;
    let day = number(&[d1, d2])?;
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[n1, n2])?, number(&[s1, s2])?);
    let in_range = (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 59;
    if !in_range {
        return None;
    }
    let (fraction, zone) = match zone {
        [b'.', rest @ ..] => {
            let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, zone) = rest.split_at(count);
            if !(1..=9).contains(&count) {
                return None;
            }
            let scale = 10_i64.pow(9 - u32::try_from(count).ok()?);
            (number(digits)? * scale, zone)
        }
        _ => (0, zone),
    };
    let offset_minutes = match *zone {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[h1, h2])?, number(&[m1, m2])?);
            if hours > 23 || minutes > 59 || (sign == b'-' && hours == 0 && minutes == 0) {
                return None;
            }
            let size = hours * 60 + minutes;
            if sign == b'-' { -size } else { size }
        }
        _ => return None,
    };
    let seconds = days_from_epoch(year, month, day) * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second
        - offset_minutes * 60;
    Some(Instant(i128::from(seconds) * NANOS_PER_SECOND + i128::from(fraction)))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day ends one.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

/// The instant a receipt is judged at, with the spelling that results echo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationTime {
    instant: Instant,
    spelling: String,
}

/// An evaluation time outside the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationTimeError;

impl fmt::Display for EvaluationTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time to judge at is not a valid RFC 3339 instant")
    }
}

impl core::error::Error for EvaluationTimeError {}

impl EvaluationTime {
    /// Reads an instant, whose spelling results will echo unchanged.
    ///
    /// # Errors
    ///
    /// [`EvaluationTimeError`] when the text is outside the profile.
    pub fn parse(text: &str) -> Result<Self, EvaluationTimeError> {
        let instant = Instant::parse(text).ok_or(EvaluationTimeError)?;
        Ok(Self { instant, spelling: text.into() })
    }

    /// Milliseconds since the epoch, spelled `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    ///
    /// # Errors
    ///
    /// [`EvaluationTimeError`] outside the years 0000 to 9999.
    pub fn from_unix_millis(milliseconds: i64) -> Result<Self, EvaluationTimeError> {
        let (seconds, millisecond) = (milliseconds.div_euclid(1_000), milliseconds.rem_euclid(1_000));
        let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
        let (year, month, day) = date_of(days);
        if !(0..=9_999).contains(&year) {
            return Err(EvaluationTimeError);
        }
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let spelling =
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z");
        Ok(Self { instant: Instant::from_unix_millis(milliseconds), spelling })
    }

    /// The instant.
    #[must_use]
    pub fn instant(&self) -> Instant {
        self.instant
    }

    /// The text it was given as, or the one made for it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.spelling
    }
}

/// Year, month and day of a day counted from 1970-01-01; the inverse of [`days_from_epoch`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanoseconds(text: &str) -> Option<i128> {
        Instant::parse(text).map(Instant::nanoseconds)
    }

    #[test]
    fn known_instants() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T00:00:00Z", 951_782_400),
            ("2026-07-27T14:03:11Z", 1_785_160_991),
            ("0000-01-01T00:00:00Z", -62_167_219_200),
            ("0000-02-29T00:00:00Z", -62_162_121_600),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("2026-07-20T18:04:56+05:30", 1_784_550_896),
            ("2026-07-20T04:34:56-08:00", 1_784_550_896),
            ("1970-01-01T00:00:00-00:01", 60),
            ("1970-01-01T00:00:00+00:00", 0),
        ] {
            assert_eq!(nanoseconds(text), Some(seconds * NANOS_PER_SECOND), "{text}");
        }
        assert_eq!(nanoseconds("1970-01-01T00:00:00.1Z"), Some(100_000_000));
        assert_eq!(nanoseconds("1970-01-01T00:00:00.000000001Z"), Some(1));
        assert_eq!(nanoseconds("1969-12-31T23:59:59.999999999Z"), Some(-1));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "2026-07-20",
            "2026-07-20T00:00:00",
            "2026-07-20 00:00:00Z",
            "2026-07-20t00:00:00Z",
            "2026-07-20T00:00:00z",
            "2026-07-20T00:00:00.Z",
            "2026-07-20T00:00:00.1234567890Z",
            "2026-07-20T00:00:00,5Z",
            "2026-07-20T24:00:00Z",
            "2026-07-20T23:60:00Z",
            "2026-07-20T23:59:60Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-07-00T00:00:00Z",
            "2026-07-20T00:00:00-00:00",
            "2026-07-20T00:00:00+24:00",
            "2026-07-20T00:00:00+00:60",
            "2026-07-20T00:00:00+0530",
            "2026-07-20T00:00:00+05",
            " 2026-07-20T00:00:00Z",
            "2026-07-20T00:00:00Z ",
            "+2026-07-20T00:00:00Z",
            "２026-07-20T00:00:00Z",
            "2026-7-20T00:00:00Z",
            "2026-07-20T00:00:00ZZ",
        ] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_the_calendar_round_trips() {
        let mut expected = days_from_epoch(0, 1, 1);
        for year in 0..10_000 {
            for month in 1..=12 {
                for day in [1, days_in_month(year, month)] {
                    let days = days_from_epoch(year, month, day);
                    assert_eq!(date_of(days), (year, month, day));
                    assert_eq!(days, expected + day - 1);
                }
                expected += days_in_month(year, month);
            }
        }
    }

    #[test]
    fn evaluation_times_echo_their_spelling() {
        let given = EvaluationTime::parse("2026-06-02T02:00:00.5+02:00").expect("valid");
        assert_eq!(given.as_str(), "2026-06-02T02:00:00.5+02:00");
        let made = EvaluationTime::from_unix_millis(given_millis(&given)).expect("in range");
        assert_eq!(made.as_str(), "2026-06-02T00:00:00.500Z");
        assert_eq!(made.instant(), given.instant());
        assert_eq!(EvaluationTime::parse("2026-06-02"), Err(EvaluationTimeError));
        assert_eq!(EvaluationTime::from_unix_millis(i64::MAX), Err(EvaluationTimeError));
        assert_eq!(EvaluationTime::from_unix_millis(253_402_300_800_000), Err(EvaluationTimeError));
        assert!(EvaluationTime::from_unix_millis(-62_167_219_200_000).is_ok());
    }

    fn given_millis(time: &EvaluationTime) -> i64 {
        i64::try_from(time.instant().nanoseconds() / NANOS_PER_MILLI).expect("in range")
    }
}
