//! The answer of the companies register. The service's description shows no field of it: field names and status values
//! are the catalogue's assumption, in `status` as described and in `company_status` as such services were seen to
//! answer.

use super::{identity::LAST, question::Question};
use crate::answer_style::Dialect;
use serde_json::{Value, json};

const TRADES: [&str; 8] = ["Bakery", "Carriers", "Drilling", "Farms", "Holdings", "Ironworks", "Projects", "Timber"];
const STREETS: [&str; 4] = ["Aloe Lane", "Baobab Road", "Cycad Street", "Protea Avenue"];

pub(super) fn content(question: Question<'_>) -> Value {
    let number = question.text("registration_number").to_owned();
    let mut rng = question.rng;
    let status = match rng.below(1_000) {
        _ if question.negative => return json!({"registration_number": number, "found": false}),
        0..880 => "In Business",
        880..910 => "Deregistered",
        910..920 => "Final Deregistration",
        920..940 => "In Deregistration Process",
        940..950 => "Liquidation",
        950..960 => "Business Rescue",
        960..970 => "Inactive",
        _ => return json!({"registration_number": number, "found": false}),
    };
    let year = number.get(..4).unwrap_or("2000").to_owned();
    let (suffix, company_type) = match number.get(12..) {
        Some("23") => ("CC", "Close Corporation"),
        Some("08") => ("NPC", "Non Profit Company"),
        _ => ("(Pty) Ltd", "Private Company"),
    };
    let name = format!("{} {} {suffix}", rng.pick(&LAST), rng.pick(&TRADES));
    let address = format!("{} {}, Exampleville", 1 + rng.below(200), rng.pick(&STREETS));
    let has_vat = rng.below(3) > 0;
    let mut company = json!({
        "company_name": name.to_uppercase(),
        "registration_number": number,
        "company_type": company_type,
        "registration_date": format!("{year}-{:02}-{:02}", 1 + rng.below(12), 1 + rng.below(28)),
        "vat_number": has_vat.then(|| format!("4{:09}", rng.below(1_000_000_000))),
        "physical_address": address,
        "director_count": 1 + rng.below(5),
    });
    let word = if question.dialect == Dialect::Field { "company_status" } else { "status" };
    company[word] = status.into();
    company
}
