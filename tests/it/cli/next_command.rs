//! Every stop prints the command that continues. Copied into a shell, it completes the campaign.

use super::{Desk, Said};
use crate::support::{program::shell, service::lifted, tables::manifest};
use rescreen::simulator::{Faults, Settings};

/// Runs the printed command in a shell and expects it to complete the campaign.
fn copied(desk: &Desk, said: &Said) -> Said {
    Said::of(&mut shell(desk.path(), said.next_command())).exits(0)
}

fn is_done(desk: &Desk, rows: u64) {
    let manifest = manifest(&desk.path().join("out/2026-11"));
    assert!(manifest.complete);
    assert_eq!((manifest.totals[0].results, desk.service.simulator.stats().double_charges), (rows, 0));
}

#[test]
fn after_the_limit_the_command_names_the_limit_that_suffices() {
    let desk = Desk::new(30);
    let said = desk.run(&["--max-credits", "12", "--price", "aml-screening=1"]).exits(4);
    assert!(said.next_command().contains("--max-credits 30"), "{}", said.next_command());
    copied(&desk, &said);
    is_done(&desk, 30);
}

#[test]
fn where_prices_differ_repeating_the_printed_command_completes_the_campaign() {
    let prices = [("aml-screening".to_owned(), 5), ("said-verification".to_owned(), 1)].into();
    let desk = Desk::with(0, Settings { prices, ..lifted() });
    desk.write("book.csv", "no,name,id_number\n1,P00001 Vexford,8001015009087\n2,P00002 Vexford,9111060123086\n");
    let toml = r#"
        campaign = "2026-11"
        mode = "production"
        service = { url = "URL", per_minute = 60_000, per_minute_max = 90_000 }
        input = { paths = ["book.csv"], id = "no" }
        budget.prices = { aml-screening = 5, said-verification = 1 }
        [[check]]
        use = "aml-screening"
        fields = { entity = { value = 0 }, country = { value = "za" } }
        [[check]]
        use = "said-verification"
    "#;
    desk.write("rescreen.toml", &toml.replace("URL", &desk.service.url));
    let mut said = desk.say(&["run", "--max-credits", "5", "--yes"]).exits(4);
    for _ in 0..3 {
        said = Said::of(&mut shell(desk.path(), said.next_command()));
        if said.code == 0 {
            break;
        }
    }
    said.exits(0);
    is_done(&desk, 2);
    assert_eq!(desk.service.simulator.stats().credits_charged, 12);
}

#[test]
fn after_a_price_above_the_table_the_command_names_the_price() {
    for flag in [&["--price", "aml-screening=1"][..], &["--price=aml-screening=1"]] {
        let prices = [("aml-screening".to_owned(), 3)].into();
        let desk = Desk::with(10, Settings { prices, ..lifted() });
        let said = desk.run(&[&["--max-credits", "100", "--in-flight", "2"], flag].concat()).exits(4);
        assert_eq!(said.next_command().matches("--price").count(), 1, "{}", said.next_command());
        copied(&desk, &said);
        is_done(&desk, 10);
    }
}

#[test]
fn after_a_refused_key_and_an_outage_the_same_command_resumes() {
    let pages: Vec<String> = (3..=8).map(|nth| format!("html@{nth}")).collect();
    for (fault, code) in [("error401@3,error401@4".to_owned(), 7), (pages.join(","), 10)] {
        let faults: Faults = fault.parse().unwrap();
        let desk = Desk::with(8, Settings { faults, ..lifted() });
        let said = desk.run(&["--in-flight", "1"]).exits(code);
        copied(&desk, &said);
        is_done(&desk, 8);
    }
}

#[test]
fn after_its_time_limit_the_command_resumes() {
    let latency = std::time::Duration::from_millis(50);
    let desk = Desk::with(60, Settings { latency, ..lifted() });
    let said = desk.run(&["--for", "300ms", "--in-flight", "4"]).exits(9);
    // The command repeats the time limit, so each run of it continues.
    let mut said = Said::of(&mut shell(desk.path(), said.next_command()));
    while said.code == 9 {
        said = Said::of(&mut shell(desk.path(), said.next_command()));
    }
    said.exits(0);
    is_done(&desk, 60);
}

#[test]
fn spaces_and_templates_are_quoted_for_the_shell() {
    let desk = Desk::new(0);
    desk.write("my book.csv", "no,first name,surname\n1,Ada,O'Vexford\n2,Bo,Vexford\n");
    let url = desk.service.url.clone();
    let template = "name={{ row[\"first name\"] }} {{ surname }}'s";
    let words = ["run", "my book.csv", "--check", "aml-screening", "--map", template, "--set", "entity=0"];
    let more =
        "--set country=za --campaign 2026-11 --mode production --id no --price aml-screening=1 --max-credits 1 -y";
    let mut words: Vec<&str> = words.into_iter().chain(more.split_whitespace()).collect();
    words.extend(["--service", &url]);
    let said = desk.say(&words).exits(4);
    copied(&desk, &said);
    is_done(&desk, 2);
}

#[test]
fn a_plan_prints_the_run_it_planned() {
    let desk = Desk::new(3);
    let said = Said::of(&mut desk.production("plan", &["--yes"])).code;
    assert_eq!(said, 2, "plan has no --yes");
    let said = Said::of(&mut desk.production("plan", &[])).exits(0);
    let command = format!("{} --yes", said.next_command());
    Said::of(&mut shell(desk.path(), &command)).exits(0);
    is_done(&desk, 3);
}
