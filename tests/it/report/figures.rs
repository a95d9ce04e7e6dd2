//! The figures of the page equal an independent count of the published rows, what `status` and the manifest say, and the
//! statement of the service.

use super::{Page, people, reported, run, two_checks};
use crate::{
    cli::Workspace,
    support::{
        schema::valid,
        tables::{Line, lines, manifest, number, text},
    },
};
use rescreen::sink::DatasetKind;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// A campaign that was stopped by its limit, completed, and corrected by a person.
fn campaign() -> Workspace {
    let workspace = two_checks(200);
    run(&workspace, &["--max-credits", "20"]).exits(4);
    run(&workspace, &["--max-credits", "1000"]).exits(3);
    let reason = ["--reason", "the service credited it"];
    workspace.say(&[&["resolve", "out/2026-11", "--charge", "0", "--request", "1"], &reason[..]].concat()).exits(0);
    workspace.say(&["collect", "out/2026-11"]).exits(3);
    workspace
}

/// The number of lines by the texts in these columns.
fn counted(lines: &[Line], columns: &[&str]) -> BTreeMap<Vec<String>, u64> {
    let mut counts = BTreeMap::new();
    for line in lines {
        let shown = |column: &&str| line[*column].as_str().unwrap_or("all checks").replace("not_found", "not found");
        *counts.entry(columns.iter().map(shown).collect()).or_default() += 1;
    }
    counts
}

/// Rows of the page without its sums.
fn without_sums(mut found: BTreeMap<Vec<String>, u64>) -> BTreeMap<Vec<String>, u64> {
    found.retain(|names, _| {
        !matches!(names[0].as_str(), "all checks" | "all") || names.get(1).is_some_and(|one| !one.is_empty())
    });
    found
}

#[test]
fn the_figures_equal_an_independent_count_of_the_published_rows() {
    let workspace = campaign();
    let page = reported(&workspace);
    let out = workspace.path().join("out/2026-11");
    let of = |kind| lines(&out, kind);
    let (results, failures, skipped) = (of(DatasetKind::Results), of(DatasetKind::Failures), of(DatasetKind::Skipped));
    assert!(results.len() > 200 && failures.len() > 15 && skipped.len() > 20, "{} {}", results.len(), failures.len());

    // What was asked, and what became of it.
    let asked = "Asks of each check";
    let by_check = |lines: &[Line]| {
        let mut counts = counted(lines, &["check_name"]);
        counts.remove(&vec!["all checks".to_owned()]);
        counts
    };
    for (column, lines) in [(2, &results), (3, &failures), (5, &skipped)] {
        assert_eq!(without_sums(page.numbers(asked, column, 1)), by_check(lines), "column {column}");
    }
    assert_eq!(page.numbers(asked, 4, 1).values().sum::<u64>(), 0);
    for row in page.rows(asked) {
        let counts: Vec<u64> = row[1..].iter().map(|cell| super::parsed::number(cell)).collect();
        assert_eq!(counts[0], counts[1..].iter().sum::<u64>(), "{row:?}");
    }

    // Verdicts, findings and failures.
    let verdicts = page.numbers("Results of each check by verdict and finding", 3, 3);
    let expected = counted(&results, &["check_name", "verdict", "finding"]);
    let with_words = |found: BTreeMap<Vec<String>, u64>| -> BTreeMap<Vec<String>, u64> {
        found
            .into_iter()
            .map(|(names, n)| (names.iter().map(|name| name.replace("not_found", "not found")).collect(), n))
            .collect()
    };
    assert_eq!(with_words(verdicts), expected);
    let reasons = without_sums(page.numbers("Failures by reason", 4, 2));
    assert_eq!(reasons, counted(&failures, &["check_name", "code"]));
    assert!(reasons.len() >= 3, "{reasons:?}");

    // Credits: those of the rows, of which one was corrected after its row was published.
    let credits: i64 = results.iter().map(|line| number(line, "credits")).sum();
    let first = results.iter().map(|line| number(line, "credits")).max().unwrap();
    let charged = page.numbers("Credits of each check", 1, 1);
    assert_eq!(charged[&vec!["all checks".to_owned()]] as i64, credits - first, "the correction is in the ledger");
    let duplicates = results.iter().filter(|line| text(line, "answer_source") == "duplicate").count() as u64;
    assert_eq!(page.numbers("Credits of each check", 2, 1)[&vec!["all checks".to_owned()]], duplicates);

    // Requests and how long they took.
    let requests: BTreeMap<&str, i64> =
        results.iter().map(|line| (text(line, "idempotency_key"), number(line, "latency_ms"))).collect();
    assert_eq!(page.fact("Requests"), requests.len() as u64);
    let histogram = page.numbers("Answers by the time that they took", 1, 1);
    assert_eq!(histogram.values().sum::<u64>(), requests.len() as u64);
    let mut times: Vec<i64> = requests.values().copied().collect();
    times.sort_unstable();
    let percentiles = page.rows("The time within which a share").last().unwrap();
    for (cell, percent) in [(2, 50), (3, 90), (4, 95), (5, 99)] {
        let expected = times[(times.len() * percent).div_ceil(100) - 1];
        assert_eq!(percentiles[cell], format!("{expected} ms"), "{percent} %");
    }
}

#[test]
fn the_figures_equal_those_of_status_manifest_and_statement() {
    let workspace = campaign();
    let page = reported(&workspace);
    let status: Value = valid(&workspace.say(&["status", "out/2026-11", "--json"]).exits(0).stdout);
    let manifest = manifest(&workspace.path().join("out/2026-11"));
    let json = valid(&workspace.say(&["report", "out/2026-11", "--json", "--to", "again.html"]).exits(0).stdout);
    let sum = |of: fn(&rescreen::sink::CheckTotals) -> u64| manifest.totals.iter().map(of).sum::<u64>();
    let failures = sum(|totals| totals.failures) + manifest.input.unreadable_rows;
    for (name, key, expected) in [
        ("Rows", "rows", manifest.input.rows),
        ("Results", "results", sum(|totals| totals.results)),
        ("Failures", "failures", failures),
        ("Pending", "pending", 0),
        ("Skipped", "skipped", sum(|totals| totals.skipped)),
        ("Credits charged", "credits", sum(|totals| totals.credits)),
    ] {
        assert_eq!((page.fact(name), &json[key]), (expected, &expected.into()), "{name}");
    }
    assert_eq!(
        (&json["published"], &json["state"], &json["asks"]),
        (&true.into(), &"complete".into(), &status["asks"])
    );
    assert_eq!(page.fact("Credits charged"), status["credits"]["charged"].as_u64().unwrap());
    assert_eq!(
        page.fact("Credits charged") + 2,
        workspace.service.simulator.stats().credits_charged,
        "a person corrected 2"
    );
    assert_eq!(status["attempts"], workspace.service.checks_arrived());

    // The runs: each request is in the run that sent it.
    let runs = page.rows("The runs of the campaign");
    let names: Vec<&str> = runs.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["1: run", "2: run", "3: collect"]);
    let sent: Vec<u64> = runs.iter().map(|row| super::parsed::number(&row[5])).collect();
    assert!(sent[0] > 0 && sent[1] > 0 && sent[2] == 0, "{sent:?}");
    assert_eq!(sent.iter().sum::<u64>(), workspace.service.checks_arrived());
    assert_eq!(runs[0][7], "stopped: limit (exit code 4)");
    assert!(runs.iter().all(|row| !row[3].is_empty()), "{runs:?}");
    assert_eq!(page.numbers("Requests in each", 1, 1).values().sum::<u64>(), workspace.service.checks_arrived());
    let charged = page.rows("Credits charged over time");
    assert_eq!(super::parsed::number(&charged.last().unwrap()[2]), page.fact("Credits charged"));

    // The decision, with who and why.
    let decision = &page.rows("Decisions about requests")[0];
    assert_eq!(
        (decision[0].as_str(), decision[4].as_str()),
        ("charge corrected from 2 to 0 credits", "the service credited it")
    );
    assert!(!decision[2].is_empty(), "{decision:?}");

    // The digests of everything that is valid.
    let digests: BTreeSet<String> =
        page.rows("The valid files").iter().map(|row| format!("{} {}", row[0], row[4])).collect();
    let parts = manifest.datasets.iter().flat_map(|dataset| &dataset.parts);
    assert_eq!(digests, parts.map(|part| format!("{} {}", part.path, part.sha256)).collect());
    let inputs = page.rows("What was read");
    assert_eq!(inputs[0][4], manifest.input.sources[0].sha256);
}

#[test]
fn an_unfinished_campaign_says_what_waits_and_that_more_is_to_be_published() {
    let workspace = two_checks(200);
    run(&workspace, &["--max-credits", "20"]).exits(4);
    let page = reported(&workspace);
    let pending = page.fact("Pending");
    assert!(pending > 50, "{pending}");
    let waiting = page.numbers("Why asks are pending", 3, 2);
    assert_eq!(waiting.values().sum::<u64>(), pending);
    let requests = &page.facts["Requests"];
    assert!(requests.contains(" not sent yet; "), "{requests}");
    assert!(page.text.contains("The campaign is not complete. The last run stopped: limit"), "{}", page.text);
    // A run that was killed has published less than it has recorded.
    std::fs::remove_file(workspace.path().join("out/2026-11/manifest.json")).unwrap();
    assert!(reported(&workspace).text.contains("The published files are older than this page"), "no manifest");
}

#[test]
fn the_page_has_neither_subjects_nor_values_nor_secrets() {
    let workspace = campaign();
    let said = workspace.say(&["report", "out/2026-11"]).exits(0);
    let page = std::fs::read_to_string(workspace.path().join("out/2026-11/report.html")).unwrap();
    for line in people(200).lines().skip(1) {
        for cell in line.split(',').filter(|cell| cell.len() > 3 && !matches!(*cell, "active" | "closed" | "more")) {
            assert!(!page.contains(cell), "{cell}");
        }
    }
    assert!(!page.contains("Marker") && !page.contains("S-1"), "no part of a value either");
    assert!(!said.stderr.contains("Marker"), "{}", said.stderr);
    assert!(Page::read(&page).rows("The first 12 rows of each reason").iter().any(|row| row[3].contains("(line ")));
}

#[test]
fn two_reports_of_one_campaign_differ_only_in_when_they_were_made() {
    let workspace = campaign();
    let made = |name: &str| {
        workspace.say(&["report", "out/2026-11", "--to", name]).exits(0);
        let text = std::fs::read_to_string(workspace.path().join(name)).unwrap();
        assert_eq!(text.matches("id=\"made-at\"").count(), 1);
        let lines = text.lines().filter(|line| !line.contains("id=\"made-at\"")).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let first = made("one.html");
    let second = || jiff::Timestamp::now().as_second();
    let made_at = second();
    crate::support::program::wait_until("a later second", || second() > made_at);
    assert_eq!(first, made("two.html"));
}

#[test]
fn corrected_rows_are_named_with_the_person_the_time_and_the_digest_of_the_file() {
    let workspace = two_checks(60);
    run(&workspace, &["--max-credits", "1000"]).exits(3);
    let out = workspace.path().join("out/2026-11");
    let failures = fs::read_to_string(out.join("failures.csv")).unwrap();
    workspace.write(
        "corrected.csv",
        &failures.replace("S-7,Person Marker7,Marker7,123,", "S-7,Person Marker7,Marker7,9202204720083,"),
    );
    run(&workspace, &["--max-credits", "1000", "--corrections", "corrected.csv"]).exits(3);
    let page = reported(&workspace);
    let (_, rows) = page.tables.iter().find(|(caption, _)| caption.starts_with("Rows that failed and were")).unwrap();
    let digest: String = Sha256::digest(fs::read(workspace.path().join("corrected.csv")).unwrap())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let [_, row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row[0].as_str(), row[3].as_str()), ("1", digest.as_str()));
    assert!(!row[1].is_empty(), "{row:?}");
}
