//! The results of checks with jobs. The description shows the result of a foreign passport holder's account; the other
//! two are invented like it. Most accounts are confirmed; each way in which one is not occurs.

use super::question::Question;
use crate::rng::Rng;
use serde_json::{Map, Value, json};

/// The checks of an account that every bank result has.
const ACCOUNT: [&str; 6] =
    ["accountFound", "accountOpen", "accountNumberLengthValid", "accountTypeMatch", "acceptsDebits", "acceptsCredits"];
const HOLDER: [&str; 3] = ["passportNumberMatch", "initialsMatch", "surnameMatch"];
const BUSINESS: [&str; 2] = ["businessNameMatch", "registrationNumberMatch"];

pub(super) fn of_foreigner(question: Question<'_>) -> Value {
    let country = question.text("passportCountry").to_owned();
    let mut result = result(question, &HOLDER);
    result["passportCountry"] = country.into();
    result
}

pub(super) fn of_business(question: Question<'_>) -> Value {
    result(question, &BUSINESS)
}

pub(super) fn african(question: Question<'_>) -> Value {
    let (mut rng, negative) = (question.rng, question.negative);
    let is_found = !negative && rng.below(100) < 85;
    let name = [question.order.fields.get("first_name"), question.order.fields.get("last_name")];
    let words: Vec<&str> = name.into_iter().flatten().filter_map(Value::as_str).collect();
    json!({
        "status": if is_found { "verified" } else { "not_found" },
        "full_name": if is_found { Value::from(words.join(" ")) } else { Value::Null },
        "dob": question.order.fields.get("dob").cloned().unwrap_or_default(),
    })
}

fn result(question: Question<'_>, of_holder: &[&str]) -> Value {
    let (bank, number) = (question.text("bankName").to_owned(), question.text("bankAccountNumber").to_owned());
    let (mut rng, negative) = (question.rng, question.negative);
    let mut checks: Map<String, Value> =
        ACCOUNT.iter().chain(of_holder).map(|name| ((*name).to_owned(), true.into())).collect();
    let is_verified = !negative && rng.below(100) < 75;
    let mut outcome = "verified";
    if !is_verified {
        let names: Vec<String> = checks.keys().cloned().collect();
        let failed = names[rng.below(names.len() as u64) as usize].clone();
        let odd = odd(&mut rng);
        // The description names a review outcome. Any other is the simulator's.
        outcome = if odd.is_null() || rng.below(2) == 0 { "review" } else { "not_verified" };
        checks.insert(failed, odd);
    }
    let number: Vec<char> = number.chars().collect();
    let last4: String = number[number.len().saturating_sub(4)..].iter().collect();
    json!({
        "outcome": outcome,
        "checks": checks,
        "bank": {"name": bank, "accountNumberLast4": last4},
    })
}

/// A check that is not confirmed: usually false, sometimes unknown.
fn odd(rng: &mut Rng) -> Value {
    if rng.below(4) == 0 { Value::Null } else { false.into() }
}
