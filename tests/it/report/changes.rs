//! `--since` compares with an earlier round. Its figures equal an independent comparison of the published rows.

use super::{Page, run_round, two_checks};
use crate::support::{
    schema::valid,
    tables::{lines, text},
};
use rescreen::sink::DatasetKind;
use std::{collections::BTreeMap, fs, path::Path};

/// Verdict and finding, or `failed`, of each subject and check of a round.
fn outcomes(out: &Path) -> BTreeMap<(String, String), (String, String)> {
    let mut found = BTreeMap::new();
    for line in lines(out, DatasetKind::Results) {
        let key = (text(&line, "check_name").to_owned(), text(&line, "subject").to_owned());
        found.insert(key, (text(&line, "verdict").to_owned(), text(&line, "finding").to_owned()));
    }
    for (kind, word) in [(DatasetKind::Failures, "failed"), (DatasetKind::Skipped, "skipped")] {
        for line in lines(out, kind).iter().filter(|line| line["check_name"].is_string()) {
            let key = (text(line, "check_name").to_owned(), text(line, "subject").to_owned());
            found.insert(key, (word.to_owned(), String::new()));
        }
    }
    found
}

/// The kind of a change, or nothing for what this test does not tell apart.
fn kind(old: Option<&(String, String)>, new: Option<&(String, String)>) -> &'static str {
    let is_match = |verdict: &str| match verdict {
        "review" | "adverse" => Some(true),
        "clear" | "not_found" => Some(false),
        _ => None,
    };
    let (Some(old), Some(new)) = (old, new) else { return if new.is_some() { "joined" } else { "left" } };
    match (old.0.as_str(), new.0.as_str()) {
        ("skipped", _) | (_, "skipped") | ("failed", "failed") => "not_answered",
        ("failed", _) => "failed_before",
        (_, "failed") => "failed_now",
        (before, now) if before != now => match (is_match(before), is_match(now)) {
            (Some(false), Some(true)) => "new_match",
            (Some(true), Some(false)) => "cleared",
            _ => "verdict_changed",
        },
        _ if old.1 != new.1 => "finding_changed",
        _ => "",
    }
}

#[test]
fn the_changes_since_an_earlier_round_equal_an_independent_comparison() {
    let workspace = two_checks(200);
    run_round(&workspace, "2026-10", &["--max-credits", "1000"]).exits(3);
    // In the next round some left, some joined, some have other names and numbers, and one is complete now.
    let people = super::people(220);
    let later: Vec<String> = people
        .lines()
        .filter(|line| !line.starts_with("S-15,") && !line.starts_with("S-28,"))
        .map(|line| line.replace("S-7,Person Marker7,Marker7,123", "S-7,Person Marker7,Marker7,8001015009087"))
        .map(|line| if line.starts_with("S-4") { line.replace("Marker", "Other") } else { line })
        .map(|line| if line.starts_with("S-5,") { line.replace("P00005 Marker5", "") } else { line })
        .collect();
    workspace.write("people.csv", &(later.join("\n") + "\n"));
    run_round(&workspace, "2026-11", &["--max-credits", "1000"]).exits(3);
    workspace.say(&["report", "2026-11", "--since", "2026-10"]).exits(0);
    let html = fs::read_to_string(workspace.path().join("out/2026-11/report.html")).unwrap();
    assert!(!html.contains("Marker") && !html.contains("S-1"), "no subjects and no values");
    let page = Page::read(&html);
    let found = page.numbers("Asks of each check by what changed", 3, 2);

    let of = |round: &str| outcomes(&workspace.path().join("out").join(round));
    let (old, new) = (of("2026-10"), of("2026-11"));
    let mut expected: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    let keys: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for key in &keys {
        let kind = kind(old.get(key), new.get(key));
        if !kind.is_empty() {
            *expected.entry(vec![key.0.clone(), kind.to_owned()]).or_default() += 1;
        }
    }
    let mut told_apart = found.clone();
    told_apart.retain(|names, _| !["answer_changed", "unchanged"].contains(&names[1].as_str()));
    assert_eq!(told_apart, expected);
    assert_eq!(found.values().sum::<u64>(), keys.len() as u64, "every ask has one kind");
    for wanted in ["joined", "left", "failed_now", "failed_before"] {
        assert!(expected.keys().any(|names| names[1] == wanted), "{wanted}: {expected:?}");
    }
    let rows = page.rows("The first 12 rows of each change");
    assert!(rows.iter().any(|row| row[1] == "joined" && row[2] == "people.csv"), "{rows:?}");
    let rounds: Vec<&str> = page.rows("The two rounds").iter().map(|row| row[1].as_str()).collect();
    assert_eq!(rounds, ["2026-10", "2026-11", "2026-10", "2026-11"]);
    let json = valid(&workspace.say(&["report", "2026-11", "--since", "2026-10", "--json"]).exits(0).stdout);
    let changed: u64 = found
        .iter()
        .filter(|(names, _)| !["not_answered", "unchanged"].contains(&names[1].as_str()))
        .map(|(_, n)| n)
        .sum();
    assert_eq!((&json["since"], &json["changed"]), (&"2026-10".into(), &changed.into()));
}

#[test]
fn a_round_that_cannot_be_compared_is_refused_and_without_one_the_page_says_how() {
    let workspace = two_checks(40);
    run_round(&workspace, "2026-11", &["--max-credits", "1000"]).exits(3);
    workspace.say(&["report", "2026-11", "--since", "2026-10"]).exits(2);
    assert!(!workspace.path().join("out/2026-11/report.html").exists(), "nothing is written");
    let page = super::reported(&workspace);
    assert!(page.text.contains("rescreen report --since OLD compares with the round OLD"), "{}", page.text);
    let json = valid(&workspace.say(&["report", "2026-11", "--json"]).exits(0).stdout);
    assert!(json["since"].is_null() && json["changed"].is_null(), "{json}");
}
