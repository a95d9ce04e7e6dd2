//! Published files are compared with their manifest, with the ledger and with evidence; and when evidence can be made.

use super::{desk, files, json, made, run, sha256, verify};
use crate::support::{
    door::{Act, Door, Step},
    program::{Said, UnderWay, rescreen, wait_until},
    schema::valid,
};
use std::fs;

#[test]
fn published_files_are_compared_with_the_manifest_the_ledger_and_the_evidence() {
    let (folder, _service, _path) = made(&[]);
    let out = folder.path().join("out/2026-11");
    folder.say(&["verify", "out/2026-11"]).exits(0).says("that the manifest of out/2026-11 names");
    folder.say(&["verify", "shown", "--outputs", "out/2026-11"]).exits(0);
    let seal = verify(&folder.path().join("shown")).seal.unwrap();
    folder.say(&["verify", "out/2026-11", "--seal", &seal]).exits(2).says("expected evidence for --seal and --outputs");
    folder.say(&["verify", "shown", "--seal", &seal[1..]]).exits(2).says("expected 64 hexadecimal digits");
    for other in [".", "book.csv"] {
        folder.say(&["verify", other]).exits(2).says("found neither");
    }

    let whole = files(&out);
    let part = whole.keys().find(|name| name.starts_with("results/aml/")).unwrap();
    let mut bytes = whole[part].clone();
    bytes[200] ^= 1;
    fs::write(out.join(part), &bytes).unwrap();
    fs::write(out.join("results/aml/part-000009.parquet"), "").unwrap();
    let said = folder.say(&["verify", "shown", "--outputs", "out/2026-11", "--json"]).exits(1);
    let object = valid(&said.stdout);
    let faults: Vec<&str> =
        object["faults"].as_array().unwrap().iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert_eq!(faults, [part.as_str(), "results/aml/part-000009.parquet"]);
    folder.say(&["evidence", "2026-11", "--to", "again"]).exits(11).says(part);
    assert!(!folder.path().join("again").exists());
    fs::remove_file(out.join("results/aml/part-000009.parquet")).unwrap();

    // A manifest that describes the changed part is found by the ledger, and by the evidence.
    let manifest = String::from_utf8(whole["manifest.json"].clone()).unwrap();
    fs::write(out.join("manifest.json"), manifest.replace(&sha256(&whole[part]), &sha256(&bytes))).unwrap();
    folder.say(&["verify", "out/2026-11"]).exits(1).says("manifest.json does not describe it as the ledger does");
    fs::rename(out.join("ledger.sqlite"), folder.path().join("kept")).unwrap();
    folder.say(&["verify", "out/2026-11"]).exits(0).says("evidence shows whether the manifest is");
    folder.say(&["verify", "shown", "--outputs", "out/2026-11"]).exits(1).says("it is not the one in the evidence");
    // Another user, or another release, cannot read the ledger. The files are still as they were.
    fs::write(out.join("ledger.sqlite"), "no ledger").unwrap();
    folder.say(&["verify", "out/2026-11"]).exits(0).says("the ledger beside the files was not compared: ");
}

#[test]
fn a_part_that_a_killed_run_did_not_publish_is_no_change() {
    let (folder, _service, _path) = made(&[]);
    let out = folder.path().join("out/2026-11");
    let mut manifest = json(&out.join("manifest.json"));
    manifest["complete"] = false.into();
    let aml = manifest["datasets"].as_array_mut().unwrap().iter_mut().find(|one| one["check"] == "aml").unwrap();
    aml["parts"].as_array_mut().unwrap().clear();
    fs::write(out.join("manifest.json"), manifest.to_string()).unwrap();
    let said = folder.say(&["verify", "out/2026-11"]).exits(0);
    said.says("the ledger has 1 file that manifest.json does not name, as after a run that was killed");
}

#[test]
fn evidence_of_an_unfinished_campaign_says_so_and_none_is_made_during_a_run_or_of_older_files() {
    let (folder, service) = desk();
    run(&folder, &service, &["--limit", "10"]).exits(9);
    let said = folder.say(&["evidence", "2026-11", "--to", "part"]).exits(0);
    said.says("the campaign is not complete, and the evidence says so");
    folder.say(&["verify", "part"]).exits(0).says("not complete: 10 rows");
    folder
        .say(&["evidence", "2026-11", "--to", "part"])
        .exits(2)
        .says("expected a folder that does not exist, found a folder");
    folder
        .say(&["evidence", "2026-11", "--to", "book.csv"])
        .exits(2)
        .says("expected a folder that does not exist, found a file");
    folder.say(&["evidence", "2026-11", "--by", " "]).exits(2).says("expected the name of the person");
    let inside = folder.say(&["evidence", "2026-11", "--to", "out/2026-11/results/shown"]).exits(2);
    inside.says("expected a place outside the published files of");
    Said::of(&mut rescreen(&folder.path().join("out/2026-11"), &["evidence", "."])).exits(0);
    folder.say(&["verify", "out/2026-11.evidence"]).exits(0);
    fs::remove_file(folder.path().join("out/2026-11/manifest.json")).unwrap();
    folder.say(&["evidence", "2026-11", "--to", "more"]).exits(2).says("found no manifest.json; name their folder");

    let door = Door::open(|seen, _| if seen.step == Step::Check { Act::Stall } else { Act::Pass });
    let words = ["run", "--yes", "--campaign", "2026-12", "--service", &door.url];
    let under_way = UnderWay::start(&mut rescreen(folder.path(), &words));
    wait_until("a request waits for its reply", || !door.seen(Step::Check).is_empty());
    folder.say(&["evidence", "2026-12", "--to", "more"]).exits(2).says("a run is under way");
    folder.say(&["verify", "out/2026-12"]).exits(2).says("a run is under way");
    under_way.signal("KILL");
    assert!(!folder.path().join("more").exists());
}
