//! The promise: a request that may have been charged is sent again only while its key lives, and only under the API key
//! it was sent with. After that a person decides, and the decision is kept. Days pass in paused time, and the charge
//! book of the service is the witness.

mod clocks;
mod decisions;

use crate::support::{ran::Ran, world::World};
use rescreen::model::{ExitCode, state::State};

/// A world in which every request was answered and charged, and all answers were lost.
async fn in_doubt(rows: usize) -> World {
    in_doubt_in(World::new(), rows).await
}

async fn in_doubt_in(world: World, rows: usize) -> World {
    let mut world = world.rows(rows).in_flight(1).under_paused_time();
    world.paused().loses_answers();
    loop {
        let ran = world.run().await;
        assert_eq!(ran.stats.double_charges, 0);
        if ran.report().sums.in_state(State::InDoubt) == rows as u64 {
            assert_eq!(ran.stats.charges, rows as u64);
            world.paused().works_again();
            return world;
        }
    }
}

/// A world in which every request was charged, has no answer, and has outlived its key.
async fn quarantined(rows: usize) -> (World, Ran) {
    let mut world = in_doubt(rows).await;
    world.paused().at_hours_minutes(71, 0).await;
    let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, rows as u64);
    (world, ran)
}

/// Requests for checks that the service has received.
fn posts(world: &mut World) -> u64 {
    world.running_service().simulator.stats().checks()
}

#[tokio::test(start_paused = true)]
async fn a_402_kept_under_a_key_in_doubt_is_not_requested_endlessly() {
    let mut world = in_doubt(2).await;
    let before = posts(&mut world);
    world.paused().turns_away(402);
    let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::InDoubt, 2);
    // A request turned away on the way does not reach the service; the ledger counts it.
    let sent = ran.attempts().len() as u64 - before;
    assert!((2..=12).contains(&sent), "{sent} attempts");
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete).charged(2);
}
