//! What the program prints: no secret and no subject is in any byte that it writes outside its outputs and its ledger.

use crate::support::{
    API_KEY,
    program::{Said, rescreen},
    service::{Service, lifted},
    tables::files,
};
use rescreen::simulator::Settings;
use std::{fs, path::Path};

const KEY_SECRET: &str = "planted-key-secret-9f2";
/// An invented ID number with a valid checksum.
const ID_NUMBER: &str = "8001015009087";
const NAME: &str = "Vexford";

fn campaign(folder: &Path, url: &str) {
    let text = format!(
        "campaign = \"2026-11\"\nmode = \"production\"\n[service]\nurl = \"{url}\"\nper_minute = 600_000\n\
         per_minute_max = 900_000\n[keys]\nsecret = {{ env = \"KEY_SECRET\" }}\n[input]\npaths = [\"book.csv\"]\nid = \"no\"\n\
         [budget]\nmax_credits = 1000\nprices = {{ aml-screening = 1, said-verification = 1 }}\n[[check]]\n\
         use = \"aml-screening\"\nfields.name = \"name\"\nfields.entity = {{ value = 0 }}\n\
         fields.country = {{ value = \"za\" }}\n[[check]]\nuse = \"said-verification\"\nfields.idNumber = \"id\"\n"
    );
    fs::write(folder.join("rescreen.toml"), text).unwrap();
}

fn say(folder: &Path, words: &[&str]) -> Said {
    Said::of(rescreen(folder, words).env("KEY_SECRET", KEY_SECRET))
}

#[test]
fn planted_markers_are_in_no_byte_outside_outputs_and_ledger() {
    let faults =
        "error500:0.1,html:0.1,drop_after:0.1,truncate:0.1,drop_before:0.05,pending:0.05,rate429:0.02:1,error502:0.05";
    let service = Service::start(Settings { faults: faults.parse().unwrap(), ..lifted() });
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("no,name,id\n");
    for number in 1..=20 {
        text += &format!("{number},P{number} {NAME},{ID_NUMBER}\n");
    }
    text += &format!("21,{NAME}\n22,\"{NAME}\u{0}\",{ID_NUMBER}\n23,{NAME},{ID_NUMBER}9\n24,,{ID_NUMBER}x\n");
    fs::write(folder.path().join("book.csv"), text).unwrap();
    campaign(folder.path(), &service.url);
    let run = ["run", "--config", "rescreen.toml", "--yes", "-vv", "--max-errors", "100%", "--for", "10s"];
    let mut said = String::new();
    for _ in 0..2 {
        let Said { stdout, stderr, .. } = say(folder.path(), &run);
        said += &(stdout + &stderr);
    }
    for words in [&["status", "--json"][..], &["status", "-vv"], &["resolve", "--list", "-vv"]] {
        let Said { stdout, stderr, .. } = say(folder.path(), words);
        said += &(stdout + &stderr);
    }
    let plan = say(folder.path(), &["plan", "--config", "rescreen.toml", "--show", "20", "-vv"]);
    // The service may fail to tell the balance, too.
    assert!([0, 10].contains(&plan.code), "{}{}", plan.stdout, plan.stderr);
    said += &(plan.stdout + &plan.stderr);
    let out = folder.path().join("out");
    for file in files(&out, "") {
        said += &format!("{}\n", file.display());
        let bytes = fs::read(out.join(&file)).unwrap();
        for secret in [API_KEY, KEY_SECRET] {
            assert!(!bytes.windows(secret.len()).any(|found| found == secret.as_bytes()), "{}", file.display());
        }
    }
    for marker in [API_KEY, KEY_SECRET, ID_NUMBER, NAME] {
        assert!(!said.contains(marker), "{marker} in:\n{said}");
    }
    assert!(said.contains("attempt"), "it spoke of its attempts:\n{said}");
}
