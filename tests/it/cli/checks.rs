//! What `rescreen checks` prints, and what is reported about identifiers that were accepted with a doubt.

use super::{Said, Workspace};
use crate::support::program::rescreen;

#[test]
fn the_overview_groups_every_check_by_its_subject_and_fits_80_columns() {
    let said = Workspace::new(0).say(&["checks"]).exits(0);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let under = |subject: &str| -> Vec<&str> {
        let from = lines.iter().position(|line| *line == subject).unwrap_or_else(|| panic!("{subject}")) + 1;
        let own = lines[from..].iter().take_while(|line| line.starts_with(' '));
        own.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty()).collect()
    };
    assert!(under("person").contains(&"aml-screening") && under("company").contains(&"cipc-company"));
    assert!(under("bank").contains(&"bank-account") && under("vehicle").contains(&"licence-disc"));
    assert!(under("document").contains(&"drivers-licence") && under("property").contains(&"property-search"));
    let subjects = ["person", "company", "bank", "document", "vehicle", "property"];
    let mut all: Vec<&str> = subjects.iter().flat_map(|subject| under(subject)).collect();
    all.sort();
    let catalogue = rescreen::catalogue::Catalogue::built_in();
    assert_eq!(all, catalogue.iter().map(|check| check.name.as_str()).collect::<Vec<_>>());
}

#[test]
fn every_check_in_full_fits_80_columns_and_marks_what_is_assumed() {
    for check in rescreen::catalogue::Catalogue::built_in().iter() {
        let said = Workspace::new(0).say(&["checks", &check.name]).exits(0);
        let wide: Vec<&str> = said.stdout.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, Vec::<&str>::new(), "{}", check.name);
    }
    let said = Workspace::new(0).say(&["checks", "cipc-director"]).exits(0);
    for line in [
        "route       /cipc/director (assumed)",
        "alternate   /cipc/director\n",
        "flow        answered at once (assumed)",
    ] {
        assert!(said.stdout.contains(line), "expected `{line}` in:\n{}", said.stdout);
    }
}

#[test]
fn a_csv_file_to_fill_in_has_every_field_of_a_check_and_its_printed_command_works() {
    for check in rescreen::catalogue::Catalogue::built_in().iter() {
        let said = Workspace::new(0).say(&["checks", &check.name, "--csv"]).exits(0);
        assert_eq!(said.stdout.lines().count(), 1, "{}", check.name);
        let mut named: Vec<&str> = said.stdout.trim_end().split(',').collect();
        let mut known: Vec<&str> = check.fields.iter().map(|field| field.name.as_str()).chain(["id"]).collect();
        named.sort();
        known.sort();
        assert_eq!(named, known, "{}", check.name);
        said.says(&format!("rescreen init FILE.csv --check {}", check.name));
    }
    let workspace = Workspace::new(0);
    let header = workspace.say(&["checks", "said-verification", "--csv"]).exits(0).stdout;
    assert!(header.starts_with("id,idNumber"), "{header}");
    let empty = ",".repeat(header.matches(',').count() - 1);
    workspace.write("people.csv", &format!("{header}P1,8001015009087{empty}\nP2,9202204720083{empty}\n"));
    workspace.say(&["init", "people.csv", "--check", "said-verification"]).exits(0);
    workspace.say(&["run", "--simulate"]).exits(0).says("2 rows: 2 results");
}

#[test]
fn a_check_in_full_says_what_is_assumed_and_how_long_a_key_lives() {
    let said = Workspace::new(0).say(&["checks", "adverse-media"]).exits(0);
    let lines: Vec<String> =
        said.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "adverse-media: adverse media search for a person or company",
        "route /adverse-media",
        "flow answered at once, or repeated under its key until it is",
        "key life 48 hours",
        "price not documented: --price",
        "entity integer yes (assumed) 0 = person, 1 = company",
        "article_count /articles",
        "first_article_title /articles/0/title or /articles/0/headline (assumed)",
        "review sanctions_match (assumed)",
        "review media_match",
        "clear no_adverse_media",
    ] {
        assert!(lines.iter().any(|found| found == line), "expected `{line}` in:\n{}", said.stdout);
    }
}

const BOOK: &str = "no,reg_no,vin\n1,2016/004321/07,1M8GDM9AXKP042788\n2,CK2016/004321/07,1M8GDM9A0KP042788\n\
                    3,2016//004321/07,1M8GDM9A1KP042788\n4,8.61E+12,\n5,IT 353/2013,1M8\n";

#[test]
fn plan_and_run_count_doubtful_values_and_print_none() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", BOOK);
    let said = |command: &str| {
        let words = "book.csv --check cipc-company --check vin-decode --campaign 2026-11 --max-errors 100% --simulate";
        let words: Vec<&str> = [command].into_iter().chain(words.split_whitespace()).collect();
        Said::of(&mut rescreen(workspace.path(), &words))
    };
    let plan = said("plan").exits(0);
    let plan = plan.shows("noted 2 values, first in row 2 of book.csv: registration number in another format");
    let plan = plan.shows("noted 2 values, first in row 2 of book.csv: VIN whose check digit does not match").stdout;
    for line in
        ["1  spreadsheet_damage: cipc-company: ", "1  missing_value: vin-decode: ", "1  invalid_value: vin-decode: "]
    {
        assert!(plan.contains(line), "expected `{line}` in:\n{plan}");
    }
    let run = said("run").exits(3).stderr;
    for line in [
        "2 values with a note, the first in row 2 of book.csv: registration number in another format",
        "2 values with a note, the first in row 2 of book.csv: VIN whose check digit does not match",
    ] {
        assert!(run.contains(line), "expected `{line}` in:\n{run}");
    }
    let again = said("run").exits(3).stderr;
    assert!(!again.contains("with a note"), "this run ingested nothing:\n{again}");
    for text in [plan, run, again] {
        assert!(!text.contains("4321") && !text.contains("1M8") && !text.contains("8.61"), "{text}");
    }
}

#[test]
fn plan_names_columns_of_optional_fields_that_are_not_mapped_and_the_limit_of_an_hour() {
    let workspace = Workspace::new(2);
    workspace.write("book.csv", "no,name,Data Set\n1,Jo Vexford,all\n");
    workspace.write("rescreen.toml", "[service.checks.aml-screening]\nper_hour = 30\n");
    let hint = "1 column has the name of an optional field of aml-screening; to send it: fields.dataset = \"Data Set\"";
    let plan = Said::of(&mut workspace.production("plan", &[])).exits(0).shows(hint);
    assert!(plan.stdout.contains("time                         0 s   at 600,000 a minute"), "{}", plan.stdout);
    workspace.write("book.csv", &crate::support::world::book(1..=61));
    let slow = Said::of(&mut workspace.production("plan", &[])).exits(0);
    slow.shows("time 2 h 0 min at 30 an hour of aml-screening, until ");
    workspace.write("book.csv", "no,name,Data Set\n1,Jo Vexford,all\n");
    let mapped = Said::of(&mut workspace.production("plan", &["--map", "dataset=Data Set"])).exits(0).stdout;
    assert!(!mapped.contains("optional field"), "{mapped}");
}
