//! No value of a list is printed or written, whatever the list looks like.

use crate::support::folder::Folder;
use proptest::{collection::vec, prelude::*, test_runner::Config};

/// Values that are not words of the program, in every shape that is looked for. A column has values of one kind, as in real
/// lists: a text above identifiers is a header.
const KINDS: [&[&str]; 10] = [
    &["Vexford Thandiwe", "Zanzibarland", "Quillmoor Anele"],
    &["9503143488082", "8801235111088"],
    &["1M8GDM9AXKP042788"],
    &["2016/004321/07", "1999/027614/06"],
    &["CA 918-273"],
    &["vexford@mail.example", "anele@mail.example"],
    &["62001234567", "4051188213"],
    &["1987-06-05"],
    &["0827364554"],
    &["Vexford Holdings (Pty) Ltd", "Quillmoor Trading CC"],
];

fn table() -> impl Strategy<Value = Vec<Vec<&'static str>>> {
    let value = |kind: &'static [&'static str]| prop::sample::select(kind);
    let row = move |kinds: Vec<&'static [&'static str]>| kinds.into_iter().map(value).collect::<Vec<_>>();
    vec(prop::sample::select(&KINDS[..]), 1..5).prop_flat_map(move |kinds| vec(row(kinds), 1..8))
}

/// The text without the names of columns that a header named.
fn holds_a_value(text: &str) -> Option<&'static str> {
    KINDS.into_iter().flatten().copied().find(|value| text.contains(value))
}

proptest! {
    #![proptest_config(Config { cases: 12, failure_persistence: None, ..Config::default() })]

    /// Without a header the first line is a row, and its values would be the names of the columns.
    #[test]
    fn a_list_without_a_header_is_not_repeated(rows in table(), has_header: bool) {
        let mut lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
        if has_header {
            let names: Vec<String> = (0..rows[0].len()).map(|at| format!("field {at}")).collect();
            lines.insert(0, names.join(","));
        }
        let folder = Folder::with("list.csv", lines.join("\n"));
        let checks = ["--check", "aml-screening", "--check", "said-verification", "--check", "vehicle-check"];
        for arguments in [&checks[..], &[]] {
            let said = folder.say(&[&["init", "list.csv", "--output", "-"], arguments].concat());
            for text in [&said.stdout, &said.stderr] {
                prop_assert_eq!(holds_a_value(text), None, "{}\n{}", lines.join("\n"), text);
            }
        }
    }
}
