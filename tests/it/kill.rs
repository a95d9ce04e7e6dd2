//! The kill harness: the real program and the simulator run as two processes. The program is killed with SIGKILL at
//! seeded moments and run again until done, while the service loses requests and replies, fails and pushes back on its
//! own. In one of the two shapes of campaigns jobs end meanwhile, and `collect` is killed like `run`. The simulator's charge book is the witness, key by key, that nothing was charged twice and everything is
//! accounted for. A concurrent reader checks that outputs are complete at every moment. It takes real time, so it is
//! run by `make kill-short` and `make kill`.

mod audit;
mod ledger;
mod life;
mod shape;
mod world;

use crate::support::{number_given, onlooker::Onlooker, rng::Rng};
use audit::{audit_published, audit_whole};
use life::{End, Life, Phase};
use shape::Shape;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant, SystemTime},
};
use world::World;

/// The most runs at the end: the next run settles the requests in doubt after a kill.
const LAST_RUNS_MAX: u32 = 10;

/// The result of the kills.
#[derive(Default)]
struct Tally {
    killed: u32,
    /// Those of the kills that ended a `collect`.
    collects: u32,
    phases: BTreeMap<Phase, u32>,
    in_doubt: usize,
    /// Jobs without a result, counted after each kill.
    jobs_open: usize,
    /// Jobs that ended before the last kill of their campaign.
    jobs_ended: u64,
    looks: u64,
    violations: Vec<String>,
    messages: String,
}

#[test]
#[ignore = "takes a minute of real time; make kill-short, make kill"]
fn kills_charge_nothing_twice_and_show_no_reader_half_a_row() {
    kills_of(Shape::People);
}

#[test]
#[ignore = "takes a minute of real time; make kill-short, make kill"]
fn kills_between_the_steps_of_an_upload_and_while_jobs_end_charge_nothing_twice() {
    kills_of(Shape::Documents);
}

fn kills_of(shape: Shape) {
    let from_clock = || SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").subsec_nanos().into();
    let seed: u64 = number_given("RESCREEN_KILL_SEED").unwrap_or_else(from_clock);
    let kills: u32 = number_given("RESCREEN_KILLS").unwrap_or(20);
    let begun = Instant::now();
    let mut rng = Rng::new(seed);
    let mut tally = Tally::default();
    let mut campaigns = 0;
    while tally.killed < kills && tally.violations.is_empty() {
        let world = World::new(shape, shape.rows(), rng.roll());
        kill_until_done(&world, (kills - tally.killed).min(shape.kills_max()), &mut rng, &mut tally);
        campaigns += 1;
    }
    let met = tally.phases.iter().map(|(phase, count)| format!("{count} in {phase:?}").to_lowercase());
    let again = format!("RESCREEN_KILLS={kills} RESCREEN_KILL_SEED={seed} make kill");
    println!(
        "kill harness, {shape:?}: {} kills ({}) in {campaigns} campaigns, {} of them of collect, {} requests found under way, \
         {} jobs found open, {} jobs ended between kills, {} concurrent readings, {} violations, seed {seed}, {:.0} s; \
         again: {again}",
        tally.killed,
        met.collect::<Vec<_>>().join(", "),
        tally.collects,
        tally.in_doubt,
        tally.jobs_open,
        tally.jobs_ended,
        tally.looks,
        tally.violations.len(),
        begun.elapsed().as_secs_f64(),
    );
    assert!(
        tally.violations.is_empty(),
        "{again}:\n{}\noutput of the runs:\n{}",
        tally.violations.join("\n"),
        tally.messages
    );
}

/// One campaign: kills and resumes, then compares ledger, outputs and charge book, while a reader reads the outputs.
fn kill_until_done(world: &World, kills: u32, rng: &mut Rng, tally: &mut Tally) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(&done, world));
        // Ends the reader even after a panic; otherwise the scope would wait forever.
        let ends_reader = SetOnDrop(&done);
        kill_and_resume(world, kills, rng, tally);
        drop(ends_reader);
        let (looks, faults) = reader.join().expect("the reader does not panic");
        tally.looks += looks;
        tally.violations.extend(faults.into_iter().map(|fault| format!("a reader saw: {fault}")));
    });
    tally.messages = world.messages();
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads the outputs until told to stop. Returns how often, and the violations it saw.
fn read_until(done: &AtomicBool, world: &World) -> (u64, BTreeSet<String>) {
    let (mut onlooker, mut looks, mut faults) = (Onlooker::of(&world.out()), 0, BTreeSet::new());
    loop {
        let last = done.load(Ordering::Relaxed);
        faults.extend(onlooker.look());
        looks += 1;
        if last {
            return (looks, faults);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill_and_resume(world: &World, kills: u32, rng: &mut Rng, tally: &mut Tally) {
    let mean_life = world.sending_time().mul_f64(world.shape.killed_share()) / kills;
    let has_jobs = world.shape.has_jobs();
    let (mut killed, mut in_doubt, mut jobs_open, mut all_sent) = (0, 0, 0, false);
    while killed < kills {
        let open = if has_jobs { world.open_jobs() } else { 0 };
        let collects = open > 0 && (all_sent || rng.roll().is_multiple_of(3));
        let life = if collects { Life::of_collect(rng) } else { Life::before(killed, kills, mean_life, rng) };
        match world.live(life) {
            End::Killed(phase) => {
                killed += 1;
                tally.collects += u32::from(collects);
                *tally.phases.entry(phase).or_default() += 1;
            }
            // It drained before it was killed, which does not count as a kill.
            End::Exited(8 | 9) => {}
            // Only jobs are left, or the only question about a job got no reply.
            End::Exited(code @ (5 | 10)) if has_jobs => all_sent |= code == 5,
            // The last job has ended.
            End::Exited(0 | 3) if all_sent => break,
            End::Exited(code) => {
                tally.violations.push(format!("a run ended with exit code {code} after {killed} kills"));
                break;
            }
        }
        in_doubt += world.in_doubt();
        jobs_open += world.open_jobs();
        let faults = audit_published(world).into_iter().map(|fault| format!("after kill {killed}: {fault}"));
        tally.violations.extend(faults);
    }
    tally.killed += killed;
    tally.in_doubt += in_doubt;
    tally.jobs_open += jobs_open;
    let jobs_ended = world.jobs_ended();
    tally.jobs_ended += jobs_ended;
    let mut runs = 0;
    let code = loop {
        runs += 1;
        let code = match world.run_to_the_end() {
            5 if has_jobs => world.collect_to_the_end(),
            code => code,
        };
        match code {
            8 | 9 if runs < LAST_RUNS_MAX => std::thread::sleep(Duration::from_millis(200)),
            10 if has_jobs && runs < LAST_RUNS_MAX => std::thread::sleep(Duration::from_millis(200)),
            code => break code,
        }
    };
    if ![0, 3].contains(&code) {
        tally.violations.push(format!("the last run ended with exit code {code}"));
    }
    tally.violations.extend(audit_whole(world));
    if in_doubt == 0 {
        tally.violations.push("no kill interrupted a request under way: the harness proves nothing".to_owned());
    }
    if has_jobs && (jobs_open == 0 || jobs_ended == 0) {
        tally.violations.push(format!(
            "{jobs_open} jobs were open when runs were killed, and {jobs_ended} ended meanwhile: the harness proves nothing"
        ));
    }
}

#[test]
fn a_ledger_killed_before_its_first_commit_is_started_again() {
    let world = World::new(Shape::People, 30, 1);
    std::fs::create_dir_all(world.out()).unwrap();
    std::fs::write(world.ledger(), "").unwrap();
    let mut runs = (0..LAST_RUNS_MAX).map(|_| world.run_to_the_end());
    assert!(runs.any(|code| code == 0), "{}", world.messages());
    assert_eq!(audit_whole(&world), Vec::<String>::new());
}
