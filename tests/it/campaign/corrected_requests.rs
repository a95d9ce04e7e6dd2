//! The promise: what is sent is what a declaration says. Bodies are recorded when rows are read, so a correction of the
//! fields of a request is refused where it would send a mixture.

use crate::support::{
    door::{Act, Door, Seen, Step},
    ran::{Ran, results},
    world::{World, people},
};
use rescreen::{
    catalogue::Declaration,
    model::{ExitCode, Stop, state::State},
};

/// A campaign whose first requests, `refused` of them, are refused with this status.
fn refusing(status: u16, refused: usize) -> (Door, World) {
    let door = Door::open(move |seen, before| match seen.step {
        Step::Check if before < refused => Act::Answer(status, r#"{"error":{"message":"not like this"}}"#.to_owned()),
        _ => Act::Pass,
    });
    let world = World::new().rows(2).in_flight(1).declares(|_| ()).sending_to(&door.url, door.arrivals());
    (door, world)
}

fn bundled(declaration: &mut Declaration) {
    declaration.fixed.insert("bundle".to_owned(), "aml_lookup".into());
}

fn renamed(declaration: &mut Declaration) {
    declaration.fields.iter_mut().find(|field| field.name == "dataset").unwrap().name = "list".to_owned();
}

#[track_caller]
fn is_refused(ran: Ran, part: &str) -> Ran {
    let ran = ran.exits(ExitCode::Usage);
    let stops = &ran.report().sent.stops;
    assert!(stops.iter().any(|stop| matches!(stop, Stop::OtherBody { .. })), "{stops:?}");
    let lines = ran.report().reasons().join("\n");
    assert!(lines.contains(part) && lines.contains("--campaign NAME"), "{lines}");
    ran
}

#[tokio::test]
async fn a_correction_of_the_body_is_said_and_not_sent_and_a_restored_declaration_continues() {
    for (change, part) in [(bundled as fn(&mut Declaration), "no `bundle`"), (renamed, "it has `dataset`")] {
        let (door, world) = refusing(404, 0);
        let mut world = world.max_credits(1);
        world.run().await.exits(ExitCode::Budget).in_state(State::Planned, 1);
        let world = world.max_credits(2);
        let sent = door.seen(Step::Check).len();
        let mut world = world.declares(|declaration| {
            declaration.routes.guide = "/aml".to_owned();
            change(declaration);
        });
        is_refused(world.run().await, part);
        assert_eq!(door.seen(Step::Check).len(), sent, "nothing is sent, with no body");
        let mut world = world.declares(|_| ());
        world.run().await.exits(ExitCode::Complete).counts(results(2));
    }
}

#[tokio::test]
async fn failed_rows_are_not_retried_with_a_body_of_an_earlier_declaration() {
    let (door, world) = refusing(400, 2);
    let mut world = world;
    world.run().await.exits(ExitCode::Failures).in_state(State::Failed, 2);
    let mut world = world.declares(renamed);
    is_refused(world.retry().await, "it has `dataset`");
    assert_eq!(door.seen(Step::Check).len(), 2);
    let mut world = world.campaign(|file| {
        file.campaign = Some("corrected".to_owned());
        file.output.dir = Some("corrected".into());
    });
    world.run().await;
    let bodies: Vec<_> = door.seen(Step::Check)[2..].iter().map(Seen::json).collect();
    assert!(!bodies.is_empty() && bodies.iter().all(|body| body["list"] == "all" && body.get("dataset").is_none()));
}

#[tokio::test]
async fn a_corrected_route_takes_the_bodies_that_it_declares_too_and_a_doubt_is_repeated_as_it_was() {
    let (door, mut world) = refusing(500, 6);
    world.run().await;
    let before: Vec<_> = door.seen(Step::Check);
    world.append("book.csv", &people(3..=3));
    let mut world = world.declares(|declaration| declaration.routes.alternate = None);
    world.run().await.exits(ExitCode::Complete).counts(results(3));
    let of_first = |seen: &&Seen| seen.header("idempotency-key") == before[0].header("idempotency-key");
    assert!(door.seen(Step::Check).iter().filter(of_first).all(|seen| seen.body == before[0].body));
}
