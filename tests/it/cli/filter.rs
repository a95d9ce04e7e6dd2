//! `rescreen filter --arrow`: a row for each ask in the order of the input, nothing left behind, and no paid run without a charge book.

use super::Workspace;
use crate::support::{
    arrow::{customers, filtered, stream_of, sum, texts},
    program::{Said, rescreen},
    tables::files,
};
use arrow::array::{ArrayRef, StringArray};
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};
use tempfile::TempDir;

const CAMPAIGN: &str = "campaign = \"2026-11\"\nmode = \"production\"\n[input]\npaths = [\"book.csv\"]\nid = \"id\"\n[output]\ncarry = [\"id\"]\n\
    [budget]\nmax_credits = 100\nprices = { aml-screening = 1 }\n\
    [[check]]\nuse = \"aml-screening\"\nfields.name = \"name\"\nfields.country = { value = \"ZA\" }\nfields.entity = { value = 0 }\n";

fn folder(file: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rescreen.toml"), file).unwrap();
    folder
}

fn filter(folder: &Path, more: &[&str]) -> Command {
    rescreen(folder, &[&["filter", "--arrow"], more].concat())
}

#[test]
fn each_row_has_its_answer_in_order_and_nothing_is_left_behind() {
    let folder = folder(CAMPAIGN);
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("A B"), None, Some("C D"), Some("A B")]));
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["0001", "0002", "0003", "0004"]));
    let input = stream_of(&[("id", ids), ("name", names)], 3);
    let (said, rows) = filtered(&mut filter(folder.path(), &["--simulate"]), &input);
    let said = said.exits(3).says("4 rows: 3 results");
    assert!(!said.stderr.contains(".rescreen-"), "a folder that is gone: {}", said.stderr);
    let rows = rows.unwrap();
    assert_eq!(texts(&rows, "subject"), ["0001", "0002", "0003", "0004"].map(Some));
    assert_eq!(texts(&rows, "dataset"), ["results", "failures", "results", "results"].map(Some));
    assert_eq!(texts(&rows, "code"), [None, Some("missing_value"), None, None]);
    assert_eq!(texts(&rows, "id"), [Some("0001"), None, Some("0003"), Some("0004")]);
    assert_eq!(sum(&rows, "credits"), 2, "the same content is paid once");
    let mut left = files(folder.path(), "");
    left.retain(|file| !file.starts_with("state"));
    assert_eq!(left, [Path::new("rescreen.toml")]);
}

#[test]
fn an_input_without_rows_has_the_same_columns() {
    let folder = folder(CAMPAIGN);
    let columns = |input: &[u8]| {
        let (said, rows) = filtered(&mut filter(folder.path(), &["--simulate"]), input);
        said.exits(0);
        rows.unwrap().schema()
    };
    let none: ArrayRef = Arc::new(StringArray::from(vec![""; 0]));
    let empty = stream_of(&[("id", Arc::clone(&none)), ("name", none)], 1);
    assert_eq!(columns(&empty), columns(&customers("x", 9)));
}

#[test]
fn every_row_is_there_after_a_stop() {
    let folder = folder(CAMPAIGN);
    let (said, rows) =
        filtered(&mut filter(folder.path(), &["--simulate", "--max-credits", "5"]), &customers("x", 3_000));
    said.exits(4).says("some rows have no answer yet: filter the same rows again");
    let rows = rows.unwrap();
    let datasets = texts(&rows, "dataset");
    let count = |dataset| datasets.iter().filter(|one| **one == Some(dataset)).count();
    assert_eq!((rows.num_rows(), count("results"), count("pending")), (3_000, 5, 2_995));
}

#[test]
fn a_filter_whose_reader_has_gone_ends_by_itself() {
    let folder = folder(CAMPAIGN);
    let mut command = filter(folder.path(), &["--simulate=realtime"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&customers("x", 3_000)).unwrap();
    drop(child.stdout.take());
    // At the documented rate it would take most of an hour.
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let mut left = files(folder.path(), "");
    left.retain(|file| !file.starts_with("state"));
    assert_eq!(left, [Path::new("rescreen.toml")]);
}

#[test]
fn what_cannot_be_filtered_is_refused_before_anything_is_sent() {
    let folder = folder(CAMPAIGN);
    let refused = |more: &[&str], input: &[u8], says: &str| {
        let (said, rows) = filtered(&mut filter(folder.path(), more), input);
        said.exits(2).says(says);
        assert_eq!(rows, None, "{says}");
    };
    let input = customers("x", 3);
    refused(&["--simulate"], &input[..input.len() - 8], "the stream of Arrow data has no end mark");
    refused(&["--simulate"], b"", "expected a stream of Arrow data (IPC), found something else");
    refused(&["--simulate"], b"id,name\n1,A\n", "expected a stream of Arrow data (IPC), found something else");
    refused(&["--simulate", "--limit", "2"], &input, "a filter writes a row for every row");
    fs::write(folder.path().join("c.toml"), CAMPAIGN.replace("[\"id\"]", "[{ code = \"id\" }]")).unwrap();
    refused(&["--simulate", "-c", "c.toml"], &input, "column `code` of aml-screening");
    refused(&["--simulate", "book.csv"], &input, "the rows come from standard input");
    Said::of(&mut rescreen(folder.path(), &["filter", "--simulate"])).exits(2).says("--arrow");
    let workspace = Workspace::new(0);
    let production = ["--mode", "production", "--yes", "--service", &workspace.service.url];
    refused(&production, &input, "a production run needs a charge book");
    assert_eq!(workspace.service.checks_arrived(), 0);
}
