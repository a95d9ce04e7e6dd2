//! Which campaign a command is about when no folder is named: that of `rescreen.toml`, else the only one in `out/`. A
//! campaign can be named by its folder or its name. A rehearsal is never chosen.

use super::Workspace;
use crate::support::schema::valid;
use std::fs;

/// A production campaign `2026-11`, one in sandbox, and a rehearsal of another.
fn three() -> Workspace {
    let workspace = Workspace::new(2);
    let url = workspace.service.url.clone();
    workspace.run(&[]).exits(0);
    let words = ["run", "book.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za", "--yes"];
    let service = ["--service", &url, "--campaign", "earlier", "--per-minute", "600000"];
    workspace.say(&[&words[..], &service].concat()).exits(0);
    workspace.say(&[&words[..], &["--simulate", "--campaign", "rehearsed"]].concat()).exits(0);
    workspace
}

fn campaign_of(workspace: &Workspace, words: &[&str]) -> String {
    let said = workspace.say(&[&["status", "--json"], words].concat()).exits(0);
    valid(&said.stdout)["campaign"].as_str().unwrap().to_owned()
}

#[test]
fn status_takes_the_campaign_of_the_campaign_file() {
    let workspace = three();
    workspace.write("rescreen.toml", "campaign = \"earlier\"\n");
    assert_eq!(campaign_of(&workspace, &[]), "earlier");
    workspace.write("other.toml", "campaign = \"2026-11\"\nmode = \"production\"\n");
    assert_eq!(campaign_of(&workspace, &["-c", "other.toml"]), "2026-11");
    // The mode may have been chosen on the command line.
    workspace.write("rescreen.toml", "campaign = \"2026-11\"\n");
    assert_eq!(campaign_of(&workspace, &[]), "2026-11");
    workspace.write("rescreen.toml", "[output]\ndir = \"out/2026-11\"\n");
    assert_eq!(campaign_of(&workspace, &[]), "2026-11");
    workspace.say(&["status", "2026-11", "-c", "other.toml"]).exits(2);
    workspace.write("new.toml", "campaign = \"2027-01\"\n");
    for command in ["status", "export"] {
        let to = if command == "export" { &["--to", "exported"][..] } else { &[] };
        let said = workspace.say(&[&[command, "-c", "new.toml"], to].concat()).exits(2);
        said.says("the campaign `2027-01` of new.toml has no ledger yet");
    }
    // A rehearsal is shown, and not used for anything else.
    workspace.write("new.toml", "campaign = \"rehearsed\"\n");
    assert_eq!(campaign_of(&workspace, &["-c", "new.toml"]), "rehearsed");
    workspace.say(&["export", "-c", "new.toml", "--to", "exported"]).exits(0);
    workspace
        .say(&["collect", "-c", "new.toml"])
        .exits(2)
        .says("the campaign `rehearsed` of new.toml has no ledger yet");
}

#[test]
fn a_campaign_is_found_by_its_name_and_by_its_folder() {
    let workspace = three();
    for (word, campaign) in [
        ("2026-11", "2026-11"),
        ("earlier", "earlier"),
        ("out/2026-11", "2026-11"),
        ("out/2026-11/ledger.sqlite", "2026-11"),
        ("out/earlier.sandbox", "earlier"),
    ] {
        assert_eq!(campaign_of(&workspace, &[word]), campaign, "{word}");
    }
    // A folder of the same name, without a ledger, is not the campaign.
    fs::create_dir(workspace.path().join("2026-11")).unwrap();
    assert_eq!(campaign_of(&workspace, &["2026-11"]), "2026-11");
    let said = workspace.say(&["status", "rehearsed"]).exits(0);
    assert!(
        said.stdout.starts_with("no campaign yet; this is the rehearsal out/rehearsals/rehearsed\n"),
        "{}",
        said.stdout
    );
    workspace.say(&["collect", "rehearsed"]).exits(2).says("`rescreen collect out/rehearsals/rehearsed`");
    workspace.say(&["status", "2026-10"]).exits(2).says("the campaigns are out/");
    for command in [&["collect", "earlier"][..], &["resolve", "2026-11", "--list"], &["retry-webhook", "earlier"]] {
        workspace.say(command).exits(0);
    }
    workspace.say(&["export", "earlier", "--to", "copy"]).exits(0).says("2 results");
}

#[test]
fn several_campaigns_are_listed_by_status_and_are_too_many_for_other_commands() {
    let workspace = three();
    let said = workspace.say(&["status"]).exits(0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[1].contains("out/earlier.sandbox") && lines[2].contains("out/2026-11"), "{}", said.stdout);
    assert!(lines[2].contains("complete") && lines[2].contains("2 of 2"), "{}", said.stdout);
    assert!(!said.stdout.contains("rehearsed"), "{}", said.stdout);
    let said = workspace.say(&["status", "--json"]).exits(0);
    let campaigns = valid(&said.stdout)["campaigns"].clone();
    let names: Vec<&str> = campaigns.as_array().unwrap().iter().map(|one| one["campaign"].as_str().unwrap()).collect();
    assert_eq!(names, ["earlier", "2026-11"], "the last used first");
    for command in [&["collect"][..], &["resolve", "--list"], &["retry-webhook"], &["export", "--to", "copy"]] {
        workspace.say(command).exits(2).says("found several: out/earlier.sandbox, out/2026-11");
    }
    fs::write(workspace.path().join("out/earlier.sandbox/ledger.sqlite"), "no ledger").unwrap();
    let said = workspace.say(&["status"]).exits(0);
    assert!(said.stdout.contains("cannot be read") && said.stdout.contains("complete"), "{}", said.stdout);
    valid(&workspace.say(&["status", "--json"]).exits(0).stdout);
}

#[test]
fn results_whose_ledger_is_lost_are_not_taken_for_a_new_campaign() {
    let mut workspace = Workspace::new(2);
    workspace.loses_a_ledger = true;
    workspace.run(&[]).exits(0);
    fs::remove_file(workspace.path().join("out/2026-11/ledger.sqlite")).unwrap();
    let named = [&["status", "out/2026-11"][..], &["status", "2026-11"], &["collect", "2026-11"]];
    for words in named.into_iter().chain([&["status"][..], &["collect"], &["resolve", "--list"]]) {
        let said = workspace.say(words).exits(2).says("out/2026-11 has published results and no ledger");
        assert!(!said.stderr.contains("rescreen run"), "{}", said.stderr);
    }
}

#[test]
fn a_rehearsal_is_only_shown_and_only_while_there_is_no_campaign() {
    let workspace = Workspace::new(2);
    workspace.say(&["status"]).exits(2).says("expected a campaign in out/, found none");
    let words = "run book.csv --check aml-screening --set entity=0 --set country=za --simulate --campaign 2026-11";
    workspace.say(&words.split(' ').collect::<Vec<_>>()).exits(0);
    let said = workspace.say(&["status"]).exits(0);
    assert!(
        said.stdout.starts_with("no campaign yet; this is the rehearsal out/rehearsals/2026-11\n"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("campaign 2026-11"), "{}", said.stdout);
    assert_eq!(campaign_of(&workspace, &[]), "2026-11");
    for (command, says) in [
        (&["collect"][..], "`rescreen collect out/rehearsals/2026-11`"),
        (&["resolve", "--list"], "`rescreen resolve out/rehearsals/2026-11 --list`"),
        (&["retry-webhook"], "`rescreen retry-webhook out/rehearsals/2026-11`"),
    ] {
        workspace
            .say(command)
            .exits(2)
            .says("expected a campaign in out/, found only a rehearsal; to use it: ")
            .says(says);
    }
    // These only show it. A name is enough, and nothing else can be meant.
    for command in [&["export", "--to", "one"][..], &["export", "2026-11", "--to", "two"], &["report", "2026-11"]] {
        workspace.say(command).exits(0).says("INVENTED");
    }
    workspace.say(&words.replace("2026-11", "other").split(' ').collect::<Vec<_>>()).exits(0);
    let said = workspace.say(&["status"]).exits(2).says("found only rehearsals; to use it: `rescreen status out/");
    let command = said.stderr.split('`').nth(1).unwrap().to_owned();
    let said = workspace.say(&command.split(' ').skip(1).collect::<Vec<_>>()).exits(0);
    assert!(said.stdout.contains("campaign other"), "the last used first: {}", said.stdout);
    workspace.write("rescreen.toml", "campaign = \"2026-11\"\n");
    let said = workspace.say(&["status"]).exits(0);
    assert!(said.stdout.contains("campaign 2026-11"), "the rehearsal of the campaign file: {}", said.stdout);
    fs::remove_file(workspace.path().join("rescreen.toml")).unwrap();
    // README: rehearse, plan, run, status.
    workspace.run(&[]).exits(0);
    assert_eq!(campaign_of(&workspace, &[]), "2026-11");
    let said = workspace.say(&["status"]).exits(0);
    assert!(said.stdout.contains("production"), "{}", said.stdout);
}

#[cfg(unix)]
#[test]
fn a_folder_without_access_is_not_an_absent_campaign() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        return println!("SKIPPED: root may read every folder");
    }
    let workspace = Workspace::new(2);
    workspace.run(&[]).exits(0);
    for folder in ["out/2026-11", "out"] {
        let path = workspace.path().join(folder);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        for words in [&["status", "out/2026-11"][..], &["status"], &["collect", "out/2026-11"]] {
            let said = workspace.say(words);
            assert!(said.stderr.contains("permission denied") && !said.stderr.contains("creates"), "{}", said.stderr);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn a_mistake_in_a_command_with_inputs_names_the_campaign_file_that_was_read_too() {
    let workspace = Workspace::new(2);
    let words = ["run", "book.csv", "--check", "aml-screening", "--set", "entity=0", "--id", "no", "--simulate"];
    workspace.write("rescreen.toml", "[input]\nheader = false\n");
    let note = "the settings of rescreen.toml in this folder apply too";
    let said = workspace.say(&words).exits(2).says("the input has no column `no`").says(note);
    let plan: Vec<&str> = ["plan"].into_iter().chain(words[1..].iter().copied()).collect();
    workspace.say(&plan).exits(2).says(note);
    assert_eq!(said.stderr.matches(note).count(), 1, "{}", said.stderr);
    workspace.write("own.toml", "");
    let own =
        workspace.say(&[&words[..], &["-c", "own.toml", "--map", "name=absent"]].concat()).says("no column `absent`");
    assert!(own.code == 2 && !own.stderr.contains(note), "the file was named: {}", own.stderr);
    fs::remove_file(workspace.path().join("rescreen.toml")).unwrap();
    let alone = workspace.say(&[&words[..], &["--map", "name=absent"]].concat()).exits(2);
    assert!(!alone.stderr.contains(note), "no campaign file exists: {}", alone.stderr);
}
