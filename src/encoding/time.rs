//! Points in time as clients, HTTP headers and tools write them.

use std::ops::RangeInclusive;

use chrono::{Datelike, NaiveDate};

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Milliseconds since the Unix epoch as ISO 8601, UTC: `2026-01-02T03:04:05.678Z`.
pub fn timestamp(ms: u64) -> String {
    let day = i32::try_from(ms / DAY_MS).ok().and_then(NaiveDate::from_epoch_days);
    let day = day.unwrap_or(NaiveDate::MAX);
    let (year, month, day) = (day.year(), day.month(), day.day());
    let of_day = ms % DAY_MS;
    let (seconds, ms) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Reads an HTTP date in its preferred form (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
/// Gives milliseconds since the Unix epoch; `None` for any other form, and for dates before it.
pub fn http_date_ms(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let number = |digits: &str| digits.parse::<u16>().ok().map(u32::from);
    let words: Vec<&str> = text.split(' ').collect();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    let parts: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = parts[..] else { return None };
    let (month, _) = (1..).zip(MONTHS).find(|(_, name)| *name == month)?;
    let date = NaiveDate::from_ymd_opt(number(year)?.try_into().ok()?, month, number(day)?)?;
    let day = u64::try_from(date.to_epoch_days()).ok()?;
    let seconds = number(hour)? * 3600 + number(minute)? * 60 + number(second)?;
    Some(day * DAY_MS + u64::from(seconds) * 1000)
}

/// Whether the text is a point in time with its offset from UTC (RFC 3339, section 5.6), such as
/// `2026-01-02T03:04:05.5+01:00`.
pub fn is_point_in_time(text: &str) -> bool {
    let Some(rest) = after_date_and_time(text) else { return false };
    let digit = |c: char| c.is_ascii_digit();
    let offset = match rest.strip_prefix('.') {
        Some(fraction) if fraction.starts_with(digit) => fraction.trim_start_matches(digit),
        _ => rest,
    };
    let hours = offset.strip_prefix(['+', '-']).and_then(|hours| after_number(hours, 2, 0..=23));
    let minutes = hours.and_then(|rest| after_number(rest.strip_prefix(':')?, 2, 0..=59));
    offset == "Z" || minutes == Some("")
}

/// The text after `2026-01-02T03:04:05`.
fn after_date_and_time(text: &str) -> Option<&str> {
    let month = after_number(text, 4, 0..=9999)?.strip_prefix('-')?;
    let day = after_number(month, 2, 1..=12)?.strip_prefix('-')?;
    let hour = after_number(day, 2, 1..=31)?.strip_prefix('T')?;
    let minute = after_number(hour, 2, 0..=23)?.strip_prefix(':')?;
    let second = after_number(minute, 2, 0..=59)?.strip_prefix(':')?;
    after_number(second, 2, 0..=59)
}

/// The text after a number that has `digits` digits and lies within `range`.
fn after_number(text: &str, digits: usize, range: RangeInclusive<u16>) -> Option<&str> {
    let (number, rest) = text.split_at_checked(digits)?;
    let is_number = number.bytes().all(|b| b.is_ascii_digit());
    (is_number && range.contains(&number.parse().ok()?)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_time_is_written_to_the_millisecond() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (1_798_761_599_999, "2026-12-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(ms), text);
        }
    }

    #[test]
    fn a_date_of_a_header_is_read_in_its_preferred_form_only() {
        for (text, ms) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777_000)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799_000)),
            ("Thu, 31 Dec 2026 00:00:00 GMT", Some(1_798_675_200_000)),
            ("Mon, 01 Mar 2100 00:00:00 GMT", Some(4_107_542_400_000)),
            ("Wed, 31 Dec 1969 23:59:59 GMT", None),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun Nov  6 08:49:37 1994", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Now 1994 08:49:37 GMT", None),
            ("Sun, -6 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 4294967295 08:49:37 GMT", None),
            ("Sun, 06 Jan 0000 08:49:37 GMT", None),
            ("2", None),
            ("", None),
        ] {
            assert_eq!(http_date_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for number in 0..292_194 {
            assert_eq!(
                timestamp(number * DAY_MS),
                format!("{year:04}-{month:02}-{day:02}T00:00:00.000Z")
            );
            let last = match month {
                2 if leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }
}
