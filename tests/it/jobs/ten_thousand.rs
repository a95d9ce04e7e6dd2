//! Ten thousand jobs with the real programs, which share nothing but files and sockets: they complete when every
//! delivery is lost, and when no delivery is lost and the program is killed three times. `make gauntlet` runs them.

use super::{BUSINESS, businesses};
use crate::support::{
    API_KEY,
    listener_process::ListenerProcess,
    program::{Said, UnderWay, rescreen, wait_until, wait_while_it_grows},
    simulator_process::SimulatorProcess,
    tables::{self, text},
};
use rescreen::{
    simulator::Stats,
    sink::{DatasetKind, Manifest},
};
use std::{collections::HashSet, fs, path::Path, process::Command};
use tempfile::TempDir;

const ROWS: usize = 10_000;

/// A folder with the rows, and the service with these flags. Two hours of a job pass in two and a half seconds.
fn begun(faults: &str) -> (TempDir, SimulatorProcess) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), businesses(ROWS)).unwrap();
    let mut flags = vec![
        "--per-minute",
        "6000000",
        "--per-minute-max",
        "9000000",
        "--job-time",
        "2h",
        "--time-scale",
        "2880",
        "--job-fails",
        "0",
    ];
    if !faults.is_empty() {
        flags.extend(["--job-faults", faults]);
    }
    (folder, SimulatorProcess::start(&flags))
}

fn run(folder: &Path, service: &SimulatorProcess, receiver: &str) -> Command {
    let url = service.url();
    let flags: Vec<&str> =
        "run book.csv --mode production --campaign 2026-11 --id no --max-credits 100000 --yes --format jsonl \
                            --per-minute 6000000 --per-minute-max 9000000 --check"
            .split_whitespace()
            .chain([BUSINESS, "--service", &url, "--webhook-url", receiver])
            .collect();
    rescreen(folder, &flags)
}

fn questions(stats: &Stats) -> u64 {
    stats
        .by_route
        .iter()
        .filter(|(route, _)| route.starts_with("GET") && route.contains("/jobs/"))
        .map(|(_, n)| n)
        .sum()
}

/// Every row has one result, each was charged once, and both books agree.
fn is_complete(folder: &Path, service: &SimulatorProcess) {
    let (out, stats) = (folder.join("out/2026-11"), service.stats());
    assert_eq!((stats.jobs, stats.charges, stats.double_charges), (ROWS as u64, ROWS as u64, 0), "{stats:?}");
    let results = tables::lines(&out, DatasetKind::Results);
    let rows: HashSet<&str> = results.iter().map(|line| text(line, "result_id")).collect();
    assert_eq!((results.len(), rows.len()), (ROWS, ROWS));
    let manifest = Manifest::read(&out).unwrap().unwrap();
    assert!(manifest.complete && manifest.totals[0].results == ROWS as u64, "{:?}", manifest.totals);
    let status = Said::of(&mut rescreen(folder, &["status", "--json"])).exits(0);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!((&status["credits"]["charged"], &status["credits"]["held"]), (&stats.credits_charged.into(), &0.into()));
    assert!(!status.to_string().contains(API_KEY));
}

/// They take minutes, and print how many.
mod timed {
    use super::*;
    use std::time::Instant;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn ten_thousand_jobs_complete_when_every_delivery_is_lost() {
        let (folder, service) = begun("lost:1");
        let begun = Instant::now();
        Said::of(&mut run(folder.path(), &service, "http://127.0.0.1:9")).exits(5).says("rescreen collect out/2026-11");
        let sent = begun.elapsed();
        Said::of(&mut rescreen(folder.path(), &["collect", "--for", "20m"])).exits(0);
        is_complete(folder.path(), &service);
        let stats = service.stats();
        println!(
            "10,000 jobs, every delivery lost: sent in {:.0} s, complete after {:.0} s, {} questions",
            sent.as_secs_f64(),
            begun.elapsed().as_secs_f64(),
            questions(&stats)
        );
        assert_eq!(stats.delivered, 0, "{stats:?}");
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn ten_thousand_jobs_complete_with_all_deliveries_and_three_kills() {
        let (folder, service) = begun("");
        let listening = ListenerProcess::start(&folder.path().join("state"));
        let begun = Instant::now();
        for jobs in [3_000, 7_000] {
            let running = UnderWay::start(&mut run(folder.path(), &service, &listening.url));
            wait_while_it_grows("the next jobs", jobs, || service.stats().jobs);
            running.signal("KILL");
            assert_eq!(running.wait().code, -9);
        }
        // The last requests have only just become jobs.
        Said::of(&mut run(folder.path(), &service, &listening.url)).exits(5);
        let before = questions(&service.stats());
        let running = UnderWay::start(&mut rescreen(folder.path(), &["collect", "--for", "20m"]));
        wait_until("the next questions", || questions(&service.stats()) > before);
        running.signal("KILL");
        assert_eq!(running.wait().code, -9);
        Said::of(&mut rescreen(folder.path(), &["collect", "--for", "20m"])).exits(0);
        is_complete(folder.path(), &service);
        let stats = service.stats();
        println!(
            "10,000 jobs, all deliveries, three kills: complete after {:.0} s, {} deliveries, {} questions",
            begun.elapsed().as_secs_f64(),
            stats.delivered,
            questions(&stats)
        );
    }
}
