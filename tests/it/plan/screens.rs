//! Whole screens, as a user reads them, 80 columns wide. `RESCREEN_WRITE_GOLDEN=1` writes the files.

use crate::{
    cli::Workspace,
    support::{
        program::{Said, rescreen},
        service::lifted,
        world::{book, people},
    },
};
use rescreen::simulator::Settings;
use std::{fs, path::PathBuf};

/// Compares the screen of a plan with its file, and checks that it is a screen.
#[track_caller]
fn is_shown(workspace: &Workspace, name: &str, said: &Said) {
    assert_eq!(said.stderr, "", "the whole plan is data");
    let shown = workspace.filtered(&said.stdout) + "\n";
    let (commands, lines): (Vec<&str>, Vec<&str>) = shown.lines().partition(|line| line.contains(": rescreen "));
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "more than 80 columns:\n{shown}");
    assert!(commands.len() <= 1 && lines.len() < 45, "{} lines:\n{shown}", lines.len());
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/plan/screens").join(format!("{name}.txt"));
    if std::env::var_os("RESCREEN_WRITE_GOLDEN").is_some() {
        fs::write(&path, &shown).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, wanted, "{name}: RESCREEN_WRITE_GOLDEN=1 writes the file");
}

fn planned(workspace: &Workspace, more: &[&str]) -> Said {
    Said::of(&mut workspace.production("plan", more))
}

#[test]
fn a_plan_of_a_sound_campaign() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", &(book(1..=120) + &people(1..=20)));
    is_shown(&workspace, "sound", &planned(&workspace, &[]).exits(0));
    workspace.run(&[]).exits(0);
    is_shown(&workspace, "complete", &planned(&workspace, &[]).exits(0));
}

#[test]
fn a_plan_with_rejected_rows_says_why_and_where() {
    let workspace = Workspace::new(0);
    let mut text = book(1..=40);
    text += "41,,active\n42\n43,,active\n44,P1,active,more\n45,,active\n,P00046 Vexford,active\n7,P00047 Vexford,\n";
    workspace.write("book.csv", &text);
    is_shown(&workspace, "rejected", &planned(&workspace, &[]).exits(0));
}

#[test]
fn a_plan_that_would_send_nothing_says_so() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name\n1,\n2,\n");
    is_shown(&workspace, "nothing", &planned(&workspace, &[]).exits(3));
}

#[test]
fn a_plan_that_a_guard_would_stop_says_so() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", &(book(1..=50) + &"9,,active\n".repeat(25)));
    is_shown(&workspace, "guard", &planned(&workspace, &["--expect-rows", "10"]).exits(6));
}

#[test]
fn a_plan_beyond_the_limit_names_what_is_missing() {
    let workspace = Workspace::new(600);
    let money = ["--max-credits", "120", "--price", "aml-screening=1"];
    is_shown(&workspace, "short", &planned(&workspace, &money).exits(4));
}

#[test]
fn a_plan_in_sandbox_says_what_production_would_cost() {
    let workspace = Workspace::new(30);
    let url = &workspace.service.url;
    let words = ["plan", "book.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za"];
    let plan = |more: &[&str]| workspace.say(&[&words[..], more, &["--service", url]].concat()).exits(0);
    is_shown(&workspace, "sandbox", &plan(&["--price", "aml-screening=2"]));
    plan(&[]).shows("in production unknown 30 × aml-screening: add --price aml-screening=N");
}

#[test]
fn a_plan_without_an_api_key_is_whole_and_offers_a_rehearsal() {
    let workspace = Workspace::new(600);
    let money = ["--max-credits", "120", "--price", "aml-screening=1"];
    let said = Said::of(workspace.production("plan", &money).env_remove("RESCREEN_API_KEY")).exits(2);
    is_shown(&workspace, "without-key", &said);
    let money = ["--max-credits", "1000", "--price", "aml-screening=1"];
    let said = Said::of(workspace.production("plan", &money).env_remove("RESCREEN_API_KEY")).exits(2);
    let command = said.stdout.lines().find_map(|line| line.strip_prefix("to rehearse without an API key: ")).unwrap();
    let rehearsal = command.replace("--per-minute 600000 --per-minute-max 900000", "--limit 3");
    let mut rehearsal = crate::support::program::shell(workspace.path(), &rehearsal);
    Said::of(rehearsal.env_remove("RESCREEN_API_KEY")).exits(9).says("3 results");
}

const BANKING: &str = r#"
    campaign = "2026-11"
    mode = "production"
    service = { url = "URL" }
    input = { paths = ["book.csv"], id = "no" }
    budget = { max_credits = 1000, prices = { bank-account = 6, business-bank-account = 7 } }
    [[check]]
    use = "business-bank-account"
    when = "kind == 'business'"
    fields.registrationNumber = "number"
    [[check]]
    use = "cipc-company"
    name = "register"
    when = "kind == 'business'"
    fields.registration_number = "number"
"#;

fn banking(more: &str) -> Workspace {
    let workspace = Workspace::with(0, Settings { prices: [("cipc-company".to_owned(), 5)].into(), ..lifted() });
    let mut text = "no,kind,business_name,number,bank_name,account_number,account_type\n".to_owned();
    for row in 1..=9 {
        let kind = if row % 3 == 0 { "person" } else { "business" };
        text += &format!("{row},{kind},Vexford {row} Pty,2019/{:06}/07,Example Bank,0620{row:05}0,current\n", row % 5);
    }
    workspace.write("book.csv", &text);
    workspace.write("rescreen.toml", &(BANKING.replace("URL", &workspace.service.url) + more));
    workspace
}

#[test]
fn a_plan_of_several_checks_with_jobs() {
    let workspace = banking("");
    let prices = ["--price", "cipc-company=5"];
    let plan = |more: &[&str]| Said::of(&mut rescreen(workspace.path(), &[&["plan"], &prices[..], more].concat()));
    is_shown(&workspace, "jobs", &plan(&[]).exits(0));
    let webhook = banking("[webhook]\nurl = \"https://hooks.example.co.za\"\n");
    let said = Said::of(&mut rescreen(webhook.path(), &[&["plan"], &prices[..]].concat())).exits(0);
    said.shows("The service also notifies https://hooks.example.co.za when they end.");
}

#[test]
fn a_wide_campaign_leaves_out_fields_and_says_so() {
    let workspace = banking(
        "[[check]]\nuse = \"aml-screening\"\nfields = { name = \"business_name\", entity = { value = 1 }, country = { value = \"za\" } }\n",
    );
    let words = ["plan", "--price", "cipc-company=5", "--price", "aml-screening=2"];
    let said = Said::of(&mut rescreen(workspace.path(), &words)).exits(0);
    is_shown(&workspace, "wide", &said);
}

#[test]
fn a_fourth_reason_is_listed_and_a_fifth_is_not() {
    let workspace = Workspace::new(0);
    let text = book(1..=9) + "10,,active\n11\n12,A,active,more\n13,A,active,more,more\n";
    workspace.write("book.csv", &text);
    let said = planned(&workspace, &[]).exits(0).shows("rejected or unreadable, by reason");
    assert!(said.stdout.contains("expected 3 columns, found 5") && !said.stdout.contains("other reasons"));
    workspace.write("book.csv", &(text + "14,A,active,more,more,more\n"));
    planned(&workspace, &[])
        .exits(0)
        .shows("rejected or unreadable: the 3 commonest of 5 reasons")
        .shows("2 for other reasons");
}

#[test]
fn a_reason_of_several_lines_is_shown_whole() {
    let workspace = Workspace::new(0);
    let column = "the name of the customer as the branch wrote it down ".repeat(4);
    let column = column.trim();
    workspace.write("book.csv", &format!("no,{column}\n1,A\n2,\n"));
    planned(&workspace, &["--map", &format!("name={column}")]).exits(0).shows("expected a value, found none line 3");
}

#[test]
fn a_plan_of_a_rehearsal_says_that_its_time_is_that_of_a_real_run() {
    let workspace = Workspace::new(120);
    let words = ["plan", "book.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za"];
    let said = workspace.say(&[&words[..], &["--simulate"]].concat()).exits(0);
    let said = said.shows("of a real run, at 60 a minute");
    assert!(!said.stdout.contains("until"), "{}", said.stdout);
}
