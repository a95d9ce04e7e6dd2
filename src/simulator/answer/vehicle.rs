//! The answers about vehicles: the comprehensive check, the decoding of a VIN and the lookup of a plate. The
//! description shows `lookupType` and `vehicleMatched` and names the groups of the comprehensive check. Everything else
//! is the catalogue's assumption. Makes and models are invented.

use super::question::Question;
use crate::{answer_style::Dialect, rng::Rng};
use serde_json::{Value, json};

pub(super) const MODELS: [(&str, &str); 6] = [
    ("Kestrel", "Veld 1.4"),
    ("Kestrel", "Karoo 2.0 TD"),
    ("Marula", "City"),
    ("Marula", "Bakkie 2.5"),
    ("Oryx", "Tourer"),
    ("Oryx", "Hauler 8t"),
];
pub(super) const COLOURS: [&str; 6] = ["White", "Silver", "Grey", "Red", "Blue", "Black"];
/// VINs never have I, O or Q.
const SIGNS: &[u8; 33] = b"0123456789ABCDEFGHJKLMNPRSTUVWXYZ";

/// A decoded VIN. One in fifty is unknown.
pub(super) fn decoded(mut question: Question<'_>) -> Value {
    let vin = question.text("vin").to_owned();
    if question.negative || question.rng.below(50) == 0 {
        json!({"found": false})
    } else {
        json!({"vehicle": vehicle(&mut question, vin)})
    }
}

/// The vehicle with a plate. One in twenty-five is unknown.
pub(super) fn of_plate(mut question: Question<'_>) -> Value {
    let plate = question.text("registrationNumber").to_owned();
    if question.negative || question.rng.below(25) == 0 {
        return json!({"found": false});
    }
    let vin = invented_vin(&mut question.rng);
    let mut vehicle = vehicle(&mut question, vin);
    vehicle["registrationNumber"] = plate.into();
    json!({ "vehicle": vehicle })
}

/// The comprehensive check. The service's API description: with only a plate, `lookupType` is `registration` and
/// `vehicleMatched` is null. In four of a hundred requests with a VIN it answers as if there were none.
pub(super) fn checked(mut question: Question<'_>) -> Value {
    let (plate, vin) = (question.text("registrationNumber").to_owned(), question.text("vin").to_owned());
    let lookup_type = if vin.is_empty() { "registration" } else { "registration_vin" };
    let known = !question.negative && question.rng.below(1_000) >= 30;
    if !known {
        return json!({"lookupType": lookup_type, "vehicleMatched": null, "found": false});
    }
    let drawn = question.rng.below(1_000);
    // Some services ignore a VIN that the account may not compare.
    let ignored = !vin.is_empty() && (40..80).contains(&drawn);
    let lookup_type = if ignored { "registration" } else { lookup_type };
    let matched = (!vin.is_empty() && !ignored).then_some(drawn >= 40);
    let vin = if matched == Some(true) { vin } else { invented_vin(&mut question.rng) };
    let mut vehicle = vehicle(&mut question, vin);
    vehicle["registrationNumber"] = plate.into();
    let rng = &mut question.rng;
    let expiry = format!("{}-{:02}-{:02}", 2026 + rng.below(2), 1 + rng.below(12), 1 + rng.below(28));
    json!({
        "lookupType": lookup_type,
        "vehicleMatched": matched,
        "vehicle": vehicle,
        "licensing": {"expiryDate": expiry, "status": if rng.below(12) == 0 { "Expired" } else { "Licensed" }},
        "technical": {"fuel": *rng.pick(&["Petrol", "Diesel"]), "tareKg": 800 + 10 * rng.below(300)},
        "roadworthy": {"status": *rng.pick(&["Roadworthy", "Roadworthy", "Roadworthy", "Unknown"])},
        "security": {"policeClearance": "None", "microdot": rng.below(2) == 0},
        "supplementary": {"previousOwners": rng.below(5)},
    })
}

fn vehicle(question: &mut Question<'_>, vin: String) -> Value {
    let rng = &mut question.rng;
    let (make, model) = *rng.pick(&MODELS);
    let mut vehicle = json!({
        "make": make,
        "model": model,
        "year": 1998 + rng.below(28),
        "engineNumber": format!("EN{:07}", rng.below(10_000_000)),
        "vin": vin,
    });
    let colour = if question.dialect == Dialect::Field { "color" } else { "colour" };
    vehicle[colour] = (*question.rng.pick(&COLOURS)).into();
    vehicle
}

pub(super) fn invented_vin(rng: &mut Rng) -> String {
    (0..17).map(|_| char::from(*rng.pick(SIGNS))).collect()
}
