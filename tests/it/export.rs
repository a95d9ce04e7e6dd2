//! The promise: an export has every row that it is asked for, in forms that a spreadsheet program or a loader reads without
//! harm, and an export that fails leaves nothing behind.

mod broken;
mod forms;
mod limits;
mod unreadable;
mod wide;
mod workbook;

use crate::{
    cli::Workspace,
    support::{program::Said, program::rescreen, tables::Line},
};
use rescreen::model::key::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

/// Rows that are screened without a fault, after those of [`book`].
const MORE: usize = 90;

/// A book with every kind of row: identifiers with leading zeros, cells that look like formulas, a duplicate, a missing
/// value, a row that `when` leaves out, and one that cannot be read.
fn book(more: usize) -> String {
    let mut text = "ID No,name,phone,note,status,director\n\
        0001015009087,Thandi Vexford,+27 82 555 0199,=1+1,active,Ayo Marsh\n\
        =1+1,Sipho Brandt,-5,@SUM(A1),active,Ayo Marsh\n\
        0001015009087,Thandi Vexford,0825550199,\"two\nlines, \"\"quoted\"\"\",active,Ayo Marsh\n\
        8001015009087,,-1+1,plain,active,Ayo Marsh\n\
        0000000000013,Lerato Quist,1e5,TRUE,closed,Ayo Marsh\n\
        0000000000021,Too,many,cells,active,here,and,here\n"
        .to_owned();
    for number in 0..more {
        // A note that does not compress.
        let note = hex(&Sha256::digest(number.to_be_bytes()));
        text.push_str(&format!("{number:013},P{number:05} Vexford,,x{note},active,D{number:05} Marsh\n"));
    }
    text
}

/// A campaign of two checks in production, with a book of its own.
fn campaign() -> Workspace {
    campaign_of(MORE)
}

fn campaign_of(more: usize) -> Workspace {
    let workspace = Workspace::new(1);
    workspace.write("book.csv", &book(more));
    run(&workspace, "2026-11", "book.csv");
    workspace
}

fn run(workspace: &Workspace, campaign: &str, inputs: &str) {
    let url = &workspace.service.url;
    let inputs: Vec<String> = inputs.split(' ').map(|input| format!("\"{input}\"")).collect();
    let file = format!(
        "campaign = \"{campaign}\"\nmode = \"production\"\n[service]\nurl = \"{url}\"\nper_minute = 600000\n\
         per_minute_max = 900000\n[input]\npaths = [{}]\nid = \"ID No\"\n[budget]\nmax_credits = 10000\n\
         prices = {{ aml-screening = 1 }}\n[[check]]\nuse = \"aml-screening\"\nwhen = \"status == 'active'\"\n\
         fields.name = \"name\"\nfields.entity = {{ value = 0 }}\nfields.country = {{ value = \"za\" }}\n[[check]]\n\
         use = \"aml-screening\"\nname = \"director-aml\"\nfields.name = \"director\"\nfields.entity = {{ value = 0 }}\n\
         fields.country = {{ value = \"za\" }}\n[output]\nformat = \"jsonl\"\n[guards]\naccept_failures = \"50%\"\n",
        inputs.join(", ")
    );
    workspace.write("rescreen.toml", &file);
    let said = Said::of(&mut rescreen(workspace.path(), &["run", "--yes"]));
    assert!([0, 3].contains(&said.code), "{} {}", said.code, said.stderr);
}

/// The object of `export --json` with these arguments.
fn exported(workspace: &Workspace, arguments: &[&str]) -> Value {
    let said = workspace.say(&[&["export", "--json"], arguments].concat()).exits(0);
    serde_json::from_str(&said.stdout).unwrap()
}

/// The header and the records of a CSV file.
fn csv(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let records = reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect());
    (header, records.collect())
}

/// The lines of a file of JSON Lines.
fn jsonl(path: &Path) -> Vec<Line> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
