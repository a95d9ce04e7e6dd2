//! `Retry-After`: how long the service wants to be left alone. Seconds or an HTTP date, the date read against the
//! response's own `Date`, so that a wrong clock here does not shorten it.

use httpdate::parse_http_date;
use std::time::{Duration, SystemTime};

/// What the header said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// Wait this long; at least a second, so that a date in the past does not become a tight loop.
    Wait(Duration),
    /// No header, or one that cannot be read.
    Unstated,
}

const LEAST: Duration = Duration::from_secs(1);

/// Reads the header; `date` is the response's `Date`, `now` stands in for it where it is missing.
pub fn retry_after(header: Option<&str>, date: Option<&str>, now: SystemTime) -> RetryAfter {
    let Some(text) = header.map(str::trim) else { return RetryAfter::Unstated };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds is still "very long".
        let seconds = text.parse().unwrap_or(u64::from(u32::MAX)).min(u64::from(u32::MAX));
        return RetryAfter::Wait(Duration::from_secs(seconds).max(LEAST));
    }
    let Ok(until) = parse_http_date(text) else { return RetryAfter::Unstated };
    let from = date.and_then(|date| parse_http_date(date.trim()).ok()).unwrap_or(now);
    RetryAfter::Wait(until.duration_since(from).unwrap_or(Duration::ZERO).max(LEAST))
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
        assert_eq!(read("99999999999999999999"), RetryAfter::Wait(Duration::from_secs(u64::from(u32::MAX))));
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
