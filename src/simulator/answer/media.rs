//! The answer to an adverse media search. The service's description names `articles` and `screening`, the second "where
//! available", but does not show their contents, which are invented here. About one subject in fifteen has a hit.

use super::question::Question;
use serde_json::{Value, json};

const PAPERS: [&str; 5] =
    ["The Karoo Ledger", "Coastline Daily", "Highveld Business", "Court Roll Weekly", "Bushveld Post"];
const MATTERS: [(&str, &str); 5] = [
    ("fraud", "named in a fraud matter"),
    ("corruption", "questioned over a tender"),
    ("money-laundering", "accounts looked into by the unit for serious crime"),
    ("tax", "in court over unpaid tax"),
    ("regulatory", "fined by the regulator"),
];

pub(super) fn content(question: Question<'_>) -> Value {
    let mut rng = question.rng.clone();
    let articles = match rng.below(1_000) {
        _ if question.negative => 0,
        0..940 => 0,
        940..985 => 1,
        _ => 2 + rng.below(4),
    };
    let name = question.text("name");
    let mut article = || {
        let (category, matter) = *rng.pick(&MATTERS);
        let (year, month, day) = (2012 + rng.below(14), 1 + rng.below(12), 1 + rng.below(28));
        json!({
            "title": format!("{name} {matter}"),
            "url": format!("https://press.example/{year}/{:08x}", rng.below(1 << 32)),
            "source": *rng.pick(&PAPERS),
            "published_at": format!("{year}-{month:02}-{day:02}"),
            "category": category,
        })
    };
    let articles: Vec<Value> = (0..articles).map(|_| article()).collect();
    let mut content = json!({ "articles": articles });
    // Three accounts in four have the premium screening. It sometimes has a hit where the press has none.
    let is_found = !question.negative && rng.below(1_000) < if articles.is_empty() { 8 } else { 500 };
    if rng.below(4) > 0 {
        let finding = json!([{"list": "court-reports", "name": name, "score": (70 + rng.below(30)) as f64 / 100.0}]);
        content["screening"] = if is_found { finding } else { json!([]) };
    }
    content
}
