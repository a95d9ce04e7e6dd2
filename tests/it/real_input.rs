//! Real public books as published: real names, real byte order marks, real duplicates. Skipped with a notice where the
//! data is not available.

mod banks;
mod companies;
mod names;
mod vehicles;

use crate::support::{
    data::shared,
    ran::{Ran, results},
    tables::text,
    world::{AML, SAID, World},
};
use rescreen::{model::ExitCode, pipeline::campaign::file::CheckTable};
use std::{collections::BTreeSet, fs};

#[tokio::test]
#[ignore = "thousands of rows: make slow"]
async fn a_museums_14769_artists_are_14719_charges() {
    let Some(path) = shared("names/moma_artists.csv") else { return };
    let mut check = CheckTable::of(AML);
    check.fields.insert("entity".into(), rescreen::mapping::FieldSource::Constant(0.into()));
    check.fields.insert("country".into(), rescreen::mapping::FieldSource::Constant("za".into()));
    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = Some("ConstituentID".into());
        file.output.carry = vec!["DisplayName".into()];
        file.checks = vec![check];
    });
    let ran = world.run().await.exits(ExitCode::Complete).charged(14_719).counts(results(14_769)).adds_up(true);
    assert_eq!((ran.posts(), ran.stats.distinct_keys), (14_719, 14_719));
    // A key is made of the name with its spaces collapsed and trimmed and its case kept.
    let names: BTreeSet<String> = ran
        .results()
        .iter()
        .map(|line| text(line, "displayname").split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(names.len(), 14_719);
}

/// Distinct values of a column of the results.
fn distinct(ran: &Ran, column: &str) -> usize {
    ran.results().iter().map(|line| text(line, column)).collect::<BTreeSet<_>>().len()
}

fn keys(ran: &Ran) -> BTreeSet<String> {
    ran.results().iter().map(|line| text(line, "idempotency_key").to_owned()).collect()
}

#[tokio::test]
async fn one_book_as_csv_and_as_nested_json_is_the_same_set_of_keys() {
    let (Some(flat), Some(nested)) = (shared("names/senzing_customers.csv"), shared("names/senzing_customers.jsonl"))
    else {
        return;
    };
    let flat_name = "{{ PRIMARY_NAME_FULL or NATIVE_NAME_FULL or PRIMARY_NAME_ORG or \
        [PRIMARY_NAME_FIRST, PRIMARY_NAME_MIDDLE, PRIMARY_NAME_LAST] | select | join(' ') }}";
    let first_of = |key: &str| format!("FEATURES | map(attribute='{key}') | select | first");
    let parts = ["NAME_FIRST", "NAME_MIDDLE", "NAME_LAST"].map(first_of).join(", ");
    let nested_name =
        format!("{{{{ {} or {} or [{parts}] | select | join(' ') }}}}", first_of("NAME_FULL"), first_of("NAME_ORG"));
    let nested_entity = format!("{{{{ 1 if ({}) == 'ORGANIZATION' else 0 }}}}", first_of("RECORD_TYPE"));
    let mut found = Vec::new();
    for (path, name, entity) in [
        (flat, flat_name.to_owned(), "{{ 1 if RECORD_TYPE == 'ORGANIZATION' else 0 }}".to_owned()),
        (nested, nested_name, nested_entity),
    ] {
        let mut world = World::new().campaign(|file| {
            file.input.paths = vec![path];
            file.input.id = Some("RECORD_ID".into());
            let fields = &mut file.checks[0].fields;
            fields.insert("name".into(), name.as_str().into());
            fields.insert("entity".into(), entity.as_str().into());
        });
        let ran = world.run().await.exits(ExitCode::Complete).counts(results(120)).adds_up(true);
        assert_eq!(ran.stats.double_charges, 0);
        found.push(keys(&ran));
    }
    assert_eq!(found[0], found[1]);
    assert!(found[0].len() > 100, "{}", found[0].len());
}

#[tokio::test]
async fn numbers_that_the_rule_refuses_are_failures_and_the_others_are_sent() {
    let Some(path) = shared("identity/za_id_vectors.csv") else { return };
    let mut rows = csv::Reader::from_path(&path).unwrap();
    let numbers: Vec<String> = rows.records().map(|row| row.unwrap()[0].to_owned()).collect();
    let good: BTreeSet<&str> = numbers
        .iter()
        .map(|number| number.trim())
        .filter(|number| rescreen::model::field::sa_id::check(number).is_ok())
        .collect();
    let good_rows = numbers.iter().filter(|number| good.contains(number.trim())).count();
    assert!(good.len() > 3 && good_rows < numbers.len(), "{} of {}", good_rows, numbers.len());

    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = None;
        file.mode = Some(rescreen::model::Mode::Sandbox);
        file.checks = vec![CheckTable::of(SAID)];
        file.guards.max_errors = Some("100%".parse().unwrap());
    });
    let ran = world.run().await.exits(ExitCode::Failures).adds_up(true);
    let ran = ran.counts(results(good_rows).failures(numbers.len() - good_rows));
    assert!(
        ran.failures()
            .iter()
            .all(|line| ["invalid_value", "missing_value", "spreadsheet_damage"].contains(&text(line, "code")))
    );
    assert_eq!(ran.stats.distinct_keys, good.len() as u64);
    let shown = fs::read_to_string(ran.out.join("manifest.json")).unwrap();
    assert!(numbers.iter().filter(|number| number.len() == 13).all(|number| !shown.contains(number.as_str())));
}
