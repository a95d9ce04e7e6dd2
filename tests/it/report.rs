//! `rescreen report` writes one page whose figures are those of the ledger, that contains no personal data, and that no
//! text from outside can change. It is readable at every width, in light and dark, and without a script.

mod browser;
mod changes;
mod figures;
mod files;
mod hostile;
mod parsed;

use crate::{
    cli::Workspace,
    support::{program::Said, service::lifted},
};
use parsed::Page;
use rescreen::simulator::Settings;
use std::fs;

/// A campaign file with two checks of the same rows.
pub const TWO_CHECKS: &str = r#"
[input]
paths = ["people.csv"]
id = "no"

[[check]]
use = "aml-screening"
when = "status == 'active'"
fields.name = "{{ name }}"
fields.country = { value = "za" }
fields.entity = { value = 0 }

[[check]]
use = "said-verification"
when = "status == 'active'"
fields.idNumber = "id_number"
expect.surname = "surname"
"#;

/// Identity numbers of nobody, with a right last digit.
const NUMBERS: [&str; 4] = ["8001015009087", "9202204720083", "7306067651087", "9503143488082"];

/// People of whom some are duplicates, some lack values, two cannot be read, and some are left out.
pub fn people(count: usize) -> String {
    let mut text = "no,name,surname,id_number,status\n".to_owned();
    for at in 1..=count {
        let (number, status) = (NUMBERS[at % 4], if at % 10 == 0 { "closed" } else { "active" });
        text.push_str(&match at % 20 {
            3 => format!("S-{at},,Marker{at},{number},active\n"),
            7 => format!("S-{at},Person Marker{at},Marker{at},123,active\n"),
            11 if at < 40 => format!("S-{at},Person Marker{at},Marker{at},{number},active,more\n"),
            _ => format!("S-{at},P{:05} Marker{},Marker{},{number},{status}\n", at % 30, at % 30, at % 30),
        });
    }
    text
}

/// A workspace with the campaign of two checks.
pub fn two_checks(rows: usize) -> Workspace {
    let prices = [("aml-screening".to_owned(), 2), ("said-verification".to_owned(), 1)].into();
    let workspace = Workspace::with(0, Settings { prices, ..lifted() });
    workspace.write("rescreen.toml", TWO_CHECKS);
    workspace.write("people.csv", &people(rows));
    workspace
}

/// Runs the campaign of two checks, with more arguments.
pub fn run(workspace: &Workspace, more: &[&str]) -> Said {
    run_round(workspace, "2026-11", more)
}

/// The same under another name.
pub fn run_round(workspace: &Workspace, campaign: &str, more: &[&str]) -> Said {
    let url = workspace.service.url.as_str();
    let words = "run --mode production --yes --price aml-screening=2 --price said-verification=1 --per-minute 600000 \
                 --per-minute-max 900000 --service";
    let words = words.split_whitespace().chain([url, "--campaign", campaign]).chain(more.iter().copied());
    workspace.say(&words.collect::<Vec<_>>())
}

/// Writes the report and reads it.
#[track_caller]
pub fn reported(workspace: &Workspace) -> Page {
    workspace.say(&["report", "out/2026-11"]).exits(0);
    Page::read(&fs::read_to_string(workspace.path().join("out/2026-11/report.html")).unwrap())
}
