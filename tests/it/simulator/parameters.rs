//! Authentication, routes and request validation: 401, 404, 405, 413 and every 400.

use super::*;

#[tokio::test]
async fn both_api_key_headers_are_accepted() {
    let service = Service::start(Settings { api_key: Some("right".into()), ..unlimited() }).await;
    for (name, value) in [("x-api-key", "right"), ("Authorization", "Bearer right"), ("authorization", "bearer right")]
    {
        let answer = service.send(service.request("GET", "/my_credits").header(name, value)).await.unwrap();
        assert_eq!(answer.status, 200, "{name}: {value}");
    }
}

#[tokio::test]
async fn a_missing_empty_or_wrong_api_key_is_401() {
    let service = Service::start(Settings { api_key: Some("right".into()), ..unlimited() }).await;
    for (name, value) in [("x-other", ""), ("x-api-key", ""), ("x-api-key", "wrong"), ("Authorization", "Basic right")]
    {
        let answer = service.send(service.request("GET", "/my_credits").header(name, value)).await.unwrap();
        assert_eq!((answer.status, answer.code()), (401, "invalid_api_key"), "{name}: {value}");
    }
}

#[tokio::test]
async fn an_unknown_route_is_404_and_a_wrong_method_405() {
    let service = Service::start(unlimited()).await;
    assert_eq!(service.post("/prefix/aml-screening", KEY, &aml("production", "Jo")).await.status, 404);
    assert_eq!(service.get(AML).await.status, 405);
    assert_eq!(service.post("/my_credits", KEY, &json!({})).await.status, 405);
    assert_eq!(service.stats().by_route["other"], 1);
}

#[tokio::test]
async fn a_body_above_4_mib_is_413() {
    let simulator = Simulator::new(unlimited());
    let body = Body::from(vec![b' '; 4 * 1024 * 1024 + 1]);
    let request = Request::post(AML).header("x-api-key", "api-key").body(body).unwrap();
    assert_eq!(simulator.exchange(request).await.status(), 413);
}

#[tokio::test]
async fn production_requires_an_idempotency_key_and_adverse_media_one_of_8_to_160_characters() {
    let service = Service::start(unlimited()).await;
    let body = aml("production", "Jo Vexford");
    assert_eq!(service.post(AML, "", &body).await.code(), "idempotency_key_required");
    let media = json!({"mode": "production", "name": "Jo Vexford", "entity": 0});
    for (length, status) in [(7, 400), (8, 200), (160, 200), (161, 400)] {
        let key = "k".repeat(length);
        assert_eq!(service.post("/adverse-media", &key, &media).await.status, status, "{length}");
        assert_eq!(service.post(AML, &format!("a{key}"), &body).await.status, 200, "no limit is described");
    }
    assert_eq!(service.post(AML, "", &aml("sandbox", "Jo Vexford")).await.status, 200, "sandbox does without");
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_400() {
    let service = Service::start(unlimited()).await;
    for body in [json!([1]), json!("text"), json!(null)] {
        assert_eq!(service.post(AML, KEY, &body).await.code(), "invalid_json", "{body}");
    }
    let request = service.request("POST", AML).header("x-api-key", "a").body("{\"mode\":");
    assert_eq!(service.send(request).await.unwrap().code(), "invalid_json");
}

#[tokio::test]
async fn a_wrong_or_missing_field_is_400_with_a_code_and_a_message_that_names_it() {
    let service = Service::start(unlimited()).await;
    for (field, value, code) in [
        ("mode", json!(null), "invalid_mode"),
        ("mode", json!("live"), "invalid_mode"),
        ("entity", json!("0"), "invalid_field"),
        ("entity", json!(9), "invalid_field"),
        ("country", json!("ZA"), "invalid_field"),
        ("name", json!(12), "invalid_field"),
    ] {
        let mut body = aml("production", "Jo Vexford");
        body[field] = value.clone();
        let answer = service.post(AML, KEY, &body).await;
        assert_eq!((answer.status, answer.code()), (400, code), "{field} = {value}");
        assert!(answer.body["error"]["message"].as_str().unwrap().contains(field));
    }
    let answer = service.post(AML, KEY, &json!({"mode": "production", "entity": 0, "country": "za"})).await;
    assert_eq!((answer.status, answer.code()), (400, "missing_field"));
    assert_eq!(service.stats().charges, 0);
}

#[tokio::test]
async fn fixed_fields_choose_between_checks_that_share_a_path() {
    let service = Service::start(with_own_check()).await;
    let own = json!({"mode": "production", "reportType": "own_report", "reference": "r-1"});
    assert_eq!(service.post(ID, "key-own-1", &own).await.body["reportType"], "own_report");
    let answer = service.post(ID, "key-said-1", &id("production", "8001015009087")).await;
    assert_eq!(answer.body["reportType"], "said_verification");
    let neither = json!({"mode": "production", "reportType": "kyc", "idNumber": "8001015009087"});
    assert_eq!(service.post(ID, "key-none-1", &neither).await.code(), "invalid_parameters");
}

#[tokio::test]
async fn the_rules_between_fields_of_a_declaration_are_enforced() {
    let service = Service::start(with_own_check()).await;
    let mut body = json!({"mode": "production", "reportType": "own_report", "reference": "r-1", "email": "a@b.test"});
    assert_eq!(service.post(ID, KEY, &body).await.code(), "missing_field");
    body["phone"] = json!("000");
    assert_eq!(service.post(ID, KEY, &body).await.status, 200);
}

#[tokio::test]
async fn both_spellings_of_a_route_are_the_same_check() {
    let service = Service::start(unlimited()).await;
    let body = aml("production", "Jo Vexford");
    let guide = service.post(AML, "key-guide", &body).await;
    let alternate = service.post("/aml-pep", "key-alternate", &body).await;
    assert_eq!(guide.body["results"]["match"], alternate.body["results"]["match"]);
    assert_eq!(service.stats().double_charges, 1, "the spelling does not excuse a second charge");
}
