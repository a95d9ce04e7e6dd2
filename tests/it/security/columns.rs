//! A file without a header, or the wrong file, has personal data or secrets in its first line, so that line is not
//! repeated. Column names are repeated only where they are known to be names.

use crate::support::program::{Said, rescreen};
use std::fs;

const PLAN: [&str; 8] = ["plan", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za", "--simulate"];

/// The message of `plan` about a file that it cannot map.
fn refused(name: &str, text: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    let said =
        Said::of(&mut rescreen(folder.path(), &[&PLAN[..], &[name, "-vv"], more].concat())).exits(2).without_data();
    said.stderr
}

#[test]
fn a_first_line_that_is_a_row_is_not_repeated() {
    for line in [
        "Thandi Nkosi,8001015009087,za\n",
        "Thandi Nkosi,za\n",
        "Thandi Nkosi,thandi@vexford.example,active\n",
        "1,Thandi Nkosi,1980-01-01\n",
        "\"Nkosi, Thandi Customer Care\",+27 82 555 0199,no\n",
        "Names of Nkosi,8001015009087,customer\n",
    ] {
        let maps: [&[&str]; 6] = [
            &["--map", "name=name"],
            &["--map", "name=Thandi"],
            &["--map", "name={{ nkosi }}"],
            &["--id", "thandi nkos", "--map", "name=name"],
            &["--carry", "nkosi", "--map", "name=name"],
            &[],
        ];
        for more in maps {
            let message = refused("book.csv", line, more).replace("`Thandi`", "").replace("`thandi nkos`", "");
            let message = message.replace("`nkosi`", "");
            for planted in ["Nkosi", "Thandi", "800101", "vexford", "1980", "82 555", "Care"] {
                assert!(!message.contains(planted), "{line}: {message}");
            }
            let is_of_carry = more.iter().any(|word| *word == "--id" || *word == "--carry");
            assert!(
                is_of_carry || message.contains("if the first line is a row, use --no-header"),
                "{line}: {message}"
            );
            assert!(is_of_carry || message.contains("columns;") || message.contains("column;"), "{line}: {message}");
        }
    }
}

#[test]
fn column_names_are_repeated_unless_they_do_not_look_like_names() {
    let text = "Customer Name,Country,2026-11,Balance 20251130,joined_2024\nAda,za,1,2,3\n";
    let message = refused("book.csv", text, &["--map", "name=customr name"]);
    assert!(
        message.contains("if the first line is a row") && !message.contains("20251130"),
        "six digits in a row: {message}"
    );
    let message = refused("book.csv", &text.replace("20251130", "2025"), &["--map", "name=customr name"]);
    let listed = "; did you mean `Customer Name`?; the columns are `Customer Name`, `Country`, `Balance 2025`, `joined_2024`, and 1 more";
    assert!(message.contains(listed), "{message}");
}

#[test]
fn duplicate_or_changed_columns_are_reported_by_their_positions() {
    let message = refused("book.csv", "Thandi Nkosi,za,Thandi Nkosi\n", &[]);
    assert!(message.contains("columns 1 and 3") && message.contains("--no-header"), "{message}");
    assert!(!message.contains("Nkosi"), "{message}");
}

#[test]
fn a_wrong_file_is_not_shown() {
    for text in [
        "hunter2secret\n",
        "root:$6$vexford:19000:0:99999:7:::\n",
        "sk-live-vexford\nx\n",
        "-----BEGIN PRIVATE KEY-----\n",
    ] {
        let message = refused("secrets", text, &["--map", "name=hunter2secre"]).replace("`hunter2secre`", "");
        for planted in ["hunter2", "vexford", "$6$", "sk-live", "PRIVATE"] {
            assert!(!message.contains(planted), "{message}");
        }
    }
}

#[test]
fn json_keys_that_do_not_look_like_names_are_not_repeated() {
    let message = refused("book.jsonl", "{\"Thandi Nkosi\":1,\"8001015009087\":2}\n", &[]);
    assert!(!message.contains("Nkosi") && !message.contains("800101"), "{message}");
    assert!(message.contains("2 keys"), "{message}");
}
