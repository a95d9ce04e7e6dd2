//! A header may contain anything. The campaign file still parses, means that very column, and prints as plain lines.

use proptest::{collection::hash_set, prelude::*, test_runner::Config};
use rescreen::{
    catalogue::Catalogue,
    mapping::{CheckUse, Mapped, Mapping, MappingOptions},
    model::{Mode, Position, Row, printable::is_printable, row::Values},
    pipeline::{
        campaign::parse,
        init::{InitInput, InitOrder, propose},
    },
    source::SourceReader,
};
use rescreen::{
    pipeline::{Campaign, campaign::file::CheckTable},
    source::Origin,
};
use std::sync::Arc;

const ID: &str = "8001015009087";
const OTHERS: [&str; 3] = ["8001015009087", "9503143488082", "7306067651087"];

fn name() -> impl Strategy<Value = String> {
    let hostile = vec![
        "{{ x }}",
        "}}",
        "{%",
        "{#",
        "\"",
        "'",
        "\\",
        "\n",
        "\r\n",
        "\t",
        "#",
        "=",
        "[",
        "]",
        ",",
        ";",
        "\u{202e}",
        "\u{7}",
        "\u{1b}[2J",
        "é",
        "row",
        "or",
        "name",
        "id number",
        "surname",
        "\"\"\"",
        "'''",
        " ",
        "$",
        "../",
        "%}",
        "\u{200b}",
        "\u{feff}",
        "1",
    ];
    let part = prop_oneof![
        3 => prop::sample::select(hostile).prop_map(str::to_owned),
        2 => "[a-zA-Z_]{1,6}",
        1 => "\\PC{1,4}",
    ];
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
}

/// The CSV with these names and ID numbers in one of its columns.
fn csv(names: &[String], at: usize) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let header: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let row = |id: &str| -> String {
        let cells = (0..names.len()).map(|column| quoted(if column == at { id } else { "some words" }));
        cells.collect::<Vec<_>>().join(",")
    };
    let rows: Vec<String> = (0..6).map(|number| row(OTHERS[number % 3])).collect();
    format!("{}\n{}\n", header.join(","), rows.join("\n"))
}

proptest! {
    #![proptest_config(Config { cases: 150, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_file_for_a_random_header_means_the_column_with_the_numbers(
        names in hash_set(name(), 2..5), at in any::<prop::sample::Index>(),
    ) {
        let names: Vec<String> = names.into_iter().collect();
        let at = at.index(names.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.csv");
        std::fs::write(&path, csv(&names, at)).unwrap();
        let mut order = InitOrder::default();
        order.inputs.push(InitInput { name: "list.csv".to_owned(), path: path.clone() });
        order.checks.push(CheckTable::of("said-verification"));
        order.checks.push(CheckTable::of("aml-screening"));
        // A header that no program can read, such as one with two equal names after trimming.
        let Ok(proposal) = propose(&order) else { return Ok(()) };
        prop_assert!(proposal.text.lines().all(is_printable), "{}", proposal.text);
        prop_assert!(proposal.lines.iter().all(|line| is_printable(&line.why) && line.from.iter().all(|from| is_printable(from))));
        let file = parse(&proposal.text).map_err(TestCaseError::fail)?;
        let said = file.checks[0].fields.get("idNumber").cloned();
        let Some(said) = said else {
            // Nothing but a first line that may be a row hides a column of ID numbers.
            prop_assert!(proposal.open.iter().any(|open| open.key.ends_with("idNumber")), "{}", proposal.text);
            return Ok(());
        };
        let campaign = Campaign::new(rescreen::pipeline::campaign::file::CampaignFile { simulate: true, ..file }, folder.path())
            .map_err(|error| TestCaseError::fail(error.to_string()));
        // The other check may be open; the file is good all the same.
        let options = campaign?.source_options;
        let mut reader = SourceReader::open("list.csv".into(), Origin::File(path), &options, None).unwrap();
        let header = reader.layout().2.unwrap().to_vec();
        let check = CheckUse { check: "said-verification".to_owned(), fields: [("idNumber".to_owned(), said)].into(), ..CheckUse::default() };
        let mapping = Mapping::new(&Catalogue::built_in(), &[check], MappingOptions::new("c", Mode::Sandbox)).unwrap();
        let bound = mapping.bind(&header).map_err(|error| TestCaseError::fail(format!("{error}\n{}", proposal.text)))?;
        let row = reader.next_split().unwrap().unwrap().records.remove(0);
        let rescreen::model::Record::Row(row) = row else { return Err(TestCaseError::fail("the row is read")) };
        let mapped = bound.map(&row).unwrap();
        prop_assert!(matches!(&mapped[0], Mapped::Ask(ask) if ask.fields["idNumber"] == ID), "{:?}\n{}", mapped, proposal.text);
    }
}

#[test]
fn each_hostile_name_is_read_as_that_column() {
    for name in
        ["{{ x }}", "a\"b", "a\\b", "line\nbreak", "{% if %}", "it's \"5\"", "#", "{#", "}}", "row[\"x\"]", "or"]
    {
        let header = Arc::new(vec!["before".to_owned(), name.to_owned()]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.csv");
        std::fs::write(&path, csv(&header, 1)).unwrap();
        let order = InitOrder {
            inputs: vec![InitInput { name: "list.csv".to_owned(), path }],
            checks: vec![CheckTable::of("said-verification")],
            ..InitOrder::default()
        };
        let proposal = propose(&order).unwrap();
        let file = parse(&proposal.text).unwrap();
        let source = file.checks[0].fields["idNumber"].clone();
        let check = CheckUse {
            check: "said-verification".to_owned(),
            fields: [("idNumber".to_owned(), source)].into(),
            ..CheckUse::default()
        };
        let mapping = Mapping::new(&Catalogue::built_in(), &[check], MappingOptions::new("c", Mode::Sandbox)).unwrap();
        let position = Position { source: "x".into(), row_number: 1, line: 1, byte_offset: 0 };
        let cells = csv::StringRecord::from(vec!["no", ID]);
        let row = Row { position, values: Values::Flat { header: header.clone(), cells } };
        let mapped = mapping.bind(&header).unwrap().map(&row).unwrap();
        assert!(matches!(&mapped[0], Mapped::Ask(ask) if ask.fields["idNumber"] == ID), "{name}: {mapped:?}");
    }
}
