//! Compares every declaration with a table written by hand from the service's description. The simulator and the client
//! read the same declarations and could share a mistake. The declarations contain exactly the table, and what the
//! description does not show is declared assumed.

mod described;

use described::{Described, DescribedField, described};
use rescreen::{
    catalogue::{Catalogue, Declaration, FieldSpec, Spelling},
    sink::results_schema,
    template::Templates,
};
use serde_json::{Value, json};

#[test]
fn the_catalogue_has_the_described_checks_and_no_others() {
    let catalogue = Catalogue::built_in();
    let declared: Vec<&str> = catalogue.iter().map(|declaration| declaration.name.as_str()).collect();
    assert_eq!(declared, described().iter().map(|check| check.name).collect::<Vec<_>>());
}

#[test]
fn every_declaration_says_what_the_description_says() {
    let catalogue = Catalogue::built_in();
    for check in described() {
        let declaration = catalogue.get(check.name).unwrap();
        let name = check.name;
        assert_eq!(declaration.routes.path(Spelling::Guide), check.guide, "{name}");
        assert_eq!(declaration.routes.path(Spelling::Alternate), check.alternate, "{name}");
        assert_eq!(declaration.flow, check.flow, "{name}");
        assert_eq!(declaration.key_life_hours, check.key_life_hours, "{name}");
        assert_eq!(Value::Object(declaration.fixed.clone()), check.fixed, "{name}");
        assert_eq!(declaration.price, None, "{name}: the description states no price for it");
        assert_eq!(declaration.rules, [], "{name}: the description states no rule between fields");
        assert_fields(declaration, &check.fields);
        assert_answer(declaration, &check);
    }
}

fn assert_fields(declaration: &Declaration, described: &[DescribedField]) {
    let names: Vec<&str> = declaration.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, described.iter().map(|field| field.name).collect::<Vec<_>>(), "{}", declaration.name);
    for (spec, field) in declaration.fields.iter().zip(described) {
        let place = format!("{}.{}", declaration.name, field.name);
        assert_eq!(spec.kind, field.kind, "{place}");
        assert_eq!(spec.required, field.required, "{place}");
        assert_eq!(spec.allowed, field.allowed.iter().map(|value| json!(value)).collect::<Vec<_>>(), "{place}");
        assert_eq!(spec.default, field.default.map(Value::from), "{place}");
        assert_eq!(spec.assumed, !field.shown, "{place}");
    }
}

fn assert_answer(declaration: &Declaration, check: &Described) {
    let name = check.name;
    assert_eq!(declaration.answer.payload[0], check.payload, "{name}: the described envelope comes first");
    assert!(declaration.answer.payload.iter().any(|pointer| pointer.starts_with("/data")), "{name}: second envelope");
    let columns: Vec<_> = declaration
        .answer
        .columns
        .iter()
        .map(|column| (column.pointers[0].as_str(), column.kind, column.assumed))
        .collect();
    let described: Vec<_> = check.columns.iter().map(|column| (column.pointer, column.kind, !column.shown)).collect();
    assert_eq!(columns, described, "{name}");
    assert_eq!(declaration.verdict.assumed, !check.verdict_is_shown, "{name}");
}

#[test]
fn a_country_is_sent_in_lower_case_as_the_description_says() {
    let catalogue = Catalogue::built_in();
    let fields = &catalogue.get("aml-screening").unwrap().fields;
    let country: &FieldSpec = fields.iter().find(|field| field.name == "country").unwrap();
    assert_eq!(country.accept("ZA").map(|accepted| accepted.value), Ok(json!("za")));
}

#[test]
fn the_described_example_fills_every_column_and_is_clear() {
    let catalogue = Catalogue::built_in();
    let declaration = catalogue.get("said-verification").unwrap();
    // Put together from "Verification response envelope (ID verification form)"; the person is invented.
    let answer = json!({
        "success": true, "requestId": "r", "mode": "sandbox", "reportType": "said_verification",
        "results": {"said_verification": {
            "Status": "Success",
            "realTimeResults": {
                "Status": "ID Number Valid",
                "Verification": {"Firstnames": "THANDI", "Lastname": "NKOSI", "Dob": "1980-01-01", "Age": 46,
                    "Gender": "Female", "Citizenship": "South African", "DateIssued": ""},
                "transaction_id": "t",
            },
            "transaction_id": "t",
        }},
    });
    let payload = declaration.answer.payload(&answer).unwrap();
    for column in &declaration.answer.columns {
        assert_ne!(column.read(payload), rescreen::catalogue::ColumnValue::Null, "{}", column.name);
    }
    let templates = Templates::default();
    let holds = |rule: &str| templates.answer_rule(rule).unwrap().holds(payload, &answer).unwrap();
    assert!(holds(&declaration.verdict.recognised));
    let rule = declaration.verdict.rules.iter().find(|rule| holds(&rule.when)).unwrap();
    assert_eq!((rule.verdict.as_str(), rule.finding.as_str()), ("clear", "valid"));
}

#[test]
fn every_verdict_rule_compiles_and_is_false_for_an_answer_without_its_fields() {
    let templates = Templates::default();
    for declaration in Catalogue::built_in().iter() {
        let rules = declaration.verdict.rules.iter().map(|rule| &rule.when);
        for rule in rules.chain([&declaration.verdict.recognised]) {
            let compiled = templates.answer_rule(rule).unwrap();
            for payload in [json!({}), json!({"other": 1}), json!([]), json!(null)] {
                assert_eq!(compiled.holds(&payload, &payload), Ok(false), "{rule} on {payload}");
            }
            assert_ne!(compiled.holds(&json!("text"), &json!("text")), Ok(true), "{rule}");
        }
    }
}

#[test]
fn a_null_verdict_field_is_never_clear() {
    let templates = Templates::default();
    let nulls = json!({
        "match": null, "matches": null, "totalHits": null, "realTimeResults": {"Status": null}, "articles": null,
        "screening": null, "status": null, "company_status": null, "found": null, "lookupType": null,
        "vehicleMatched": null, "vehicle": null, "make": null, "AddressData": null, "EmploymentData": null,
        "ContactData": null, "DefiniteMatchData": null, "addresses": null, "contact_numbers": null,
    });
    for declaration in Catalogue::built_in().iter() {
        for rule in &declaration.verdict.rules {
            let held = templates.answer_rule(&rule.when).unwrap().holds(&nulls, &nulls);
            assert_eq!(held, Ok(false), "{}: {}", declaration.name, rule.when);
        }
    }
}

#[test]
fn no_answer_column_clashes_with_the_outputs_own_columns() {
    for declaration in Catalogue::built_in().iter() {
        results_schema(&[], &declaration.answer.columns, &[])
            .unwrap_or_else(|clash| panic!("{}: {clash}", declaration.name));
        for column in &declaration.answer.columns {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(column.name.chars().all(plain), "{}", column.name);
        }
    }
}

#[test]
fn only_the_four_reviewed_rules_give_clear() {
    let catalogue = Catalogue::built_in();
    let clear = |declaration: &Declaration| {
        let rules = declaration.verdict.rules.iter().filter(|rule| rule.verdict.as_str() == "clear");
        rules.map(|rule| format!("{} {}", declaration.name, rule.finding)).collect::<Vec<_>>()
    };
    let found: Vec<String> = catalogue.iter().flat_map(clear).collect();
    let wanted = [
        "adverse-media no_adverse_media",
        "aml-screening no_match",
        "cipc-company in_business",
        "said-verification valid",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn commonly_named_columns_feed_their_fields_without_a_mapping() {
    let catalogue = Catalogue::built_in();
    for (check, field, names) in [
        (
            "cipc-company",
            "registration_number",
            &["company_registration_number", "Reg No", "CK No.", "Registration Number"][..],
        ),
        ("vehicle-check", "registrationNumber", &["Number Plate", "plate", "Reg No", "registration_number"]),
        ("vehicle-check", "vin", &["VIN", "Vin No", "Chassis No"]),
        ("vin-decode", "vin", &["vin", "Chassis Number"]),
        ("number-plate", "registrationNumber", &["vehicle_registration", "Plate Number"]),
        ("property-search", "idNumber", &["ID Number", "owner_id"]),
        ("consumer-trace", "idNumber", &["id_no", "National ID"]),
        ("adverse-media", "name", &["Full Name", "Company Name"]),
    ] {
        let fold = |name: &str| name.to_lowercase().replace([' ', '_', '-', '.'], "");
        let spec = catalogue.get(check).unwrap().fields.iter().find(|spec| spec.name == field).unwrap();
        let known: Vec<String> = spec.synonyms.iter().chain([&spec.name]).map(|name| fold(name)).collect();
        for name in names {
            assert!(known.contains(&fold(name)), "{check}.{field}: {name}");
        }
    }
}
