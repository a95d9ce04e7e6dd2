//! Partitions of one campaign: the same content in two of them, a ledger that is lost, and a worker that another one took over
//! from.

use super::{Job, Machines};
use crate::support::{
    program::{Said, UnderWay, wait_while_it_grows},
    schema::valid,
};
use serde_json::{Value, json};
use std::{fs, process::Command};

impl Machines {
    /// The sum of the column `credits` of all results of a worker, and the number of its results.
    fn results_of(&self, worker: &str) -> (u64, usize) {
        let folder = self.folder.path().join(worker).join("out/t/results/aml-screening");
        let partitions =
            fs::read_dir(folder).unwrap().map(|partition| fs::read_to_string(partition.unwrap().path()).unwrap());
        let texts: Vec<String> = partitions.collect();
        let rows = texts.iter().flat_map(|text| text.lines());
        let rows: Vec<serde_json::Value> = rows.map(|row| serde_json::from_str(row).unwrap()).collect();
        (rows.iter().map(|row| row["credits"].as_u64().unwrap()).sum(), rows.len())
    }

    /// The first campaign in `book status --json`.
    fn campaign(&self) -> Value {
        let said = Said::of(&mut self.command("a", &["book", "status", "--json"])).exits(0);
        valid(&said.stdout)["accounts"][0]["campaigns"][0].clone()
    }

    /// Loses everything that a worker has, except for its input.
    fn lose(&self, worker: &str) {
        fs::remove_dir_all(self.folder.path().join(worker).join("out")).unwrap();
    }

    /// Copies the folder of a worker.
    fn copy(&self, worker: &str, copy: &str) {
        let [from, to] = [worker, copy].map(|worker| self.folder.path().join(worker));
        assert!(Command::new("cp").arg("-r").args([&from, &to]).status().unwrap().success());
    }

    /// A worker in a folder that runs a partition with another name.
    fn run_as(&self, worker: &str, partition: &str) -> Command {
        self.command_of(worker, &["run", "--yes", "--partition", partition])
    }
}

#[test]
fn the_same_content_in_two_parts_is_paid_once() {
    let Some(machines) = Machines::new(&["--latency", "20ms"]) else { return };
    let job = Job { rows: 80, people: Some("both"), ..Job::default() };
    let workers = ["a", "b"].map(|worker| machines.start(worker, &job));
    for worker in workers {
        worker.ends().exits(0);
    }
    assert_eq!((machines.charged(), machines.told()), (80, (80, 0)));
    assert_eq!(machines.service.stats().checks(), 80, "no request was sent twice");
    let [a, b] = ["a", "b"].map(|worker| machines.results_of(worker));
    assert_eq!((a.0 + b.0, a.1, b.1), (80, 80, 80));
    machines.start("c", &job).ends().exits(0);
    assert_eq!((machines.results_of("c"), machines.service.stats().checks()), ((0, 80), 80));
    let status = Said::of(&mut machines.command("a", &["book", "status"])).exits(0);
    for partition in ["a", "b", "c"] {
        let line = status.stdout.lines().find(|line| line.trim_start().starts_with(&format!("{partition} ")));
        assert!(line.is_some_and(|line| line.contains(" complete ")), "{partition}: {}", status.stdout);
    }
}

#[test]
fn a_partition_whose_ledger_is_lost_goes_on_and_pays_nothing_again() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.start("a", &Job { rows: 60, max_credits: 45, ..Job::default() }).ends().exits(4);
    machines.lose("a");
    let more = Said::of(&mut machines.command("a", &["run", "--yes", "--max-credits", "60"]));
    more.exits(0).says("the answers are INVENTED by the simulator");
    machines.lose("a");
    // Also if nothing is left to send.
    machines.run("a").exits(0).says("the answers are INVENTED by the simulator");
    assert_eq!((machines.charged(), machines.told()), (60, (60, 0)));
    assert_eq!((machines.results_of("a"), machines.service.stats().checks()), ((60, 60), 60));
}

#[test]
fn what_was_in_flight_when_a_machine_was_lost_is_sent_again_under_its_key() {
    let Some(machines) = Machines::new(&["--latency", "1s"]) else { return };
    let under_way = machines.start("a", &Job { rows: 40, ..Job::default() });
    wait_while_it_grows("requests", 15, || machines.service.stats().checks());
    under_way.signal("KILL");
    under_way.ends().exits(-9);
    machines.lose("a");
    machines.postgres.sql("UPDATE rescreen.partition SET seen_at = seen_at - interval '2 minutes'");
    machines.run("a").exits(0);
    assert_eq!((machines.charged(), machines.told()), (40, (40, 0)));
    assert_eq!(machines.results_of("a"), (40, 40));
}

#[test]
fn an_older_copy_of_a_ledger_takes_what_the_newer_one_has_paid_for() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.start("a", &Job { rows: 20, max_credits: 6, ..Job::default() }).ends().exits(4);
    machines.copy("a", "b");
    Said::of(&mut machines.command("a", &["run", "--yes", "--max-credits", "20"])).exits(0);
    Said::of(machines.run_as("b", "a").args(["--max-credits", "20"])).exits(0);
    assert_eq!((machines.charged(), machines.told()), (20, (20, 0)));
    assert_eq!((machines.results_of("b"), machines.service.stats().checks()), ((20, 20), 20));
}

#[test]
fn one_worker_runs_a_partition_at_a_time() {
    let Some(machines) = Machines::new(&["--latency", "50ms"]) else { return };
    let job = Job { rows: 100, people: Some("a"), ..Job::default() };
    let first = machines.start("a", &job);
    wait_while_it_grows("requests", 10, || machines.service.stats().checks());
    machines.prepare("b", &job);
    let second = UnderWay::start(&mut machines.run_as("b", "a"));
    second.wait_until_it_says("waiting for up to a minute");
    first.ends().exits(0);
    second.ends().exits(0);
    assert_eq!((machines.charged(), machines.told()), (100, (100, 0)));
    assert_eq!((machines.results_of("b"), machines.service.stats().checks()), ((100, 100), 100));
}

#[test]
fn a_worker_that_was_away_too_long_finds_its_partition_taken_and_ends() {
    let Some(machines) = Machines::new(&["--latency", "50ms"]) else { return };
    let job = Job { rows: 150, people: Some("a"), ..Job::default() };
    let away = machines.start("a", &job);
    wait_while_it_grows("requests", 20, || machines.service.stats().checks());
    away.signal("STOP");
    machines.postgres.sql("UPDATE rescreen.partition SET seen_at = seen_at - interval '2 minutes'");
    machines.prepare("b", &job);
    Said::of(&mut machines.run_as("b", "a")).exits(0);
    away.signal("CONT");
    away.ends().exits(11).says("another worker has taken over partition `a` of the campaign `t`");
    assert_eq!((machines.charged(), machines.told()), (150, (150, 0)));
    assert_eq!(machines.results_of("b"), (150, 150));
    Said::of(&mut machines.run_as("a", "a")).exits(0);
    assert_eq!((machines.charged(), machines.told(), machines.results_of("a")), (150, (150, 0), (150, 150)));
}

#[test]
fn a_partition_and_its_ledger_stay_together() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.start("a", &Job { rows: 3, max_credits: 2, ..Job::default() }).ends().exits(4);
    Said::of(&mut machines.run_as("a", "other")).exits(2).says("this ledger belongs to partition `a` of its campaign");
    assert_eq!(machines.charged(), 2);
    let file = machines.folder.path().join("a/rescreen.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("book = { env = \"RESCREEN_BOOK\" }\n", "")).unwrap();
    machines.run("a").exits(2).says("--partition names a partition of a campaign in a charge book");
}

#[test]
fn a_pod_of_an_indexed_job_runs_the_partition_of_its_index() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.prepare("a", &Job { rows: 3, ..Job::default() });
    let mut pod = machines.command_of("a", &["run", "--yes"]);
    Said::of(pod.env("JOB_COMPLETION_INDEX", "7")).exits(0);
    assert_eq!(machines.postgres.sql("SELECT name, charged FROM rescreen.partition"), "7|3");
}

#[test]
fn a_campaign_is_complete_when_all_partitions_that_it_should_have_are() {
    let Some(machines) = Machines::new(&[]) else { return };
    let expect = |worker: &str, names: &[&str]| {
        Said::of(&mut machines.command(worker, &[&["book", "expect"], names].concat())).exits(0)
    };
    machines.prepare("a", &Job { rows: 7, ..Job::default() });
    // Before any run; then again, with a name that was forgotten.
    expect("a", &["a", "b"]).says("the campaign t should have 2 partitions");
    let campaign = machines.campaign();
    assert_eq!(campaign["lacks"], json!(["2 partitions are not begun"]), "{campaign:#}");
    expect("a", &["b", "c", "a", "a"]).says("the campaign t should have 3 partitions");
    machines.run("a").exits(0);
    machines.prepare("b", &Job { rows: 5, max_credits: 9, ..Job::default() });
    machines.run("b").exits(4);
    let campaign = machines.campaign();
    assert_eq!(campaign["complete"], false);
    assert_eq!(campaign["lacks"], json!(["1 partition is not begun", "1 partition is not complete"]), "{campaign:#}");
    Said::of(machines.run_as("b", "a2").args(["--out", "other"]))
        .exits(2)
        .says("partition `a2` of the campaign `t` is not one of the 3 that it should have: a, b, c. Correct the name");
    Said::of(machines.command("b", &["run", "--yes"]).args(["--max-credits", "100"])).exits(0);
    machines.start("c", &Job { rows: 3, ..Job::default() }).ends().exits(0);
    let campaign = machines.campaign();
    assert_eq!((&campaign["complete"], &campaign["lacks"]), (&json!(true), &json!([])), "{campaign:#}");
    assert_eq!((&campaign["partitions_expected"], &campaign["partitions_complete"]), (&json!(3), &json!(3)));
    let all = json!({ "rows": 15, "results": 15, "failures": 0, "pending": 0, "skipped": 0, "credits": 15 });
    assert_eq!((&campaign["outputs"], &campaign["credits"]), (&all, &json!({ "charged": 15, "held": 0 })));
    let manifest = fs::read(machines.folder.path().join("c/out/t/manifest.json")).unwrap();
    assert_eq!(campaign["partitions"][2]["manifest_sha256"], rescreen::files::sha256_of(manifest.as_slice()).unwrap());

    // A worker that was killed says nothing any more.
    machines
        .postgres
        .sql("UPDATE rescreen.partition SET left_at = NULL, seen_at = seen_at - interval '2 minutes' WHERE name = 'c'");
    assert_eq!(machines.campaign()["lacks"], json!(["1 partition is silent"]));
    let status = Said::of(&mut machines.command("a", &["book", "status"])).exits(0);
    status.shows("campaign t: not complete: 1 partition is silent").shows("silent 2 min");
}

#[test]
fn the_book_is_checked_against_its_requests_and_the_rows_that_were_published() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.start("a", &Job { rows: 4, ..Job::default() }).ends().exits(0);
    machines.prepare("b", &Job { rows: 4, people: Some("a"), ..Job::default() });
    machines.copy("a/in.csv", "b");
    machines.run("b").exits(0);
    let check = || Said::of(&mut machines.command("a", &["book", "check"]));
    check().exits(0).shows("can be used from here, and its sums add up");
    let lacks = machines.campaign()["lacks"].clone();
    assert_eq!(lacks[1], "partitions a and b have the same input", "{lacks}");
    machines.postgres.sql("UPDATE rescreen.partition SET charged = 5 WHERE name = 'a'");
    check()
        .exits(2)
        .shows("partition `a` of the campaign `t` has 5 credits charged and 0 held, and its requests have 4 and 0")
        .shows(
            "the rows of partition `a` of the campaign `t` have 4 credits, and its requests in the book were charged 5",
        );
    let campaign = machines.campaign();
    assert!(campaign["lacks"][0].as_str().unwrap().contains("rescreen book expect"), "{campaign:#}");
    assert!(campaign["remarks"][0].as_str().unwrap().contains("was charged 5 credits"), "{campaign:#}");
}

#[test]
fn a_run_that_sends_nothing_leaves_a_complete_campaign_complete() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.prepare("a", &Job { rows: 4, ..Job::default() });
    Said::of(&mut machines.command("a", &["book", "expect", "a"])).exits(0);
    machines.run("a").exits(0);
    assert_eq!(machines.campaign()["complete"], true);
    // No one confirms it; then, its file is not one.
    Said::of(&mut machines.command("a", &["run"])).exits(2).says("add --yes");
    assert_eq!(machines.campaign()["complete"], true);
    Said::of(machines.command("a", &["run", "--yes"]).args(["--corrections", "in.csv"])).exits(2);
    assert_eq!(machines.campaign()["lacks"], json!([]));
    machines.run("a").exits(0);
    assert_eq!(machines.campaign()["complete"], true);
}

#[test]
fn what_collect_publishes_is_told_to_the_book_also_if_nothing_is_sent() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.prepare("a", &Job { rows: 3, ..Job::default() });
    machines.run("a").exits(0);
    Said::of(&mut machines.command("a", &["book", "expect", "a"])).exits(0);
    machines.postgres.sql("UPDATE rescreen.partition SET published_at = NULL");
    assert_eq!(machines.campaign()["lacks"], json!(["1 partition is not complete"]));
    Said::of(&mut machines.command("a", &["collect"])).exits(0);
    assert_eq!(machines.campaign()["complete"], true);
}
