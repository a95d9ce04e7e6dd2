//! Which routes the simulator serves, and the document that describes them.

use super::*;
use rescreen::{
    catalogue::FieldSpec,
    model::field::{FieldKind, country},
    simulator::{Dialect, Envelope, ServedRoutes},
};

fn seen() -> Settings {
    Settings { dialect: Dialect::Field, routes: ServedRoutes::Seen, ..unlimited() }
}

#[tokio::test]
async fn the_seen_routes_answer_vehicles_at_one_path_and_have_a_health_page() {
    let service = Service::start(seen()).await;
    let plate = json!({"mode": "sandbox", "bundle": "vehicle_lookup", "registrationNumber": "CA12345X"});
    let vin = json!({"mode": "sandbox", "bundle": "vehicle_lookup", "vin": "1M8GDM9AXKP042788"});
    let director = json!({"mode": "sandbox", "reportType": "cipc_director_search", "idNumber": "8001015009087"});
    let trace = json!({"mode": "sandbox", "reportType": "consumer_trace", "idNumber": "8001015009087"});
    let bodies = [("/vehicle", &plate), ("/vehicle", &vin), ("/cipc", &director), ("/verify", &trace)];
    for (place, (path, body)) in bodies.into_iter().enumerate() {
        let answer = service.post(path, &format!("key-{place:05}"), body).await;
        assert_eq!(answer.status, 200, "{path} {body}: {answer:?}");
    }
    for path in ["/number-plate", "/vin-decode", "/aml-pep", "/cipc/company", "/cipc/director", "/consumer-trace"] {
        assert_eq!(service.post(path, "key-00002", &plate).await.status, 404, "{path}");
    }
    let health = service.send(service.request("GET", "/health")).await.unwrap();
    assert_eq!((health.status, &health.body["status"]), (200, &json!("ok")), "it needs no key");
    assert!(health.body["timestamp"].is_string() && health.body["version"].is_string());
    let described = Service::start(unlimited()).await;
    assert_eq!(described.get("/health").await.status, 404, "the description does not have it");
}

#[tokio::test]
async fn each_spelling_can_be_served_alone() {
    let body = aml("sandbox", "Jo Vexford");
    for (routes, guide, alternate) in
        [(ServedRoutes::Guide, 200, 404), (ServedRoutes::Alternate, 404, 200), (ServedRoutes::Both, 200, 200)]
    {
        let service = Service::start(Settings { routes, ..unlimited() }).await;
        let of = async |path: &str| service.post(path, &format!("key{}", path.replace('/', "-")), &body).await.status;
        assert_eq!((of(AML).await, of("/aml-pep").await), (guide, alternate), "{routes:?}");
    }
}

#[tokio::test]
async fn a_report_that_a_route_does_not_have_is_refused_and_each_field_is_named_once() {
    let service = Service::start(unlimited()).await;
    let answer =
        service.post("/verify", KEY, &json!({"mode": "sandbox", "reportType": "other", "idNumber": "1"})).await;
    assert_eq!(answer.code(), "invalid_parameters");
    assert_eq!(answer.body["error"]["message"], "bundle, reportType: this route has no such report");
}

#[tokio::test]
async fn a_property_search_needs_a_valid_number_and_another_check_leaves_it_to_the_register() {
    let service = Service::start(unlimited()).await;
    let of = |number: &str| json!({"mode": "production", "idNumber": number});
    let answer = service.post("/property-search", "key-wrong", &of("8001015009088")).await;
    assert_eq!((answer.status, answer.code()), (400, "invalid_field"));
    assert_eq!(service.post("/property-search", "key-right", &of("8001015009087")).await.status, 200);
    assert_eq!(service.stats().charges, 1);
}

#[tokio::test]
async fn a_name_of_a_country_is_not_a_code_for_the_simulator_either() {
    let service = Service::start(unlimited()).await;
    for (country, status) in [("uk", 400), ("gb", 200), ("rsa", 400), ("za", 200)] {
        let mut body = aml("sandbox", "Jo Vexford");
        body["country"] = country.into();
        assert_eq!(service.post(AML, &format!("key-{country}-1"), &body).await.status, status, "{country}");
    }
}

#[test]
fn the_lists_of_countries_of_simulator_and_mapping_are_the_same() {
    let source = include_str!("../../../src/simulator/countries.rs");
    let codes = source.split("const CODES: &str = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let codes: Vec<&str> = codes.split_whitespace().filter(|word| *word != "\\").collect();
    assert_eq!(codes.len(), 250);
    for pair in codes {
        let found = country::find(&pair[..2]).unwrap();
        assert_eq!(format!("{}{}", found.alpha2, found.alpha3).to_uppercase(), pair);
    }
}

/// Whether a value fits a schema, as far as the document uses JSON Schema.
fn fits(schema: &Value, value: &Value) -> bool {
    let one_of = |name: &str| schema.get(name).and_then(Value::as_array);
    let kind = match schema.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        _ => true,
    };
    let members = schema.get("properties").and_then(Value::as_object).is_none_or(|properties| {
        properties.iter().all(|(name, schema)| value.get(name).is_none_or(|member| fits(schema, member)))
    });
    kind && members
        && one_of("anyOf").is_none_or(|schemas| schemas.iter().any(|schema| fits(schema, value)))
        && one_of("enum").is_none_or(|values| values.contains(value))
        && one_of("required").is_none_or(|names| names.iter().all(|name| value.get(name.as_str().unwrap()).is_some()))
        && schema.get("const").is_none_or(|wanted| wanted == value)
}

#[tokio::test]
async fn the_openapi_document_has_every_route_with_the_requests_of_its_checks() {
    for envelope in [Envelope::Results, Envelope::DataMeta] {
        let service = Service::start(Settings { envelope, ..unlimited() }).await;
        let document = service.send(service.request("GET", "/_simulator/openapi.json")).await.unwrap();
        assert_eq!((document.status, &document.body["openapi"]), (200, &json!("3.1.0")));
        let catalogue = Catalogue::built_in();
        for check in catalogue.iter() {
            for path in check.routes.all() {
                let operation = &document.body["paths"][path]["post"];
                let statuses: Vec<&String> = operation["responses"].as_object().unwrap().keys().collect();
                for status in ["200", "202", "400", "401", "402", "409", "429", "500", "503"] {
                    assert!(statuses.iter().any(|known| *known == status), "{path}: {status}");
                }
                let content = operation["requestBody"]["content"].as_object().unwrap();
                let has_parts = |field: &FieldSpec| matches!(field.kind, FieldKind::ImageFile | FieldKind::Document);
                let is_form = check.fields.iter().any(has_parts);
                let media_type = if is_form { "multipart/form-data" } else { "application/json" };
                let schema = &content[media_type]["schema"];
                let own = match schema["anyOf"].as_array() {
                    Some(schemas) => schemas.iter().find(|schema| schema["title"] == check.name.as_str()).unwrap(),
                    None => schema,
                };
                for field in &check.fields {
                    let property = &own["properties"][&field.name];
                    assert_eq!(property.get("x-assumed").is_some(), field.assumed, "{}.{}", check.name, field.name);
                    let required = own["required"].as_array().unwrap().contains(&json!(field.name));
                    assert_eq!(required, field.required, "{}.{}", check.name, field.name);
                }
            }
        }
        for check in catalogue.iter().filter(|check| check.job.is_some()) {
            let job = check.job.as_ref().unwrap();
            let properties = |operation: &Value| {
                let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
                ["webhookUrl", "webhookSecret"].map(|name| schema["properties"][name].is_object())
            };
            assert_eq!(properties(&document.body["paths"][&check.routes.guide]["post"]), [true; 2], "{}", check.name);
            assert!(document.body["paths"][&job.status]["get"].is_object(), "{}", check.name);
            if let Some(path) = &job.retry_webhook {
                let operation = &document.body["paths"][path]["post"];
                assert_eq!(properties(operation), [true; 2], "{}", check.name);
                assert!(["200", "404", "409", "429"].iter().all(|status| operation["responses"][status].is_object()));
            }
        }
        let schema =
            |path: &str| &document.body["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert!(fits(schema(AML), &aml("sandbox", "Jo")) && !fits(schema(AML), &json!({"mode": "sandbox"})));
        assert!(fits(schema(ID), &id("production", "8001015009087")) && !fits(schema(ID), &id("test", "1")));
        let answer = service.post(ID, KEY, &id("production", "8001015009087")).await.body;
        assert!(fits(&document.body["components"]["schemas"]["Answer"], &answer), "{answer}");
        let refused = service.post(ID, KEY, &json!({})).await.body;
        assert!(fits(&document.body["components"]["schemas"]["Error"], &refused), "{refused}");
        assert_eq!(service.stats().requests, 2, "the document itself is not counted");
    }
}
