//! The amounts that a reply states: its charge, whatever it is a reply to, and the balance.

use super::job_words::ENVELOPES;
use crate::model::{
    Credits,
    credits::{Amount, Rounding, read_amount},
    json_pointer,
};
use serde_json::Value;

/// The names of a charge. The service's API description: `creditsUsed` with jobs and in events, and "credits spent" in
/// `meta`, whose spelling is not shown.
const CHARGES: [&str; 4] = ["creditsUsed", "credits_used", "creditsSpent", "credits_spent"];
/// Where a reply may state a charge, besides the places where it may describe a job. A reply that is not an answer may
/// state one too, so all are read in every reply.
const CHARGE_PLACES: [&str; 9] = [
    "/result",
    "/meta",
    "/data/meta",
    "/results/meta",
    "/result/meta",
    "/job/meta",
    "/error",
    "/error/meta",
    "/error/details",
];

/// JSON pointers to a balance in a reply. The service's API description: `remainingCredits` in the verification
/// envelope.
const REMAINING_POINTERS: [&str; 3] = ["/remainingCredits", "/meta/remainingCredits", "/meta/remaining_credits"];

/// The charge that a reply states: the largest if it is stated in several places. A charge above `most` is not believed.
pub(super) fn charge_in(body: Option<&Value>, configured: Option<&str>, most: Credits) -> Amount {
    let places = ENVELOPES.iter().chain(&CHARGE_PLACES);
    let places = places.filter_map(|at| json_pointer::at(body?, at)?.as_object());
    let known = places.flat_map(|place| CHARGES.iter().filter_map(|name| place.get(*name)));
    amounts(body, configured, known, Rounding::Up).fold(Amount::Absent, |found, amount| match (found, amount) {
        (unreadable @ Amount::Unreadable(_), _) | (_, unreadable @ Amount::Unreadable(_)) => unreadable,
        (_, Amount::Credits(absurd)) if absurd > most => Amount::Unreadable(absurd.to_string()),
        (Amount::Credits(one), Amount::Credits(other)) => Amount::Credits(one.max(other)),
        (Amount::Absent, amount) | (amount, Amount::Absent) => amount,
    })
}

/// The balance that a reply states: the first amount found.
pub(super) fn remaining_in(body: Option<&Value>, configured: Option<&str>) -> Amount {
    let known = REMAINING_POINTERS.iter().filter_map(|at| json_pointer::at(body?, at));
    let mut amounts = amounts(body, configured, known, Rounding::Down);
    amounts.find(|amount| *amount != Amount::Absent).unwrap_or(Amount::Absent)
}

/// The amounts at the pointer that the user sets, or the known ones if none is set.
fn amounts<'a>(
    body: Option<&'a Value>,
    configured: Option<&str>,
    known: impl Iterator<Item = &'a Value>,
    rounding: Rounding,
) -> impl Iterator<Item = Amount> {
    // An empty pointer would select the whole reply. Here it turns the reading off.
    let own = configured.filter(|at| !at.is_empty()).and_then(|at| json_pointer::at(body?, at));
    let known = configured.is_none().then_some(known);
    own.into_iter().chain(known.into_iter().flatten()).map(move |amount| read_amount(Some(amount), rounding))
}

/// The highest charge that is believed.
pub(super) fn most_believed(price: Credits) -> Credits {
    price.max(Credits(1)).times(Credits::ABSURD_TIMES)
}
