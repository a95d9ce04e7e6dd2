//! Tests of the rules of each built-in check: every finding, and that null, new and missing values are never clear.

use super::*;
use crate::{catalogue::Catalogue, model::Verdict};
use serde_json::json;

pub(super) fn verdict(check: &str, answer: Value) -> (Verdict, String) {
    verdict_on(check, answer, json!({}))
}

/// An answer whose text leaves no doubt.
pub(super) fn plain(answer: Value) -> JsonBody {
    JsonBody { value: answer.into(), duplicate_names: false, wrong_encoding: false, unreadable_numbers: false }
}

/// When the answers of these tests came: on 26 November 2026, a second before midnight.
pub(super) const ANSWERED_AT_US: i64 = 1_795_737_599_000_000;

/// The verdict on an answer to a request with this body.
pub(super) fn verdict_on(check: &str, answer: Value, sent: Value) -> (Verdict, String) {
    let catalogue = Catalogue::built_in();
    let templates = Templates::new(crate::template::Tables::default());
    let judge = Judge::new(catalogue.get(check).unwrap(), &templates).unwrap();
    let answer = plain(answer);
    let Judgement { verdict, finding } = judge.judge(&answer, sent.as_object().unwrap(), ANSWERED_AT_US).judgement;
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
pub(super) fn assert_found(check: &str, cases: impl IntoIterator<Item = (Value, Verdict, &'static str)>) {
    for (content, verdict, finding) in cases {
        assert_eq!(found(check, content.clone()), (verdict, finding.to_owned()), "{check}: {content}");
    }
}

pub(super) const CLEAR: Verdict = Verdict::Clear;
pub(super) const ADVERSE: Verdict = Verdict::Adverse;
pub(super) const REVIEW: Verdict = Verdict::Review;
pub(super) const NOT_FOUND: Verdict = Verdict::NotFound;
pub(super) const DATA: Verdict = Verdict::Data;
pub(super) const UNKNOWN: Verdict = Verdict::Unrecognised;

fn aml(results: Value) -> (Verdict, String) {
    verdict("aml-screening", json!({ "success": true, "results": results }))
}

#[test]
fn an_empty_list_of_matches_is_clear_and_every_match_is_for_review() {
    assert_eq!(aml(json!({"match": []})), (Verdict::Clear, "no_match".into()));
    for (kind, finding) in [("sanction", "sanctions_match"), ("pep", "pep_match"), ("media", "media_match")] {
        assert_eq!(aml(json!({"match": [{"type": kind}]})), (Verdict::Review, finding.into()));
    }
    assert_eq!(aml(json!({"match": [{"name": "x"}]})), (Verdict::Review, "name_match".into()));
    assert_eq!(aml(json!({"match": [{"type": "pep"}, {"type": "sanction"}]})).1, "sanctions_match");
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
        let report = json!({"Status": "Success", "realTimeResults": {"Status": status}});
        verdict("said-verification", json!({"success": true, "results": {"said_verification": report}}))
    };
    assert_eq!(said(json!("ID Number Valid")), (Verdict::Clear, "valid".into()));
    assert_eq!(said(json!("ID Number Invalid")), (Verdict::Adverse, "invalid".into()));
    assert_eq!(said(json!("ID Number Not Found")), (Verdict::NotFound, "not_found".into()));
    assert_eq!(said(json!("id number valid ")), (Verdict::Review, "unknown_status".into()));
    assert_eq!(said(Value::Null).0, Verdict::Review);
    assert_eq!(verdict("said-verification", json!({"results": {"said_verification": {}}})).0, Verdict::Unrecognised);
    for report in [
        json!({"Status": "Failed", "realTimeResults": {"Status": "ID Number Valid"}}),
        json!({"Status": "Failed", "realTimeResults": null}),
        json!({"Status": null, "realTimeResults": {"Status": "ID Number Valid"}}),
        json!({"realTimeResults": {"Status": "ID Number Valid"}}),
        json!({"Status": "success", "realTimeResults": {"Status": "ID Number Valid"}}),
    ] {
        let found = verdict("said-verification", json!({"results": {"said_verification": report}}));
        assert!(
            found.0 == REVIEW && ["report_not_successful", "contradictory_answer"].contains(&found.1.as_str()),
            "{found:?}"
        );
    }
}

#[test]
fn adverse_media_is_clear_without_articles_and_screening_matches() {
    let article = json!({"title": "t"});
    assert_found(
        "adverse-media",
        [
            (json!({"articles": []}), CLEAR, "no_adverse_media"),
            (json!({"articles": [], "screening": []}), CLEAR, "no_adverse_media"),
            (json!({"articles": [article]}), REVIEW, "media_match"),
            (json!({"articles": [article], "screening": [{}]}), REVIEW, "media_match"),
            (json!({"articles": [], "screening": [{"list": "l"}]}), REVIEW, "screening_match"),
            (json!({"articles": [], "screening": [{"type": "sanction"}]}), REVIEW, "sanctions_match"),
            (json!({"articles": [article], "screening": [{"type": "pep"}]}), REVIEW, "pep_match"),
            (json!({"articles": [], "screening": "x"}), REVIEW, "screening_match"),
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
fn a_company_with_a_known_status_is_data_and_another_status_is_for_review() {
    let mut cases = Vec::new();
    for (word, verdict, finding) in [
        ("In Business", DATA, "in_business"),
        ("ACTIVE", DATA, "in_business"),
        ("Deregistered", DATA, "deregistered"),
        ("Final Deregistration", DATA, "deregistered"),
        ("Liquidation", DATA, "in_liquidation"),
        ("In Liquidation", DATA, "in_liquidation"),
        ("Business Rescue", DATA, "business_rescue"),
        ("In Deregistration Process", DATA, "deregistration_under_way"),
        ("Inactive", DATA, "inactive"),
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
        (json!({"status": "Active", "company_status": "Deregistered"}), DATA, "deregistered"),
        (json!({"status": "Active", "company_status": "Active"}), DATA, "in_business"),
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
fn a_vin_that_was_sent_and_never_compared_is_for_review() {
    let plain = json!({"lookupType": "registration", "vehicleMatched": null});
    for (sent, answer, finding) in [
        (json!({"registrationNumber": "CA1", "vin": "V"}), json!({"results": plain}), "vin_not_compared"),
        (json!({"registrationNumber": "CA1", "vin": "V"}), json!({"data": plain, "meta": {}}), "vin_not_compared"),
        (json!({"registrationNumber": "CA1"}), json!({"results": plain, "input": {"vin": "V"}}), "vin_not_compared"),
        (json!({"registrationNumber": "CA1"}), json!({"results": plain}), "plate_lookup"),
    ] {
        let verdict = if finding == "plate_lookup" { DATA } else { REVIEW };
        assert_eq!(verdict_on("vehicle-check", answer.clone(), sent), (verdict, finding.to_owned()), "{answer}");
    }
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
            (json!({"AddressData": "unavailable", "EmploymentData": []}), REVIEW, "unclear_answer"),
        ],
    );
}

/// A verified bank result with all its checks, and these members of `checks` changed.
fn bank(names: &[&str], changed: Value) -> Value {
    let mut checks: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), true.into())).collect();
    checks.extend(changed.as_object().unwrap().clone());
    json!({"outcome": "verified", "checks": checks})
}

#[test]
fn bank_results_are_clear_only_if_everything_is_confirmed() {
    const ACCOUNT: [&str; 6] = [
        "accountFound",
        "accountOpen",
        "accountNumberLengthValid",
        "accountTypeMatch",
        "acceptsDebits",
        "acceptsCredits",
    ];
    let foreign = [&ACCOUNT[..], &["passportNumberMatch", "initialsMatch", "surnameMatch"]].concat();
    let business = [&ACCOUNT[..], &["businessNameMatch", "registrationNumberMatch"]].concat();
    for (check, names, holder) in
        [("foreign-bank-account", &foreign, "surnameMatch"), ("business-bank-account", &business, "businessNameMatch")]
    {
        let with = |changed: Value| bank(names, changed);
        assert_found(
            check,
            [
                (with(json!({})), CLEAR, "verified"),
                (with(json!({"accountFound": false})), ADVERSE, "account_not_found"),
                (with(json!({"accountOpen": false})), ADVERSE, "account_closed"),
                (with(json!({holder: false})), ADVERSE, "holder_mismatch"),
                (with(json!({holder: null})), REVIEW, "not_all_confirmed"),
                (with(json!({"acceptsCredits": false})), REVIEW, "not_all_confirmed"),
                (json!({"outcome": "review", "checks": {}}), REVIEW, "in_review"),
                (json!({"outcome": "other", "checks": {}}), REVIEW, "not_verified"),
                (json!({"outcome": "verified"}), UNKNOWN, "unrecognised"),
            ],
        );
    }
    let passport = bank(&foreign, json!({"passportNumberMatch": false}));
    assert_found("foreign-bank-account", [(passport, ADVERSE, "passport_mismatch")]);
}

#[test]
fn an_african_document_is_data_or_not_found() {
    assert_found(
        "africa-verification",
        [
            (json!({"status": "verified"}), DATA, "document_verified"),
            (json!({"verificationStatus": "not_found"}), NOT_FOUND, "no_record"),
            (json!({"status": null}), REVIEW, "unclear_answer"),
            (json!({"full_name": "x"}), UNKNOWN, "unrecognised"),
            (json!({"status": "completed", "verificationStatus": "verified"}), DATA, "document_verified"),
            (json!({"status": "not_verified", "verificationStatus": "verified"}), REVIEW, "unclear_answer"),
            (json!({"status": null, "verificationStatus": "verified"}), REVIEW, "unclear_answer"),
            (json!({"status": "not_found", "verificationStatus": "verified"}), NOT_FOUND, "no_record"),
            (json!({"status": "completed", "full_name": "x"}), REVIEW, "unclear_answer"),
        ],
    );
}

#[test]
fn every_finding_is_tested_here() {
    let jobs = include_str!("../../../tests/it/jobs/verdicts.rs");
    let (files, lookups) = (include_str!("files_tests.rs"), include_str!("lookups_tests.rs"));
    let tested = [include_str!("judge_tests.rs"), files, lookups, jobs].concat();
    for declaration in Catalogue::built_in().iter() {
        let rules = declaration.verdict.rules.iter().map(|rule| &rule.finding);
        for finding in rules.chain([&declaration.verdict.otherwise.finding]) {
            assert!(tested.contains(&format!("{finding}\"")), "{}: {finding}", declaration.name);
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
    let body = JsonBody { duplicate_names: true, ..plain(clear) };
    assert_eq!(judge.judge(&body, &Map::new(), ANSWERED_AT_US).judgement.finding, "duplicate_names");
    let body = JsonBody { duplicate_names: false, wrong_encoding: true, ..body };
    assert_eq!(judge.judge(&body, &Map::new(), ANSWERED_AT_US).judgement.finding, "wrong_encoding");
    let body = JsonBody { wrong_encoding: false, unreadable_numbers: true, ..body };
    assert_eq!(judge.judge(&body, &Map::new(), ANSWERED_AT_US).judgement.finding, "unreadable_number");
    let sent = json!({"name": "Jo Vexford", "mode": "production"});
    let crossed = json!({"input": {"name": "Other Person"}, "results": {"match": []}});
    let body = plain(crossed);
    assert_eq!(judge.judge(&body, sent.as_object().unwrap(), ANSWERED_AT_US).judgement.finding, "echo_mismatch");
    let fixture = json!({"mode": "sandbox", "results": {"match": []}});
    let body = JsonBody { value: fixture.into(), ..body };
    let judged = judge.judge(&body, sent.as_object().unwrap(), ANSWERED_AT_US);
    assert_eq!((judged.judgement.verdict, judged.other_mode.as_deref()), (Verdict::Review, Some("sandbox")));
}
