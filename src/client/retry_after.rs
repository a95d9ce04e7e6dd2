//! `Retry-After`: how long the service asks us to wait, in seconds or as an HTTP date. A date is compared with the
//! `Date` of the same response, so that a wrong local clock does not shorten the wait.

use httpdate::parse_http_date;
use std::time::{Duration, SystemTime};

/// The parsed header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// The wait: at least 1 second, so that a date in the past does not cause a tight loop, and at most 2^32 - 1
    /// seconds.
    Wait(Duration),
    /// No header, or an invalid one.
    Unstated,
}

const LEAST: Duration = Duration::from_secs(1);
/// 2^32 - 1 seconds, 136 years. Longer waits are cut to this.
const MOST: Duration = Duration::from_secs(u32::MAX as u64);

/// Parses the header. `date` is the response's `Date`; if it is missing, `now` is used.
pub fn retry_after(header: Option<&str>, date: Option<&str>, now: SystemTime) -> RetryAfter {
    let Some(text) = header.map(str::trim) else { return RetryAfter::Unstated };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let wait = text.parse().map_or(MOST, Duration::from_secs);
        return RetryAfter::Wait(wait.clamp(LEAST, MOST));
    }
    let Ok(until) = parse_http_date(text) else { return RetryAfter::Unstated };
    let from = date.and_then(|date| parse_http_date(date.trim()).ok()).unwrap_or(now);
    RetryAfter::Wait(until.duration_since(from).unwrap_or(Duration::ZERO).clamp(LEAST, MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Fri, 20 Nov 2026 10:00:00 GMT";

    fn read(header: &str) -> RetryAfter {
        retry_after(Some(header), Some(DATE), SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn seconds_and_dates_are_read() {
        assert_eq!(read("7"), RetryAfter::Wait(Duration::from_secs(7)));
        assert_eq!(read("Fri, 20 Nov 2026 10:00:30 GMT"), RetryAfter::Wait(Duration::from_secs(30)));
        assert_eq!(read("99999999999999999999"), RetryAfter::Wait(MOST));
        assert_eq!(read("Fri, 31 Dec 9999 23:59:59 GMT"), RetryAfter::Wait(MOST));
    }

    #[test]
    fn the_past_and_zero_become_one_second() {
        assert_eq!(read("0"), RetryAfter::Wait(LEAST));
        assert_eq!(read("Fri, 20 Nov 2026 09:00:00 GMT"), RetryAfter::Wait(LEAST));
    }

    #[test]
    fn garbage_floats_and_absence_state_nothing() {
        for header in ["", "soon", "1.5", "-3", "1e3", "Fri, 99 Nov 2026 10:00:00 GMT"] {
            assert_eq!(read(header), RetryAfter::Unstated, "{header}");
        }
        assert_eq!(retry_after(None, Some(DATE), SystemTime::UNIX_EPOCH), RetryAfter::Unstated);
    }
}
