//! The promise: a carried number or boolean keeps the type that its input states, in every part of the campaign. A later
//! value that does not fit fails its own row and no other.

use crate::support::{
    ran::{Ran, results},
    tables::text,
    world::{World, book},
};
use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use rescreen::{
    model::{ExitCode, FailureCode, value_kind::ValueKind},
    pipeline::{Campaign, Plan, PlanOptions, campaign::carried::Carried, campaign::file::CampaignFile, plan},
    sink::{Kind, OutputFormat},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, sync::Arc};

const COLUMNS: [&str; 5] = ["age", "fee", "vip", "branch", "later"];

fn carrying(file: &mut CampaignFile) {
    file.output.carry = COLUMNS.map(Carried::plain).to_vec();
    file.output.format = Some(OutputFormat::Jsonl);
}

/// A campaign of these JSON lines that carries the columns.
fn of_lines(lines: &[String]) -> World {
    let world = World::new().campaign(|file| {
        carrying(file);
        file.input.paths = vec!["book.jsonl".into()];
    });
    world.write("book.jsonl", &(lines.join("\n") + "\n"));
    world
}

fn line(no: u64, more: &str) -> String {
    format!("{{\"no\": {no}, \"name\": \"P{no:05} Vexford\", {more}}}")
}

fn kinds(ran: &Ran) -> Vec<(String, Kind)> {
    let schema = &ran.manifest().datasets[0].schema;
    let carried = schema.iter().filter(|column| COLUMNS.contains(&column.name.as_str()));
    carried.map(|column| (column.name.clone(), column.kind)).collect()
}

fn named(kinds: [Kind; 5]) -> Vec<(String, Kind)> {
    COLUMNS.map(str::to_owned).into_iter().zip(kinds).collect()
}

fn planned(world: &World) -> Plan {
    let campaign = Campaign::new(world.file.clone(), &world.path("")).unwrap();
    plan(&campaign, &PlanOptions::default()).unwrap()
}

#[tokio::test]
async fn the_first_rows_of_json_lines_decide_and_a_value_that_does_not_fit_fails_its_row() {
    let lines = [
        line(1, r#""age": 41, "fee": 1.50, "vip": true, "branch": "007", "later": null"#),
        line(2, r#""age": null, "fee": 2, "vip": false, "branch": 8"#),
        line(3, r#""age": 7, "fee": -0.25, "vip": null, "branch": true"#),
    ];
    let mut world = of_lines(&lines);
    let ran = world.run().await.exits(ExitCode::Complete).charged(3).counts(results(3)).adds_up(true);
    let expected = named([Kind::Integer, Kind::Number, Kind::Boolean, Kind::Text, Kind::Text]);
    assert_eq!(kinds(&ran), expected);
    let cells = |row: i64| -> Vec<Value> { COLUMNS.map(|name| ran.result_of(row)[name].clone()).to_vec() };
    assert_eq!(cells(1), [json!(41), json!(1.5), json!(true), json!("007"), Value::Null]);
    assert_eq!(cells(2), [Value::Null, json!(2.0), json!(false), json!("8"), Value::Null]);
    assert_eq!(cells(3), [json!(7), json!(-0.25), Value::Null, json!("true"), Value::Null]);

    world.append(
        "book.jsonl",
        &(line(4, r#""age": "old", "later": "x""#) + "\n" + &line(5, r#""age": 9, "later": 5"#) + "\n"),
    );
    let plan = planned(&world);
    assert_eq!(plan.reasons.by_code()[&FailureCode::InvalidValue], 1, "plan counts what run will fail");
    let ran = world.run().await.exits(ExitCode::Failures).charged(4).counts(results(4).failures(1)).adds_up(true);
    assert_eq!(kinds(&ran), expected, "the types never change");
    assert_eq!((&ran.result_of(5)["age"], &ran.result_of(5)["later"]), (&json!(9), &json!("5")));
    let [failure] = ran.failures() else { panic!() };
    assert_eq!((text(failure, "code"), failure["row_number"].as_i64()), ("invalid_value", Some(4)));
    let message = text(failure, "message");
    assert!(message.starts_with("carried column `age`: expected a whole number, found another value"), "{message}");
    assert!(message.ends_with(r#"carry = [{ "age" = { column = "age", type = "text" } }]"#), "{message}");
    assert!(!message.contains("old"), "the value is personal data");
    let advised = message.rsplit_once("carry = ").unwrap().1;
    let parsed: toml::Table = toml::from_str(&format!("carry = {advised}")).unwrap();
    assert!(parsed["carry"].is_array());
    // A later run does not map the row to a request, and pays nothing for it.
    world.run().await.exits(ExitCode::Failures).charged(4).counts(results(4).failures(1));
}

#[tokio::test]
async fn the_schema_of_parquet_decides_whatever_the_first_values_are() {
    let columns: [(&str, ArrayRef); 7] = [
        ("no", Arc::new(Int64Array::from(vec![1, 2]))),
        ("name", Arc::new(StringArray::from(vec!["A Vexford", "B Vexford"]))),
        ("age", Arc::new(Int64Array::from(vec![None, None]))),
        ("fee", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
        ("vip", Arc::new(BooleanArray::from(vec![None, Some(true)]))),
        ("branch", Arc::new(Decimal128Array::from(vec![150, 200]).with_precision_and_scale(9, 2).unwrap())),
        ("later", Arc::new(UInt64Array::from(vec![3, 4]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut world = World::new().campaign(|file| {
        carrying(file);
        file.input.paths = vec!["book.parquet".into()];
    });
    fs::write(world.path("book.parquet"), bytes).unwrap();
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(2)).adds_up(true);
    assert_eq!(kinds(&ran), named([Kind::Integer, Kind::Number, Kind::Boolean, Kind::Text, Kind::Integer]));
    let second = ran.result_of(2);
    assert_eq!(
        (&second["fee"], &second["vip"], &second["branch"], &second["later"]),
        (&json!(2.0), &json!(true), &json!("2.00"), &json!(4))
    );
}

#[tokio::test]
async fn a_column_of_csv_is_text_unless_the_campaign_names_a_type() {
    let csv = "no,name,age,fee\n1,A Vexford,007,1.50\n2,B Vexford,,n/a\n3,C Vexford,x,2\n";
    let typed = |name: &str, kind| Carried { kind: Some(kind), ..Carried::plain(name) };
    let mut world = World::new().csv(csv).campaign(|file| {
        file.output.carry = vec![typed("age", ValueKind::Integer), typed("fee", ValueKind::Number), "name".into()];
        file.input.null_in = BTreeMap::from([("fee".to_owned(), vec!["N/A".to_owned(), "n/a".to_owned()])]);
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(2).counts(results(2).failures(1)).adds_up(true);
    let plan = planned(&world);
    assert_eq!(plan.reasons.by_code()[&FailureCode::InvalidValue], 1);
    let cells = |row: i64, name: &str| ran.result_of(row)[name].clone();
    assert_eq!((cells(1, "age"), cells(1, "fee")), (json!(7), json!(1.5)));
    assert_eq!((cells(2, "age"), cells(2, "fee")), (Value::Null, Value::Null), "what means null is null");

    let mut world = world.campaign(|file| file.output.carry[0].kind = Some(ValueKind::Text));
    let error = world.run().await.error();
    assert!(error.contains("the carried column `age` had the type integer and has text now"), "{error}");
    let mut plain = World::new().csv(&book(1..=2)).campaign(|file| file.output.carry = vec!["no".into()]);
    let ran = plain.run().await.exits(ExitCode::Complete);
    assert_eq!(ran.result_of(1)["no"], json!("1"));
}

#[tokio::test]
async fn a_star_carries_every_column_of_the_first_run_and_of_each_input() {
    let csv = "no,name,имя,verdict,Order\n1,Ann,Анна,x,7\n2,Bob,Боб,,8\n";
    let world = World::new().csv(csv).campaign(|file| {
        file.output.carry = vec![Carried::plain("*")];
        file.input.paths.push("more.jsonl".into());
    });
    world.write("more.jsonl", "{\"no\": 3, \"name\": \"Cee\"}\n{\"no\": 4, \"name\": \"Dee\", \"vip\": true}\n");
    let mut world = world;
    let ran = world.run().await.exits(ExitCode::Complete).charged(4).adds_up(true);
    let schema = &ran.manifest().datasets[0].schema;
    let from = schema.iter().position(|column| column.name == "finding").unwrap() + 1;
    let names: Vec<&str> = schema[from..from + 6].iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["no", "name", "имя", "input_verdict", "order_", "vip"]);
    let kinds: Vec<Kind> = schema[from..from + 6].iter().map(|column| column.kind).collect();
    assert_eq!(kinds[5], Kind::Boolean, "{kinds:?}");
    let line = ran.results().iter().find(|line| line["subject"] == "1").unwrap();
    assert_eq!((text(line, "имя"), text(line, "input_verdict"), text(line, "order_")), ("Анна", "x", "7"));
    assert!(line["vip"].is_null());
    let dee = ran.results().iter().find(|line| line["subject"] == "4").unwrap();
    assert!(dee["vip"] == true && dee["имя"].is_null(), "{dee:?}");

    // Another row brings a key that the first run did not see.
    let text = fs::read_to_string(world.path("more.jsonl")).unwrap();
    world.write("more.jsonl", &(text + "{\"no\": 5, \"name\": \"Eve\", \"new\": 1}\n"));
    plan(&Campaign::new(world.file.clone(), &world.path("")).unwrap(), &PlanOptions::default()).unwrap();
    let ran = world.run().await.exits(ExitCode::Complete).charged(5).adds_up(true);
    assert!(!ran.manifest().datasets[0].schema.iter().any(|column| column.name == "new"));
}
