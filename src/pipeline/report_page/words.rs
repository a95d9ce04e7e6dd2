//! Times, shares and words as the page shows them. All times are UTC, so that the page is the same on every machine.

use super::chart::Fill;
use crate::{
    ledger::RunEnd,
    model::{Verdict, state::State},
    pipeline::wording::grouped,
};
use jiff::Timestamp;

/// `3 Nov 2026 08:15`
pub fn time(at_us: i64) -> String {
    shown(at_us, "%-d %b %Y %H:%M")
}

/// `3 Nov 2026 08:15:02`
pub fn exact_time(at_us: i64) -> String {
    shown(at_us, "%-d %b %Y %H:%M:%S")
}

/// When a bucket of this length begins, as short as it can be understood.
pub fn bucket_time(at_us: i64, length_us: i64) -> String {
    use super::timeline::{HOUR_US, MINUTE_US};
    match length_us {
        length if length < MINUTE_US => shown(at_us, "%H:%M:%S"),
        length if length < 24 * HOUR_US => shown(at_us, "%-d %b %H:%M"),
        _ => shown(at_us, "%-d %b %Y"),
    }
}

fn shown(at_us: i64, format: &str) -> String {
    match Timestamp::from_microsecond(at_us) {
        Ok(at) => at.to_zoned(jiff::tz::TimeZone::UTC).strftime(format).to_string(),
        Err(_) => "a time out of range".to_owned(),
    }
}

/// A length of time: `45 s`, `12 min`, `3 h 20 min`, `11 days 4 h`.
pub fn length(us: i64) -> String {
    let seconds = us.max(0) / 1_000_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let with = |large: String, left: i64, unit: &str| if left > 0 { format!("{large} {left} {unit}") } else { large };
    match seconds {
        0..120 => format!("{seconds} s"),
        120..3_600 => with(format!("{minutes} min"), seconds % 60, "s"),
        3_600..172_800 => with(format!("{hours} h"), minutes % 60, "min"),
        _ => with(format!("{days} days"), hours % 24, "h"),
    }
}

/// A time in milliseconds: `85 ms`, `1,250 ms`, `12.5 s`.
pub fn milliseconds(ms: u64) -> String {
    if ms < 10_000 { format!("{} ms", grouped(ms)) } else { format!("{:.1} s", ms as f64 / 1_000.0) }
}

/// A share in percent. One that is neither none nor all never looks like it.
pub fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return "–".to_owned();
    }
    let percent = part as f64 * 100.0 / all as f64;
    match percent {
        _ if part == 0 => "0 %".to_owned(),
        _ if part == all => "100 %".to_owned(),
        percent if percent < 0.1 => "below 0.1 %".to_owned(),
        percent if percent > 99.9 => "above 99.9 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// Bytes: `512 bytes`, `1.5 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{} bytes", grouped(bytes)),
        10_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

pub fn fill_of(verdict: Verdict) -> Fill {
    match verdict {
        Verdict::Clear => Fill::Clear,
        Verdict::Adverse => Fill::Adverse,
        Verdict::Review => Fill::Review,
        Verdict::NotFound => Fill::NotFound,
        Verdict::Data => Fill::Data,
        Verdict::Unrecognised => Fill::Unrecognised,
    }
}

/// What a verdict means.
pub fn verdict_means(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Clear => "the answer is favourable",
        Verdict::Adverse => "the answer is unfavourable and states a fact, such as an invalid ID",
        Verdict::Review => "a person must check the answer; every name match needs that",
        Verdict::NotFound => "the source has no record",
        Verdict::Data => "the answer states facts, without a judgement",
        Verdict::Unrecognised => "no rule recognises the answer",
    }
}

/// Why an ask with a request in this state waits.
pub fn waits(state: State) -> &'static str {
    match state {
        State::Planned => "not sent yet, or refused at no charge and to be sent again",
        State::Armed => "sent, and no reply is recorded yet",
        State::InDoubt => "in doubt: it may have been charged, and the next run asks again at no further charge",
        State::Repeating => "the service said that the answer is pending; the next run asks again",
        State::Submitted => "a job at the service, without a result yet",
        State::Quarantined => "a person must decide: `rescreen resolve --list`",
        State::Answered => "answered, and not in the result files yet, or recognised by no rule",
        State::Failed => "failed",
    }
}

/// How a run ended.
pub fn ended(end: Option<&RunEnd>, is_under_way: bool) -> String {
    let Some(end) = end else {
        let text = if is_under_way { "under way" } else { "no end recorded: killed, or the machine stopped" };
        return text.to_owned();
    };
    let kind = end.kind.as_deref().map(|kind| super::block::outside(kind).replace('_', " "));
    match (end.exit_code, kind) {
        (0, _) => "complete".to_owned(),
        (3, _) => "complete, with failures (exit code 3)".to_owned(),
        (code, Some(kind)) => format!("stopped: {kind} (exit code {code})"),
        (code, None) => format!("stopped (exit code {code})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc_and_lengths_are_short() {
        assert_eq!(time(1_793_693_700_000_000), "3 Nov 2026 08:15");
        assert_eq!(exact_time(i64::MAX), "a time out of range");
        let seconds = [-5, 0, 119, 120, 200, 3_600, 3_660, 79_200, 200_000];
        let shown = seconds.map(|seconds| length(seconds * 1_000_000)).join(", ");
        assert_eq!(shown, "0 s, 0 s, 119 s, 2 min, 3 min 20 s, 1 h, 1 h 1 min, 22 h, 2 days 7 h");
        assert_eq!(bucket_time(1_793_693_700_000_000, 60_000_000), "3 Nov 08:15");
    }

    #[test]
    fn a_share_is_none_or_all_only_if_it_is() {
        let shown = [(0, 5), (5, 5), (1, 1_000_000), (999_999, 1_000_000), (1, 3), (0, 0)].map(|(a, b)| share(a, b));
        assert_eq!(shown, ["0 %", "100 %", "below 0.1 %", "above 99.9 %", "33.3 %", "–"]);
    }

    #[test]
    fn a_run_says_how_it_ended() {
        let end = |exit_code, kind: Option<&str>| RunEnd {
            at_us: 0,
            exit_code,
            kind: kind.map(str::to_owned),
            message: None,
            credits_needed: None,
        };
        assert_eq!(ended(Some(&end(4, Some("row_limit"))), false), "stopped: row limit (exit code 4)");
        assert_eq!(ended(Some(&end(0, None)), false), "complete");
        assert_eq!((ended(None, true), ended(None, false).contains("killed")), ("under way".to_owned(), true));
    }
}
