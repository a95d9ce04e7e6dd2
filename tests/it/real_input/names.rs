//! Names: a museum's artists, whose countries are demonyms, and a sanctions list without a header.

use super::distinct;
use crate::support::{
    data::shared,
    ran::results,
    tables::{number, text},
    world::{AML, World},
};
use rescreen::{
    mapping::FieldSource,
    model::{ExitCode, Record},
    pipeline::{TableSource, campaign::file::CheckTable},
    sink::DatasetKind,
    source::{HeaderLine, Origin, SourceOptions, SourceReader},
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The project's own table of demonyms.
fn demonyms() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data/demonyms.csv")
}

#[tokio::test]
#[ignore = "thousands of rows: make slow"]
async fn a_museums_nationalities_become_countries_and_what_no_table_knows_is_counted() {
    let Some(path) = shared("names/moma_artists.csv") else { return };
    let mut rows = csv::Reader::from_path(&path).unwrap();
    let known: BTreeSet<String> =
        csv::Reader::from_path(demonyms()).unwrap().records().map(|row| row.unwrap()[0].to_owned()).collect();
    let nationalities: Vec<String> = rows.records().map(|row| row.unwrap()[3].to_owned()).collect();
    let nulls = nationalities.iter().filter(|one| *one == "NULL").count();
    let unmapped = nationalities.iter().filter(|one| *one != "NULL" && !known.contains(one.trim())).count();
    assert_eq!((nationalities.len(), nulls), (14_769, 2_470));
    let answered = nationalities.len() - nulls - unmapped;

    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = Some("ConstituentID".into());
        file.input.null = Some(vec![String::new(), "NULL".into()]);
        file.tables.insert("nationality".into(), TableSource::File(demonyms()));
        file.checks = vec![CheckTable {
            fields: [
                ("name".to_owned(), FieldSource::from("DisplayName")),
                ("entity".to_owned(), FieldSource::Constant(json!(0))),
                ("country".to_owned(), FieldSource::from("{{ Nationality | table('nationality') }}")),
            ]
            .into(),
            ..CheckTable::of(AML)
        }];
    });
    let ran =
        world.run().await.exits(ExitCode::Failures).counts(results(answered).failures(nulls + unmapped)).adds_up(true);
    assert_eq!(ran.failure_codes(), [("missing_value".to_owned(), nulls + unmapped)].into());
    let of_table = ran.failures().iter().filter(|line| text(line, "message").contains("table `nationality`")).count();
    assert_eq!(of_table, unmapped, "a nationality missing from the table is a failure");
    assert_eq!(ran.stats.double_charges, 0);
    println!("{answered} answered, {nulls} without a nationality, {unmapped} whose nationality is in no table");
}

const SDN_COLUMNS: [&str; 12] = [
    "number",
    "name",
    "kind",
    "programme",
    "title",
    "call_sign",
    "vessel_kind",
    "tonnage",
    "gross_tonnage",
    "flag",
    "owner",
    "remarks",
];

#[tokio::test]
#[ignore = "thousands of rows: make slow"]
async fn a_sanctions_list_without_a_header_is_persons_and_organisations_and_its_ships_are_skipped() {
    let Some(path) = shared("names/ofac_sdn.csv") else { return };
    let bytes = std::fs::read(&path).unwrap();
    let rows = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]).into_byte_records();
    let rows: Vec<(Vec<u8>, Vec<u8>)> =
        rows.map(|row| row.map(|row| (row[1].to_vec(), row[2].to_vec())).unwrap()).collect();
    let of = |kind: &[u8]| rows.iter().filter(|(_, found)| found.as_slice() == kind).count();
    let (persons, organisations) = (of(b"individual"), of(b"-0- "));
    assert_eq!((rows.len(), persons, organisations), (7_379, 3_845, 2_994));

    let screened = |name: &str, when: &str, entity: i64| CheckTable {
        name: Some(name.into()),
        when: Some(when.into()),
        fields: [
            ("name".to_owned(), FieldSource::from("name")),
            ("entity".to_owned(), FieldSource::Constant(json!(entity))),
            ("country".to_owned(), FieldSource::Constant(json!("us"))),
        ]
        .into(),
        ..CheckTable::of(AML)
    };
    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = Some("number".into());
        file.input.header = Some(false);
        file.input.columns = Some(SDN_COLUMNS.map(str::to_owned).into());
        file.input.null = Some(vec![String::new(), "-0- ".into()]);
        file.checks =
            vec![screened("person", "kind == 'individual'", 0), screened("organisation", "kind is undefined", 1)];
    });
    let ran = world.run().await.exits(ExitCode::Complete).adds_up(true);
    let skipped = 2 * rows.len() - persons - organisations;
    let ran = ran.counts(results(persons + organisations).skipped(skipped));
    assert_eq!((ran.results_of("person").len(), ran.results_of("organisation").len()), (persons, organisations));
    let entity = |line: &crate::support::tables::Line| text(line, "sent").contains("\"entity\":1");
    assert!(ran.results_of("person").iter().all(|line| !entity(line)));
    assert!(ran.results_of("organisation").iter().all(|line| entity(line)));
    let credits: i64 = ran.results().iter().map(|line| number(line, "credits")).sum();
    assert_eq!((credits as usize, ran.stats.double_charges), (distinct(&ran, "idempotency_key"), 0));
    assert!(ran.lines(DatasetKind::Failures).is_empty());
}

#[test]
fn the_end_of_file_character_of_an_old_system_is_not_a_row() {
    for name in ["names/ofac_add.csv", "names/ofac_alt.csv"] {
        let Some(path) = shared(name) else { return };
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.last(), Some(&0x1a), "{name} has changed");
        let records = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&bytes[..]);
        let all = records.into_byte_records().count();
        let options = SourceOptions { header: HeaderLine::Missing, ..SourceOptions::default() };
        let mut reader = SourceReader::open(name.into(), Origin::File(path), &options, None).unwrap();
        let (mut rows, mut damaged) = (0, 0);
        while let Some(split) = reader.next_split().unwrap() {
            for record in split.records {
                match record {
                    Record::Row(_) => rows += 1,
                    Record::Damaged { .. } => damaged += 1,
                }
            }
        }
        assert_eq!((rows, damaged), (all - 1, 0), "{name}: all but the end-of-file character");
    }
}
