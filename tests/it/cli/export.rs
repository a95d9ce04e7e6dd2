//! A corrected declaration on the command line: plan and status name it, and export publishes what it says.

use super::{Said, Workspace};
use rescreen::{
    catalogue::{Catalogue, Declaration},
    model::Verdict,
};
use serde_json::Value;
use std::{collections::BTreeMap, fs};

/// Writes a campaign file with a changed declaration.
fn declares(workspace: &Workspace, name: &str, change: impl FnOnce(&mut Declaration)) {
    let mut declaration = Catalogue::built_in().get("aml-screening").unwrap().clone();
    change(&mut declaration);
    let file = BTreeMap::from([("declaration", vec![declaration])]);
    workspace.write(name, &toml::to_string(&file).unwrap());
}

fn strict(declaration: &mut Declaration) {
    declaration.verdict.rules.clear();
    declaration.verdict.otherwise.verdict = Verdict::Review;
    declaration.verdict.otherwise.finding = "strict".into();
}

/// The findings in the result files below a folder of JSON Lines.
fn findings(workspace: &Workspace, folder: &str) -> Vec<String> {
    let part = workspace.path().join(folder).join("results/aml-screening/part-000001.jsonl");
    let text = fs::read_to_string(part).unwrap();
    let line = |line: &str| serde_json::from_str::<Value>(line).unwrap()["finding"].as_str().unwrap().to_owned();
    text.lines().map(line).collect()
}

#[test]
fn an_export_is_judged_by_the_named_file_and_overwrites_nothing() {
    let workspace = Workspace::new(5);
    workspace.run(&["--format", "jsonl"]).exits(0);
    declares(&workspace, "strict.toml", strict);
    let said = workspace.say(&["export", "out/2026-11", "--to", "exported", "-c", "strict.toml"]).exits(0);
    assert!(said.stderr.contains("5 results, 0 failures, 0 pending"), "{}", said.stderr);
    assert_eq!(findings(&workspace, "exported"), ["strict"; 5]);
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(workspace.path().join("exported")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "only the owner reads an export");
    let manifest: Value =
        serde_json::from_slice(&fs::read(workspace.path().join("exported/manifest.json")).unwrap()).unwrap();
    assert_eq!((&manifest["complete"], &manifest["declared"][0]["differs"][0]), (&true.into(), &"verdict".into()));
    let again = workspace.say(&["export", "out/2026-11", "--to", "exported"]).exits(2);
    assert!(again.stderr.contains("expected a folder that does not exist"), "{}", again.stderr);
    let inside = workspace.say(&["export", "out/2026-11", "--to", "out/2026-11/results/more"]).exits(2);
    assert!(inside.stderr.contains("2026-11"), "{}", inside.stderr);
    let plain = workspace.say(&["export", "out/2026-11", "--to", "plain"]).exits(0);
    assert!(plain.stderr.contains("exported to: plain"), "{}", plain.stderr);
    assert_eq!(findings(&workspace, "plain"), findings(&workspace, "out/2026-11"), "the campaign is unchanged");
    assert_eq!(workspace.service.simulator.stats().charges, 5);
}

#[test]
fn plan_status_and_the_report_name_a_declaration_of_the_user_and_what_it_changes() {
    let workspace = Workspace::new(4);
    workspace.run(&[]).exits(0);
    declares(&workspace, "rescreen.toml", |declaration| {
        strict(declaration);
        declaration.verdict.recognised = "payload.nowhere is defined".into();
    });
    workspace.write("book.csv", &crate::support::world::book(1..=6));
    let plan = Said::of(&mut workspace.production("plan", &[])).exits(0);
    assert!(plan.stdout.contains("declared by you aml-screening (differs in verdict)"), "{}", plan.stdout);
    let ran = workspace.run(&[]).exits(8);
    assert!(ran.stderr.contains("2 rows have an answer that no rule recognises"), "{}", ran.stderr);
    assert!(ran.stderr.contains("4 results are judged differently"), "{}", ran.stderr);
    assert!(ran.stderr.contains("continue with: rescreen run"), "{}", ran.stderr);
    let status = workspace.say(&["status", "out/2026-11"]).exits(0).stdout;
    for line in [
        "judged differently by the current declaration: 4",
        "declared by you aml-screening (differs in verdict)",
        "answered and paid for, but no rule recognises the answer",
    ] {
        assert!(status.contains(line), "{line} in {status}");
    }
    let json = workspace.say(&["status", "out/2026-11", "--json"]).exits(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["unrecognised"], &json["judged_differently"]), (&2.into(), &4.into()));
    workspace.say(&["collect", "out/2026-11"]).exits(8);
    workspace.say(&["collect", "out/2026-11", "--accept-unrecognised"]).exits(0);
    assert_eq!(workspace.service.simulator.stats().charges, 6, "every answer is paid for once");
}

#[test]
fn a_rule_that_does_not_compile_is_refused_before_it_is_recorded() {
    let workspace = Workspace::new(3);
    workspace.run(&["--format", "jsonl"]).exits(0);
    let own = fs::read_to_string(workspace.path().join("rescreen.toml")).unwrap_or_default();
    declares(&workspace, "broken.toml", |declaration| {
        declaration.verdict.recognised = "payload.match is defined and".into();
    });
    let said = workspace.say(&["collect", "out/2026-11", "-c", "broken.toml"]).exits(2);
    let expected = "verdict rule `recognised` of check `aml-screening`";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    workspace.say(&["collect", "out/2026-11"]).exits(0);
    declares(&workspace, "rescreen.toml", |declaration| declaration.verdict.rules[0].when = "payload.match ==".into());
    let said = workspace.run(&["--format", "jsonl"]).exits(2);
    assert!(said.stderr.contains("verdict rule with the finding `"), "{}", said.stderr);
    workspace.write("rescreen.toml", &own);
    workspace.say(&["collect", "out/2026-11"]).exits(0);
    workspace.say(&["export", "out/2026-11", "--to", "exported"]).exits(0);
    assert_eq!(findings(&workspace, "exported").len(), 3);
}

#[test]
fn the_unfinished_folders_of_killed_exports_are_removed_and_those_in_use_stay() {
    let workspace = Workspace::new(2);
    workspace.run(&["--format", "jsonl"]).exits(0);
    let folder = |name: &str| {
        let folder = workspace.path().join(format!(".rescreen-export-{name}"));
        fs::create_dir_all(folder.join("results")).unwrap();
        fs::write(folder.join("results/part.jsonl"), "{}").unwrap();
        folder
    };
    let (killed, running, unmarked, elsewhere) = (folder("a"), folder("b"), folder("c"), folder("d"));
    fs::write(killed.join(".in-use"), "").unwrap();
    let lock = fs::File::create(running.join(".in-use")).unwrap();
    lock.try_lock().unwrap();
    fs::remove_dir_all(&elsewhere).unwrap();
    fs::create_dir(workspace.path().join("other")).unwrap();
    fs::write(workspace.path().join("other/.in-use"), "").unwrap();
    std::os::unix::fs::symlink(workspace.path().join("other"), &elsewhere).unwrap();
    workspace.say(&["export", "out/2026-11", "--to", "exported"]).exits(0);
    let left = [&killed, &running, &unmarked, &elsewhere].map(|folder| fs::symlink_metadata(folder).is_ok());
    assert_eq!(left, [false, true, true, true], "in use, just begun, or no folder");
    assert!(workspace.path().join("other/.in-use").exists() && running.join("results/part.jsonl").exists());
    assert!(!workspace.path().join("exported/.in-use").exists());
    // One that has no mark is from an older release. It is removed after a day.
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3_600);
    fs::File::open(&unmarked).unwrap().set_modified(yesterday).unwrap();
    workspace.say(&["export", "out/2026-11", "--to", "again"]).exits(0);
    assert!(!unmarked.exists());
}
