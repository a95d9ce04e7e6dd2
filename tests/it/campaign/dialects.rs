//! The service may use the described dialect or the one seen in the field, either envelope, and either header for the
//! API key. The verdicts are the same.

use crate::support::{
    ran::{Ran, results},
    tables::{number, text},
    world::{SAID, World},
};
use rescreen::{
    client::Auth,
    model::ExitCode,
    pipeline::campaign::file::CheckTable,
    simulator::{Dialect, Envelope},
};
use std::collections::BTreeSet;

fn verdicts(ran: &Ran) -> BTreeSet<(String, i64, String, String)> {
    let of = |line: &crate::support::tables::Line| {
        let [check, verdict, finding] =
            ["check_name", "verdict", "finding"].map(|column| text(line, column).to_owned());
        (check, number(line, "row_number"), verdict, finding)
    };
    ran.results().iter().map(of).collect()
}

#[tokio::test]
async fn both_dialects_and_both_envelopes_give_the_same_verdicts() {
    let mut csv = "no,name,id_number\n".to_owned();
    for number in 0..60 {
        csv += &format!("{number},P{number:05} Vexford,{}\n", ["8001015009087", "9111060123086"][number % 2]);
    }
    let mut found = BTreeSet::new();
    for (dialect, envelope) in [
        (Dialect::Described, Envelope::Results),
        (Dialect::Described, Envelope::DataMeta),
        (Dialect::Field, Envelope::Results),
        (Dialect::Field, Envelope::DataMeta),
    ] {
        let said = CheckTable::of(SAID);
        let mut world = World::new().csv(&csv).campaign(|file| file.checks.push(said)).service(|settings| {
            settings.dialect = dialect;
            settings.envelope = envelope;
        });
        let ran = world.run().await.exits(ExitCode::Complete).charged(62).counts(results(120)).adds_up(true);
        assert!(ran.results().iter().all(|line| !line["request_id"].is_null()), "{dialect:?} {envelope:?}");
        found.insert(verdicts(&ran));
    }
    assert_eq!(found.len(), 1, "one set of verdicts");
    let kinds: BTreeSet<&str> = found.first().unwrap().iter().map(|(_, _, verdict, _)| verdict.as_str()).collect();
    assert!(kinds.contains("clear") && kinds.contains("review"), "{kinds:?}");
}

#[tokio::test]
async fn faults_are_settled_in_the_field_dialect_too() {
    let faults = "drop_after@2,truncate@3,error500@4,error503_uncharged@5,error402@6";
    let mut world = World::new().rows(6).fault(faults).service(|settings| settings.dialect = Dialect::Field);
    world.run().await.exits(ExitCode::Complete).charged(6).adds_up(true);
}

#[tokio::test]
async fn the_key_is_sent_in_either_header() {
    for auth in [Auth::XApiKey, Auth::Bearer] {
        let mut world = World::new().rows(2).campaign(|file| file.service.auth = auth);
        let mut world = world_with_the_key(&mut world);
        world.run().await.exits(ExitCode::Complete).charged(2);
    }
}

/// The service accepts the key of the tests only.
fn world_with_the_key(world: &mut World) -> World {
    std::mem::replace(world, World::new()).service(|settings| settings.api_key = Some(crate::support::API_KEY.into()))
}
