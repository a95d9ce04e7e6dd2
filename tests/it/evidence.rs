//! The promise: evidence shows who asked what, when and at what cost, without names or answers; any later change to it is found,
//! and so is one to the published files; and its counts add up to the input.

mod published;

use crate::support::{
    folder::Folder,
    program::Said,
    rng::Rng,
    schema::valid,
    service::{Service, lifted},
    tables,
};
use rescreen::{
    model::{chain, key::hex},
    pipeline::{self, Verified, VerifyOrder},
    sink::DatasetKind,
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

/// A desk with a campaign of 90 customers, and one line that cannot be read.
fn desk() -> (Folder, Service) {
    (Folder::with_customers("2026-11", ""), Service::start(lifted()))
}

fn run(folder: &Folder, service: &Service, more: &[&str]) -> Said {
    folder.say(&[&["run", "--yes", "--service", &service.url], more].concat())
}

/// A campaign that has ended, and its evidence.
fn made(more: &[&str]) -> (Folder, Service, PathBuf) {
    let (folder, service) = desk();
    run(&folder, &service, &[]).exits(3);
    folder.say(&[&["evidence", "2026-11", "--to", "shown"], more].concat()).exits(0);
    let path = folder.path().join("shown");
    (folder, service, path)
}

fn verify(path: &Path) -> Verified {
    pipeline::verify(&VerifyOrder { path, seal: None, outputs: None }).unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The files below a folder, by their paths.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = rescreen::files::files_in(folder).unwrap();
    paths.into_iter().map(|path| (path.clone(), fs::read(folder.join(path)).unwrap())).collect()
}

#[test]
fn evidence_has_the_counts_the_trail_the_settings_and_the_person_and_no_name_or_answer() {
    let (folder, service) = desk();
    // The first run has another limit of credits, so there are two campaign files.
    run(&folder, &service, &["--limit", "40", "--max-credits", "5000"]).exits(9);
    run(&folder, &service, &["--carry", "vehicle"]).exits(2);
    run(&folder, &service, &[]).exits(3);
    let said = folder.say(&["evidence", "2026-11", "--by", "N. Dube", "--json"]).exits(0);
    let object = valid(&said.stdout);
    let path = folder.path().join("out/2026-11.evidence");
    assert_eq!(object["path"], "out/2026-11.evidence");

    let facts = json(&path.join("evidence.json"));
    assert_eq!(
        (&facts["made_by"], &facts["complete"], &facts["campaign"]),
        (&"N. Dube".into(), &true.into(), &"2026-11".into())
    );
    let asks = lines(&path.join("asks.jsonl"));
    let count = |dataset: &str, check: &str| {
        asks.iter().filter(|ask| ask["dataset"] == dataset && ask["check"] == check).count() as u64
    };
    for check in facts["checks"].as_array().unwrap() {
        let name = check["check"].as_str().unwrap();
        let found = ["results", "failures", "pending", "skipped"].map(|dataset| count(dataset, name));
        assert_eq!(
            found,
            ["results", "failures", "pending", "skipped"].map(|dataset| check[dataset].as_u64().unwrap())
        );
        assert_eq!(found.iter().sum::<u64>(), 90);
    }
    assert_eq!((count("results", "aml"), count("failures", "aml"), count("skipped", "vin")), (87, 3, 72));
    let unreadable: Vec<&Value> = asks.iter().filter(|ask| ask["check"].is_null()).collect();
    assert_eq!(
        (unreadable.len(), &unreadable[0]["failure"], &unreadable[0]["row"]),
        (1, &"ragged_row".into(), &91.into())
    );
    assert_eq!(facts["input"]["rows"], 91);

    // The requests are those that arrived, with their charges.
    let requests = lines(&path.join("requests.jsonl"));
    let sent: u64 = requests.iter().map(|request| request["sent"].as_u64().unwrap()).sum();
    let charged: u64 = requests.iter().map(|request| request["charged"].as_u64().unwrap()).sum();
    assert_eq!((sent, charged), (service.checks_arrived(), service.simulator.stats().credits_charged));
    assert_eq!(facts["requests"]["credits_charged"], charged);
    assert_eq!(object["credits"], charged);
    assert!(
        requests.iter().all(|request| request["answer"]["sha256"].as_str().is_some_and(|digest| digest.len() == 64))
    );

    // Each run names its person and its campaign file, without a secret.
    let runs = facts["runs"].as_array().unwrap();
    assert!(runs.iter().all(|run| !run["started_by"].as_str().unwrap().is_empty()), "{runs:?}");
    let file = |run: &Value| fs::read_to_string(path.join(run["campaign_file"].as_str().unwrap())).unwrap();
    assert!(
        file(&runs[0]).contains("max_credits = 5000\n") && file(runs.last().unwrap()).contains("max_credits = 100000"),
        "{runs:?}"
    );
    let checks = json(&path.join("checks.json"));
    assert_eq!(checks["checks"][0]["declaration"]["name"], "aml-screening");
    let rules = checks["checks"][0]["parts"][0]["rules"].as_str().unwrap();
    assert!(checks["rules"][rules]["verdict"].is_object(), "{}", checks["rules"]);

    let page = fs::read_to_string(path.join("index.html")).unwrap();
    for part in ["Evidence of rescreen", "What this is", "N. Dube", "--seal", "Who ran what, and when"] {
        assert!(page.contains(part), "{part}");
    }
    let results = tables::lines(&folder.path().join("out/2026-11"), DatasetKind::Results);
    let answers: Vec<&str> = results.iter().map(|row| row["answer"].as_str().unwrap()).collect();
    for (name, bytes) in files(&path) {
        let text = String::from_utf8(bytes).unwrap();
        for personal in ["Vexford", "C-0", "AAVZZZ"] {
            assert!(!text.contains(personal), "{name} has {personal}");
        }
        assert!(answers.iter().all(|answer| !text.contains(answer)), "{name} has an answer");
    }
}

#[test]
fn each_of_a_thousand_changed_bytes_is_found_and_its_file_is_named() {
    let (folder, _service, path) = made(&["--with-outputs"]);
    folder.say(&["evidence", "2026-11", "--to", "shown.zip", "--with-outputs"]).exits(0);
    let archive = folder.path().join("shown.zip");
    assert_eq!((verify(&path).faults, verify(&archive).faults), (Vec::new(), Vec::new()));
    let mut rng = Rng::new(34);
    let mut change = |path: &Path| {
        let before = fs::read(path).unwrap();
        let mut bytes = before.clone();
        let at = rng.below(bytes.len());
        bytes[at] ^= 1 << rng.below(8);
        fs::write(path, bytes).unwrap();
        (before, at)
    };
    let names: Vec<String> = files(&path).into_keys().collect();
    assert_eq!(names.len(), 14, "{names:?}");
    for round in 0..700 {
        let name = &names[round % names.len()];
        let (before, at) = change(&path.join(name));
        let faults = verify(&path).faults;
        assert!(faults.iter().any(|fault| fault.file == *name), "byte {at} of {name}: {faults:?}");
        assert_eq!(faults.len(), 1, "byte {at} of {name}: {faults:?}");
        if name.ends_with(".jsonl") {
            let line = before[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            // A change that removes the end of a line is reported with that line.
            assert!(faults[0].fault.contains(&format!("line {line}: ")), "byte {at} of {name}: {faults:?}");
        }
        fs::write(path.join(name), before).unwrap();
    }
    for _ in 0..300 {
        let (before, at) = change(&archive);
        let faults = verify(&archive).faults;
        assert!(faults.iter().any(|fault| fault.file == "shown.zip"), "byte {at}: {faults:?}");
        fs::write(&archive, before).unwrap();
    }
    assert_eq!((verify(&path).faults, verify(&archive).faults), (Vec::new(), Vec::new()));
}

#[test]
fn a_file_that_is_missing_added_longer_shorter_or_a_link_is_named() {
    let (folder, _service, path) = made(&[]);
    let whole = files(&path);
    let asks = path.join("asks.jsonl");
    let cases: [(&str, &dyn Fn(), &str); 7] = [
        ("evidence.json", &|| fs::remove_file(path.join("evidence.json")).unwrap(), "it is missing"),
        ("SHA256SUMS", &|| fs::remove_file(path.join("SHA256SUMS")).unwrap(), "No such file"),
        ("campaign/2.toml", &|| fs::write(path.join("campaign/2.toml"), "").unwrap(), "it was added"),
        ("asks.jsonl", &|| fs::write(&asks, [&whole["asks.jsonl"][..], b"{}\n"].concat()).unwrap(), "line 182: "),
        ("asks.jsonl", &|| fs::write(&asks, &whole["asks.jsonl"][..900]).unwrap(), "expected a whole line"),
        ("asks.jsonl", &|| fs::write(&asks, "").unwrap(), "it was changed"),
        (
            "asks.jsonl",
            &|| {
                fs::rename(&asks, folder.path().join("elsewhere")).unwrap();
                std::os::unix::fs::symlink(folder.path().join("elsewhere"), &asks).unwrap();
            },
            "found a symbolic link",
        ),
    ];
    for (file, change, wanted) in cases {
        change();
        let said = folder.say(&["verify", "shown", "-q"]).exits(1);
        said.says(&format!("{file}: ")).says(wanted).says("CHANGED: shown is not as it was made");
        fs::remove_dir_all(&path).unwrap();
        for (name, bytes) in &whole {
            fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            fs::write(path.join(name), bytes).unwrap();
        }
    }
    folder.say(&["verify", "shown"]).exits(0).says("unchanged: 7 files of shown");
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Computes all digests again, as a forger would.
fn seal_again(path: &Path) {
    let mut text = fs::read_to_string(path.join("SHA256SUMS")).unwrap().lines().next().unwrap().to_owned() + "\n";
    for (name, bytes) in files(path).into_iter().filter(|(name, _)| name != "SHA256SUMS") {
        writeln!(text, "{}  {name}", sha256(&bytes)).unwrap();
    }
    let seal = sha256(text.as_bytes());
    writeln!(text, "# seal {seal}").unwrap();
    fs::write(path.join("SHA256SUMS"), text).unwrap();
}

/// Replaces text in a file of chained lines, makes its chain anew, and states its new end.
fn rechain(path: &Path, name: &str, from: &str, to: &str) {
    let (mut before, mut text) = (String::new(), String::new());
    for line in fs::read_to_string(path.join(name)).unwrap().lines() {
        let object = format!("{}}}", line.rsplit_once(",\"chain\":").unwrap().0).replace(from, to);
        let (line, chain) = chain::line(&object, &before);
        before = chain;
        text = text + &line + "\n";
    }
    fs::write(path.join(name), text).unwrap();
    let mut facts = json(&path.join("evidence.json"));
    facts[name.replace(".jsonl", "_end")]["chain"] = before.into();
    fs::write(path.join("evidence.json"), facts.to_string()).unwrap();
}

#[test]
fn who_makes_all_digests_anew_is_found_by_the_seal_and_by_counts_that_do_not_add_up() {
    let (folder, _service, path) = made(&["--json"]);
    let seal = verify(&path).seal.unwrap();
    folder.say(&["verify", "shown", "--seal", &seal.to_uppercase()]).exits(0);
    // A failure becomes a result, a charge less, a row of another part.
    let part = "results/aml/part-000001.parquet";
    for (name, from, to, wanted) in [
        (
            "asks.jsonl",
            "\"dataset\":\"failures\",\"failure\":\"missing_value\"",
            "\"dataset\":\"results\"",
            "counts of `aml`",
        ),
        ("requests.jsonl", "{\"request\":7,", "{\"request\":6,", "line 7: expected a request after 6"),
        ("requests.jsonl", "\"charged\":1", "\"charged\":0", "it does not add up: counts"),
        ("asks.jsonl", part, "results/aml/part-000002.parquet", "expected a part that the manifest names"),
    ] {
        let whole = files(&path);
        assert!(String::from_utf8_lossy(&whole[name]).contains(from), "{from}");
        rechain(&path, name, from, to);
        seal_again(&path);
        folder.say(&["verify", "shown"]).exits(1).says(&format!("{name}: ")).says(wanted);
        folder
            .say(&["verify", "shown", "--seal", &seal])
            .exits(1)
            .says(&format!("SHA256SUMS: expected the seal {seal}"));
        whole.iter().for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
    }
    folder.say(&["evidence", "2026-11", "--to", "whole", "--with-outputs"]).exits(0);
    let whole = folder.path().join("whole");
    fs::write(whole.join("outputs").join(part), "forged").unwrap();
    seal_again(&whole);
    folder
        .say(&["verify", "whole"])
        .exits(1)
        .says(&format!("outputs/{part}: it is not the one that the manifest names"));
    // What adds up is found by the seal alone.
    let page = fs::read_to_string(path.join("index.html")).unwrap();
    fs::write(path.join("index.html"), page.replace("2026-11", "2026-10")).unwrap();
    seal_again(&path);
    folder.say(&["verify", "shown"]).exits(0);
    folder.say(&["verify", "shown", "--seal", &seal]).exits(1).says("expected the seal");
}

#[test]
fn an_archive_that_readers_take_differently_is_found() {
    let (folder, _service, _path) = made(&["--with-outputs"]);
    folder.say(&["evidence", "2026-11", "--to", "shown.zip"]).exits(0);
    let whole = fs::read(folder.path().join("shown.zip")).unwrap();
    let seal = verify(&folder.path().join("shown.zip")).seal.unwrap();
    // A file before the others that only some readers see, and bytes that none sees.
    let mut forged = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    forged.start_file("index.html", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut forged, b"FORGED").unwrap();
    let forged = forged.finish().unwrap().into_inner();
    let entry = &forged[..forged.windows(4).position(|four| four == b"PK\x01\x02").unwrap()];
    for before in [entry, &[0; 800]] {
        let mut bytes = [before, &whole[..whole.len() - 64]].concat();
        bytes.extend(sha256(&bytes).as_bytes());
        fs::write(folder.path().join("forged.zip"), bytes).unwrap();
        folder.say(&["verify", "forged.zip", "--seal", &seal]).exits(1).says("forged.zip: ");
    }
    // An archive that was cut has no list of its files.
    for bytes in [4, 1_000, whole.len() - 1] {
        fs::write(folder.path().join("cut.zip"), &whole[..bytes]).unwrap();
        folder.say(&["verify", "cut.zip"]).exits(1).says("cut.zip: ");
    }
}
