//! The promise: a purge leaves no trace of the persons it means, in the ledger with its free pages or in the outputs; what was asked,
//! when, by whom and at what cost stays, and adds up; and nothing that is gone can be paid for again.

mod interrupted;
mod traces;

use crate::{
    files::sample::png,
    support::{
        folder::{CUSTOMERS, Folder, customer_name, is_the_first},
        program::{Said, UnderWay, rescreen},
        schema::valid,
        service::{Service, lifted},
        tables,
    },
};
use rescreen::{
    pipeline::{self, VerifyOrder},
    sink::DatasetKind,
};
use rusqlite::Connection;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use traces::{dictionaries, traces};

/// A desk with a campaign of 90 customers, and one line that cannot be read.
fn desk(more: &str) -> (Folder, Service) {
    (Folder::with_customers("2021-11", more), Service::start(lifted()))
}

fn run(folder: &Folder, service: &Service, more: &[&str]) -> Said {
    folder.say(&[&["run", "--yes", "--service", &service.url], more].concat())
}

fn out(folder: &Folder) -> PathBuf {
    folder.path().join("out/2021-11")
}

/// The words that name a subject, with the keys and the bodies of the requests that only it has.
fn words_of(ledger: &Path, number: usize) -> Vec<Vec<u8>> {
    let mut words = vec![format!("C-{number:03}").into_bytes()];
    words.push(format!("AAVZZZ6SZEU{number:06}").into_bytes());
    if !is_the_first(number) && !customer_name(number).is_empty() {
        words.push(customer_name(number).into_bytes());
    }
    let conn = Connection::open(ledger).unwrap();
    let sql = "SELECT first_key, digest FROM request WHERE body LIKE '%' || ?1 || '%' OR body LIKE '%' || ?2 || '%'";
    let mut select = conn.prepare(sql).unwrap();
    let vin = format!("AAVZZZ6SZEU{number:06}");
    let mine = if is_the_first(number) || customer_name(number).is_empty() {
        "no such name".to_owned()
    } else {
        customer_name(number)
    };
    let mut rows = select.query([mine, vin]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let (key, digest): (Vec<u8>, Vec<u8>) = (row.get(0).unwrap(), row.get(1).unwrap());
        let hex = rescreen::model::key::hex(&key);
        words.push(uuid::Uuid::from_slice(&key).unwrap().to_string().into_bytes());
        words.extend([key, digest, hex.into_bytes()]);
    }
    words
}

/// The files that have a word of a subject.
fn found(folder: &Folder, words: &[Vec<u8>], known: &[Vec<u8>]) -> BTreeMap<String, Vec<String>> {
    traces(&out(folder), words, known)
}

fn manifest(folder: &Folder) -> Value {
    serde_json::from_slice(&fs::read(out(folder).join("manifest.json")).unwrap()).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Makes evidence, verifies it and returns the lines of its asks and its requests.
fn evidence(folder: &Folder, name: &str) -> (Value, Vec<Value>, Vec<Value>) {
    folder.say(&["evidence", "2021-11", "--to", name]).exits(0);
    let path = folder.path().join(name);
    let verified = pipeline::verify(&VerifyOrder { path: &path, seal: None, outputs: Some(&out(folder)) }).unwrap();
    assert!(verified.faults.is_empty(), "{:?}", verified.faults);
    let facts = serde_json::from_slice(&fs::read(path.join("evidence.json")).unwrap()).unwrap();
    (facts, lines(&path.join("asks.jsonl")), lines(&path.join("requests.jsonl")))
}

/// What the ledger keeps of requests: when each was sent, how it ended and what it cost.
fn kept(requests: &[Value]) -> Vec<Vec<Value>> {
    let columns = ["request", "check", "state", "charged", "sent", "attempts"];
    requests.iter().map(|request| columns.map(|column| request[column].clone()).to_vec()).collect()
}

#[test]
fn a_purged_campaign_has_no_trace_of_its_persons_and_its_trail_adds_up() {
    for format in ["jsonl", "parquet"] {
        let (folder, service) = desk(&format!("[output]\nformat = \"{format}\"\nanswer = \"dataset\"\n"));
        run(&folder, &service, &[]).exits(3);
        let ledger = out(&folder).join("ledger.sqlite");
        let known = dictionaries(&ledger);
        assert!(!known.is_empty(), "the answers have a dictionary");
        let words: Vec<Vec<u8>> = (0..CUSTOMERS).flat_map(|number| words_of(&ledger, number)).collect();
        let words = [words, vec![b"Vexford".to_vec(), b"torn".to_vec()]].concat();
        let before = found(&folder, &words, &known);
        for place in
            ["ledger.sqlite", "failures.csv", "results/aml", "results/vin", "answers/", "failures/", "skipped/"]
        {
            assert!(before.keys().any(|path| path.starts_with(place)), "{place} has them before: {:?}", before.keys());
        }
        assert!(before["ledger.sqlite"].len() > 4 * CUSTOMERS, "{}", before["ledger.sqlite"].len());
        let (_, asks_before, requests_before) = evidence(&folder, "before");
        let sent = service.checks_arrived();

        let purge = ["purge", "2021-11", "--older-than", "0d", "--by", "N. Dube", "--reason", "5 years", "--json"];
        let object = valid(&folder.say(&purge).exits(0).stdout);
        assert_eq!((&object["rows"], &object["dry_run"]), (&91.into(), &false.into()));
        assert_eq!(found(&folder, &words, &known), BTreeMap::new(), "{format}");
        let conn = Connection::open(&ledger).unwrap();
        let free: i64 = conn.query_row("PRAGMA freelist_count", [], |row| row.get(0)).unwrap();
        assert_eq!((free, dictionaries(&ledger).len()), (0, 0));
        let sql = "SELECT count(*) FROM request WHERE verdict IS NOT NULL OR finding IS NOT NULL";
        assert_eq!(conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
        drop(conn);

        let (facts, asks, requests) = evidence(&folder, "after");
        assert_eq!(kept(&requests), kept(&requests_before), "the trail of the requests is the same");
        assert_eq!(asks.len(), asks_before.len());
        for (ask, before) in asks.iter().zip(&asks_before) {
            let same = ["source", "row", "check", "dataset", "request", "credits", "failure"];
            assert!(ask["purged"] == true && same.iter().all(|key| ask[key] == before[key]), "{ask} {before}");
        }
        assert!(requests.iter().all(|request| request["purged"] == true && request["answer"]["sha256"].is_null()));
        let purge = &facts["purges"][0];
        assert_eq!((&purge["purged_by"], &purge["reason"]), (&"N. Dube".into(), &"5 years".into()));
        let manifest = manifest(&folder);
        let totals = &manifest["totals"];
        assert!(manifest["complete"] == true && totals[0]["purged"] == 90 && totals[1]["purged"] == 90, "{manifest}");
        assert_eq!(manifest["input"]["purged_unreadable_rows"], 1);
        let credits: u64 = totals.as_array().unwrap().iter().map(|totals| totals["credits"].as_u64().unwrap()).sum();
        assert_eq!(credits, service.simulator.stats().credits_charged);
        // A query still finds tables.
        assert_eq!(tables::lines(&out(&folder), DatasetKind::Results).len(), 0);

        // Nothing is asked again, whatever is called.
        for words in
            [&["run", "--yes"][..], &["plan"], &["collect", "out/2021-11"], &["run", "--yes", "--retry", "all"]]
        {
            let said = folder.say(&[words, &["--service", &service.url]].concat()).exits(2);
            assert!(said.stderr.contains("was purged on") && said.stderr.contains("by N. Dube"), "{}", said.stderr);
        }
        let since = ["run", "--yes", "--campaign", "2026-11", "--changed-since", "2021-11", "--service", &service.url];
        let said = folder.say(&since).exits(2);
        assert!(said.stderr.contains("every row would be asked again"), "{}", said.stderr);
        assert_eq!(service.checks_arrived(), sent);
        let said = folder.say(&["status", "2021-11"]).exits(0);
        assert!(said.stdout.contains("by N. Dube: 5 years"), "{}", said.stdout);
        let said = folder.say(&["show", "2021-11"]).exits(0);
        assert!(said.stdout.contains("180 asks were purged"), "{}", said.stdout);
        folder.say(&["report", "2021-11", "--to", "report.html"]).exits(0);
        folder.say(&["export", "2021-11", "--to", "exported"]).exits(0);
        let said = folder.say(&["purge", "2021-11", "--older-than", "0d"]).exits(0);
        assert!(said.stderr.contains("nothing more to purge"), "{}", said.stderr);
    }
}

#[test]
fn a_purged_subject_leaves_no_trace_and_the_rows_of_others_stay_as_they_are() {
    for format in ["jsonl", "parquet"] {
        let (folder, service) = desk(&format!("[output]\nformat = \"{format}\"\nanswer = \"dataset\"\n"));
        run(&folder, &service, &[]).exits(3);
        let ledger = out(&folder).join("ledger.sqlite");
        let known = dictionaries(&ledger);
        // The first answers made the dictionary; 003 has no name, and 018 shares its name with others.
        let gone = [1, 5, 3, 18, 40];
        let words: Vec<Vec<u8>> = gone.iter().flat_map(|number| words_of(&ledger, *number)).collect();
        assert!(found(&folder, &words, &known)["ledger.sqlite"].len() > 20);
        let all = || -> Vec<tables::Line> {
            let kinds = [DatasetKind::Results, DatasetKind::Answers, DatasetKind::Failures, DatasetKind::Skipped];
            kinds.into_iter().flat_map(|kind| tables::lines(&out(&folder), kind)).collect()
        };
        let ids: Vec<String> = gone.iter().map(|number| format!("C-{number:03}")).collect();
        let before = all();
        let is_gone = |line: &&tables::Line| ids.iter().any(|id| line.get("subject") == Some(&id.as_str().into()));
        // Rows of answers have only the id of their result.
        let gone_results: Vec<Value> = before.iter().filter(is_gone).map(|line| line["result_id"].clone()).collect();
        assert!(gone_results.len() >= 10);
        let stay: Vec<_> = before.into_iter().filter(|line| !gone_results.contains(&line["result_id"])).collect();
        let (_, _, requests_before) = evidence(&folder, "before");

        let mut purge = vec!["purge", "2021-11", "--json"];
        ids.iter().for_each(|id| purge.extend(["--subject", id]));
        let object = valid(&folder.say(&purge).exits(0).stdout);
        // The request of 018 keeps its content: others have the same name.
        assert_eq!((&object["rows"], &object["asks"]), (&5.into(), &10.into()));
        assert_eq!(
            (&object["requests"], &object["shared_requests"], &object["unattributed_rows"]),
            (&5.into(), &1.into(), &1.into())
        );

        assert_eq!(found(&folder, &words, &known), BTreeMap::new(), "{format}");
        let conn = Connection::open(&ledger).unwrap();
        let free: i64 = conn.query_row("PRAGMA freelist_count", [], |row| row.get(0)).unwrap();
        assert_eq!(free, 0);
        drop(conn);
        assert!(all() == stay, "the other rows are not as they were: {format}");
        let (facts, asks, requests) = evidence(&folder, "after");
        assert_eq!(kept(&requests), kept(&requests_before));
        assert_eq!(asks.iter().filter(|ask| ask["purged"] == true).count(), 10);
        assert_eq!(requests.iter().filter(|request| request["purged"] == true).count(), 5);
        assert!(!facts.to_string().contains("C-"), "evidence does not say whose rows were purged");
        // The answers of the others can still be read: the dictionary was made anew.
        folder.say(&["export", "2021-11", "--to", "exported", "--format", "jsonl"]).exits(0);
        let exported = tables::lines(&folder.path().join("exported"), DatasetKind::Results);
        assert_eq!(exported.len(), tables::lines(&out(&folder), DatasetKind::Results).len());

        // A second purge keeps the first. It is refused as a whole while one of its subjects is not found.
        let said = folder.say(&["purge", "2021-11", "--subject", "C-007", "--subject", "C-O08"]).exits(2);
        assert!(said.stderr.contains("in the command: 2; nothing was purged"), "{}", said.stderr);
        folder.say(&["purge", "2021-11", "--subject", "  C-007 "]).exits(0);
        let said = folder.say(&["purge", "2021-11", "--subject", "C-007"]).exits(2);
        assert!(said.stderr.contains("found none") && !said.stderr.contains("C-007"), "{}", said.stderr);
        let (facts, _, again) = evidence(&folder, "again");
        assert_eq!(kept(&again), kept(&requests_before));
        assert_eq!(facts["purges"].as_array().unwrap().len(), 2);
        let key = |requests: &[Value], at: usize| requests[at]["key"].clone();
        assert_eq!(key(&again, 1), key(&requests, 1), "the mark of a request does not change again");
        // Those who are gone are asked again by a round that uses the answers of this one, which says so.
        let since = ["plan", "--campaign", "2026-11", "--changed-since", "2021-11", "--service", &service.url];
        let said = folder.say(&since);
        assert!(said.stderr.contains("12 asks were purged from"), "{}", said.stderr);
    }
}

#[test]
fn keys_that_are_made_with_a_secret_stay_and_others_become_random_marks() {
    let secret = "[keys]\nsecret = { env = \"RESCREEN_KEY_SECRET\" }\n";
    for (more, stays) in [("", false), (secret, true)] {
        let (folder, service) = desk(more);
        let with_secret = |words: &[&str]| {
            let mut command = rescreen(folder.path(), words);
            UnderWay::start(command.env("RESCREEN_KEY_SECRET", "k".repeat(40))).wait()
        };
        with_secret(&["run", "--yes", "--service", &service.url]).exits(3);
        let keys = |name: &str| -> Vec<Value> {
            evidence(&folder, name).2.iter().map(|request| request["key"].clone()).collect()
        };
        let before = keys("before");
        folder.say(&["purge", "2021-11", "--older-than", "0d"]).exits(0);
        let after = keys("after");
        let same = before.iter().filter(|key| after.contains(key)).count();
        assert_eq!(same, if stays { before.len() } else { 0 });
    }
}

#[test]
fn a_campaign_that_is_not_complete_not_old_enough_or_not_meant_stays_as_it_is() {
    let (folder, service) = desk("");
    run(&folder, &service, &["--limit", "40"]).exits(9);
    let refused = folder.say(&["purge", "2021-11", "--older-than", "0d"]).exits(2);
    assert!(refused.stderr.contains("only a complete campaign"), "{}", refused.stderr);
    run(&folder, &service, &[]).exits(3);
    let files = || -> BTreeMap<String, Vec<u8>> {
        // Opening a ledger for reading leaves it as it is; its index of the log may come and go.
        let names =
            rescreen::files::files_in(&out(&folder)).unwrap().into_iter().filter(|name| !name.ends_with("-shm"));
        names.map(|name| (name.clone(), fs::read(out(&folder).join(name)).unwrap())).collect()
    };
    let before = files();
    let said = folder.say(&["purge", "2021-11", "--older-than", "5y"]).exits(0);
    assert!(said.stderr.contains("reaches this age on"), "{}", said.stderr);
    let dry = folder.say(&["purge", "2021-11", "--older-than", "0d", "--dry-run", "--json"]).exits(0);
    let object = valid(&dry.stdout);
    assert_eq!((&object["rows"], &object["dry_run"]), (&91.into(), &true.into()));
    let said = folder.say(&["purge", "2021-11", "--subject", "C-999"]).exits(2);
    assert!(said.stderr.contains("found none"), "{}", said.stderr);
    for wrong in [
        &["--older-than", "soon"][..],
        &[],
        &["--older-than", "0d", "--subject", "C-001"],
        &["--older-than", "0d", "--by", " "],
    ] {
        folder.say(&[&["purge", "2021-11"], wrong].concat()).exits(2);
    }
    assert_eq!(files(), before);
    // The copies beside it are named.
    folder.say(&["evidence", "2021-11"]).exits(0);
    let copies = object["copies"].as_array().unwrap();
    assert!(copies.iter().any(|copy| copy == "input: book.csv"), "{copies:?}");
    let object = valid(&folder.say(&["purge", "2021-11", "--older-than", "0d", "--dry-run", "--json"]).exits(0).stdout);
    assert!(object["copies"].to_string().contains("2021-11.evidence"), "{object}");
}

#[test]
fn a_ledger_that_was_restored_is_purged_again() {
    let (folder, service) = desk("");
    run(&folder, &service, &[]).exits(3);
    let ledger = out(&folder).join("ledger.sqlite");
    let (known, words) = (dictionaries(&ledger), words_of(&ledger, 22));
    let backup = folder.path().join("backup.sqlite");
    fs::copy(&ledger, &backup).unwrap();
    let purge = ["purge", "2021-11", "--subject", "C-022"];
    folder.say(&purge).exits(0);
    fs::copy(&backup, &ledger).unwrap();
    let said = folder.say(&purge).exits(11);
    assert!(said.stderr.contains("--accept-older-ledger"), "{}", said.stderr);
    folder.say(&[&purge[..], &["--accept-older-ledger"]].concat()).exits(0);
    assert_eq!(found(&folder, &words, &known), BTreeMap::new());
    evidence(&folder, "after");
}

#[test]
fn the_names_of_files_go_although_another_row_has_the_same_files() {
    let campaign = r#"
        campaign = "2021-11"
        mode = "production"
        [service]
        api_key = { env = "RESCREEN_API_KEY" }
        [input]
        paths = ["book.csv"]
        id = "no"
        files_root = "."
        [budget]
        max_credits = 100
        prices = { facematch-standard = 1 }
        [[check]]
        use = "facematch-standard"
        fields.selfie_image_base64 = "selfie"
        fields.reference_image_base64 = "ref"
    "#;
    for gone in ["F-001", "F-002"] {
        let folder = Folder::with("rescreen.toml", campaign);
        let mut text = "no,selfie,ref\n".to_owned();
        for (no, name) in [("F-001", "anna-jones"), ("F-002", "anna-smith")] {
            for part in ["selfie", "ref"] {
                folder.write(&format!("{no}-{name}-{part}.png"), png(9_000 + part.len()));
            }
            writeln!(text, "{no},{no}-{name}-selfie.png,{no}-{name}-ref.png").unwrap();
        }
        folder.write("book.csv", text);
        let service = Service::start(lifted());
        run(&folder, &service, &[]).exits(0);
        assert!(found(&folder, &[gone.as_bytes().to_vec()], &[]).contains_key("ledger.sqlite"));
        let object = valid(&folder.say(&["purge", "2021-11", "--subject", gone, "--json"]).exits(0).stdout);
        assert_eq!((&object["requests"], &object["shared_requests"]), (&0.into(), &1.into()));
        assert_eq!(found(&folder, &[gone.as_bytes().to_vec()], &[]), BTreeMap::new());
    }
}

#[test]
fn a_corrected_row_goes_under_either_of_its_subjects() {
    for subject in ["C-003", "C-900"] {
        let (folder, service) = desk("");
        run(&folder, &service, &[]).exits(3);
        let failures = fs::read_to_string(out(&folder).join("failures.csv")).unwrap();
        let corrected = failures.replace("C-003,,", "C-900,Corrected Vexford,");
        assert_ne!(corrected, failures);
        folder.write("corrected.csv", corrected);
        run(&folder, &service, &["--corrections", "corrected.csv", "--change-ids"]).exits(3);
        let words = ["C-003", "C-900", "Corrected Vexford"].map(|word| word.as_bytes().to_vec());
        assert_eq!(found(&folder, &words, &[])["ledger.sqlite"].len(), 3);
        let object = valid(&folder.say(&["purge", "2021-11", "--subject", subject, "--json"]).exits(0).stdout);
        assert_eq!((&object["rows"], &object["asks"]), (&1.into(), &2.into()));
        assert_eq!(found(&folder, &words, &[]), BTreeMap::new());
        evidence(&folder, "after");
    }
}
