//! The limit of a campaign and the balance of an account, kept by several ledgers together.

use super::{Job, Machines};
use crate::support::program::{Said, wait_while_it_grows};

#[test]
fn the_ledgers_of_one_campaign_keep_one_limit() {
    // So fast that the workers decide at the same time.
    let Some(machines) = Machines::with_rate(600_000, &[]) else { return };
    let job = Job { rows: 120, max_credits: 100, per_minute: 600_000, ..Job::default() };
    let workers: Vec<_> =
        ["a", "b", "c", "e", "f", "g"].into_iter().map(|worker| machines.start(worker, &job)).collect();
    for worker in workers {
        worker.ends().exits(4).says("would exceed the limit of 100 credits");
    }
    assert_eq!((machines.charged(), machines.told()), (100, (100, 0)));
    let other = Job { campaign: "other", rows: 5, max_credits: 100, ..job };
    machines.start("d", &other).ends().exits(0);
    assert_eq!(machines.charged(), 105, "another campaign has a limit of its own");
}

#[test]
fn the_balance_to_keep_counts_what_all_campaigns_use() {
    let Some(machines) = Machines::new(&["--credits", "130"]) else { return };
    let job = |campaign| Job { campaign, keep_balance: 50, rows: 140, ..Job::default() };
    let workers = ["a", "b", "c"].map(|name| machines.start(name, &job(name)));
    for worker in workers {
        worker.ends().exits(4).says("if a balance of 50 is to be kept");
    }
    assert!(machines.charged() <= 80, "{}", machines.charged());
    // What others held at the last reading may have been left, and is free once they have ended.
    machines.run("a").exits(4);
    assert_eq!((machines.charged(), machines.told()), (80, (80, 0)));
}

#[test]
fn what_a_killed_worker_holds_counts_until_it_runs_again() {
    let Some(machines) = Machines::new(&["--latency", "3s"]) else { return };
    let job = Job { rows: 40, max_credits: 60, ..Job::default() };
    for worker in ["a", "b"] {
        let under_way = machines.start(worker, &job);
        let before = machines.service.stats().checks();
        wait_while_it_grows("requests", before + 10, || machines.service.stats().checks());
        under_way.signal("KILL");
        under_way.ends().exits(-9);
    }
    let (charged, held) = machines.told();
    assert!(charged + held >= machines.charged(), "{charged} charged and {held} held");
    let codes = ["a", "b"].map(|worker| machines.run(worker).code);
    assert!(codes.contains(&4), "60 credits are too few for 80 rows: {codes:?}");
    assert_eq!((machines.charged(), machines.told()), (60, (60, 0)));
}

#[test]
fn a_fall_of_the_balance_that_no_ledger_explains_stops_all_workers() {
    let Some(machines) = Machines::new(&[]) else { return };
    let job = Job { rows: 300, ..Job::default() };
    machines.start("a", &Job { rows: 5, ..Job::default() }).ends().exits(0);
    // The book believes in a balance that is higher than the one the service has.
    machines.postgres.sql(
        "UPDATE rescreen.account SET reading = jsonb_set(reading::jsonb, '{balance}', '2000000')::text, money = money + 1",
    );
    machines.start("b", &job).ends().exits(4).says("more than all workers of this account explain");
    machines.start("c", &Job { rows: 5, ..Job::default() }).ends().exits(4).says("stops all workers that share it");
}

#[test]
fn a_fall_that_the_last_reading_shows_stops_the_others_too() {
    let Some(machines) = Machines::new(&["--price", "aml-screening=3", "--charge-stated", "nothing"]) else { return };
    let job = Job { rows: 1, ..Job::default() };
    machines.start("a", &job).ends().exits(4).says("more than all workers of this account explain");
    machines.start("b", &job).ends().exits(4).says("stops all workers that share it");
    assert_eq!(machines.charged(), 3);
}

#[test]
fn a_request_in_doubt_whose_price_rose_keeps_the_limit() {
    let Some(machines) = Machines::new(&["--latency", "5s"]) else { return };
    let job = Job { rows: 3, max_credits: 20, ..Job::default() };
    let under_way = machines.start("a", &job);
    wait_while_it_grows("requests", 3, || machines.service.stats().checks());
    under_way.signal("KILL");
    under_way.ends().exits(-9);
    // What a run arms may be stated twice for a moment. If it is killed then, that counts until it runs again.
    machines.start("b", &Job { rows: 15, ..job }).ends().exits(0);
    let said = Said::of(&mut machines.command("a", &["run", "--yes", "--price", "aml-screening=5"]));
    said.exits(4).says("would exceed the limit of 20 credits");
    let (charged, held) = machines.told();
    assert!(charged + held <= 20, "{charged} charged and {held} held");
    machines.run("a").exits(0);
    assert_eq!((machines.charged(), machines.told()), (18, (18, 0)));
}
