//! The commands that only read: plan, status, resolve, checks, credits. Their data goes to standard output.

use super::{Said, Workspace};
use rescreen::catalogue::Catalogue;
use serde_json::{Value, json};

#[test]
fn a_plan_counts_everything_and_sends_nothing_that_costs() {
    let workspace = Workspace::new(0);
    let mut text = crate::support::world::book(1..=120) + &crate::support::world::people(1..=20);
    text += "141,,active\n142\n143,P00143 Vexford,closed\n";
    workspace.write("book.csv", &text);
    workspace.write(
        "rescreen.toml",
        "[[check]]\nuse = \"aml-screening\"\nwhen = \"status == 'active'\"\nfields.name = \"name\"\n",
    );
    let said = Said::of(&mut workspace.production("plan", &["--show", "1"])).exits(0);
    assert_eq!(said.stderr, "", "the whole plan is data");
    let said =
        said.shows("request aml-screening: name = \"P…\" (14 characters), entity = 0, country = \"…\" (2 characters)");
    for line in [
        "rows                         143",
        "  unreadable                   1",
        "checks asked                 142",
        "  skipped                      1",
        "  rejected                     1",
        "  duplicates                  20",
        "  to send                    120",
    ] {
        assert!(said.stdout.contains(line), "expected `{line}` in:\n{}", said.stdout);
    }
    let stats = workspace.service.simulator.stats();
    assert_eq!((stats.charges, stats.requests), (0, 1), "the balance alone is read");
    assert!(!workspace.path().join("out").exists());
    let ran = workspace.run(&[]).exits(3);
    assert!(ran.stderr.contains("143 rows: 140 results"), "{}", ran.stderr);
    assert_eq!(workspace.service.simulator.stats().charges, 120, "as planned");
    let said = Said::of(&mut workspace.production("plan", &[])).exits(0);
    let line = |name: &str| said.stdout.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("  to send").ends_with(" 0") && line("  already settled").contains(" 120"), "{}", said.stdout);
}

#[test]
fn a_plan_warns_that_limit_or_balance_will_pause_the_run() {
    let settings = rescreen::simulator::Settings { credits: 5, ..crate::support::service::lifted() };
    let workspace = Workspace::with(20, settings);
    let more = ["--max-credits", "8", "--price", "aml-screening=1"];
    let said = Said::of(&mut workspace.production("plan", &more)).exits(4);
    let said = said.shows("the limit of 8 credits is 12 short: 0 are used, and this run needs 20; --max-credits 20");
    assert!(said.next_command().contains("--max-credits 20"), "{}", said.stdout);
    let more = ["--max-credits", "20", "--price", "aml-screening=1", "--keep-balance", "2"];
    let said = Said::of(&mut workspace.production("plan", &more)).exits(4);
    said.shows("the balance of 5 credits is 17 short: this run needs 20, 0 are held and 2 are to be kept")
        .shows("then plan again: rescreen plan");
}

#[test]
fn status_reports_a_campaign_as_text_and_as_json() {
    let workspace = Workspace::new(12);
    workspace.run(&["--max-credits", "5", "--price", "aml-screening=1"]).exits(4);
    let said = workspace.say(&["status"]).exits(0);
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(workspace.filtered(&said.stdout), @r#"
    campaign 2026-11 · production (simulated) · [url]
    last run        stopped [time], exit code 4 (limit)
      the next request costs 1 and would exceed the limit of 5 credits: 5 are charged and 0 are held; run again with a higher --max-credits
      continue with: rescreen run book.csv --check aml-screening --set entity=0 --set country=za --campaign 2026-11 --mode production --id no --per-minute 600000 --per-minute-max 900000 --service [url] --max-credits 12 --price aml-screening=1 --yes
    progress              41.6 %   5 of 12 requests
    rows                      12
    rejected                   0
    skipped                    0
    requests                  12
      planned                  7
      answered                 5
    results                    5   aml-screening: 5 clear
    attempts                   5
    credits charged            5
    credits held               0
    balance              999,995   read [time]
    "#);
    let status = workspace.status();
    assert_eq!(
        (&status["campaign"], &status["mode"], &status["rows"]),
        (&json!("2026-11"), &json!("production"), &json!(12))
    );
    assert_eq!((&status["simulated"], &status["input_complete"]), (&json!(true), &json!(true)));
    assert_eq!((&status["requests"]["answered"], &status["requests"]["planned"]), (&json!(5), &json!(7)));
    assert_eq!((&status["credits"]["charged"], &status["credits"]["held"]), (&json!(5), &json!(0)));
    assert_eq!(status["service"], json!(workspace.service.url));
    let named = workspace.say(&["status", "out/2026-11", "--json"]).exits(0);
    assert_eq!(serde_json::from_str::<Value>(&named.stdout).unwrap(), status);
}

#[test]
fn nothing_waits_for_a_decision_where_nothing_is_quarantined() {
    let workspace = Workspace::new(2);
    workspace.run(&[]).exits(0);
    let said = workspace.say(&["resolve", "--list"]).exits(0).without_data();
    assert_eq!(said.stderr, "no request waits for a decision\n");
    workspace.say(&["resolve", "--write-off"]).exits(2).says("--reason");
}

#[test]
fn the_credits_of_the_account_are_a_number() {
    let workspace = Workspace::new(0);
    workspace.service.simulator.set_balance(777);
    let said = workspace.say(&["credits", "--service", &workspace.service.url]).exits(0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("777\n", ""));
    let said = workspace.say(&["credits", "--service", "http://127.0.0.1:1"]);
    said.exits(10).without_data();
}

#[test]
fn a_printed_declaration_loads_as_one_of_the_campaign_file() {
    let workspace = Workspace::new(3);
    let mut overview = workspace.say(&["checks"]).exits(0).stdout;
    for declaration in Catalogue::built_in().iter() {
        assert!(overview.contains(&declaration.name));
        let printed = workspace.say(&["checks", &declaration.name, "--toml"]).exits(0).stdout;
        overview += &printed;
        let campaign = rescreen::pipeline::campaign::parse(&printed).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(&campaign.declarations[0], declaration);
    }
    let own = workspace.say(&["checks", "aml-screening", "--toml"]).stdout;
    workspace.write("rescreen.toml", &own);
    workspace.run(&[]).exits(0);
    let json = workspace.say(&["checks", "aml-screening", "--json"]).exits(0).stdout;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["checks"][0]["name"], "aml-screening");
}

#[test]
fn the_demo_completes_and_can_be_repeated() {
    let workspace = Workspace::new(0);
    let said = workspace.say(&["demo"]).exits(0).without_data();
    for part in ["PRODUCTION · simulator", "262 rows: 495 results", "read_parquet", "rescreen run -c"] {
        assert!(said.stderr.contains(part), "expected `{part}` in:\n{}", said.stderr);
    }
    workspace.say(&["demo"]).exits(0).says("demo-2");
    let line = said.stderr.lines().map(str::trim).find(|line| line.starts_with("rescreen run -c")).unwrap();
    Said::of(&mut crate::support::program::shell(workspace.path(), line)).exits(3).says("nothing sent");
}

#[test]
fn a_campaign_that_has_published_nothing_is_no_subject() {
    let workspace = Workspace::new(2);
    workspace.run(&[]).exits(0);
    let begun = workspace.path().join("out/begun");
    std::fs::create_dir_all(&begun).unwrap();
    std::fs::copy(workspace.path().join("out/2026-11/ledger.sqlite"), begun.join("ledger.sqlite")).unwrap();
    let said = workspace.say(&["show", "begun"]).exits(2);
    said.says("out/begun has no published results yet; its state: rescreen status out/begun");
    // A subject may contain a slash, and is not repeated.
    let said = workspace.say(&["show", "1995/004005/07"]).exits(2).says("expected an output folder");
    assert!(!said.stderr.contains("004005"), "{}", said.stderr);
    workspace.say(&["show", "nobody"]).exits(2).says("expected an output folder, a campaign name or a subject");
}
