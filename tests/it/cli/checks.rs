//! What `rescreen checks` prints, and what is reported about identifiers that were accepted with a doubt.

use super::{Said, Workspace};
use crate::support::program::rescreen;

#[test]
fn the_overview_names_every_check_with_its_route_and_fields() {
    let said = Workspace::new(0).say(&["checks"]).exits(0);
    let lines: Vec<String> =
        said.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "adverse-media /adverse-media name, entity adverse media search for a person or company",
        "cipc-company /cipc registration_number company lookup by registration number in the South African companies register (CIPC)",
        "consumer-trace /verify idNumber addresses, contacts and employment of a South African ID number",
        "number-plate /number-plate registrationNumber vehicle lookup by number plate",
        "property-search /property-search idNumber properties registered to a South African ID number",
        "vin-decode /vin-decode vin vehicle data decoded from a 17-character VIN",
    ] {
        assert!(lines.iter().any(|found| found == line), "expected `{line}` in:\n{}", said.stdout);
    }
    assert!(lines.iter().any(|line| line.starts_with("vehicle-check /vehicle-check registrationNumber, [vin]")));
}

#[test]
fn a_check_in_full_says_what_is_assumed_and_how_long_a_key_lives() {
    let said = Workspace::new(0).say(&["checks", "adverse-media"]).exits(0);
    insta::assert_snapshot!(said.stdout.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n"), @r"
    adverse-media: adverse media search for a person or company
    route /adverse-media (alternate none) · the POST is answered, or repeated under its key until it is · key lifetime 48 h · price not documented: --price

     field   kind     needed  default  meaning
     name    text     yes              the subject's name
     entity  integer  yes              0 = person, 1 = company

     result column            from
     article_count            /articles
     first_article_title      /articles/0/title or /articles/0/headline (assumed)
     first_article_url        /articles/0/url or /articles/0/link (assumed)
     first_article_published  /articles/0/published_at or /articles/0/publishedAt or /articles/0/date (assumed)
     screening_findings       /screening

     verdict  finding
     review   adverse_media
     review   screening_match
     clear    no_adverse_media
     review   unclear_answer
    (the verdict rules are assumed: the service's description does not document these fields)
    ");
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
    let plan = said("plan").exits(0).stdout;
    for line in [
        "noted                      2   registration number in another format",
        "noted                      2   VIN whose check digit does not match",
        "(first in row 2 of book.csv)",
        "  spreadsheet_damage       1",
        "  invalid_value            2",
        "  missing_value            1",
    ] {
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
