//! Two rounds of a book through the simulator: other answers with a later list, subjects that joined and left, rows that
//! fail or are left out, and subjects that are there twice. The numbers of `diff` agree with two computations that share
//! no code with it.

use crate::support::{
    program::{Said, rescreen},
    schema::valid,
    service::{Service, lifted},
    tables::{self, Line},
};
use rescreen::{simulator::Settings, sink::DatasetKind};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

const CAMPAIGN: &str = r#"
    mode = "production"
    [service]
    api_key = { env = "RESCREEN_API_KEY" }
    per_minute = 600_000
    per_minute_max = 900_000
    [input]
    paths = ["book.csv"]
    id = "no"
    [budget]
    max_credits = 1_000_000
    prices = { aml-screening = 1, said-verification = 1 }
    [[check]]
    use = "aml-screening"
    name = "aml"
    fields.name = "name"
    fields.entity = { value = 0 }
    fields.country = { value = "za" }
    [[check]]
    use = "said-verification"
    name = "said"
    when = "status == 'active'"
    fields.idNumber = "id"
"#;

/// A valid identity number: the date of birth and the sequence are made from a number.
fn id_number(number: usize) -> String {
    let mut digits =
        format!("{:02}{:02}{:02}{:04}08", 50 + number % 50, 1 + number % 12, 1 + number % 28, number % 10_000);
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let value = u32::from(digit - b'0') * if at % 2 == 0 { 2 } else { 1 };
            value / 10 + value % 10
        })
        .sum();
    write!(digits, "{}", (10 - sum % 10) % 10).unwrap();
    digits
}

/// The book of a round. A round has the customers of its range; a tenth is not active, some rows have no name or a wrong
/// identity number, others in each round, and every 50th customer is there twice.
fn book(numbers: std::ops::Range<usize>, round: usize) -> String {
    let mut text = "no,name,id,status\n".to_owned();
    for number in numbers {
        let name =
            if number % 97 == round { String::new() } else { format!("P{number:05} Vexford Q{}", letters(number)) };
        let id = if number % 89 == round { "9".to_owned() } else { id_number(number) };
        let status = if number % 10 == 0 { "closed" } else { "active" };
        let times = if number % 50 == 0 { 2 } else { 1 };
        for nth in 0..times {
            let name = if nth == 0 { name.clone() } else { format!("{name} Second") };
            writeln!(text, "C-{number:06},{name},{id},{status}").unwrap();
        }
    }
    text
}

fn letters(mut number: usize) -> String {
    let mut text = String::new();
    while number > 0 {
        text.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    text
}

/// A folder with two rounds, and the service of the second one.
pub(super) struct Book {
    folder: TempDir,
    service: Service,
}

impl Book {
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn say(&self, arguments: &[&str]) -> Said {
        Said::of(&mut rescreen(self.path(), arguments))
    }

    /// Runs the round with this service.
    fn run(&self, name: &str, service: &Service, more: &[&str]) -> Said {
        self.say(&[&["run", "--yes", "--campaign", name, "--service", &service.url], more].concat())
    }

    fn round(&self, name: &str) -> PathBuf {
        self.path().join("out").join(name)
    }
}

/// Two rounds of this many customers. A hundredth left after the first, and as many joined.
pub(super) fn two_rounds(customers: usize, format: &str) -> Book {
    let of_day = |day: &str| Service::start(Settings { dataset: Some(day.parse().unwrap()), ..lifted() });
    let (first, service) = (of_day("2026-10-01"), of_day("2026-11-02"));
    let book_of = Book { folder: tempfile::tempdir().unwrap(), service };
    fs::write(book_of.path().join("rescreen.toml"), CAMPAIGN).unwrap();
    let moved = customers / 100;
    for (round, (name, service)) in [("2026-10", &first), ("2026-11", &book_of.service)].into_iter().enumerate() {
        let numbers = 1 + round * moved..1 + round * moved + customers;
        fs::write(book_of.path().join("book.csv"), book(numbers, round)).unwrap();
        book_of.run(name, service, &["--format", format]).exits(3);
    }
    book_of
}

/// An ask, as the independent computation sees it.
struct Ask {
    place: (String, i64),
    outcome: &'static str,
    verdict: String,
    finding: String,
    digest: Option<String>,
    /// The hits of the answer in a fixed order.
    hits: Vec<String>,
}

/// The hits of an AML answer, each as text, sorted.
fn hits(line: &Line) -> Vec<String> {
    let answer = match line.get("answer") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(answer) => answer.clone(),
        None => Value::Null,
    };
    let hits = answer.pointer("/results/match").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut hits: Vec<String> = hits.iter().map(Value::to_string).collect();
    hits.sort();
    hits
}

/// By check and subject: its asks in the order of the input.
fn asks(round: &Path) -> BTreeMap<(String, String), Vec<Ask>> {
    let mut asks: BTreeMap<(String, String), Vec<Ask>> = BTreeMap::new();
    for (kind, outcome) in [
        (DatasetKind::Results, "result"),
        (DatasetKind::Failures, "failure"),
        (DatasetKind::Pending, "pending"),
        (DatasetKind::Skipped, "skipped"),
    ] {
        for line in tables::lines(round, kind) {
            let text = |line: &Line, name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let digest = line.get("answer_digest").and_then(Value::as_str).map(str::to_owned);
            let place = (text(&line, "source"), line["row_number"].as_i64().unwrap());
            let ask = Ask {
                place,
                outcome,
                verdict: text(&line, "verdict"),
                finding: text(&line, "finding"),
                digest,
                hits: hits(&line),
            };
            asks.entry((text(&line, "check_name"), text(&line, "subject"))).or_default().push(ask);
        }
    }
    asks.values_mut().for_each(|asks| asks.sort_by(|one, other| one.place.cmp(&other.place)));
    asks
}

fn kind(old: Option<&Ask>, new: Option<&Ask>) -> &'static str {
    let (Some(old), Some(new)) = (old, new) else { return if new.is_some() { "joined" } else { "left" } };
    let is_free = |ask: &Ask| ["clear", "not_found"].contains(&ask.verdict.as_str());
    let is_match = |ask: &Ask| ["review", "adverse"].contains(&ask.verdict.as_str());
    match (old.outcome, new.outcome) {
        ("result", "failure") => "failed_now",
        ("failure", "result") => "failed_before",
        ("result", "result") if is_free(old) && is_match(new) => "new_match",
        ("result", "result") if is_match(old) && is_free(new) => "cleared",
        ("result", "result") if old.verdict != new.verdict => "verdict_changed",
        ("result", "result") if old.finding != new.finding => "finding_changed",
        ("result", "result") if old.digest != new.digest => "answer_changed",
        ("result", "result") => "unchanged",
        _ => "not_answered",
    }
}

type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// The counts, and one line `check subject kind` for each pair.
fn computed(old: &Path, new: &Path) -> (Counts, Vec<String>) {
    let (old, new) = (asks(old), asks(new));
    let (mut counts, mut lines) = (Counts::new(), Vec::new());
    let subjects: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for key in subjects {
        let (none, no) = (Vec::new(), Vec::new());
        let (before, now) = (old.get(key).unwrap_or(&none), new.get(key).unwrap_or(&no));
        for nth in 0..before.len().max(now.len()) {
            let kind = kind(before.get(nth), now.get(nth));
            *counts.entry(key.0.clone()).or_default().entry(kind.to_owned()).or_default() += 1;
            lines.push(format!("{} {} {kind}", key.0, key.1));
        }
    }
    (counts, lines)
}

/// The counts in the object of `diff --json`, without zeros.
fn counts_of(diff: &Value) -> Counts {
    let checks = diff["checks"].as_array().unwrap();
    let of_check = |check: &Value| {
        let counts: BTreeMap<String, u64> = serde_json::from_value(check["counts"].clone()).unwrap();
        let counts = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        (check["check"].as_str().unwrap().to_owned(), counts)
    };
    checks.iter().map(of_check).collect()
}

/// The counts by DuckDB; `None` if it is not installed.
fn by_duckdb(old: &Path, new: &Path) -> Option<Counts> {
    let python = std::env::var("RESCREEN_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_duckdb =
        Command::new(&python).args(["-c", "import duckdb"]).output().is_ok_and(|said| said.status.success());
    if !has_duckdb {
        eprintln!("SKIPPED: {python} has no module duckdb, so its counts are not compared (pip install duckdb)");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/compare/changes_by_duckdb.py");
    let said = Command::new(&python).arg(script).args([old, new]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Some(serde_json::from_slice(&said.stdout).unwrap())
}

/// Two answers of AML have the same digest if they have the same hits, and only then.
fn digests_are_those_of_the_hits(book: &Book) {
    let (old, new) = (asks(&book.round("2026-10")), asks(&book.round("2026-11")));
    let (mut same, mut other) = (0, 0);
    for (key, before) in old.iter().filter(|((check, _), _)| check == "aml") {
        for (one, two) in before.iter().zip(new.get(key).into_iter().flatten()) {
            if let (Some(before), Some(now)) = (&one.digest, &two.digest) {
                assert_eq!(before == now, one.hits == two.hits, "{key:?}");
                *(if before == now { &mut same } else { &mut other }) += 1;
            }
        }
    }
    assert!(same > 100 && other > 3, "{same} {other}");
}

/// Compares two rounds of this many customers in every way.
fn compared_in_every_way(customers: usize, format: &str) {
    let book = two_rounds(customers, format);
    digests_are_those_of_the_hits(&book);
    let said = book.say(&["diff", "2026-10", "2026-11", "--json", "--to", "changes.jsonl"]).exits(0);
    let diff = valid(&said.stdout);
    let (old, new) = (book.round("2026-10"), book.round("2026-11"));
    let (counts, lines) = computed(&old, &new);
    assert_eq!(counts_of(&diff), counts);
    if format == "parquet"
        && let Some(by_duckdb) = by_duckdb(&old, &new)
    {
        assert_eq!(by_duckdb, counts);
    }
    for kind in ["new_match", "cleared", "answer_changed", "failed_now", "failed_before", "joined", "left", "unchanged"]
    {
        assert!(counts["aml"].get(kind).is_some_and(|count| *count > 0), "{kind}: {counts:?}");
    }
    assert!(counts["said"]["not_answered"] > 0, "{counts:?}");
    let aml = &diff["checks"][0];
    let versions =
        |round: &str| aml[round]["dataset_versions"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((versions("old"), versions("new")), (vec!["2026.10.01".to_owned()], vec!["2026.11.02".to_owned()]));
    assert!(aml["repeated_subjects"].as_u64().unwrap() > 0);
    assert_eq!(aml["answers"], "compared");

    // The file has every line but the unchanged ones, in the order of check and subject.
    let written = tables::read(&book.path().join("changes.jsonl"));
    let line = |line: &Line| {
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        format!("{} {} {}", text("check_name"), text("subject"), text("change"))
    };
    let wanted: Vec<String> = lines.iter().filter(|line| !line.ends_with(" unchanged")).cloned().collect();
    assert_eq!(written.iter().map(line).collect::<Vec<_>>(), wanted);
    assert_eq!(diff["file"]["rows"], written.len());
    book.say(&["diff", "2026-10", "2026-11", "--to", "all.parquet", "--all", "--limit", "0"]).exits(0);
    assert_eq!(tables::read(&book.path().join("all.parquet")).iter().map(line).collect::<Vec<_>>(), lines);
    // The same folders give the same bytes.
    book.say(&["diff", "out/2026-10", "out/2026-11", "--to", "again.parquet", "--all"]).exits(0);
    let bytes = |name: &str| fs::read(book.path().join(name)).unwrap();
    assert!(bytes("all.parquet") == bytes("again.parquet"));
    the_same_numbers_everywhere(&book, &counts, format);
}

/// `show`, `export` and `report` have the numbers of `diff` and of the published rows, also after the failed rows were
/// corrected.
fn the_same_numbers_everywhere(book: &Book, counts: &Counts, format: &str) {
    let changed = ["export", "2026-11", "--wide", "--changed-since", "2026-10", "--to", "changed.jsonl"];
    book.say(&changed).exits(0);
    let rows = tables::read(&book.path().join("changed.jsonl"));
    for (check, of_check) in counts {
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for change in rows.iter().filter_map(|row| row[&format!("{check}_change")].as_str()) {
            *found.entry(change.to_owned()).or_default() += 1;
        }
        let mut expected = of_check.clone();
        expected.retain(|kind, count| !["left", "unchanged", "not_answered"].contains(&kind.as_str()) && *count > 0);
        assert_eq!(found, expected, "{check}");
    }
    let said = book.say(&["report", "2026-11", "--since", "2026-10", "--json"]).exits(0);
    let is_change = |kind: &str| !["unchanged", "not_answered"].contains(&kind);
    let all = counts.values().flatten().filter(|(kind, _)| is_change(kind)).map(|(_, count)| count).sum::<u64>();
    assert_eq!(valid(&said.stdout)["changed"], all);
    let failed = agree(book);
    assert!(failed > 0);

    // Every failed row gets what it lacks.
    let mut reader = csv::Reader::from_path(book.round("2026-11").join("failures.csv")).unwrap();
    let mut writer = csv::Writer::from_path(book.path().join("corrected.csv")).unwrap();
    writer.write_record(reader.headers().unwrap()).unwrap();
    for record in reader.records() {
        let cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        let [no, name, id, rest @ ..] = cells.as_slice() else { panic!("{cells:?}") };
        // A row that failed for both checks has two lines, which must be equal.
        let number: usize = no.trim_start_matches("C-").parse().unwrap();
        let name = if name.is_empty() { format!("Corrected Q{}", letters(number)) } else { name.clone() };
        let id = if id == "9" { id_number(number) } else { id.clone() };
        writer.write_record([&[no.clone(), name, id], rest].concat()).unwrap();
    }
    writer.flush().unwrap();
    let corrected = book.run("2026-11", &book.service, &["--format", format, "--corrections", "corrected.csv"]);
    let corrected = corrected.exits(0);
    assert!(corrected.stderr.contains(" corrected, 0 rows unchanged"), "{}", corrected.stderr);
    assert_eq!(agree(book), 0);
}

/// What the commands say about the second round is what its files have. Returns the number of failures.
fn agree(book: &Book) -> usize {
    let round = book.round("2026-11");
    let [results, failures, skipped] =
        [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Skipped].map(|kind| tables::lines(&round, kind));
    let said = |words: &[&str]| valid(&book.say(&[words, &["--json"]].concat()).exits(0).stdout);
    for (words, expected) in [
        (&["--failures"][..], failures.len()),
        (&["--skipped"], skipped.len()),
        (&["--verdict", "review"], results.iter().filter(|line| line["verdict"] == "review").count()),
        (
            &["--verdict", "clear,adverse,not_found,data"],
            results.iter().filter(|line| line["verdict"] != "review").count(),
        ),
        (&[], results.len() + failures.len()),
    ] {
        assert_eq!(said(&[&["show", "2026-11", "--limit", "0"], words].concat())["total"], expected, "{words:?}");
    }
    let exported = format!("wide-{}.csv", failures.len());
    for object in [said(&["report", "2026-11"]), said(&["export", "2026-11", "--wide", "--to", &exported])] {
        let numbers = ["results", "failures", "pending", "skipped"].map(|name| object[name].as_u64().unwrap() as usize);
        assert_eq!(numbers, [results.len(), failures.len(), 0, skipped.len()], "{object}");
    }
    let credits: i64 = results.iter().map(|line| tables::number(line, "credits")).sum();
    assert_eq!(said(&["report", "2026-11"])["credits"], credits);
    failures.len()
}

#[test]
fn the_changes_of_a_book_agree_with_two_other_computations() {
    compared_in_every_way(1_200, "parquet");
}

#[test]
fn the_changes_of_a_book_in_json_lines_agree_too() {
    compared_in_every_way(400, "jsonl");
}

#[test]
#[ignore = "10,000 rows take about a minute: make slow"]
fn the_changes_of_a_book_of_10_000_rows_agree_with_two_other_computations() {
    compared_in_every_way(10_000, "parquet");
}
