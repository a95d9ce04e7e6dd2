//! Durations as a user writes them on the command line: `50m`, `1h 30m`, `2 days`. One place decides what is accepted.

use jiff::{Span, SpanRelativeTo, Timestamp, tz::TimeZone};
use std::time::Duration;

/// The duration that `text` states. A day has 24 hours. Negative durations, months and years are refused.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a duration such as `50m` or `1h 30m`, found `{text}`");
    let span: Span = text.trim().parse().map_err(|_| wrong())?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Duration::try_from(duration).map_err(|_| wrong())
}

/// An age as a user writes it: `5y`, `18 months`, `90d`. Months and years are those of the calendar, in UTC.
#[derive(Debug, Clone, Copy)]
pub struct Age(Span);

impl Age {
    /// The age that `text` states.
    ///
    /// # Errors
    /// The text is not an age, or the age is negative.
    pub fn parse(text: &str) -> Result<Age, String> {
        let span = text.trim().parse().ok().filter(|span: &Span| !span.is_negative());
        span.map(Age).ok_or_else(|| format!("expected an age such as `5y`, `18 months` or `90d`, found `{text}`"))
    }

    /// When something of this time reaches the age, in microseconds since 1970; `None` if that is beyond the calendar.
    pub fn reached_us(self, since_us: i64) -> Option<i64> {
        let since = Timestamp::from_microsecond(since_us).ok()?.to_zoned(TimeZone::UTC);
        Some(since.checked_add(self.0).ok()?.timestamp().as_microsecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_users_write_them() {
        let texts = ["0ms", "50m", "1h 30m", "1h30m", "90 min", "2 days", "1500ms", " 2s "];
        let seconds: Vec<f64> = texts.map(|text| parse_duration(text).unwrap().as_secs_f64()).into();
        assert_eq!(seconds, [0.0, 3_000.0, 5_400.0, 5_400.0, 5_400.0, 172_800.0, 1.5, 2.0]);
    }

    #[test]
    fn an_age_is_counted_in_the_years_and_months_of_the_calendar() {
        let us = |text: &str| text.parse::<Timestamp>().unwrap().as_microsecond();
        let reached = |age: &str, since: &str| Age::parse(age).unwrap().reached_us(us(since)).unwrap();
        assert_eq!(reached("5y", "2021-10-01T10:00:00Z"), us("2026-10-01T10:00:00Z"));
        assert_eq!(reached("18 months", "2024-08-31T00:00:00Z"), us("2026-02-28T00:00:00Z"));
        assert_eq!(reached("90d", "2026-01-01T00:00:00Z"), us("2026-04-01T00:00:00Z"));
        assert_eq!(Age::parse("1y").unwrap().reached_us(i64::MAX), None);
        for text in ["", "5", "-5y", "y", "5y ago", "soon"] {
            assert!(Age::parse(text).unwrap_err().contains("such as `5y`"), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_by_an_example() {
        for text in ["", "5", "-5m", "5m ago", "1 month", "1y", "m", "1h-30m", "99999999999999999999h"] {
            let refused = parse_duration(text).unwrap_err();
            assert!(refused.contains("such as `50m`") && refused.contains(text), "{text}: {refused}");
        }
    }
}
