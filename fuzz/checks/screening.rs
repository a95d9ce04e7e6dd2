//! Any bytes as the service's first reply to each request of a campaign (written as in `reply`), through the whole
//! pipeline, twice: after the first reply no connection is accepted, and an hour later the service works.
//!
//! A verdict is `clear` only if the reply says so. An answer is charged once and never requested again. The credits of
//! the rows add up to those of the account, and every ask is in exactly one dataset.

use super::{
    reply::reply_of,
    stage::{AML, Ran, SAID, Stage, well},
};
use rescreen::{
    client::Reply,
    ledger::{Counts, Reading},
    model::{Credits, ExitCode, Stop, state::State},
};
use serde_json::Value;

const BOOK: &str = "no,name,id_number\n1,Jo Vexford,8001015009087\n";
const CLEAR_AML: &str = r#"{"creditsUsed": 2, "results": {"match": []}}"#;
const CLEAR_SAID: &str = r#"{"creditsUsed": 3, "results": {"said_verification": {"Status": "Success", "realTimeResults": {"Status": "ID Number Valid"}}}}"#;

pub fn check(data: &[u8]) {
    let Some(reply) = reply_of(data) else { return };
    let stage = Stage::new(BOOK);
    let first = {
        let reply = reply.clone();
        stage.run(0, move |_, before| (before == 0).then(|| reply.clone()))
    };
    ends_as_it_should(&first);
    if !stage.ledger().exists() {
        return;
    }
    let (aml, said) = account(&stage);
    let json = answer_in(&reply);
    let clear = |counts: &Counts| counts.by_verdict.contains_key("clear");
    assert!(!clear(&aml) || json.as_ref().is_some_and(aml_is_clear), "clear, by {json:?}");
    assert!(!clear(&said) || json.as_ref().is_some_and(said_is_clear), "clear, by {json:?}");
    assert!(json.is_some() || (aml.results, said.results) == (0, 0), "a result without an answer");

    let second = stage.run(1, |path, _| Some(well(if path == AML { CLEAR_AML } else { CLEAR_SAID })));
    ends_as_it_should(&second);
    let (aml_then, said_then) = account(&stage);
    for (path, before, then) in [(AML, &aml, &aml_then), (SAID, &said, &said_then)] {
        if before.results + before.failures > 0 {
            assert_eq!((second.posts_to(path), before), (0, then), "a settled request is never sent again");
        } else {
            assert!(second.posts_to(path) <= 1, "an answer is requested once");
        }
    }
}

fn ends_as_it_should(ran: &Ran) {
    match &ran.ended {
        Err(error) => panic!("{error}"),
        Ok(report) => {
            assert_ne!(report.exit_code, ExitCode::Internal, "{:?}", report.sent.stops);
            for stop in &report.sent.stops {
                // This is how text from the service reaches a terminal.
                let shown = format!("{stop:?}").replace("\\n", " ");
                assert!(!shown.contains("\\u{1b}"), "{stop:?}");
                assert!(!matches!(stop, Stop::OtherSide { .. }), "{stop:?}");
            }
        }
    }
}

/// The counts of both checks, compared with the sums.
fn account(stage: &Stage) -> (Counts, Counts) {
    let reading = Reading::open(&stage.ledger()).expect("a ledger that was written can be read");
    let sums = reading.sums().expect("its sums can be read");
    let counts = reading.counts().expect("its asks can be counted");
    let charged: Credits = counts.values().map(|counts| counts.credits).sum();
    assert_eq!(charged, sums.account.charged, "the credits of the rows are those of the account");
    let open = sums.open();
    assert!(open > 0 || sums.account.held == Credits::ZERO, "{} held without a request", sums.account.held);
    assert_eq!(sums.in_state(State::Armed), 0, "no request is armed after the run");
    let of = |check: i64| counts.get(&Some(check)).cloned().unwrap_or_default();
    let (aml, said) = (of(1), of(2));
    let places = |counts: &Counts| counts.results + counts.failures + counts.pending + counts.skipped;
    assert_eq!((places(&aml) + places(&said), sums.asks), (2, 2), "an ask of each check, in one dataset");
    (aml, said)
}

/// The JSON object that may be an answer.
fn answer_in(reply: &Reply) -> Option<Value> {
    let may_be = (200..300).contains(&reply.status) && reply.status != 202;
    let json = serde_json::from_slice(reply.body.as_deref()?).ok().filter(Value::is_object);
    json.filter(|_| may_be)
}

fn contradicts(answer: &Value) -> bool {
    answer.get("success") == Some(&Value::Bool(false)) || answer.get("error").is_some_and(|error| !error.is_null())
}

/// Whether, at some place, a list of matches is empty or their count is zero, and no list or count at the same place is
/// not.
fn aml_is_clear(answer: &Value) -> bool {
    let says = |payload: &Value| {
        let lists = [payload.get("match"), payload.get("matches")];
        let hits = payload.get("totalHits");
        let empty = |found: &&Value| found.as_array().is_some_and(Vec::is_empty);
        let filled = |found: &&Value| found.as_array().is_some_and(|list| !list.is_empty());
        let none = hits.and_then(Value::as_f64) == Some(0.0);
        let some = hits.and_then(Value::as_f64).is_some_and(|hits| hits >= 1.0);
        let lists = || lists.iter().flatten().copied();
        (none || lists().any(|list| empty(&list))) && !some && !lists().any(|list| filled(&list))
    };
    let places = ["/results", "/data/results", "/data", "/result"];
    !contradicts(answer) && places.iter().filter_map(|place| answer.pointer(place)).any(says)
}

fn said_is_clear(answer: &Value) -> bool {
    let places = ["/results/said_verification", "/data/results/said_verification", "/data/said_verification", "/data"];
    let says = |payload: &Value| {
        payload.pointer("/realTimeResults/Status").and_then(Value::as_str) == Some("ID Number Valid")
            && payload.get("Status").and_then(Value::as_str) == Some("Success")
    };
    !contradicts(answer) && places.iter().filter_map(|place| answer.pointer(place)).any(says)
}
