//! Inputs after public bug reports about other tools: what is read, sent and said. Skipped with a notice where the cases are
//! not available. Their people, numbers and companies are invented, and none of their values is repeated here.

use crate::{
    cli::Workspace,
    support::{
        data::shared,
        program::{Said, rescreen},
        tables::{self, Line, text},
    },
};
use rescreen::sink::DatasetKind;
use std::{collections::BTreeSet, path::Path};

const SCREENING: &str = "--check aml-screening --map name=full_name --map country=country --set entity=0";
const IDENTITY: &str = "--check said-verification --map idNumber=id_number";

/// A case: the file, what else is on the command line, and what is expected.
struct Case {
    file: &'static str,
    more: &'static str,
    code: i32,
    results: usize,
    failures: usize,
    /// Different requests. Each costs one credit.
    sent: u64,
    /// In the messages of the run, or of its failures.
    says: &'static [&'static str],
}

const fn case(
    (file, more): (&'static str, &'static str),
    code: i32,
    (results, failures, sent): (usize, usize, u64),
    says: &'static [&'static str],
) -> Case {
    Case { file, more, code, results, failures, sent, says }
}

const NAMES: &str = "--check aml-screening --map country=country --set entity=0 --map";

const CASES: [Case; 43] = [
    case(("c01-excel-equals/ids.csv", IDENTITY), 0, (3, 0, 3), &["that a spreadsheet wrote as a formula"]),
    case(("c01-excel-equals/names.csv", SCREENING), 0, (2, 0, 2), &["that a spreadsheet wrote as a formula"]),
    case(("c02-namibia-null/book.csv", "FULL_NAME"), 0, (6, 0, 6), &[]),
    case(("c03-joined-files/joined-nohead.csv", SCREENING), 0, (3, 0, 3), &["with invisible characters"]),
    case(("c03-joined-files/joined.csv", SCREENING), 3, (4, 2, 4), &["found the header again"]),
    case(("c04-two-normal-forms/book.csv", SCREENING), 0, (4, 0, 2), &["used in Unicode form NFC"]),
    case(("c05-invisible/book.csv", "SPACED_NAME"), 0, (5, 0, 1), &["with invisible characters", "special space"]),
    case(("c05-invisible/ids.csv", IDENTITY), 0, (7, 0, 1), &["with invisible characters", "special space"]),
    case(("c06-trailing-delimiter/both.csv", SCREENING), 0, (2, 0, 2), &[]),
    case(("c06-trailing-delimiter/header-only.csv", SCREENING), 0, (2, 0, 2), &[]),
    case(("c06-trailing-delimiter/rows-only.csv", SCREENING), 0, (2, 0, 2), &[]),
    case(("c06-trailing-delimiter/wide.csv", SCREENING), 0, (2, 0, 2), &["rows of empty cells, skipped: 2"]),
    case(("c07-line-ends/lf-header-crlf-rows.csv", SCREENING), 0, (3, 0, 3), &[]),
    case(("c07-line-ends/cr-in-field.csv", SCREENING), 3, (2, 4, 2), &["expected 3 columns, found 2"]),
    case(("c07-line-ends/crcrlf.csv", SCREENING), 0, (2, 0, 2), &[]),
    case(
        ("c08-open-quote/balanced.csv", SCREENING),
        0,
        (3, 0, 3),
        &["span several lines: 1, the first at lines 3 to 5"],
    ),
    case(
        ("c08-open-quote/book.csv", SCREENING),
        3,
        (4, 1, 4),
        &["the first at lines 4 to 9", "in lines 4 to 9, which"],
    ),
    case(("c08-open-quote/to-the-end.csv", SCREENING), 3, (2, 1, 2), &["expected a closing quote", "lines 4 to 12"]),
    case(("c10-multi-line-header/book.csv", "TWO_LINE_HEADER"), 0, (2, 0, 2), &[]),
    case(("c12-blank-and-total/book.csv", SCREENING), 3, (2, 1, 2), &["rows of empty cells, skipped: 2"]),
    case(("c13-crlf-name/book.csv", SCREENING), 0, (3, 0, 1), &["rows that span several lines: 1"]),
    case(("c14-encodings/bom-sep.csv", SCREENING), 0, (3, 0, 3), &[]),
    case(("c14-encodings/utf16-sep.csv", SCREENING), 0, (3, 0, 3), &[]),
    case(("c14-encodings/utf16le-nobom.csv", SCREENING), 0, (3, 0, 3), &[]),
    case(("c14-encodings/mixed.csv", SCREENING), 3, (1, 1, 1), &["encoding = \"windows-1252\""]),
    case(("c14-encodings/cp1252.csv", "WINDOWS_1252"), 0, (3, 0, 3), &[]),
    case(("c14-encodings/cp1250.csv", "WINDOWS_1250"), 0, (1, 0, 1), &[]),
    case(("c15-blank-rows/deleted-in-excel.csv", SCREENING), 0, (10, 0, 10), &["rows of empty cells, skipped: 120"]),
    case(("j01-json-array/array.json", SCREENING), 2, (0, 0, 0), &["found a JSON list; `jq -c '.[]'`"]),
    case(("j01-json-array/pretty.json", SCREENING), 2, (0, 0, 0), &["found a JSON list; `jq -c '.[]'`"]),
    case(("j01-json-array/per-line.jsonl", SCREENING), 2, (0, 0, 0), &["found a JSON list; `jq -c '.[]'`"]),
    case(("j01-json-array/numbers.jsonl", SCREENING), 0, (4, 0, 4), &[]),
    case(("x01-hidden-rows/filtered.xlsx", SCREENING), 0, (4, 0, 4), &["2 of 4 rows are hidden by a filter"]),
    case(("x01-hidden-rows/filtered.xlsx", "VISIBLE"), 0, (2, 0, 2), &["left out, because of --visible-only"]),
    case(("x01-hidden-rows/hidden-sheet.xlsx", SCREENING), 2, (0, 0, 0), &["which is hidden", "--sheet NAME"]),
    case(("x02-escaped-cr/book.xlsx", SCREENING), 0, (3, 0, 3), &[]),
    case(("x04-formula-text/book.xlsx", "SHEET"), 0, (4, 0, 4), &[]),
    case(("x05-format-with-letters/book.xlsx", IDENTITY), 0, (10, 0, 1), &[]),
    case(("x06-uncached-formula/book.xlsx", SCREENING), 3, (1, 2, 1), &["found a formula without its result"]),
    case(("x07-phonetic/book.xlsx", SCREENING), 0, (3, 0, 3), &[]),
    case(("x08-formatted-to-the-end/book.xlsx", SCREENING), 0, (2, 0, 2), &[]),
    case(("x09-password/book.xlsx", SCREENING), 2, (0, 0, 0), &["without a password"]),
    case(("x11-kinds/book.xlsx", SCREENING), 3, (2, 2, 2), &["found the error #N/A", "formatted as a date"]),
];

/// The words of a case on the command line.
fn words(more: &str) -> Vec<&str> {
    let (plain, own): (&str, &[&str]) = match more {
        "FULL_NAME" => (NAMES, &["name={{ first_name }} {{ surname }}"]),
        "SPACED_NAME" => (NAMES, &["name=full name"]),
        "TWO_LINE_HEADER" => (NAMES, &["name=Client name"]),
        "WINDOWS_1252" => (SCREENING, &["--encoding", "windows-1252"]),
        "WINDOWS_1250" => (SCREENING, &["--encoding", "windows-1250"]),
        "VISIBLE" => (SCREENING, &["--visible-only"]),
        "SHEET" => (IDENTITY, &["--sheet", "Book"]),
        plain => (plain, &[]),
    };
    let id = if more == "TWO_LINE_HEADER" { "Nr." } else { "customer_no" };
    plain.split(' ').chain(own.iter().copied()).chain(["--id", id]).collect()
}

/// A run of a file in production.
fn run(workspace: &Workspace, file: &Path, more: &[&str]) -> Said {
    let campaign = "--campaign field --format jsonl --mode production --yes --max-credits 1000 --price aml-screening=1 \
         --price said-verification=1 --per-minute 600000 --per-minute-max 900000";
    let file = file.display().to_string();
    let fixed = ["run", &file, "--service", &workspace.service.url];
    let arguments: Vec<&str> =
        fixed.into_iter().chain(campaign.split_whitespace()).chain(more.iter().copied()).collect();
    Said::of(&mut rescreen(workspace.path(), &arguments))
}

fn dataset(workspace: &Workspace, kind: DatasetKind) -> Vec<Line> {
    let out = workspace.path().join("out/field");
    if out.exists() { tables::lines(&out, kind) } else { Vec::new() }
}

/// What is wrong with the run of a case.
fn faults(case: &Case, path: &Path) -> Vec<String> {
    let mut workspace = Workspace::new(1);
    workspace.loses_a_ledger = true;
    let said = run(&workspace, path, &words(case.more));
    let (results, failures) = (dataset(&workspace, DatasetKind::Results), dataset(&workspace, DatasetKind::Failures));
    let stats = workspace.service.simulator.stats();
    let found = (said.code, results.len(), failures.len(), stats.distinct_keys, stats.credits_charged);
    let wanted = (case.code, case.results, case.failures, case.sent, case.sent);
    let mut faults = Vec::new();
    if found != wanted {
        faults.push(format!("(exit, results, failures, sent, charged): found {found:?}, expected {wanted:?}"));
    }
    let messages: Vec<&str> = failures.iter().map(|line| text(line, "message")).collect();
    let all = [said.stderr.as_str(), &messages.join("\n")].join("\n");
    faults.extend(
        case.says.iter().filter(|words| !all.contains(**words)).map(|words| format!("it does not say `{words}`")),
    );
    // What is sent, and the subject, are what a person reads.
    let is_odd =
        |character: char| "\u{ad}\u{200b}\u{200e}\u{202a}\u{2060}\u{feff}\u{a0}\u{fffd}\r\n".contains(character);
    for line in &results {
        let read = [text(line, "subject"), text(line, "sent")].join(" ");
        if read.contains(is_odd) || read.contains("=\\\"") {
            faults.push(format!("invisible characters were sent: {}", read.escape_debug()));
        }
    }
    faults
}

#[test]
fn each_case_reads_sends_charges_and_says_what_is_expected() {
    let Some(folder) = shared("field") else { return };
    let mut wrong = Vec::new();
    for case in &CASES {
        let found = faults(case, &folder.join(case.file));
        wrong.extend(found.into_iter().map(|fault| format!("{} ({}): {fault}", case.file, case.more)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The bodies that the run of a file sends.
fn sent(folder: &Path, file: &str, more: &str, column: &str) -> BTreeSet<String> {
    let workspace = Workspace::new(1);
    run(&workspace, &folder.join(file), &words(more)).exits(0);
    dataset(&workspace, DatasetKind::Results).iter().map(|line| text(line, column).to_owned()).collect()
}

#[test]
fn one_book_in_several_encodings_is_the_same_requests() {
    let Some(folder) = shared("field/c14-encodings") else { return };
    let sent = |file, more| sent(&folder, file, more, "idempotency_key");
    let wanted = sent("bom-sep.csv", SCREENING);
    assert_eq!(wanted.len(), 3);
    assert_eq!(sent("utf16-sep.csv", SCREENING), wanted);
    assert_eq!(sent("utf16le-nobom.csv", SCREENING), wanted);
    // A letter that the code page does not have is another one there.
    assert_eq!(sent("cp1252.csv", "WINDOWS_1252").intersection(&wanted).count(), 2);
    assert!(sent("cp1250.csv", "WINDOWS_1250").is_subset(&wanted));
}

#[test]
fn identifiers_of_a_workbook_keep_their_leading_zeros() {
    let Some(folder) = shared("field/x04-formula-text") else { return };
    let subjects = sent(&folder, "book.xlsx", "SHEET", "subject");
    assert!(subjects.iter().all(|subject| subject.len() == 4 && subject.starts_with('0')), "{subjects:?}");
    let bodies = sent(&folder, "book.xlsx", "SHEET", "sent");
    let has_all_digits = |body: &String| body.chars().filter(char::is_ascii_digit).count() == 13;
    assert!(bodies.iter().all(has_all_digits), "{bodies:?}");
    assert!(bodies.iter().any(|body| body.contains("\"0")), "{bodies:?}");
}

#[test]
fn a_row_that_failed_is_corrected_in_failures_csv_and_paid_for_once() {
    let (Some(before), Some(after)) =
        (shared("field/c11-fixed-row/before.csv"), shared("field/c11-fixed-row/after.csv"))
    else {
        return;
    };
    let workspace = Workspace::new(1);
    let more = words(SCREENING);
    run(&workspace, &before, &more).exits(3);
    let paid = workspace.service.simulator.stats().charges;
    let failed = std::fs::read_to_string(workspace.path().join("out/field/failures.csv")).unwrap();
    let records = |text: &str| -> Vec<csv::StringRecord> {
        csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes())
            .records()
            .map(Result::unwrap)
            .collect()
    };
    let right = records(&std::fs::read_to_string(after).unwrap());
    let mut corrected = csv::Writer::from_writer(Vec::new());
    for (number, record) in records(&failed).iter().enumerate() {
        let corrects = right.iter().skip(1).find(|row| number > 0 && row.get(0) == record.get(0));
        let cells = record.iter().enumerate().map(|(at, cell)| corrects.and_then(|row| row.get(at)).unwrap_or(cell));
        corrected.write_record(cells).unwrap();
    }
    workspace.write("corrected.csv", &String::from_utf8(corrected.into_inner().unwrap()).unwrap());
    let said = run(&workspace, &before, &[&more[..], &["--corrections", "corrected.csv"]].concat());
    assert_eq!(said.code, 0, "{failed}\n{}", said.stderr);
    let stats = workspace.service.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (paid + 1, 0));
    assert_eq!(dataset(&workspace, DatasetKind::Failures).len(), 0);
}
