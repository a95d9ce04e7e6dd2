//! The metrics are valid by the grammar of OpenMetrics, name what Prometheus's conventions ask for, and the dashboard in
//! `examples/grafana` uses only metrics that exist.

use super::*;
use rescreen::{
    ledger::{CheckSums, Sums},
    model::{Credits, FailureCode, Verdict},
    pipeline::{Latencies, Wait},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

fn progress() -> Progress {
    let check = CheckSums {
        asks: 9,
        skipped: 1,
        failures: BTreeMap::from([(FailureCode::Refused, 2)]),
        verdicts: BTreeMap::from([(Verdict::Clear, 3), (Verdict::Review, 1)]),
        ..CheckSums::default()
    };
    let rows = CheckSums { asks: 1, failures: BTreeMap::from([(FailureCode::RaggedRow, 1)]), ..CheckSums::default() };
    let mut sums = Sums { attempts: 7, rows: 10, checks: BTreeMap::from([(0, rows), (1, check)]), ..Sums::default() };
    sums.requests = BTreeMap::from([(State::Planned, 2), (State::Answered, 4)]);
    (sums.account.charged, sums.account.held) = (Credits(4), Credits(1));
    let mut latencies = Latencies::default();
    [40, 60, 700, 200_000].into_iter().for_each(|latency_ms| latencies.record(latency_ms));
    Progress {
        sums: Arc::new(sums),
        checks: Arc::new(BTreeMap::from([(1, "aml \"1\"\\\n".to_owned())])),
        in_flight: 3,
        limit: Some(Credits(100)),
        wait: Some(Wait { until_us: 12_500_000, reason: "rate limit".to_owned() }),
        latencies,
        publications: 2,
        ..Progress::default()
    }
}

/// One sample: its name, its labels as text and its value.
type Sample = (String, String, f64);

/// Parses the text by the grammar of OpenMetrics. Returns the families with their types, and the samples.
fn parsed(text: &str) -> (BTreeMap<String, String>, Vec<Sample>) {
    let body = text.strip_suffix("# EOF\n").expect("the last line ends the exposition");
    let (mut types, mut helps, mut samples) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    let mut family = String::new();
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let (kind, rest) = rest.split_once(' ').expect("a kind");
            let (name, text) = rest.split_once(' ').expect("a name");
            assert!(is_name(name) && !text.is_empty(), "{line}");
            match kind {
                "HELP" => {
                    assert!(helps.insert(name.to_owned()), "one HELP per family: {line}");
                    family = name.to_owned();
                }
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram", "info"].contains(&text), "{line}");
                    assert!(types.insert(name.to_owned(), text.to_owned()).is_none(), "one TYPE per family: {line}");
                }
                "UNIT" => assert!(name.ends_with(&format!("_{text}")), "{line}"),
                _ => panic!("unknown line: {line}"),
            }
            assert_eq!(name, family, "the lines of a family follow each other");
            continue;
        }
        let (name, labels, value) = match line.split_once('{') {
            Some((name, rest)) => {
                let end = end_of_labels(rest);
                (name, &rest[..end], rest[end + 1..].strip_prefix(' ').expect("a space"))
            }
            None => {
                let (name, value) = line.split_once(' ').expect("a value");
                (name, "", value)
            }
        };
        let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("{name} is not of {family}"));
        let allowed: &[&str] = match types[&family].as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            _ => &["_sum", "_count", "_bucket"],
        };
        assert!(is_name(name) && allowed.contains(&suffix), "{line}");
        samples.push((name.to_owned(), labels.to_owned(), value.parse().expect("a number")));
    }
    assert_eq!(helps, types.keys().cloned().collect(), "each family has HELP and TYPE");
    (types, samples)
}

/// Where the labels end: at the brace outside quotes. In quotes, only `\\`, `\"` and `\n` are escapes.
fn end_of_labels(text: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                assert!(['\\', '"', 'n'].contains(&c), "{text}");
                escaped = false;
            }
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return at,
            _ => assert!(quoted || c.is_ascii_lowercase() || "=,_".contains(c), "{text}"),
        }
    }
    panic!("the labels do not end: {text}");
}

#[test]
fn the_metrics_are_valid_by_the_grammar_and_add_up() {
    let text = exposition(progress(), 2_000_000);
    let (_, samples) = parsed(&text);
    let value = |name: &str, label: &str| {
        let found = samples.iter().find(|(known, labels, _)| known == name && labels.contains(label));
        found.unwrap_or_else(|| panic!("no {name}{{{label}}} in\n{text}")).2
    };
    assert_eq!(value("rescreen_requests_total", ""), 7.0);
    assert_eq!(value("rescreen_credits_charged_total", ""), 4.0);
    assert_eq!((value("rescreen_in_flight", ""), value("rescreen_credits_limit", "")), (3.0, 100.0));
    assert_eq!(value("rescreen_waiting_seconds", ""), 11.0);
    assert_eq!(value("rescreen_asks_failed", "code=\"ragged_row\""), 1.0);
    assert_eq!(value("rescreen_asks_answered", "verdict=\"review\""), 1.0);
    assert_eq!(value("rescreen_asks_pending", ""), 2.0);
    assert_eq!(value("rescreen_requests_by_state", "state=\"planned\""), 2.0);
    // The buckets are cumulative, and the last one counts all.
    let bucket = |le: &str| value("rescreen_latency_seconds_bucket", &format!("le=\"{le}\""));
    assert_eq!([bucket("0.05"), bucket("0.1"), bucket("1.0"), bucket("+Inf")], [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(value("rescreen_latency_seconds_count", ""), 4.0);
    assert_eq!(value("rescreen_latency_seconds_sum", ""), 200.8);
}

#[test]
fn a_run_that_has_just_begun_has_valid_metrics() {
    let (types, samples) = parsed(&exposition(Progress::default(), 0));
    assert!(types.contains_key("rescreen_asks") && samples.len() > 20, "{samples:?}");
}

/// The names of metrics in an expression of PromQL: all words with our prefix.
fn metrics_in(expression: &str) -> Vec<String> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("rescreen_")).map(str::to_owned).collect()
}

#[test]
fn every_expression_of_the_dashboard_names_a_metric_that_exists() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/grafana/rescreen.json");
    let dashboard: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (_, samples) = parsed(&exposition(progress(), 0));
    let known: BTreeSet<&str> = samples.iter().map(|(name, ..)| name.as_str()).collect();
    let mut expressions = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            expressions.push(target["expr"].as_str().unwrap().to_owned());
        }
    }
    assert!(expressions.len() >= 8, "{expressions:?}");
    for expression in expressions {
        let names = metrics_in(&expression);
        assert!(!names.is_empty(), "{expression} names no metric");
        for name in names {
            assert!(known.contains(name.as_str()), "{expression}: no metric is called {name}");
        }
    }
}
