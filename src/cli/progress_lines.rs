//! The text of the progress: a pure function of the progress, the time, the size of the terminal and whether it shows
//! colours. Decides what is shown, and what is left out when there is no room: parts are dropped from the right, so that
//! no line is broken.

use super::{
    colour::{Ink, painted},
    screen::{Line, Size},
    wrap::cut_line,
};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use rescreen::{
    ledger::{CheckSums, UNREADABLE_ROWS},
    model::state::State,
    pipeline::{
        Draining, Progress, Signal,
        wording::{counted, grouped},
    },
};
use serde_json::{Map, Value, json};
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// Shown in place of a value that is not known yet.
const UNKNOWN: &str = "…";
/// The longest name of a check that is shown in full.
const NAME_MAX: usize = 28;

/// A part of a line: what separates it from the part before, its text, and its colour.
struct Part(&'static str, String, Option<Ink>);

/// The lines of the progress on a terminal of this size.
pub fn lines(progress: &Progress, now: &Zoned, size: Size, is_coloured: bool) -> Vec<Line> {
    // A line that fills the last column would be broken by some terminals.
    let width = size.columns.saturating_sub(1).max(1);
    let mut below = vec![rate_line(progress, now)];
    below.extend(failures(progress));
    below.extend(wait(progress, now));
    below.extend(draining(progress, now));
    below.extend(publishing(progress));
    let room = size.rows.saturating_sub(below.len() + 2).max(1);
    let mut parts = checks(progress, width);
    if parts.len() > room {
        let hidden = parts.len() - (room - 1);
        parts.truncate(room - 1);
        parts.push(vec![Part("", format!("… and {}", counted(hidden as u64, "check", "checks")), Some(Ink::Faint))]);
    }
    parts.extend(below);
    parts.iter().map(|parts| fitted(parts, width, is_coloured)).collect()
}

/// The same facts on one line, for a log.
pub fn log_line(progress: &Progress, now: &Zoned) -> String {
    let mut all: Vec<Vec<Part>> = checks(progress, usize::MAX);
    all.push(rate_line(progress, now));
    all.extend(failures(progress));
    all.extend(wait(progress, now));
    all.extend(draining(progress, now));
    let text = |parts: &Vec<Part>| -> String {
        let joined: String = parts.iter().map(|Part(before, text, _)| format!("{before}{text}")).collect();
        // The padding is for columns below each other.
        joined.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    all.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// The same behind the time of day, for a log that does not add it.
pub fn dated_line(progress: &Progress, now: &Zoned) -> String {
    format!("{} {}", now.timestamp().strftime("%FT%TZ"), log_line(progress, now))
}

/// The same facts for programs.
pub fn facts(progress: &Progress, now: &Zoned) -> Map<String, Value> {
    let account = &progress.sums.account;
    let check = |(name, sums): (&str, &CheckSums)| {
        let verdicts: Map<String, Value> =
            sums.verdicts.iter().map(|(verdict, count)| (verdict.as_str().to_owned(), json!(count))).collect();
        json!({ "check": name, "done": done(sums), "of": sums.asks - sums.skipped, "verdicts": verdicts,
                "failed": sums.failed() })
    };
    let failures: Map<String, Value> =
        progress.sums.failures().into_iter().map(|(code, count)| (code.as_str().to_owned(), json!(count))).collect();
    let wait = progress.wait.as_ref();
    let facts = json!({
        "checks": named(progress).into_iter().map(check).collect::<Vec<_>>(),
        "failures": failures,
        "requests_per_minute": progress.rate.map(|rate| rate.round() as u64),
        "seconds_left": left(progress).map(|left| left.as_secs()),
        "in_flight": progress.in_flight,
        "credits_charged": account.charged.0,
        "credits_held": account.held.0,
        "credits_limit": progress.limit.map(|limit| limit.0),
        "waiting_seconds": wait.map(|wait| seconds_until(wait.until_us, now)),
        "waiting_for": wait.map(|wait| wait.reason.clone()),
    });
    match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    }
}

/// Why nothing is sent any more, and what is awaited; `None` if nothing is.
pub fn draining_line(progress: &Progress, now: &Zoned) -> Option<String> {
    let parts = draining(progress, now)?;
    Some(parts.iter().map(|Part(before, text, _)| format!("{before}{text}")).collect())
}

/// The checks of the campaign by name, in their order.
fn named(progress: &Progress) -> Vec<(&str, &CheckSums)> {
    let known = progress.sums.checks.iter().filter(|(id, _)| **id != UNREADABLE_ROWS);
    known.filter_map(|(id, sums)| Some((progress.checks.get(id)?.as_str(), sums))).collect()
}

/// The number of asks that are answered or have failed.
fn done(sums: &CheckSums) -> u64 {
    sums.answered() + sums.failed()
}

/// `aml-screening   1,234 of 14,719  1,100 clear · 10 adverse · 124 review`
fn checks(progress: &Progress, width: usize) -> Vec<Vec<Part>> {
    let all = named(progress);
    let names: Vec<String> = all.iter().map(|(name, _)| cut_line(name, NAME_MAX.min(width / 3))).collect();
    let so_far = if progress.intake.done { "" } else { " so far" };
    let counts: Vec<String> = all
        .iter()
        .map(|(_, sums)| format!("{} of {}{so_far}", grouped(done(sums)), grouped(sums.asks - sums.skipped)))
        .collect();
    let longest = |texts: &[String]| texts.iter().map(|text| text.width()).max().unwrap_or_default();
    let (name_width, count_width) = (longest(&names), longest(&counts));
    let line = |((_, sums), (name, count)): (&(&str, &CheckSums), (&String, &String))| {
        let mut parts = vec![
            Part("", format!("{name}{}", " ".repeat(name_width - name.width())), None),
            Part("  ", format!("{count:>count_width$}"), None),
        ];
        let mut before = "  ";
        for (verdict, count) in &sums.verdicts {
            parts.push(Part(before, format!("{} {verdict}", grouped(*count)), Some(Ink::Verdict(*verdict))));
            before = " · ";
        }
        if sums.failed() > 0 {
            parts.push(Part(before, format!("{} failed", grouped(sums.failed())), Some(Ink::Error)));
        }
        parts
    };
    all.iter().zip(names.iter().zip(&counts)).map(line).collect()
}

/// `13% · 58/min · 3 h 51 min left (Tue 14:35) · 1,234 credits · 64 held · limit 5,000`
fn rate_line(progress: &Progress, now: &Zoned) -> Vec<Part> {
    let (sums, dot) = (&progress.sums, " · ");
    let rate = progress.rate.map_or_else(|| UNKNOWN.to_owned(), |rate| grouped(rate.round() as u64));
    let mut parts = match percent(progress) {
        Some(percent) => vec![Part("", format!("{percent}%"), None), Part(dot, format!("{rate}/min"), None)],
        None => vec![Part("", format!("{rate}/min"), None)],
    };
    parts.push(match left(progress) {
        Some(left) => Part(dot, format!("{} left ({})", humanize(left), finish(left, now)), None),
        None => Part(dot, format!("{UNKNOWN} left"), None),
    });
    parts.push(Part(dot, counted(sums.account.charged.0, "credit", "credits"), None));
    parts.push(Part(dot, format!("{} held", grouped(sums.account.held.0)), None));
    parts.extend(progress.limit.map(|limit| Part(dot, format!("limit {}", grouped(limit.0)), None)));
    let jobs = sums.in_state(State::Submitted);
    if jobs > 0 {
        parts.push(Part(dot, format!("{} at the service", counted(jobs, "job", "jobs")), None));
    }
    parts
}

/// The share of the requests that need no further reply, as in `rescreen status`: the rate and the time left count
/// requests too. Rounded down: 100% means that nothing is left.
fn percent(progress: &Progress) -> Option<u128> {
    let (all, open) = (progress.sums.requests(), progress.sums.open());
    (all > 0 && progress.intake.done).then(|| u128::from(all - open) * 100 / u128::from(all))
}

/// How long the requests that are left take, once the rate is known and the input is read. A job is not sent again, and
/// no rate says when it ends.
fn left(progress: &Progress) -> Option<Duration> {
    let rate = progress.rate.filter(|rate| *rate > 0.0 && progress.intake.done)?;
    let open = progress.sums.open().saturating_sub(progress.sums.in_state(State::Submitted));
    // A burst at the start is faster than the campaign can be in the long run.
    let rate = rate.min(f64::from(progress.per_minute.max(1)));
    Duration::try_from_secs_f64(open as f64 * 60.0 / rate).ok()
}

/// The local time at which it is done: `14:35` today, `Tue 14:35` within a week, else `24 Dec 14:35`.
fn finish(left: Duration, now: &Zoned) -> String {
    let Ok(at) = now.checked_add(left) else { return UNKNOWN.to_owned() };
    let format = if at.date() == now.date() {
        "%H:%M"
    } else if left < Duration::from_secs(6 * 86_400) {
        "%a %H:%M"
    } else {
        "%-d %b %H:%M"
    };
    at.strftime(format).to_string()
}

/// `failed: 12 invalid_value · 3 refused`, the commonest first.
fn failures(progress: &Progress) -> Option<Vec<Part>> {
    let mut failures: Vec<(&str, u64)> =
        progress.sums.failures().into_iter().map(|(code, count)| (code.as_str(), count)).collect();
    failures.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
    let mut parts = vec![Part("", "failed:".to_owned(), Some(Ink::Error))];
    let separators = std::iter::once(" ").chain(std::iter::repeat(" · "));
    parts.extend(
        failures
            .iter()
            .zip(separators)
            .map(|((code, count), by)| Part(by, format!("{} {code}", grouped(*count)), None)),
    );
    (!failures.is_empty()).then_some(parts)
}

/// `waiting 12 s: rate limit, HTTP 429`
fn wait(progress: &Progress, now: &Zoned) -> Option<Vec<Part>> {
    let wait = progress.wait.as_ref()?;
    let left = humanize(Duration::from_secs(seconds_until(wait.until_us, now)));
    let until = Timestamp::from_microsecond(wait.until_us).ok()?.to_zoned(now.time_zone().clone());
    Some(vec![
        Part("", "waiting".to_owned(), Some(Ink::Warning)),
        Part(" ", format!("{left}: {}", wait.reason), None),
        Part(", until ", until.strftime("%H:%M:%S").to_string(), None),
    ])
}

/// `stopping: 7 requests in flight, up to 60 s; Ctrl-C again leaves them in doubt`
fn draining(progress: &Progress, now: &Zoned) -> Option<Vec<Part>> {
    let Draining { signal, until_us } = progress.draining?;
    let in_flight = counted(progress.in_flight as u64, "request", "requests");
    let mut parts = vec![
        Part("", "stopping:".to_owned(), Some(Ink::Warning)),
        Part(" ", format!("{in_flight} in flight"), None),
        Part(", ", format!("up to {} s", seconds_until(until_us, now)), None),
    ];
    let again = signal.map(|signal| match signal {
        Signal::Interrupt => "Ctrl-C again leaves them in doubt",
        Signal::Terminate | Signal::Hangup => "a second signal leaves them in doubt",
    });
    parts.extend(again.map(|again| Part("; ", again.to_owned(), None)));
    Some(parts)
}

fn publishing(progress: &Progress) -> Option<Vec<Part>> {
    progress.is_publishing.then(|| vec![Part("", "nothing more is sent; publishing the results".to_owned(), None)])
}

/// The seconds until a time, rounded up.
fn seconds_until(until_us: i64, now: &Zoned) -> u64 {
    let left_us = until_us.saturating_sub(now.timestamp().as_microsecond());
    u64::try_from(left_us).unwrap_or_default().div_ceil(1_000_000)
}

/// As many parts from the left as fit. The first is cut if it is too long itself.
fn fitted(parts: &[Part], width: usize, is_coloured: bool) -> Line {
    let mut line = Line { text: String::new(), width: 0 };
    for (at, Part(before, text, ink)) in parts.iter().enumerate() {
        let text = if at == 0 { cut_line(text, width) } else { text.clone() };
        let more = before.width() + text.width();
        if line.width + more > width {
            break;
        }
        line.text.push_str(before);
        line.text.push_str(&ink.map_or_else(|| text.clone(), |ink| painted(&text, ink, is_coloured)));
        line.width += more;
    }
    line
}

/// A duration in its two largest units.
pub fn humanize(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// The present local time.
pub fn now() -> Zoned {
    Timestamp::now().to_zoned(TimeZone::system())
}

#[cfg(test)]
#[path = "progress_lines_tests.rs"]
mod tests;
