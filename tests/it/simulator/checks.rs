//! Answers about media, companies, vehicles, properties and traces: the shares of a realistic book, the reserved inputs
//! of the sandbox, and what is refused.

use super::*;
use rescreen::{
    catalogue::Spelling,
    model::field::sa_id::compose,
    simulator::{Dialect, Envelope},
};
use std::collections::BTreeMap;

/// The subject of a check with this number, in the format that the service expects.
fn body(check: &str, mode: &str, number: u32) -> Value {
    let vin = format!("1M8GDM9A1KP0{number:04}8");
    let mut body = match check {
        "adverse-media" => json!({"name": format!("Jo Vexford {number}x"), "entity": 0}),
        "cipc-company" => json!({"registration_number": format!("2016/{number:06}/07")}),
        "vehicle-check" if number.is_multiple_of(2) => json!({"registrationNumber": format!("CA{number:05}X")}),
        "vehicle-check" => json!({"registrationNumber": format!("CA{number:05}X"), "vin": vin}),
        "vin-decode" => json!({ "vin": vin }),
        "number-plate" => json!({"registrationNumber": format!("CA{number:05}X")}),
        "bank-account" => json!({
            "firstName": "Jo", "surname": "Vexford", "identityNumber": compose(800_101, number * 9, 0),
            "bankName": "FNB", "bankAccountNumber": format!("62{number:07}8"), "bankBranchCode": "250655",
            "bankAccountType": "cheque",
        }),
        "drivers-licence" => json!({"barcode_base64": format!("AZs{number:05}")}),
        "licence-disc" => json!({"barcode_text": format!("%MVL1%{number:05}%")}),
        _ if check.starts_with("aml-ongoing") => {
            json!({"name": format!("Jo Vexford {number}x"), "identifier": format!("C-{number}x")})
        }
        _ => json!({"idNumber": compose(800_101, number * 9, 0)}),
    };
    body["mode"] = mode.into();
    for (name, value) in &Catalogue::built_in().get(check).unwrap().fixed {
        body[name] = value.clone();
    }
    body
}

fn path(check: &str) -> String {
    Catalogue::built_in().get(check).unwrap().routes.path(Spelling::Guide).to_owned()
}

/// The values at a place of the content in a thousand answers of a check, counted.
async fn counts(check: &str, of: impl Fn(&Value) -> String) -> BTreeMap<String, usize> {
    let simulator = Simulator::new(unlimited());
    let declaration = Catalogue::built_in().get(check).unwrap().clone();
    let path = path(check);
    let mut counts = BTreeMap::new();
    for number in 1..=1_000 {
        let (key, body) = (format!("key-{number:05}"), body(check, "production", number));
        let answer = post_in_process(&simulator, &path, &key, &body).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let content = declaration.answer.payload(&answer.body).unwrap();
        *counts.entry(of(content)).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn one_in_fifteen_people_has_articles() {
    let counts = counts("adverse-media", |content| match content["articles"].as_array().unwrap().len() {
        0 => "silent".to_owned(),
        _ if content["articles"][0]["title"].as_str().unwrap().starts_with("Jo Vexford") => "speaks".to_owned(),
        _ => "of somebody else".to_owned(),
    });
    let counts = counts.await;
    assert!((900..970).contains(&counts["silent"]) && counts.len() == 2, "{counts:?}");
}

#[tokio::test]
async fn most_companies_are_in_business_and_every_other_status_occurs() {
    let counts = counts("cipc-company", |content| content["status"].as_str().unwrap_or("none").to_owned()).await;
    assert!((840..920).contains(&counts["In Business"]), "{counts:?}");
    let words: Vec<&str> = counts.keys().map(String::as_str).collect();
    let wanted = [
        "Business Rescue",
        "Deregistered",
        "Final Deregistration",
        "In Business",
        "In Deregistration Process",
        "Inactive",
        "Liquidation",
        "none",
    ];
    assert_eq!(words, wanted);
}

#[tokio::test]
async fn most_bank_accounts_are_verified_and_every_flag_can_be_false() {
    let of = |content: &Value| {
        let checks = content["checks"].as_object().unwrap();
        let not_true = checks.iter().find(|(_, flag)| **flag != json!(true)).map(|(name, _)| name.as_str());
        format!("{} {}", content["outcome"].as_str().unwrap(), not_true.unwrap_or("all"))
    };
    let counts = counts("bank-account", of).await;
    assert!((770..870).contains(&counts["verified all"]), "{counts:?}");
    for flag in ["accountFound", "accountOpen", "accountTypeMatch", "initialsMatch", "acceptsDebits"] {
        assert!(counts[&format!("not_verified {flag}")] >= 5, "{flag}: {counts:?}");
    }
}

#[tokio::test]
async fn a_plate_alone_matches_nothing_and_a_vin_matches_or_not() {
    let of = |content: &Value| {
        format!("{} {} {}", content["lookupType"], content["vehicleMatched"], content.get("found").is_some())
    };
    let counts = counts("vehicle-check", of).await;
    let alone = r#""registration" null false"#;
    assert!((485..=540).contains(&counts[alone]), "{counts:?}");
    let share = |matched: &str| counts[&format!(r#""registration_vin" {matched} false"#)];
    assert!(share("true") > 410 && (5..50).contains(&share("false")), "{counts:?}");
    assert!(counts[r#""registration" null true"#] > 3 && counts[r#""registration_vin" null true"#] > 3, "{counts:?}");
    assert_eq!(counts.len(), 5, "some requests with a VIN are answered as if there were none: {counts:?}");
}

#[tokio::test]
async fn vehicles_properties_and_traces_are_found_in_their_shares() {
    let found = |content: &Value| content.get("found").is_none_or(|found| found == true).to_string();
    for (check, least, most) in [("vin-decode", 960, 995), ("number-plate", 930, 980), ("property-search", 350, 450)] {
        let counts = counts(check, found).await;
        assert!((least..most).contains(&counts["true"]), "{check}: {counts:?}");
    }
    let counts = counts("consumer-trace", |content| (content["DefiniteMatchData"] != json!([])).to_string()).await;
    assert!((880..950).contains(&counts["true"]), "{counts:?}");
}

#[tokio::test]
async fn in_the_field_dialect_content_is_at_every_place_a_declaration_names() {
    for envelope in [Envelope::Results, Envelope::DataMeta] {
        let simulator = Simulator::new(Settings { dialect: Dialect::Field, envelope, ..unlimited() });
        let declaration = Catalogue::built_in().get("cipc-company").unwrap().clone();
        let mut places = BTreeMap::new();
        for number in 1..=120 {
            let key = format!("key-{number:05}");
            let body = body("cipc-company", "production", number);
            let answer = post_in_process(&simulator, "/cipc/company", &key, &body).await.unwrap().body;
            let again = post_in_process(&simulator, "/cipc/company", &key, &body).await.unwrap().body;
            assert_eq!(answer, again, "a replay is the same text");
            let pointers = declaration.answer.payload.iter();
            let place = pointers.clone().find(|pointer| answer.pointer(pointer).is_some()).unwrap();
            assert!(answer.pointer(place).unwrap().get("registration_number").is_some(), "{answer}");
            *places.entry(place.clone()).or_insert(0) += 1;
        }
        let under = if envelope == Envelope::Results { "/results" } else { "/data" };
        let declared = declaration.answer.payload.iter().filter(|pointer| pointer.starts_with(under)).count();
        assert_eq!(places.len(), declared, "{places:?}");
    }
}

#[tokio::test]
async fn reserved_sandbox_inputs_find_nothing_or_fail_for_every_check() {
    let service = Service::start(unlimited()).await;
    for (check, field, value, at, none) in [
        ("adverse-media", "name", "Jo Vexford ", "/articles", json!([])),
        ("cipc-company", "registration_number", "2016/004321/", "/found", json!(false)),
        ("vehicle-check", "registrationNumber", "CA1234", "/found", json!(false)),
        ("vin-decode", "vin", "1M8GDM9A1KP0123", "/found", json!(false)),
        ("number-plate", "registrationNumber", "CA1234", "/found", json!(false)),
        ("property-search", "idNumber", "80010150090", "/found", json!(false)),
        ("consumer-trace", "idNumber", "80010150090", "/AddressData", json!([])),
        ("consumer-trace-lite", "idNumber", "80010150090", "/AddressData", json!([])),
        ("cipc-director", "idNumber", "80010150090", "/found", json!(false)),
        (
            "kyc-bundle",
            "idNumber",
            "80010150090",
            "/said_verification/realTimeResults/Status",
            json!("ID Number Not Found"),
        ),
        ("bank-account", "identityNumber", "80010150090", "/checks/accountFound", json!(false)),
        ("aml-ongoing-enrol", "name", "Jo Vexford ", "/match", json!([])),
        ("aml-ongoing-rescreen", "name", "Jo Vexford ", "/match", json!([])),
        ("aml-ongoing-withdraw", "identifier", "C-", "/enrolment/status", json!("not_enrolled")),
        ("drivers-licence", "barcode_base64", "AZsDBA", "/found", json!(false)),
        ("licence-disc", "barcode_text", "%MVL1%", "/found", json!(false)),
    ] {
        let mut order = body(check, "sandbox", 1);
        order[field] = format!("{value}90").into();
        let answer = service.post(&path(check), &format!("key-90-{check}"), &order).await;
        let declaration = Catalogue::built_in().get(check).unwrap().clone();
        assert_eq!(answer.status, 200, "{check}: {answer:?}");
        let content = declaration.answer.payload(&answer.body).unwrap();
        assert_eq!(content.pointer(at), Some(&none), "{check}: {content}");
        order[field] = format!("{value}91").into();
        let answer = service.post(&path(check), &format!("key-91-{check}"), &order).await;
        assert_eq!((answer.status, answer.code()), (500, "simulated_failure"), "{check}");
    }
    assert_eq!(service.stats().charges, 0);
}

#[tokio::test]
async fn identifiers_in_an_undescribed_format_are_refused_and_free() {
    let service = Service::start(unlimited()).await;
    let wrong = [
        ("cipc-company", "registration_number", &["2016/4321/07", "2016-004321-07", "CK2016/004321/07", ""][..]),
        ("vin-decode", "vin", &["1M8GDM9A1KP01234", "1m8gdm9a1kp012345", "1M8GDM9A1KPO12345", "1M8GDM9A1 P012345"]),
        ("vehicle-check", "registrationNumber", &["", " - ", "CA/123", "CA 123 456 789 012"]),
        ("vehicle-check", "vin", &["", "x"]),
        ("number-plate", "registrationNumber", &["CA.123"]),
        ("property-search", "idNumber", &["800101500908"]),
        ("bank-account", "bankBranchCode", &["51001", "0510011", "05100A", " 051001"]),
        ("bank-account", "bankAccountNumber", &["123456", "12345678901234", "12 34567"]),
        ("bank-account", "bankName", &["fnb", "First National Bank", ""]),
        ("bank-account", "bankAccountType", &["Cheque", "other"]),
        ("licence-disc", "report_type", &["disc"]),
    ];
    let mut count = 0;
    for (check, field, values) in wrong {
        for value in values {
            let mut order = body(check, "production", 1);
            order[field] = (*value).into();
            count += 1;
            let answer = service.post(&path(check), &format!("key-{count:05}"), &order).await;
            assert_eq!((answer.status, answer.code()), (400, "invalid_field"), "{check} {value}");
        }
    }
    let mut order = body("bank-account", "production", 1);
    order["type"] = "Company".into();
    assert_eq!(service.post(&path("bank-account"), "key-company", &order).await.code(), "invalid_parameters");
    let mut order = body("cipc-company", "production", 1);
    order["reportType"] = "cipc_director_search".into();
    assert_eq!(service.post("/cipc", "key-director", &order).await.code(), "invalid_parameters");
    assert_eq!(service.stats().charges, 0);
}

#[tokio::test]
async fn on_a_shared_route_the_report_type_chooses_the_check() {
    let service = Service::start(unlimited()).await;
    let number = compose(800_101, 9, 0);
    for (path, report) in
        [("/verify", "consumer_trace"), ("/consumer-trace", "consumer_trace"), ("/verify", "said_verification")]
    {
        let order = json!({"mode": "sandbox", "reportType": report, "idNumber": number});
        let answer = service.post(path, &format!("key-{report}{path}"), &order).await.body;
        assert!(answer["results"][report].is_object(), "{path} {report}: {answer}");
    }
    let order = json!({"mode": "sandbox", "reportType": "said_verification", "idNumber": number});
    assert_eq!(service.post("/consumer-trace", "key-wrong", &order).await.code(), "invalid_parameters");
}
