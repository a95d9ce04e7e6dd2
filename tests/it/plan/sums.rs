//! The numbers of a plan add up, whatever the input, and are those of the run.

use crate::{
    cli::Workspace,
    support::{program::Said, rng::Rng, tables::manifest},
};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use rescreen::{
    model::Stop,
    pipeline::{Campaign, PlanOptions, Tree, campaign::parse, plan},
};
use std::{collections::BTreeSet, fs};

/// One row of a random input.
#[derive(Debug, Clone)]
struct Line {
    /// Index of a name, so that some rows are equal. 0 is empty.
    name: u8,
    /// Index of an ID number: 0 is empty, 1 is wrong, the others are right.
    number: u8,
    is_active: bool,
    /// Cells too many or too few.
    more: i8,
}

const NUMBERS: [&str; 6] = ["", "8001015009080", "8001015009087", "9111060123086", "9503143488082", "7306067651087"];

fn line() -> impl Strategy<Value = Line> {
    let more = prop_oneof![8 => Just(0_i8), 1 => Just(1), 1 => Just(-1)];
    (0..12_u8, 0..6_u8, any::<bool>(), more).prop_map(|(name, number, is_active, more)| Line {
        name,
        number,
        is_active,
        more,
    })
}

fn text(number: usize, line: &Line) -> String {
    let name = if line.name == 0 { String::new() } else { format!("Person {}", line.name) };
    let status = if line.is_active { "active" } else { "closed" };
    let cells = format!("{number},{name},{},{status}", NUMBERS[usize::from(line.number)]);
    match line.more {
        1 => cells + ",more\n",
        -1 => cells.rsplit_once(',').unwrap().0.to_owned() + "\n",
        _ => cells + "\n",
    }
}

const CHECKS: [&str; 3] = [
    "use = \"aml-screening\"\nwhen = \"status == 'active'\"\nfields = { name = \"name\", entity = { value = 0 }, country = { value = \"za\" } }\n",
    "use = \"said-verification\"\nfields.idNumber = \"number\"\n",
    "use = \"aml-screening\"\nname = \"again\"\nfields = { name = \"name\", entity = { value = 0 }, country = { value = \"za\" } }\n",
];

/// The tree, counted without the program.
fn expected(lines: &[Line], checks: usize) -> Tree {
    let mut tree = Tree { rows: lines.len() as u64, ..Tree::default() };
    let mut requests = BTreeSet::new();
    let mut asks = 0;
    for line in lines {
        if line.more != 0 {
            tree.unreadable += 1;
            continue;
        }
        for check in 0..checks {
            asks += 1;
            let value = if check == 1 { line.number } else { line.name };
            if check == 0 && !line.is_active {
                tree.skipped += 1;
            } else if value == 0 || check == 1 && value == 1 {
                tree.rejected += 1;
            } else {
                // Both uses of the same check share a request.
                requests.insert((check % 2, value));
            }
        }
    }
    tree.asks = asks;
    tree.to_send = requests.len() as u64;
    tree.duplicates = asks - tree.skipped - tree.rejected - tree.to_send;
    tree
}

fn adds_up(tree: &Tree, checks: u64) {
    assert_eq!(tree.rows, tree.unreadable + tree.readable(), "{tree:?}");
    assert_eq!(tree.asks, tree.readable() * checks, "{tree:?}");
    assert_eq!(tree.asks, tree.skipped + tree.rejected + tree.duplicates + tree.requests(), "{tree:?}");
}

#[test]
fn the_tree_is_that_of_the_input_and_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::new(super::super::properties::cases(60));
    let inputs = (vec(line(), 0..60), 1..=3_usize, 1..20_usize);
    let result = runner.run(&inputs, |(lines, checks, split_rows)| {
        let rows = lines.iter().enumerate().map(|(at, line)| text(at + 1, line));
        let book = "no,name,number,status\n".to_owned() + &rows.collect::<String>();
        fs::write(folder.path().join("book.csv"), book).unwrap();
        let uses: String = CHECKS[..checks].iter().map(|check| format!("[[check]]\n{check}")).collect();
        let file = parse(&format!(
            "service.url = \"http://127.0.0.1:1\"\ninput = {{ paths = [\"book.csv\"], id = \"no\" }}\n{uses}"
        ));
        let mut campaign = Campaign::new(file.unwrap(), folder.path()).unwrap();
        campaign.source_options.split_rows = Some(split_rows);
        let planned = plan(&campaign, &PlanOptions::default()).unwrap();
        adds_up(&planned.tree, checks as u64);
        assert_eq!(planned.tree, expected(&lines, checks));
        assert_eq!(planned.reasons.total(), planned.tree.rejected + planned.tree.unreadable);
        assert_eq!(planned.money.requests(), planned.tree.to_send);
        let id = planned.id.unwrap();
        assert_eq!((id.filled + id.empty, id.repeated()), (planned.tree.readable(), 0));
        for ((check, _), values) in &planned.fields {
            let skipped = if *check == 0 { planned.tree.skipped } else { 0 };
            assert_eq!(values.filled + values.empty, planned.tree.readable() - skipped);
            assert!(values.distinct <= values.filled);
        }
        // The guard decides on these numbers, and only from the first 50 asks on.
        if let Some((rows, stop)) = planned.early_stop {
            assert!(matches!(stop, Stop::TooManyErrors { of: 50.., .. }) && rows <= planned.tree.rows);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_plan_in_the_middle_of_a_campaign_adds_up_and_says_what_is_left() {
    let workspace = Workspace::new(0);
    let mut rng = Rng::new(3);
    let mut book = "no,name,status\n".to_owned();
    for row in 1..=200 {
        book += &match rng.roll() % 10 {
            0 => format!("{row},,active\n"),
            1 => format!("{row}\n"),
            kind => format!("{row},Person {},active\n", (kind * 7 + row) % 60),
        };
    }
    workspace.write("book.csv", &book);
    let tree = |more: &[&str]| {
        let more = [more, &["--json"]].concat();
        let said = Said::of(&mut workspace.production("plan", &more)).exits(0);
        let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        let of = |name: &str| json["asks"][name].as_u64().unwrap();
        let parts =
            ["skipped", "rejected", "duplicates", "settled", "jobs", "quarantined", "kept", "in_doubt", "to_send"];
        assert_eq!(of("total"), parts.iter().map(|part| of(part)).sum::<u64>(), "{json}");
        (of("settled"), of("to_send"), of("rejected"), json["credits"]["this_run"].as_u64().unwrap())
    };
    let all = ["--max-errors", "100%"];
    let (settled, to_send, rejected, cost) = tree(&all);
    assert_eq!((settled, to_send, cost), (0, to_send, to_send));
    workspace.run(&["--limit", "80", "--max-errors", "100%"]).exits(9);
    let done = workspace.service.simulator.stats().charges;
    assert!(done > 0 && done < to_send, "{done}");
    assert_eq!(tree(&all), (done, to_send - done, rejected, to_send - done));
    workspace.run(&all).exits(3);
    assert_eq!(workspace.service.simulator.stats().charges, to_send, "as planned");
    assert_eq!(tree(&all), (to_send, 0, rejected, 0));
    let totals = &manifest(&workspace.path().join("out/2026-11")).totals[0];
    assert_eq!(totals.failures, rejected);
}

#[test]
fn rows_that_were_read_with_another_mapping_are_not_planned_again() {
    let workspace = Workspace::new(6);
    workspace.run(&["--limit", "4"]).exits(9);
    let said = Said::of(&mut workspace.production("plan", &["--map", "name={{ name }} Esq"])).exits(0);
    assert!(
        said.stdout.contains("  kept                         4   read before with another mapping"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("  to send                      2"), "{}", said.stdout);
    workspace.run(&["--map", "name={{ name }} Esq"]).exits(0);
    assert_eq!(workspace.service.simulator.stats().charges, 6);
}

#[test]
fn after_a_change_of_the_mapping_a_run_sends_as_many_requests_as_planned() {
    for seed in 1..=4 {
        let workspace = Workspace::new(0);
        let mut rng = Rng::new(seed);
        let mut book = "no,name,land\n".to_owned();
        for row in 1..=120 {
            // Some have no country in the first run, some have no name in any.
            let land = ["", "za", "us"][(rng.roll() % 3) as usize];
            let name = rng.roll() % 40;
            let name = if name == 0 { String::new() } else { format!("Person {name}") };
            book += &format!("{row},{name},{land}\n");
        }
        workspace.write("book.csv", &(book + "121,,za\n"));
        let command = |command: &str, more: &str| {
            let words = format!(
                "{command} book.csv --check aml-screening --set entity=0 --campaign 2026-11 --mode production --id no \
                 --per-minute 600000 --per-minute-max 900000 --price aml-screening=1 --max-errors 100% --service {} {more}",
                workspace.service.url
            );
            workspace.say(&words.split_whitespace().collect::<Vec<_>>())
        };
        let charges = || workspace.service.simulator.stats().charges;
        let planned = |more: &str| {
            let said = command("plan", &format!("{more} --json")).exits(0);
            let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
            (json["checks"][0]["to_send"].as_u64().unwrap(), json)
        };
        command("run", &format!("--yes --map country=land --max-credits {} --limit 100", 10 * seed)).exits(4);
        assert_eq!(charges(), 10 * seed);
        let changed = "--set country=us --max-credits 1000";
        let (to_send, json) = planned(changed);
        assert!(
            json["to_send_of_other_mapping"].as_u64() > Some(0) && json["asks"]["kept"].as_u64() > Some(0),
            "{json}"
        );
        command("run", &format!("--yes {changed}")).exits(3);
        assert_eq!(charges(), 10 * seed + to_send, "as planned: {json}");
        let (left, json) = planned(changed);
        assert_eq!((left, &json["next_command"]), (0, &serde_json::Value::Null), "{json}");
        command("run", &format!("--yes {changed}")).exits(3);
        assert_eq!(charges(), 10 * seed + to_send);
    }
}

#[test]
fn requests_of_another_mapping_that_still_wait_are_not_the_end_of_a_campaign() {
    let workspace = Workspace::new(6);
    workspace.run(&["--max-credits", "4", "--price", "aml-screening=1"]).exits(4);
    let said = Said::of(&mut workspace.production("plan", &["--map", "name={{ name }} Esq"])).exits(0);
    said.shows("kept 6")
        .shows("also to send 2")
        .shows("a run would send 2 requests")
        .shows("continue with: rescreen run");
}

#[test]
fn rows_that_the_new_mapping_would_reject_are_kept_as_the_old_one_filled_them() {
    let workspace = Workspace::new(6);
    workspace.run(&[]).exits(0);
    let changed = ["--map", "name={% if no == \"1\" %}{{ name }}{% endif %}"];
    let said = Said::of(&mut workspace.production("plan", &changed)).exits(0);
    said.shows("rejected 0").shows("already settled 1").shows("kept 5").shows("nothing would be sent");
    let said = workspace.run(&changed).exits(0);
    said.says("6 rows: 6 results").says("6 rows keep answers to the old one");
}

#[test]
fn requests_in_doubt_are_counted_apart_and_their_price_once() {
    let settings = rescreen::simulator::Settings {
        faults: "drop_after@4,drop_after@6".parse().unwrap(),
        ..crate::support::service::lifted()
    };
    let workspace = Workspace::with(10, settings);
    let said = workspace.run(&["--in-flight", "1", "--max-credits", "6", "--price", "aml-screening=1"]);
    assert!([4, 8].contains(&said.code), "{}", said.stderr);
    let plan = Said::of(&mut workspace.production("plan", &["--json"]));
    let json: serde_json::Value = serde_json::from_str(&plan.stdout).unwrap();
    let credits = &json["credits"];
    let of = |name: &str| credits[name].as_u64().unwrap();
    assert_eq!(of("used"), of("charged") + of("held"), "{json}");
    assert_eq!(of("sufficient_limit"), 10, "each request costs one credit, in doubt or not: {json}");
}
