//! Planted bugs measure the simulation. For each bug of [`Bug`], a new process plants the bug and plays seeds until one
//! catches it. The table names the seed, the check that failed and the seconds. Without a bug, the same seeds must hold.
//! Run with `make planted`, which plants the bugs in a copy of the sources.
//!
//! The seed that caught a bug before, in `seeds.txt`, is played first. If it no longer catches the bug, all
//! seeds are played in order. `RESCREEN_PLANTED_SEARCH=1` searches for every bug and writes the file again.
//! `RESCREEN_PLANTED_SECONDS=N` starts no search after N seconds; bugs that remain are listed as not searched.

use crate::{
    sim::{in_parallel, violations},
    support::number_given,
};
use rescreen::model::planted::{Bug, plant};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    ops::Range,
    panic,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// The number of seeds within which a bug must be caught.
const SEEDS_MAX: u64 = 1_000;
/// The seeds that caught a bug before: name and seed, line by line.
const KNOWN_SEEDS: &str = include_str!("../planted/seeds.txt");
const KNOWN_SEEDS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/planted/seeds.txt");
/// A search plays this many seeds at a time.
const THREADS: usize = 2;
/// In real time; a seed takes a fraction of a second. Lives are bounded in simulated time, but a loop without a wait is
/// not.
const SEED_TIME_MAX: Duration = Duration::from_secs(60);
/// Names the bug that this process plants, for the test that started it.
const BUG_OF_THIS_PROCESS: &str = "RESCREEN_PLANTED_HERE";

/// Plays a seed and returns what it violates.
type Play = fn(u64) -> Vec<String>;

/// The result of the seeds.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// The first seed with a violation, and its first violation.
    Violation {
        seed: u64,
        by: String,
    },
    /// A seed that did not end in time: because of the bug, or because the machine is busy.
    Unended {
        seed: u64,
    },
}

/// The result of a bug: one line of JSON from the process in which it was planted.
#[derive(Debug, Serialize, Deserialize)]
struct Outcome {
    /// The seed that caught the bug.
    seed: Option<u64>,
    /// What caught it, or why nothing did.
    by: String,
    was_searched: bool,
    seconds: f64,
}

#[test]
#[ignore = "takes minutes; make planted"]
fn every_planted_bug_is_caught_by_the_simulation() {
    let first: u64 = number_given("FIRST").unwrap_or(1);
    let seeds_max: u64 = number_given("SEEDS").unwrap_or(SEEDS_MAX);
    let is_search = number_given::<u64>("RESCREEN_PLANTED_SEARCH").is_some_and(|search| search > 0);
    let search_time = Duration::from_secs(number_given("RESCREEN_PLANTED_SECONDS").unwrap_or(u32::MAX.into()));
    if let Ok(name) = env::var(BUG_OF_THIS_PROCESS) {
        let bug = Bug::all().find(|bug| bug.name() == name).unwrap();
        let known = known_seed(&name).filter(|seed| !is_search && (first..first + seeds_max).contains(seed));
        let outcome = try_to_catch(bug, known, !search_time.is_zero(), first..first + seeds_max);
        return println!("{}", serde_json::to_string(&outcome).unwrap());
    }
    let wanted = env::var("RESCREEN_PLANTED").unwrap_or_default();
    let bugs: Vec<Bug> =
        Bug::all().filter(|bug| wanted.is_empty() || wanted.split(',').any(|name| name == bug.name())).collect();
    assert!(!bugs.is_empty(), "RESCREEN_PLANTED={wanted}: expected names of planted bugs");
    let begun = Instant::now();
    let outcomes = in_parallel(&bugs, |bug| in_a_process(*bug, search_time.saturating_sub(begun.elapsed())));
    println!("| bug | what it does | caught by | seed | s |\n|---|---|---|---|---|");
    let (mut seeds, mut missed, mut unsearched) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (bug, outcome) in bugs.iter().zip(&outcomes) {
        match outcome.seed {
            Some(seed) => drop(seeds.insert(bug.name(), seed)),
            None if outcome.was_searched => missed.push(bug.name()),
            None => unsearched.push(bug.name()),
        }
        let seed = outcome.seed.map_or("-".to_owned(), |seed| seed.to_string());
        println!("| {} | {} | {} | {seed} | {:.1} |", bug.name(), bug.mistake(), outcome.by, outcome.seconds);
    }
    if !unsearched.is_empty() {
        println!(
            "SKIPPED: no time was left to search for a seed for {unsearched:?}; RESCREEN_PLANTED_SEARCH=1 searches"
        );
    }
    plant(None);
    let played = BTreeSet::from_iter(seeds.values().copied().chain([first]));
    let without_bug = in_parallel(&played, |seed| play_until_caught(violations, *seed, 1, SEED_TIME_MAX));
    println!(
        "planted bugs: {} planted, {} caught within {seeds_max} seeds, {:.0} s, first seed {first}; again: make planted",
        bugs.len(),
        seeds.len(),
        begun.elapsed().as_secs_f64(),
    );
    let violated: Vec<_> = played.iter().zip(without_bug).filter(|(_, found)| *found != Found::Nothing).collect();
    assert_eq!(violated, [], "without a bug");
    assert!(missed.is_empty(), "not caught: {missed:?}");
    if is_search && wanted.is_empty() {
        let lines: String = seeds.iter().map(|(name, seed)| format!("{name} {seed}\n")).collect();
        fs::write(KNOWN_SEEDS_FILE, lines).unwrap();
    }
}

/// Plants a bug in another process: a planted bug, and a seed that does not end, belong to their whole process.
fn in_a_process(bug: Bug, search_time: Duration) -> Outcome {
    let name = "planted::every_planted_bug_is_caught_by_the_simulation";
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(BUG_OF_THIS_PROCESS, bug.name())
        .env("RESCREEN_PLANTED_SECONDS", search_time.as_secs().to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let outcome = said.lines().find_map(|line| serde_json::from_str(line).ok());
    outcome.unwrap_or_else(|| {
        panic!("{}: {}\n{said}\n{}", bug.name(), output.status, String::from_utf8_lossy(&output.stderr))
    })
}

/// Plays the known seed with the bug, and the others if that does not catch it and a search is allowed.
fn try_to_catch(bug: Bug, known: Option<u64>, may_search: bool, seeds: Range<u64>) -> Outcome {
    // A bug that panics is caught like any other: its message is in the table.
    panic::set_hook(Box::new(|_| {}));
    let begun = Instant::now();
    let play_planted = |first, count| {
        plant(Some(bug));
        let found = play_until_caught(violations, first, count, SEED_TIME_MAX);
        plant(None);
        caught(found, violations, SEED_TIME_MAX)
    };
    let mut found = known.map_or(Err(String::new()), |seed| play_planted(seed, 1));
    let was_searched = found.is_err() && may_search;
    if was_searched {
        found = play_planted(seeds.start, seeds.end - seeds.start);
    }
    drop(panic::take_hook());
    let (seed, by) = match found {
        Ok((seed, by)) => (Some(seed), by),
        Err(reason) if was_searched => (None, format!("not caught{reason}")),
        Err(_) => (None, "not searched".to_owned()),
    };
    Outcome { seed, by, was_searched, seconds: begun.elapsed().as_secs_f64() }
}

/// The seed that caught a bug before.
fn known_seed(name: &str) -> Option<u64> {
    let (_, seed) = KNOWN_SEEDS.lines().filter_map(|line| line.split_once(' ')).find(|(bug, _)| *bug == name)?;
    Some(seed.parse().expect("seeds.txt has a name and a seed in each line"))
}

/// The seed that caught a bug, and the violation; or why none did. A seed that did not end counts as caught only if it
/// ends without the bug, which is then switched off. Its thread is left running and ends without the bug.
fn caught(found: Found, play: Play, seed_time_max: Duration) -> Result<(u64, String), String> {
    match found {
        Found::Nothing => Err(String::new()),
        Found::Violation { seed, by } => Ok((seed, by)),
        Found::Unended { seed } => match play_until_caught(play, seed, 1, seed_time_max) {
            Found::Unended { .. } => Err(format!(": seed {seed} did not end, but neither did it without the bug")),
            _ => Ok((seed, "it hangs".to_owned())),
        },
    }
}

/// Plays seeds until one has a violation. Of the seeds under way at that moment the lowest counts, so that the result
/// is the same every time. A seed that does not end in time is named if none has a violation.
fn play_until_caught(play: Play, first: u64, count: u64, seed_time_max: Duration) -> Found {
    let (next, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let under_way: Arc<Mutex<BTreeMap<u64, Instant>>> = Arc::default();
    let (tell, played) = channel();
    for _ in 0..THREADS {
        let (next, over, tell) = (Arc::clone(&next), Arc::clone(&over), tell.clone());
        let under_way = Arc::clone(&under_way);
        thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let at = next.fetch_add(1, Ordering::SeqCst);
                if at >= count {
                    return;
                }
                under_way.lock().unwrap().insert(first + at, Instant::now());
                let violations = play(first + at);
                under_way.lock().unwrap().remove(&(first + at));
                if tell.send((first + at, violations)).is_err() {
                    return;
                }
            }
        });
    }
    drop(tell);
    let mut found: Option<(u64, String)> = None;
    let violation = |(seed, by)| Found::Violation { seed, by };
    loop {
        match played.recv_timeout(seed_time_max / 60) {
            Ok((seed, violations)) => {
                if let Some(violation) = violations.first() {
                    over.store(true, Ordering::SeqCst);
                    if found.as_ref().is_none_or(|(earlier, _)| seed < *earlier) {
                        found = Some((seed, without_details(violation)));
                    }
                }
            }
            Err(RecvTimeoutError::Disconnected) => return found.map_or(Found::Nothing, violation),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let late = |(seed, since): (&u64, &Instant)| (since.elapsed() > seed_time_max).then_some(*seed);
        let unended = under_way.lock().unwrap().iter().find_map(late);
        if let Some(seed) = unended {
            over.store(true, Ordering::SeqCst);
            return found.map_or(Found::Unended { seed }, violation);
        }
    }
}

/// A violation without its life and without the values found.
fn without_details(violation: &str) -> String {
    let mut words: Vec<&str> = violation.split(": ").collect();
    if ["after life ", "after ", "in life ", "life "].iter().any(|life| words[0].starts_with(life)) && words.len() > 1 {
        words.remove(0);
    }
    let invariant = words[0].len() < 4 && words[0].starts_with('I');
    words.truncate(if invariant { 2 } else { 1 });
    words.join(": ").chars().filter(|c| *c != '|').take(90).collect()
}

mod timed {
    use super::*;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_seed_that_does_not_end_is_named_and_caught_only_where_it_ends_without_the_bug() {
        let third_hangs: Play = |seed| {
            thread::sleep(Duration::from_secs(if seed == 3 { 5 } else { 0 }));
            Vec::new()
        };
        let time = Duration::from_millis(600);
        let found = || play_until_caught(third_hangs, 1, 1_000_000, time);
        assert_eq!(found(), Found::Unended { seed: 3 });
        assert_eq!(caught(found(), |_| Vec::new(), time), Ok((3, "it hangs".to_owned())));
        let reason = caught(found(), third_hangs, time).unwrap_err();
        assert_eq!(reason, ": seed 3 did not end, but neither did it without the bug");
    }
}
