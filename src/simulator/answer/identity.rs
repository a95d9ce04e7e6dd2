//! The answer to an ID verification, in exactly the format that the service's description shows. `ID Number Valid` is
//! the only status that it shows; the other two are the catalogue's assumption. All people in it are invented.

use super::question::Question;
use crate::{digest::hex, identity_number::is_possible};
use jiff::{
    ToSpan,
    civil::{Date, date},
    tz::TimeZone,
};
use serde_json::{Value, json};

pub(super) const FEMALE: [&str; 8] =
    ["Amarinda", "Bohlala", "Ceridwe", "Dinelza", "Elmarita", "Fundzile", "Ghislane", "Hestrie"];
pub(super) const MALE: [&str; 8] =
    ["Andruvan", "Bokamos", "Corvyn", "Dumelang", "Ezrandt", "Fhatuwa", "Gerhadus", "Hlompo"];
pub(super) const LAST: [&str; 10] = [
    "Aardvelt",
    "Bruinkloof",
    "Dlamzela",
    "Kgosimore",
    "Molabanye",
    "Naidoora",
    "Quintelberg",
    "Sterrewind",
    "Tshivhula-Vex",
    "Vanderquill",
];

pub(super) fn content(mut question: Question<'_>) -> Value {
    let number = question.text("idNumber").to_owned();
    report(&mut question, &number)
}

/// The report on an ID number.
pub(super) fn report(question: &mut Question<'_>, number: &str) -> Value {
    let transaction_id = hex(&question.rng.roll().to_be_bytes());
    let status = match question.rng.below(1_000) {
        _ if question.negative => "ID Number Not Found",
        _ if !is_possible(number) => "ID Number Invalid",
        0..920 => "ID Number Valid",
        920..955 => "ID Number Invalid",
        _ => "ID Number Not Found",
    };
    let mut real_time = json!({"Status": status});
    if status == "ID Number Valid" {
        real_time["Verification"] = person(question, number);
    }
    real_time["transaction_id"] = transaction_id.clone().into();
    json!({
        "Status": "Success",
        "realTimeResults": real_time,
        "transaction_id": transaction_id,
        "meta": {"environment": question.order.mode, "timestamp": question.at.to_string()},
    })
}

/// The KYC bundle: the description does not show its parts. As assumed, it has the ID verification, a screening and a
/// trace.
pub(super) fn bundle(question: Question<'_>) -> Value {
    let mut rng = question.rng.clone();
    let mut said = content(question);
    let name = said.pointer("/realTimeResults/Verification/Lastname").cloned();
    let hit = rng.below(30) == 0;
    let matches = name.filter(|_| hit).map(|name| json!({"name": name, "type": "pep", "score": 0.8}));
    let addresses: Vec<Value> = (0..rng.below(3)).map(|at| json!({"type": "residential", "id": at + 1})).collect();
    said["Status"] = "Success".into();
    json!({
        "said_verification": said,
        "aml_screening": {"match": matches.into_iter().collect::<Vec<_>>()},
        "consumer_trace": {"AddressData": addresses},
    })
}

/// The register's data for a number. Birth, gender and citizenship are encoded in the number.
fn person(question: &mut Question<'_>, number: &str) -> Value {
    let part = |from: usize, to: usize| number[from..to].parse::<i16>().unwrap_or_default();
    let today = question.at.to_zoned(TimeZone::UTC).date();
    let born = birth(part(0, 2), part(2, 4), part(4, 6), today);
    let age = today.year() - born.year() - i16::from((today.month(), today.day()) < (born.month(), born.day()));
    let male = part(6, 10) >= 5_000;
    let rng = &mut question.rng;
    let names = if male { &MALE } else { &FEMALE };
    let mut first_names = (*rng.pick(names)).to_owned();
    if rng.below(3) == 0 {
        first_names = format!("{first_names} {}", rng.pick(names));
    }
    let issued = match born.checked_add((16 + rng.below(20) as i64).years()) {
        Ok(issued) if issued <= today && rng.below(4) > 0 => issued.to_string(),
        _ => String::new(),
    };
    json!({
        "Firstnames": first_names,
        "Lastname": *rng.pick(&LAST),
        "Dob": born.to_string(),
        "Age": age,
        "Gender": if male { "Male" } else { "Female" },
        "Citizenship": if part(10, 11) == 0 { "South African Citizen" } else { "Permanent Resident" },
        "DateIssued": issued,
    })
}

/// The date of birth. The number has no century: the latest one that is not in the future is used.
fn birth(year: i16, month: i16, day: i16, today: Date) -> Date {
    let in_century = |century: i16| Date::new(century + year, month as i8, day as i8).ok();
    let candidates = [2000, 1900].into_iter().filter_map(in_century);
    candidates.into_iter().find(|born| *born <= today).unwrap_or(date(1900, 1, 1))
}
