//! The kill harness: the real program and the simulator as two processes, SIGKILL at seeded moments, run again until done.
//! The simulator's charge book is the witness that nothing was charged twice. It takes real time, so it is run by
//! `make kill-short`.

mod audit;
mod life;
mod world;

use audit::{audit_published, audit_whole};
use life::{Dice, End, Phase};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime},
};
use world::World;

/// How hard a campaign is tried. Everything else follows from the seed.
struct Ordeal {
    kills: u32,
    rows: u64,
    seed: u64,
}

/// Runs a last time at most so often: what is in doubt after a kill is settled by the next run.
const LAST_RUNS_MAX: u32 = 10;

#[test]
#[ignore = "takes a minute of real time; make kill-short"]
fn twenty_kills_charge_nothing_twice() {
    let from_clock = || SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").subsec_nanos().into();
    let number = |name| std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}?")));
    let seed = number("RESCREEN_KILL_SEED").unwrap_or_else(from_clock);
    suffer(&Ordeal { kills: 20, rows: 2_000, seed });
}

/// Kills and goes on, then compares ledger, outputs and charge book.
fn suffer(ordeal: &Ordeal) {
    let Ordeal { kills, rows, seed } = *ordeal;
    let begun = Instant::now();
    let world = World::new(rows);
    // Kept to three quarters of what sending takes without kills, so that there is something left to kill at the end.
    let mean_life = world.sending_time().mul_f64(0.75) / kills;
    let mut dice = Dice::new(seed);
    let mut violations = Vec::new();
    let mut phases: BTreeMap<Phase, u32> = BTreeMap::new();
    let mut in_doubt = 0;
    let mut killed = 0;
    while killed < kills {
        match world.live(dice.life(killed, kills, mean_life)) {
            End::Killed(phase) => {
                killed += 1;
                *phases.entry(phase).or_default() += 1;
            }
            // It drained before it was killed: that is no kill.
            End::Exited(8 | 9) => {}
            End::Exited(code) => {
                violations.push(format!("a run ended by itself with exit code {code} after {killed} kills"));
                break;
            }
        }
        in_doubt += world.in_doubt();
        violations.extend(audit_published(&world).into_iter().map(|fault| format!("after kill {killed}: {fault}")));
    }
    let mut runs = 0;
    let code = loop {
        runs += 1;
        match world.run_to_the_end() {
            8 | 9 if runs < LAST_RUNS_MAX => std::thread::sleep(Duration::from_millis(200)),
            code => break code,
        }
    };
    if code != 0 && code != 3 {
        violations.push(format!("the last run ended with exit code {code}"));
    }
    violations.extend(audit_whole(&world));
    if in_doubt == 0 {
        violations.push("no kill met a request under way: the harness shows nothing".to_owned());
    }
    let met: Vec<String> = phases.iter().map(|(phase, count)| format!("{count} in {phase:?}").to_lowercase()).collect();
    println!(
        "kill harness: {killed} kills ({}), {in_doubt} requests found under way, {} violations, seed {seed}, {:.0} s; \
         again: RESCREEN_KILL_SEED={seed} make kill-short",
        met.join(", "),
        violations.len(),
        begun.elapsed().as_secs_f64(),
    );
    assert!(
        violations.is_empty(),
        "seed {seed} (RESCREEN_KILL_SEED={seed} make kill-short):\n{}\nwhat the runs said:\n{}",
        violations.join("\n"),
        world.talk()
    );
}

#[test]
fn a_ledger_that_died_before_its_first_commit_is_begun_again() {
    let world = World::new(30);
    std::fs::create_dir_all(world.out()).unwrap();
    std::fs::write(world.ledger(), "").unwrap();
    assert_eq!(world.run_to_the_end(), 0, "{}", world.talk());
    assert_eq!(audit_whole(&world), Vec::<String>::new());
}
