//! Tests of the rules for bank accounts, directors, licences, ongoing monitoring and bundles: every finding, and that
//! null, new and missing values are never clear and never data.

use super::tests::{ADVERSE, CLEAR, DATA, NOT_FOUND, REVIEW, UNKNOWN, assert_found};
use serde_json::{Value, json};

/// The result object of a bank with one flag changed.
fn booleans(outcome: Value, flag: &str, value: Value) -> Value {
    let mut checks = json!({
        "accountFound": true, "accountOpen": true, "accountNumberLengthValid": true, "accountTypeMatch": true,
        "initialsMatch": true, "surnameMatch": true, "acceptsDebits": true, "acceptsCredits": true,
    });
    checks[flag] = value;
    json!({"outcome": outcome, "checks": checks})
}

/// The strings of a bank with one flag changed.
fn strings(verified: Value, flag: &str, value: Value) -> Value {
    let mut results = json!({
        "accountFound": "Yes", "accountOpen": "Yes", "identityMatch": "Yes", "accountTypeMatch": "Yes",
        "acceptsCredits": "Yes", "acceptsDebits": "Yes", "lengthOpen": "Yes",
    });
    results[flag] = value;
    json!({"identity_and_account_verified": verified, "verification_results": results})
}

#[test]
fn a_bank_account_is_clear_only_if_it_is_verified_and_every_flag_is_true() {
    let all = ["accountFound", "accountOpen", "accountTypeMatch", "acceptsCredits", "acceptsDebits"];
    assert_found(
        "bank-account",
        [
            (booleans(json!("verified"), "accountOpen", json!(true)), CLEAR, "account_verified"),
            (strings(json!(true), "accountOpen", json!("Yes")), CLEAR, "account_verified"),
            (strings(json!(true), "accountOpen", json!(true)), CLEAR, "account_verified"),
            (strings(json!(true), "Status", json!("Success")), CLEAR, "account_verified"),
            (strings(json!(true), "Status", json!("Partial")), REVIEW, "not_confirmed"),
            (strings(json!(true), "Status", json!(null)), REVIEW, "not_confirmed"),
            (booleans(json!("review"), "accountOpen", json!(true)), REVIEW, "in_review"),
            (booleans(json!("unverified"), "accountOpen", json!(true)), REVIEW, "not_confirmed"),
            (booleans(json!(null), "accountOpen", json!(true)), REVIEW, "not_confirmed"),
            (strings(json!(false), "accountOpen", json!("Yes")), REVIEW, "not_confirmed"),
            (strings(json!("Yes"), "accountOpen", json!("Yes")), REVIEW, "not_confirmed"),
            (json!({"outcome": "verified"}), REVIEW, "not_confirmed"),
            (json!({"outcome": "verified", "checks": {}}), REVIEW, "not_confirmed"),
            (json!({"identity_and_account_verified": true}), REVIEW, "not_confirmed"),
            (json!({"bank": {"name": "FNB"}}), UNKNOWN, "unrecognised"),
        ],
    );
    for flag in all {
        for value in [json!(null), json!("yes"), json!("Unknown"), json!(1), json!([true])] {
            assert_found("bank-account", [(strings(json!(true), flag, value), REVIEW, "not_confirmed")]);
        }
        for value in [json!(null), json!("true"), json!(1), json!([true])] {
            assert_found("bank-account", [(booleans(json!("verified"), flag, value), REVIEW, "not_confirmed")]);
        }
    }
}

#[test]
fn a_missing_or_closed_account_and_another_holder_are_adverse() {
    for (flag, finding) in [("accountFound", "account_not_found"), ("accountOpen", "account_closed")] {
        assert_found(
            "bank-account",
            [
                (booleans(json!("not_verified"), flag, json!(false)), ADVERSE, finding),
                (booleans(json!("verified"), flag, json!(false)), ADVERSE, finding),
                (strings(json!(false), flag, json!("No")), ADVERSE, finding),
            ],
        );
    }
    assert_found(
        "bank-account",
        [
            (booleans(json!("not_verified"), "surnameMatch", json!(false)), ADVERSE, "holder_mismatch"),
            (strings(json!(false), "identityMatch", json!("No")), ADVERSE, "holder_mismatch"),
            (booleans(json!("not_verified"), "initialsMatch", json!(false)), REVIEW, "not_confirmed"),
            (booleans(json!("not_verified"), "acceptsDebits", json!(false)), REVIEW, "not_confirmed"),
            (strings(json!(false), "accountTypeMatch", json!("No")), REVIEW, "not_confirmed"),
        ],
    );
}

#[test]
fn a_bundle_is_clear_only_if_all_its_parts_are_known_and_favourable() {
    let said = |status: &str| json!({"Status": "Success", "realTimeResults": {"Status": status}});
    let valid = || said("ID Number Valid");
    assert_found(
        "kyc-bundle",
        [
            (json!({"said_verification": valid()}), CLEAR, "valid"),
            (json!({"said_verification": valid(), "aml_screening": {"match": []}}), CLEAR, "valid"),
            (valid(), CLEAR, "valid"),
            (json!({"said_verification": said("ID Number Invalid")}), ADVERSE, "invalid"),
            (json!({"said_verification": said("ID Number Not Found")}), NOT_FOUND, "not_found"),
            (json!({"said_verification": said("New")}), REVIEW, "unknown_status"),
            (json!({"said_verification": valid(), "aml_screening": {"match": [{}]}}), REVIEW, "name_match"),
            (json!({"said_verification": valid(), "aml_screening": {}}), REVIEW, "other_parts"),
            (json!({"said_verification": valid(), "aml_screening": null}), REVIEW, "other_parts"),
            (json!({"said_verification": valid(), "fraud_list": {"hit": true}}), REVIEW, "other_parts"),
            (json!({"aml_screening": {"match": []}}), UNKNOWN, "unrecognised"),
        ],
    );
}

#[test]
fn a_bundle_is_not_clear_if_the_report_on_the_id_number_is_not_successful() {
    let valid = || json!({"Status": "ID Number Valid"});
    let invalid = || json!({"Status": "ID Number Invalid"});
    for report in [
        json!({"Status": "Failed", "realTimeResults": valid()}),
        json!({"Status": null, "realTimeResults": valid()}),
        json!({"Status": "success", "realTimeResults": valid()}),
        json!({"realTimeResults": valid()}),
        json!({"Status": "Failed", "realTimeResults": invalid()}),
        json!({"Status": "Failed", "realTimeResults": null}),
        json!({"Status": "Failed"}),
    ] {
        let bundle = json!({"said_verification": report, "aml_screening": {"match": []}});
        assert_found(
            "kyc-bundle",
            [(bundle, REVIEW, "report_not_successful"), (report, REVIEW, "report_not_successful")],
        );
    }
    let report = |real_time: Value| json!({"Status": "Success", "realTimeResults": real_time});
    for real_time in [json!(null), json!({}), json!({"Status": null})] {
        let bundle = json!({"said_verification": report(real_time)});
        assert_found("kyc-bundle", [(bundle, REVIEW, "unknown_status")]);
    }
    // Two reports that differ.
    for other in [json!({"Status": "New"}), json!(null)] {
        let two = json!({"said_verification": report(valid()), "Status": "Success", "realTimeResults": other});
        assert_found("kyc-bundle", [(two, REVIEW, "other_parts")]);
    }
    let two = json!({"said_verification": report(valid()), "Status": "Failed"});
    assert_found("kyc-bundle", [(two, REVIEW, "report_not_successful")]);
}

#[test]
fn ongoing_monitoring_is_judged_like_a_screening() {
    let header = json!({"DatasetVersion": "1"});
    for check in ["aml-ongoing-enrol", "aml-ongoing-rescreen"] {
        assert_found(
            check,
            [
                (json!({"Header": header, "match": []}), CLEAR, "no_match"),
                (json!({"match": [{"type": "sanction"}]}), REVIEW, "sanctions_match"),
                (json!({"match": [{"type": "pep"}]}), REVIEW, "pep_match"),
                (json!({"match": [{"type": "media"}]}), REVIEW, "media_match"),
                (json!({"match": [{}]}), REVIEW, "name_match"),
                (json!({"match": null, "enrolment": {"status": "enrolled"}}), REVIEW, "unclear_answer"),
                (json!({"Header": header}), REVIEW, "unclear_answer"),
                (json!({"enrolment": {"status": null}}), REVIEW, "unclear_answer"),
                (json!({"other": 1}), UNKNOWN, "unrecognised"),
            ],
        );
    }
    let state = |word: &str| json!({"Header": header, "enrolment": {"status": word}});
    assert_found("aml-ongoing-enrol", [(state("enrolled"), DATA, "enrolled")]);
    assert_found("aml-ongoing-rescreen", [(state("not_enrolled"), NOT_FOUND, "not_enrolled")]);
    assert_found(
        "aml-ongoing-withdraw",
        [
            (state("withdrawn"), DATA, "withdrawn"),
            (json!({"status": "withdrawn"}), DATA, "withdrawn"),
            (state("not_enrolled"), NOT_FOUND, "not_enrolled"),
            (state("new"), REVIEW, "unclear_answer"),
            (json!({"Header": header}), REVIEW, "unclear_answer"),
        ],
    );
}

#[test]
fn directors_licences_and_discs_are_data_or_not_found() {
    assert_found(
        "cipc-director",
        [
            (json!({"directorships": [{}]}), DATA, "director_found"),
            (json!({"companies": [{}], "full_name": "x"}), DATA, "director_found"),
            (json!({"found": false}), NOT_FOUND, "no_director"),
            (json!({"companies": []}), NOT_FOUND, "no_director"),
            (json!({"companies": null}), REVIEW, "unclear_answer"),
            (json!({"companies": "many"}), REVIEW, "unclear_answer"),
            (json!({"full_name": "x"}), UNKNOWN, "unrecognised"),
        ],
    );
    assert_found(
        "drivers-licence",
        [
            (json!({"licenceNumber": "1"}), DATA, "licence_read"),
            (json!({"found": false}), NOT_FOUND, "no_licence"),
            (json!({"licenceNumber": null, "surname": "x"}), REVIEW, "unclear_answer"),
            (json!({"licenceNumber": ""}), REVIEW, "unclear_answer"),
            (json!({"portrait": "x"}), UNKNOWN, "unrecognised"),
        ],
    );
    assert_found(
        "licence-disc",
        [
            (json!({"registrationNumber": "CA1", "expired": false}), DATA, "disc_read"),
            (json!({"registrationNumber": "CA1", "expired": true}), DATA, "disc_expired"),
            (json!({"registrationNumber": "CA1", "expired": null}), REVIEW, "unclear_answer"),
            (json!({"registrationNumber": "CA1"}), REVIEW, "unclear_answer"),
            (json!({"registrationNumber": null, "expired": false}), REVIEW, "unclear_answer"),
            (json!({"found": false}), NOT_FOUND, "no_disc"),
            (json!({"make": "x"}), UNKNOWN, "unrecognised"),
        ],
    );
    assert_found(
        "consumer-trace-lite",
        [
            (json!({"AddressData": [{}], "ContactData": []}), DATA, "traced"),
            (json!({"addresses": [], "contact_numbers": [{}]}), DATA, "traced"),
            (json!({"AddressData": [], "ContactData": []}), NOT_FOUND, "no_trace"),
            (json!({"addresses": [], "contact_numbers": []}), NOT_FOUND, "no_trace"),
            (json!({"AddressData": [], "ContactData": null}), REVIEW, "unclear_answer"),
            (json!({"AddressData": "none"}), REVIEW, "unclear_answer"),
            (json!({"full_name": "x"}), UNKNOWN, "unrecognised"),
        ],
    );
}
