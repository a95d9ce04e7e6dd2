//! Every stop prints the command that continues. Copied into a shell, it completes the campaign.

use super::{Said, Workspace};
use crate::support::{
    program::{shell, wait_until},
    service::lifted,
    tables::manifest,
};
use rescreen::simulator::{Faults, Settings};

/// Runs the printed command in a shell and expects it to complete the campaign.
fn copied(workspace: &Workspace, said: &Said) -> Said {
    Said::of(&mut shell(workspace.path(), said.next_command())).exits(0)
}

fn is_done(workspace: &Workspace, rows: u64) {
    let manifest = manifest(&workspace.path().join("out/2026-11"));
    assert!(manifest.complete);
    assert_eq!((manifest.totals[0].results, workspace.service.simulator.stats().double_charges), (rows, 0));
}

#[test]
fn after_the_limit_the_command_names_the_limit_that_suffices() {
    let workspace = Workspace::new(30);
    let said = workspace.run(&["--max-credits", "12", "--price", "aml-screening=1"]).exits(4);
    let said = said.says("run again with a higher --max-credits: 30 suffices for everything that was read");
    assert!(said.next_command().contains("--max-credits 30"), "{}", said.next_command());
    copied(&workspace, &said);
    is_done(&workspace, 30);
}

#[test]
fn where_prices_differ_the_command_names_the_exact_sum() {
    let prices = [("aml-screening".to_owned(), 5), ("said-verification".to_owned(), 1)].into();
    let workspace = Workspace::with(0, Settings { prices, ..lifted() });
    workspace.write("book.csv", "no,name,id_number\n1,P00001 Vexford,8001015009087\n2,P00002 Vexford,9111060123086\n");
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
    workspace.write("rescreen.toml", &toml.replace("URL", &workspace.service.url));
    let said = workspace.say(&["run", "--max-credits", "5", "--yes"]).exits(4);
    assert!(said.next_command().contains("--max-credits 12"), "{}", said.next_command());
    copied(&workspace, &said);
    is_done(&workspace, 2);
    assert_eq!(workspace.service.simulator.stats().credits_charged, 12);
}

#[test]
fn after_a_price_above_the_table_the_command_names_the_price() {
    for flag in [&["--price", "aml-screening=1"][..], &["--price=aml-screening=1"]] {
        let prices = [("aml-screening".to_owned(), 3)].into();
        let workspace = Workspace::with(10, Settings { prices, ..lifted() });
        let said = workspace.run(&[&["--max-credits", "100", "--in-flight", "2"], flag].concat()).exits(4);
        assert_eq!(said.next_command().matches("--price").count(), 1, "{}", said.next_command());
        // A schedule repeats the old command. Its stop names the price again, and no way around it.
        let said = workspace.run(&[&["--max-credits", "100", "--in-flight", "2"], flag].concat()).exits(4);
        assert!(said.next_command().contains("--price aml-screening=3"), "{}", said.next_command());
        assert!(!said.next_command().contains("--continue-anyway"), "{}", said.next_command());
        // A plan corrects the price too.
        let plan = Said::of(&mut workspace.production("plan", &[&["--max-credits", "100"], flag].concat())).exits(4);
        let command = plan.stdout.lines().find_map(|line| line.strip_prefix("continue with: ")).expect("a command");
        assert!(command.ends_with("--price aml-screening=3") && command.matches("--price").count() == 1, "{command}");
        copied(&workspace, &said);
        is_done(&workspace, 10);
    }
}

#[test]
fn a_command_that_continues_anyway_does_so_once() {
    let prices = [("aml-screening".to_owned(), 3)].into();
    let workspace = Workspace::with(10, Settings { prices, ..lifted() });
    let flags = ["--price", "aml-screening=1", "--max-credits", "100", "--in-flight", "1", "--continue-anyway"];
    let said = workspace.run(&flags).exits(4);
    let paid = workspace.service.simulator.stats().charges;
    assert!(!said.next_command().contains("--continue-anyway"), "{}", said.next_command());
    workspace.run(&flags[..6]).exits(4);
    assert_eq!(workspace.service.simulator.stats().charges, paid, "the same fault is not bought again");
}

#[test]
fn after_a_refused_key_and_an_outage_the_same_command_resumes() {
    let pages: Vec<String> = (3..=8).map(|nth| format!("html@{nth}")).collect();
    for (fault, code) in [("error401@3,error401@4".to_owned(), 7), (pages.join(","), 10)] {
        let faults: Faults = fault.parse().unwrap();
        let workspace = Workspace::with(8, Settings { faults, ..lifted() });
        let said = workspace.run(&["--in-flight", "1"]).exits(code);
        copied(&workspace, &said);
        is_done(&workspace, 8);
    }
}

#[test]
fn after_its_time_limit_the_command_resumes() {
    let latency = std::time::Duration::from_millis(50);
    let workspace = Workspace::with(60, Settings { latency, ..lifted() });
    let said = workspace.run(&["--for", "300ms", "--in-flight", "4"]).exits(9);
    // The command repeats the time limit, so each run of it continues.
    let mut said = Said::of(&mut shell(workspace.path(), said.next_command()));
    wait_until("the end of the campaign", || {
        if said.code == 9 {
            said = Said::of(&mut shell(workspace.path(), said.next_command()));
        }
        said.code != 9
    });
    said.exits(0);
    is_done(&workspace, 60);
}

#[test]
fn spaces_and_templates_are_quoted_for_the_shell() {
    let workspace = Workspace::new(0);
    workspace.write("my book.csv", "no,first name,surname\n1,Ada,O'Vexford\n2,Bo,Vexford\n");
    let url = workspace.service.url.clone();
    let template = "name={{ row[\"first name\"] }} {{ surname }}'s";
    let words = ["run", "my book.csv", "--check", "aml-screening", "--map", template, "--set", "entity=0"];
    let more =
        "--set country=za --campaign 2026-11 --mode production --id no --price aml-screening=1 --max-credits 1 -y";
    let mut words: Vec<&str> = words.into_iter().chain(more.split_whitespace()).collect();
    words.extend(["--service", &url]);
    let said = workspace.say(&words).exits(4);
    copied(&workspace, &said);
    is_done(&workspace, 2);
}

#[test]
fn a_plan_prints_the_run_it_planned() {
    let workspace = Workspace::new(3);
    let said = Said::of(&mut workspace.production("plan", &["--yes"])).code;
    assert_eq!(said, 2, "plan has no --yes");
    let said = Said::of(&mut workspace.production("plan", &[])).exits(0);
    let command = format!("{} --yes", said.next_command());
    Said::of(&mut shell(workspace.path(), &command)).exits(0);
    is_done(&workspace, 3);
}
