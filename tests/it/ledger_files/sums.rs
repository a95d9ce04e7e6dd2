//! Sums that do not match the rows are counted again.

use super::{charges, held, killed, out};
use crate::cli::Workspace;
use rusqlite::Connection;

/// Changes the stored sums outside the program.
fn damage(workspace: &Workspace, change: impl Fn(&mut serde_json::Value)) {
    let ledger = Connection::open(out(workspace).join("ledger.sqlite")).unwrap();
    let text: String = ledger.query_row("SELECT sums FROM campaign", [], |row| row.get(0)).unwrap();
    let mut sums = serde_json::from_str(&text).unwrap();
    change(&mut sums);
    ledger.execute("UPDATE campaign SET sums = ?1", [sums.to_string()]).unwrap();
}

fn sums(workspace: &Workspace) -> serde_json::Value {
    let ledger = Connection::open(out(workspace).join("ledger.sqlite")).unwrap();
    let text: String = ledger.query_row("SELECT sums FROM campaign", [], |row| row.get(0)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The sums that can be recounted.
fn counted(mut sums: serde_json::Value) -> serde_json::Value {
    for name in ["paused_until_us", "server_offset_us", "completed_at_us", "simulated"] {
        sums[name].take();
    }
    sums["account"]["reading"].take();
    sums["account"]["stated"].take();
    sums["account"]["armed"].take();
    if let Some(requests) = sums["requests"].as_object_mut() {
        requests.retain(|_, count| *count != 0);
    }
    sums
}

#[test]
fn damaged_sums_of_a_closed_ledger_are_counted_again() {
    let damages: [fn(&mut serde_json::Value); 5] = [
        |sums| sums["account"]["charged"] = 0.into(),
        |sums| *sums = "no sums".into(),
        |sums| sums["requests"]["planned"] = 3.into(),
        |sums| sums["account"]["held"] = 9.into(),
        |sums| sums["rows"] = serde_json::Value::Null,
    ];
    for (at, change) in damages.into_iter().enumerate() {
        let workspace = Workspace::new(8);
        workspace.run(&[]).exits(0);
        let before = counted(sums(&workspace));
        damage(&workspace, change);
        workspace.run(&[]).exits(0).says("counted again from the rows");
        assert_eq!(counted(sums(&workspace)), before, "damage {at}");
        assert_eq!(charges(&workspace), 8);
    }
}

#[test]
fn after_a_kill_every_charge_is_counted_and_the_campaign_finishes() {
    let workspace = held(60);
    killed(&workspace);
    let before = counted(sums(&workspace))["account"]["charged"].as_u64().unwrap();
    assert!(before >= 4, "{before}");
    damage(&workspace, |sums| sums["account"]["charged"] = 1.into());
    workspace.run(&[]).exits(0).says("counted again from the rows");
    assert_eq!(sums(&workspace)["account"]["charged"], 60);
    assert_eq!(charges(&workspace), 60);
}

#[test]
fn an_amount_that_no_request_can_have_is_damage() {
    for change in [
        "UPDATE request SET held = 9223372036854775807, state = 2 WHERE id < 3",
        "UPDATE request SET charged = -1 WHERE id = 1",
    ] {
        let workspace = Workspace::new(8);
        workspace.run(&[]).exits(0);
        let ledger = Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
        ledger.execute(change, []).unwrap();
        drop(ledger);
        workspace.run(&[]).exits(11).says("a request has an invalid amount");
        assert_eq!(charges(&workspace), 8);
    }
}
