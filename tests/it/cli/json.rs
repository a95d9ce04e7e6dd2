//! `--json` prints one object that the schema in `docs/` allows, and nothing else, however the command ends.
//! `--summary-json` writes the same object to a file.

use super::{Said, Workspace};
use crate::support::{
    program::rescreen,
    schema::{faults, schema, valid},
    service::lifted,
};
use rescreen::{model::StopKind, simulator::Settings};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// The object of a command with this exit code.
#[track_caller]
fn object(said: &Said, code: i32) -> Value {
    assert_eq!(said.code, code, "stdout:\n{}\nstderr:\n{}", said.stdout, said.stderr);
    let object = valid(&said.stdout);
    assert_eq!(object["exit_code"], code);
    object
}

fn kind(object: &Value) -> &str {
    object["stop"]["kind"].as_str().unwrap_or_default()
}

#[test]
fn a_run_that_completes_prints_its_counts() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name\n1,P00001 Vexford\n2,\n3,P00001 Vexford\n4,P00004 Vexford,x\n");
    let said = workspace.run(&["--json"]);
    let run = object(&said, 3);
    assert_eq!(
        (&run["format"], &run["campaign"], &run["mode"]),
        (&json!("rescreen.run"), &json!("2026-11"), &json!("production"))
    );
    assert_eq!(
        (&run["rows"], &run["unreadable_rows"], &run["asks"], &run["duplicates"]),
        (&json!(4), &json!(1), &json!(3), &json!(1))
    );
    let check = &run["checks"][0];
    assert_eq!((&check["results"], &check["failures"], &check["pending"]), (&json!(2), &json!(1), &json!(0)));
    assert_eq!(check["verdicts"], json!({ "clear": 2 }));
    assert_eq!(check["failure_codes"], json!({ "missing_value": 1 }));
    assert_eq!(run["unreadable_row_codes"], json!({ "ragged_row": 1 }));
    assert_eq!(
        (&run["credits"]["charged"], &run["credits"]["held"], &run["max_credits"]),
        (&json!(1), &json!(0), &json!(1_000))
    );
    assert_eq!((kind(&run), &run["stop"]["next_command"], &run["complete"]), ("failures", &Value::Null, &json!(true)));
    assert_eq!(run["manifest"], "out/2026-11/manifest.json");
    let (began, ended) = (&run["run"]["started_at"], &run["run"]["ended_at"]);
    assert!(began.as_str() <= ended.as_str() && run["run"]["id"].as_str().unwrap().ends_with("-1"), "{run:#}");
    assert!(said.stderr.contains("4 rows: 2 results"), "messages stay on standard error");

    let accepted = object(&workspace.run(&["--json", "--accept-failures", "50%"]), 0);
    assert_eq!(
        (&accepted["stop"], &accepted["accept_failures"], &accepted["failures"]),
        (&Value::Null, &json!("50%"), &json!(2))
    );
    let status = object(&workspace.say(&["status", "--json"]), 0);
    assert_eq!((&status["state"], &status["last_stop"]), (&json!("complete"), &Value::Null));
    assert_eq!(
        status["checks"],
        json!([{ "check": "aml-screening", "results": 2, "verdicts": { "clear": 2 }, "failure_codes": { "missing_value": 1 } }])
    );
}

#[test]
fn each_stop_has_its_kind_and_the_command_that_continues() {
    let pages: Vec<String> = (3..=12).map(|nth| format!("html@{nth}")).collect();
    let cases: [(&str, &[&str], i32, &str); 6] = [
        ("", &["--max-credits", "3", "--price", "aml-screening=1"], 4, "limit"),
        ("", &["--keep-balance", "999998"], 4, "balance"),
        ("error401@3,error401@4", &["--in-flight", "1"], 7, "key"),
        (&pages.join(","), &["--in-flight", "1"], 10, "service"),
        ("", &["--expect-rows", "9"], 6, "guard"),
        ("", &["--limit", "2"], 9, "row_limit"),
    ];
    for (faults, more, code, expected) in cases {
        let workspace = Workspace::with(8, Settings { faults: faults.parse().unwrap(), ..lifted() });
        let said = workspace.run(&[more, &["--json"]].concat());
        let run = object(&said, code);
        assert_eq!(kind(&run), expected, "{run:#}");
        assert_eq!(run["stop"]["next_command"], said.next_command(), "the same command as on standard error");
        let needed = if expected == "limit" { json!(8) } else { Value::Null };
        assert_eq!((&run["stop"]["credits_needed"], &run["complete"]), (&needed, &json!(false)));
        let status = object(&workspace.say(&["status", "--json"]), 0);
        assert_eq!(status["last_stop"], run["stop"], "status says the same");
        assert_eq!((&status["state"], &status["last_run"]["exit_code"]), (&json!("stopped"), &json!(code)));
    }
    let prices = [("aml-screening".to_owned(), 3)].into();
    let workspace = Workspace::with(4, Settings { prices, ..lifted() });
    let stopped = ["--in-flight", "1", "--price", "aml-screening=1", "--max-credits", "90", "--json"];
    assert_eq!(kind(&object(&workspace.run(&stopped), 4)), "price");
    assert_eq!(kind(&object(&workspace.run(&stopped), 4)), "earlier_stop");
}

#[test]
fn a_command_that_cannot_do_its_work_prints_an_object_too() {
    let workspace = Workspace::new(2);
    let refused = |words: &[&str], code: i32, kind: StopKind| {
        let said = workspace.say(words);
        let object = object(&said, code);
        assert_eq!(
            (&object["error"]["code"], &object["error"]["kind"]),
            (&json!(code), &json!(kind.as_str())),
            "{words:?}"
        );
        let message = object["error"]["message"].as_str().unwrap();
        assert!(said.stderr.contains(message.split("; ").next().unwrap()), "{message}\n{}", said.stderr);
        object
    };
    for words in [
        &["run", "--json", "--nonsense"][..],
        &["run", "--json", "--stdout", "book.csv"],
        &["run", "book.csv", "--json"],
        &["status", "--json", "--inbox"],
        &["resolve", "--json", "--charge", "x"],
        &["credits", "--json"],
        &["doctor", "--json", "--check", "nonsense"],
        &["checks", "nonsense", "--json"],
        &["retry-webhook", "--json"],
        &["export", "--json", "--to", "x"],
        &["collect", "--json"],
        &["run", "book.csv", "--json", "--check", "aml-screening", "--config", "absent.toml"],
    ] {
        let expected = if words.contains(&"absent.toml") { StopKind::CampaignFile } else { StopKind::Usage };
        refused(words, 2, expected);
    }
    let down = refused(&["credits", "--json", "--service", "http://127.0.0.1:1"], 10, StopKind::Service);
    assert_eq!(down["error"]["next_command"], "rescreen credits --json --service http://127.0.0.1:1");
    assert_eq!(refused(&["status", "book.csv", "--json"], 11, StopKind::Storage)["format"], "rescreen.status");
    let in_use = Workspace::new(3);
    in_use.run(&[]).exits(0);
    let lock = fs::File::open(in_use.path().join("out/2026-11/ledger.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(object(&in_use.run(&["--json"]), 2)["error"]["kind"], "ledger");
}

#[test]
fn the_commands_that_read_print_objects_of_the_schema() {
    let mut workspace = Workspace::new(3);
    // The requests of the doctor are in no ledger.
    workspace.loses_a_ledger = true;
    workspace.service.simulator.set_balance(777);
    let credits = object(&workspace.say(&["credits", "--json", "--service", &workspace.service.url]), 0);
    assert_eq!((&credits["balance"], &credits["service"]), (&json!(777), &json!(workspace.service.url)));
    let checks = object(&workspace.say(&["checks", "--json"]), 0);
    let count = checks["checks"].as_array().unwrap().len();
    assert_eq!(count, rescreen::catalogue::Catalogue::built_in().iter().count());
    let doctor = workspace.say(&["doctor", "--json", "--service", &workspace.service.url, "--check", "aml-screening"]);
    assert!(object(&doctor, 0)["findings"].as_array().unwrap().len() > 5);
    workspace.run(&[]).exits(0);
    let exported = object(&workspace.say(&["export", "--to", "copy", "--json"]), 0);
    assert_eq!((&exported["results"], &exported["folder"]), (&json!(3), &json!("copy")));
    let collected = object(&workspace.say(&["collect", "--json"]), 0);
    assert_eq!((&collected["format"], &collected["complete"]), (&json!("rescreen.collect"), &json!(true)));
    let again = object(&workspace.say(&["retry-webhook", "--json"]), 0);
    assert_eq!((&again["jobs"], &again["next_command"]), (&json!(0), &Value::Null));
    let listed = object(&workspace.say(&["resolve", "--list", "--json"]), 0);
    assert_eq!((&listed["action"], &listed["requests"]), (&json!("list"), &json!([])));
    let charge = ["resolve", "--charge", "2", "--request", "1", "--reason", "the statement says so", "--json"];
    let charged = object(&workspace.say(&charge), 0);
    assert_eq!(charged["charge"], json!({ "request": 1, "before": 1, "after": 2 }));
}

#[test]
fn requests_in_doubt_are_listed_and_decided_as_objects() {
    let faults: Vec<String> = (2..60).map(|message| format!("drop_after@{message}")).collect();
    let workspace = Workspace::with(1, Settings { faults: faults.join(",").parse().unwrap(), ..lifted() });
    let run = object(&workspace.run(&["--json", "--for", "1s"]), 8);
    assert_eq!(kind(&run), "doubt");
    assert!(run["oldest_doubt_at"].is_string(), "{run:#}");
    let listed = object(&workspace.say(&["resolve", "--list", "--include-in-doubt", "--json"]), 8);
    let requests = listed["requests"].as_array().unwrap();
    let rows: Vec<&Value> = requests.iter().map(|request| &request["rows"]).collect();
    let row = json!([{ "source": "book.csv", "row_number": 1, "subject": "1" }]);
    assert_eq!((rows, &listed["credits_held"]), (vec![&row], &json!(1)));
    let decision = ["resolve", "--write-off", "--include-in-doubt", "--reason", "a test", "--json"];
    let decided = object(&workspace.say(&decision), 0);
    assert_eq!((&decided["action"], decided["requests"].as_array().unwrap().len()), (&json!("write_off"), 1));
}

#[test]
fn a_run_that_is_cut_short_prints_its_object() {
    let workspace = Workspace::that_answers_only(1, 60);
    let run = workspace.under_way(2, 3, &["--json"]);
    run.signal("INT");
    run.wait_until_it_says("stopping: ");
    workspace.service.answers_all();
    let object = object(&run.ends(), 130);
    assert_eq!(kind(&object), "interrupted");
    assert!(object["run"]["ended_at"].is_string() && object["checks"].is_array(), "{object:#}");
}

#[test]
fn the_summary_is_written_however_the_run_ends() {
    let workspace = Workspace::new(6);
    let read = || valid(&fs::read_to_string(workspace.path().join("last.json")).unwrap());
    let summary = ["--summary-json", "last.json"];
    workspace
        .run(&[&summary[..], &["--max-credits", "2", "--price", "aml-screening=1"]].concat())
        .exits(4)
        .without_data();
    assert_eq!((kind(&read()), &read()["format"]), ("limit", &json!("rescreen.run")));
    let said = workspace.run(&[&summary[..], &["--json"]].concat()).exits(0);
    assert_eq!(valid(&said.stdout), read(), "the same object");
    let mut refused =
        rescreen(workspace.path(), &[&["run", "absent.csv", "--check", "aml-screening"], &summary[..]].concat());
    Said::of(&mut refused).exits(2);
    assert_eq!((&read()["exit_code"], read()["error"]["code"].as_u64()), (&json!(2), Some(2)));
    assert!(!read()["error"]["message"].as_str().unwrap().is_empty());
    workspace.run(&["--summary-json=last.json", "--bogus"]).exits(2);
    let object = valid(&fs::read_to_string(workspace.path().join("last.json")).unwrap());
    assert_eq!((&object["exit_code"], &object["error"]["kind"]), (&json!(2), &json!("usage")));
    workspace.say(&["collect", "--summary-json", "last.json"]).exits(0);
    assert_eq!(read()["format"], "rescreen.collect");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(workspace.path().join("last.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let left = fs::read_dir(workspace.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.ends_with(".tmp")).count(), 0);
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_anything_is_sent() {
    let workspace = Workspace::new(3);
    fs::create_dir(workspace.path().join("folder")).unwrap();
    let book = fs::read(workspace.path().join("book.csv")).unwrap();
    for place in ["absent/last.json", "folder", "/dev/null", "..", "book.csv"] {
        let said = workspace.run(&["--summary-json", place]).exits(2).without_data();
        assert!(said.stderr.contains("--summary-json"), "{}", said.stderr);
    }
    assert_eq!(fs::read(workspace.path().join("book.csv")).unwrap(), book, "another file is not replaced");
    assert!(!workspace.path().join("out").exists());
    assert_eq!(workspace.service.simulator.stats().requests, 0);
}

#[test]
fn the_check_of_the_schema_finds_faults() {
    let workspace = Workspace::new(2);
    let run = valid(&workspace.run(&["--json"]).stdout);
    assert_eq!(faults(&run), Vec::<String>::new());
    let changes: [fn(&mut Value); 7] = [
        |run| run["unknown"] = json!(1),
        |run| drop(run.as_object_mut().unwrap().remove("rows")),
        |run| run["rows"] = json!(-1),
        |run| run["rows"] = json!("2"),
        |run| run["exit_code"] = json!(12),
        |run| run["run"]["ended_at"] = json!("yesterday"),
        |run| run["stop"] = json!({ "kind": "nonsense" }),
    ];
    for change in changes {
        let mut changed = run.clone();
        change(&mut changed);
        assert!(!faults(&changed).is_empty(), "{changed:#}");
    }
}

#[test]
fn the_lists_of_the_schema_are_those_of_the_program() {
    let schema = schema();
    let listed = |name: &str| schema["$defs"][name]["enum"].as_array().unwrap().clone();
    assert_eq!(listed("kind"), StopKind::ALL.map(|kind| json!(kind.as_str())));
    let codes = schema["$defs"]["failure_codes"]["properties"].as_object().unwrap().keys();
    let known = rescreen::model::FailureCode::ALL.map(|code| code.as_str().to_owned());
    assert_eq!(codes.cloned().collect::<Vec<_>>(), known);
}

#[test]
fn the_examples_of_the_page_are_objects_of_the_schema() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md")).unwrap();
    let mut formats = Vec::new();
    for block in page.split("```json\n").skip(1) {
        let text = block.split("```").next().unwrap();
        let example: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(faults(&example).is_empty(), "{:#?}\n{text}", faults(&example));
        formats.push(example["format"].as_str().unwrap().to_owned());
    }
    for name in ["run", "status", "credits", "resolve"] {
        assert!(formats.contains(&format!("rescreen.{name}")), "{name}: {formats:?}");
    }
    for kind in StopKind::ALL {
        assert!(page.contains(&format!("\n| `{}` | ", kind.as_str())), "{}", kind.as_str());
    }
}

/// Another implementation reads the schema the same way.
#[test]
fn the_schema_is_one_of_draft_2020_12() {
    let workspace = Workspace::new(2);
    let run = workspace.run(&["--json"]).exits(0).stdout;
    workspace.write("run.json", &run);
    let script = "import json, sys\ntry:\n    import jsonschema\nexcept ImportError:\n    sys.exit(77)\n\
        schema = json.load(open(sys.argv[1]))\njsonschema.Draft202012Validator.check_schema(schema)\n\
        jsonschema.Draft202012Validator(schema).validate(json.load(open(sys.argv[2])))";
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rescreen.schema.json");
    let mut python = Command::new("python3");
    let said = python.args(["-W", "ignore", "-c", script]).arg(schema).arg(workspace.path().join("run.json")).output();
    match said {
        Ok(said) if said.status.code() == Some(77) => println!("SKIPPED: python has no jsonschema"),
        Err(_) => println!("SKIPPED: there is no python3"),
        Ok(said) => assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr)),
    }
}
