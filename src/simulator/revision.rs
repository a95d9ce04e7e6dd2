//! A later version of the service's list: it answers some subjects differently, as a real one does. Decides which, from
//! the seed and the day of the version alone, so that a replay gives the same answer.

use super::{digest::Digest, rng::Rng};
use jiff::civil::Date;

/// How many of a hundred subjects are answered anew by a version, and how many keep their number of hits with other details.
const ANEW_OF_HUNDRED: u64 = 3;
const DETAILS_OF_HUNDRED: u64 = 3;

/// What a version changes for one subject.
#[derive(Debug, Clone)]
pub(super) enum Revision {
    None,
    /// The whole answer.
    Answer(Rng),
    /// The details of the hits.
    Details(Rng),
}

impl Revision {
    /// What the version of this day changes for a subject.
    pub(super) fn of(seed: u64, day: Date, subject: Digest) -> Revision {
        let number = (u64::from(day.year().unsigned_abs()) * 12 + day.month() as u64) * 31 + day.day() as u64;
        let mut rng = Rng::of(Rng::new(seed ^ number).roll(), subject);
        match rng.below(100) {
            roll if roll < ANEW_OF_HUNDRED => Revision::Answer(rng),
            roll if roll < ANEW_OF_HUNDRED + DETAILS_OF_HUNDRED => Revision::Details(rng),
            _ => Revision::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_changes_a_few_subjects_and_another_one_changes_others() {
        let changed = |day: &str| {
            let is_changed = |subject: &u32| {
                let mut content = [0; 16];
                content[12..].copy_from_slice(&subject.to_be_bytes());
                !matches!(Revision::of(1, day.parse().unwrap(), content), Revision::None)
            };
            (0..10_000_u32).filter(is_changed).collect::<Vec<_>>()
        };
        let (one, other) = (changed("2026-10-01"), changed("2026-11-01"));
        for count in [one.len(), other.len()] {
            assert!((500..700).contains(&count), "{count}");
        }
        assert!(one.iter().filter(|subject| other.contains(subject)).count() < 80);
        assert_eq!(one, changed("2026-10-01"));
    }
}
