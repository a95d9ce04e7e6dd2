//! Durations as a user writes them on the command line: `50m`, `1h 30m`, `2 days`. One place decides what is accepted.

use jiff::{Span, SpanRelativeTo};
use std::time::Duration;

/// The duration that `text` states. A day has 24 hours. Negative durations, months and years are refused.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a duration such as `50m` or `1h 30m`, found `{text}`");
    let span: Span = text.trim().parse().map_err(|_| wrong())?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Duration::try_from(duration).map_err(|_| wrong())
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
    fn everything_else_is_refused_by_an_example() {
        for text in ["", "5", "-5m", "5m ago", "1 month", "1y", "m", "1h-30m", "99999999999999999999h"] {
            let refused = parse_duration(text).unwrap_err();
            assert!(refused.contains("such as `50m`") && refused.contains(text), "{text}: {refused}");
        }
    }
}
