//! Lists as people have them: titles above the table, totals below it, other delimiters and encodings, no header, several
//! sheets; and what is not a list.

use super::sets;
use crate::fuzzed::checks::xlsx::{Workbook, rows, text};
use crate::support::folder::Folder;
use std::{fs, io::Write};

const IDS: [&str; 4] = ["9503143488082", "7306067651087", "8607125667083", "8001015009087"];

/// A list of ID numbers with a delimiter.
fn people(delimiter: char) -> String {
    let line = |(at, id): (usize, &&str)| format!("{at}{delimiter}{id}{delimiter}Bloemfontein\n");
    let rows: String = IDS.iter().enumerate().map(line).collect();
    format!("No{delimiter}Identity Number{delimiter}Branch\n{rows}")
}

#[test]
fn titles_a_total_and_semicolons_are_found() {
    let list = format!("Customers, as of today, branch 12\n\n{}Total;;4\n", people(';'));
    let folder = Folder::with("list.csv", list);
    let text = folder.init(&["list.csv", "--check", "said-verification"]);
    for line in ["header_row = 3", "skip_footer = 1", "fields.idNumber = \"Identity Number\"", "id = \"No\""] {
        sets(&text, line);
    }
    folder.say(&["plan", "--simulate"]).exits(0);
    let said = folder.say(&["run", "--simulate", "--per-minute", "60000"]).exits(0);
    assert!(said.stderr.contains("4 rows: 4 results"), "{}", said.stderr);
}

#[test]
fn a_list_in_windows_1252_is_recognised() {
    let mut bytes = people(';').into_bytes();
    bytes.extend(b"9;8001015009087;Caf\xe9\n");
    let folder = Folder::with("list.csv", bytes);
    let text = folder.init(&["list.csv", "--check", "said-verification"]);
    sets(&text, "encoding = \"windows-1252\"");
    folder.say(&["plan", "--simulate"]).exits(0);
}

#[test]
fn a_list_without_a_header_has_numbered_columns() {
    let list = people(',').lines().skip(1).map(|line| format!("{line}\n")).collect::<String>();
    let folder = Folder::with("list.csv", list);
    let text = folder.init(&["list.csv", "--check", "said-verification"]);
    sets(&text, "header = false");
    sets(&text, "fields.idNumber = \"column_2\"");
    folder.say(&["plan", "--simulate"]).exits(0);
}

#[test]
fn the_sheet_whose_columns_fit_is_chosen_and_its_title_is_skipped() {
    let of = |cells: &[&str]| cells.iter().map(|cell| text(cell)).collect::<Vec<_>>();
    let header = of(&["No", "VIN"]);
    let cars = [of(&["1", "1M8GDM9AXKP042788"]), of(&["2", "11111111111111111"]), of(&["3", "1M8GDM9A0KP042788"])];
    let notes = [of(&["Note", "By"]), of(&["seen", "me"]), of(&["sold", "you"])];
    fn refs(rows: &[Vec<String>]) -> Vec<Vec<&str>> {
        rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect()
    }
    let table = [vec![of(&["Our fleet"]), vec![], header], cars.to_vec()].concat();
    let (table, notes) = (refs(&table), refs(&notes));
    let slices = |table: &[Vec<&str>]| -> String { rows(&table.iter().map(Vec::as_slice).collect::<Vec<_>>()) };
    let workbook = Workbook::new().sheet("Notes", &slices(&notes)).sheet("Fleet 2026", &slices(&table));
    let folder = Folder::with("cars.xlsx", workbook.bytes());
    let text = folder.init(&["cars.xlsx", "--check", "vin-decode"]);
    for line in ["sheet = \"Fleet 2026\"", "header_row = 3", "fields.vin = \"VIN\"", "id = \"No\""] {
        sets(&text, line);
    }
    folder.say(&["plan", "--simulate"]).exits(0);
    let said = folder.say(&["init", "cars.xlsx", "--check", "cipc-company", "--force"]).exits(2);
    said.says("found 2 that fit equally: Notes, Fleet 2026; name one with --sheet NAME");
}

#[test]
fn a_compressed_list_is_sampled() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(people(',').as_bytes()).unwrap();
    let folder = Folder::with("list.csv.gz", packed.finish().unwrap());
    sets(&folder.init(&["list.csv.gz", "--check", "said-verification"]), "fields.idNumber = \"Identity Number\"");
}

#[test]
fn several_files_have_one_layout() {
    let folder = Folder::with("a.csv", people(','));
    folder.write("b.csv", people(','));
    folder.write("c.csv", format!("Title\n{}", people(',')));
    let text = folder.init(&["a.csv", "b.csv", "--check", "said-verification"]);
    sets(&text, "paths = [\"a.csv\", \"b.csv\"]");
    let said = folder.say(&["init", "a.csv", "c.csv", "--check", "said-verification", "--force"]).exits(2);
    said.says("a.csv and c.csv differ in their layout");
    // A column that one of them lacks feeds nothing.
    folder.write("d.csv", "No,Branch\n1,x\n2,y\n");
    let said = folder.say(&["init", "a.csv", "d.csv", "--check", "said-verification", "--force"]).exits(0);
    said.says("1 setting is needed and open: idNumber");
}

#[test]
fn what_is_not_a_list_is_refused_and_nothing_is_written() {
    let folder = Folder::with("image.png", b"\x89PNG\r\n\x1a\n\0\0");
    folder.write("empty.csv", "");
    folder.write("header.csv", "No,VIN\n");
    folder.write("list.json", "[{\"a\": 1}]");
    for (name, says) in [
        ("image.png", "an image is not supported"),
        ("empty.csv", "found an empty input"),
        ("header.csv", "expected rows, found none that can be read"),
        ("list.json", "found a JSON list"),
        ("-", "init needs a file, found standard input"),
        ("missing.csv", "cannot be opened"),
        ("/dev/null", "init needs a file, found a pipe or a device"),
        (".", "expected a file, found a folder"),
    ] {
        for check in [&["--check", "vin-decode"][..], &[]] {
            let said = folder.say(&[&["init", name], check].concat()).exits(2).without_data();
            assert!(said.stderr.contains(says), "{name}: {}", said.stderr);
        }
    }
    assert!(!folder.path().join("rescreen.toml").exists());
}

#[test]
fn a_campaign_file_is_not_overwritten_by_accident() {
    let folder = Folder::with("list.csv", people(','));
    folder.write("rescreen.toml", "mine");
    let arguments = ["init", "list.csv", "--check", "said-verification"];
    folder.say(&arguments).exits(2).says("rescreen.toml exists and is not overwritten");
    assert_eq!(fs::read_to_string(folder.path().join("rescreen.toml")).unwrap(), "mine");
    let printed = folder.say(&[&arguments[..], &["--output", "-"]].concat()).exits(0).stdout;
    let there = folder.say(&[&arguments[..], &["--output", "other.toml"]].concat()).exits(0);
    assert!(there.stderr.ends_with("  rescreen plan -c other.toml --simulate\n"), "{}", there.stderr);
    folder.say(&[&arguments[..], &["--force"]].concat()).exits(0);
    for name in ["rescreen.toml", "other.toml"] {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), printed);
    }
    folder.say(&["plan", "-c", "other.toml", "--simulate"]).exits(0);
    let said = folder.say(&[&arguments[..], &["--output", "nowhere/c.toml"]].concat()).exits(2);
    said.says("expected the folder nowhere, found none");
    let quiet = folder.say(&["init", "list.csv", "--check", "aml-screening", "--force", "-q"]).exits(0);
    assert!(quiet.stderr.starts_with("2 settings are needed and open: name, country\n"), "{}", quiet.stderr);
}

#[test]
fn a_campaign_file_elsewhere_names_its_input_from_there() {
    let folder = Folder::with("list.csv", people(','));
    fs::create_dir(folder.path().join("inside")).unwrap();
    folder.copy(&folder.path().join("list.csv"), "inside/other.csv");
    for (list, path) in
        [("inside/other.csv", "other.csv"), ("list.csv", folder.path().join("list.csv").to_str().unwrap())]
    {
        let output = ["--output", "inside/c.toml", "--force"];
        folder.say(&[&["init", list, "--check", "said-verification"], &output[..]].concat()).exits(0);
        let text = fs::read_to_string(folder.path().join("inside/c.toml")).unwrap();
        sets(&text, &format!("paths = [\"{path}\"]"));
        folder.say(&["plan", "-c", "inside/c.toml", "--simulate"]).exits(0);
    }
}

#[test]
fn what_the_user_says_is_written_and_an_unknown_check_is_an_error() {
    let folder = Folder::with("list.csv", people(','));
    let said = ["--set", "entity=1", "--map", "name={{ Branch }}", "--set", "country=za"];
    let text = folder.init(&[&["list.csv", "--check", "aml-screening"], &said[..]].concat());
    for line in ["fields.entity = { value = 1 }", "fields.name = \"{{ Branch }}\""] {
        sets(&text, line);
    }
    folder.say(&["plan", "--simulate"]).exits(0);
    folder
        .say(&["init", "list.csv", "--check", "aml-screning", "--force"])
        .exits(2)
        .says("did you mean `aml-screening`?");
    let more = ["--check", "said-verification", "--set", "x=1", "--force"];
    folder.say(&[&["init", "list.csv"], &more[..]].concat()).exits(2).says("has no field `x`");
}
