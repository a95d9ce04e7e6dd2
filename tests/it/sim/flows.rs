//! Campaigns with a check that is answered later as a job, or that sends a file. They are drawn apart, so that all other
//! seeds stay the campaigns that they were.

use super::{
    checks::{ADDRESS, BUSINESS, Check, FOREIGN, OF_FILES, OF_JOBS},
    files::{FileMove, PERSONS},
    life::{Crash, Life, Move, Step, When},
    oddities::{Oddity, is_played},
    rng::Rng,
    script::{PLENTY, Script},
};
use std::time::Duration;

/// How the service treats requests that may become jobs.
#[derive(Debug, Clone, Copy)]
pub struct Jobs {
    pub time: Duration,
    /// How many of a hundred requests that may be answered at once are not.
    pub fallback_of_hundred: u64,
    /// What goes wrong with replies about jobs, until the service works.
    pub faults: &'static str,
}

/// Replies about jobs that say nothing, or something wrong.
const JOB_FAULTS: [&str; 6] = [
    "",
    "state_404:0.5,state_html:0.2,state_429:0.05",
    "state_404:0.6",
    "state_crossed:0.5,state_reverted:0.3,state_empty:0.2",
    "row:0.2:state_404,row:0.1:state_empty",
    "state_401:0.3,state_crossed:0.2",
];

/// Percentages of seeds: those with jobs, and those with jobs or files.
const JOBS: usize = 7;
const FLOWS: usize = 16;
/// With this constant, none of the seeds that caught a planted bug before there were jobs and files has one of them.
const DRAW: u64 = 0x7a34;
/// The service's description, Limits: a job needs this many credits.
pub const JOB_HOLD: u64 = 7;

/// The check with a job or a file of a seed, if it has one.
pub fn check_of(seed: u64) -> Option<&'static Check> {
    let mut rng = Rng::new(seed.rotate_left(13) ^ DRAW);
    match rng.below(100) {
        ..JOBS if is_played(Oddity::Jobs) => Some(&OF_JOBS[rng.below(OF_JOBS.len())]),
        // Uploads have most to go wrong.
        JOBS..FLOWS if is_played(Oddity::Files) => {
            Some(&OF_FILES[if rng.chance(50) { 0 } else { rng.below(OF_FILES.len()) }])
        }
        _ => None,
    }
}

/// Makes a script one of a campaign with jobs or files, before anything happens to it.
pub fn apply(script: &mut Script) {
    let Some(check) = check_of(script.seed) else { return };
    let mut rng = Rng::new(script.seed.rotate_left(19) ^ 0xf10e5);
    script.pair = [check, script.pair[1]];
    script.jobs.time = Duration::from_secs(rng.pick(&[60, 20 * 60, 3 * 3_600, 50 * 3_600]));
    script.jobs.fallback_of_hundred = rng.pick(&[0, 30, 60]);
    script.quirks.job_without_webhook = rng.chance(60);
    // Drawn apart, so that the other seeds with jobs stay the campaigns that they were.
    script.jobs.faults = Rng::new(script.seed.rotate_left(43) ^ 0x57a7e).pick(&JOB_FAULTS);
    if [BUSINESS, FOREIGN].contains(&check.name) {
        // The price of a real-time answer is not known, and may be lower than what a job needs.
        let price = if check.name == FOREIGN { rng.pick(&[JOB_HOLD, JOB_HOLD, 6]) } else { JOB_HOLD };
        let more = price - script.lives[0].prices[0].min(price);
        for life in &mut script.lives {
            life.prices[0] += more;
            life.table[0] += more;
            for (_, moved) in &mut life.moves {
                if let Move::Price(0, credits) = moved {
                    *credits += more;
                }
            }
        }
    }
}

/// Adds what happens to files and uploads.
pub fn add_to_lives(script: &mut Script) {
    let Some(check) = check_of(script.seed).filter(|check| check.file.is_some()) else { return };
    let mut rng = Rng::new(script.seed.rotate_left(31) ^ 0xf11e5);
    let moves = rng.chance(60);
    let mut moved: Vec<u64> = Vec::new();
    for life in script.lives.iter_mut().skip(1).filter(|_| moves) {
        for person in moved.clone() {
            if rng.chance(40) {
                life.file_moves.push((person, FileMove::Restore));
            }
        }
        for _ in 0..rng.from(0, 8) {
            let person = rng.from(1, PERSONS);
            let change =
                rng.pick(&[FileMove::Replace, FileMove::Replace, FileMove::Delete, FileMove::Cut, FileMove::Link]);
            life.file_moves.push((person, change));
            moved.push(person);
        }
    }
    if check.name != ADDRESS {
        return;
    }
    let mut trouble = |life: &mut Life, least| {
        life.upload_trouble = rng.pick(&[least, least, 10, 40]);
        if rng.chance(35) {
            let step = rng.pick(&[Step::Announce, Step::Put, Step::Check]);
            let when = rng.pick(&[When::BeforeService, When::BeforeReply, When::AfterReply]);
            life.crash = Crash::AtUpload(step, when, rng.from(1, 3));
        }
    };
    script.lives.iter_mut().for_each(|life| trouble(life, 0));
    // Most documents are left after the lives so far, in which much else goes wrong.
    let last = script.lives.last().expect("a script has a life").clone();
    for hours in [1, 0, 1] {
        let (max_credits, balance, table) = (PLENTY, Some(PLENTY), last.table);
        let quiet = Life::quiet(last.api_key, last.prices, Duration::from_secs(600 + hours * 3_600));
        let mut life = Life { max_credits, balance, table, ..quiet };
        trouble(&mut life, 10);
        script.lives.push(life);
    }
}

#[test]
fn a_share_of_the_seeds_has_each_check_with_jobs_or_files() {
    let found: Vec<&Check> = (1..=2_000).filter_map(check_of).collect();
    for (check, least) in OF_JOBS.iter().map(|check| (check, 10)).chain(OF_FILES.iter().map(|check| (check, 10))) {
        let count = found.iter().filter(|found| found.name == check.name && found.file == check.file).count();
        assert!(count >= least, "{} with {:?}: {count}", check.name, check.file);
    }
    assert!((260..380).contains(&found.len()), "{}", found.len());
}
