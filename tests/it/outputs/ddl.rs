//! The tables that `rescreen checks --ddl` creates have the columns that the files have, in their order. DuckDB and
//! PostgreSQL execute the statements in `make interop`. `RESCREEN_WRITE_GOLDEN=1` writes the recorded statements.

use crate::support::program::{Said, rescreen};
use rescreen::{
    catalogue::Catalogue,
    pipeline::tables_of_check,
    sink::{Engine, ResultForm, results_schema},
};
use std::{fs, path::Path};

const CAMPAIGN: &str = r#"
campaign = "2026-11"

[input]
paths = ["book.csv"]
id = "no"

[[check]]
use = "aml-screening"
name = "director-aml"
fields.name = "name"
fields.country = { value = "za" }
fields.entity = { value = 0 }

[[check]]
use = "said-verification"
fields.idNumber = "no"
expect.surname = "name"

[output]
format = "jsonl"
carry = ["Offset", "Order", { opened = "Client's Branch" }]
"#;

fn said(folder: &Path, line: &str) -> Said {
    Said::of(&mut rescreen(folder, &line.split(' ').collect::<Vec<_>>()))
}

/// The names of the columns of a table in a script, as they are written.
fn columns(script: &str, table: &str) -> Vec<String> {
    let from = format!("CREATE TABLE IF NOT EXISTS {table} (\n");
    let (_, body) = script.split_once(&from).unwrap_or_else(|| panic!("no table {table} in:\n{script}"));
    let lines = body.lines().take_while(|line| line.starts_with("    "));
    lines.map(|line| line.split_whitespace().next().unwrap().trim_matches(['"', '`']).to_lowercase()).collect()
}

#[test]
fn the_statements_for_each_engine_are_as_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for engine in Engine::ALL {
        let found = said(folder.path(), &format!("checks said-verification --ddl {engine}")).exits(0).stdout;
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/ddl/{engine}.sql"));
        if std::env::var_os("RESCREEN_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(golden.parent().unwrap()).unwrap();
            fs::write(&golden, &found).unwrap();
        }
        let wanted = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, wanted, "{}: RESCREEN_WRITE_GOLDEN=1 writes the file", golden.display());
    }
}

#[test]
fn every_check_has_tables_with_the_columns_of_its_files() {
    for declaration in Catalogue::built_in().iter() {
        let schema = results_schema(&[], &declaration.answer.columns, &[], ResultForm::default()).unwrap();
        let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
        for engine in Engine::ALL {
            let script = tables_of_check(engine, declaration).unwrap();
            let table = format!("results_{}", declaration.name.replace('-', "_"));
            assert_eq!(columns(&script, &table), names, "{engine}: {}", declaration.name);
            for shared in ["failures", "pending", "skipped"] {
                assert_eq!(columns(&script, shared)[..5], names[..5], "{engine}: {}", declaration.name);
            }
        }
    }
}

#[test]
fn a_campaign_adds_its_carried_and_expected_columns() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rescreen.toml"), CAMPAIGN).unwrap();
    fs::write(folder.path().join("book.csv"), "no,name,Offset,Order,Client's Branch\n1,Jo Vexford,1,2,x\n").unwrap();
    let script = said(folder.path(), "checks --ddl postgres -c rescreen.toml").exits(0).stdout;
    for line in [
        "    \"offset\" TEXT,",
        "    order_ TEXT,",
        "    opened TEXT,",
        "    expected_surname_match BOOLEAN,",
        "COMMENT ON COLUMN results_director_aml.\"offset\" IS 'Input column `Offset`.';",
        "COMMENT ON COLUMN results_director_aml.opened IS 'Input column `Client''s Branch`.';",
    ] {
        assert!(script.lines().any(|found| found == line), "expected `{line}` in:\n{script}");
    }
    let tables = script.matches("CREATE TABLE").count();
    assert_eq!(tables, 5, "two checks, failures, pending and skipped:\n{script}");
    for one in ["director-aml", "aml-screening"] {
        let script = said(folder.path(), &format!("checks {one} --ddl duckdb -c rescreen.toml")).exits(0).stdout;
        assert!(script.contains("results_director_aml") && !script.contains("results_said"), "{script}");
    }
}

#[test]
fn the_columns_are_those_that_the_campaign_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rescreen.toml");
    fs::write(&file, CAMPAIGN).unwrap();
    fs::write(folder.path().join("book.csv"), "no,name,Offset,Order,Client's Branch\n1,Jo Vexford,1,2,x\n").unwrap();
    said(folder.path(), "run -c rescreen.toml --simulate --max-errors 100% -q");
    fs::write(&file, CAMPAIGN.replace("\"Order\", ", "")).unwrap();
    let script = said(folder.path(), "checks director-aml --ddl spark -c rescreen.toml").exits(0).stdout;
    assert!(columns(&script, "results_director_aml").contains(&"order_".to_owned()), "{script}");
}

#[test]
fn answers_in_a_dataset_of_their_own_have_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rescreen.toml");
    let answers = |line: &str| {
        fs::write(&file, CAMPAIGN.replace("format = \"jsonl\"", line)).unwrap();
        said(folder.path(), "checks director-aml --ddl bigquery -c rescreen.toml").exits(0).stdout
    };
    let script = answers("answer = \"dataset\"\nsent = false");
    assert_eq!(columns(&script, "answers_director_aml").last().unwrap(), "answer");
    assert_eq!(columns(&script, "results_director_aml").last().unwrap(), "reused_from");
    assert!(
        !columns(&script, "results_director_aml").iter().any(|name| name == "answer" || name == "sent"),
        "{script}"
    );
    assert!(!answers("answer = \"none\"").contains("answers_director_aml"));
}

#[test]
fn what_is_not_known_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rescreen.toml"), CAMPAIGN).unwrap();
    let refused = |line: &str, part: &str| {
        let said = said(folder.path(), line).exits(2).without_data();
        assert!(said.stderr.contains(part), "expected `{part}` in:\n{}", said.stderr);
    };
    refused("checks --ddl duckdb", "expected the name of a check, or a campaign file with -c, found neither");
    refused("checks aml-screning --ddl duckdb", "did you mean `aml-screening`?");
    refused("checks aml-screening --ddl oracle", "expected one of `duckdb`, `postgres`");
    let checks = "its checks are: director-aml, said-verification";
    refused("checks director-alm --ddl duckdb -c rescreen.toml", "did you mean `director-aml`?");
    refused("checks vin-decode --ddl duckdb -c rescreen.toml", checks);
}
