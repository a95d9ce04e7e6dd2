//! `plan --failures`: all rows that would fail, with their columns, in a private file that replaces nothing.

use crate::{
    cli::Workspace,
    support::{
        program::{Said, rescreen},
        tables::files,
        world::book,
    },
};
use std::fs;

fn planned(workspace: &Workspace, more: &[&str]) -> Said {
    Said::of(&mut workspace.production("plan", more))
}

#[test]
fn the_rows_that_fail_are_written_with_their_columns_and_reasons() {
    let workspace = Workspace::new(0);
    let mut text = book(1..=40);
    text += "41,,active\n42\n=43,,\"+27 82 555 0199\"\n44,P1,active,more\n-45,,@x\n";
    workspace.write("book.csv", &text);
    let said = planned(&workspace, &["--failures", "failed.csv"]).exits(0).shows("all 5 are in failed.csv");
    assert!(!said.next_command().contains("--failures"), "{}", said.next_command());
    let missing = "missing_value,\"field `name` (column `name`): expected a value, found none\"";
    assert_eq!(
        fs::read_to_string(workspace.path().join("failed.csv")).unwrap(),
        format!(
            "\u{feff}no,name,status,column_4,_source,_row_number,_line,_code,_message\n\
             41,,active,,book.csv,41,42,{missing}\n\
             42,,,,book.csv,42,43,ragged_row,\"expected 3 columns, found 1\"\n\
             '=43,,'+27 82 555 0199,,book.csv,43,44,{missing}\n\
             44,P1,active,more,book.csv,44,45,ragged_row,\"expected 3 columns, found 4\"\n\
             -45,,'@x,,book.csv,45,46,{missing}\n"
        )
    );
    #[cfg(unix)]
    {
        let mode = fs::metadata(workspace.path().join("failed.csv")).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
    }
}

#[test]
fn a_file_that_exists_or_has_no_folder_is_refused_before_anything_is_read() {
    let workspace = Workspace::new(3);
    workspace.write("failed.csv", "mine\n");
    planned(&workspace, &["--failures", "failed.csv"]).exits(2).without_data().says("exists and is not replaced");
    assert_eq!(fs::read_to_string(workspace.path().join("failed.csv")).unwrap(), "mine\n");
    planned(&workspace, &["--failures", "-"]).exits(2).without_data().says("expected the name of a new file");
    planned(&workspace, &["--failures", "no/failed.csv"]).exits(2).without_data().says("found no folder no");
    planned(&workspace, &["--failures", "more.csv"]).exits(0).shows("no row fails, so more.csv is not written");
    assert!(!workspace.path().join("more.csv").exists());
    assert_eq!(files(workspace.path(), "").iter().filter(|file| file.ends_with(".tmp")).count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_with_11_after_the_plan_was_shown() {
    let workspace = Workspace::new(3);
    // Nothing can be created in this folder by anyone.
    planned(&workspace, &["--failures", "/proc/failed.csv"]).exits(11).without_data().says("/proc/failed.csv");
    workspace.write("book.csv", &(book(1..=3) + &"9,,active\n".repeat(40_000)));
    let words = workspace.production("plan", &["--max-errors", "100%", "--failures", "failed.csv"]);
    let words: Vec<String> = words.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let quoted = rescreen::model::shell_words::quoted(&words);
    // The largest file that the process may write, in blocks of 512 bytes.
    let line = format!("ulimit -f 100; exec rescreen {quoted}");
    let said = Said::of(&mut crate::support::program::shell(workspace.path(), &line)).exits(11);
    let said = said.shows("rejected 40,000");
    assert!(said.stderr.contains("failed.csv: writing failed"), "{}", said.stderr);
    assert!(!workspace.path().join("failed.csv").exists());
}

#[test]
fn a_row_that_fails_in_two_checks_is_written_for_each_and_secrets_are_not() {
    let workspace = Workspace::new(0);
    workspace.write(
        "book.jsonl",
        "{\"no\": 1, \"name\": null, \"more\": {\"a\": [1]}}\n{\"no\": 2, \"late\": \"x\"}\nnot json\n",
    );
    let words = "plan book.jsonl --check aml-screening --check said-verification --set aml-screening.entity=0 --set \
                 aml-screening.country=za --map aml-screening.name=name --map said-verification.idNumber=name --simulate \
                 --failures failed.csv";
    let words: Vec<&str> = words.split_whitespace().collect();
    let said = Said::of(&mut rescreen(workspace.path(), &words)).exits(3);
    said.shows("all 5 are in failed.csv");
    let text = fs::read_to_string(workspace.path().join("failed.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "\u{feff}no,name,more,late,_raw,_source,_row_number,_line,_code,_message");
    assert!(
        lines[1].starts_with("1,,\"{\"\"a\"\":[1]}\",,,book.jsonl,1,1,missing_value,\"aml-screening: field"),
        "{text}"
    );
    assert!(lines[2].contains("said-verification: field `idNumber`"), "{text}");
    assert!(
        lines[3].starts_with("2,,,x,,book.jsonl,2,2,") && lines[5].starts_with(",,,,not json,book.jsonl,3,3,"),
        "{text}"
    );
}
