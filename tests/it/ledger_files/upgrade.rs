//! A ledger of an earlier version is copied beside itself before it is upgraded. Wherever the program is killed, and if
//! the disk is full, the next run finds a whole ledger and continues. A ledger of a later version is refused.

use super::{charges, finishes, out};
use crate::{
    cli::Workspace,
    support::{
        older_ledger::downgrade,
        program::{Said, UnderWay},
    },
};
use rusqlite::Connection;
use std::{fs, path::PathBuf, time::Duration};

/// What `ulimit -f` counts in.
const BLOCK: u64 = 512;

fn ledger(workspace: &Workspace) -> PathBuf {
    out(workspace).join("ledger.sqlite")
}

fn copy(workspace: &Workspace) -> PathBuf {
    out(workspace).join("ledger.sqlite.v7-backup")
}

/// A campaign of 12 rows of which 5 are paid for, in a ledger of version 7. `padding` makes it larger by this many MiB.
fn of_version_7(padding: usize) -> Workspace {
    let workspace = Workspace::new(12);
    workspace.run(&["--max-credits", "5", "--price", "aml-screening=1"]).exits(4);
    let ledger = Connection::open(ledger(&workspace)).unwrap();
    downgrade(&ledger, 7);
    for request in 0..padding {
        let sql = "INSERT INTO unreadable VALUES (?1, 200, 1, randomblob(1048576))";
        ledger.execute(sql, [1_000 + request as i64]).unwrap();
    }
    workspace
}

fn version(path: &PathBuf) -> i64 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// The number of requests and of attempts in a ledger whose pages are intact.
fn content(path: &PathBuf) -> (i64, i64) {
    let conn = Connection::open(path).unwrap();
    let check: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let sql = "SELECT (SELECT count(*) FROM request), (SELECT count(*) FROM attempt)";
    conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[test]
fn a_ledger_of_version_7_is_copied_and_upgraded_and_its_campaign_continues() {
    let workspace = of_version_7(0);
    let shown = workspace.say(&["status"]).exits(0).stdout;
    assert!(shown.contains("5 of 12 requests") && !shown.contains("last run"), "it can be read: {shown}");
    assert_eq!((version(&ledger(&workspace)), copy(&workspace).exists()), (7, false), "reading changes nothing");
    finishes(&workspace, workspace.run(&[]), 12);
    assert_eq!((version(&ledger(&workspace)), version(&copy(&workspace))), (10, 7));
    assert_eq!(content(&copy(&workspace)), (12, 5));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(copy(&workspace)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let shown = workspace.say(&["status"]).exits(0).stdout;
    assert!(shown.contains("last run        ended"), "{shown}");
}

#[test]
fn a_ledger_of_each_version_since_8_is_copied_and_upgraded_and_its_campaign_continues() {
    for older in [8, 9] {
        let workspace = Workspace::new(12);
        workspace.run(&["--max-credits", "5", "--price", "aml-screening=1"]).exits(4);
        downgrade(&Connection::open(ledger(&workspace)).unwrap(), older);
        let shown = workspace.say(&["status"]).exits(0).stdout;
        assert!(shown.contains("5 of 12 requests"), "it can be read: {shown}");
        workspace.say(&["export", "--to", "copy"]).exits(0);
        finishes(&workspace, workspace.run(&[]), 12);
        let copy = out(&workspace).join(format!("ledger.sqlite.v{older}-backup"));
        assert_eq!((version(&ledger(&workspace)), version(&copy), content(&copy)), (10, older, (12, 5)));
    }
}

/// A campaign whose run was killed while replies were awaited.
fn killed_in_flight() -> Workspace {
    let workspace = super::held(12);
    super::killed(&workspace);
    let conn = Connection::open(ledger(&workspace)).unwrap();
    let sql = "SELECT count(*) FROM request WHERE state = 1";
    let in_flight: i64 = conn.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(in_flight.unsigned_abs(), super::IN_FLIGHT);
    drop(conn);
    workspace
}

#[test]
fn a_ledger_whose_run_was_killed_between_request_and_reply_continues_after_its_upgrade() {
    for older in [7, 8, 9] {
        let workspace = killed_in_flight();
        downgrade(&Connection::open(ledger(&workspace)).unwrap(), older);
        finishes(&workspace, workspace.run(&[]), 12);
    }
}

#[test]
fn the_ledger_of_another_campaign_is_not_copied() {
    let workspace = of_version_7(0);
    workspace.run(&["--campaign", "2026-12", "--out", "out/2026-11"]).exits(2);
    assert_eq!((version(&ledger(&workspace)), copy(&workspace).exists()), (7, false));
}

#[test]
fn where_the_disk_is_full_the_ledger_stays_as_it_was() {
    let workspace = of_version_7(8);
    let before = content(&ledger(&workspace));
    let mut run = workspace.production("run", &["--yes"]);
    let arguments: Vec<String> = run.get_args().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    // Half of what the copy needs.
    let line = format!("ulimit -f {}; exec rescreen {}", (4 << 20) / BLOCK, arguments.join(" "));
    let said = Said::of(&mut crate::support::program::shell(workspace.path(), &line)).exits(11);
    for part in ["schema version 7", "ledger.sqlite.v7-backup could not be written", "The ledger is unchanged"] {
        assert!(said.stderr.contains(part), "expected `{part}` in:\n{}", said.stderr);
    }
    assert_eq!((version(&ledger(&workspace)), content(&ledger(&workspace))), (7, before));
    let left = crate::support::tables::files(&out(&workspace), "")
        .into_iter()
        .filter(|file| file.to_string_lossy().contains("backup"));
    assert_eq!(left.count(), 0, "the space is free again");
    assert_eq!(charges(&workspace), 5, "nothing was sent");
    finishes(&workspace, Said::of(&mut run), 12);
    assert_eq!(content(&copy(&workspace)), before);
}

#[test]
fn what_an_earlier_upgrade_left_is_replaced() {
    let workspace = of_version_7(0);
    let before = content(&ledger(&workspace));
    fs::write(copy(&workspace), "an older copy").unwrap();
    fs::write(out(&workspace).join("ledger.sqlite.v7-backup.partial"), "half a copy").unwrap();
    finishes(&workspace, workspace.run(&[]), 12);
    assert_eq!(content(&copy(&workspace)), before);
    assert!(!out(&workspace).join("ledger.sqlite.v7-backup.partial").exists());
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
        assert!(said.stderr.contains("which reads versions 6 to 10. Use rescreen 3.1.4 or later"), "{}", said.stderr);
    }
    assert!(!copy(&workspace).exists());
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

/// The moment of a kill is a time.
mod timed {
    use super::*;
    use std::thread::sleep;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_run_that_is_killed_in_the_middle_leaves_a_ledger_that_continues() {
        let workspace = of_version_7(24);
        let before = content(&ledger(&workspace));
        let (mut older, mut newer) = (0, 0);
        for round in 0..12 {
            let run = UnderWay::start(&mut workspace.production("run", &["--yes"]));
            // A machine of another speed meets other moments.
            sleep(Duration::from_millis(4 + 9 * round));
            run.signal("KILL");
            run.wait();
            match version(&ledger(&workspace)) {
                7 => older += 1,
                10 => newer += 1,
                other => panic!("version {other}"),
            }
            if newer == 0 {
                assert_eq!(content(&ledger(&workspace)), before);
            } else {
                assert_eq!(
                    (version(&copy(&workspace)), content(&copy(&workspace))),
                    (7, before),
                    "the copy came first"
                );
            }
            if copy(&workspace).exists() {
                assert_eq!(content(&copy(&workspace)), before, "a copy with its final name is whole");
            }
        }
        println!("killed {older} times before the upgrade, {newer} times after it");
        assert!(older > 0);
        finishes(&workspace, workspace.run(&[]), 12);
        assert_eq!(version(&ledger(&workspace)), 10);
    }
}
