//! Whose limit a push-back is: the account's, or that of one check or job. If a check is refused again while others are
//! answered, the limit is that check's: only its requests wait, longer each time. After a pause, one of them shows whether
//! the limit is over. If several checks are refused, the limit is the account's.

use super::moment::Moment;
use crate::model::RequestId;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The pause of a check doubles up to this time, unless the service states a longer one.
const GROWN_MAX: Duration = Duration::from_secs(60);
/// How long a request waits while another one of its check is on the way to show whether the limit is over.
const PROBED: Duration = Duration::from_millis(250);

/// A refusal of another check counts this much longer than a push-back that is waited for.
const LATELY: Duration = Duration::from_secs(60);

/// Who has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// All requests.
    All(Duration),
    /// The requests of the check.
    Check(Duration),
}

/// The push-backs and answers of the checks of a run, which all attempts share.
#[derive(Debug, Default)]
pub struct CheckPauses(Mutex<Pauses>);

#[derive(Debug, Default)]
struct Pauses {
    /// The number of answers to all checks.
    answers: u64,
    /// The number of replies to polls. They say nothing about the limit of a check.
    polled: u64,
    /// How many of both there were when a poll was last pushed back.
    at_last_poll: u64,
    by_check: BTreeMap<String, OfCheck>,
}

#[derive(Debug, Default)]
struct OfCheck {
    answers: u64,
    /// How many answers other checks had when it was first refused, if nothing that was sent later was answered.
    refused: Option<u64>,
    /// When its last refusal was heard.
    last_refusal: Option<Moment>,
    /// Its pause, if the limit is that of this check alone.
    pause: Option<OwnPause>,
}

#[derive(Debug)]
struct OwnPause {
    length: Duration,
    until: Moment,
    /// The request that shows whether the limit is over.
    probe: Option<RequestId>,
}

impl CheckPauses {
    fn lock(&self) -> MutexGuard<'_, Pauses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the service did not refuse a request of the check for its rate. Returns whether the check is not
    /// limited any more. It still is if the request was already on the way when another one was refused.
    pub fn answered(&self, check: &str, sent_at: Moment) -> bool {
        let mut pauses = self.lock();
        pauses.answers += 1;
        let of_check = pauses.by_check.entry(check.to_owned()).or_default();
        of_check.answers += 1;
        let is_over = of_check.last_refusal.is_none_or(|refusal| sent_at > refusal);
        if is_over {
            (of_check.refused, of_check.pause) = (None, None);
        }
        is_over
    }

    /// Takes over the rest of a pause that an earlier run began.
    pub fn resume(&self, check: &str, left: Duration, now: Moment) {
        let mut pauses = self.lock();
        let of_check = pauses.by_check.entry(check.to_owned()).or_default();
        (of_check.refused, of_check.last_refusal) = (Some(0), Some(now));
        of_check.pause = Some(OwnPause { length: left, until: now + left, probe: None });
    }

    /// Decides who waits after a push-back of this length. One that is longer than `wait_max` would end the run if all
    /// had to wait.
    pub fn pushed_back(&self, check: &str, stated: Duration, wait_max: Duration, now: Moment) -> Waits {
        let mut pauses = self.lock();
        let all = pauses.answers;
        let is_late = |other: &OfCheck| other.last_refusal.is_none_or(|at| now.since(at) > wait_max + LATELY);
        let is_refused = |other: &OfCheck| other.refused.is_some() && !is_late(other);
        let is_alone = !pauses.by_check.iter().any(|(name, other)| name != check && is_refused(other));
        let of_check = pauses.by_check.entry(check.to_owned()).or_default();
        let others = all - of_check.answers;
        let was_refused = of_check.refused.is_some_and(|before| others > before);
        let is_its_own = is_alone && (was_refused || of_check.pause.is_some() || stated > wait_max && others > 0);
        of_check.refused.get_or_insert(others);
        of_check.last_refusal = Some(now);
        if !is_its_own {
            of_check.pause = None;
            return Waits::All(stated);
        }
        let grown = of_check.pause.as_ref().map_or(stated, |pause| pause.length.saturating_mul(2).min(GROWN_MAX));
        let length = stated.max(grown);
        of_check.pause = Some(OwnPause { length, until: now + length, probe: None });
        Waits::Check(length)
    }

    /// Records that a poll was not pushed back.
    pub fn poll_answered(&self) {
        self.lock().polled += 1;
    }

    /// Decides whether a push-back of a poll is about its job alone: anything was answered since the last one. If the
    /// account were over its rate, requests and other polls would be pushed back too.
    pub fn is_of_one_job(&self) -> bool {
        let mut pauses = self.lock();
        let answered = pauses.answers + pauses.polled;
        std::mem::replace(&mut pauses.at_last_poll, answered) < answered
    }

    /// How long a request of the check must wait; `None` if it may be sent now.
    pub fn wait(&self, check: &str, now: Moment) -> Option<Duration> {
        let pauses = self.lock();
        let pause = pauses.by_check.get(check)?.pause.as_ref()?;
        let left = pause.until.since(now);
        if left.is_zero() { pause.probe.map(|_| PROBED) } else { Some(left) }
    }

    /// Whether the check waits alone, and its pause is not over.
    pub fn is_paused(&self, check: &str, now: Moment) -> bool {
        let pauses = self.lock();
        let pause = pauses.by_check.get(check).and_then(|of_check| of_check.pause.as_ref());
        pause.is_some_and(|pause| pause.until > now)
    }

    /// Records a request that is sent.
    pub fn started(&self, check: &str, request: RequestId) {
        self.set_probe(check, |_| Some(request));
    }

    /// Records a request that has ended.
    pub fn ended(&self, check: &str, request: RequestId) {
        self.set_probe(check, |probe| probe.filter(|probe| *probe != request));
    }

    fn set_probe(&self, check: &str, next: impl FnOnce(Option<RequestId>) -> Option<RequestId>) {
        if let Some(pause) = self.lock().by_check.get_mut(check).and_then(|of_check| of_check.pause.as_mut()) {
            pause.probe = next(pause.probe);
        }
    }

    /// Forgets a check that is not sent any more in this run.
    pub fn forget(&self, check: &str) {
        if let Some(of_check) = self.lock().by_check.get_mut(check) {
            (of_check.refused, of_check.pause) = (None, None);
        }
    }

    /// A check that waits alone.
    pub fn waiting(&self) -> Option<String> {
        let pauses = self.lock();
        let mut waiting = pauses.by_check.iter().filter(|(_, of_check)| of_check.pause.is_some());
        waiting.next().map(|(name, _)| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(900);
    const NOW: Moment = Moment::START;

    fn later() -> Moment {
        NOW + SECOND
    }

    fn pushed_back(pauses: &CheckPauses, check: &str, seconds: u32) -> Waits {
        pauses.pushed_back(check, SECOND * seconds, MOST, NOW)
    }

    #[test]
    fn a_check_that_is_pushed_back_again_while_another_is_answered_waits_alone_and_longer_each_time() {
        let pauses = CheckPauses::default();
        pauses.answered("b", later());
        assert_eq!(pushed_back(&pauses, "a", 5), Waits::All(SECOND * 5), "the first may be the account's");
        assert_eq!(pushed_back(&pauses, "a", 5), Waits::All(SECOND * 5), "nothing was answered since");
        pauses.answered("b", later());
        assert_eq!(pushed_back(&pauses, "a", 5), Waits::Check(SECOND * 5));
        assert_eq!(pauses.wait("a", NOW), Some(SECOND * 5));
        assert_eq!((pauses.wait("b", NOW), pauses.waiting().as_deref()), (None, Some("a")));
        for length in [10, 20, 40, 60, 60] {
            assert_eq!(pauses.wait("a", NOW + MOST), None, "one request may be sent");
            pauses.started("a", RequestId(1));
            assert_eq!(pauses.wait("a", NOW + MOST), Some(PROBED), "only one");
            pauses.ended("a", RequestId(1));
            assert_eq!(pushed_back(&pauses, "a", 5), Waits::Check(SECOND * length));
        }
        assert_eq!(pushed_back(&pauses, "a", 90), Waits::Check(SECOND * 90));
        pauses.answered("a", later());
        assert_eq!((pauses.wait("a", NOW), pauses.waiting()), (None, None));
        assert_eq!(pushed_back(&pauses, "a", 5), Waits::All(SECOND * 5), "it begins anew");
    }

    #[test]
    fn push_backs_of_several_checks_or_of_the_only_one_are_the_accounts() {
        let pauses = CheckPauses::default();
        for _ in 0..5 {
            assert_eq!(pushed_back(&pauses, "a", 1), Waits::All(SECOND));
            assert_eq!(pushed_back(&pauses, "b", 1), Waits::All(SECOND));
            pauses.answered("c", later());
        }
        let alone = CheckPauses::default();
        for _ in 0..5 {
            assert_eq!(pushed_back(&alone, "a", 1_000), Waits::All(SECOND * 1_000));
            alone.answered("a", later());
        }
    }

    #[test]
    fn a_refusal_that_nothing_followed_counts_for_a_time_only() {
        for (later, waits) in [(MOST, Waits::All(SECOND)), (MOST + LATELY + SECOND, Waits::Check(SECOND))] {
            let pauses = CheckPauses::default();
            assert_eq!(pushed_back(&pauses, "b", 1), Waits::All(SECOND));
            let pushed_back = || pauses.pushed_back("a", SECOND, MOST, NOW + later);
            assert_eq!(pushed_back(), Waits::All(SECOND));
            pauses.answered("c", NOW + later);
            assert_eq!(pushed_back(), waits, "{later:?}");
        }
    }

    #[test]
    fn a_poll_is_pushed_back_for_its_own_job_if_anything_was_answered_since_the_last_one() {
        let pauses = CheckPauses::default();
        assert!(!pauses.is_of_one_job(), "nothing was answered");
        pauses.answered("a", NOW);
        assert!(pauses.is_of_one_job() && !pauses.is_of_one_job(), "the second in a row is the account's");
        pauses.poll_answered();
        assert!(pauses.is_of_one_job());
    }

    #[test]
    fn a_pause_that_would_end_the_run_is_the_checks_if_another_check_was_answered() {
        let pauses = CheckPauses::default();
        pauses.answered("b", later());
        assert_eq!(pushed_back(&pauses, "a", 3_600), Waits::Check(SECOND * 3_600));
    }

    #[test]
    fn an_answer_to_a_request_that_was_on_the_way_ends_no_pause() {
        let pauses = CheckPauses::default();
        pauses.answered("b", NOW);
        assert_eq!(pushed_back(&pauses, "a", 1_000), Waits::Check(SECOND * 1_000));
        assert!(!pauses.answered("a", NOW));
        assert_eq!(pauses.wait("a", later()), Some(SECOND * 999));
        assert!(pauses.is_paused("a", later()) && !pauses.is_paused("b", later()));
        let over = NOW + SECOND * 1_000;
        assert!(!pauses.is_paused("a", over));
        pauses.started("a", RequestId(7));
        pauses.ended("a", RequestId(3));
        assert_eq!(pauses.wait("a", over), Some(PROBED), "an older request ended, and not the probe");
        assert!(pauses.answered("a", over));
        assert_eq!(pauses.wait("a", over), None);
    }

    #[test]
    fn a_check_that_is_not_sent_any_more_stays_paused_for_later_runs() {
        let pauses = CheckPauses::default();
        pauses.answered("b", NOW);
        pushed_back(&pauses, "a", 1_000);
        pauses.forget("a");
        assert!(!pauses.answered("a", NOW));
    }
}
