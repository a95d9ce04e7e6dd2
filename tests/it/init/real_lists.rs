//! Public lists as published. Skipped with a notice where they are not available; no value of them is kept here.

use super::sets;
use crate::support::data::shared;
use crate::support::folder::Folder;

/// The campaign file for a public list.
fn written(name: &str, arguments: &[&str]) -> Option<(Folder, String)> {
    let path = shared(name)?;
    let folder = Folder::new();
    let list = path.file_name().unwrap().to_str().unwrap();
    folder.copy(&path, list);
    let text = folder.init(&[&[list], arguments].concat());
    Some((folder, text))
}

fn open(folder: &Folder) {
    folder.say(&["plan", "--simulate"]).exits(2);
}

#[test]
fn a_museums_artists_leave_open_whether_they_are_persons() {
    let Some((folder, text)) = written("names/moma_artists.csv", &["--check", "aml-screening"]) else { return };
    sets(&text, "fields.name = \"DisplayName\"");
    sets(&text, "id = \"ConstituentID\"");
    sets(&text, "fields.country = \"Nationality\"");
    assert!(text.contains("# fields.entity = { value = 0 }"), "{text}");
    open(&folder);
}

#[test]
fn a_list_of_cars_feeds_the_vin_and_leaves_the_plate_open() {
    let Some((_, text)) = written("vehicles/usa_cars.csv", &["--check", "vin-decode", "--check", "vehicle-check"])
    else {
        return;
    };
    sets(&text, "fields.vin = \"vin\"");
    assert!(text.contains("OPEN, and needed: expected number plates"), "{text}");
    let Some((folder, _)) = written("vehicles/usa_cars.csv", &["--check", "vin-decode"]) else { return };
    folder.say(&["plan", "--simulate"]).exits(0);
}

#[test]
fn the_company_numbers_of_seven_spending_lists_are_found() {
    for (name, column) in [
        ("za_ec_suppliers", "company_registration_number"),
        ("za_dalrrd", "company_registration_number"),
        ("za_treasury_entities", "company_registration_number"),
        ("za_seda", "Company\\U0000000Aregistration\\U0000000Anumber "),
        ("za_icasa", "company_registration_number"),
        ("za_dcs_kzn", "comapny_registration_number"),
        ("za_gazette_companies", "registration_number"),
    ] {
        let Some((_, text)) = written(&format!("companies/{name}.csv"), &["--check", "cipc-company"]) else { return };
        let line = text.lines().find(|line| line.starts_with("fields.registration_number = ")).unwrap_or_default();
        assert!(line.contains(column.trim_end()), "{name}: {line}\n{text}");
    }
}

#[test]
fn nested_json_gives_a_name_from_whichever_member_a_row_has() {
    for name in ["senzing_customers.jsonl", "senzing_customers.csv"] {
        let check = ["--check", "aml-screening", "--set", "country=us"];
        let Some((folder, text)) = written(&format!("names/{name}"), &check) else { return };
        sets(&text, "id = \"RECORD_ID\"");
        assert!(
            text.lines().any(|line| line.starts_with("fields.entity = ") && line.contains("RECORD_TYPE")),
            "{text}"
        );
        folder.say(&["plan", "--simulate"]).exits(0);
        let said = folder.say(&["run", "--simulate", "--per-minute", "60000"]).exits(3);
        let mapped = if name.ends_with("l") { "120 rows: 117 results" } else { "120 rows: 112 results" };
        assert!(said.stderr.contains(mapped), "{name}: {}", said.stderr);
    }
}

#[test]
fn lists_without_a_header_are_recognised() {
    for name in ["ofac_add", "ofac_alt", "ofac_sdn"] {
        let Some((_, text)) = written(&format!("names/{name}.csv"), &["--check", "aml-screening"]) else { return };
        sets(&text, "header = false");
    }
}
