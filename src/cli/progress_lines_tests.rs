//! What the progress shows at 60, 80 and 200 columns, and what it must never show.

use super::*;
use rescreen::{
    ledger::Sums,
    model::{Credits, FailureCode, Verdict},
    pipeline::{IntakeProgress, Wait},
};
use std::{collections::BTreeMap, sync::Arc};

fn at() -> Zoned {
    // A Monday.
    "2026-11-23T10:44:10+02:00[Africa/Johannesburg]".parse().unwrap()
}

fn after(seconds: i64) -> i64 {
    at().timestamp().as_microsecond() + seconds * 1_000_000
}

fn size(columns: usize) -> Size {
    Size { columns, rows: 24 }
}

/// Two checks of a campaign of 14,719 rows, in the middle.
fn middle() -> Progress {
    let aml = CheckSums {
        asks: 14_719,
        skipped: 19,
        failures: BTreeMap::from([(FailureCode::InvalidValue, 12), (FailureCode::Refused, 3)]),
        verdicts: BTreeMap::from([(Verdict::Clear, 1_100), (Verdict::Adverse, 10), (Verdict::Review, 124)]),
        ..CheckSums::default()
    };
    let said = CheckSums {
        asks: 14_719,
        verdicts: BTreeMap::from([(Verdict::Clear, 790), (Verdict::NotFound, 10)]),
        ..CheckSums::default()
    };
    let mut sums = Sums { checks: BTreeMap::from([(1, aml), (2, said)]), ..Sums::default() };
    sums.requests = BTreeMap::from([(State::Planned, 13_350), (State::Answered, 2_034)]);
    (sums.account.charged, sums.account.held) = (Credits(1_234), Credits(64));
    Progress {
        sums: Arc::new(sums),
        checks: Arc::new(BTreeMap::from([(1, "aml-screening".to_owned()), (2, "said-verification".to_owned())])),
        in_flight: 7,
        intake: IntakeProgress { rows: 14_719, done: true, failed: false },
        rate: Some(57.6),
        per_minute: 60,
        limit: Some(Credits(5_000)),
        ..Progress::default()
    }
}

fn text(progress: &Progress, columns: usize) -> String {
    let lines = lines(progress, &at(), size(columns), false);
    for line in &lines {
        assert_eq!(columns_of(&line.text), line.width, "{line:?}");
        assert!(line.width < columns, "{line:?} is broken at {columns} columns");
    }
    lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_at_80_columns() {
    let progress =
        Progress { wait: Some(Wait { until_us: after(12), reason: "rate limit, HTTP 429".to_owned() }), ..middle() };
    insta::assert_snapshot!(text(&progress, 80), @"
    aml-screening      1,249 of 14,700  1,100 clear · 10 adverse · 124 review
    said-verification    800 of 14,719  790 clear · 10 not_found
    13% · 58/min · 3 h 51 min left (14:35) · 1,234 credits · 64 held · limit 5,000
    failed: 12 invalid_value · 3 refused
    waiting 12 s: rate limit, HTTP 429, until 10:44:22
    ");
}

#[test]
fn a_run_at_60_columns_drops_parts_from_the_right() {
    insta::assert_snapshot!(text(&middle(), 60), @"
    aml-screening      1,249 of 14,700  1,100 clear
    said-verification    800 of 14,719  790 clear
    13% · 58/min · 3 h 51 min left (14:35) · 1,234 credits
    failed: 12 invalid_value · 3 refused
    ");
}

#[test]
fn a_run_at_200_columns() {
    insta::assert_snapshot!(text(&middle(), 200), @"
    aml-screening      1,249 of 14,700  1,100 clear · 10 adverse · 124 review · 15 failed
    said-verification    800 of 14,719  790 clear · 10 not_found
    13% · 58/min · 3 h 51 min left (14:35) · 1,234 credits · 64 held · limit 5,000
    failed: 12 invalid_value · 3 refused
    ");
}

#[test]
fn nothing_that_is_not_known_is_shown_as_a_number() {
    let mut progress = Progress { rate: None, ..middle() };
    assert!(text(&progress, 80).contains("…/min · … left · 1,234 credits"), "{}", text(&progress, 80));
    assert_eq!(facts(&progress, &at())["requests_per_minute"], Value::Null);
    // While the input is read, it is not known how many rows are left.
    progress = Progress { rate: Some(60.0), intake: IntakeProgress::default(), ..progress };
    let text = text(&progress, 80);
    assert!(text.contains("60/min · … left") && text.contains("of 14,700 so far") && !text.contains('%'), "{text}");
}

#[test]
fn a_run_that_is_over_has_no_time_left_and_all_of_its_rows() {
    let mut progress = middle();
    let sums = Arc::make_mut(&mut progress.sums);
    sums.requests = BTreeMap::from([(State::Answered, 8)]);
    sums.checks = BTreeMap::from([(
        1,
        CheckSums { asks: 8, verdicts: BTreeMap::from([(Verdict::Clear, 8)]), ..CheckSums::default() },
    )]);
    let text = text(&progress, 80);
    assert!(text.contains("8 of 8  8 clear") && text.contains("100% · 58/min · 0 s left (10:44)"), "{text}");
}

#[test]
fn the_time_left_is_capped_by_the_rate_that_holds() {
    let fast = Progress { rate: Some(8_010.0), per_minute: 6_000_000, ..middle() };
    assert!(text(&fast, 80).contains("8,010/min · 1 min 40 s left"), "{}", text(&fast, 80));
    let limited = Progress { rate: Some(8_010.0), ..middle() };
    assert!(text(&limited, 80).contains("3 h 42 min left"), "{}", text(&limited, 80));
}

#[test]
fn what_the_end_of_a_run_waits_for_is_told_with_what_a_second_signal_does() {
    let drained = |signal| Progress { draining: Some(Draining { signal, until_us: after(60) }), ..middle() };
    let line = |signal| draining_line(&drained(signal), &at()).unwrap();
    let interrupted = "stopping: 7 requests in flight, up to 60 s; Ctrl-C again leaves them in doubt";
    assert_eq!(line(Some(Signal::Interrupt)), interrupted);
    assert!(line(Some(Signal::Hangup)).ends_with("; a second signal leaves them in doubt"));
    assert!(text(&drained(Some(Signal::Interrupt)), 80).ends_with(interrupted));
    assert!(text(&drained(Some(Signal::Interrupt)), 60).ends_with("\nstopping: 7 requests in flight, up to 60 s"));
    assert_eq!(draining_line(&middle(), &at()), None);
    let publishing = Progress { is_publishing: true, ..middle() };
    assert!(text(&publishing, 80).ends_with("\nnothing more is sent; publishing the results"));
    // A stop for another reason waits as well.
    assert!(text(&drained(None), 80).ends_with("stopping: 7 requests in flight, up to 60 s"));
}

#[test]
fn six_checks_with_long_and_wide_names_break_no_line_at_any_width() {
    let mut progress = middle();
    let names = ["a", "proof-of-address-of-the-directors-of-suppliers", "名前の照合名前の照合", "id", "vin", "plate"];
    progress.checks = Arc::new((1..).zip(names.map(str::to_owned)).collect());
    let sums = Arc::make_mut(&mut progress.sums);
    for id in 3..=6 {
        sums.checks.insert(id, sums.checks[&1].clone());
    }
    sums.checks.insert(UNREADABLE_ROWS, CheckSums { asks: 4, ..CheckSums::default() });
    for columns in 2..250 {
        for line in lines(&progress, &at(), size(columns), false) {
            assert!(line.width < columns, "{line:?} at {columns}");
            assert_eq!(line.width, columns_of(&line.text), "{line:?}");
        }
    }
    // The terminal is lower than the progress.
    let low = lines(&progress, &at(), Size { columns: 80, rows: 8 }, false);
    assert!(low.len() < 8, "{low:?}");
    assert!(low.iter().any(|line| line.text == "… and 3 checks"), "{low:?}");
}

/// The columns that a text takes on a terminal, for the characters of these tests.
fn columns_of(text: &str) -> usize {
    text.chars().map(|c| if ('\u{3000}'..'\u{a000}').contains(&c) { 2 } else { 1 }).sum()
}

#[test]
fn colour_adds_only_escapes_and_no_width() {
    let colourless = lines(&middle(), &at(), size(80), false);
    let coloured = lines(&middle(), &at(), size(80), true);
    assert!(coloured[0].text.contains("\u{1b}[32m1,100 clear\u{1b}[0m"), "{:?}", coloured[0]);
    assert!(coloured.iter().any(|line| line.text.starts_with("\u{1b}[1m\u{1b}[31mfailed:\u{1b}[0m 12")));
    for (one, other) in coloured.iter().zip(&colourless) {
        let mut bare = String::new();
        let mut in_escape = false;
        for c in one.text.chars() {
            match c {
                '\u{1b}' => in_escape = true,
                'm' if in_escape => in_escape = false,
                c if !in_escape => bare.push(c),
                _ => {}
            }
        }
        assert_eq!((bare.as_str(), one.width), (other.text.as_str(), other.width));
    }
}

#[test]
fn a_line_of_a_log_has_the_same_facts() {
    let progress =
        Progress { wait: Some(Wait { until_us: after(12), reason: "rate limit, HTTP 429".to_owned() }), ..middle() };
    let line = log_line(&progress, &at()).replace("; ", ";\n");
    insta::assert_snapshot!(line, @"
    aml-screening 1,249 of 14,700 1,100 clear · 10 adverse · 124 review · 15 failed;
    said-verification 800 of 14,719 790 clear · 10 not_found;
    13% · 58/min · 3 h 51 min left (14:35) · 1,234 credits · 64 held · limit 5,000;
    failed: 12 invalid_value · 3 refused;
    waiting 12 s: rate limit, HTTP 429, until 10:44:22
    ");
    let facts = facts(&progress, &at());
    assert_eq!((&facts["waiting_seconds"], &facts["credits_limit"]), (&json!(12), &json!(5_000)));
    assert_eq!(facts["checks"][1]["verdicts"]["clear"], 790);
    assert_eq!(facts["seconds_left"], json!(13_906));
    let dated = dated_line(&progress, &at());
    assert_eq!(dated.split_once(' ').unwrap(), ("2026-11-23T08:44:10Z", &*log_line(&progress, &at())));
}

#[test]
fn the_time_at_which_it_is_done_names_the_day_unless_it_is_today() {
    let hours = |hours: u64| finish(Duration::from_secs(hours * 3_600), &at());
    assert_eq!([hours(1), hours(22), hours(24 * 9)], ["11:44", "Tue 08:44", "2 Dec 10:44"]);
}

#[test]
fn durations_are_shown_in_two_units() {
    let said: Vec<String> =
        [5, 65, 3_700, 980_000].into_iter().map(|seconds| humanize(Duration::from_secs(seconds))).collect();
    assert_eq!(said, ["5 s", "1 min 5 s", "1 h 1 min", "11 d 8 h"]);
}
