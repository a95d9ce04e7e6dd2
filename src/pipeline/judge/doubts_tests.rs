//! Tests of the doubt about an answer that calls itself a failure: which words are a contradiction, and that a declaration
//! can say what a word means.

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
                assumed: false,
            };
            declaration.verdict.rules.insert(0, rule);
        });
        assert_eq!(found, (Verdict::Adverse, "test_failed".to_owned()), "{answer}");
    }
}
