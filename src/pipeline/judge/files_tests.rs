//! Tests of the rules for faces and documents: every finding, and that null, new and missing values are never clear.

use super::tests::{ADVERSE, CLEAR, REVIEW, UNKNOWN, assert_found, verdict, verdict_on};
use serde_json::{Value, json};

fn valid_number() -> Value {
    json!({"Status": "Success", "realTimeResults": {"Status": "ID Number Valid"}})
}

/// A face match in the answer of a check, with the report on the ID number that one of them has.
fn face_of(check: &str, face: Value) -> Value {
    let mut content = json!({"face_match": face});
    if check == "facematch-verified" {
        content["said_verification"] = valid_number();
    }
    content
}

/// A content with some of its members changed, at a place.
fn changed(mut content: Value, at: &str, members: Value) -> Value {
    let there = content.pointer_mut(at).unwrap().as_object_mut().unwrap();
    there.extend(members.as_object().unwrap().clone());
    content
}

/// An approved passport of which everything was read, with some members changed.
fn passport(members: Value) -> Value {
    let passport = json!({
        "request_id": "9d1c",
        "id_verification": {
            "status": "Approved", "document_type": "Passport", "document_subtype": "TD3",
            "document_number": "A01234567", "personal_number": null, "first_name": "Ada", "last_name": "Vexford",
            "full_name": "Ada Vexford", "issuing_state": "ZAF", "issuing_state_name": "South Africa",
            "nationality": "ZAF", "date_of_birth": "1980-01-02", "expiration_date": "2031-05-06",
            "date_of_issue": "2021-05-07", "portrait_image": null, "front_image": null, "back_image": null,
            "mrz": {"mrz_type": "TD3", "errors": [], "warnings": []}, "warnings": [],
        },
    });
    changed(passport, "/id_verification", members)
}

/// An approved proof of address of which everything was read, with some members changed.
fn address(members: Value) -> Value {
    let address = json!({
        "status": "Approved", "name_on_document": "Ada Vexford", "address": "1 Basalt Road, Emberfield",
        "formatted_address": "1 Basalt Road, Emberfield, 1001, South Africa", "warnings": [],
    });
    changed(address, "", members)
}

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
            let face = json!({"status": status, "score": 91.2, "warnings": warnings});
            assert_found(check, [(face_of(check, face), verdict, finding)]);
        }
        assert_found(
            check,
            [
                // The description shows no warnings of a face match.
                (face_of(check, json!({"status": "Approved", "score": 91.2})), CLEAR, "match"),
                (face_of(check, json!({"score": 99})), REVIEW, "unknown_status"),
                (json!({"face_match": null}), UNKNOWN, "unrecognised"),
                (json!({"status": "Approved"}), UNKNOWN, "unrecognised"),
            ],
        );
    }
}

#[test]
fn a_document_is_clear_only_if_it_is_approved_and_states_that_it_has_no_warnings() {
    for (status, warnings, verdict, finding) in cases("approved") {
        let of_status = json!({"status": status, "warnings": warnings});
        assert_found("id-document", [(passport(of_status.clone()), verdict, finding)]);
        assert_found("proof-of-address", [(address(of_status), verdict, finding)]);
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
    assert_found("facematch-verified", [(with(valid_number()), CLEAR, "match")]);
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
    let with = |mrz: Value| passport(json!({"mrz": mrz}));
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
fn a_face_is_not_clear_if_its_bundle_states_no_verification_of_the_id_number() {
    // As the description shows the answer, without the verification that the bundle includes.
    let face = json!({"status": "Approved", "score": 91.2});
    assert_found("facematch-verified", [(json!({"face_match": face}), REVIEW, "id_not_stated")]);
    for part in ["id_verification", "realTimeResults"] {
        let other = json!({"face_match": face, part: {"Status": "ID Number Valid"}});
        assert_found("facematch-verified", [(other, REVIEW, "id_not_stated")]);
        let mut both = face_of("facematch-verified", face.clone());
        both[part] = json!({"Status": "ID Number Invalid"});
        assert_found("facematch-verified", [(both, REVIEW, "other_parts")]);
    }
    let declined = json!({"face_match": {"status": "Declined", "score": 11}});
    assert_found("facematch-verified", [(declined, ADVERSE, "declined")]);
}

#[test]
fn a_face_is_not_clear_beside_a_part_that_no_rule_reads() {
    let face = json!({"status": "Approved", "score": 91.2, "warnings": []});
    for check in ["facematch", "facematch-verified", "facematch-standard"] {
        for part in [json!({"status": "Declined"}), json!({"status": "Approved"}), json!(null)] {
            let with = changed(face_of(check, face.clone()), "", json!({"liveness": part}));
            assert_found(check, [(with, REVIEW, "other_parts")]);
        }
        let ids = json!({"request_id": "9d1c", "transaction_id": "t", "meta": {"environment": "production"}});
        assert_found(check, [(changed(face_of(check, face.clone()), "", ids), CLEAR, "match")]);
    }
    let with = changed(face_of("facematch", face), "", json!({"said_verification": valid_number()}));
    assert_found("facematch", [(with, REVIEW, "other_parts")]);
}

#[test]
fn an_approved_document_of_which_nothing_was_read_is_for_review() {
    assert_found("id-document", [(passport(json!({})), CLEAR, "approved")]);
    let bare = json!({"id_verification": {"status": "Approved", "warnings": []}});
    assert_found("id-document", [(bare, REVIEW, "fields_not_read")]);
    let mut nulls = passport(json!({}));
    for (name, value) in nulls["id_verification"].as_object_mut().unwrap() {
        if !["status", "warnings"].contains(&name.as_str()) {
            *value = Value::Null;
        }
    }
    assert_found("id-document", [(nulls, REVIEW, "fields_not_read")]);
    let no_name = json!({"first_name": null, "last_name": " ", "full_name": ""});
    for members in [json!({"document_number": null}), json!({"document_number": ""}), no_name] {
        assert_found("id-document", [(passport(members), REVIEW, "fields_not_read")]);
    }
    let one_name = json!({"first_name": null, "full_name": null});
    assert_found("id-document", [(passport(one_name), CLEAR, "approved")]);
    let unread = [json!(null), json!(""), json!("31/12/2031"), json!("311231"), json!("2031-1-1"), json!(20_311_231)];
    for date in unread {
        assert_found("id-document", [(passport(json!({"expiration_date": date})), REVIEW, "fields_not_read")]);
    }
}

#[test]
fn a_document_that_had_expired_on_the_day_of_the_answer_is_for_review() {
    for (date, verdict, finding) in [
        ("2001-01-01", REVIEW, "document_expired"),
        ("2026-11-25", REVIEW, "document_expired"),
        ("2026-11-26", CLEAR, "approved"),
        ("2026-11-27", CLEAR, "approved"),
        ("2031-05-06T00:00:00Z", CLEAR, "approved"),
    ] {
        assert_found("id-document", [(passport(json!({"expiration_date": date})), verdict, finding)]);
    }
    let declined = passport(json!({"status": "Declined", "expiration_date": "2001-01-01"}));
    assert_found("id-document", [(declined, ADVERSE, "declined")]);
}

#[test]
fn an_approved_proof_of_address_without_a_name_and_an_address_is_for_review() {
    assert_found("proof-of-address", [(address(json!({})), CLEAR, "approved")]);
    for one in [json!({"address": null}), json!({"formatted_address": null})] {
        assert_found("proof-of-address", [(address(one), CLEAR, "approved")]);
    }
    let bare = json!({"status": "Approved", "warnings": []});
    let nulls = json!({"name_on_document": null, "address": null, "formatted_address": null});
    for content in [
        bare,
        address(nulls),
        address(json!({"name_on_document": ""})),
        address(json!({"address": " ", "formatted_address": null})),
    ] {
        assert_found("proof-of-address", [(content, REVIEW, "fields_not_read")]);
    }
}

#[test]
fn a_review_outcome_of_a_bank_stays_for_review_whatever_its_checks_say() {
    for check in ["foreign-bank-account", "business-bank-account", "bank-account"] {
        for outcome in ["review", "manual_review", "In Review"] {
            for (flag, value) in [("accountFound", false), ("accountOpen", false), ("surnameMatch", false), ("x", true)]
            {
                let result = json!({"outcome": outcome, "checks": {flag: value}});
                assert_found(check, [(result, REVIEW, "in_review")]);
            }
        }
        let other = json!({"outcome": "not_verified", "checks": {"accountFound": false}});
        assert_found(check, [(other, ADVERSE, "account_not_found")]);
    }
}

#[test]
fn an_african_document_is_read_in_every_stated_envelope() {
    for (answer, found) in [
        (json!({"jobId": "job_1", "status": "completed", "results": {"status": "verified"}}), "document_verified"),
        (json!({"jobId": "job_1", "status": "completed", "results": {"status": "not_found"}}), "no_record"),
        (
            json!({"data": {"jobId": "job_1", "status": "completed", "verificationStatus": "verified"}, "meta": {}}),
            "document_verified",
        ),
        (json!({"data": {"jobId": "job_1", "status": "not_found"}, "meta": {}}), "no_record"),
        (json!({"data": {"results": {"status": "verified", "full_name": "Ada Vexford"}}}), "document_verified"),
    ] {
        assert_eq!(verdict("africa-verification", answer.clone()).1, found, "{answer}");
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
