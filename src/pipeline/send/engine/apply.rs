//! What the end of an attempt means for its request and for the run: acts on what [`next_step`] decides.

use super::{Command, Engine, Why};
use crate::{
    client::Classified,
    error::Error,
    model::{
        Credits, Failure, FailureCode, Judgement, Stage, Stop,
        state::{Event, IllegalMove, Outcome, State},
        transitions::CACHED_REFUSALS_MAX,
    },
    pipeline::send::{
        attempt_end::{Attempt, AttemptEnd},
        check_pauses::Waits,
        context::Candidate,
        gate::{PUSH_BACK_MAX, pause_end, whole_seconds},
        guards::Unread,
        next_step::{Next, next_step},
    },
};
use std::time::Duration;

/// Above this number of postponed requests, a pending request is left for the next run.
const PENDING_MAX: usize = 500;

/// How long to wait for the answer that another partition has asked for before the charge book is asked again, and how often.
const ELSEWHERE: Duration = Duration::from_secs(10);
const ELSEWHERE_LATER: Duration = Duration::from_secs(60);
const ELSEWHERE_MAX: u32 = 7;

impl Engine {
    pub(super) fn apply(&mut self, candidate: Candidate, end: AttemptEnd) -> Result<(), Error> {
        if !matches!(end, AttemptEnd::Attempted(_)) {
            self.prices.not_sent();
        }
        match end {
            AttemptEnd::OverBudget(refusal) => self.over_budget(candidate, refusal),
            AttemptEnd::GateClosed => self.take_back(candidate),
            AttemptEnd::Adopted(state) => self.adopted(candidate, state),
            AttemptEnd::Elsewhere { is_running } => self.elsewhere(candidate, is_running),
            AttemptEnd::Closed(stop) => {
                self.take_back(candidate);
                self.close(stop);
            }
            AttemptEnd::ClockMoved => {
                self.take_back(candidate);
                self.health.clock_moved();
            }
            AttemptEnd::NotBefore(until_us) => self.not_before(candidate, until_us),
            AttemptEnd::Quarantined => {}
            AttemptEnd::OtherBody(differs) => {
                self.leave_out(&candidate.check, Stop::OtherBody { check: candidate.check.clone(), differs });
            }
            AttemptEnd::Withheld(IllegalMove::OtherApiKey) => self.withheld += 1,
            // This request waits until the clock is set; the others continue.
            AttemptEnd::Withheld(IllegalMove::ClocksDiffer) => {
                let offset = self.now.sums.server_offset_us.unwrap_or_default();
                self.withhold(Stop::ClockDiffers { seconds: offset.saturating_abs() / 1_000_000 });
            }
            AttemptEnd::Withheld(IllegalMove::OtherRoute) => self.withhold(Stop::OtherRoute { check: candidate.check }),
            AttemptEnd::FileChanged(fault) => self.file_changed(&candidate, fault),
            AttemptEnd::UploadExpired => self.upload_expired(candidate),
            AttemptEnd::UploadUnusable(fault) => self.upload_unusable(candidate, fault),
            AttemptEnd::UploadCharged(credits) => {
                self.leave_out(&candidate.check, Stop::UploadCharged { check: candidate.check.clone(), credits });
            }
            AttemptEnd::OtherSide(simulated) => self.stops.push(Stop::OtherSide { simulated }),
            AttemptEnd::Withheld(defect) => return Err(Error::Ledger(defect.into())),
            AttemptEnd::Attempted(attempted) => {
                if attempted.uploaded {
                    self.guards.uploaded(&candidate.check);
                }
                self.check_charge(&candidate, &attempted);
                self.count(&candidate, &attempted);
                self.attempted(candidate, *attempted);
            }
        }
        Ok(())
    }

    /// Continues with a request that was taken from the charge book.
    fn adopted(&mut self, candidate: Candidate, state: State) {
        match state {
            State::Answered | State::Failed | State::Submitted | State::Quarantined => {
                self.spending.leaves(candidate.request);
                self.supply.doubts_first &= state != State::Answered;
            }
            State::Planned | State::Armed | State::InDoubt | State::Repeating => {
                self.take_back(Candidate { in_doubt: state != State::Planned, is_repeat: true, ..candidate });
            }
        }
    }

    /// Waits for the answer that another partition of the campaign has asked for, while a worker runs that partition.
    fn elsewhere(&mut self, mut candidate: Candidate, is_running: bool) {
        // Each time costs a slot of the rate.
        let wait = ELSEWHERE.saturating_mul(1 << candidate.repeats.min(8)).min(ELSEWHERE_LATER);
        candidate.repeats += 1;
        if is_running && candidate.repeats <= ELSEWHERE_MAX {
            self.postpone(candidate, wait);
        } else {
            self.spending.leaves(candidate.request);
            self.left_elsewhere += 1;
        }
    }

    /// Records why a request stays in doubt. Each reason is reported once, at the end.
    pub(super) fn withhold(&mut self, reason: Stop) {
        if !self.withholds.contains(&reason) {
            self.withholds.push(reason);
        }
    }

    /// Counts consecutive faults, once per request.
    fn count(&mut self, candidate: &Candidate, attempted: &Attempt) {
        let request = candidate.request;
        // What an earlier run could not read either says nothing about the others.
        if attempted.is_not_read() && !candidate.is_of_earlier_run {
            if self.guards.not_read(&unread(candidate, attempted)) {
                self.health.not_read();
            }
            self.stops.extend(self.guards.is_not_the_service());
        }
        if attempted.is_outage() {
            self.stops.extend(self.guards.unanswered(request, self.terms.in_flight));
        }
        let is_first_job = !self.now.sums.jobs_known.contains(&candidate.check);
        if let Some(fault) = attempted.reply.job_fault.as_ref().filter(|_| is_first_job) {
            self.stops.extend(self.guards.unusable_job(&candidate.check, request, fault));
        }
        // A conflict of a request that was sent before is expected.
        if attempted.is_conflict() && !candidate.is_repeat {
            self.stops.extend(self.guards.conflict(request, self.terms.has_webhook));
        }
    }

    fn attempted(&mut self, candidate: Candidate, attempted: Attempt) {
        if let Some(simulated) = attempted.other_side {
            self.stops.push(Stop::OtherSide { simulated });
            return;
        }
        let answered = self.guards.answers_of(&candidate.check);
        let next = next_step(candidate, &attempted, answered, self.terms.mode);
        self.take_step(next, attempted);
    }

    /// Does the next step of a request.
    pub(super) fn take_step(&mut self, next: Next, attempted: Attempt) {
        match next {
            Next::Answered(candidate) => self.answered(&candidate, &attempted),
            Next::Submitted(candidate) => self.submitted(&candidate, &attempted),
            Next::Failed(candidate) => self.count_failed(&candidate, &attempted),
            // Requests that stay pending must not fill the schedule.
            Next::Again(candidate, _) if attempted.is_pending() && self.schedule.postponed_count() >= PENDING_MAX => {
                self.left_for_later(&candidate);
            }
            Next::Again(candidate, delay) => {
                note_repeat(&candidate, &attempted, delay);
                self.postpone(candidate, delay);
            }
            Next::LeftForLater(candidate) if attempted.fails_for_good() && self.is_answering(&candidate) => {
                self.row_at_fault(candidate, attempted);
            }
            Next::LeftForLater(candidate) => {
                if attempted.is_conflict() {
                    let code = attempted.reply.code.as_deref().unwrap_or_default();
                    self.lasting_conflicts.add(&candidate.check, code, &attempted.reply.words);
                }
                if attempted.may_be_of_another() {
                    self.guards.left(&unread(&candidate, &attempted));
                }
                self.left_for_later(&candidate);
            }
            Next::AttemptsOver(candidate) => self.attempts_over(&candidate, &attempted),
            Next::AskAccount(candidate) => {
                if self.stops.is_empty() {
                    self.read_balance(Duration::ZERO, Why::Refused(Box::new((candidate, attempted))));
                }
            }
            Next::PushedBack(candidate, wait) => {
                if let Some(Waits::Check(_)) = attempted.waits {
                    let until_us = (wait > PUSH_BACK_MAX).then(|| self.pause_end(wait));
                    self.leave_out(&candidate.check, Stop::CheckPaused { check: candidate.check.clone(), until_us });
                    return;
                }
                // The account was read in this run, or nothing is charged (sandbox), so the refusal is cached under the
                // key.
                let account_read = self.health.was_read() || !self.prices.is_watched();
                let explained = self.prices.unexplained() == Credits::ZERO;
                if attempted.is_refused_for_good() && account_read && explained {
                    self.new_key(candidate);
                } else if attempted.has_useless_new_keys(CACHED_REFUSALS_MAX)
                    && account_read
                    && candidate.answered_beside
                {
                    self.row_at_fault(candidate, attempted);
                }
                self.stops.push(Stop::PushedBack { until_us: self.pause_end(wait) });
            }
        }
    }

    /// When a pause that begins now ends, in microseconds since 1970.
    fn pause_end(&self, wait: Duration) -> i64 {
        pause_end(wait, self.now.us)
    }

    /// Whether the service answers requests of the same check, as shown by this run and earlier runs.
    fn is_answering(&self, candidate: &Candidate) -> bool {
        self.now.sums.was_answered(&candidate.check) && self.guards.is_answering()
    }

    /// Leaves a request for a later run.
    pub(super) fn left_for_later(&mut self, candidate: &Candidate) {
        self.spending.leaves(candidate.request);
        self.left_unsent += u64::from(!candidate.in_doubt);
    }

    /// Postpones a request that the service asked not to repeat before a time. If that is too far away, a later run
    /// repeats it.
    fn not_before(&mut self, candidate: Candidate, until_us: i64) {
        let left_us = until_us.saturating_sub(self.now.us);
        let left = Duration::from_micros(u64::try_from(left_us).unwrap_or_default());
        if left <= PUSH_BACK_MAX {
            self.postpone(candidate, left);
        } else {
            self.left_for_later(&candidate);
        }
    }

    /// Counts a request that failed, or that waits for a person.
    pub(super) fn count_failed(&mut self, candidate: &Candidate, attempted: &Attempt) {
        self.spending.leaves(candidate.request);
        // Repeats are sent one after the other, so several failures in a row do not point to a common cause.
        let is_known_failure = attempted.reply.outcome == Outcome::CachedFailure && candidate.is_repeat;
        let (limits, guards) = (&self.terms.guards, &mut self.guards);
        self.stops.extend(match is_known_failure {
            true => guards.failed_alone(limits),
            false => guards.refused(&candidate.check, &attempted.same_refusals(), &attempted.reply.words, limits),
        });
    }

    /// Records a request that the service accepted as a job. It shows that the service works, and is not sent again.
    fn submitted(&mut self, candidate: &Candidate, attempted: &Attempt) {
        self.spending.key_on_trial = None;
        self.supply.doubts_first = false;
        self.guards.accepted(&candidate.check);
        self.stop_for_other_mode(attempted.other_mode.as_ref());
    }

    /// Stops if an answer names another mode than the one that was sent.
    pub(super) fn stop_for_other_mode(&mut self, echoed: Option<&String>) {
        let sent = self.terms.mode.as_str();
        self.stops.extend(echoed.map(|echoed| Stop::OtherMode { sent: sent.to_owned(), echoed: echoed.clone() }));
    }

    fn answered(&mut self, candidate: &Candidate, attempted: &Attempt) {
        self.supply.doubts_first = false;
        self.stop_for_other_mode(attempted.other_mode.as_ref());
        if let Some(judgement) = &attempted.judgement {
            self.count_answer(&candidate.check, judgement);
        }
    }

    /// Counts an answer to a request of a check.
    pub(super) fn count_answer(&mut self, check: &str, judgement: &Judgement) {
        self.answered += 1;
        self.stops.extend(self.guards.answered(check, judgement.verdict, &self.terms.guards));
    }

    /// Postpones the next requests while their check is at its own limit, so that they do not block other checks.
    pub(super) fn hold_back(&mut self) {
        while let Some(wait) = self.schedule.next().and_then(|next| {
            let waits = [self.limits.wait(&next.check, self.now.at), self.check_pauses.wait(&next.check, self.now.at)];
            waits.into_iter().flatten().max()
        }) {
            let Some(candidate) = self.schedule.take() else { return };
            self.schedule.ended(&candidate);
            self.schedule.hold_back(self.now.at + wait, candidate);
        }
    }

    pub(super) fn postpone(&mut self, candidate: Candidate, delay: Duration) {
        if self.supply.leaves_out(&candidate.check) {
            return;
        }
        let now = self.now.at;
        let due = self.now.paused_until.unwrap_or(now).max(now + delay.min(self.terms.delay_max));
        self.schedule.postpone(due, candidate);
    }

    pub(super) fn attempts_over(&mut self, candidate: &Candidate, attempted: &Attempt) {
        let failure = Failure {
            stage: Stage::Send,
            code: FailureCode::AttemptsOver,
            message: format!(
                "no answer in sandbox after {} attempts of this run: {}",
                candidate.attempts, attempted.reply.message
            ),
        };
        let event = Event::AttemptsOver { mode: self.terms.mode };
        self.record(candidate.request, event, Some(failure));
        self.spending.leaves(candidate.request);
        // Repeats are sent last and one after the other, so several failures in a row do not point to a common cause if
        // the service answers requests of the check.
        let answers = self.now.sums.was_answered(&candidate.check);
        let (limits, guards) = (&self.terms.guards, &mut self.guards);
        let stop = if answers {
            guards.failed_alone(limits)
        } else {
            guards.refused(&candidate.check, &attempted.same_refusals(), &attempted.reply.words, limits)
        };
        self.stops.extend(stop);
    }

    /// Gives a request the key of its next generation, because a refusal that is proven uncharged is cached under its
    /// key.
    pub(super) fn new_key(&mut self, mut candidate: Candidate) {
        self.commands.push(Command::NewKey { request: candidate.request, event: Event::RefusalCached });
        candidate.cached = 0;
        // Sent first, because other requests may wait for its result.
        self.put_first(Candidate { is_repeat: true, ..candidate });
    }
}

/// A reply that is not the service's, or cannot be read.
fn unread<'a>(candidate: &'a Candidate, attempted: &'a Attempt) -> Unread<'a> {
    let Classified { kind, http_status: status, words: said, .. } = &attempted.reply;
    Unread { request: candidate.request, check: &candidate.check, status: *status, said, is_paid: kind.is_success() }
}

/// Logs that a request is sent again. A rate limit is logged once for all requests.
fn note_repeat(candidate: &Candidate, attempted: &Attempt, delay: Duration) {
    if attempted.reply.push_back.is_some() {
        return;
    }
    let reply = match attempted.reply.http_status {
        None => "no reply".to_owned(),
        // Why a success cannot be read is in no output while the request is in doubt.
        Some(status)
            if attempted.reply.kind.is_success()
                && attempted.reply.outcome == Outcome::Unknown
                && !attempted.is_of_another() =>
        {
            format!("HTTP {status}: {}", attempted.reply.message)
        }
        Some(status) => format!("HTTP {status}"),
    };
    let (request, check, seconds) = (candidate.request.0, &candidate.check, whole_seconds(delay));
    tracing::info!("request {request} of {check} is sent again in {seconds} s: {reply}");
}
