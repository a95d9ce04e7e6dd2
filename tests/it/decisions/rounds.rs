//! Two rounds of a book. Which results need no person is computed a second time from the answers, with code of its own.

use super::{Desk, Row, cell, service_of, set};
use crate::support::tables::{self, Line};
use rescreen::sink::DatasetKind;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const CUSTOMERS: usize = 1_200;

/// The hits of a result: the identity and the whole content of each.
fn hits(line: &Line) -> Vec<(String, String)> {
    let answer: Value = serde_json::from_str(line["answer"].as_str().unwrap()).unwrap();
    let hits = answer.pointer("/results/match").and_then(Value::as_array).cloned().unwrap_or_default();
    let sorted = |hit: &Value| {
        hit.as_object().unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect::<BTreeSet<_>>()
    };
    hits.iter().map(|hit| (hit["id"].as_str().unwrap().to_owned(), format!("{:?}", sorted(hit)))).collect()
}

fn results(desk: &Desk, campaign: &str) -> BTreeMap<String, Line> {
    let lines = tables::lines(&desk.path().join("out").join(campaign), DatasetKind::Results);
    lines.into_iter().map(|line| (line["subject"].as_str().unwrap().to_owned(), line)).collect()
}

fn text<'a>(line: &'a Line, column: &str) -> &'a str {
    line[column].as_str().unwrap_or_default()
}

/// Accepts most matches, does not accept some, and leaves some open. A spreadsheet program has removed the zeros.
fn fill(rows: &mut [Row]) {
    for (at, row) in rows.iter_mut().enumerate() {
        let subject = cell(row, "subject").trim_start_matches('0').to_owned();
        set(row, "subject", &subject);
        set(row, "why", if at % 2 == 0 { "another date of birth" } else { "known, approved by the board" });
        set(
            row,
            "decision",
            match at % 8 {
                0 => "",
                1 => "Not accepted",
                _ => "accepted",
            },
        );
    }
    rows.reverse();
}

#[test]
fn a_match_that_was_accepted_needs_no_person_until_it_changes() {
    let desk = Desk::new(CUSTOMERS);
    desk.run("2026-10", &service_of("2026-10-01")).exits(0);
    let first = results(&desk, "2026-10");
    let mut worklist = desk.worklist("2026-10", "october.csv");
    let of_results: usize = first.values().map(|line| hits(line).len()).sum();
    assert!(worklist.len() == of_results && of_results > 100, "{of_results}");
    assert!(worklist.iter().all(|row| cell(row, "state") == "new" && cell(row, "branch").starts_with('B')));
    fill(&mut worklist);
    let decided = desk.decide("2026-10", &worklist);
    let count = |word: &str| worklist.iter().filter(|row| cell(row, "decision") == word).count();
    assert_eq!(
        (&decided["accepted"], &decided["not_accepted"]),
        (&json!(count("accepted")), &json!(count("Not accepted")))
    );
    assert_eq!((&decided["undecided"], &decided["unchanged"]), (&json!(count("")), &json!(0)));
    let again = desk.decide("2026-10", &worklist);
    assert_eq!(
        (&again["accepted"], &again["unchanged"]),
        (&json!(0), &json!(count("accepted") + count("Not accepted")))
    );
    assert_eq!(again["decisions"], decided["decisions"]);
    // The published round stays, and a new worklist has only what is left.
    assert_eq!(results(&desk, "2026-10"), first);
    let left = desk.worklist("2026-10", "left.csv");
    assert_eq!(left.len(), count("") + count("Not accepted"));

    desk.run("2026-11", &service_of("2026-11-02")).exits(0);
    let decisions: Vec<Value> = String::from_utf8(desk.read("out/decisions.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut accepted: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    for decision in decisions.iter().filter(|decision| decision["decision"] == "accepted") {
        let (subject, id) = (decision["subject"].as_str().unwrap(), decision["match"].as_str().unwrap());
        let looked_at = hits(&first[subject]).into_iter().find(|(known, _)| known == id).unwrap();
        accepted.insert((subject.to_owned(), looked_at.0, looked_at.1), decision["n"].as_u64().unwrap());
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (subject, line) in results(&desk, "2026-11") {
        let found = hits(&line);
        let known: Option<Vec<u64>> =
            found.iter().map(|(id, hit)| accepted.get(&(subject.clone(), id.clone(), hit.clone())).copied()).collect();
        let known = known.filter(|known| !known.is_empty());
        let (verdict, finding) = (text(&line, "verdict"), text(&line, "finding"));
        let was_changed = !found.is_empty() && known.is_none() && !hits(&first[&subject]).is_empty();
        match &known {
            Some(known) => {
                assert_eq!((verdict, finding), ("clear", "accepted_before"), "{subject}");
                assert_eq!(line["decisions"], json!(serde_json::to_string(known).unwrap()), "{subject}");
            }
            None if found.is_empty() => assert_eq!((verdict, finding), ("clear", "no_match"), "{subject}"),
            None => assert_eq!((verdict, line["decisions"].is_null()), ("review", true), "{subject}"),
        }
        *kinds
            .entry(if known.is_some() {
                "accepted"
            } else if was_changed {
                "to look at again"
            } else {
                "other"
            })
            .or_default() += 1;
    }
    assert!(kinds["accepted"] > 60 && kinds["to look at again"] > 10, "{kinds:?}");
    let november = desk.worklist("2026-11", "november.csv");
    let states = |state: &str| november.iter().filter(|row| cell(row, "state") == state).count();
    assert!(states("changed") > 0 && states("new") > 0 && states("not_accepted") > 0);
    assert!(
        desk.say(&["export", "2026-11", "--worklist", "--to", "november.xlsx"])
            .exits(0)
            .stderr
            .contains("matches wait")
    );
    desk.say(&["decide", "2026-11", "--from", "november.xlsx"])
        .exits(0)
        .says(&format!("{} rows have no decision", november.len()));
    parts_do_not_need_the_decisions(&desk);
}

/// A part that is lost is written again byte for byte, whatever became of the decisions.
fn parts_do_not_need_the_decisions(desk: &Desk) {
    let out = desk.path().join("out/2026-11");
    let parts = |out: &Path| {
        let manifest = tables::manifest(out);
        let results = manifest.datasets.into_iter().filter(|dataset| dataset.kind == DatasetKind::Results);
        results.flat_map(|dataset| dataset.parts).map(|part| part.path).collect::<Vec<_>>()
    };
    let paths = parts(&out);
    let before: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(out.join(path)).unwrap()).collect();
    paths.iter().for_each(|path| fs::remove_file(out.join(path)).unwrap());
    fs::rename(desk.path().join("out/decisions.jsonl"), desk.path().join("elsewhere.jsonl")).unwrap();
    desk.say(&["collect", "2026-11"]).exits(0).says("was used before and is missing now");
    let after: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(out.join(path)).unwrap()).collect();
    assert!(before == after, "the parts differ");
}
