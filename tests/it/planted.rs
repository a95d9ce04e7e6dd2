//! Planted bugs measure the simulation. Each bug of [`Bug`] is planted in turn, and seeds are played until one catches
//! it. The table says which seed, which check and how many seeds that took. Without the bug the same seeds must hold.
//! Run with `make planted`, which needs the feature `planted-bugs`.

use crate::sim::violations;
use rescreen::model::planted::{Bug, plant};
use std::{
    collections::BTreeMap,
    env, panic,
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
/// Seeds are played two at a time.
const THREADS: usize = 2;
/// In real time; a seed takes a fraction of a second. Lives are bounded in simulated time, but a loop without a wait is
/// not.
const SEED_TIME_MAX: Duration = Duration::from_secs(60);

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

#[test]
#[ignore = "takes minutes; make planted"]
fn every_planted_bug_is_caught_by_the_simulation() {
    // A bug that panics is caught like any other: its message is in the table.
    panic::set_hook(Box::new(|_| {}));
    let wanted = env::var("RESCREEN_PLANTED").unwrap_or_default();
    let bugs: Vec<Bug> =
        Bug::all().filter(|bug| wanted.is_empty() || wanted.split(',').any(|name| name == bug.name())).collect();
    let number = |name, otherwise| {
        let text = env::var(name).ok().filter(|text| !text.is_empty());
        text.map_or(otherwise, |text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
    };
    let (first, seeds_max) = (number("FIRST", 1), number("SEEDS", SEEDS_MAX));
    let begun = Instant::now();
    println!("| bug | what it does | caught by | seeds | s |\n|---|---|---|---|---|");
    let mut most = 0;
    let mut missed = Vec::new();
    for bug in &bugs {
        plant(Some(*bug));
        let since = Instant::now();
        let found = play_until_caught(violations, first, seeds_max, SEED_TIME_MAX);
        plant(None);
        let (seeds, by) = match caught(found, violations, SEED_TIME_MAX) {
            Ok((seed, by)) => (seed - first + 1, by),
            Err(reason) => {
                missed.push(bug.name());
                (seeds_max, format!("not caught{reason}"))
            }
        };
        most = most.max(seeds);
        println!("| {} | {} | {by} | {seeds} | {:.1} |", bug.name(), bug.mistake(), since.elapsed().as_secs_f64());
    }
    let control = play_until_caught(violations, first, most, SEED_TIME_MAX);
    println!(
        "planted bugs: {} planted, {} caught within {seeds_max} seeds, {:.0} s, first seed {first}; again: make planted",
        bugs.len(),
        bugs.len() - missed.len(),
        begun.elapsed().as_secs_f64(),
    );
    drop(panic::take_hook());
    assert!(!bugs.is_empty(), "there is no bug {wanted}");
    assert_eq!(control, Found::Nothing, "without a bug");
    assert!(missed.is_empty(), "not caught: {missed:?}");
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

#[test]
#[ignore = "make planted"]
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
