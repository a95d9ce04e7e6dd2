//! The request queue: reads new requests in input order from the ledger, and requests that were sent before (in doubt,
//! pending, or refused without a charge). It reads page by page, so that memory use does not grow with the number of
//! waiting requests.

use super::context::{Candidate, CheckContext};
use crate::{
    error::Error,
    ledger::{Reading, SentBefore},
    model::{
        RequestId,
        planted::{Bug, planted},
        state::State,
    },
    pipeline::intake::IntakeProgress,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

/// Requests that were sent before, in the order in which they are served. Their last reply was not a refusal.
const UNREFUSED: [SentBefore; 3] = [
    SentBefore { state: State::InDoubt, is_refused: false },
    SentBefore { state: State::Repeating, is_refused: false },
    SentBefore { state: State::Planned, is_refused: false },
];

/// The same, refused for credits or rate. They come after the others, because a refusal that the service caches under a key
/// could pause all other requests. Those in doubt come last, because their key must not change.
const REFUSED: [SentBefore; 3] = [
    SentBefore { state: State::Planned, is_refused: true },
    SentBefore { state: State::InDoubt, is_refused: true },
    SentBefore { state: State::Repeating, is_refused: true },
];

/// Requests of one kind, those not tried for the longest time first.
#[derive(Clone, Copy)]
struct Part {
    sent: SentBefore,
    /// The last attempt of the last request that was read.
    after: u64,
    /// Requests with a later last attempt are not of this part.
    until: u64,
}

/// The requests that were sent before the attempt `last`, in the order in which they are served. Refused requests come
/// last, but those that have waited longer than every other request come first. Otherwise they would never be sent again
/// where each run stops at the others.
fn parts(reading: &Reading, last: u64) -> Result<Vec<Part>, Error> {
    let mut oldest = last;
    for sent in UNREFUSED {
        let head = reading.sent_before(sent, 0, oldest, 1)?;
        oldest = head.first().map_or(oldest, |(attempt, ..)| *attempt);
    }
    let mut parts = Vec::new();
    for sent in REFUSED {
        if !reading.sent_before(sent, 0, oldest, 1)?.is_empty() {
            parts.push(Part { sent, after: 0, until: oldest });
        }
    }
    parts.extend(UNREFUSED.map(|sent| Part { sent, after: 0, until: last }));
    parts.extend(REFUSED.map(|sent| Part { sent, after: oldest, until: last }));
    Ok(parts)
}

/// Reads the ledger for the send loop.
pub struct RequestQueue {
    reading: Reading,
    /// The requests that were sent before this run, without the parts that were read to their end. What this run sends
    /// is not among them: no request may be in flight twice.
    sent_before: Vec<Part>,
    /// The last new request that was read. New requests are read in ascending order.
    after_new: RequestId,
    dry: bool,
    /// Serve nothing before all rows are ingested.
    wait_for_rows: bool,
    /// Do not serve requests that are proven uncharged.
    only_doubts: bool,
    /// Serve nothing else before one of the requests in doubt is answered.
    doubts_first: bool,
    /// Checks that are not sent any more in this run.
    left_out: BTreeSet<String>,
}

impl RequestQueue {
    /// A queue of the requests of a run. Make it before anything is sent.
    pub fn new(reading: Reading, wait_for_rows: bool) -> Result<RequestQueue, Error> {
        let mut sent_before = parts(&reading, reading.last_attempt()?)?;
        if planted(Bug::DoubtNeverSent) {
            sent_before.retain(|part| part.sent != UNREFUSED[0]);
        }
        Ok(RequestQueue {
            reading,
            sent_before,
            after_new: RequestId(0),
            dry: false,
            wait_for_rows,
            only_doubts: false,
            doubts_first: false,
            left_out: BTreeSet::new(),
        })
    }

    /// A queue that serves only requests that may have been charged.
    pub fn of_doubts(reading: Reading) -> Result<RequestQueue, Error> {
        Ok(RequestQueue { only_doubts: true, ..RequestQueue::new(reading, false)? })
    }

    /// How long ago each request of a check was sent in the last hour.
    pub fn sent_in_last_hour(&self, check: &str, now_us: i64) -> Result<Vec<Duration>, Error> {
        Ok(self.reading.sent_in_last_hour(check, now_us)?)
    }

    /// Serves requests in doubt alone, until one of them is answered. A queue that serves nothing else has no use for it.
    pub fn put_doubts_first(&mut self) {
        self.doubts_first = !self.only_doubts;
    }

    /// Records that a request was answered.
    pub fn answered(&mut self) {
        self.doubts_first = false;
    }

    /// Whether requests wait because none in doubt was answered.
    pub fn waits_for_doubts(&self) -> bool {
        self.doubts_first
    }

    /// Whether nothing is left to serve and nothing more will come.
    pub fn is_dry(&self) -> bool {
        self.dry || self.doubts_first && !self.has_sent_before()
    }

    /// Stops serving the requests of a check.
    pub fn leave_out(&mut self, check: &str) {
        self.left_out.insert(check.to_owned());
    }

    /// Whether the requests of this check are no longer served.
    pub fn leaves_out(&self, check: &str) -> bool {
        self.left_out.contains(check)
    }

    /// Fills `new` and `again` up to `wanted`. `intake` must be from before this call: a split that is ingested in
    /// between is found by the next call.
    pub fn fill(
        &mut self,
        new: &mut VecDeque<Candidate>,
        again: &mut VecDeque<Candidate>,
        wanted: usize,
        intake: IntakeProgress,
        checks: &BTreeMap<String, CheckContext>,
    ) -> Result<(), Error> {
        if self.wait_for_rows && !intake.done {
            return Ok(());
        }
        while new.len() < wanted && !self.only_doubts && !self.doubts_first {
            let page = self.reading.new_requests(self.after_new, wanted)?;
            let Some((last, _)) = page.last() else { break };
            self.after_new = *last;
            new.extend(self.take(page, checks).map(|(request, name)| Candidate::new(request, name)));
        }
        let is_last = new.is_empty() && (intake.done || self.only_doubts);
        if new.is_empty() && !is_last && !self.doubts_first && self.has_overdue() {
            return Ok(());
        }
        self.fill_again(again, wanted, checks, is_last || self.doubts_first)?;
        self.dry = is_last && !self.doubts_first && !self.has_sent_before();
        Ok(())
    }

    /// Whether a kind of request that may be served now was not read to its end.
    fn has_sent_before(&self) -> bool {
        self.sent_before.iter().any(|part| self.may_serve(&part.sent))
    }

    /// Whether a refused request comes before all others that were sent before. It does so only where no new request is
    /// left.
    fn has_overdue(&self) -> bool {
        self.sent_before.first().is_some_and(|part| part.sent.is_refused)
    }

    fn may_serve(&self, sent: &SentBefore) -> bool {
        sent.state != State::Planned || !(self.only_doubts || self.doubts_first)
    }

    /// Fills `again` up to `wanted`, also with refused requests if `with_refused`.
    fn fill_again(
        &mut self,
        again: &mut VecDeque<Candidate>,
        wanted: usize,
        checks: &BTreeMap<String, CheckContext>,
        with_refused: bool,
    ) -> Result<(), Error> {
        let is_next = |queue: &Self, sent: &SentBefore| queue.may_serve(sent) && (with_refused || !sent.is_refused);
        while again.len() < wanted
            && let Some(at) = self.sent_before.iter().position(|part| is_next(self, &part.sent))
            && let Some(Part { sent, after, until }) = self.sent_before.get(at).copied()
        {
            let page = self.reading.sent_before(sent, after, until, wanted)?;
            match (page.last(), self.sent_before.get_mut(at)) {
                (Some((last, ..)), Some(part)) => part.after = *last,
                _ => drop(self.sent_before.remove(at)),
            }
            let is_doubt = sent.state != State::Planned;
            let page = page.into_iter().map(|(_, request, name)| (request, name)).collect();
            again.extend(self.take(page, checks).map(|(request, name)| Candidate::again(request, name, is_doubt)));
        }
        Ok(())
    }

    /// The requests of a page that are served. Requests of a check that is left out, or no longer in the campaign file,
    /// stay pending.
    fn take(
        &self,
        page: Vec<(RequestId, String)>,
        checks: &BTreeMap<String, CheckContext>,
    ) -> impl Iterator<Item = (RequestId, String)> {
        page.into_iter().filter(|(_, name)| checks.contains_key(name) && !self.left_out.contains(name))
    }
}
