//! The format of a completed answer, in both envelopes and both dialects.

use super::*;
use rescreen::{
    catalogue::ColumnValue,
    model::field::sa_id::compose,
    simulator::{Dialect, Envelope},
};
use std::collections::BTreeMap;

const AL: &str = "8001015009087";

/// Answers of many subjects, in process.
async fn answers(path: &str, bodies: impl Iterator<Item = Value>) -> Vec<Value> {
    let simulator = Simulator::new(unlimited());
    let mut answers = Vec::new();
    for (at, body) in bodies.enumerate() {
        answers.push(post_in_process(&simulator, path, &format!("key-{at:05}"), &body).await.unwrap().body);
    }
    answers
}

#[tokio::test]
async fn the_results_envelope_is_as_described() {
    let service = Service::start(Settings { clock: driven(), ..unlimited() }).await;
    let answer = service.post(ID, KEY, &id("production", AL)).await.body;
    let names: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    let described = ["success", "requestId", "user_id", "mode", "reportType", "input", "remainingCredits", "results"];
    assert_eq!(names, described);
    assert_eq!((&answer["requestId"], &answer["mode"]), (&json!(KEY), &json!("production")));
    assert_eq!(answer["input"], json!({"idNumber": AL}));
}

#[tokio::test]
async fn the_other_envelope_has_data_and_meta() {
    let service = Service::start(Settings { envelope: Envelope::DataMeta, ..unlimited() }).await;
    let answer = service.post(AML, KEY, &aml("production", "Jo Vexford")).await.body;
    assert!(answer["data"]["match"].is_array(), "{answer}");
    let meta: Vec<&str> = answer["meta"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(meta, ["requestId", "latency", "credits_spent"]);
    let answer = service.post(ID, "key-0002", &id("production", AL)).await.body;
    assert!(answer["data"]["realTimeResults"]["Status"].is_string(), "{answer}");
}

#[tokio::test]
async fn the_field_dialect_states_no_charge_and_has_errors_without_an_object() {
    let settings = || Settings { credits: 1, dialect: Dialect::Field, ..unlimited() };
    let service = Service::start(settings()).await;
    let answer = service.post(AML, KEY, &aml("production", "Jo Vexford")).await.body;
    assert_eq!((answer.get("creditsUsed"), &answer["remainingCredits"]), (None, &json!(0)));
    let refused = service.post(AML, "key-0002", &aml("production", "Al Vexford")).await.body;
    assert!(refused["error"].is_string());
    assert_eq!((&refused["requiredCredits"], &refused["availableCredits"]), (&json!(1), &json!(0)));
    let service = Service::start(Settings { envelope: Envelope::DataMeta, ..settings() }).await;
    let answer = service.post(AML, KEY, &aml("production", "Jo Vexford")).await.body;
    assert_eq!(answer["meta"].get("creditsUsed"), None);
}

#[tokio::test]
async fn the_balance_is_a_number_or_text() {
    let service = Service::start(Settings { credits: 42, ..unlimited() }).await;
    assert_eq!(service.get("/my_credits").await.body, json!({"available_credits": 42}));
    let service = Service::start(Settings { credits: 42, dialect: Dialect::Field, ..unlimited() }).await;
    let balance = service.get("/my_credits").await.body;
    assert_eq!((&balance["Status"], &balance["Result"]["credits"]), (&json!("Success"), &json!("42")));
}

#[tokio::test]
async fn answers_are_a_function_of_input_and_seed() {
    let results = async |seed: u64| {
        let service = Service::start(Settings { seed, clock: driven(), ..unlimited() }).await;
        let answer = service.post(ID, KEY, &id("production", AL)).await;
        answer.body["results"]["said_verification"]["transaction_id"].clone()
    };
    assert_eq!(results(1).await, results(1).await);
    assert_ne!(results(1).await, results(2).await);
}

#[tokio::test]
async fn about_nine_in_ten_names_have_no_match_and_every_match_type_occurs() {
    let answers = answers(AML, (0..1_000).map(|at| aml("production", &format!("Jo Vexford {at}x")))).await;
    let matches: Vec<&Vec<Value>> =
        answers.iter().map(|answer| answer["results"]["match"].as_array().unwrap()).collect();
    let clear = matches.iter().filter(|list| list.is_empty()).count();
    assert!((860..940).contains(&clear), "{clear}");
    assert!(matches.iter().any(|list| list.len() > 1));
    let hits: Vec<&Value> = matches.into_iter().flatten().collect();
    for kind in ["sanction", "pep", "media"] {
        assert!(hits.iter().any(|hit| hit["type"] == kind), "{kind}");
    }
    assert!(hits.iter().all(|hit| hit["score"].as_f64().unwrap() <= 1.0 && !hit["name"].as_str().unwrap().is_empty()));
    assert!(answers[0]["results"]["Header"]["DatasetVersion"].is_string());
}

#[tokio::test]
async fn most_id_numbers_are_valid_and_each_status_occurs() {
    let numbers = (0..1_000).map(|at| id("production", &compose(800_101, at * 9, 0)));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for answer in answers(ID, numbers).await {
        let real_time = &answer["results"]["said_verification"]["realTimeResults"];
        let status = real_time["Status"].as_str().unwrap();
        assert_eq!(real_time.get("Verification").is_some(), status == "ID Number Valid");
        *counts.entry(status.to_owned()).or_default() += 1;
    }
    let statuses: Vec<&str> = counts.keys().map(String::as_str).collect();
    assert_eq!(statuses, ["ID Number Invalid", "ID Number Not Found", "ID Number Valid"]);
    assert!((880..960).contains(&counts["ID Number Valid"]), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn date_of_birth_age_gender_and_citizenship_follow_from_the_id_number() {
    const CITIZEN: u32 = 0;
    const PERMANENT_RESIDENT: u32 = 1;
    let simulator = Simulator::new(Settings { clock: driven(), ..unlimited() });
    let person = async |number: String| {
        let answer = post_in_process(&simulator, ID, &format!("k-{number}"), &id("production", &number)).await.unwrap();
        answer.body["results"]["said_verification"]["realTimeResults"]["Verification"].clone()
    };
    let first_valid = async |yymmdd: u32, sequence: u32, citizenship: u32| {
        for later in 0..20 {
            match person(compose(yymmdd, sequence + later, citizenship)).await {
                Value::Null => {}
                found => return found,
            }
        }
        panic!("none of twenty numbers is valid")
    };
    let man = first_valid(801_104, 5_000, CITIZEN).await;
    assert_eq!((&man["Dob"], &man["Age"], &man["Gender"]), (&json!("1980-11-04"), &json!(45), &json!("Male")));
    assert_eq!(man["Citizenship"], "South African Citizen");
    let woman = first_valid(50_101, 100, PERMANENT_RESIDENT).await;
    assert_eq!((&woman["Dob"], &woman["Age"], &woman["Gender"]), (&json!("2005-01-01"), &json!(21), &json!("Female")));
    assert_eq!(woman["Citizenship"], "Permanent Resident");
}

#[tokio::test]
async fn a_wrong_check_digit_is_answered_as_invalid_and_charged() {
    let service = Service::start(unlimited()).await;
    let answer = service.post(ID, KEY, &id("production", "8001015009088")).await;
    assert_eq!(answer.body["results"]["said_verification"]["realTimeResults"]["Status"], "ID Number Invalid");
    assert_eq!(service.stats().charges, 1);
}

#[tokio::test]
async fn sandbox_inputs_that_end_in_90_find_nothing_and_those_in_91_fail() {
    let service = Service::start(unlimited()).await;
    for at in 0..60 {
        let answer = service.post(AML, &format!("key-{at:05}"), &aml("sandbox", &format!("Jo {at} 90"))).await;
        assert_eq!(answer.body["results"]["match"], json!([]));
    }
    let answer = service.post(ID, "key-id-90", &id("sandbox", "8001015009090")).await;
    assert_eq!(answer.body["results"]["said_verification"]["realTimeResults"]["Status"], "ID Number Not Found");
    let answer = service.post(AML, "key-id-91", &aml("sandbox", "Jo 91")).await;
    assert_eq!((answer.status, answer.code()), (500, "simulated_failure"));
    let answer = service.post(AML, "key-prod-91", &aml("production", "Jo 91")).await;
    assert_eq!(answer.status, 200, "production has no reserved inputs");
}

#[tokio::test]
async fn a_declared_check_fills_every_column_of_its_declaration() {
    for envelope in [Envelope::Results, Envelope::DataMeta] {
        let service = Service::start(Settings { envelope, ..with_own_check() }).await;
        let body = json!({"mode": "production", "reportType": "own_report", "reference": "r-1"});
        let answer = service.post(ID, KEY, &body).await.body;
        let own_check = own_check();
        let payload = own_check.answer.payload(&answer).unwrap();
        for column in &own_check.answer.columns {
            assert_ne!(column.read(payload), ColumnValue::Null, "{} of {answer}", column.name);
        }
    }
}
