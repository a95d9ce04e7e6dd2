//! Checks charges in both directions, independently of the program: a charge that a reply states at a documented place
//! is read, whatever the status and the format, and a charge that is read was stated. A refusal that states a charge is
//! never free.

use rescreen::{
    client::{Classified, Reply},
    model::{Credits, state::Outcome},
};
use serde_json::Value;

/// JSON pointers to a charge, from the service's description and the field notes.
const PLACES: [&str; 5] =
    ["/creditsUsed", "/meta/credits_spent", "/meta/creditsSpent", "/meta/creditsUsed", "/meta/credits_used"];

/// Further ones in replies of checks whose requests may become jobs.
const PLACES_OF_JOBS: [&str; 4] =
    ["/data/creditsUsed", "/data/credits_used", "/results/creditsUsed", "/data/job/creditsUsed"];

/// A charge up to this is believed, whatever the price.
const PLAUSIBLE: u64 = 100;

/// What a reply has at the places of a charge.
#[derive(Debug, PartialEq, Eq)]
enum Stated {
    Nothing,
    Credits(u64),
    /// Something that is not an amount, or is far too large.
    Odd,
}

/// Checks that a reply and its classification agree about the charge.
pub fn agree(reply: &Reply, classified: &Classified, is_of_job: bool) {
    let outcome = classified.outcome;
    let Some(json) = reply.body.as_deref().and_then(object) else { return };
    let free = ["refused", "no_credits", "rate_limited", "unauthorised", "misrouted", "uncharged"];
    let free = free.contains(&outcome.as_str());
    match (stated(&json, is_of_job), outcome) {
        (Stated::Credits(0), _) => {}
        (Stated::Nothing, Outcome::Answered { stated } | Outcome::Pending { stated }) => {
            assert!(
                stated.is_none_or(|credits| credits == Credits::ZERO),
                "no charge is stated, but one is read: {stated:?}"
            );
        }
        (Stated::Nothing, outcome) => {
            assert_ne!(outcome.as_str(), "charged_refusal", "no charge is stated, but one is read")
        }
        (Stated::Credits(credits), Outcome::Answered { stated } | Outcome::Pending { stated }) => {
            assert_eq!(stated, Some(Credits(credits)), "a stated charge is read");
        }
        (Stated::Credits(_) | Stated::Odd, outcome) if !(200..300).contains(&reply.status) => {
            assert!(!free, "a refusal that states a charge is free: HTTP {} is {outcome:?}", reply.status);
        }
        (Stated::Odd, Outcome::Answered { stated }) => {
            let plausible = stated.is_none_or(|credits| credits.0 <= PLAUSIBLE);
            assert!(plausible, "an unreadable charge is read as {stated:?}");
        }
        (Stated::Credits(_) | Stated::Odd, _) => {}
    }
}

/// The largest charge of all places, unless one of them is odd.
fn stated(json: &Value, is_of_job: bool) -> Stated {
    let of_job = PLACES_OF_JOBS.iter().filter(|_| is_of_job);
    let found = PLACES.iter().chain(of_job).filter_map(|place| json.pointer(place)).filter(|value| !value.is_null());
    let amounts: Vec<Option<u64>> = found.map(amount).collect();
    match amounts.iter().flatten().max() {
        _ if amounts.contains(&None) => Stated::Odd,
        None => Stated::Nothing,
        Some(most) => Stated::Credits(*most),
    }
}

/// A whole number of credits, with a fraction rounded up. `None` if it is negative, absurd or not a number.
fn amount(value: &Value) -> Option<u64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (0.0..=PLAUSIBLE as f64).contains(&number).then(|| number.ceil() as u64)
}

/// A body in which each name occurs once. If a charge occurs twice, it is unclear which one is right.
fn object(body: &[u8]) -> Option<Value> {
    let json: Value = serde_json::from_slice(body).ok().filter(Value::is_object)?;
    let text = String::from_utf8_lossy(body);
    let once = |name: &str| text.matches(name).count() <= 1;
    let names = [
        "\"meta\"",
        "\"data\"",
        "\"results\"",
        "\"job\"",
        "\"creditsUsed\"",
        "\"credits_spent\"",
        "\"creditsSpent\"",
        "\"credits_used\"",
    ];
    // An escaped name, such as "\u006deta", may be a duplicate too.
    (names.into_iter().all(once) && !text.contains("\\u")).then_some(json)
}

/// Whether a charge above zero is stated.
pub fn is_stated(json: &Value) -> bool {
    matches!(stated(json, false), Stated::Credits(1..))
}
