//! `plan --json`: one object with every number of the screen.

use crate::{
    cli::Workspace,
    support::{program::Said, schema::valid, world::book},
};
use serde_json::{Value, json};

fn object(workspace: &Workspace, more: &[&str], code: i32) -> Value {
    let said = Said::of(&mut workspace.production("plan", &[more, &["--json"]].concat())).exits(code);
    assert_eq!((said.stderr.as_str(), said.stdout.lines().count()), ("", 1));
    valid(&said.stdout)
}

#[test]
fn the_object_has_the_numbers_of_the_screen() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", &(book(1..=5) + "6,,active\n7\n5,P00001 Vexford,active\n"));
    let json = object(&workspace, &["--max-credits", "3", "--price", "aml-screening=1"], 4);
    assert!(json.to_string().starts_with(r#"{"format":"rescreen.plan","format_version":1,"#), "{json}");
    assert_eq!(json["rows"], json!({ "total": 8, "unreadable": 1, "readable": 7 }));
    let asks = json!({ "total": 7, "skipped": 0, "rejected": 1, "duplicates": 1, "settled": 0, "jobs": 0,
                       "quarantined": 0, "kept": 0, "reused": 0, "in_doubt": 0, "to_send": 5 });
    assert_eq!(json["asks"], asks);
    assert_eq!(json["rejected"]["by_code"], json!({ "ragged_row": 1, "missing_value": 1 }));
    assert_eq!(json["rejected"]["reasons"][0]["first_lines"], json!([7]));
    assert_eq!(json["id"], json!({ "column": "no", "filled": 7, "distinct": 6, "empty": 0 }));
    assert_eq!(
        json["fields"][0],
        json!({ "check": "aml-screening", "field": "name", "from": "column `name`", "by_name": true, "filled": 6,
                "distinct": 5, "empty": 1 })
    );
    let credits = json!({ "limit": 3, "keep_balance": 0, "charged": 0, "held": 0, "used": 0, "this_run": 5,
                          "this_run_in_production": 5, "held_at_once": 5, "short_by": 2, "sufficient_limit": 5,
                          "balance": 1_000_000 });
    assert_eq!(json["credits"], credits);
    assert_eq!(json["exit_code"], 4);
    assert_eq!(json["obstacles"][0]["exit_code"], 4);
    let command = json["next_command"].as_str().unwrap();
    assert!(command.ends_with("--max-credits 5 --price aml-screening=1") && !command.contains("--json"), "{command}");
    let finishes = json["time"]["finishes_at"].as_str().unwrap();
    assert!(finishes.ends_with('Z') && finishes.parse::<jiff::Timestamp>().is_ok(), "{finishes}");
}

#[test]
fn unknown_values_are_null() {
    let workspace = Workspace::new(2);
    let said = Said::of(workspace.production("plan", &["--json"]).env_remove("RESCREEN_API_KEY"));
    let json = valid(&said.exits(2).stdout);
    assert_eq!((&json["credits"]["balance"], &json["webhook_url"]), (&Value::Null, &Value::Null));
    assert_eq!((&json["credits"]["this_run"], &json["credits"]["this_run_in_production"]), (&json!(2), &json!(2)));
    let sandbox = "plan book.csv --check aml-screening --set entity=0 --set country=za --simulate --json";
    let said = workspace.say(&sandbox.split(' ').collect::<Vec<_>>()).exits(0);
    let json = valid(&said.stdout);
    assert_eq!((&json["credits"]["limit"], &json["id"]), (&Value::Null, &Value::Null));
    assert_eq!(json["credits"]["this_run_in_production"], Value::Null, "the price is not known");
}
