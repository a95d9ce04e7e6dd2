//! What the service's description says about the checks that are answered by jobs, written by hand from it. Everything
//! that it does not show is declared assumed.

use rescreen::{
    catalogue::{Catalogue, ColumnKind, Declaration, Flow},
    model::{Credits, field::FieldKind},
};
use serde_json::{Value, json};

/// The checks of this file.
pub const NAMES: [&str; 3] = ["africa-verification", "business-bank-account", "foreign-bank-account"];

const ACCOUNT_TYPES: [&str; 7] = ["unknown", "current", "cheque", "savings", "transmission", "bond", "credit-card"];

fn declared(name: &str) -> Declaration {
    Catalogue::built_in().get(name).unwrap().clone()
}

/// The description shows the first.
const JOB_IDS: [&str; 5] = ["/jobId", "/data/jobId", "/results/jobId", "/job_id", "/data/job/id"];

/// Name, kind, whether it is required, and whether the description shows it.
fn fields(declaration: &Declaration) -> Vec<(&str, FieldKind, bool, bool)> {
    let fields = declaration.fields.iter();
    fields.map(|field| (field.name.as_str(), field.kind, field.required, !field.assumed)).collect()
}

/// The first pointer and kind of each column, and whether the description shows it.
fn columns(declaration: &Declaration) -> Vec<(&str, ColumnKind, bool)> {
    let columns = declaration.answer.columns.iter();
    columns.map(|column| (column.pointers[0].as_str(), column.kind, !column.assumed)).collect()
}

fn allowed(declaration: &Declaration, name: &str) -> Vec<Value> {
    declaration.fields.iter().find(|field| field.name == name).unwrap().allowed.clone()
}

fn retry_webhook(declaration: &Declaration) -> Option<&str> {
    declaration.job.as_ref().unwrap().retry_webhook.as_deref()
}

fn job(declaration: &Declaration) -> (Option<u64>, &str, &[String], bool) {
    let job = declaration.job.as_ref().unwrap();
    (job.hold.map(|hold| hold.0), &job.status, &job.id, !job.assumed)
}

/// "Foreign passport bank verification (route /foreign-bank-account-verification)"; "200 real-time result, or 202 job";
/// "on the dedicated foreign-bank job route, 7 credits must be available while a job processes"; "foreign-passport check
/// uses the standard bank-verification price", which is not stated.
#[test]
fn foreign_bank_accounts_are_as_described() {
    let check = declared("foreign-bank-account");
    assert_eq!((check.flow, check.key_life_hours, check.price), (Flow::Job, 72, None));
    assert_eq!(check.routes.all().collect::<Vec<_>>(), ["/foreign-bank-account-verification"]);
    assert_eq!(check.fixed, serde_json::Map::new());
    let text = |name| (name, FieldKind::Text, true, true);
    assert_eq!(
        fields(&check),
        [
            text("firstName"),
            text("surname"),
            text("passportNumber"),
            ("passportCountry", FieldKind::Country2, true, true),
            text("bankName"),
            text("bankAccountNumber"),
            text("bankBranchCode"),
            text("bankAccountType"),
            ("consentConfirmed", FieldKind::Boolean, true, true),
            text("purpose"),
        ]
    );
    assert_eq!(allowed(&check, "bankAccountType"), ACCOUNT_TYPES.map(Value::from));
    let countries = allowed(&check, "passportCountry");
    assert_eq!(countries.len(), 55, "\"African country on the dedicated route\"; the codes are assumed");
    assert!(countries.contains(&json!("NG")) && !countries.contains(&json!("GB")));
    assert_eq!(allowed(&check, "consentConfirmed"), [json!(true)], "\"must be true\"");
    assert_eq!(check.consent.as_deref(), Some("consentConfirmed"));
    assert_eq!(retry_webhook(&check), Some("/foreign-bank-account-verification/jobs/{jobId}/retry-webhook"));
    let status = "/foreign-bank-account-verification/jobs/{jobId}";
    assert_eq!(job(&check), (Some(7), status, &JOB_IDS.map(str::to_owned)[..], true));
    assert_eq!(check.answer.payload[0], "/result");
    let flag = |pointer| (pointer, ColumnKind::Boolean, true);
    assert_eq!(
        columns(&check),
        [
            ("/outcome", ColumnKind::Text, true),
            flag("/checks/accountFound"),
            flag("/checks/accountOpen"),
            flag("/checks/accountNumberLengthValid"),
            flag("/checks/accountTypeMatch"),
            flag("/checks/passportNumberMatch"),
            flag("/checks/initialsMatch"),
            flag("/checks/surnameMatch"),
            flag("/checks/acceptsDebits"),
            flag("/checks/acceptsCredits"),
            ("/bank/name", ColumnKind::Text, true),
            ("/bank/accountNumberLast4", ColumnKind::Text, true),
            ("/passportCountry", ColumnKind::Text, true),
        ]
    );
    assert!(!check.verdict.assumed, "outcome and checks are shown, and decide");
}

/// "Business bank checks … use POST /business-bank-account-verification, branch code 450105, and always answer HTTP 202
/// with a jobId"; "priced at 7"; the other fields are not shown.
#[test]
fn business_bank_accounts_are_as_described() {
    let check = declared("business-bank-account");
    assert_eq!((check.flow, check.key_life_hours, check.price), (Flow::Job, 72, Some(Credits(7))));
    assert_eq!(check.routes.all().collect::<Vec<_>>(), ["/business-bank-account-verification"]);
    assert_eq!(Value::Object(check.fixed.clone()), json!({"bankBranchCode": "450105"}));
    assert!(check.fields.iter().all(|field| field.assumed && field.required));
    assert_eq!(allowed(&check, "bankAccountType"), ACCOUNT_TYPES.map(Value::from));
    assert_eq!(retry_webhook(&check), Some("/business-bank-account-verification/jobs/{jobId}/retry-webhook"));
    assert!(check.job.as_ref().unwrap().always, "\"always answer HTTP 202 with a jobId\"");
    let status = "/business-bank-account-verification/jobs/{jobId}";
    assert_eq!(job(&check), (Some(7), status, &JOB_IDS.map(str::to_owned)[..], true));
    assert!(columns(&check).iter().all(|(_, _, shown)| !shown) && check.verdict.assumed);
}

/// "Africa ID verification: a job started with POST /africa-verification, result read with GET
/// /africa-verification/jobs/{jobId}"; nothing else is shown, so the answer, its places and all fields are assumed.
#[test]
fn african_documents_are_as_described() {
    let check = declared("africa-verification");
    assert_eq!((check.flow, check.key_life_hours, check.price), (Flow::Job, 72, None));
    assert_eq!(check.routes.all().collect::<Vec<_>>(), ["/africa-verification"]);
    let names: Vec<&str> = check.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["country", "id_type", "id_number", "first_name", "last_name", "dob"]);
    assert!(check.fields.iter().all(|field| field.assumed));
    assert_eq!(retry_webhook(&check), None);
    let (hold, status, _, shown) = job(&check);
    assert_eq!((hold, status, shown), (None, "/africa-verification/jobs/{jobId}", true));
    assert!(columns(&check).iter().all(|(_, _, shown)| !shown) && check.verdict.assumed);
}

#[test]
fn account_numbers_and_branch_codes_keep_their_zeros() {
    let check = declared("foreign-bank-account");
    for (field, value) in
        [("bankBranchCode", "051001"), ("bankAccountNumber", "0062000123"), ("passportNumber", "00123")]
    {
        let spec = check.fields.iter().find(|spec| spec.name == field).unwrap();
        assert_eq!(spec.accept(value).unwrap().value, json!(value));
    }
    let kind = check.fields.iter().find(|spec| spec.name == "bankAccountType").unwrap();
    assert_eq!(kind.accept("Credit-Card").unwrap().value, json!("credit-card"));
    assert!(kind.accept("credit card").is_err());
}
