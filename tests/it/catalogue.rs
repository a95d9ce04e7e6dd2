//! Compares every declaration with a table written by hand from the service's description. The simulator and the client
//! read the same declarations and could share a mistake. The declarations contain exactly the table, and what the
//! description does not show is declared assumed.

mod described;
mod described_files;
mod described_lookups;
mod golden;
mod jobs;
mod marks;

use described::{Described, DescribedField};
use rescreen::{
    catalogue::{Catalogue, ColumnValue, Declaration, FieldSpec, Spelling},
    pipeline::campaign::parse,
    sink::{ResultForm, results_schema},
    template::Templates,
};
use serde_json::{Value, json};

/// Every described check, by name.
fn described() -> Vec<Described> {
    let mut all = described::described();
    all.extend(described_lookups::lookups());
    all.extend(described_files::files());
    all.sort_by_key(|check| check.name);
    all
}

#[test]
fn the_catalogue_has_the_described_checks_and_no_others() {
    let catalogue = Catalogue::built_in();
    let declared: Vec<&str> = catalogue.iter().map(|declaration| declaration.name.as_str()).collect();
    let mut wanted: Vec<&str> = described().iter().map(|check| check.name).chain(jobs::NAMES).collect();
    wanted.sort_unstable();
    assert_eq!(declared, wanted);
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
        assert_eq!(declaration.price, described_files::price(name), "{name}: only stated prices");
        assert_eq!(declaration.rules, described_files::rules(name), "{name}: only stated rules between fields");
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
fn every_declaration_can_be_pasted_into_a_campaign_file() {
    for declaration in Catalogue::built_in().iter() {
        let pasted = Catalogue::built_in_toml(&declaration.name).unwrap();
        let file = parse(&pasted).unwrap_or_else(|error| panic!("{}: {error}", declaration.name));
        assert_eq!(file.declarations, std::slice::from_ref(declaration));
        let twice = parse(&format!("{pasted}\n{pasted}")).unwrap();
        assert_eq!(twice.declarations.len(), 2);
    }
}

#[test]
fn a_mistake_in_a_declaration_names_its_line_and_its_part() {
    let pasted = Catalogue::built_in_toml("bank-account").unwrap();
    let refused = |from: &str, to: &str| {
        assert!(pasted.contains(from), "{from}");
        let text = format!("campaign = 'x'\n\n{}", pasted.replacen(from, to, 1));
        let line = text.lines().position(|line| line.contains(to.lines().last().unwrap())).unwrap() + 1;
        let message = parse(&text).unwrap_err();
        assert!(message.starts_with(&format!("line {line}: ")), "line {line}: {message}");
        message
    };
    for (from, to, says) in [
        ("digits = 6", "digit = 6", "did you mean `digits`?"),
        ("length_max = 200", "length_mx = 200", "did you mean `length_max`?"),
        ("subject = \"bank\"", "subjct = \"bank\"", "did you mean `subject`?"),
        ("digits = 6", "digits = 0", "at least one digit"),
        (
            "name = \"bankBranchCode\"\nkind = \"digits\"",
            "name = \"bankBranchCode\"\nkind = \"digts\"",
            "expected one of `text`",
        ),
    ] {
        let message = refused(from, to);
        assert!(message.contains(says), "{message}");
    }
    for (from, to, line_has, says) in [
        ("kind = \"digits\"", "kind = \"text\"", "kind = \"text\"", "field `bankAccountNumber`, digits: expected"),
        ("\"Tyme\" = \"TymeBank\"", "\"Tyme\" = \"Tyme Bank\"", "name = \"bankName\"", "names: expected `Tyme`"),
        ("guide = \"/bank", "guide = \"bank", "guide = \"bank", "routes: expected a path"),
        ("name = \"account_last4\"", "name = \"Account\"", "name = \"Account\"", "column `Account`"),
        (
            "verdict = \"review\"\nfinding = \"not_confirmed\"",
            "verdict = \"clear\"\nfinding = \"not_confirmed\"",
            "verdict = \"clear\"",
            "never `clear`",
        ),
    ] {
        let text = format!("campaign = 'x'\n{}", pasted.replacen(from, to, 1));
        let message = parse(&text).unwrap_err();
        let number: usize = message.strip_prefix("line ").unwrap().split(':').next().unwrap().parse().unwrap();
        let line = text.lines().nth(number - 1).unwrap();
        assert!(line.contains(line_has) && message.contains(says), "{line}\n{message}");
    }
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
            "meta": {"environment": "sandbox", "timestamp": "2026-01-02T03:04:05Z"},
        }},
    });
    let payload = declaration.answer.payload(&answer).unwrap();
    for column in &declaration.answer.columns {
        assert_ne!(column.read(payload), ColumnValue::Null, "{}", column.name);
    }
    let templates = Templates::default();
    let holds = |rule: &str| templates.answer_rule(rule).unwrap().holds(payload, &answer).unwrap();
    assert!(holds(&declaration.verdict.recognised));
    let rule = declaration.verdict.rules.iter().find(|rule| holds(&rule.when)).unwrap();
    assert_eq!((rule.verdict.as_str(), rule.finding.as_str()), ("clear", "valid"));
}

#[test]
fn a_date_without_a_described_format_is_kept_as_its_text() {
    let catalogue = Catalogue::built_in();
    let read = |check: &str, column: &str, answer: Value| {
        let answer_spec = &catalogue.get(check).unwrap().answer;
        let column = answer_spec.columns.iter().find(|spec| spec.name == column).unwrap();
        column.read(answer_spec.payload(&answer).unwrap())
    };
    for text in ["12 APR 2001", "2001-04-12", ""] {
        let verification = json!({"Status": "ID Number Valid", "Verification": {"DateIssued": text}});
        let answer = json!({"results": {"said_verification": {"Status": "Success", "realTimeResults": verification}}});
        assert_eq!(read("said-verification", "date_issued", answer), ColumnValue::Text(text.to_owned()));
    }
    for check in ["aml-screening", "aml-ongoing-enrol", "aml-ongoing-rescreen", "aml-ongoing-withdraw"] {
        for text in ["2026-11-20", "2026-11-20T02:00:00Z", "20 November 2026"] {
            let answer = json!({"results": {"Header": {"DatasetPublishedAt": text}}});
            assert_eq!(read(check, "dataset_published_at", answer), ColumnValue::Text(text.to_owned()), "{check}");
        }
    }
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
        "outcome": null, "checks": null, "identity_and_account_verified": null, "verification_results": null,
        "directorships": null, "companies": null, "licenceNumber": null, "registrationNumber": null, "expired": null,
        "enrolment": null, "said_verification": null, "aml_screening": null,
        "verificationStatus": null,
        "face_match": {"status": null, "warnings": null}, "id_verification": {"status": null, "warnings": null},
        "warnings": null, "name_on_document": null,
    });
    for declaration in Catalogue::built_in().iter() {
        for rule in &declaration.verdict.rules {
            let held = templates.answer_rule(&rule.when).unwrap().holds(&nulls, &nulls);
            // A rule for `review` may say what a null means.
            let may_hold = rule.verdict.as_str() == "review";
            assert!(held == Ok(false) || may_hold && held == Ok(true), "{}: {}", declaration.name, rule.when);
        }
    }
}

#[test]
fn no_answer_column_clashes_with_the_outputs_own_columns() {
    for declaration in Catalogue::built_in().iter() {
        results_schema(&[], &declaration.answer.columns, &[], ResultForm::default())
            .unwrap_or_else(|clash| panic!("{}: {clash}", declaration.name));
        for column in &declaration.answer.columns {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(column.name.chars().all(plain), "{}", column.name);
        }
    }
}

#[test]
fn only_the_reviewed_rules_give_clear() {
    let catalogue = Catalogue::built_in();
    let clear = |declaration: &Declaration| {
        let rules = declaration.verdict.rules.iter().filter(|rule| rule.verdict.as_str() == "clear");
        rules.map(|rule| format!("{} {}", declaration.name, rule.finding)).collect::<Vec<_>>()
    };
    let found: Vec<String> = catalogue.iter().flat_map(clear).collect();
    let wanted = [
        "adverse-media no_adverse_media",
        "aml-ongoing-enrol no_match",
        "aml-ongoing-rescreen no_match",
        "aml-screening no_match",
        "bank-account account_verified",
        "bank-account account_verified",
        "business-bank-account verified",
        "facematch match",
        "facematch-standard match",
        "facematch-verified match",
        "foreign-bank-account verified",
        "id-document approved",
        "kyc-bundle valid",
        "proof-of-address approved",
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
