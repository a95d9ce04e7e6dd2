//! Faults of jobs on demand: deliveries that are lost, repeated, late or early, and states that a job does not have. The
//! text format is that of `--job-faults`: a comma-separated list of `name:probability[:parameter]`. Each fault has its
//! own random numbers, so that none changes what another one, or anything else, gets from the seed.

use super::{
    digest::Digest,
    fault::FaultsError,
    fault_text::{duration, hint},
    rng::Rng,
};
use std::{str::FromStr, time::Duration};

/// What happens to the event of a job. The content of the job decides, so that a seed always picks the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EventFaults {
    /// It is never delivered. The service takes it for delivered.
    pub(super) lost: bool,
    /// It is delivered again after it was accepted.
    pub(super) twice: bool,
    /// It is delivered this much later than it could be, so that later events come first.
    pub(super) late: Duration,
    /// The job has its result at once, and its event is delivered before the reply that accepts it.
    pub(super) early: bool,
}

/// A wrong reply to a question about the state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateFault {
    Unauthorized,
    NotFound,
    RateLimited,
    /// A web page with status 200.
    Html,
    /// The state of another completed job.
    Crossed,
    /// Pending, although an earlier reply said that the job is completed.
    Reverted,
    /// Completed, without a result.
    Empty,
    /// Completed, with a charge that differs from the one that was made.
    Charge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lost,
    Twice,
    Late(Duration),
    Early,
    /// Drawn for each question.
    State(StateFault),
    /// The jobs that the seed picks by their content always get this.
    Row(StateFault),
}

const STATES: [(&str, StateFault); 8] = [
    ("state_401", StateFault::Unauthorized),
    ("state_404", StateFault::NotFound),
    ("state_429", StateFault::RateLimited),
    ("state_html", StateFault::Html),
    ("state_crossed", StateFault::Crossed),
    ("state_reverted", StateFault::Reverted),
    ("state_empty", StateFault::Empty),
    ("state_charge", StateFault::Charge),
];
const OTHERS: [&str; 5] = ["lost", "twice", "late", "early", "row"];

/// How late a late event is, if its fault does not say.
const LATE: &str = "30m";

/// What can go wrong with jobs, and how often. Parsed from text such as `"lost:0.1,late:0.05:30m,row:0.02:state_404"`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobFaults(Vec<(Kind, f64)>);

impl JobFaults {
    /// The names of all faults.
    pub fn names() -> impl Iterator<Item = &'static str> {
        OTHERS.into_iter().chain(STATES.map(|(name, _)| name))
    }

    /// No faults.
    pub fn none() -> JobFaults {
        JobFaults::default()
    }

    /// What happens to the event of a job with this content.
    pub(super) fn of_event(&self, seed: u64, content: Digest) -> EventFaults {
        let mut faults = EventFaults::default();
        for (nth, (kind, probability)) in self.0.iter().enumerate() {
            match (kind, is_picked(seed, nth, content, *probability)) {
                (Kind::Lost, true) => faults.lost = true,
                (Kind::Twice, true) => faults.twice = true,
                (Kind::Late(time), true) => faults.late = *time,
                (Kind::Early, true) => faults.early = true,
                _ => {}
            }
        }
        faults
    }

    /// The fault of the next reply about the state of a job with this content, if any: a permanent one first.
    pub(super) fn of_state(&self, seed: u64, content: Digest, rng: &mut Rng) -> Option<StateFault> {
        let (mut permanent, mut once) = (None, None);
        for (nth, (kind, probability)) in self.0.iter().enumerate() {
            match kind {
                Kind::Row(fault) if is_picked(seed, nth, content, *probability) => {
                    permanent = permanent.or(Some(*fault));
                }
                Kind::State(fault) if rng.fraction() < *probability => once = once.or(Some(*fault)),
                _ => {}
            }
        }
        permanent.or(once)
    }
}

/// Whether the seed picks a job for the nth fault, with this probability.
fn is_picked(seed: u64, nth: usize, content: Digest, probability: f64) -> bool {
    let seed = seed.wrapping_add(nth as u64).rotate_left(23) ^ 0x10b5;
    Rng::of(seed, content).fraction() < probability
}

impl FromStr for JobFaults {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<JobFaults, FaultsError> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(fault).collect::<Result<_, _>>().map(JobFaults)
    }
}

fn fault(item: &str) -> Result<(Kind, f64), FaultsError> {
    let (name, rest) = item.split_once(':').unwrap_or((item, ""));
    let state = |name: &str| STATES.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault);
    if state(name).is_none() && !OTHERS.contains(&name) {
        let names: Vec<&str> = JobFaults::names().collect();
        let (hint, all) = (hint(name, names.iter().copied()), names.join(", "));
        return Err(FaultsError::Unknown { name: name.to_owned(), hint, all });
    }
    let (number, parameter) = rest.split_once(':').map_or((rest, None), |(number, text)| (number, Some(text)));
    let probability = number.parse().ok().filter(|chance| (0.0..=1.0).contains(chance));
    let probability =
        probability.ok_or_else(|| FaultsError::Probability { name: name.to_owned(), found: item.to_owned() })?;
    let wrong = |expected: &'static str| FaultsError::Parameter {
        name: name.to_owned(),
        expected,
        found: parameter.unwrap_or_default().to_owned(),
    };
    let kind = match (name, parameter) {
        ("late", time) => Kind::Late(duration(time.unwrap_or(LATE)).ok_or_else(|| wrong("a duration such as `30m`"))?),
        ("row", of) => Kind::Row(of.and_then(state).ok_or_else(|| wrong("the name of a state such as `state_404`"))?),
        (_, Some(_)) => return Err(wrong("no parameter")),
        ("lost", None) => Kind::Lost,
        ("twice", None) => Kind::Twice,
        ("early", None) => Kind::Early,
        (name, None) => Kind::State(state(name).expect("the name is in one of the lists")),
    };
    Ok((kind, probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(number: u128) -> Digest {
        (number << 40).to_be_bytes()
    }

    #[test]
    fn every_listed_fault_is_parsed() {
        for name in STATES.iter().map(|(name, _)| *name).chain(OTHERS) {
            let parameter = if name == "row" { ":state_html" } else { "" };
            let faults: JobFaults = format!("{name}:0.5{parameter}").parse().unwrap();
            assert_eq!(faults.0.len(), 1, "{name}");
        }
        assert_eq!("".parse::<JobFaults>().unwrap(), JobFaults::none());
    }

    #[test]
    fn a_wrong_list_says_what_was_expected() {
        let message = |text: &str| text.parse::<JobFaults>().unwrap_err().to_string();
        assert!(
            message("lots:1").starts_with("no fault is called `lots`; did you mean `lost`?; the faults are lost, ")
        );
        assert_eq!(message("lost"), "fault `lost`: expected `lost:PROBABILITY` (0 to 1), found `lost`");
        assert!(message("twice:1.5").contains("(0 to 1)"));
        assert!(message("lost@3").contains("no fault is called `lost@3`"));
        assert!(message("late:1:soon").contains("a duration such as `30m`"));
        assert!(message("lost:1:2").contains("no parameter"));
        assert!(message("row:0.1").contains("such as `state_404`"));
        assert!(message("row:0.1:lost").contains("such as `state_404`"));
    }

    #[test]
    fn a_seed_picks_the_same_jobs_and_the_share_that_was_wanted() {
        let faults: JobFaults = "lost:0.2,twice:0.5,late:0.1:10m,early:0".parse().unwrap();
        let picked = |seed| (0..5_000).map(|number| faults.of_event(seed, content(number))).collect::<Vec<_>>();
        assert_eq!(picked(3), picked(3));
        assert_ne!(picked(3), picked(4));
        let count = |is: fn(&EventFaults) -> bool| picked(3).into_iter().filter(is).count();
        assert!((900..1_100).contains(&count(|faults| faults.lost)));
        assert!((2_350..2_650).contains(&count(|faults| faults.twice)));
        assert!((430..570).contains(&count(|faults| faults.late == Duration::from_secs(600))));
        assert_eq!(count(|faults| faults.early), 0);
    }

    #[test]
    fn a_state_is_wrong_once_or_permanently() {
        let drawn = |text: &str, number| {
            let faults: JobFaults = text.parse().unwrap();
            let mut rng = Rng::new(5);
            (0..100).map(|_| faults.of_state(1, content(number), &mut rng)).collect::<Vec<_>>()
        };
        let once = drawn("state_404:0.5", 1);
        assert!(once.contains(&None) && once.contains(&Some(StateFault::NotFound)));
        let rows = [1, 2, 3, 4, 5, 6, 7, 8].map(|number| drawn("row:0.5:state_html,state_401:0", number));
        assert!(rows.iter().all(|row| row.iter().all(|fault| *fault == row[0])));
        assert!(rows.iter().any(|row| row[0].is_none()) && rows.iter().any(|row| row[0] == Some(StateFault::Html)));
    }
}
