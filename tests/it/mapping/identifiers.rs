//! Identifiers of companies and vehicles, as people type them and as public lists have them: equivalent spellings are
//! one key, an ambiguous one is a failure that says what to do, and no message repeats a value.

use super::{Draft, code, fields, flat};
use crate::support::data::shared;
use proptest::prelude::*;
use rescreen::{
    mapping::Mapped,
    model::{
        FailureCode, Note,
        field::{FieldKind, LetterCase, plate, registration_number, vin},
    },
};
use serde_json::json;
use std::collections::BTreeSet;

fn ask(draft: &Draft, header: &[&str], cells: &[&str]) -> (String, Vec<Note>) {
    match &draft.maps(header, cells)[0] {
        Mapped::Ask(ask) => (ask.key.to_string(), ask.notes.clone()),
        other => panic!("an ask, not {:?}", fields(other)),
    }
}

#[test]
fn a_company_typed_in_many_ways_is_one_key_and_one_body() {
    let (draft, header) = (Draft::of("cipc-company"), ["Company Registration Number"]);
    let typed = [
        "2016/004321/07",
        "CK No.:\n2016/004321/07",
        "2016//004321/07",
        "REG No: 2016\n004321/07",
        " 2016 / 004321 / 07 ",
    ];
    let asks: Vec<_> = typed.iter().map(|text| ask(&draft, &header, &[text])).collect();
    assert_eq!(asks.iter().map(|(key, _)| key).collect::<BTreeSet<_>>().len(), 1);
    let notes: Vec<bool> = asks.iter().map(|(_, notes)| *notes == [Note::RegistrationNumberRewritten]).collect();
    assert_eq!(notes, [false, true, true, true, true], "what was rewritten is noted");
    let sent = fields(&draft.maps(&header, &[typed[1]])[0]);
    assert_eq!(sent, json!({"registration_number": "2016/004321/07"}));
}

#[test]
fn equal_plates_are_one_key_and_an_empty_vin_is_omitted() {
    let (draft, header) = (Draft::of("vehicle-check").field("vin", "Chassis No"), ["Number Plate", "Chassis No"]);
    let keys: BTreeSet<String> =
        ["CA 123-456", "ca 123 456", "CA123456"].iter().map(|plate| ask(&draft, &header, &[plate, ""]).0).collect();
    assert_eq!(keys.len(), 1);
    let sent = fields(&draft.maps(&header, &["ca 123-456", " 1m8gdm9axkp042788 "])[0]);
    assert_eq!(sent, json!({"registrationNumber": "CA123456", "vin": "1M8GDM9AXKP042788"}));
    assert_ne!(ask(&draft, &header, &["CA123456", "1M8GDM9AXKP042788"]).0, *keys.first().unwrap());
}

#[test]
fn notes_are_not_part_of_keys_and_a_wrong_check_digit_is_sent() {
    let (draft, header) = (Draft::of("vin-decode"), ["vin"]);
    let (_, notes) = ask(&draft, &header, &["1M8GDM9A0KP042788"]);
    assert_eq!(notes, [Note::VinCheckDigit]);
    assert_eq!(fields(&draft.maps(&header, &["1M8GDM9A0KP042788"])[0]), json!({"vin": "1M8GDM9A0KP042788"}));
}

#[test]
fn spreadsheet_damage_to_an_identifier_is_reported_with_its_remedy() {
    for (check, column, text) in [
        ("cipc-company", "reg_no", "8.61E+12"),
        ("cipc-company", "reg_no", "8,61E+12"),
        ("vehicle-check", "plate", "1.23E+05"),
        ("vin-decode", "vin", "1.1E+16"),
        ("property-search", "id_number", "8.00102E+12"),
        ("consumer-trace", "id_number", "8001015009087.0"),
        ("consumer-trace", "id_number", "101015009087"),
        ("said-verification", "id_number", "1015009087"),
    ] {
        let mapped = &Draft::of(check).maps(&[column], &[text])[0];
        assert_eq!(code(mapped), FailureCode::SpreadsheetDamage, "{check} {text}");
        let said = fields(mapped)["message"].as_str().unwrap().to_owned();
        assert!(said.contains("format the column as text") && said.contains("export it again"), "{said}");
        assert!(said.contains(&format!("column `{column}`")) && !said.contains(text), "{said}");
    }
}

/// Cells of a column of a public list, with the result of mapping.
fn column(file: &str, name: &str, check: &str) -> Option<Vec<(String, Mapped)>> {
    let path = shared(file)?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path).unwrap();
    let fold = |name: &str| name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let header = reader.byte_headers().unwrap().clone();
    let at = header.iter().position(|cell| fold(&String::from_utf8_lossy(cell)) == name)?;
    let bound = Draft::of(check).bind(&["reg_no"]).ok().or_else(|| Draft::of(check).bind(&["vin"]).ok()).unwrap();
    let feed = if check == "vin-decode" { "vin" } else { "reg_no" };
    let cells: Vec<String> = reader
        .byte_records()
        .map(|record| String::from_utf8_lossy(record.unwrap().get(at).unwrap_or_default()).into_owned())
        .collect();
    let mapped = |cell: String| {
        let mapped = bound.map(&flat(&[feed], &[&cell])).unwrap().remove(0);
        (cell, mapped)
    };
    Some(cells.into_iter().map(mapped).collect())
}

#[test]
fn public_lists_of_companies_are_read_and_no_odd_cell_is_lost_or_repeated() {
    let lists = [
        ("companies/za_ec_suppliers.csv", "company_registration_number"),
        ("companies/za_dalrrd.csv", "company_registration_number"),
        ("companies/za_treasury_entities.csv", "company_registration_number"),
        ("companies/za_seda.csv", "company registration number"),
        ("companies/za_icasa.csv", "company_registration_number"),
        ("companies/za_dcs_kzn.csv", "comapny_registration_number"),
        ("companies/za_gazette_companies.csv", "registration_number"),
    ];
    let mut counts = [0; 4];
    for (file, name) in lists {
        let Some(cells) = column(file, name, "cipc-company") else { return };
        assert!(!cells.is_empty(), "{file}");
        for (cell, mapped) in cells {
            match &mapped {
                Mapped::Ask(ask) if ask.notes.is_empty() => {
                    assert_eq!(ask.fields["registration_number"], json!(cell.trim()));
                    counts[0] += 1;
                }
                Mapped::Ask(ask) => {
                    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
                    let sent = ask.fields["registration_number"].as_str().unwrap();
                    assert_eq!(digits(sent), digits(&cell), "no digit is added or lost");
                    counts[1] += 1;
                }
                Mapped::Failed(failure) => {
                    let digits: String = cell.chars().filter(char::is_ascii_digit).collect();
                    assert!(digits.len() < 5 || !failure.message.contains(&digits), "{}", failure.message);
                    assert!(cell.trim().len() < 4 || !failure.message.contains(cell.trim()), "{}", failure.message);
                    counts[if failure.code == FailureCode::SpreadsheetDamage { 2 } else { 3 }] += 1;
                }
                Mapped::Skipped(_) => panic!("nothing is skipped"),
            }
        }
    }
    let [plain, rewritten, damaged, refused] = counts;
    assert!(plain > 2_000 && rewritten >= 5 && damaged >= 15 && refused >= 100, "{counts:?}");
}

#[test]
fn public_vins_are_read_and_their_check_digits_agree() {
    let Some(path) = shared("vehicles/vin_vectors_libvin.csv") else { return };
    let others = shared("vehicles/vin_vectors_vininfo.csv").unwrap();
    let mut seen = BTreeSet::new();
    for path in [path, others] {
        let mut reader = csv::Reader::from_path(path).unwrap();
        let last = reader.headers().unwrap().len() - 1;
        for record in reader.records() {
            let record = record.unwrap();
            let Ok(read) = FieldKind::Vin.accept(&record[0], LetterCase::AsIs) else { continue };
            let upper = record[0].trim() == read.value.as_str().unwrap();
            assert!(!upper || (read.notes.is_empty().to_string() == record[last]), "{}", &record[0]);
            seen.insert(read.notes.is_empty());
        }
    }
    assert_eq!(seen.len(), 2, "VINs with and without a check digit that fits");
    let Some(cars) = column("vehicles/usa_cars.csv", "vin", "vin-decode") else { return };
    let good = cars.iter().filter(|(_, mapped)| matches!(mapped, Mapped::Ask(ask) if ask.notes.is_empty())).count();
    let failed = cars.iter().filter(|(_, mapped)| matches!(mapped, Mapped::Failed(_))).count();
    assert_eq!((good, failed), (cars.len() - 1, 1), "all but one, which is too short");
}

#[test]
fn every_specimen_of_a_plate_is_read() {
    let Some(path) = shared("vehicles/za_plate_specimens.csv") else { return };
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let read = plate::read(&record[0]).unwrap_or_else(|refusal| panic!("{}: {refusal}", &record[0]));
        assert_eq!(read, record[0].replace([' ', '-'], ""));
    }
}

const KINDS: [FieldKind; 6] = [
    FieldKind::RegistrationNumber,
    FieldKind::Vin,
    FieldKind::Plate,
    FieldKind::PlateAny,
    FieldKind::SaId,
    FieldKind::Digits,
];

#[test]
fn public_branch_codes_keep_their_zeros() {
    let Some(path) = shared("bank/za_bank_branch_codes.csv") else { return };
    let catalogue = rescreen::catalogue::Catalogue::built_in();
    let fields = &catalogue.get("bank-account").unwrap().fields;
    let branch = fields.iter().find(|field| field.name == "bankBranchCode").unwrap();
    let mut zeros = 0;
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let sent = branch.accept(&record[1]).unwrap_or_else(|refusal| panic!("{}: {refusal}", &record[0]));
        assert_eq!(sent.value, json!(record[1].trim()), "{}", &record[0]);
        zeros += usize::from(record[1].starts_with('0'));
    }
    assert!(zeros > 0, "a code that begins with 0");
}

/// Texts that resemble identifiers, and any others.
fn typed() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9/ \\\\-]{0,20}",
        "(CK|Reg No|No|IT)[.: ]{0,3}[0-9/ ]{8,16}",
        "[A-Z0-9 -]{0,19}",
        "[0-9][.,]?[0-9]{0,3}[eE][+-]?[0-9]{1,2}",
        "\\PC{0,24}"
    ]
}

proptest! {
    #[test]
    fn an_accepted_value_is_accepted_again_unchanged_and_no_message_repeats_a_value(text in typed()) {
        for kind in KINDS {
            match kind.accept(&text, LetterCase::AsIs) {
                Ok(read) => {
                    let sent = read.value.as_str().unwrap().to_owned();
                    let again = kind.accept(&sent, LetterCase::AsIs).unwrap();
                    prop_assert_eq!(again.value.as_str(), Some(sent.as_str()));
                    let signs = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
                    prop_assert_eq!(signs(&sent), signs(&text), "no digit is added or lost");
                }
                Err(refusal) => {
                    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                    prop_assert!(digits.len() < 5 || !refusal.message.contains(&digits), "{}", refusal.message);
                }
            }
        }
        prop_assert!(registration_number::read(&text).is_err() || vin::read(&text).is_err(), "a text is one of them");
    }
}
