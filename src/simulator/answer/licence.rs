//! The answers to a driver's licence and to a vehicle licence disc. The service's description says what they contain
//! but not how: the fields are those that such services were seen to return. One barcode in twelve cannot be read.

use super::{
    identity::LAST,
    question::Question,
    vehicle::{COLOURS, MODELS, invented_vin},
};
use crate::identity_number::invented;
use serde_json::{Value, json};

const CLASSES: [&str; 3] = ["Sedan (closed top)", "Pick-up", "Goods vehicle"];

/// The licence in the barcode of a card.
pub(super) fn card(question: Question<'_>) -> Value {
    let mut rng = question.rng;
    if question.negative || rng.below(12) == 0 {
        return json!({"found": false});
    }
    let year = 2022 + rng.below(5);
    let day = format!("{:02}-{:02}", 1 + rng.below(12), 1 + rng.below(28));
    let codes = *rng.pick(&[&["B"][..], &["EB"], &["A1", "EB"], &["C1", "EC"]]);
    json!({
        "surname": rng.pick(&LAST).to_uppercase(),
        "initials": format!("{}{}", char::from(b'A' + rng.below(26) as u8), char::from(b'A' + rng.below(26) as u8)),
        "idNumber": invented(800_101 + rng.below(28), rng.below(10_000)),
        "licenceNumber": format!("{:08}{}", rng.below(100_000_000), rng.pick(&["NPTX", "TTDB", "WCKL"])),
        "validFrom": format!("{year}-{day}"),
        "validTo": format!("{}-{day}", year + 5),
        "vehicleCategories": codes.iter().map(|code| json!({"code": code})).collect::<Vec<_>>(),
        "validationChecks": {"barcodeComplete": true, "datesConsistent": true},
    })
}

/// The vehicle on a disc. One disc in ten has expired.
pub(super) fn disc(question: Question<'_>) -> Value {
    let mut rng = question.rng;
    if question.negative || rng.below(12) == 0 {
        return json!({"found": false});
    }
    let (make, model) = *rng.pick(&MODELS);
    let expired = rng.below(10) == 0;
    let year = if expired { 2024 } else { 2027 };
    json!({
        "registrationNumber": format!("CA{:06}", rng.below(1_000_000)),
        "vin": invented_vin(&mut rng),
        "make": make,
        "model": model,
        "colour": *rng.pick(&COLOURS),
        "engineNumber": format!("EN{:07}", rng.below(10_000_000)),
        "vehicleClass": *rng.pick(&CLASSES),
        "expiryDate": format!("{year}-{:02}-28", 1 + rng.below(12)),
        "expired": expired,
    })
}
