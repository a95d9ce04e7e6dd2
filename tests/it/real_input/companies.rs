//! Registration numbers as clerks typed them, in seven files of public spending: each is sent, or is a failure that
//! says what to do.

use super::distinct;
use crate::support::{data::shared, ran::Ran, tables::text, world::World};
use rescreen::{
    mapping::FieldSource,
    model::{Credits, ExitCode},
    pipeline::campaign::file::CheckTable,
};

const CIPC: &str = "cipc-company";

/// Files, and the column where its name alone is not enough.
const FILES: [(&str, Option<&str>); 7] = [
    ("companies/za_ec_suppliers.csv", None),
    ("companies/za_dalrrd.csv", None),
    ("companies/za_treasury_entities.csv", None),
    ("companies/za_seda.csv", None),
    ("companies/za_icasa.csv", None),
    ("companies/za_dcs_kzn.csv", Some("comapny_registration_number")),
    ("companies/za_gazette_companies.csv", None),
];

async fn asked(name: &str, column: Option<&str>) -> Option<Ran> {
    let path = shared(name)?;
    let fields = column.map(|column| ("registration_number".to_owned(), FieldSource::from(column)));
    let check = CheckTable { fields: fields.into_iter().collect(), ..CheckTable::of(CIPC) };
    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = Some("supplier_name".into());
        if name.ends_with("za_gazette_companies.csv") {
            file.input.id = Some("name".into());
        }
        if name.ends_with("za_seda.csv") {
            file.input.id = Some("buyer_name".into());
        }
        file.budget.prices.insert(CIPC.into(), Credits(1));
        file.guards.max_errors = Some("100%".parse().unwrap());
        file.checks = vec![check];
    });
    Some(world.run().await)
}

/// `YYYY/NNNNNN/NN`, as the register prints it.
fn is_well_formed(cell: &str) -> bool {
    let cell = cell.trim();
    let parts: Vec<&str> = cell.split('/').collect();
    let digits = |part: &&str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(&parts[..], [year, number, suffix] if digits(year, 4) && digits(number, 6) && digits(suffix, 2))
}

#[tokio::test]
async fn every_registration_number_is_sent_or_fails_with_what_to_do() {
    for (name, column) in FILES {
        let Some(ran) = asked(name, column).await else { return };
        let ran = ran.adds_up(true);
        let path = shared(name).unwrap();
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let header = reader.headers().unwrap().clone();
        let wanted = column.unwrap_or("company_registration_number");
        let fold = |name: &str| name.replace(['\n', ' ', '_'], "").to_lowercase();
        let place = header.iter().position(|name| fold(name) == fold(wanted) || name == "registration_number").unwrap();
        let cells: Vec<String> = reader.records().map(|row| row.unwrap()[place].to_owned()).collect();

        let (results, failures) = (ran.results(), ran.failures());
        assert_eq!(results.len() + failures.len(), cells.len(), "{name}");
        for line in results {
            let sent: serde_json::Value = serde_json::from_str(text(line, "sent")).unwrap();
            let number = sent["registration_number"].as_str().unwrap();
            assert!(is_well_formed(number), "{name}");
            // No digit is invented: the digits are those of the cell.
            let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
            let cell = &cells[crate::support::tables::number(line, "row_number") as usize - 1];
            assert_eq!(digits(number), digits(cell), "{name}");
        }
        for line in failures {
            let row = crate::support::tables::number(line, "row_number") as usize;
            assert!(!is_well_formed(&cells[row - 1]), "{name}, row {row}: {}", text(line, "message"));
            let (code, message) = (text(line, "code"), text(line, "message"));
            assert!(["missing_value", "invalid_value", "spreadsheet_damage"].contains(&code), "{name}: {code}");
            assert!(message.contains("column `") && message.contains("expected"), "{name}: {message}");
            assert!(!message.contains('\n'), "{name}: a header over several lines is one line in a message: {message}");
        }
        assert_eq!(ran.stats.distinct_keys as usize, distinct(&ran, "idempotency_key"), "{name}");
        assert_eq!(ran.stats.double_charges, 0);
        println!("{name}: {} answered ({} numbers), {:?}", results.len(), distinct(&ran, "sent"), ran.failure_codes());
    }
}

#[tokio::test]
async fn a_province_of_1224_rows_has_543_numbers() {
    let (name, column) = FILES[0];
    let Some(ran) = asked(name, column).await else { return };
    let ran = ran.exits(ExitCode::Failures);
    assert_eq!(ran.results().len() + ran.failures().len(), 1_224);
    assert_eq!(ran.report().sums.account.charged.0 as usize, distinct(&ran, "sent"));
    let text = std::fs::read_to_string(shared(name).unwrap()).unwrap();
    let rounded = text.matches("E+").count();
    assert!(rounded > 0, "not what it was");
    assert_eq!(ran.failure_codes().get("spreadsheet_damage"), Some(&rounded));
    assert_eq!(distinct(&ran, "sent"), 543);
}
