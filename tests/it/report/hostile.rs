//! Names that try to be code. A ledger is untrusted: others may have changed it.

use super::{Page, run, two_checks};
use rusqlite::Connection;
use std::fs;

/// Text that tries to leave every place where text can stand.
const HOSTILE: &str = "</title></style><script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7*7 }} &lt; ]]>";
/// It turns and hides what follows, and ends lines.
const HIDDEN: &str = "a\u{202e}b\u{0}c\nd\u{1b}[2J";

#[test]
fn text_from_outside_is_shown_and_is_never_code() {
    let workspace = two_checks(60);
    let name = "<script>alert(1)<b onclick=x>.csv";
    fs::rename(workspace.path().join("people.csv"), workspace.path().join(name)).unwrap();
    let file = super::TWO_CHECKS.replace("people.csv", name);
    workspace.write("rescreen.toml", &file);
    run(&workspace, &["--max-credits", "1000"]).exits(3);
    let reason = ["--charge", "0", "--request", "1", "--reason", HOSTILE];
    workspace.say(&[&["resolve", "out/2026-11"], &reason[..]].concat()).exits(0);
    {
        let ledger = Connection::open(workspace.path().join("out/2026-11/ledger.sqlite")).unwrap();
        for change in [
            "UPDATE campaign SET campaign = ?1",
            "UPDATE run SET program = ?1, command = ?1, kind = ?1, message = ?1, exit_code = 6",
            "UPDATE decision SET decided_by = ?1",
            "INSERT INTO consent VALUES ('aml-screening', ?1, ?1, 1793693700000000)",
            "INSERT INTO decision (request, decision, reason, decided_by, decided_at) VALUES (2, ?1, ?1, ?1, 1)",
        ] {
            ledger.execute(change, [format!("{HOSTILE}{HIDDEN}")]).unwrap();
        }
    }
    workspace.say(&["report", "out/2026-11"]).exits(0);
    let html = fs::read_to_string(workspace.path().join("out/2026-11/report.html")).unwrap();
    for code in ["<script", "<img", "onerror=alert(1)>", "onclick=x>", "\u{202e}", "\u{1b}", "\u{0}"] {
        assert!(!html.contains(code), "{code:?}");
    }
    // Read strictly, so that no element or attribute of it got through.
    let page = Page::read(&html);
    assert!(page.text.contains("Campaign </title></style><script>alert(1)</script>"), "{}", page.text);
    assert!(page.text.contains("{{ 7*7 }}"), "a template in a name is text");
    assert!(page.text.contains("\\u{202e}b\\u{0}c\\nd"), "hidden characters are shown: {}", page.text);
    assert!(page.rows("What was read").iter().any(|row| row[0] == name), "{:?}", page.rows("What was read"));
    assert!(page.rows("The first 12 rows of each reason").iter().all(|row| row[2] == name));
}

#[test]
fn numbers_in_a_ledger_that_cannot_be_true_do_not_stop_the_page() {
    let workspace = two_checks(60);
    run(&workspace, &["--max-credits", "1000"]).exits(3);
    let ledger = workspace.path().join("out/2026-11/ledger.sqlite");
    for change in [
        "UPDATE attempt SET armed_at = 9223372036854775807 WHERE request = 3",
        "UPDATE attempt SET armed_at = -9223372036854775807 WHERE request = 1",
        "UPDATE answer SET latency_ms = 9223372036854775807, completed_at = -9223372036854775807 WHERE request = 2",
        "UPDATE run SET started_at = 9223372036854775807",
        "UPDATE run SET ended_at = -9223372036854775807, exit_code = 999999",
    ] {
        assert!(Connection::open(&ledger).unwrap().execute(change, []).unwrap() > 0, "{change}");
        workspace.say(&["report", "out/2026-11"]).exits(0);
        Page::read(&fs::read_to_string(workspace.path().join("out/2026-11/report.html")).unwrap());
    }
}
