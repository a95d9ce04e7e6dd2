//! A rehearsal is fast, never meets a real campaign, and says that its answers are invented. What a campaign without a
//! campaign file can do: tables, expectations and words are given on the command line.

use crate::{
    cli::Workspace,
    support::{
        API_KEY,
        program::{UnderWay, rescreen},
        tables::{Line, lines, manifest},
    },
};
use rescreen::{
    pipeline::{Campaign, Prepared, Progress, RunOptions, read_file},
    sink::DatasetKind,
};
use std::fs;
use tokio::sync::{mpsc, watch};

const AML: &str = "--check aml-screening --set entity=person --set country=za";
const INVENTED: &str = "INVENTED by the simulator: they are not real verifications";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// ID numbers of invented people, with their surnames.
fn people(count: u32) -> String {
    let check_digit = |number: &str| {
        let double = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
        let digits = number.chars().rev().map(|c| c.to_digit(10).unwrap()).enumerate();
        let sum: u32 = digits.map(|(at, digit)| if at % 2 == 0 { double(digit) } else { digit }).sum();
        (10 - sum % 10) % 10
    };
    let row = |at: u32| {
        let number = format!("800101{:04}08", at);
        format!("{at},{number}{},Nkosi{at}\n", check_digit(&number))
    };
    (1..=count).map(row).fold("no,id_number,surname\n".to_owned(), |rows, row| rows + &row)
}

#[test]
fn a_rehearsal_does_not_wait_for_the_rate_of_the_account() {
    let workspace = Workspace::new(600);
    // At 60 a minute with bursts up to 120 this would take eight minutes.
    let said = UnderWay::start(&mut rescreen(workspace.path(), &words(&format!("run book.csv {AML} --simulate"))));
    let said = said.ends().exits(0);
    assert!(said.stderr.contains("600 rows: 600 results"), "{}", said.stderr);
}

#[tokio::test]
async fn the_time_left_is_capped_only_by_a_rate_that_holds() {
    for (is_unlimited, per_minute) in [(true, 6_000_000), (false, 60)] {
        let workspace = Workspace::new(3);
        let table = "use = \"aml-screening\"\nfields.name = \"name\"\nfields.entity = { value = 0 }\n\
                     fields.country = { value = \"za\" }";
        let service = format!("url = \"{}\"\napi_key = {{ file = \"api-key\" }}", workspace.service.url);
        let text = format!("[input]\npaths = [\"book.csv\"]\n[service]\n{service}\n[[check]]\n{table}\n");
        workspace.write("fast.toml", &text);
        workspace.write("api-key", API_KEY);
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(workspace.path().join("api-key"), owner_only).unwrap();
        let file = read_file(&workspace.path().join("fast.toml")).unwrap();
        let mut campaign = Campaign::new(file, workspace.path()).unwrap();
        campaign.service.unlimited = is_unlimited;
        campaign.service.state_folder = Some(workspace.path().join("state"));
        let (progress, seen) = watch::channel(Progress::default());
        let (_tell, signals) = mpsc::channel(1);
        let prepared = Prepared::open(campaign).await.unwrap();
        prepared.go(RunOptions::default(), signals, progress).await.unwrap();
        assert_eq!(seen.borrow().per_minute, per_minute);
    }
}

#[test]
fn a_rehearsal_in_real_time_keeps_the_rate_of_the_account() {
    let workspace = Workspace::new(300);
    let said =
        workspace.say(&words(&format!("run book.csv {AML} --simulate=realtime --for 3s --format jsonl"))).exits(9);
    let results = lines(&workspace.path().join("out/rehearsals/book"), DatasetKind::Results);
    assert!(results.len() < 125, "{} results: {}", results.len(), said.stderr);
    let wrong = workspace.say(&words(&format!("run book.csv {AML} --simulate=slow"))).exits(2);
    assert!(wrong.stderr.contains("fast, realtime"), "{}", wrong.stderr);
}

/// Twenty jobs of a rehearsal that ends.
fn jobs_in_a_rehearsal() {
    let workspace = Workspace::new(1);
    let row = |at: u32| format!("{at},Vexford {at} Pty,2019/{at:06}/07,Example Bank,0620000{at:02},current\n");
    let header = "no,company_name,registration_number,bank,account_no,account_type\n";
    workspace.write("banks.csv", &(1..=20).map(row).fold(header.to_owned(), |rows, row| rows + &row));
    let line = words("run banks.csv --check business-bank-account --simulate");
    let said = UnderWay::start(&mut rescreen(workspace.path(), &line)).ends();
    assert!([0, 3].contains(&said.code) && said.stderr.contains(" 0 pending"), "{}", said.stderr);
}

#[test]
fn jobs_end_in_a_rehearsal() {
    jobs_in_a_rehearsal();
}

/// The sandbox fails inputs that end in 91, and these requests end last, one after the other.
#[test]
fn inputs_that_always_fail_in_sandbox_do_not_stop_the_others() {
    let workspace = Workspace::new(1);
    let row = |at: u32| format!("{at},Anele {at}\n");
    workspace.write("book.csv", &(1..=1_000).map(row).fold("no,name\n".to_owned(), |rows, row| rows + &row));
    let said = workspace.say(&words(&format!("run book.csv {AML} --simulate"))).exits(3);
    assert!(said.stderr.contains("1,000 rows: 990 results"), "{}", said.stderr);
    assert!(said.stderr.contains(" 10 failures, 0 pending"), "{}", said.stderr);
}

#[test]
fn a_rehearsal_never_takes_the_folder_of_the_real_campaign() {
    for out in [None, Some("results")] {
        let workspace = Workspace::new(2);
        let more = out.map_or(vec![], |out| vec!["--out", out]);
        workspace.run(&[&["--simulate"], &more[..]].concat()).exits(0).says(INVENTED);
        assert_eq!(workspace.service.simulator.stats().requests, 0);
        let (rehearsal, real) = match out {
            None => ("out/rehearsals/2026-11", "out/2026-11"),
            Some(_) => ("results.simulated", "results"),
        };
        assert!(workspace.path().join(rehearsal).join("ledger.sqlite").is_file());
        assert!(!workspace.path().join(real).exists());
        workspace.run(&more).exits(0);
        assert!(workspace.path().join(real).join("ledger.sqlite").is_file());
        let campaigns = || fs::read_dir(workspace.path().join("out")).unwrap().map(|entry| entry.unwrap().file_name());
        if out.is_none() {
            workspace.say(&["status"]).exits(0);
            assert_eq!(campaigns().filter(|name| name != "rehearsals").count(), 1);
        }
    }
}

#[test]
fn a_rehearsal_without_a_name_is_named_after_its_file() {
    let workspace = Workspace::new(2);
    workspace.write("Second list.csv", "no,name\n1,P00009 Vexford\n");
    let usual = words(AML);
    workspace.say(&[&["run", "book.csv"], &usual[..], &["--simulate"]].concat()).exits(0).says("campaign book");
    let second = [&["run", "Second list.csv"], &usual[..], &["--simulate"]].concat();
    workspace.say(&second).exits(0).says("campaign Second-list");
    // A name of its own is always possible for a file that was replaced.
    workspace.write("book.csv", "no,name\n1,P00077 Vexford\n2,P00078 Vexford\n");
    let changed = [&["run", "book.csv"], &usual[..], &["--simulate"]].concat();
    workspace.say(&changed).exits(2).says("start a new campaign with --campaign NAME");
    workspace.say(&[&changed[..], &["--campaign", "third"]].concat()).exits(0);
}

#[test]
fn most_answers_of_a_rehearsal_are_what_the_rows_expect() {
    let workspace = Workspace::new(1);
    workspace.write("people.csv", &people(200));
    let run = "run people.csv --check said-verification --map idNumber=id_number --expect surname=surname --simulate \
               --format jsonl";
    workspace.say(&words(run)).exits(0);
    let results = lines(&workspace.path().join("out/rehearsals/people"), DatasetKind::Results);
    let of = |verdict: &str| results.iter().filter(|row| row["verdict"] == verdict).count();
    assert!(of("review") >= 1 && of("review") <= 25 && of("clear") > 150, "{} of {}", of("review"), results.len());
    // The same rows agree in every rehearsal.
    workspace.say(&words(&format!("{run} --campaign again"))).exits(0);
    let again = lines(&workspace.path().join("out/rehearsals/again"), DatasetKind::Results);
    let verdicts = |rows: &[Line]| rows.iter().map(|row| row["verdict"].clone()).collect::<Vec<_>>();
    assert_eq!(verdicts(&results), verdicts(&again));
}

#[test]
fn an_expectation_is_a_flag_of_one_check_or_of_a_named_one() {
    let workspace = Workspace::new(1);
    workspace.write("people.csv", &people(2));
    let both = "plan people.csv --check said-verification --check aml-screening --map aml-screening.name=surname \
                --set aml-screening.entity=0 --set aml-screening.country=za --map said-verification.idNumber=id_number \
                --simulate";
    let more = |expect: &str| format!("{both} --expect {expect}");
    workspace.say(&words(&more("said-verification.surname=surname"))).exits(0);
    workspace.say(&words(&more("surname=surname"))).exits(2).says("--expect surname: expected NAME.FIELD");
    let said = workspace.say(&words(&more("said-verification.surnam=surname"))).exits(2);
    assert!(said.stderr.contains("did you mean `surname`?"), "{}", said.stderr);
    workspace.say(&words(&more("said-verification.surname=nothing"))).exits(2).says("`nothing`");
    workspace.say(&words(&more("surname"))).exits(2).says("--expect surname: expected FIELD=COLUMN");
}

#[test]
fn a_table_is_a_flag_and_a_missing_entry_names_the_table() {
    let workspace = Workspace::new(1);
    workspace.write("people.csv", "no,name,land\n1,A Vexford,Dutchy\n2,B Vexford,Nowhere\n");
    workspace.write("lands.csv", "land,code\nDutchy,nl\n");
    let mut run = words("run people.csv --check aml-screening --set entity=0 --simulate --format jsonl --max-errors 9");
    run.extend(["--map", "country={{ land | table('lands') }}", "--tables", "lands=lands.csv"]);
    workspace.say(&run).exits(3);
    let failures = lines(&workspace.path().join("out/rehearsals/people"), DatasetKind::Failures);
    let message = "field `country` (template): there is no entry in table `lands` for this value; set a value to use \
                   instead with `| default(…)`";
    assert_eq!((failures.len(), &failures[0]["message"]), (1, &message.into()));
    assert_eq!(failures[0]["code"], "missing_value");
    *run.last_mut().unwrap() = "lands=gone.csv";
    workspace.say(&run).exits(2).says("[tables] lands: ").says("gone.csv: cannot be opened");
    *run.last_mut().unwrap() = "lands";
    workspace.say(&run).exits(2).says("--tables lands: expected NAME=FILE");
}

#[test]
fn demonyms_are_countries_and_what_is_not_one_has_its_own_code() {
    let workspace = Workspace::new(1);
    let lands = ["South African", "british", "Korean", "S.A.", "Wakandan", "Dominican"];
    let row = |(at, land): (usize, &&str)| format!("{at},P{at:05} Vexford,{land}\n");
    let rows: String = lands.iter().enumerate().map(row).collect();
    workspace.write("people.csv", &format!("no,name,land\n{rows}"));
    for (campaign, country) in [("filter", "country={{ land | country }}"), ("field", "country=land")] {
        let mut run = words("run people.csv --check aml-screening --set entity=0 --simulate --format jsonl");
        run.extend(["--max-errors", "9", "--map", country, "--campaign", campaign]);
        workspace.say(&run).exits(3);
        let out = workspace.path().join("out/rehearsals").join(campaign);
        assert_eq!(lines(&out, DatasetKind::Results).len(), 2);
        let failures = lines(&out, DatasetKind::Failures);
        assert!(failures.iter().all(|row| row["code"] == "unknown_country"), "{failures:?}");
        let said: Vec<&str> = failures.iter().map(|row| row["message"].as_str().unwrap()).collect();
        for (message, part) in said.iter().zip([
            "may mean North Korea or South Korea",
            "may mean South Africa or Saudi Arabia",
            "found something else",
            "may mean Dominica or Dominican Republic",
        ]) {
            assert!(message.contains(part) && !message.contains("Wakandan"), "{message}");
        }
    }
}

#[test]
fn the_words_for_a_person_and_a_company_are_those_of_everyday_lists() {
    let workspace = Workspace::new(1);
    let kinds =
        ["Person", "individual", "Natural person", "COMPANY", "organisation", "Organization", "legal entity", "0", "1"];
    let row = |(at, kind): (usize, &&str)| format!("{at},P{at:05} Vexford,{kind}\n");
    let rows: String = kinds.iter().enumerate().map(row).collect();
    workspace.write("people.csv", &format!("no,name,kind\n{rows}9,P00009 Vexford,robot\n"));
    let run = "run people.csv --check aml-screening --map entity=kind --set country=za --simulate --format jsonl";
    workspace.say(&words(run)).exits(3);
    let out = workspace.path().join("out/rehearsals/people");
    let sent =
        |row: &Line| row["sent"].as_str().map_or(row["sent"].clone(), |text| serde_json::from_str(text).unwrap());
    let entities: Vec<i64> =
        lines(&out, DatasetKind::Results).iter().map(|row| sent(row)["entity"].as_i64().unwrap()).collect();
    assert_eq!(entities, [0, 0, 0, 1, 1, 1, 1, 0, 1], "the body has the numbers of the service");
    let failures = lines(&out, DatasetKind::Failures);
    let message = failures[0]["message"].as_str().unwrap();
    assert!(message.contains("expected one of 0, 1 (or `business`, `company`, `individual`"), "{message}");
    let wrong = words("plan people.csv --check aml-screening --set entity=robot --set country=za --simulate");
    workspace.say(&wrong).exits(2).says("`person`").says("`company`");
}

#[test]
fn invented_answers_are_called_invented_in_banner_summary_and_folder() {
    let workspace = Workspace::new(1);
    let run = format!("run book.csv {AML} --per-minute 6000 --service {}", workspace.service.url);
    let said = workspace.say(&words(&run)).exits(0);
    let invented = "INVENTED by the sandbox of the service: they are not real verifications";
    assert!(said.stderr.contains(&format!("the answers are {invented}")), "{}", said.stderr);
    let readme = |folder: &str| fs::read_to_string(workspace.path().join(folder).join("README.txt")).unwrap();
    assert!(readme("out/book.sandbox").contains("INVENTED, NOT REAL VERIFICATIONS"));

    let said = workspace.say(&words(&format!("run book.csv {AML} --simulate"))).exits(0);
    let warning = format!("the answers are {INVENTED}");
    assert_eq!(said.stderr.matches(&warning).count(), 2, "at the beginning and at the end: {}", said.stderr);
    assert!(readme("out/rehearsals/book").contains("they come from the simulator"));
}

#[test]
fn the_answers_of_a_service_are_not_called_invented_in_production() {
    use crate::support::service::{Service, lifted};
    let mut workspace = Workspace::new(1);
    workspace.service = Service::behind_a_proxy(lifted());
    workspace.service.looks_real(true);
    let said = workspace.run(&[]).exits(0);
    assert!(!said.stderr.contains("INVENTED"), "{}", said.stderr);
    assert!(!fs::read_to_string(workspace.path().join("out/2026-11/README.txt")).unwrap().contains("INVENTED"));
}

#[test]
fn a_changed_mapping_is_named_and_its_rows_are_counted() {
    let workspace = Workspace::new(5);
    let run = |entity: &str, more: &[&str]| {
        let entity = format!("entity={entity}");
        let usual =
            ["run", "book.csv", "--check", "aml-screening", "--set", &entity, "--set", "country=za", "--simulate"];
        workspace.say(&[&usual[..], more].concat())
    };
    let said = run("1", &["--limit", "2"]).exits(9);
    assert!(!said.stderr.contains("the mapping of"), "{}", said.stderr);
    let changed = "the mapping of aml-screening changed; 2 rows keep answers to the old one; for the new mapping on these \
                   rows, start a new campaign with --campaign NAME";
    run("0", &["--limit", "4"]).exits(9).says(changed);
    let said = run("0", &[]).exits(0);
    assert!(!said.stderr.contains("the mapping of"), "it is named once: {}", said.stderr);
    let out = workspace.path().join("out/rehearsals/book");
    let rows: Vec<u64> = manifest(&out).mappings.iter().map(|mapping| mapping.rows).collect();
    assert_eq!(rows, [2, 3]);
    let status = workspace.say(&["status", "out/rehearsals/book"]).exits(0).stdout;
    assert!(status.contains("   rows of aml-screening with its mapping since "), "{status}");
    // Back to the first mapping: the rows of that time have it.
    run("1", &[]).exits(0).says("the mapping of aml-screening changed; 3 rows keep answers to the old one");
}

#[test]
fn the_banner_names_the_campaign_file_in_use() {
    let workspace = Workspace::new(1);
    let said = workspace.say(&words(&format!("run book.csv {AML} --simulate"))).exits(0);
    assert!(!said.stderr.contains("campaign file"), "{}", said.stderr);
    workspace.write("rescreen.toml", "[output]\nformat = \"jsonl\"\n");
    workspace
        .say(&words(&format!("run book.csv {AML} --simulate --campaign b")))
        .exits(0)
        .says("campaign file: rescreen.toml\n");
    fs::rename(workspace.path().join("rescreen.toml"), workspace.path().join("my.toml")).unwrap();
    let named = format!("run book.csv -c my.toml {AML} --simulate --campaign c");
    workspace.say(&words(&named)).exits(0).says("campaign file: my.toml\n");
}

#[test]
fn an_output_folder_that_is_a_file_is_a_usage_error() {
    let workspace = Workspace::new(1);
    workspace.write("afile", "");
    for out in ["afile", "afile/below"] {
        let said = workspace.run(&["--out", out]).exits(2).says("afile is a file, expected a folder");
        assert!(!said.stderr.contains("os error"), "{}", said.stderr);
    }
}

#[test]
fn credits_without_a_service_do_not_advise_a_flag_that_they_lack() {
    let said = Workspace::new(1).say(&["credits"]).exits(2).says("no service is named: --service URL");
    assert!(!said.stderr.contains("--simulate"), "{}", said.stderr);
}

#[test]
fn a_run_without_a_service_prints_the_command_that_rehearses() {
    let workspace = Workspace::new(1);
    workspace.write("one.csv", "full_name\nAnna Vexford\n");
    let words = ["run", "one.csv", "--check", "aml-screening", "--map", "name=full_name"];
    let said = workspace.say(&words).exits(2).says("no service is named: --service URL");
    let command = said.stderr.lines().find_map(|line| line.strip_prefix("to rehearse: ")).expect("a command");
    assert!(command.ends_with("run one.csv --check aml-screening --map name=full_name --simulate"), "{command}");
    let json = workspace.say(&[&words[..], &["--json"]].concat()).exits(2).stdout;
    let object: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert!(object["error"]["next_command"].as_str().unwrap().ends_with("--json --simulate"), "{object}");
}

#[test]
fn an_unknown_fault_is_answered_with_the_names_of_all() {
    let workspace = Workspace::new(1);
    let said = workspace.say(&["simulate", "--faults", "bogus:1"]).exits(2);
    let help = workspace.say(&["simulate", "--help"]).exits(0).stdout;
    for name in rescreen::simulator::Faults::NAMES {
        assert!(said.stderr.contains(name) && help.contains(name), "{name}: {}", said.stderr);
    }
    let said = workspace.say(&["simulate", "--job-faults", "bogus:1"]).exits(2);
    for name in rescreen::simulator::JobFaults::names() {
        assert!(said.stderr.contains(name) && help.contains(name), "{name}: {}", said.stderr);
    }
}

/// How long a rehearsal takes.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn jobs_end_at_once_in_a_rehearsal() {
        let begun = Instant::now();
        jobs_in_a_rehearsal();
        assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    }
}
