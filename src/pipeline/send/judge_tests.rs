//! Tests of the rules of each built-in check: every finding, and that null, new and missing values are never clear.

use super::*;
use crate::{catalogue::Catalogue, model::Verdict};
use serde_json::json;

fn verdict(check: &str, answer: Value) -> (Verdict, String) {
    let catalogue = Catalogue::built_in();
    let templates = Templates::new(crate::template::Tables::default());
    let judge = Judge::new(catalogue.get(check).unwrap(), &templates).unwrap();
    let answer = JsonBody { value: answer, duplicate_names: false, wrong_encoding: false };
    let Judgement { verdict, finding } = judge.judge(&answer, &Map::new()).judgement;
    (verdict, finding)
}

/// The verdict on the same content in every place where the check's answers may contain it.
#[track_caller]
fn found(check: &str, content: Value) -> (Verdict, String) {
    let catalogue = Catalogue::built_in();
    let pointers = &catalogue.get(check).unwrap().answer.payload;
    let nested = |pointer: &String| {
        pointer
            .split('/')
            .skip(1)
            .collect::<Vec<_>>()
            .into_iter()
            .rfold(content.clone(), |inner, name| json!({name: inner}))
    };
    let found: Vec<_> = pointers.iter().map(|pointer| verdict(check, nested(pointer))).collect();
    assert!(found.iter().all(|one| *one == found[0]), "{check}: {content} is not the same everywhere: {found:?}");
    found[0].clone()
}

#[track_caller]
fn assert_found(check: &str, cases: impl IntoIterator<Item = (Value, Verdict, &'static str)>) {
    for (content, verdict, finding) in cases {
        assert_eq!(found(check, content.clone()), (verdict, finding.to_owned()), "{check}: {content}");
    }
}

const CLEAR: Verdict = Verdict::Clear;
const ADVERSE: Verdict = Verdict::Adverse;
const REVIEW: Verdict = Verdict::Review;
const NOT_FOUND: Verdict = Verdict::NotFound;
const DATA: Verdict = Verdict::Data;
const UNKNOWN: Verdict = Verdict::Unrecognised;

fn aml(results: Value) -> (Verdict, String) {
    verdict("aml-screening", json!({ "success": true, "results": results }))
}

#[test]
fn an_empty_list_of_matches_is_clear_and_every_match_is_for_review() {
    assert_eq!(aml(json!({"match": []})), (Verdict::Clear, "no_match".into()));
    for (kind, finding) in [("sanction", "sanction_match"), ("pep", "pep_match"), ("media", "media_match")] {
        assert_eq!(aml(json!({"match": [{"type": kind}]})), (Verdict::Review, finding.into()));
    }
    assert_eq!(aml(json!({"match": [{"name": "x"}]})), (Verdict::Review, "name_match".into()));
    assert_eq!(aml(json!({"match": [{"type": "pep"}, {"type": "sanction"}]})).1, "sanction_match");
    assert_eq!(aml(json!({"totalHits": 0})).0, Verdict::Clear);
    assert_eq!(aml(json!({"totalHits": "3"})).0, Verdict::Review);
    assert_eq!(aml(json!({"match": [], "totalHits": 2})).0, Verdict::Review, "the fields contradict each other");
}

#[test]
fn null_new_and_missing_values_never_become_clear() {
    assert_eq!(aml(json!({"match": null})), (Verdict::Review, "unclear_answer".into()));
    assert_eq!(aml(json!({"Header": {}})).0, Verdict::Unrecognised);
    assert_eq!(aml(json!({"totalHits": "many"})).0, Verdict::Unrecognised);
    assert_eq!(aml(json!("text")).0, Verdict::Unrecognised);
    assert_eq!(verdict("aml-screening", json!({"success": true})).0, Verdict::Unrecognised);
}

#[test]
fn a_clear_answer_that_calls_itself_a_failure_is_for_review() {
    let answer = json!({"success": false, "error": {"code": "X"}, "results": {"match": []}});
    assert_eq!(verdict("aml-screening", answer).0, Verdict::Review);
}

#[test]
fn the_status_of_an_id_number_is_compared_whole() {
    let said = |status: Value| {
        let answer =
            json!({"success": true, "results": {"said_verification": {"realTimeResults": {"Status": status}}}});
        verdict("said-verification", answer)
    };
    assert_eq!(said(json!("ID Number Valid")), (Verdict::Clear, "valid".into()));
    assert_eq!(said(json!("ID Number Invalid")), (Verdict::Adverse, "invalid".into()));
    assert_eq!(said(json!("ID Number Not Found")), (Verdict::NotFound, "not_found".into()));
    assert_eq!(said(json!("id number valid ")), (Verdict::Review, "unknown_status".into()));
    assert_eq!(said(Value::Null).0, Verdict::Review);
    assert_eq!(verdict("said-verification", json!({"results": {"said_verification": {}}})).0, Verdict::Unrecognised);
}

#[test]
fn adverse_media_is_clear_without_articles_and_screening_matches() {
    let article = json!({"title": "t"});
    assert_found(
        "adverse-media",
        [
            (json!({"articles": []}), CLEAR, "no_adverse_media"),
            (json!({"articles": [], "screening": []}), CLEAR, "no_adverse_media"),
            (json!({"articles": [article]}), REVIEW, "adverse_media"),
            (json!({"articles": [article], "screening": [{}]}), REVIEW, "adverse_media"),
            (json!({"articles": [], "screening": [{"list": "l"}]}), REVIEW, "screening_match"),
            (json!({"articles": [], "screening": {"matches": []}}), REVIEW, "screening_match"),
            (json!({"screening": [{}]}), REVIEW, "screening_match"),
            (json!({"articles": [], "screening": null}), REVIEW, "unclear_answer"),
            (json!({"articles": null}), REVIEW, "unclear_answer"),
            (json!({"articles": null, "screening": []}), REVIEW, "unclear_answer"),
            (json!({"screening": []}), REVIEW, "unclear_answer"),
            (json!({"articles": {}}), REVIEW, "unclear_answer"),
            (json!({"articles": 0}), REVIEW, "unclear_answer"),
            (json!({"articles": 3}), UNKNOWN, "unrecognised"),
            (json!({"hits": []}), UNKNOWN, "unrecognised"),
        ],
    );
}

#[test]
fn a_company_in_business_is_clear_and_a_deregistered_one_is_adverse() {
    let mut cases = Vec::new();
    for (word, verdict, finding) in [
        ("In Business", CLEAR, "in_business"),
        ("ACTIVE", CLEAR, "in_business"),
        ("Deregistered", ADVERSE, "deregistered"),
        ("Final Deregistration", ADVERSE, "deregistered"),
        ("Liquidation", ADVERSE, "in_liquidation"),
        ("In Liquidation", ADVERSE, "in_liquidation"),
        ("Business Rescue", REVIEW, "business_rescue"),
        ("In Deregistration Process", REVIEW, "deregistration_under_way"),
        ("Inactive", REVIEW, "inactive"),
        ("Not Found", NOT_FOUND, "no_company"),
        ("Not In Business", REVIEW, "unknown_status"),
        ("Success", REVIEW, "unknown_status"),
        ("", REVIEW, "unknown_status"),
    ] {
        cases.push((json!({"status": word}), verdict, finding));
        cases.push((json!({"company_status": word}), verdict, finding));
    }
    cases.extend([
        (json!({"found": false}), NOT_FOUND, "no_company"),
        (json!({"found": true}), REVIEW, "unknown_status"),
        (json!({"status": null}), REVIEW, "unknown_status"),
        (json!({"status": ["Active"]}), UNKNOWN, "unrecognised"),
        (json!({"status": true}), REVIEW, "unknown_status"),
        (json!({"status": "Active", "company_status": null}), REVIEW, "unknown_status"),
        (json!({"status": "Success", "company_status": "In Business"}), REVIEW, "unknown_status"),
        (json!({"status": "Active", "company_status": "Deregistered"}), ADVERSE, "deregistered"),
        (json!({"status": "Active", "company_status": "Active"}), CLEAR, "in_business"),
        (json!({"company_name": "X"}), UNKNOWN, "unrecognised"),
    ]);
    assert_found("cipc-company", cases);
}

#[test]
fn a_vehicle_is_data_and_a_vin_of_another_vehicle_is_for_review() {
    assert_found(
        "vehicle-check",
        [
            (json!({"lookupType": "registration", "vehicleMatched": null}), DATA, "plate_lookup"),
            (json!({"lookupType": "registration"}), REVIEW, "unclear_answer"),
            (json!({"lookupType": "registration", "vehicleMatched": ""}), REVIEW, "unclear_answer"),
            (json!({"lookupType": "registration_vin", "vehicleMatched": true}), DATA, "vin_matched"),
            (json!({"lookupType": "registration_vin", "vehicleMatched": false}), REVIEW, "vin_mismatch"),
            (json!({"lookupType": "registration", "vehicleMatched": false}), REVIEW, "vin_mismatch"),
            (json!({"lookupType": "registration_vin", "vehicleMatched": null}), REVIEW, "unclear_answer"),
            (json!({"lookupType": "registration", "vehicleMatched": "false"}), REVIEW, "unclear_answer"),
            (json!({"lookupType": null, "vehicleMatched": null}), REVIEW, "unclear_answer"),
            (json!({"lookupType": "registration", "vehicleMatched": null, "found": false}), NOT_FOUND, "no_vehicle"),
            (json!({"vehicle": {"make": "Kestrel"}}), UNKNOWN, "unrecognised"),
        ],
    );
}

#[test]
fn a_decoded_vin_and_the_vehicle_of_a_plate_are_data() {
    for check in ["vin-decode", "number-plate"] {
        assert_found(
            check,
            [
                (json!({"vehicle": {"make": "Kestrel"}}), DATA, "vehicle_found"),
                (json!({"make": "Kestrel"}), DATA, "vehicle_found"),
                (json!({"found": false}), NOT_FOUND, "no_vehicle"),
                (json!({"found": false, "vehicle": null}), NOT_FOUND, "no_vehicle"),
                (json!({"vehicle": null}), REVIEW, "unclear_answer"),
                (json!({"vehicle": {}}), REVIEW, "unclear_answer"),
                (json!({"vehicle": {"make": null}}), REVIEW, "unclear_answer"),
                (json!({"found": true}), REVIEW, "unclear_answer"),
                (json!({"lookupType": "x"}), UNKNOWN, "unrecognised"),
            ],
        );
    }
}

#[test]
fn a_property_search_says_found_or_not() {
    assert_found(
        "property-search",
        [
            (json!({"found": true}), DATA, "property_found"),
            (json!({"found": false}), NOT_FOUND, "no_property"),
            (json!({"found": null}), REVIEW, "unclear_answer"),
            (json!({"found": "false"}), REVIEW, "unclear_answer"),
            (json!({"properties": []}), UNKNOWN, "unrecognised"),
        ],
    );
}

#[test]
fn a_trace_is_data_in_either_form_and_not_found_where_every_group_is_empty() {
    let empty = json!({"AddressData": [], "EmploymentData": [], "ContactData": [], "DefiniteMatchData": []});
    assert_found(
        "consumer-trace",
        [
            (json!({"AddressData": [{}], "EmploymentData": []}), DATA, "traced"),
            (json!({"DefiniteMatchData": {"name": "x"}}), DATA, "traced"),
            (json!({"full_name": "x", "addresses": [{}], "contact_numbers": []}), DATA, "traced"),
            (empty, NOT_FOUND, "no_trace"),
            (json!({"addresses": [], "contact_numbers": []}), NOT_FOUND, "no_trace"),
            (json!({"full_name": "x", "addresses": [], "contact_numbers": []}), REVIEW, "unclear_answer"),
            (json!({"AddressData": [], "EmploymentData": [], "ContactData": null}), REVIEW, "unclear_answer"),
            (json!({"AddressData": []}), REVIEW, "unclear_answer"),
            (json!({"addresses": null}), REVIEW, "unclear_answer"),
            (json!({"full_name": "x"}), UNKNOWN, "unrecognised"),
        ],
    );
}

#[test]
fn every_finding_is_tested_here() {
    let tested = include_str!("judge_tests.rs");
    for declaration in Catalogue::built_in().iter() {
        let rules = declaration.verdict.rules.iter().map(|rule| &rule.finding);
        for finding in rules.chain([&declaration.verdict.otherwise.finding]) {
            assert!(tested.contains(&format!("\"{finding}\"")), "{}: {finding}", declaration.name);
        }
    }
}

#[test]
fn a_doubtful_answer_is_for_review_regardless_of_its_fields() {
    let clear = json!({"results": {"match": []}});
    for (answer, finding) in [
        (json!({"success": "false", "results": {"match": []}}), "contradictory_answer"),
        (json!({"status": "failed", "results": {"match": []}}), "contradictory_answer"),
        (json!({"status": "partial", "results": {"match": []}}), "contradictory_answer"),
        (json!({"results": {"match": [], "error": "upstream"}}), "contradictory_answer"),
        (json!({"results": {"match": [], "Status": "Error"}}), "contradictory_answer"),
        (json!({"error": "upstream", "results": {"match": []}}), "contradictory_answer"),
    ] {
        assert_eq!(verdict("aml-screening", answer.clone()), (Verdict::Review, finding.to_owned()), "{answer}");
    }
    for word in ["success", "Completed", "ok"] {
        let answer = json!({"status": word, "results": {"match": [], "Status": "Success", "error": null}});
        assert_eq!(verdict("aml-screening", answer).0, Verdict::Clear);
    }
    let catalogue = Catalogue::built_in();
    let templates = Templates::new(crate::template::Tables::default());
    let judge = Judge::new(catalogue.get("aml-screening").unwrap(), &templates).unwrap();
    let body = JsonBody { value: clear, duplicate_names: true, wrong_encoding: false };
    assert_eq!(judge.judge(&body, &Map::new()).judgement.finding, "duplicate_names");
    let body = JsonBody { duplicate_names: false, wrong_encoding: true, ..body };
    assert_eq!(judge.judge(&body, &Map::new()).judgement.finding, "wrong_encoding");
    let sent = json!({"name": "Jo Vexford", "mode": "production"});
    let crossed = json!({"input": {"name": "Other Person"}, "results": {"match": []}});
    let body = JsonBody { value: crossed, duplicate_names: false, wrong_encoding: false };
    assert_eq!(judge.judge(&body, sent.as_object().unwrap()).judgement.finding, "echo_mismatch");
    let fixture = json!({"mode": "sandbox", "results": {"match": []}});
    let body = JsonBody { value: fixture, ..body };
    let judged = judge.judge(&body, sent.as_object().unwrap());
    assert_eq!((judged.judgement.verdict, judged.other_mode.as_deref()), (Verdict::Review, Some("sandbox")));
}
