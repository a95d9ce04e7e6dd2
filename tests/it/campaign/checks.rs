//! Each check of companies, vehicles, media, property and trace, from a book to its rows, in both dialects and both
//! envelopes: the verdicts are the same, every column is filled by some answer, and nothing is charged twice.

use crate::support::{
    dialects::{self, assert_has},
    ran::results,
    tables::text,
    world::World,
};
use rescreen::{
    catalogue::Spelling,
    mapping::FieldSource,
    model::{Credits, ExitCode, field::sa_id::compose},
    pipeline::campaign::file::CheckTable,
    simulator::{ChargeStated, Dialect},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ROWS: usize = 120;

/// A row of a book of invented subjects. No identifier ends in a reserved number.
fn row(number: usize) -> String {
    let letters = |at: usize| char::from(b'A' + (at % 8) as u8);
    let plate = format!("{}{} {:03}-8 GP", letters(number), letters(number / 8), number);
    let vin =
        if number.is_multiple_of(3) { String::new() } else { format!("1M8GDM9A{}KP0{number:04}8", letters(number)) };
    let company = format!("2016/{:06}/07", 1_000 + number);
    format!("{number},P{number:05} Vexford,{},{company},{plate},{vin}\n", compose(800_101, 5 + number as u32 * 9, 0))
}

fn book() -> String {
    (1..=ROWS).fold("no,name,id_number,company,plate,vin\n".to_owned(), |text, number| text + &row(number))
}

fn world(check: &str, fields: &[(&str, FieldSource)]) -> World {
    let fields = fields.iter().map(|(field, source)| ((*field).to_owned(), source.clone())).collect();
    // A third of the rows have no VIN.
    let when = (check == "vin-decode").then(|| "vin".to_owned());
    let table = CheckTable { when, fields, ..CheckTable::of(check) };
    let check = check.to_owned();
    World::new().csv(&book()).campaign(|file| {
        file.checks = vec![table];
        file.budget.prices.insert(check, Credits(3));
    })
}

/// How often each verdict and finding of a check occurs.
async fn findings(check: &str, fields: &[(&str, FieldSource)]) -> BTreeMap<String, usize> {
    let subjects = if check == "vin-decode" { ROWS - ROWS / 3 } else { ROWS };
    let counts = || results(subjects).skipped(ROWS - subjects);
    dialects::findings(check, subjects, counts, || world(check, fields)).await
}

#[tokio::test]
async fn adverse_media() {
    let person = FieldSource::Constant(json!(0));
    let counts = findings("adverse-media", &[("name", "name".into()), ("entity", person)]).await;
    assert_has(&counts, &["clear no_adverse_media", "review media_match"]);
    assert!(counts["clear no_adverse_media"] > 100, "{counts:?}");
}

#[tokio::test]
async fn cipc_company() {
    let counts = findings("cipc-company", &[("registration_number", "company".into())]).await;
    assert!(counts["data in_business"] > 90 && counts.len() >= 4, "{counts:?}");
    assert_has(&counts, &["data in_business", "data deregistered", "not_found no_company"]);
}

#[tokio::test]
async fn vehicle_check() {
    let counts = findings("vehicle-check", &[("registrationNumber", "plate".into()), ("vin", "vin".into())]).await;
    let wanted = ["data plate_lookup", "data vin_matched", "review vin_mismatch", "review vin_not_compared"];
    assert_has(&counts, &wanted);
}

#[tokio::test]
async fn vin_decode() {
    let counts = findings("vin-decode", &[]).await;
    assert_has(&counts, &["data vehicle_found"]);
}

#[tokio::test]
async fn number_plate() {
    let counts = findings("number-plate", &[]).await;
    assert_has(&counts, &["data vehicle_found", "not_found no_vehicle"]);
}

#[tokio::test]
async fn property_search() {
    let counts = findings("property-search", &[]).await;
    assert_has(&counts, &["data property_found", "not_found no_property"]);
}

#[tokio::test]
async fn consumer_trace() {
    let counts = findings("consumer-trace", &[]).await;
    assert_has(&counts, &["data traced", "not_found no_trace"]);
}

#[tokio::test]
async fn kyc_bundle() {
    let counts = findings("kyc-bundle", &[]).await;
    assert_has(&counts, &["clear valid", "not_found not_found", "review name_match"]);
}

#[tokio::test]
async fn ongoing_monitoring() {
    for (check, wanted) in [
        ("aml-ongoing-enrol", &["clear no_match", "review sanctions_match", "review pep_match"][..]),
        ("aml-ongoing-rescreen", &["clear no_match", "not_found not_enrolled"]),
        ("aml-ongoing-withdraw", &["data withdrawn", "not_found not_enrolled"]),
    ] {
        let counts = findings(check, &[("name", "name".into()), ("identifier", "no".into())]).await;
        assert_has(&counts, wanted);
    }
}

#[tokio::test]
async fn cipc_director_and_the_lighter_trace() {
    let counts = findings("cipc-director", &[]).await;
    assert_has(&counts, &["data director_found", "not_found no_director"]);
    let counts = findings("consumer-trace-lite", &[]).await;
    assert_has(&counts, &["data traced", "not_found no_trace"]);
}

#[tokio::test]
async fn bank_account() {
    let constant = |text: &str| FieldSource::Constant(json!(text));
    let counts = findings(
        "bank-account",
        &[
            ("firstName", "name".into()),
            ("surname", constant("Vexford")),
            ("identityNumber", "id_number".into()),
            ("bankName", constant("First National Bank")),
            ("bankAccountNumber", FieldSource::from("{{ '%010d' | format(no | int) }}")),
            ("bankBranchCode", constant("051001")),
            ("bankAccountType", constant("Cheque")),
        ],
    )
    .await;
    let wanted = ["clear account_verified", "adverse account_not_found"];
    assert_has(&counts, &wanted);
    assert_has(&counts, &["adverse holder_mismatch", "review not_confirmed"]);
    assert!(counts["clear account_verified"] > 80, "{counts:?}");
}

#[tokio::test]
async fn licence_and_disc() {
    let barcode = "{{ plate | replace(' ', '') | replace('-', '') }}";
    let counts = findings("drivers-licence", &[("barcode_base64", barcode.into())]).await;
    assert_has(&counts, &["data licence_read", "not_found no_licence"]);
    let counts = findings("licence-disc", &[("barcode_text", "%MVL1%{{ plate }}%".into())]).await;
    assert_has(&counts, &["data disc_read", "data disc_expired", "not_found no_disc"]);
}

#[tokio::test]
async fn a_property_that_is_not_found_is_charged() {
    let mut world =
        world("property-search", &[]).csv("no,id_number\n1,8001015009087\n2,9111060123086\n3,8001015009087\n");
    world = world.service(|settings| settings.charge_stated = Some(ChargeStated::Used));
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(3));
    // The check costs less than the table says. The first one is booked at the table's price, the others at what the
    // balance proved.
    let account = ran.report().sums.account;
    assert_eq!((ran.stats.double_charges, ran.stats.credits_charged, account.charged.0), (0, 2, 4));
    let not_found = ran.results().iter().filter(|line| text(line, "verdict") == "not_found");
    assert!(not_found.clone().count() > 0 && not_found.clone().any(|line| line["credits"] == json!(1)));
}

#[tokio::test]
async fn two_checks_on_one_route_are_two_requests_and_two_charges() {
    let said = CheckTable::of("said-verification");
    for spelling in [Spelling::Guide, Spelling::Alternate] {
        let csv = "no,id_number\n1,8001015009087\n";
        let world = world("consumer-trace", &[]).csv(csv).campaign(|file| {
            file.checks.push(said.clone());
            file.service.routes = spelling;
        });
        let mut world = world.service(|settings| {
            settings.dialect = Dialect::Field;
            settings.prices = [("consumer-trace".to_owned(), 3)].into();
        });
        let ran = world.run().await.exits(ExitCode::Complete).charged(4).counts(results(2));
        let answer = |check: &str| -> Value { serde_json::from_str(text(ran.results_of(check)[0], "answer")).unwrap() };
        assert_eq!(answer("consumer-trace")["reportType"], "consumer_trace");
        assert_eq!(answer("said-verification")["reportType"], "said_verification");
    }
}

#[tokio::test]
async fn one_company_and_one_plate_however_typed_are_paid_for_once() {
    let csv = "no,company,plate\n1,2016/004321/07,CA 123-456\n2,\"CK No.:\n2016/004321/07\",ca123456\n3,2016//004321/07,CA 123 456\n";
    let plate = CheckTable::of("number-plate");
    let world = world("cipc-company", &[("registration_number", "company".into())]).csv(csv);
    let mut world = world.campaign(|file| {
        file.checks.push(plate);
        file.budget.prices.insert("number-plate".into(), Credits(1));
    });
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(6));
    assert_eq!((ran.stats.charges, ran.stats.double_charges), (2, 0));
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("2 values with a note, the first in row 2 of book.csv: registration number in"), "{lines}");
}
