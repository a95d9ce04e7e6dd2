//! No secret and no subject in any output or log: planted markers are searched for in every byte written outside
//! outputs and ledger.

use super::{Said, Workspace};
use crate::support::{API_KEY, service::lifted, tables::files};
use rescreen::simulator::Settings;
use std::fs;

/// Part of every row's name.
const PLANTED: &str = "Vexford";

fn planted(workspace: &Workspace) {
    let mut text = crate::support::world::book(1..=20);
    text += "21,Zz-Vexford\n22,\"Vexford\u{0}\",active\n23,,Vexford\n";
    workspace.write("book.csv", &text);
}

#[test]
fn neither_the_key_nor_a_subject_is_printed_at_any_verbosity() {
    let faults = "error500@3,html@5,error401@9,drop_after@12,truncate@14".parse().unwrap();
    let workspace = Workspace::with(0, Settings { faults, ..lifted() });
    planted(&workspace);
    let mut said = String::new();
    for _ in 0..3 {
        let Said { stdout, stderr, .. } = workspace.run(&["-vv", "--max-errors", "100%"]);
        said += &(stdout + &stderr);
    }
    for more in [&["--show", "20"][..], &["-vv"]] {
        let Said { stdout, stderr, .. } = Said::of(&mut workspace.production("plan", more));
        said += &(stdout + &stderr);
    }
    for words in [&["status"][..], &["status", "--json"], &["resolve", "--list"], &["-vv", "status"]] {
        said += &workspace.say(words).stdout;
    }
    assert!(!said.contains(API_KEY), "{said}");
    assert!(!said.contains(PLANTED), "{said}");
}

#[test]
fn the_key_is_in_no_file_and_no_subject_in_a_file_name() {
    let workspace = Workspace::new(0);
    planted(&workspace);
    workspace.run(&[]);
    for file in files(&workspace.path().join("out"), "") {
        let bytes = fs::read(workspace.path().join("out").join(&file)).unwrap();
        assert!(!bytes.windows(API_KEY.len()).any(|window| window == API_KEY.as_bytes()), "{}", file.display());
        assert!(!file.to_string_lossy().contains(PLANTED));
    }
}

#[test]
fn a_subject_in_a_mistake_of_the_user_is_not_repeated() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name,status\n1,Vexford,active\n");
    workspace.run(&[]).exits(0);
    workspace.write("book.csv", "no,name,status\n1,Vexfort,active\n");
    let said = workspace.run(&[]).exits(2);
    assert!(!said.stderr.contains("Vexfor"), "{}", said.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn the_key_is_not_among_the_arguments_of_the_process() {
    let workspace = Workspace::that_answers_only(1, 40);
    let under_way = workspace.under_way(2, 3, &[]);
    let arguments = fs::read(format!("/proc/{}/cmdline", under_way.id())).unwrap();
    let arguments = String::from_utf8_lossy(&arguments).into_owned();
    assert!(arguments.contains("--service") && !arguments.contains(API_KEY), "{arguments}");
    under_way.signal("INT");
    under_way.wait_until_it_says("stopping: ");
    workspace.service.answers_all();
    under_way.ends().exits(130);
}
