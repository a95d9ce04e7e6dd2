//! Planted bugs: is the simulation any good? Each mistake of [`Bug`] is planted in its turn, and seeds are played until one
//! catches it. The table says which, by what, and how many seeds that took; without a bug the same seeds must hold.
//! `make planted` runs it: it needs the feature `planted-bugs`.

use crate::sim::violations;
use rescreen::model::planted::{Bug, plant};
use std::{
    env, panic,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// Seeds a bug may take until it is caught.
const SEEDS_MAX: u64 = 1_000;
/// Seeds are played two at a time.
const THREADS: usize = 2;
/// Of real time; a seed takes a fraction of a second. Lives are bounded in simulated time, but a loop without a wait is not.
const SEED_TIME_MAX: Duration = Duration::from_secs(60);

/// The first seed that violates something, and the first thing it violates.
struct Catch {
    seed: u64,
    by: String,
}

#[test]
#[ignore = "takes minutes; make planted"]
fn every_planted_bug_is_caught_by_the_simulation() {
    // A bug that panics is caught like any other: what it says stands in the table.
    panic::set_hook(Box::new(|_| {}));
    let wanted = env::var("RESCREEN_PLANTED").unwrap_or_default();
    let bugs: Vec<Bug> =
        Bug::all().filter(|bug| wanted.is_empty() || wanted.split(',').any(|name| name == bug.name())).collect();
    let number = |name, otherwise| {
        let text = env::var(name).ok().filter(|text| !text.is_empty());
        text.map_or(otherwise, |text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is no number")))
    };
    let (first, seeds_max) = (number("FIRST", 1), number("SEEDS", SEEDS_MAX));
    let begun = Instant::now();
    println!("| bug | what it does | caught by | seeds | s |\n|---|---|---|---|---|");
    let mut most = 0;
    let mut missed = Vec::new();
    for bug in &bugs {
        plant(Some(*bug));
        let since = Instant::now();
        let caught = hunt(first, seeds_max);
        plant(None);
        let (seeds, by) = match caught {
            Some(Catch { seed, by }) => (seed - first + 1, by),
            None => {
                missed.push(bug.name());
                (seeds_max, "not caught".to_owned())
            }
        };
        most = most.max(seeds);
        println!("| {} | {} | {by} | {seeds} | {:.1} |", bug.name(), bug.mistake(), since.elapsed().as_secs_f64());
    }
    let control = hunt(first, most).map(|caught| format!("seed {}: {}", caught.seed, caught.by));
    println!(
        "planted bugs: {} planted, {} caught within {seeds_max} seeds, {:.0} s, first seed {first}; again: make planted",
        bugs.len(),
        bugs.len() - missed.len(),
        begun.elapsed().as_secs_f64(),
    );
    drop(panic::take_hook());
    assert!(!bugs.is_empty(), "there is no bug {wanted}");
    assert_eq!(control, None, "without a bug");
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

/// Plays seeds until one violates something; of those under way at that moment the lowest counts, so that it is the same
/// every time. A seed that does not come to an end is caught, and its thread is left behind: without the bug it ends.
fn hunt(first: u64, count: u64) -> Option<Catch> {
    let (next, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (tell, played) = channel();
    for _ in 0..THREADS {
        let (next, over, tell) = (Arc::clone(&next), Arc::clone(&over), tell.clone());
        thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let at = next.fetch_add(1, Ordering::SeqCst);
                if at >= count || tell.send((first + at, violations(first + at))).is_err() {
                    return;
                }
            }
        });
    }
    drop(tell);
    let mut caught: Option<Catch> = None;
    loop {
        match played.recv_timeout(SEED_TIME_MAX) {
            Ok((seed, violations)) => {
                let Some(violation) = violations.first() else { continue };
                over.store(true, Ordering::SeqCst);
                if caught.as_ref().is_none_or(|earlier| seed < earlier.seed) {
                    caught = Some(Catch { seed, by: in_short(violation) });
                }
            }
            Err(RecvTimeoutError::Disconnected) => return caught,
            Err(RecvTimeoutError::Timeout) => {
                over.store(true, Ordering::SeqCst);
                let seed = first + next.load(Ordering::SeqCst) - 1;
                return caught.or(Some(Catch { seed, by: "it hangs".to_owned() }));
            }
        }
    }
}

/// A violation without the life it belongs to, and without what was found.
fn in_short(violation: &str) -> String {
    let mut words: Vec<&str> = violation.split(": ").collect();
    if ["after life ", "in life ", "life "].iter().any(|life| words[0].starts_with(life)) && words.len() > 1 {
        words.remove(0);
    }
    let invariant = words[0].len() < 4 && words[0].starts_with('I');
    words.truncate(if invariant { 2 } else { 1 });
    words.join(": ").chars().filter(|c| *c != '|').take(90).collect()
}
