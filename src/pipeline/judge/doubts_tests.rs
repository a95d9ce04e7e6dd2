//! Tests of the doubt about an answer that calls itself a failure: which words are a contradiction, and that a declaration
//! can say what a word means. One test is about AML screening: an answer with a match is never clear.

use super::{
    tests::{ANSWERED_AT_US, plain, verdict},
    *,
};
use crate::catalogue::{Catalogue, VerdictRule};
use crate::model::Verdict;
use serde_json::json;

/// The verdict of a check whose declaration was corrected.
fn corrected(check: &str, answer: Value, correct: impl Fn(&mut Declaration)) -> (Verdict, String) {
    let mut declaration = Catalogue::built_in().get(check).unwrap().clone();
    correct(&mut declaration);
    let templates = Templates::new(crate::template::Tables::default());
    let judge = Judge::new(&declaration, &templates).unwrap();
    let Judgement { verdict, finding } = judge.judge(&plain(answer), &Map::new(), ANSWERED_AT_US).judgement;
    (verdict, finding)
}

fn contradictory() -> (Verdict, String) {
    (Verdict::Review, "contradictory_answer".to_owned())
}

#[test]
fn a_state_at_the_root_is_a_contradiction_only_if_it_is_a_word_of_failure() {
    for word in ["error", "Failed", "failure", " FAIL ", "timed out", "cancelled", "rejected", "partial", "processing"]
    {
        let answer = json!({"status": word, "results": {"match": []}});
        assert_eq!(verdict("aml-screening", answer), contradictory(), "{word}");
    }
    for word in ["In Business", "verified", "not_found", "active", "found", "200", ""] {
        let answer = json!({"status": word, "results": {"match": []}});
        assert_eq!(verdict("aml-screening", answer).0, Verdict::Clear, "{word}");
    }
}

#[test]
fn the_state_of_a_finished_african_document_is_not_a_contradiction() {
    let of = |word: &str| {
        let body = json!({"jobId": "job_1", "status": word, "result": {"status": word, "full_name": "Ada Vexford"}});
        verdict("africa-verification", body)
    };
    assert_eq!(of("verified"), (Verdict::Data, "document_verified".to_owned()));
    assert_eq!(of("not_found"), (Verdict::NotFound, "no_record".to_owned()));
    assert_eq!(of("not_verified"), (Verdict::Review, "unclear_answer".to_owned()));
}

#[test]
fn a_state_that_a_check_declares_for_a_completed_job_is_not_a_contradiction() {
    let answer = json!({"jobId": "job_1", "status": "rejected", "result": {"status": "verified"}});
    assert_eq!(corrected("africa-verification", answer.clone(), |_| ()), contradictory());
    let found = corrected("africa-verification", answer, |declaration| {
        declaration.job.as_mut().unwrap().completed.push("Rejected".to_owned());
    });
    assert_eq!(found.0, Verdict::Data);
}

#[test]
fn the_state_of_a_company_at_the_root_is_content_once_the_declaration_says_so() {
    let answer = json!({"success": true, "company_name": "VEXFORD", "status": "In Business"});
    assert_eq!(verdict("cipc-company", answer.clone()).0, Verdict::Unrecognised);
    let at_root = |declaration: &mut Declaration| declaration.answer.payload.insert(0, String::new());
    let found = corrected("cipc-company", answer, at_root);
    assert_eq!(found, (Verdict::Data, "in_business".to_owned()));
    // A word that no rule compares is still a sign of failure in a payload.
    let answer = json!({"success": true, "company_status": "In Business", "match": [], "status": "failed"});
    assert_eq!(corrected("aml-screening", answer, at_root), contradictory());
    let answer = json!({"success": false, "company_name": "VEXFORD", "status": "In Business"});
    assert_eq!(corrected("cipc-company", answer, at_root), contradictory());
}

#[test]
fn a_word_of_failure_that_the_deciding_rule_compares_means_what_the_rule_says() {
    for (answer, when) in [
        (json!({"results": {"match": [], "status": "Failed"}}), "payload.status == 'Failed'"),
        (json!({"status": "failed", "results": {"match": []}}), "answer.status == \"failed\""),
    ] {
        assert_eq!(verdict("aml-screening", answer.clone()), contradictory());
        let found = corrected("aml-screening", answer.clone(), |declaration| {
            let rule = VerdictRule {
                when: when.to_owned(),
                verdict: Verdict::Adverse,
                finding: "test_failed".to_owned(),
                of_matches: false,
                assumed: false,
            };
            declaration.verdict.rules.insert(0, rule);
        });
        assert_eq!(found, (Verdict::Adverse, "test_failed".to_owned()), "{answer}");
    }
}

#[test]
fn only_a_verdict_that_comes_from_the_matches_alone_can_be_accepted() {
    let judge = |check: &str| {
        Judge::new(Catalogue::built_in().get(check).unwrap(), &Templates::new(Default::default())).unwrap()
    };
    let ids = |check: &str, answer: &JsonBody, sent: Value| -> Option<Vec<String>> {
        let found = judge(check).matches_alone(answer, sent.as_object().unwrap(), ANSWERED_AT_US);
        found.map(|found| found.into_iter().map(|one| one.id).collect())
    };
    let aml = |answer: Value, sent: Value| ids("aml-screening", &plain(answer), sent);
    let hit = json!({"id": "m1", "type": "pep", "name": "A"});
    let whole = json!({"results": {"match": [hit]}});
    assert_eq!(aml(whole.clone(), json!({"name": "A"})).unwrap(), ["m1"]);
    // No match, or a verdict for another reason.
    assert_eq!(aml(json!({"results": {"match": []}}), json!({})), None);
    assert_eq!(aml(json!({"results": {"match": null, "totalHits": null}}), json!({})), None);
    assert_eq!(aml(json!({"results": {"totalHits": 2}}), json!({})), None);
    // A match, and a doubt about the answer.
    let doubts = [
        json!({"success": false, "results": {"match": [hit]}}),
        json!({"results": {"match": [hit], "status": "failed"}}),
        json!({"mode": "sandbox", "results": {"match": [hit]}}),
        json!({"input": {"name": "Someone Else"}, "results": {"match": [hit]}}),
    ];
    for answer in doubts {
        let sent = json!({"mode": "production", "name": "Ada Vexford"});
        assert_eq!(verdict_of(&judge("aml-screening"), &answer, &sent).0, Verdict::Review, "{answer}");
        assert_eq!(aml(answer.clone(), sent), None, "{answer}");
    }
    let twice = JsonBody { duplicate_names: true, ..plain(whole) };
    assert_eq!(ids("aml-screening", &twice, json!({})), None);
    // Articles and findings are matches, too.
    let media =
        json!({"results": {"articles": [{"url": "https://a.example/1"}], "screening": [{"id": 4, "type": "pep"}]}});
    assert_eq!(ids("adverse-media", &plain(media), json!({})).unwrap(), ["https://a.example/1", "4"]);
    let other = json!({"results": {"articles": [{"url": "https://a.example/1"}], "screening": {"risk": "high"}}});
    assert_eq!(ids("adverse-media", &plain(other), json!({})), None);
    // A check without matches.
    assert_eq!(ids("vehicle-check", &plain(json!({"results": {"match": [hit]}})), json!({})), None);
}

fn verdict_of(judge: &Judge, answer: &Value, sent: &Value) -> (Verdict, String) {
    let Judgement { verdict, finding } =
        judge.judge(&plain(answer.clone()), sent.as_object().unwrap(), ANSWERED_AT_US).judgement;
    (verdict, finding)
}

#[test]
fn no_match_is_as_clear_before_the_other_rules_as_after_them() {
    let (catalogue, templates) = (Catalogue::built_in(), Templates::new(crate::template::Tables::default()));
    let first = Rules::of(catalogue.get("aml-screening").unwrap());
    let mut last = first.clone();
    last.verdict.rules.rotate_left(1);
    let clear = last.verdict.rules.last_mut().unwrap();
    assert_eq!(clear.verdict, Verdict::Clear);
    // The last rule is tried only if no other has found a match.
    clear.when = "payload.match == [] or payload.matches == [] or payload.totalHits == 0".to_owned();
    let judges = [first, last].map(|rules| Judge::of("aml-screening", &rules, &templates).unwrap());
    let lists = [
        None,
        Some(json!(null)),
        Some(json!([])),
        Some(json!([{"name": "A"}])),
        Some(json!([{"type": "pep"}])),
        Some(json!([null])),
        Some(json!({})),
        Some(json!({"type": "pep"})),
        Some(json!("")),
        Some(json!("none")),
        Some(json!(0)),
        Some(json!(false)),
    ];
    let totals = [
        None,
        Some(json!(null)),
        Some(json!(0)),
        Some(json!(2)),
        Some(json!(-1)),
        Some(json!(0.5)),
        Some(json!("0")),
        Some(json!("3")),
        Some(json!("many")),
        Some(json!("")),
        Some(json!(true)),
        Some(json!([])),
        Some(json!([1])),
        Some(json!({"value": 1})),
    ];
    let mut clear = 0;
    let pairs = lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b)));
    for ((a, b), total) in pairs.flat_map(|pair| totals.iter().map(move |total| (pair, total))) {
        let members = [("match", a), ("matches", b), ("totalHits", total)];
        let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        let answer = plain(json!({"results": Value::Object(members.collect())}));
        let [first, last] = judges.each_ref().map(|judge| judge.judge(&answer, &Map::new(), ANSWERED_AT_US).judgement);
        // A negative total has no meaning, so a person must look at the answer.
        let is_negative = *total == Some(json!(-1));
        assert!(first == last || is_negative && first.verdict == Verdict::Review, "{}", answer.value);
        let has_match =
            [a, b].iter().any(|list| list.as_ref().and_then(Value::as_array).is_some_and(|list| !list.is_empty()));
        assert!(first.verdict != Verdict::Clear || !has_match, "{}", answer.value);
        clear += usize::from(first.verdict == Verdict::Clear);
    }
    assert!(clear > 50, "{clear}");
}
