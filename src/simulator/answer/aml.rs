//! The answer to an AML screening. The service's description shows no field of it: the format is the catalogue's
//! assumption (hits in `match`, next to `Header`). About nine subjects in ten have no match, as in a real customer
//! list.

use super::question::Question;
use crate::{digest::hex, rng::Rng};
use serde_json::{Value, json};
use std::cmp::Reverse;

const KINDS: [(&str, &[&str]); 3] = [
    ("sanction", &["un-consolidated", "eu-consolidated", "national-sanctions"]),
    ("pep", &["pep-national", "pep-regional", "pep-relatives-and-associates"]),
    ("media", &["press-archive", "court-reports"]),
];
const COUNTRIES: [&str; 8] = ["za", "ng", "ke", "gb", "ae", "pt", "in", "br"];

pub(super) fn content(question: Question<'_>) -> Value {
    let mut rng = question.rng.clone();
    let kinds: Vec<usize> = match rng.below(1_000) {
        _ if question.negative => vec![],
        0..900 => vec![],
        900..930 => vec![0],
        930..965 => vec![1],
        965..985 => vec![2],
        _ => (0..2 + rng.below(3)).map(|_| rng.below(3) as usize).collect(),
    };
    let hits = |mut rng: Rng| -> Vec<Value> { kinds.iter().map(|kind| hit(&question, *kind, &mut rng)).collect() };
    let mut matches = hits(rng);
    if let Some(details) = &question.details {
        // A match whose details change is still the same match.
        for (known, mut hit) in matches.iter_mut().zip(hits(details.clone())) {
            hit["id"] = known["id"].take();
            *known = hit;
        }
    }
    matches.sort_by_key(|hit| Reverse(hit["score"].as_f64().map(|score| (score * 100.0).round() as u64)));
    let day = question.list_day();
    let published = day.strftime("%Y-%m-%dT04:00:00Z").to_string();
    json!({
        "Header": {"DatasetVersion": day.strftime("%Y.%m.%d").to_string(), "DatasetPublishedAt": published},
        "match": matches,
    })
}

fn hit(question: &Question<'_>, kind: usize, rng: &mut Rng) -> Value {
    let (kind, lists) = KINDS[kind];
    let country = match (question.text("country"), rng.below(3)) {
        ("", _) | (_, 0) => *rng.pick(&COUNTRIES),
        (asked, _) => asked,
    };
    json!({
        "id": format!("m_{}", hex(&rng.roll().to_be_bytes())),
        "name": variation(question.text("name"), rng),
        "score": (70 + rng.below(30)) as f64 / 100.0,
        "type": kind,
        "list": *rng.pick(lists),
        "country": country,
        "entity": question.order.fields.get("entity"),
        "listedSince": format!("{}-{:02}-{:02}", 1996 + rng.below(29), 1 + rng.below(12), 1 + rng.below(28)),
    })
}

/// The name as a sanctions list might spell it.
fn variation(name: &str, rng: &mut Rng) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return name.to_owned() };
    match rng.below(5) {
        0 => name.to_uppercase(),
        1 if words.len() > 1 => format!("{last}, {}", words[..words.len() - 1].join(" ")),
        2 if words.len() > 1 => format!("{}. {last}", first.chars().next().unwrap_or('?')),
        3 => name.replace('y', "i").replace("ph", "f").replace("ck", "k"),
        _ => name.to_owned(),
    }
}
