//! With `--log-format json`, every line on standard error is one JSON object in the format of the log: the banner, the
//! summary, the progress, stops, the next command and errors too.

use crate::{
    cli::Workspace,
    support::program::{Said, rescreen},
};
use serde_json::Value;

/// The lines as JSON, each of which has a time, a level and a message.
#[track_caller]
fn lines(said: &Said) -> Vec<Value> {
    let parsed = said.stderr.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: `{line}`"));
        let time = event["timestamp"].as_str().unwrap_or_default();
        assert!(time.ends_with('Z') && time.len() == 27, "{line}");
        assert!(["ERROR", "WARN", "INFO", "DEBUG"].contains(&event["level"].as_str().unwrap_or_default()), "{line}");
        assert!(event["fields"]["message"].is_string(), "{line}");
        event["fields"].clone()
    });
    parsed.collect()
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a str> {
    lines.iter().filter(|line| line["kind"] == kind).filter_map(|line| line["message"].as_str()).collect()
}

#[test]
fn every_line_of_a_run_that_stops_is_json() {
    let workspace = Workspace::new(30);
    let said = workspace.run(&["--log-format", "json", "-vv", "--max-credits", "12", "--price", "aml-screening=1"]);
    let lines = lines(&said.exits(4));
    assert!(of_kind(&lines, "note")[0].starts_with("PRODUCTION · "), "{lines:?}");
    assert!(of_kind(&lines, "summary")[0].starts_with("30 rows: 12 results"), "{lines:?}");
    assert!(of_kind(&lines, "stopped")[0].starts_with("stopped: the next request"), "{lines:?}");
    assert!(of_kind(&lines, "next_command")[0].starts_with("continue with: rescreen run"), "{lines:?}");
    assert!(lines.iter().any(|line| line["message"] == "attempt" && line["status"] == 200), "{lines:?}");
}

#[test]
fn an_error_of_the_command_line_or_of_the_program_is_one_line_of_json() {
    let workspace = Workspace::new(1);
    for words in [
        &["run", "absent.csv", "--check", "aml-screening", "--simulate", "--log-format", "json"][..],
        &["run", "--log-format=json", "--no-such-flag"],
        &["plan", "book.csv", "--log-format", "json", "--check", "amm"],
    ] {
        let said = Said::of(&mut rescreen(workspace.path(), words)).exits(2).without_data();
        let lines = lines(&said);
        assert_eq!(of_kind(&lines, "error").len(), 1, "{lines:?}");
        assert!(of_kind(&lines, "error")[0].starts_with("error: "), "{lines:?}");
    }
    std::fs::write(workspace.path().join("broken.toml"), "campaign = \n").unwrap();
    let said =
        Said::of(&mut rescreen(workspace.path(), &["run", "-c", "broken.toml", "--log-format", "json"])).exits(2);
    assert_eq!(of_kind(&lines(&said), "error").len(), 1, "{}", said.stderr);
}

#[test]
fn what_a_stopping_run_waits_for_is_json_too() {
    let workspace = Workspace::that_answers_only(5, 40);
    let under_way = workspace.under_way(4, 9, &["--log-format", "json"]);
    under_way.signal("INT");
    under_way.wait_until_it_says("stopping: ");
    workspace.service.answers_all();
    let lines = lines(&under_way.ends().exits(130));
    let stopped = of_kind(&lines, "stopped");
    assert!(stopped[0].starts_with("stopping: ") && stopped[0].ends_with("leaves them in doubt"), "{stopped:?}");
    assert!(stopped.iter().any(|line| line.starts_with("stopped: interrupted")), "{stopped:?}");
}
