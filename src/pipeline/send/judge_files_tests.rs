//! Tests of the rules for faces and documents: every finding, and that null, new and missing values are never clear.

use super::tests::{ADVERSE, CLEAR, REVIEW, UNKNOWN, assert_found, verdict_on};
use serde_json::{Value, json};

/// Each status and list of warnings, with the verdict and finding that every check with files gives.
fn cases(positive: &'static str) -> Vec<(Value, Value, crate::model::Verdict, &'static str)> {
    vec![
        (json!("Approved"), json!([]), CLEAR, positive),
        (json!("Approved"), json!([{"code": "DOCUMENT_EXPIRED"}]), REVIEW, "warnings"),
        (json!("Approved"), json!(null), REVIEW, "warnings_not_stated"),
        (json!("Approved"), json!("none"), REVIEW, "warnings_not_stated"),
        (json!("Declined"), json!([]), ADVERSE, "declined"),
        (json!("In Review"), json!([]), REVIEW, "in_review"),
        (json!("Not Approved"), json!([]), REVIEW, "unknown_status"),
        (json!("approved"), json!([]), REVIEW, "unknown_status"),
        (json!(null), json!([]), REVIEW, "unknown_status"),
        (json!(true), json!([]), REVIEW, "unknown_status"),
    ]
}

#[test]
fn a_face_is_clear_only_if_it_is_approved_without_warnings() {
    for check in ["facematch", "facematch-verified", "facematch-standard"] {
        for (status, warnings, verdict, finding) in cases("match") {
            let face = json!({"face_match": {"status": status, "score": 91.2, "warnings": warnings}});
            assert_found(check, [(face, verdict, finding)]);
        }
        assert_found(
            check,
            [
                // The description shows no warnings of a face match.
                (json!({"face_match": {"status": "Approved", "score": 91.2}}), CLEAR, "match"),
                (json!({"face_match": {"score": 99}}), REVIEW, "unknown_status"),
                (json!({"face_match": null}), UNKNOWN, "unrecognised"),
                (json!({"status": "Approved"}), UNKNOWN, "unrecognised"),
            ],
        );
    }
}

#[test]
fn a_document_is_clear_only_if_it_is_approved_and_states_that_it_has_no_warnings() {
    for (status, warnings, verdict, finding) in cases("approved") {
        let document = json!({"id_verification": {"status": status, "warnings": warnings}});
        assert_found("id-document", [(document, verdict, finding)]);
        let address = json!({"status": status, "warnings": warnings});
        assert_found("proof-of-address", [(address, verdict, finding)]);
    }
    assert_found(
        "id-document",
        [
            (json!({"id_verification": {"status": "Approved"}}), REVIEW, "warnings_not_stated"),
            (json!({"id_verification": {}}), REVIEW, "unknown_status"),
            (json!({"id_verification": null}), UNKNOWN, "unrecognised"),
        ],
    );
    assert_found(
        "proof-of-address",
        [
            (json!({"status": "Approved"}), REVIEW, "warnings_not_stated"),
            (json!({"status": "Review required", "warnings": []}), REVIEW, "in_review"),
            (json!({"name_on_document": "x"}), REVIEW, "unknown_status"),
            (json!({"address": "x"}), UNKNOWN, "unrecognised"),
        ],
    );
}

#[test]
fn a_face_is_not_clear_if_the_id_number_is_not_valid() {
    let with = |said: Value| json!({"face_match": {"status": "Approved", "score": 91}, "said_verification": said});
    let valid = json!({"Status": "Success", "realTimeResults": {"Status": "ID Number Valid"}});
    assert_found("facematch-verified", [(with(valid), CLEAR, "match")]);
    for said in [
        json!({"Status": "Success", "realTimeResults": {"Status": "ID Number Invalid"}}),
        json!({"Status": "Success", "realTimeResults": null}),
        json!({"Status": "Failed", "realTimeResults": {"Status": "ID Number Valid"}}),
        json!({"realTimeResults": {"Status": "ID Number Valid"}}),
        json!({"Status": "Success", "realTimeResults": "ID Number Valid"}),
        json!({}),
        json!(null),
        json!("ID Number Valid"),
    ] {
        assert_found("facematch-verified", [(with(said), REVIEW, "id_not_valid")]);
    }
}

#[test]
fn a_document_is_not_clear_if_its_machine_readable_zone_has_a_warning() {
    let with = |mrz: Value| json!({"id_verification": {"status": "Approved", "warnings": [], "mrz": mrz}});
    for mrz in [json!(null), json!({}), json!({"errors": [], "warnings": []}), json!({"mrz_type": "TD3"})] {
        assert_found("id-document", [(with(mrz), CLEAR, "approved")]);
    }
    for mrz in [
        json!({"errors": ["BAD"], "warnings": []}),
        json!({"errors": [], "warnings": ["CHECKSUM"]}),
        json!({"errors": "BAD"}),
        json!({"errors": null}),
        json!({"warnings": {"code": "CHECKSUM"}}),
        json!("P<ZAF"),
    ] {
        assert_found("id-document", [(with(mrz), REVIEW, "mrz_warnings")]);
    }
}

#[test]
fn a_bank_result_about_another_account_or_passport_is_for_review() {
    let names = [
        "accountFound",
        "accountOpen",
        "accountNumberLengthValid",
        "accountTypeMatch",
        "acceptsDebits",
        "acceptsCredits",
        "passportNumberMatch",
        "initialsMatch",
        "surnameMatch",
        "businessNameMatch",
        "registrationNumberMatch",
    ];
    let checks: serde_json::Map<String, Value> = names.map(|name| (name.to_owned(), true.into())).into_iter().collect();
    let sent = json!({"bankAccountNumber": "62001230034", "passportCountry": "ZW"});
    let on = |check: &str, last4: Value, country: Value| {
        let bank = json!({"name": "FNB", "accountNumberLast4": last4});
        let result = json!({"outcome": "verified", "checks": checks, "bank": bank, "passportCountry": country});
        verdict_on(check, json!({"result": result}), sent.clone())
    };
    for check in ["foreign-bank-account", "business-bank-account", "bank-account"] {
        for same in [json!("0034"), json!("******0034"), json!("6200***0034"), json!(34), json!(null)] {
            assert_eq!(on(check, same.clone(), json!("zw")).0, CLEAR, "{check} {same}");
        }
        for other in [json!("9999"), json!("******9999"), json!(9_999), json!("1034"), json!(["0034"])] {
            let found = on(check, other.clone(), json!("ZW"));
            assert_eq!(found, (REVIEW, "other_account".to_owned()), "{check} {other}");
        }
    }
    let at = |check: &str, asked: &str| {
        let bank = json!({"name": "First National Bank", "accountNumberLast4": "0034"});
        let result = json!({"outcome": "verified", "checks": checks, "bank": bank, "passportCountry": "ZW"});
        verdict_on(check, json!({"result": result}), json!({"bankAccountNumber": "62001230034", "bankName": asked}))
    };
    for check in ["foreign-bank-account", "business-bank-account", "bank-account"] {
        assert_eq!(at(check, "FNB").0, CLEAR, "{check}");
        assert_eq!(at(check, "Nedbank"), (REVIEW, "other_bank".to_owned()), "{check}");
    }
    let found = on("foreign-bank-account", json!("0034"), json!("NG"));
    assert_eq!(found, (REVIEW, "other_passport_country".to_owned()));
    assert_eq!(on("foreign-bank-account", json!("0034"), json!(["ZW"])).1, "other_passport_country");
    assert_eq!(on("foreign-bank-account", json!("0034"), json!(null)).0, CLEAR);
}
