//! A ledger of another version, and one that is damaged, are refused with their path and what to do.

use super::out;
use crate::cli::Workspace;
use rusqlite::Connection;
use std::{fs, path::PathBuf};

fn ledger(workspace: &Workspace) -> PathBuf {
    out(workspace).join("ledger.sqlite")
}

#[test]
fn a_ledger_of_a_later_version_is_refused_with_both_versions_and_the_release() {
    let workspace = Workspace::new(2);
    workspace.run(&[]).exits(0);
    let conn = Connection::open(ledger(&workspace)).unwrap();
    conn.execute("UPDATE run SET program = '3.1.4'", []).unwrap();
    conn.pragma_update(None, "user_version", 15).unwrap();
    drop(conn);
    for words in [&["status"][..], &["collect"], &["resolve", "--list"], &["export", "--to", "copy"]] {
        let said = workspace.say(words).exits(11);
        let message = "out/2026-11/ledger.sqlite has schema version 15, made by rescreen 3.1.4; this is rescreen ";
        assert!(said.stderr.contains(message), "{words:?}: {}", said.stderr);
        assert!(said.stderr.contains("which reads version 1. Use rescreen 3.1.4 or later"), "{}", said.stderr);
    }
}

#[test]
fn a_damaged_ledger_is_named_with_its_path_and_what_to_do() {
    let mut workspace = Workspace::new(2);
    workspace.loses_a_ledger = true;
    workspace.run(&[]).exits(0);
    fs::write(
        ledger(&workspace),
        "text instead of a database, longer than its header of one hundred bytes. ".repeat(4),
    )
    .unwrap();
    for words in [&["status"][..], &["collect"], &["resolve", "--list"], &["export", "--to", "copy"]] {
        let said = workspace.say(words).exits(11);
        let is_named = said.stderr.contains("out/2026-11/ledger.sqlite is damaged");
        assert!(is_named && said.stderr.contains("from a backup"), "{words:?}: {}", said.stderr);
    }
    // A database whose content is not what a ledger holds.
    let workspace = Workspace::new(2);
    workspace.run(&[]).exits(0);
    Connection::open(ledger(&workspace)).unwrap().execute("UPDATE campaign SET sums = '{'", []).unwrap();
    let said = workspace.say(&["status"]).exits(11);
    assert!(said.stderr.contains("out/2026-11/ledger.sqlite is damaged: its sums"), "{}", said.stderr);
}
