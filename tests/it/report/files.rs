//! Where the page is written, what it replaces, and how the command says it. And campaigns with nothing to show.

use super::{Page, reported, run, two_checks};
use crate::{
    cli::Workspace,
    support::{
        program::{UnderWay, wait_until},
        schema::valid,
        service::{Service, lifted},
    },
};
use rescreen::simulator::Settings;
use std::{fs, time::Duration};

#[test]
fn a_report_replaces_a_report_and_nothing_else() {
    let workspace = Workspace::new(3);
    workspace.run(&[]).exits(0);
    let said = workspace.say(&["report", "out/2026-11"]).exits(0);
    assert!(said.stdout.is_empty() && said.stderr.contains("report: out/2026-11/report.html"), "{}", said.stderr);
    assert!(said.stderr.contains("3 results, 0 failures, 0 pending, 0 skipped"), "{}", said.stderr);
    assert!(said.stderr.contains("INVENTED"), "{}", said.stderr);
    workspace.say(&["report", "2026-11"]).exits(0);
    workspace.write("mine.html", "<!DOCTYPE html>\nmine");
    let refused = workspace.say(&["report", "out/2026-11", "--to", "mine.html"]).exits(2);
    assert!(
        refused.stderr.contains("mine.html: expected no file, or a report that rescreen made"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_to_string(workspace.path().join("mine.html")).unwrap(), "<!DOCTYPE html>\nmine");
    workspace.say(&["report", "out/2026-11", "--to", "no/report.html"]).exits(2).says("found no folder no");
    workspace.say(&["report", "out/2026-10"]).exits(2);
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(workspace.path().join("out/2026-11/report.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The next run leaves the report where it is.
    workspace.run(&[]).exits(0);
    assert!(workspace.path().join("out/2026-11/report.html").exists());
}

#[test]
fn a_ledger_in_another_place_is_reported_beside_the_outputs() {
    let workspace = Workspace::new(2);
    workspace.write("rescreen.toml", "[ledger]\npath = \"books/ledger.sqlite\"\n");
    workspace.run(&[]).exits(0);
    let file = fs::read_to_string(workspace.path().join("rescreen.toml")).unwrap();
    workspace.write("rescreen.toml", &format!("campaign = \"2026-11\"\nmode = \"production\"\n{file}"));
    let json = valid(&workspace.say(&["report", "--json"]).exits(0).stdout);
    assert_eq!((&json["file"], &json["published"]), (&"out/2026-11/report.html".into(), &true.into()), "{json}");
    assert!(workspace.path().join("out/2026-11/report.html").exists());
}

#[test]
fn a_campaign_without_rows_has_a_whole_page() {
    let workspace = two_checks(0);
    run(&workspace, &["--max-credits", "10"]);
    let page = reported(&workspace);
    assert_eq!((page.fact("Rows"), page.fact("Results"), page.fact("Requests")), (0, 0, 0));
    for text in ["Nothing failed.", "Nothing was sent yet.", "No answer is published yet."] {
        assert!(page.text.contains(text), "{text}");
    }
    assert!(page.headings.len() >= 10, "{:?}", page.headings);
}

#[test]
fn a_campaign_with_failures_only_shows_each_reason() {
    let workspace = two_checks(0);
    workspace.write("people.csv", "no,name,surname,id_number,status\n1,,A,123,active\n2,,B,,active\n3,x\n");
    run(&workspace, &["--max-credits", "10", "--max-errors", "100%"]);
    let page = reported(&workspace);
    assert_eq!((page.fact("Results"), page.fact("Failures"), page.fact("Requests")), (0, 5, 0));
    let reasons = page.numbers("Failures by reason", 4, 2);
    let of = |check: &str, code: &str| reasons[&vec![check.to_owned(), code.to_owned()]];
    assert_eq!((of("aml-screening", "missing_value"), of("all checks", "ragged_row"), of("all", "")), (2, 1, 5));
    assert!(page.charts.contains_key("Failures by reason"), "{:?}", page.charts);
    let rows = page.rows("The first 12 rows of each reason");
    let ragged = rows.iter().find(|row| row[1] == "ragged_row").unwrap();
    assert_eq!((ragged[2].as_str(), ragged[3].as_str()), ("people.csv", "3 (line 4)"));
}

#[test]
fn answers_that_are_invented_are_called_so_and_real_ones_are_not() {
    let workspace = Workspace::new(2);
    workspace.run(&[]).exits(0);
    let page = reported(&workspace);
    assert!(page.has_warning && page.text.contains("INVENTED by the simulator"), "{}", page.text);
    let html = fs::read_to_string(workspace.path().join("out/2026-11/report.html")).unwrap();
    assert!(html.contains("@top-center"), "every printed page says so");
    let mut real = Workspace::new(2);
    real.service = Service::behind_a_proxy(lifted());
    real.service.looks_real(true);
    real.run(&[]).exits(0);
    let page = reported(&real);
    assert!(
        !page.has_warning && !page.text.contains("INVENTED") && page.text.contains("Mode production"),
        "{}",
        page.text
    );
    let html = fs::read_to_string(real.path().join("out/2026-11/report.html")).unwrap();
    assert!(!html.contains("@top-center") && Page::read(&html).charts.len() > 3);
}

#[test]
fn a_run_that_was_killed_before_its_first_reply_shows_that_it_sent_a_request() {
    let workspace = Workspace::with(1, Settings { latency: Duration::from_secs(5), ..lifted() });
    let run = UnderWay::start(&mut workspace.production("run", &["--yes"]));
    let posts = || workspace.service.simulator.stats().by_route.get("POST /aml-screening").copied();
    wait_until("a request", || posts().is_some());
    run.signal("KILL");
    assert_eq!(run.wait().code, -9);
    let page = reported(&workspace);
    assert!(!page.text.contains("Nothing was sent yet."), "{}", page.text);
}
