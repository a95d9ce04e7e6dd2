//! The answer to a consumer trace: the four groups of the description, or in the field dialect the flat format that
//! such services were seen to return. All people in it are invented.

use super::{
    identity::{FEMALE, LAST, MALE},
    question::Question,
};
use crate::answer_style::Dialect;
use serde_json::{Value, json};

const STREETS: [&str; 4] = ["Aloe Lane", "Baobab Road", "Cycad Street", "Protea Avenue"];
const EMPLOYERS: [&str; 4] = ["Kestrel Motors", "Marula Mining", "Oryx Freight", "Exampleville Municipality"];

pub(super) fn content(mut question: Question<'_>) -> Value {
    let number = question.text("idNumber").to_owned();
    let found = !question.negative && question.rng.below(100) >= 8;
    let field = question.dialect == Dialect::Field;
    let rng = &mut question.rng;
    let count = |rng: &mut super::Rng, most: u64| if found { rng.below(most + 1) } else { 0 };
    let addresses: Vec<Value> = (0..count(rng, 3) + u64::from(found))
        .map(|at| {
            let street = format!("{} {}", 1 + rng.below(200), rng.pick(&STREETS));
            let kind = if at == 0 { "residential" } else { "postal" };
            json!({"type": kind, "address_line_1": street, "postal_code": format!("{:04}", 1 + rng.below(9_999))})
        })
        .collect();
    let contacts: Vec<Value> = (0..count(rng, 3))
        .map(|at| {
            let kind = if at == 0 { "cell" } else { "landline" };
            json!({"type": kind, "number": format!("000 555 {:04}", rng.below(10_000))})
        })
        .collect();
    let employers: Vec<Value> = (0..count(rng, 2)).map(|_| json!({"employer": *rng.pick(&EMPLOYERS)})).collect();
    let male = number.get(6..7).is_some_and(|digit| digit >= "5");
    let first = *rng.pick(if male { &MALE } else { &FEMALE });
    let name = format!("{first} {}", rng.pick(&LAST));
    match (field, found) {
        (true, true) => json!({
            "full_name": name,
            "gender": if male { "Male" } else { "Female" },
            "date_of_birth": born(&number),
            "addresses": addresses,
            "contact_numbers": contacts,
        }),
        (true, false) => json!({"addresses": addresses, "contact_numbers": contacts}),
        (false, _) => json!({
            "AddressData": addresses,
            "EmploymentData": employers,
            "ContactData": contacts,
            "DefiniteMatchData": if found { json!([{"name": name, "idNumber": number}]) } else { json!([]) },
        }),
    }
}

/// The lighter lookup: contacts and addresses alone.
pub(super) fn lite(question: Question<'_>) -> Value {
    let mut content = content(question);
    if let Some(groups) = content.as_object_mut() {
        groups
            .retain(|name, _| ["AddressData", "ContactData", "addresses", "contact_numbers"].contains(&name.as_str()));
    }
    content
}

/// The date of birth in the number. The last century is assumed, which is good enough for an invented person.
fn born(number: &str) -> String {
    let part = |from: usize| number.get(from..from + 2).unwrap_or("01");
    format!("19{}-{}-{}", part(0), part(2), part(4))
}
