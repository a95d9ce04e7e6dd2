//! Vehicles: an auction's list with spaces before its VINs, and number plates as they are printed.

use super::distinct;
use crate::support::{data::shared, ran::results, tables::text, world::World};
use rescreen::{
    mapping::FieldSource,
    model::{Credits, ExitCode},
    pipeline::campaign::file::CheckTable,
};
use std::collections::BTreeSet;

#[tokio::test]
async fn an_auctions_2499_cars_are_as_many_charges_as_it_has_vins() {
    let Some(path) = shared("vehicles/usa_cars.csv") else { return };
    let mut rows = csv::Reader::from_path(&path).unwrap();
    let place = rows.headers().unwrap().iter().position(|name| name == "vin").unwrap();
    let vins: Vec<String> = rows.records().map(|row| row.unwrap()[place].to_owned()).collect();
    let vin_set: BTreeSet<String> = vins.iter().map(|vin| vin.trim().to_uppercase()).collect();
    assert_eq!((vins.len(), vin_set.len()), (2_499, 2_495));
    assert!(vins.iter().all(|vin| vin.starts_with(' ') && vin.chars().any(char::is_lowercase)), "not what it was");
    let whole = |vin: &&String| vin.len() == 17 && !vin.contains(['I', 'O', 'Q']);
    let (whole_rows, whole_vins) =
        (vins.iter().filter(|vin| whole(&&vin.trim().to_uppercase())).count(), vin_set.iter().filter(whole).count());
    assert_eq!((whole_rows, whole_vins), (2_498, 2_494), "one is of a time before VINs had 17 characters");

    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = Some("lot".into());
        file.budget.prices.insert("vin-decode".into(), Credits(1));
        file.checks = vec![CheckTable::of("vin-decode")];
    });
    let ran =
        world.run().await.exits(ExitCode::Failures).charged(2_494).counts(results(2_498).failures(1)).adds_up(true);
    assert_eq!(distinct(&ran, "idempotency_key"), 2_494);
    assert_eq!(text(&ran.failures()[0], "code"), "invalid_value");
    for line in ran.results() {
        let sent: serde_json::Value = serde_json::from_str(text(line, "sent")).unwrap();
        assert!(vin_set.contains(sent["vin"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn number_plates_as_they_are_printed_are_sent() {
    let Some(path) = shared("vehicles/za_plate_specimens.csv") else { return };
    let rows = csv::Reader::from_path(&path).unwrap().into_records().count();
    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = None;
        file.mode = Some(rescreen::model::Mode::Sandbox);
        let fields = [("registrationNumber".to_owned(), FieldSource::from("plate"))];
        file.checks = vec![CheckTable { fields: fields.into(), ..CheckTable::of("number-plate") }];
    });
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(rows)).adds_up(true);
    for line in ran.results() {
        let sent: serde_json::Value = serde_json::from_str(text(line, "sent")).unwrap();
        let plate = sent["registrationNumber"].as_str().unwrap();
        assert_eq!(plate, plate.to_uppercase());
    }
}
