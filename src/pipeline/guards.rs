//! Guards: a run that goes wrong stops early, before much is spent. Pure counting and pure judgement.

use super::campaign::Guards;
use crate::{
    ledger::Sums,
    model::{Stop, Verdict},
};
use std::collections::BTreeMap;

/// Before this many asks nothing is too many.
const ERRORS_AFTER: u64 = 50;
/// None of the first so many answers recognised: the declaration is wrong.
const UNRECOGNISED_FIRST: u64 = 20;
/// From here on the share of unrecognised answers means something.
const UNRECOGNISED_AFTER: u64 = 100;
/// So many attempts in a row without an answer, although the account can be read, and twice as many as are under way.
const UNANSWERED_MAX: u64 = 50;
/// So many refusals alike in a row pause the run.
const ALIKE_MAX: u64 = 5;
/// So many 2xx in a row that are no answers pause the run.
const STRANGERS_MAX: u64 = 3;

/// What a run has seen, as far as guards judge it.
#[derive(Debug, Default)]
pub struct Watch {
    answered: u64,
    refused: u64,
    by_check: BTreeMap<String, (u64, u64)>,
    alike: (String, u64),
    strangers: u64,
    unanswered: u64,
}

impl Watch {
    /// An answer came; the guard on what its rules recognise.
    pub fn answered(&mut self, check: &str, verdict: Verdict, guards: &Guards) -> Option<Stop> {
        self.answered += 1;
        self.alike = (String::new(), 0);
        self.strangers = 0;
        self.unanswered = 0;
        let (unrecognised, of) = self.by_check.entry(check.to_owned()).or_default();
        *of += 1;
        *unrecognised += u64::from(verdict == Verdict::Unrecognised);
        let none_of_the_first = *of == UNRECOGNISED_FIRST && *unrecognised == *of;
        let too_many = *of >= UNRECOGNISED_AFTER && guards.max_unrecognised.is_exceeded(*unrecognised, *of);
        (none_of_the_first || too_many).then(|| Stop::Unrecognised {
            check: check.to_owned(),
            unrecognised: *unrecognised,
            of: *of,
        })
    }

    /// The service refused a request; `message` is what refusals alike have in common.
    pub fn refused(&mut self, message: &str, guards: &Guards) -> Option<Stop> {
        self.refused += 1;
        self.strangers = 0;
        self.unanswered = 0;
        if self.alike.0 == message {
            self.alike.1 += 1;
        } else {
            self.alike = (message.to_owned(), 1);
        }
        if self.alike.1 >= ALIKE_MAX && !guards.max_errors_explicit {
            return Some(Stop::Alike { count: self.alike.1, message: message.to_owned() });
        }
        let of = self.refused + self.answered;
        too_many(guards, self.refused, of, "be accepted by the service")
    }

    /// An attempt met no working service.
    pub fn unanswered(&mut self, in_flight: usize) -> Option<Stop> {
        self.unanswered += 1;
        let most = UNANSWERED_MAX.max(2 * in_flight as u64);
        (self.unanswered >= most).then(|| Stop::Unavailable {
            message: format!("{most} attempts in a row had no answer, although the account can be read"),
        })
    }

    /// A 2xx that is no answer of the service.
    pub fn stranger(&mut self) -> Option<Stop> {
        self.strangers += 1;
        (self.strangers >= STRANGERS_MAX).then_some(Stop::NotTheService)
    }
}

/// The guard on rows that cannot be read or mapped; judged on all rows taken.
pub fn unmapped(sums: &Sums, guards: &Guards) -> Option<Stop> {
    too_many(guards, sums.unmapped + sums.unreadable, sums.asks + sums.unreadable, "be read and mapped")
}

/// The guard on an input that is shorter or longer than the user knows it to be.
pub fn expected_rows(found: u64, expected: Option<(u64, u64)>) -> Option<Stop> {
    let (least, most) = expected?;
    (!(least..=most).contains(&found)).then_some(Stop::ExpectedRows { found, least, most })
}

fn too_many(guards: &Guards, failed: u64, of: u64, stage: &'static str) -> Option<Stop> {
    (of >= ERRORS_AFTER && guards.max_errors.is_exceeded(failed, of)).then_some(Stop::TooManyErrors {
        failed,
        of,
        stage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::campaign_file::Share;

    fn guards(explicit: bool) -> Guards {
        Guards {
            max_errors: Share::Percent(25.0),
            max_errors_explicit: explicit,
            max_unrecognised: Share::Percent(1.0),
            accept_failures: None,
        }
    }

    #[test]
    fn none_of_the_first_twenty_recognised_stops_the_run() {
        let mut watch = Watch::default();
        let stops: Vec<bool> =
            (0..20).map(|_| watch.answered("c", Verdict::Unrecognised, &guards(false)).is_some()).collect();
        assert_eq!(stops.iter().position(|stop| *stop), Some(19));
    }

    #[test]
    fn later_more_than_the_share_stops_it() {
        let mut watch = Watch::default();
        for _ in 0..198 {
            assert!(watch.answered("c", Verdict::Clear, &guards(false)).is_none());
        }
        assert!(watch.answered("c", Verdict::Unrecognised, &guards(false)).is_none());
        assert!(watch.answered("c", Verdict::Unrecognised, &guards(false)).is_none(), "2 of 200 is 1 %");
        assert!(watch.answered("c", Verdict::Unrecognised, &guards(false)).is_some());
    }

    #[test]
    fn five_refusals_alike_in_a_row_pause_the_run_unless_the_user_set_the_limit() {
        let mut watch = Watch::default();
        let five = |watch: &mut Watch, guards: &Guards| (0..5).filter_map(|_| watch.refused("bad", guards)).count();
        assert_eq!(five(&mut watch, &guards(false)), 1);
        assert_eq!(five(&mut Watch::default(), &guards(true)), 0);
        let mut mixed = Watch::default();
        for n in 0..20 {
            assert!(mixed.refused(if n % 2 == 0 { "a" } else { "b" }, &guards(false)).is_none());
        }
    }

    #[test]
    fn a_quarter_of_the_rows_may_fail_and_not_more() {
        let sums = |unmapped, asks| Sums { unmapped, asks, ..Sums::default() };
        assert!(unmapped(&sums(40, 49), &guards(false)).is_none(), "too few to judge");
        assert!(unmapped(&sums(25, 100), &guards(false)).is_none());
        assert!(unmapped(&sums(26, 100), &guards(false)).is_some());
    }

    #[test]
    fn three_strangers_in_a_row_are_not_the_service() {
        let mut watch = Watch::default();
        assert!(watch.stranger().is_none());
        watch.answered("c", Verdict::Clear, &guards(false));
        assert!(watch.stranger().is_none() && watch.stranger().is_none() && watch.stranger().is_some());
    }
}
