//! The answer to a director search in the companies register. The service's description shows no field of it. One
//! person in five has no directorship.

use super::{
    identity::{FEMALE, LAST, MALE},
    question::Question,
};
use crate::answer_style::Dialect;
use serde_json::{Value, json};

const TRADES: [&str; 4] = ["Bakery", "Carriers", "Holdings", "Timber"];
const STATUSES: [&str; 4] = ["In Business", "In Business", "In Business", "Deregistered"];

pub(super) fn content(question: Question<'_>) -> Value {
    let number = question.text("idNumber").to_owned();
    let mut rng = question.rng;
    let count = if question.negative || rng.below(5) == 0 { 0 } else { 1 + rng.below(4) };
    if count == 0 {
        return json!({"found": false});
    }
    let names = if number.get(6..7).is_some_and(|digit| digit >= "5") { &MALE } else { &FEMALE };
    let last = *rng.pick(&LAST);
    let name = format!("{} {last}", rng.pick(names));
    let mut company = |_| {
        json!({
            "company_name": format!("{last} {} (Pty) Ltd", rng.pick(&TRADES)).to_uppercase(),
            "registration_number": format!("{}/{:06}/07", 1990 + rng.below(36), rng.below(1_000_000)),
            "company_status": *rng.pick(&STATUSES),
        })
    };
    let companies: Vec<Value> = (0..count).map(&mut company).collect();
    let list = if question.dialect == Dialect::Field { "companies" } else { "directorships" };
    let mut content = json!({"full_name": name});
    content[list] = companies.into();
    content
}
