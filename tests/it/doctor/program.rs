//! The command: a table of at most 80 columns, the lines for the campaign file, JSON, and exit codes.

use crate::support::{
    API_KEY,
    program::{Said, rescreen},
    service::{Service, lifted},
};
use rescreen::simulator::{AuthAccepted, Settings};
use std::{fs, time::Duration};

fn service(auth: AuthAccepted) -> Service {
    let cooldown = Duration::from_millis(10);
    Service::start(Settings { auth, cooldown, api_key: Some(API_KEY.to_owned()), ..lifted() })
}

fn doctor(folder: &std::path::Path, url: &str, more: &[&str]) -> Said {
    let mut arguments = vec!["doctor", "--service", url, "--check", "aml-screening", "--per-minute", "6000"];
    arguments.extend(more);
    Said::of(&mut rescreen(folder, &arguments))
}

#[test]
fn the_table_fits_80_columns_and_ends_with_lines_for_the_campaign_file() {
    let (folder, service) = (tempfile::tempdir().unwrap(), service(AuthAccepted::Bearer));
    let said = doctor(folder.path(), &service.url, &[]).exits(0);
    for line in said.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(said.stdout.contains("\nnothing was found that would stop a campaign\n"), "{}", said.stdout);
    assert!(said.stdout.ends_with("# for the campaign file\n[service]\nauth = \"bearer\"\n"), "{}", said.stdout);
    let lines = said.stdout.split("# for the campaign file\n").nth(1).unwrap();
    fs::write(folder.path().join("own.toml"), lines).unwrap();
    let said = doctor(folder.path(), &service.url, &["-c", "own.toml"]).exits(0);
    assert!(!said.stdout.contains("campaign file"), "{}", said.stdout);
    assert!(!said.stdout.contains(API_KEY) && !said.stderr.contains(API_KEY));
}

#[test]
fn json_has_every_finding_and_the_exit_code() {
    let (folder, service) = (tempfile::tempdir().unwrap(), service(AuthAccepted::Both));
    let said = doctor(folder.path(), &service.url, &["--json"]).exits(0);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&json["exit_code"], &json["campaign_file"]), (&0.into(), &serde_json::json!([])));
    let subjects: Vec<&str> =
        json["findings"].as_array().unwrap().iter().map(|finding| finding["subject"].as_str().unwrap()).collect();
    let wanted = [
        "state folder",
        "disk",
        "reachability",
        "API key",
        "header form",
        "balance",
        "clock",
        "rate",
        "route of aml-screening",
        "replay",
        "409",
    ];
    assert_eq!(subjects, wanted);
}

#[test]
fn a_wrong_key_is_7_and_a_dead_address_is_10() {
    let (folder, service) = (tempfile::tempdir().unwrap(), service(AuthAccepted::Both));
    let mut command = rescreen(folder.path(), &["doctor", "--service", &service.url]);
    Said::of(command.env("RESCREEN_API_KEY", "wrong")).exits(7);
    doctor(folder.path(), "http://127.0.0.1:1", &[]).exits(10);
}

#[test]
fn the_simulator_can_be_examined_without_a_service() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["doctor", "--simulate", "--check", "vin-decode", "--per-minute", "6000"];
    let said = Said::of(&mut rescreen(folder.path(), &arguments)).exits(0);
    assert!(said.stdout.contains("route of vin-decode"), "{}", said.stdout);
}
