//! What a result row must say: it is this row's subject that was sent, it is its own answer that stands there, and the
//! verdict is the answer's.

use super::script::Script;
use crate::support::tables::{Line, text};
use rescreen::sink::{OutputMode, result_id};
use serde_json::Value;
use std::{collections::HashMap, fs, path::Path};

/// What each check sends of the books as they stand: the subject's name or ID number, by the result's id.
pub fn subjects(folder: &Path, script: &Script) -> HashMap<String, String> {
    let mut subjects = HashMap::new();
    let campaign = format!("simulation-{}", script.seed);
    for book in &script.books {
        let lines = fs::read_to_string(folder.join(book.name)).expect("a book");
        let is_csv = book.name.ends_with(".csv");
        for (line, number) in lines.lines().skip(usize::from(is_csv)).zip(1..) {
            let cells = if is_csv { of_csv(line) } else { of_json(line) };
            for (check, cell) in ["aml-screening", "said-verification"].into_iter().zip(cells) {
                let id = result_id(&campaign, OutputMode::Simulated, Some(check), book.name, number);
                subjects.insert(id, cell);
            }
        }
    }
    subjects
}

fn of_csv(line: &str) -> [String; 2] {
    let mut cells = line.split(',').skip(1).map(str::to_owned);
    [cells.next().unwrap_or_default(), cells.next().unwrap_or_default()]
}

fn of_json(line: &str) -> [String; 2] {
    let row: Value = serde_json::from_str(line).unwrap_or_default();
    ["name", "id_number"].map(|name| row[name].as_str().unwrap_or_default().to_owned())
}

/// What is wrong with a result.
pub fn wrong(line: &Line, subjects: &HashMap<String, String>) -> Vec<&'static str> {
    let json = |column| serde_json::from_str::<Value>(text(line, column)).expect("a column of JSON");
    let (sent, answer) = (json("sent"), json("answer"));
    let is_aml = text(line, "check_name") == "aml-screening";
    let subject = sent[if is_aml { "name" } else { "idNumber" }].as_str().unwrap_or_default();
    let of = ["/requestId", "/meta/requestId"].iter().find_map(|at| answer.pointer(at)?.as_str());
    let clear = match is_aml {
        true => find(&answer, "match").and_then(Value::as_array).is_some_and(Vec::is_empty),
        false => find(&answer, "realTimeResults").is_some_and(|found| found["Status"] == "ID Number Valid"),
    };
    let mut wrong = Vec::new();
    if subjects.get(text(line, "result_id")).is_none_or(|wanted| wanted.trim() != subject) {
        wrong.push("I14: the row's subject is sent for it");
    }
    if of != Some(text(line, "idempotency_key")) {
        wrong.push("I18: a row has the answer to its own request");
    }
    if clear != (text(line, "verdict") == "clear") {
        wrong.push("I18: the verdict is the answer's");
    }
    wrong
}

/// The first value of this name, at any depth.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    object.get(name).or_else(|| object.values().find_map(|inner| find(inner, name)))
}
