//! Answers of the simulator and of the real service never mix: a ledger stays with the one it first met, in both
//! directions, and nothing is charged twice after a mix-up.

use crate::support::{
    ran::results,
    world::{World, people},
};
use rescreen::{
    model::{ExitCode, Stop},
    sink::OutputMode,
};

/// Five rows are answered by one side, then five more by the other side.
async fn confused(world: World, real_first: bool) -> World {
    let mut world = world.behind_a_proxy().rows(5);
    world.running_service().looks_real(real_first);
    let first = world.run().await.exits(ExitCode::Complete);
    let expected = match (real_first, world.file.mode()) {
        (false, _) => OutputMode::Simulated,
        (true, rescreen::model::Mode::Production) => OutputMode::Production,
        (true, rescreen::model::Mode::Sandbox) => OutputMode::Sandbox,
    };
    assert_eq!(first.manifest().mode, expected);
    world.append("book.csv", &people(6..=10));
    world.running_service().looks_real(!real_first);
    let confused = world.run().await.exits(ExitCode::Usage).counts(results(5).pending(5));
    let confused = confused.stops_with(|stop| *stop == Stop::OtherSide { simulated: real_first });
    assert_eq!(confused.manifest().mode, expected);
    world.running_service().looks_real(real_first);
    world.run().await.exits(ExitCode::Complete).counts(results(10)).adds_up(true);
    world
}

#[tokio::test]
async fn a_simulated_ledger_refuses_the_real_service_before_anything_is_sent() {
    let mut world = confused(World::new(), false).await;
    let stats = world.running_service().simulator.stats();
    assert_eq!((stats.charges, stats.double_charges, stats.replays), (10, 0, 0));
}

#[tokio::test]
async fn a_production_ledger_refuses_the_simulator_before_anything_is_sent() {
    let mut world = confused(World::new(), true).await;
    let stats = world.running_service().simulator.stats();
    assert_eq!((stats.charges, stats.double_charges, stats.replays), (10, 0, 0));
}

#[tokio::test]
async fn in_sandbox_the_first_answer_of_the_real_service_ends_a_rehearsal_and_is_not_used() {
    confused(World::new().sandbox().in_flight(1), false).await;
}

#[tokio::test]
async fn in_sandbox_the_first_answer_of_the_simulator_ends_the_run_and_is_not_used() {
    confused(World::new().sandbox().in_flight(1), true).await;
}
