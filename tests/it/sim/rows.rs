//! What a result row must say: this row's subject was sent, the answer is its own, and the verdict is the answer's.

use super::{checks::Cells, files, script::Script, stated_credits::repeats_a_name};
use crate::support::tables::{Line, text};
use rescreen::sink::{OutputMode, result_id};
use serde_json::Value;
use std::{collections::HashMap, fs, path::Path};

/// What each check must send for the current books, by the result's id.
pub fn subjects(folder: &Path, script: &Script) -> HashMap<String, String> {
    let mut subjects = HashMap::new();
    let campaign = format!("simulation-{}", script.seed);
    for book in &script.books {
        let lines = fs::read_to_string(folder.join(book.name)).expect("a book");
        let is_csv = book.name.ends_with(".csv");
        for (line, number) in lines.lines().skip(usize::from(is_csv)).zip(1..) {
            let cells = if is_csv { of_csv(line) } else { of_json(line) };
            for check in script.pair {
                let id = result_id(&campaign, OutputMode::Simulated, Some(check.name), book.name, number);
                subjects.insert(id, check.wanted(&cells));
            }
        }
    }
    subjects
}

fn of_csv(line: &str) -> Cells {
    let cells: Vec<&str> = line.split(',').collect();
    let cell = |at: usize| cells.get(at).copied().unwrap_or_default().to_owned();
    Cells { name: cell(1), id_number: cell(2), company: cell(6), plate: cell(7), vin: cell(8) }
}

fn of_json(line: &str) -> Cells {
    let row: Value = serde_json::from_str(line).unwrap_or_default();
    let cell = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let (company, plate, vin) = (cell("company"), cell("plate"), cell("vin"));
    Cells { name: cell("name"), id_number: cell("id_number"), company, plate, vin }
}

/// What is wrong with a result.
/// `jobs` are the keys of the requests that became jobs, by job id.
pub fn wrong(
    line: &Line,
    script: &Script,
    subjects: &HashMap<String, String>,
    jobs: &HashMap<String, String>,
) -> Vec<&'static str> {
    let json = |column| serde_json::from_str::<Value>(text(line, column)).expect("a column of JSON");
    let (sent, answer) = (json("sent"), json("answer"));
    let Some(check) = script.pair.into_iter().find(|check| check.name == text(line, "check_name")) else {
        return vec!["I14: a result of a check that was not requested"];
    };
    // A crossed answer, or one that contradicts itself or the request, never gives `clear`.
    if contradicts(text(line, "answer"), &answer, &sent, (script.production, text(line, "idempotency_key"))) {
        let clear = text(line, "verdict") == "clear";
        return if clear { vec!["I18: an answer that contradicts itself or its request is clear"] } else { Vec::new() };
    }
    let of = ["/requestId", "/meta/requestId"].iter().find_map(|at| answer.pointer(at)?.as_str());
    // The state of a job does not repeat the key.
    let of = of.or_else(|| jobs.get(answer["jobId"].as_str()?).map(String::as_str));
    let mut wrong = Vec::new();
    let subject = subjects.get(text(line, "result_id"));
    let is_sent = match check.file {
        Some(field) => {
            let digest = sent[field].as_str().unwrap_or_default();
            subject.is_some_and(|person| files::is_of(check.has_documents(), person, digest))
        }
        None => subject == Some(&check.sent(&sent)),
    };
    if !is_sent {
        wrong.push("I14: the row's subject is sent for it");
    }
    if of != Some(text(line, "idempotency_key")) {
        wrong.push("I18: a row has the answer to its own request");
    }
    let meets = script.expects.and_then(|expected| check.meets(&answer, expected));
    let expected = script.expects.is_some() && check.name == "said-verification";
    let clear = check.is_clear(&answer) && (!expected || meets == Some(true));
    // An answer with lost characters or unreadable numbers is for review, although its fields can be read.
    let lost = match text(line, "finding") {
        "wrong_encoding" => text(line, "answer").contains("\\ufffd"),
        "unreadable_number" => text(line, "answer").contains("\"NaN\""),
        _ => false,
    };
    if clear != (text(line, "verdict") == "clear") && !lost {
        wrong.push("I18: the verdict is the answer's, unless the row expected another");
    }
    if expected && line["expected_gender_match"].as_bool() != meets {
        wrong.push("I18: a row says whether its answer is what it expected");
    }
    wrong
}

/// Whether an answer contradicts itself or the request: a duplicate name, undecodable bytes, a failure, another mode,
/// another input, another id.
fn contradicts(raw: &str, answer: &Value, sent: &Value, (production, key): (bool, &str)) -> bool {
    // The description does not say what an environment is. It counts where a sandbox would give an invented answer.
    let places = if production { &["/mode", "/meta/environment"][..] } else { &["/mode"] };
    let mode = places.iter().find_map(|at| answer.pointer(at)?.as_str());
    let other_mode = mode.is_some_and(|mode| (mode == "production") != production);
    let echoed = answer["input"].as_object().into_iter().flatten();
    let other_input = echoed.into_iter().any(|(name, value)| sent.get(name).is_some_and(|sent| sent != value));
    let of = ["/requestId", "/meta/requestId"].iter().find_map(|at| answer.pointer(at)?.as_str());
    let failed = answer["success"] == false || answer.get("error").is_some_and(|error| !error.is_null());
    let unreadable = raw.contains('\u{fffd}');
    repeats_a_name(raw) || other_mode || other_input || of.is_some_and(|of| of != key) || failed || unreadable
}
