//! Every declaration is held to the service's description by a table written by hand from it: simulator and client read the
//! same declarations and could share a wrong one. Nothing more than the table, nothing less; what the description does
//! not show is declared assumed.

use rescreen::{
    catalogue::{Catalogue, ColumnKind, Declaration, FieldSpec, Flow, Spelling},
    model::field::FieldKind,
    template::Templates,
};
use serde_json::{Value, json};

/// What the description says about one check.
struct Described {
    name: &'static str,
    guide: &'static str,
    alternate: &'static str,
    flow: Flow,
    key_life_hours: u32,
    fixed: Value,
    fields: Vec<DescribedField>,
    payload: &'static str,
    columns: Vec<DescribedColumn>,
    /// Whether the description shows enough of the answer to judge it.
    verdict_is_shown: bool,
}

struct DescribedField {
    name: &'static str,
    /// The type in the table: `string` or `integer`, and what the notes make of it.
    kind: FieldKind,
    required: bool,
    /// As JSON text; empty where any value is allowed.
    allowed: &'static [i64],
    default: Option<&'static str>,
}

struct DescribedColumn {
    /// In the payload, the first place.
    pointer: &'static str,
    kind: ColumnKind,
    /// Whether the description shows it.
    shown: bool,
}

const fn field(name: &'static str, kind: FieldKind) -> DescribedField {
    DescribedField { name, kind, required: true, allowed: &[], default: None }
}

const fn shown(pointer: &'static str, kind: ColumnKind) -> DescribedColumn {
    DescribedColumn { pointer, kind, shown: true }
}

const fn assumed(pointer: &'static str, kind: ColumnKind) -> DescribedColumn {
    DescribedColumn { pointer, kind, shown: false }
}

fn described() -> [Described; 2] {
    [
        // "AML screening request"; "POST /aml-screening: mode, name, entity, country, dataset"; "/aml-pep"; "Idempotency
        // key lifetime: 72 hours"; "Response fields of the aml-screening record: not shown".
        Described {
            name: "aml-screening",
            guide: "/aml-screening",
            alternate: "/aml-pep",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({}),
            fields: vec![
                field("name", FieldKind::Text),
                DescribedField { allowed: &[0, 1], ..field("entity", FieldKind::Integer) },
                field("country", FieldKind::Country2),
                DescribedField { required: false, default: Some("all"), ..field("dataset", FieldKind::Text) },
            ],
            payload: "/results",
            columns: vec![
                assumed("/match", ColumnKind::Count),
                assumed("/match/0/name", ColumnKind::Text),
                assumed("/match/0/type", ColumnKind::Text),
                assumed("/match/0/score", ColumnKind::Number),
                assumed("/Header/DatasetVersion", ColumnKind::Text),
                assumed("/Header/DatasetPublishedAt", ColumnKind::Text),
            ],
            verdict_is_shown: false,
        },
        // "POST /verify: reportType or bundle, idNumber, mode"; "Inside results.said_verification: …"; one status is
        // seen, `ID Number Valid`, so the rules about others are assumed.
        Described {
            name: "said-verification",
            guide: "/verify",
            alternate: "/verify",
            flow: Flow::Replay,
            key_life_hours: 72,
            fixed: json!({"reportType": "said_verification"}),
            fields: vec![field("idNumber", FieldKind::SaId)],
            payload: "/results/said_verification",
            columns: vec![
                shown("/realTimeResults/Status", ColumnKind::Text),
                shown("/realTimeResults/Verification/Firstnames", ColumnKind::Text),
                shown("/realTimeResults/Verification/Lastname", ColumnKind::Text),
                shown("/realTimeResults/Verification/Dob", ColumnKind::Date),
                shown("/realTimeResults/Verification/Age", ColumnKind::Integer),
                shown("/realTimeResults/Verification/Gender", ColumnKind::Text),
                shown("/realTimeResults/Verification/Citizenship", ColumnKind::Text),
                shown("/realTimeResults/Verification/DateIssued", ColumnKind::Text),
                shown("/realTimeResults/transaction_id", ColumnKind::Text),
            ],
            verdict_is_shown: false,
        },
    ]
}

#[test]
fn the_catalogue_has_the_described_checks_and_no_other() {
    let catalogue = Catalogue::built_in();
    let declared: Vec<&str> = catalogue.iter().map(|declaration| declaration.name.as_str()).collect();
    assert_eq!(declared, described().map(|check| check.name));
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
        assert!(!spec.assumed, "{place}: the description shows it");
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
fn every_verdict_rule_compiles_and_none_holds_for_an_answer_without_its_fields() {
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
fn a_null_where_a_verdict_stands_is_never_clear() {
    let templates = Templates::default();
    let nulls = json!({"match": null, "matches": null, "totalHits": null, "realTimeResults": {"Status": null}});
    for declaration in Catalogue::built_in().iter() {
        for rule in &declaration.verdict.rules {
            let held = templates.answer_rule(&rule.when).unwrap().holds(&nulls, &nulls);
            assert_eq!(held, Ok(false), "{}: {}", declaration.name, rule.when);
        }
    }
}
