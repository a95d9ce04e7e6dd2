//! The answer to a property search. The description shows `found`; deeds and addresses are invented. Two people in five
//! own a property.

use super::question::Question;
use serde_json::{Value, json};

const PLACES: [&str; 5] = ["Aloe Ridge", "Bergdal", "Cedarkop", "Doringvlei", "Exampleville"];

pub(super) fn content(question: Question<'_>) -> Value {
    let mut rng = question.rng;
    let count = match rng.below(100) {
        _ if question.negative => 0,
        0..60 => 0,
        60..90 => 1,
        _ => 2 + rng.below(3),
    };
    let property = |_| {
        let (erf, place) = (1 + rng.below(9_000), *rng.pick(&PLACES));
        json!({
            "title_deed": format!("T{:05}/{}", rng.below(100_000), 1985 + rng.below(41)),
            "address": format!("Erf {erf}, {place}"),
            "registered": format!("{}-{:02}-{:02}", 1985 + rng.below(41), 1 + rng.below(12), 1 + rng.below(28)),
        })
    };
    let properties: Vec<Value> = (0..count).map(property).collect();
    json!({ "found": count > 0, "properties": properties })
}
