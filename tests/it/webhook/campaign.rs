//! Three programs: the simulated service delivers to `rescreen listen`, and a campaign reads what arrived.

use super::{
    listening::Listening,
    post::{now, request, signature_with},
};
use crate::support::{
    program::{Said, rescreen, wait_until},
    simulator_process::SimulatorProcess,
};
use rescreen::{
    ledger::{NamedJob, Reading, Receiver},
    simulator::Stats,
    webhook::PATH,
};
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// A campaign with three jobs at a simulated service.
pub struct Office {
    pub folder: TempDir,
    pub simulator: SimulatorProcess,
}

impl Office {
    /// A service with these flags.
    pub fn new(flags: &str) -> Office {
        let folder = tempfile::tempdir().unwrap();
        let line = |n: usize| format!("{n},Vexford {n} Pty,2019/{n:06}/07,Example Bank,0620{n:05}0,current\n");
        let header = "no,company_name,registration_number,bank,account_no,account_type\n";
        fs::write(folder.path().join("three.csv"), format!("{header}{}", (1..=3).map(line).collect::<String>()))
            .unwrap();
        let always = "--per-minute 6000 --per-minute-max 12000 --price business-bank-account=7";
        let flags: Vec<&str> = always.split_whitespace().chain(flags.split_whitespace()).collect();
        Office { folder, simulator: SimulatorProcess::start(&flags) }
    }

    pub fn say(&self, line: &str) -> Said {
        Said::of(&mut rescreen(self.folder.path(), &line.split_whitespace().collect::<Vec<_>>()))
    }

    /// Runs the campaign, with more flags.
    pub fn run(&self, more: &str) -> Said {
        self.run_into("out", more)
    }

    /// Runs the campaign into a folder, with more flags.
    pub fn run_into(&self, out: &str, more: &str) -> Said {
        self.run_at(&self.simulator.url(), out, more)
    }

    /// The same with another address of the service.
    pub fn run_at(&self, url: &str, out: &str, more: &str) -> Said {
        self.say(&format!(
            "run three.csv --check business-bank-account --campaign c --mode production --id no --max-credits 100 \
             --per-minute 6000 --per-minute-max 12000 --out {out} --service {url} --yes {more}"
        ))
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join("out/ledger.sqlite")
    }

    /// The jobs without a result.
    pub fn jobs(&self) -> Vec<NamedJob> {
        Reading::open(&self.ledger()).unwrap().jobs_named(&[]).unwrap()
    }

    pub fn receivers(&self) -> Vec<Receiver> {
        Reading::open(&self.ledger()).unwrap().receivers().unwrap()
    }

    pub fn stats(&self) -> Stats {
        self.simulator.stats()
    }

    /// How often the service was asked for the state of a job.
    pub fn asked(&self) -> u64 {
        let by_route = self.stats().by_route;
        by_route.iter().filter(|(route, _)| route.ends_with("/jobs/{jobId}")).map(|(_, count)| count).sum()
    }

    /// Follows the jobs, a few seconds at a time, until the service was asked for another one.
    #[track_caller]
    pub fn is_asked_once_more(&self) -> Said {
        let (before, mut said) = (self.asked(), None);
        wait_until("a question", || {
            said = Some(self.say("collect out --for 4s").exits(5));
            self.asked() > before
        });
        said.unwrap()
    }

    /// Follows the jobs until they are complete.
    /// The first `collect` asks for each job at once, and finds none ended. After that, only a delivery or the schedule
    /// makes it ask.
    #[track_caller]
    pub fn is_asked_at_first(&self) {
        self.say("collect out").exits(5);
        assert_eq!(self.asked(), 3, "each job is asked for when a person types it");
    }

    #[track_caller]
    pub fn is_woken(&self) {
        let said = self.say("collect out --for 90s");
        assert!([0, 3].contains(&said.code), "{}", said.stderr);
        assert!(said.stderr.contains("3 rows: 3 results"), "{}", said.stderr);
        let stats = self.stats();
        assert_eq!((stats.credits_charged, stats.double_charges), (21, 0));
    }
}

#[test]
fn a_delivery_makes_the_campaign_ask_for_its_job_at_once() {
    let office = Office::new("--job-time 5s");
    let listening = Listening::start(office.folder.path(), &[]);
    office.run(&format!("--webhook-url http://{}", listening.address)).exits(5);
    assert_eq!(office.jobs().len(), 3);
    office.is_asked_at_first();
    office.is_woken();
    assert!(office.asked() >= 3 && office.stats().delivered >= 3, "{:?}", office.stats());
    let (code, said) = listening.stopped();
    assert!(code == 0 && said.ends_with("3 deliveries received, 0 repeated, 0 refused\n"), "{said}");
    for secret in office.receivers() {
        assert!(!said.contains(&secret.secret));
    }
}

#[test]
fn a_forged_delivery_wakes_nothing_and_a_genuine_one_only_asks() {
    let office = Office::new("--job-time 10h");
    let listening = Listening::start(office.folder.path(), &[]);
    office.run(&format!("--webhook-url http://{}", listening.address)).exits(5);
    let (job, receiver) = (office.jobs().remove(0), office.receivers().remove(0));
    let id = &receiver.id;
    let body = format!(
        r#"{{"id":"evt_1","type":"foreign_bank.verification.completed","data":{{"jobId":"{}","status":"completed",
            "result":{{"outcome":"verified"}}}}}}"#,
        job.id
    );
    let deliver = |secret: &str| {
        let timestamp = now().to_string();
        let signature = signature_with(secret, &timestamp, body.as_bytes());
        let headers = [("x-service-timestamp", &*timestamp), ("x-service-signature", &*signature)];
        listening.send(&request("POST", &format!("{PATH}{id}"), &headers, body.as_bytes()))
    };
    assert_eq!(deliver("a-secret-that-somebody-else-has-made-up"), 401);
    office.is_asked_at_first();
    office.say("collect out --for 4s").exits(5);
    assert_eq!(office.asked(), 3, "no job is due");
    assert_eq!(deliver(&receiver.secret), 200);
    let said = office.is_asked_once_more();
    assert_eq!(office.asked(), 4, "only the job that was named");
    assert!(said.stderr.contains("3 rows: 0 results"), "the delivery is not a result: {}", said.stderr);
    assert_eq!(office.jobs().len(), 3);
}

/// Without any delivery, a job is asked for after two minutes.
#[test]
#[ignore = "takes two minutes: make slow"]
fn a_campaign_whose_deliveries_are_all_lost_completes() {
    let office = Office::new("--job-time 20m --time-scale 600 --job-faults lost:1");
    let listening = Listening::start(office.folder.path(), &[]);
    office.run(&format!("--webhook-url http://{}", listening.address)).exits(5);
    let said = office.say("collect out --for 10m");
    assert!([0, 3].contains(&said.code) && said.stderr.contains("3 rows: 3 results"), "{}", said.stderr);
    assert_eq!((office.stats().delivered, office.stats().credits_charged), (0, 21));
    assert!(listening.stopped().1.ends_with("0 deliveries received, 0 repeated, 0 refused\n"));
}

/// How soon a delivery has its effect. Without one, a job is asked for after two minutes.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn deliveries_end_a_campaign_long_before_its_jobs_are_due() {
        let office = Office::new("--job-time 5s");
        let listening = Listening::start(office.folder.path(), &[]);
        office.run(&format!("--webhook-url http://{}", listening.address)).exits(5);
        office.is_asked_at_first();
        let begun = Instant::now();
        office.is_woken();
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}
