//! Files that are missing when a run starts: the log of a ledger that was not closed, or the ledger of existing
//! results.

use super::{charges, finishes, held, killed, out, under_way};
use crate::{
    cli::Workspace,
    support::{program::Said, service::lifted, tables},
};
use rescreen::simulator::{ChargeStated, Settings};
use std::{fs, path::Path};

/// What a command says about the campaign.
fn say(workspace: &Workspace, words: &str) -> Said {
    workspace.say(&words.split(' ').chain(["out/2026-11"]).collect::<Vec<_>>())
}

#[test]
fn a_ledger_that_was_killed_and_lost_its_log_is_refused_until_the_log_is_back() {
    let workspace = held(60);
    killed(&workspace);
    let (log, safe) = (out(&workspace).join("ledger.sqlite-wal"), workspace.path().join("safe"));
    fs::rename(&log, &safe).unwrap();
    let sent = charges(&workspace);
    for _ in 0..2 {
        workspace.run(&[]).exits(11).says("ledger.sqlite-wal was removed").says("--new-ledger");
    }
    assert_eq!(charges(&workspace), sent, "nothing is sent by a ledger without its receipts");
    Said::of(&mut workspace.production("plan", &[])).exits(11).says("is missing commits");
    for words in ["status", "collect", "export --to new", "report --to new.html", "resolve --list", "retry-webhook"] {
        say(&workspace, words).exits(11).says("is missing commits");
    }
    // A refused run created its own, empty log.
    drop(fs::remove_file(out(&workspace).join("ledger.sqlite-shm")));
    fs::rename(&safe, &log).unwrap();
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_copy_of_the_main_file_alone_is_refused() {
    let workspace = held(60);
    killed(&workspace);
    let copy = workspace.path().join("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(out(&workspace).join("ledger.sqlite"), copy.join("ledger.sqlite")).unwrap();
    for _ in 0..2 {
        workspace.run(&["--out", "copy"]).exits(11).says("is missing commits");
    }
    finishes_in_place(&workspace);
}

fn finishes_in_place(workspace: &Workspace) {
    workspace.run(&[]).exits(0);
    assert_eq!(workspace.service.simulator.stats().double_charges, 0);
}

#[test]
fn another_program_that_reads_a_killed_ledger_does_no_harm() {
    let workspace = held(60);
    killed(&workspace);
    // As any SQLite program does: it recovers the log, and removes it when it closes.
    let ledger = rusqlite::Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
    let requests: i64 = ledger.query_row("SELECT count(*) FROM request", [], |row| row.get(0)).unwrap();
    ledger.close().unwrap();
    assert_eq!(requests, 60);
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn from_the_start_the_main_file_is_a_ledger_and_the_readme_names_the_log() {
    let workspace = held(30);
    let run = under_way(&workspace);
    let readme = fs::read_to_string(out(&workspace).join("README.txt")).unwrap();
    assert!(readme.contains("ledger.sqlite-wal") && readme.contains("collect"), "{readme}");
    let copy = workspace.path().join("main-alone");
    fs::copy(out(&workspace).join("ledger.sqlite"), &copy).unwrap();
    let alone = rusqlite::Connection::open(&copy).unwrap();
    let (campaign, is_open): (String, bool) =
        alone.query_row("SELECT campaign, is_open FROM campaign", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!((campaign.as_str(), is_open), ("2026-11", true));
    workspace.service.answers_all();
    run.ends().exits(0);
}

/// A finished campaign whose ledger and these other files were lost.
fn without_ledger(rows: usize, also: &[&str]) -> Workspace {
    let mut workspace = held(rows);
    workspace.service.answers_all();
    workspace.loses_a_ledger = true;
    workspace.run(&[]).exits(0);
    for name in [&["ledger.sqlite"], also].concat() {
        fs::remove_file(out(&workspace).join(name)).unwrap();
    }
    workspace
}

#[test]
fn results_without_their_ledger_are_refused_with_three_remedies() {
    for also in [&[][..], &["manifest.json"], &["ledger.lock"], &["ledger.lock", "manifest.json"]] {
        let workspace = without_ledger(5, also);
        let said = workspace.run(&[]).exits(2);
        let said = said.says("Restore ledger.sqlite").says("--out DIR").says("--new-ledger");
        if also.is_empty() {
            said.says("5 published results");
        }
        assert_eq!(workspace.run(&[]).exits(2).stdout, "");
        assert_eq!(charges(&workspace), 5, "{also:?}");
    }
}

#[test]
fn another_output_folder_is_a_remedy_for_a_lost_ledger() {
    let workspace = without_ledger(5, &[]);
    workspace.run(&["--out", "second"]).exits(0);
    let stats = workspace.service.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (5, 0), "the service still knows the keys");
}

#[test]
fn a_new_ledger_sets_the_old_results_aside_and_is_started_once() {
    let workspace = without_ledger(5, &[]);
    let old = tables::files(&out(&workspace), "");
    let old: Vec<_> = old.iter().filter(|path| path.to_string_lossy().contains("results/")).collect();
    assert_eq!(old.len(), 1);
    workspace.run(&["--new-ledger"]).exits(0).says("the previous contents are in").says("before-");
    let found = tables::files(&out(&workspace), "");
    let of = |begin: &str| {
        let begins = |path: &&std::path::PathBuf| path.to_string_lossy().starts_with(begin);
        found.iter().filter(begins).filter(|path| path.to_string_lossy().contains("results/")).count()
    };
    assert_eq!((of("results/"), of("before-")), (1, 1), "{found:?}");
    workspace.run(&["--new-ledger"]).exits(2).says("is usable: run without --new-ledger");
    workspace.run(&[]).exits(0).says("complete since");
}

#[test]
fn answers_that_the_service_repeats_after_a_lost_ledger_are_not_waited_for() {
    for stated in [ChargeStated::Nothing, ChargeStated::Remaining] {
        let mut workspace = Workspace::with(40, Settings { charge_stated: Some(stated), ..lifted() });
        workspace.loses_a_ledger = true;
        workspace.run(&[]).exits(0);
        fs::remove_file(out(&workspace).join("ledger.sqlite")).unwrap();
        let said = workspace.run(&["--new-ledger", "-v"]).exits(0).says("repeated an answer of `aml-screening`");
        assert!(!said.stderr.contains("reading it again in") && !said.stderr.contains("no balance"), "{}", said.stderr);
        let stats = workspace.service.simulator.stats();
        assert_eq!((stats.charges, stats.double_charges), (40, 0));
    }
}

#[test]
fn a_ledger_that_lost_its_log_is_set_aside_by_a_new_one() {
    let mut workspace = held(60);
    workspace.loses_a_ledger = true;
    killed(&workspace);
    fs::remove_file(out(&workspace).join("ledger.sqlite-wal")).unwrap();
    workspace.run(&["--new-ledger"]).exits(0).says("before-");
    assert_eq!(workspace.service.simulator.stats().double_charges, 0);
    workspace.run(&[]).exits(0).says("complete since");
}

/// The files of a ledger that a backup has.
const BACKED_UP: [&str; 2] = ["ledger.sqlite", "ledger.lock"];

#[test]
fn a_ledger_with_damaged_pages_is_set_aside_by_a_new_one() {
    let mut workspace = held(400);
    workspace.service.answers_all();
    workspace.loses_a_ledger = true;
    workspace.run(&["--max-credits", "300", "--price", "aml-screening=1"]).exits(4);
    let ledger = out(&workspace).join("ledger.sqlite");
    let mut bytes = fs::read(&ledger).unwrap();
    let from = bytes.len() / 3;
    bytes[from..].fill(0x5a);
    fs::write(&ledger, bytes).unwrap();
    workspace.run(&[]).exits(11).says("--new-ledger sets them aside");
    workspace.run(&["--new-ledger"]).exits(0).says("400 rows: 400 results");
    assert_eq!(workspace.service.simulator.stats().double_charges, 0);
    workspace.run(&["--new-ledger"]).exits(2).says("is usable");
}

#[test]
fn an_answer_or_a_row_that_cannot_be_read_makes_a_ledger_one_that_is_lost() {
    for (table, column) in [("answer", "body"), ("split", "records")] {
        let mut workspace = held(4);
        workspace.service.answers_all();
        workspace.loses_a_ledger = true;
        workspace.run(&["--max-credits", "3", "--price", "aml-screening=1"]).exits(4);
        workspace.run(&["--new-ledger"]).exits(2).says("is usable");
        let conn = rusqlite::Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
        let (id, mut bytes): (i64, Vec<u8>) = conn
            .query_row(&format!("SELECT rowid, {column} FROM {table} LIMIT 1"), [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        conn.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2"), rusqlite::params![bytes, id])
            .unwrap();
        drop(conn);
        workspace.run(&["--new-ledger"]).exits(0).says("before-");
        assert_eq!(workspace.service.simulator.stats().double_charges, 0, "{table}");
    }
}

/// A finished campaign of 20 rows whose ledger, with its lock file, is an older copy: of the time when this many rows
/// were answered. The outputs are current.
fn with_older_copy(answered: &str) -> Workspace {
    let mut workspace = held(20);
    workspace.loses_a_ledger = true;
    workspace.service.answers_all();
    workspace.run(&["--max-credits", answered, "--price", "aml-screening=1"]).exits(4);
    let backup = workspace.path().join("backup");
    fs::create_dir(&backup).unwrap();
    let copy = |from: &Path, to: &Path| BACKED_UP.map(|name| fs::copy(from.join(name), to.join(name)).unwrap());
    copy(&out(&workspace), &backup);
    workspace.run(&[]).exits(0);
    copy(&backup, &out(&workspace));
    workspace
}

#[test]
fn an_older_copy_of_a_ledger_with_its_lock_file_is_refused_beside_newer_outputs() {
    for answered in ["19", "12", "1"] {
        let workspace = with_older_copy(answered);
        let sent = workspace.service.simulator.stats().requests;
        for _ in 0..2 {
            for said in [
                workspace.run(&[]),
                workspace.say(&["collect", "out/2026-11"]),
                Said::of(&mut workspace.production("plan", &[])),
            ] {
                said.exits(11).says("were made when").says("older copy").says("--accept-older-ledger");
            }
        }
        for words in ["status", "export --to new", "report --to new.html", "resolve --list", "retry-webhook"] {
            say(&workspace, words).exits(11).says("were made when").says("older copy");
        }
        assert_eq!(workspace.service.simulator.stats().requests, sent, "nothing is sent");
        workspace.run(&["--accept-older-ledger"]).exits(0).says("the previous ones are in").says("before-");
        finishes(&workspace, workspace.run(&[]), 20);
    }
}

#[test]
fn an_older_copy_of_a_ledger_is_set_aside_by_a_new_one() {
    let workspace = with_older_copy("12");
    workspace.run(&["--new-ledger"]).exits(0).says("before-");
    finishes(&workspace, workspace.run(&[]), 20);
}

#[test]
fn a_log_without_its_ledger_is_refused_and_kept() {
    let mut workspace = held(60);
    killed(&workspace);
    workspace.loses_a_ledger = true;
    let log = out(&workspace).join("ledger.sqlite-wal");
    let receipts = fs::read(&log).unwrap();
    assert!(receipts.len() > 32);
    let only_the_log = |ledger: Option<&str>| {
        fs::remove_dir_all(out(&workspace)).unwrap();
        fs::create_dir(out(&workspace)).unwrap();
        fs::write(&log, &receipts).unwrap();
        ledger.into_iter().for_each(|text| fs::write(out(&workspace).join("ledger.sqlite"), text).unwrap());
    };
    let sent = charges(&workspace);
    for ledger in [None, Some("")] {
        only_the_log(ledger);
        for words in [&["status", "out/2026-11"][..], &["collect", "out/2026-11"]] {
            assert!([2, 11].contains(&workspace.say(words).code), "{words:?}");
        }
        for _ in 0..2 {
            workspace.run(&[]).says("newest receipts").says("--new-ledger");
        }
        assert_eq!(fs::read(&log).unwrap(), receipts, "{ledger:?}");
    }
    assert_eq!(charges(&workspace), sent);
    workspace.run(&["--new-ledger"]).exits(0);
    assert!(!log.exists(), "it was set aside");
}

#[test]
fn another_file_in_the_place_of_the_log_is_kept() {
    let workspace = Workspace::new(4);
    workspace.run(&[]).exits(0);
    let log = out(&workspace).join("ledger.sqlite-wal");
    fs::write(&log, "notes of my own, and no log").unwrap();
    workspace.run(&[]).exits(2).says("not the write-ahead log");
    assert_eq!(fs::read(&log).unwrap(), b"notes of my own, and no log");
}
