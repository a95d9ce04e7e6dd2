//! `Retry-After`: how long the service asks us to wait, in seconds or as an HTTP date. Of several, the longest counts,
//! because each may come from another server on the way. A date is compared with the
//! `Date` of the same response, so that a wrong local clock does not shorten the wait.

use httpdate::parse_http_date;
use std::time::{Duration, SystemTime};

/// A date in the past must not cause a tight loop.
const LEAST: Duration = Duration::from_secs(1);
/// 2^32 - 1 seconds, 136 years. Longer waits are cut to this.
const MOST: Duration = Duration::from_secs(u32::MAX as u64);

/// The wait that the header states; `None` without a valid header. A date is compared with `date`, which is the `Date` of
/// the response, or with `now` if it has none.
pub(super) fn retry_after(header: Option<&str>, date: Option<&str>, now: SystemTime) -> Option<Duration> {
    let text = header?.trim();
    let wait = seconds(text).or_else(|| {
        let until = parse_http_date(text).ok()?;
        let from = date.and_then(|date| parse_http_date(date.trim()).ok()).unwrap_or(now);
        Some(until.duration_since(from).unwrap_or(Duration::ZERO))
    });
    wait.map(|wait| wait.clamp(LEAST, MOST))
}

/// A number of seconds. A fraction, which the standard does not allow and some servers send, is rounded up.
fn seconds(text: &str) -> Option<Duration> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let more = u64::from(fraction.bytes().any(|digit| digit != b'0'));
    Some(whole.parse::<u64>().map_or(MOST, |whole| Duration::from_secs(whole.saturating_add(more))))
}

/// The header that states the longest wait; the first if none is valid.
pub(super) fn longest<'a>(
    headers: impl Iterator<Item = &'a str>,
    date: Option<&str>,
    now: SystemTime,
) -> Option<&'a str> {
    let wait = |header| retry_after(Some(header), date, now);
    headers.reduce(|longest, header| if wait(header) > wait(longest) { header } else { longest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Fri, 20 Nov 2026 10:00:00 GMT";

    fn read(header: &str) -> Option<Duration> {
        retry_after(Some(header), Some(DATE), SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn seconds_and_dates_are_read() {
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("Fri, 20 Nov 2026 10:00:30 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(read("99999999999999999999"), Some(MOST));
        assert_eq!(read("Fri, 31 Dec 9999 23:59:59 GMT"), Some(MOST));
    }

    #[test]
    fn the_past_and_zero_become_one_second() {
        assert_eq!(read("0"), Some(LEAST));
        assert_eq!(read("Fri, 20 Nov 2026 09:00:00 GMT"), Some(LEAST));
    }

    #[test]
    fn a_fraction_of_a_second_is_rounded_up() {
        for (header, seconds) in [("12.5", 13), ("12.0", 12), ("0.2", 1), ("1.000001", 2)] {
            assert_eq!(read(header), Some(Duration::from_secs(seconds)), "{header}");
        }
        assert_eq!(read("99999999999999999999.5"), Some(MOST));
    }

    #[test]
    fn of_several_headers_the_longest_wait_counts_and_what_is_invalid_does_not() {
        let of = |headers: &[&'static str]| longest(headers.iter().copied(), Some(DATE), SystemTime::UNIX_EPOCH);
        assert_eq!(of(&["5", "120", "7.5"]), Some("120"));
        assert_eq!(of(&["soon", "5", "-9"]), Some("5"));
        assert_eq!(of(&["9", "Fri, 20 Nov 2026 10:00:30 GMT"]), Some("Fri, 20 Nov 2026 10:00:30 GMT"));
        assert_eq!((of(&["soon", "later"]), of(&[])), (Some("soon"), None));
    }

    #[test]
    fn garbage_and_absence_state_nothing() {
        for header in ["", "soon", "1.", ".5", "1.5.0", "1,5", "-3", "1e3", "Fri, 99 Nov 2026 10:00:00 GMT"] {
            assert_eq!(read(header), None, "{header}");
        }
        assert_eq!(retry_after(None, Some(DATE), SystemTime::UNIX_EPOCH), None);
    }
}
