//! The verdict of a bank result: `clear` only if the outcome is verified and every check is true.

use super::{AFRICA, BUSINESS, FOREIGN};
use rescreen::{catalogue::Catalogue, template::Templates};
use serde_json::{Value, json};

const FLAGS: [&str; 9] = [
    "accountFound",
    "accountOpen",
    "accountNumberLengthValid",
    "accountTypeMatch",
    "passportNumberMatch",
    "initialsMatch",
    "surnameMatch",
    "acceptsDebits",
    "acceptsCredits",
];

fn judged(check: &str, result: &Value) -> String {
    let catalogue = Catalogue::built_in();
    let (spec, templates) = (&catalogue.get(check).unwrap().verdict, Templates::default());
    let holds = |rule: &str| templates.answer_rule(rule).unwrap().holds(result, result).unwrap();
    if !holds(&spec.recognised) {
        return "unrecognised".to_owned();
    }
    let rule = spec.rules.iter().find(|rule| holds(&rule.when));
    let (verdict, finding) =
        rule.map_or((spec.otherwise.verdict, &spec.otherwise.finding), |rule| (rule.verdict, &rule.finding));
    format!("{} {finding}", verdict.as_str())
}

/// A verified result, with one check changed.
fn with(flag: &str, value: Value) -> Value {
    let mut result = json!({"outcome": "verified", "checks": {}, "bank": {}, "passportCountry": "NG"});
    for name in FLAGS {
        result["checks"][name] = true.into();
    }
    result["checks"][flag] = value;
    result
}

#[test]
fn every_check_must_be_true_for_clear() {
    assert_eq!(judged(FOREIGN, &with("accountOpen", true.into())), "clear verified");
    for flag in FLAGS {
        for value in [json!(null), json!("true"), json!(1), json!("Yes")] {
            let found = judged(FOREIGN, &with(flag, value.clone()));
            assert_eq!(found, "review not_all_confirmed", "{flag} {value}");
        }
        let mut missing = with(flag, true.into());
        missing["checks"].as_object_mut().unwrap().remove(flag);
        assert_eq!(judged(FOREIGN, &missing), "review not_all_confirmed", "{flag} is missing");
        let refused = judged(FOREIGN, &with(flag, false.into()));
        let wanted = match flag {
            "accountFound" => "adverse account_not_found",
            "accountOpen" => "adverse account_closed",
            "passportNumberMatch" => "adverse passport_mismatch",
            "surnameMatch" | "initialsMatch" => "adverse holder_mismatch",
            _ => "review not_all_confirmed",
        };
        assert_eq!(refused, wanted, "{flag}");
    }
}

#[test]
fn another_outcome_is_never_clear() {
    for outcome in [json!("review"), json!("Verified"), json!(null), json!(true), json!("unverified")] {
        let mut result = with("accountOpen", true.into());
        result["outcome"] = outcome.clone();
        let finding = if outcome == "review" { "in_review" } else { "not_verified" };
        assert_eq!(judged(FOREIGN, &result), format!("review {finding}"), "{outcome}");
    }
    assert_eq!(judged(FOREIGN, &json!({"outcome": "verified"})), "unrecognised");
    assert_eq!(judged(FOREIGN, &json!({"outcome": "verified", "checks": null})), "review not_all_confirmed");
}

#[test]
fn a_business_is_judged_by_its_own_checks() {
    let mut result = json!({"outcome": "verified", "checks": {}});
    for flag in [
        "accountFound",
        "accountOpen",
        "accountNumberLengthValid",
        "accountTypeMatch",
        "businessNameMatch",
        "registrationNumberMatch",
        "acceptsDebits",
        "acceptsCredits",
    ] {
        assert_ne!(judged(BUSINESS, &result), "clear verified", "without {flag}");
        result["checks"][flag] = true.into();
    }
    assert_eq!(judged(BUSINESS, &result), "clear verified");
    result["checks"]["businessNameMatch"] = false.into();
    assert_eq!(judged(BUSINESS, &result), "adverse holder_mismatch");
}

#[test]
fn an_african_document_is_data_or_not_found() {
    assert_eq!(judged(AFRICA, &json!({"status": "verified"})), "data document_verified");
    assert_eq!(judged(AFRICA, &json!({"status": "not_found"})), "not_found no_record");
    assert_eq!(judged(AFRICA, &json!({"status": null})), "review unclear_answer");
}
