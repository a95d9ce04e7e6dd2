//! Guards: stop a failing run early, before much is spent. They only count and decide; they do no I/O.

use crate::{
    ledger::Sums,
    model::{RequestId, Stop, Verdict, shared_words::SharedWords, stop::STAGE_SEND},
    pipeline::campaign::Guards,
};
use std::collections::{BTreeMap, BTreeSet};

/// The guard on errors starts at this number of asks.
const ERRORS_AFTER: u64 = 50;
/// If none of the first 20 answers is recognised, the declaration is wrong.
const UNRECOGNISED_FIRST: u64 = 20;
/// The guard on the share of unrecognised answers starts at this number of answers.
const UNRECOGNISED_AFTER: u64 = 100;
/// The run stops after this many different consecutive requests without an answer while the account can be read. The
/// limit is at least twice the number of concurrent requests.
const UNANSWERED_MAX: usize = 50;
/// Up to this many unanswered requests may have failed for their own reasons.
const UNANSWERED_FEW: usize = 5;
/// The run stops after this many different consecutive requests with identical refusals.
pub const SAME_REFUSALS_MAX: usize = 5;
/// The run stops after this many different consecutive requests whose key the service knows with another body (409).
const CONFLICTS_MAX: usize = 5;
/// After this many different consecutive requests whose reply is not the service's or cannot be read, the account is
/// read to see whether this is the service.
const NOT_READ_ASK: usize = 3;
/// After this many, the run stops regardless of the account.
const NOT_READ_MAX: usize = 6;

/// The run stops after this many different requests of a check whose reply says that the answer comes later, and names no
/// job that can be followed, if no job of the check was ever followed.
const UNUSABLE_JOBS_MAX: usize = 3;
/// No more documents of a check are uploaded after this many different consecutive requests with a reply to the upload
/// that cannot be followed.
const ODD_UPLOADS_MAX: usize = 3;

/// The counts on which the guards decide.
#[derive(Debug, Default)]
pub struct GuardState {
    answered: u64,
    refused: u64,
    by_check: BTreeMap<String, (u64, u64)>,
    same_refusals: SameRefusals,
    // Sets of requests, so that repeated attempts of a single request never stop a run.
    not_read: BTreeSet<RequestId>,
    not_read_said: Found,
    /// Requests that are left for a later run, because what replied was not the service.
    intercepted: Found,
    unanswered: BTreeSet<RequestId>,
    conflicts: BTreeSet<RequestId>,
    /// Checks with an answer or an accepted job in this run.
    working: BTreeSet<String>,
    /// By check, the requests that were refused before that, while the account is in order.
    suspects: BTreeMap<String, BTreeSet<RequestId>>,
    /// By check, the requests whose reply names no job that can be followed.
    unusable_jobs: BTreeMap<String, BTreeSet<RequestId>>,
    /// By check, the requests since the last upload that succeeded whose upload could not be followed.
    odd_uploads: BTreeMap<String, BTreeSet<RequestId>>,
    /// Checks with an upload that succeeded in this run.
    uploading: BTreeSet<String>,
}

/// A reply that is not the service's, or cannot be read.
pub struct Unread<'a> {
    pub request: RequestId,
    pub check: &'a str,
    pub status: Option<u16>,
    /// Its words.
    pub said: &'a str,
    /// It may have been paid for.
    pub is_paid: bool,
}

/// What replied in the place of the service.
#[derive(Debug, Default)]
struct Found {
    /// The status of the last reply.
    status: Option<u16>,
    /// One of them may have been paid for.
    is_paid: bool,
    words: SharedWords,
}

impl Found {
    fn add(&mut self, reply: &Unread<'_>) {
        self.status = reply.status;
        self.is_paid |= reply.is_paid;
        self.words.add(reply.check, reply.said);
    }

    /// `HTTP 403: "Sign in"`
    fn shown(&self) -> String {
        let status = self.status.map_or_else(|| "no reply".to_owned(), |status| format!("HTTP {status}"));
        match self.words.shown() {
            Some(words) => format!("{status}: \"{words}\""),
            None => status,
        }
    }
}

/// Consecutive refusals with the same status and code.
#[derive(Debug, Default)]
struct SameRefusals {
    code: String,
    words: SharedWords,
}

impl GuardState {
    /// Counts an answer. Stops the run if too many answers are unrecognised.
    pub fn answered(&mut self, check: &str, verdict: Verdict, guards: &Guards) -> Option<Stop> {
        self.answered += 1;
        self.works(check);
        let (unrecognised, of) = self.by_check.entry(check.to_owned()).or_default();
        *of += 1;
        *unrecognised += u64::from(verdict == Verdict::Unrecognised);
        let exceeded = guards.max_unrecognised.is_exceeded(*unrecognised, *of);
        let none_of_the_first = *of == UNRECOGNISED_FIRST && *unrecognised == *of;
        (exceeded && (none_of_the_first || *of >= UNRECOGNISED_AFTER)).then(|| Stop::Unrecognised {
            check: check.to_owned(),
            unrecognised: *unrecognised,
            of: *of,
        })
    }

    /// The number of answers to requests of the check in this run.
    pub fn answers_of(&self, check: &str) -> u64 {
        self.by_check.get(check).map_or(0, |(_, answers)| *answers)
    }

    /// Notes a request that the service accepted as a job, which shows that the service works.
    pub fn accepted(&mut self, check: &str) {
        self.works(check);
        self.unusable_jobs.remove(check);
    }

    fn works(&mut self, check: &str) {
        self.same_refusals = SameRefusals::default();
        self.suspects.remove(check);
        self.working.insert(check.to_owned());
        self.forget();
    }

    /// Whether the service answered a request of the check in this run, or accepted it as a job.
    pub fn is_working(&self, check: &str) -> bool {
        self.working.contains(check)
    }

    /// Counts a request whose reply says that the answer comes later, and names no job that can be followed.
    pub fn unusable_job(&mut self, check: &str, request: RequestId, fault: &str) -> Option<Stop> {
        let unusable = self.unusable_jobs.entry(check.to_owned()).or_default();
        unusable.insert(request);
        (unusable.len() >= UNUSABLE_JOBS_MAX)
            .then(|| Stop::JobUnusable { check: check.to_owned(), fault: fault.to_owned() })
    }

    /// Counts a refused request of a check. Identical refusals have the same `code`, which has no words of the service;
    /// `said` are its words about this request.
    pub fn refused(&mut self, check: &str, code: &str, said: &str, guards: &Guards) -> Option<Stop> {
        self.refused += 1;
        self.forget();
        if self.same_refusals.code != code {
            self.same_refusals = SameRefusals { code: code.to_owned(), ..SameRefusals::default() };
        }
        let same = &mut self.same_refusals;
        same.words.add(check, said);
        if same.words.count() >= SAME_REFUSALS_MAX as u64 && !guards.max_errors_explicit {
            let words = same.words.shown().map(|words| format!(": {words}")).unwrap_or_default();
            return Some(Stop::SameRefusals { count: same.words.count(), message: format!("{code}{words}") });
        }
        let of = self.refused + self.answered;
        too_many(guards, self.refused, of, STAGE_SEND)
    }

    /// Counts a request that failed for a reason of its own, while others of its check are answered.
    pub fn failed_alone(&mut self, guards: &Guards) -> Option<Stop> {
        self.refused += 1;
        self.forget();
        too_many(guards, self.refused, self.refused + self.answered, STAGE_SEND)
    }

    /// Counts an attempt that reached no working service.
    pub fn unanswered(&mut self, request: RequestId, in_flight: usize) -> Option<Stop> {
        self.unanswered.insert(request);
        let most = UNANSWERED_MAX.max(2 * in_flight);
        (self.unanswered.len() >= most).then(|| Stop::Unavailable {
            message: format!("{most} requests in a row had no answer, although the account can be read"),
        })
    }

    /// Whether only few requests had no answer since the last answer.
    pub fn is_answering(&self) -> bool {
        self.unanswered.len() <= UNANSWERED_FEW
    }

    /// Counts a reply that is not the service's or cannot be read. Returns whether to read the account now, to see whether
    /// this is the service at all.
    pub fn not_read(&mut self, reply: &Unread<'_>) -> bool {
        if !self.not_read.insert(reply.request) {
            return false;
        }
        self.not_read_said.add(reply);
        self.not_read.len() == NOT_READ_ASK
    }

    /// The stop if too many different requests got such a reply.
    pub fn is_not_the_service(&self) -> Option<Stop> {
        (self.not_read.len() >= NOT_READ_MAX).then(|| Stop::NotTheService { found: self.not_read_said.shown() })
    }

    /// Whether some reply in a row that could not be read may have been paid for.
    pub fn may_have_paid(&self) -> bool {
        self.not_read_said.is_paid
    }

    /// Counts a request that is left for a later run, because what replied may not be the service.
    pub fn left(&mut self, reply: &Unread<'_>) {
        self.intercepted.add(reply);
    }

    /// The stop at the end of a run with such requests.
    pub fn intercepted(&self) -> Option<Stop> {
        let found = &self.intercepted;
        let requests = found.words.count();
        (requests > 0).then(|| Stop::Intercepted { requests, found: found.shown() })
    }

    /// Counts a 409. `has_webhook` if bodies of the campaign may name a webhook.
    pub fn conflict(&mut self, request: RequestId, has_webhook: bool) -> Option<Stop> {
        self.conflicts.insert(request);
        (self.conflicts.len() >= CONFLICTS_MAX).then_some(Stop::Conflict { count: CONFLICTS_MAX as u64, has_webhook })
    }

    /// Counts a refused request of a check that does not work in this run, while the account is in order. Returns true
    /// once [`SAME_REFUSALS_MAX`] different requests were refused: the cause is then the check.
    pub fn suspect(&mut self, check: &str, request: RequestId) -> bool {
        let suspects = self.suspects.entry(check.to_owned()).or_default();
        suspects.insert(request);
        suspects.len() >= SAME_REFUSALS_MAX
    }

    /// Notes a document that was uploaded.
    pub fn uploaded(&mut self, check: &str) {
        self.odd_uploads.remove(check);
        self.uploading.insert(check.to_owned());
    }

    /// Whether a document of the check was uploaded in this run.
    pub fn is_uploading(&self, check: &str) -> bool {
        self.uploading.contains(check)
    }

    /// Counts a request whose upload could not be followed. Returns whether so many different ones could not in a row
    /// that their documents are not the cause.
    pub fn odd_upload(&mut self, check: &str, request: RequestId) -> bool {
        let odd = self.odd_uploads.entry(check.to_owned()).or_default();
        odd.insert(request);
        odd.len() >= ODD_UPLOADS_MAX
    }

    /// Resets the counts of consecutive events, because the service has answered.
    fn forget(&mut self) {
        self.not_read.clear();
        self.not_read_said = Found::default();
        self.unanswered.clear();
        self.conflicts.clear();
    }
}

/// The guard on rows that cannot be read or mapped, over all ingested rows.
pub fn unmapped(sums: &Sums, guards: &Guards) -> Option<Stop> {
    too_many(guards, sums.unmapped + sums.unreadable, sums.asks + sums.unreadable, "be read and mapped")
}

/// The guard on an input with fewer or more rows than `--expect-rows` allows.
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
    use crate::pipeline::campaign::file::Share;

    fn unread(request: i64) -> Unread<'static> {
        Unread { request: RequestId(request), check: "c", status: Some(200), said: "", is_paid: true }
    }

    fn guards(explicit: bool) -> Guards {
        Guards {
            max_errors: Share::Percent(25.0),
            max_errors_explicit: explicit,
            max_unrecognised: Share::Percent(1.0),
            accept_failures: None,
        }
    }

    #[test]
    fn twenty_unrecognised_answers_at_the_start_stop_the_run() {
        let mut watch = GuardState::default();
        let stops: Vec<bool> =
            (0..20).map(|_| watch.answered("c", Verdict::Unrecognised, &guards(false)).is_some()).collect();
        assert_eq!(stops.iter().position(|stop| *stop), Some(19));
    }

    #[test]
    fn a_share_of_a_hundred_percent_lets_every_answer_be_unrecognised() {
        let all = Guards { max_unrecognised: Share::Percent(100.0), ..guards(false) };
        let mut watch = GuardState::default();
        assert!((0..200).all(|_| watch.answered("c", Verdict::Unrecognised, &all).is_none()));
    }

    #[test]
    fn later_a_share_above_the_limit_stops_the_run() {
        let mut watch = GuardState::default();
        for _ in 0..198 {
            assert!(watch.answered("c", Verdict::Clear, &guards(false)).is_none());
        }
        assert!(watch.answered("c", Verdict::Unrecognised, &guards(false)).is_none());
        assert!(watch.answered("c", Verdict::Unrecognised, &guards(false)).is_none(), "2 of 200 is 1 %");
        assert!(watch.answered("c", Verdict::Unrecognised, &guards(false)).is_some());
    }

    #[test]
    fn five_equal_refusals_in_a_row_pause_the_run_unless_the_user_set_the_limit() {
        let mut watch = GuardState::default();
        let five = |watch: &mut GuardState, guards: &Guards| {
            (0..5).filter_map(|_| watch.refused("c", "bad", "", guards)).count()
        };
        assert_eq!(five(&mut watch, &guards(false)), 1);
        assert_eq!(five(&mut GuardState::default(), &guards(true)), 0);
        let mut mixed = GuardState::default();
        for n in 0..20 {
            assert!(mixed.refused("c", if n % 2 == 0 { "a" } else { "b" }, "", &guards(false)).is_none());
        }
    }

    #[test]
    fn more_than_a_quarter_of_unmapped_rows_stops_the_run() {
        let sums = |unmapped, asks| Sums { unmapped, asks, ..Sums::default() };
        assert!(unmapped(&sums(40, 49), &guards(false)).is_none(), "too few to judge");
        assert!(unmapped(&sums(25, 100), &guards(false)).is_none());
        assert!(unmapped(&sums(26, 100), &guards(false)).is_some());
    }

    #[test]
    fn three_different_unread_replies_in_a_row_cause_an_account_reading() {
        let mut watch = GuardState::default();
        assert!((0..10).all(|_| !watch.not_read(&unread(1))), "one request many times");
        watch.answered("c", Verdict::Clear, &guards(false));
        assert!(!watch.not_read(&unread(1)) && !watch.not_read(&unread(2)) && watch.not_read(&unread(3)));
        let stops: Vec<bool> =
            (4..=6).map(|id| (watch.not_read(&unread(id)), watch.is_not_the_service().is_some()).1).collect();
        assert_eq!(stops, [false, false, true]);
    }

    #[test]
    fn one_request_many_times_never_stops_a_run_and_many_requests_do() {
        let mut watch = GuardState::default();
        assert!(
            (0..200)
                .all(|_| watch.unanswered(RequestId(1), 1).is_none() && watch.conflict(RequestId(1), false).is_none())
        );
        let stops: Vec<bool> = (0..5).map(|id| watch.conflict(RequestId(id), false).is_some()).collect();
        assert_eq!(stops, [false, false, false, false, true]);
        let stops: Vec<bool> = (0..50).map(|id| watch.unanswered(RequestId(id), 8).is_some()).collect();
        assert_eq!(stops.iter().position(|stop| *stop), Some(49));
    }

    #[test]
    fn an_accepted_job_ends_a_row_of_faults() {
        let mut watch = GuardState::default();
        assert!((1..5).all(|id| watch.conflict(RequestId(id), false).is_none() && !watch.suspect("c", RequestId(id))));
        assert!((0..4).all(|_| watch.refused("c", "same", "", &guards(false)).is_none()));
        watch.accepted("c");
        assert!(watch.conflict(RequestId(9), false).is_none() && !watch.suspect("c", RequestId(9)));
        assert!(watch.refused("c", "same", "", &guards(false)).is_none());
    }

    #[test]
    fn a_check_that_was_never_answered_is_suspected_after_five_different_requests() {
        let mut watch = GuardState::default();
        assert!((0..20).all(|_| !watch.suspect("c", RequestId(1))), "one request many times");
        let mut watch = GuardState::default();
        let stops: Vec<bool> = (0..5).map(|id| watch.suspect("c", RequestId(id))).collect();
        assert_eq!(stops, [false, false, false, false, true]);
        watch.answered("c", Verdict::Clear, &guards(false));
        assert!(!watch.suspect("c", RequestId(1)));
    }
}
