//! A process that is killed between the 202 and the commit of the ledger: the request is in doubt, is sent again under
//! its key, and ends as the one job that the service has.

use super::{BUSINESS, businesses};
use crate::support::{
    API_KEY,
    program::{Said, UnderWay, rescreen},
    service::{Service, lifted},
};
use rescreen::{model::ExitCode, simulator::Settings};
use rusqlite::Connection;
use std::{fs, path::Path};

fn run(folder: &Path, url: &str) -> std::process::Command {
    rescreen(
        folder,
        &[
            "run",
            "book.csv",
            "--check",
            BUSINESS,
            "--mode",
            "production",
            "--campaign",
            "2026-11",
            "--id",
            "no",
            "--max-credits",
            "1000",
            "--per-minute",
            "6000",
            "--service",
            url,
            "--yes",
            "--format",
            "jsonl",
        ],
    )
}

fn states(folder: &Path) -> Vec<(i64, i64)> {
    let ledger = Connection::open(folder.join("out/2026-11/ledger.sqlite")).unwrap();
    let mut select = ledger.prepare("SELECT state, held FROM request ORDER BY id").unwrap();
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap);
    found.collect()
}

#[test]
fn a_kill_between_the_202_and_the_commit_leaves_one_job_and_one_hold() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::that_answers_only(0, Settings { api_key: Some(API_KEY.to_owned()), ..lifted() });
    fs::write(folder.path().join("book.csv"), businesses(3)).unwrap();
    let killed = UnderWay::start(&mut run(folder.path(), &service.url));
    service.wait_for_work(1);
    assert_eq!(service.simulator.stats().jobs, 1, "the service has a job");
    killed.signal("KILL");
    drop(killed.ends());
    assert_eq!(states(folder.path())[0], (1, 7), "armed, with its hold, and no word of a job");

    service.answers_all();
    let said = Said::of(&mut run(folder.path(), &service.url)).exits(ExitCode::Jobs as i32);
    let said = said.says("3 requests are in progress at the service as jobs");
    assert_eq!(said.next_command(), "rescreen collect out/2026-11 --for 2h");
    assert_eq!(states(folder.path()), [(4, 7); 3]);
    let stats = service.simulator.stats();
    assert_eq!((stats.jobs, stats.distinct_keys, stats.charges), (3, 3, 0), "the lost one was not accepted twice");

    let again = Said::of(&mut run(folder.path(), &service.url)).exits(ExitCode::Jobs as i32);
    assert_eq!((service.simulator.stats().checks(), states(folder.path()).len()), (4, 3), "{}", again.stderr);
    let status = Said::of(&mut rescreen(folder.path(), &["status"])).exits(0);
    assert!(status.stdout.contains("submitted") && status.stdout.contains("credits held"), "{}", status.stdout);
    let status = Said::of(&mut rescreen(folder.path(), &["status", "--json"])).exits(0);
    let json: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!((&json["requests"]["submitted"], &json["credits"]["held"]), (&3.into(), &21.into()));
    let waiting = Said::of(&mut rescreen(folder.path(), &["resolve", "--list"])).exits(0);
    waiting.says("3 requests are jobs at the service, whose results `rescreen collect` gets at no cost");
    let collected = Said::of(&mut rescreen(folder.path(), &["collect"])).exits(ExitCode::Jobs as i32);
    let collected = collected.says("in progress at the service");
    assert!(!collected.stderr.contains("was not asked"), "a person who types it wants to know: {}", collected.stderr);
    assert_eq!(collected.next_command(), "rescreen collect");
    let collected = Said::of(&mut rescreen(folder.path(), &["collect", "--for", "1s"])).exits(ExitCode::Jobs as i32);
    let collected = collected.says("was not asked about any of them, because it was asked less than a minute ago");
    assert_eq!(collected.next_command(), "rescreen collect --for 2h", "the next question comes later than in a second");
    assert_eq!(service.simulator.stats().checks(), 4, "collect sends no job again");
}
