//! The request queue: reads new requests from the ledger, in input order except for those of a check at its own limit, and
//! requests that were sent before (in doubt, pending, or refused without a charge). It reads page by page, so that memory
//! use does not grow with the number of waiting requests.

use super::context::{Candidate, CheckContext};
use crate::{
    error::Error,
    ledger::{Reading, SentBefore},
    model::{RequestId, state::State},
    pipeline::intake::IntakeProgress,
};
use std::{
    collections::{BTreeMap, BTreeSet},
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

/// The most pages that are read at once. Where few requests are wanted of many, replies are heard in between.
const PAGES_MAX: usize = 64;
/// The most skipped requests of a check that are read at once.
const SKIPPED_PAGE: usize = 64;

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

/// Requests that were read from the ledger.
#[derive(Default)]
pub struct Page {
    /// Requests that were never sent.
    pub new: Vec<Candidate>,
    /// Requests that an earlier run sent.
    pub again: Vec<Candidate>,
    /// Nothing is left to read, and nothing more will come.
    pub is_dry: bool,
    /// A kind of request that was sent before, and that may be served now, was not read to its end.
    pub has_sent_before: bool,
}

/// Which requests of the ledger are wanted, and what is known about the rest.
#[derive(Default)]
pub struct Supply {
    /// Serve nothing else before one of the requests in doubt is answered.
    pub doubts_first: bool,
    /// Checks that are not sent any more in this run.
    left_out: BTreeSet<String>,
    /// Checks at their own limit, of which enough requests wait in memory. No more are read for now.
    held: BTreeSet<String>,
    is_dry: bool,
    has_sent_before: bool,
}

impl Supply {
    /// The requests of a run. With `doubts_first`, those in doubt alone, until one of them is answered.
    pub fn new(doubts_first: bool, has_sent_before: bool) -> Supply {
        Supply { doubts_first, has_sent_before, ..Supply::default() }
    }

    /// Records what is known after a page was read.
    pub fn took(&mut self, page: &Page) {
        (self.is_dry, self.has_sent_before) = (page.is_dry, page.has_sent_before);
    }

    /// Whether nothing is left to serve and nothing more will come.
    pub fn is_dry(&self) -> bool {
        self.is_dry || self.doubts_first && !self.has_sent_before
    }

    /// Stops serving the requests of a check.
    pub fn leave_out(&mut self, check: &str) {
        self.left_out.insert(check.to_owned());
    }

    /// Reads no more new requests of a check for now.
    pub fn hold(&mut self, check: &str) {
        self.held.insert(check.to_owned());
    }

    /// Reads the requests of held checks again, if `is_free`.
    pub fn release(&mut self, is_free: impl Fn(&str) -> bool) {
        self.held.retain(|check| !is_free(check));
    }

    /// The checks of which no new requests are read for now.
    pub fn held(&self) -> &BTreeSet<String> {
        &self.held
    }

    /// Returns true for a check that was left out.
    pub fn leaves_out(&self, check: &str) -> bool {
        self.left_out.contains(check)
    }
}

/// Reads the requests of a run from the ledger.
pub struct RequestQueue {
    reading: Reading,
    /// The requests that were sent before this run, without the parts that were read to their end. What this run sends
    /// is not among them: no request may be in flight twice.
    sent_before: Vec<Part>,
    /// The last new request that was read. New requests are read in ascending order.
    after_new: RequestId,
    /// New requests of held checks that were not taken: those after the first and up to the second.
    skipped: BTreeMap<String, (RequestId, RequestId)>,
    /// The last reading ended before it found a request that is served, or the end.
    is_cut: bool,
    dry: bool,
    /// Serve nothing before all rows are ingested.
    wait_for_rows: bool,
    /// Do not serve requests that are proven uncharged.
    only_doubts: bool,
}

impl RequestQueue {
    /// A queue of the requests of a run. Make it before anything is sent.
    pub fn new(reading: Reading, wait_for_rows: bool) -> Result<RequestQueue, Error> {
        let sent_before = parts(&reading, reading.last_attempt()?)?;
        Ok(RequestQueue {
            reading,
            sent_before,
            after_new: RequestId(0),
            skipped: BTreeMap::new(),
            is_cut: false,
            dry: false,
            wait_for_rows,
            only_doubts: false,
        })
    }

    /// A queue that serves only requests that may have been charged.
    pub fn of_doubts(reading: Reading) -> Result<RequestQueue, Error> {
        Ok(RequestQueue { only_doubts: true, ..RequestQueue::new(reading, false)? })
    }

    /// Whether more can be read at once.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How long ago each request of a check was sent in the last hour.
    pub fn sent_in_last_hour(&self, check: &str, now_us: i64) -> Result<Vec<Duration>, Error> {
        Ok(self.reading.sent_in_last_hour(check, now_us)?)
    }

    /// What is known at the start of a run. With `doubts_first`, requests in doubt are served alone, until one of them is
    /// answered. A queue that serves nothing else has no use for it.
    pub fn supply(&self, doubts_first: bool) -> Supply {
        let doubts_first = doubts_first && !self.only_doubts;
        Supply::new(doubts_first, self.has_sent_before(doubts_first))
    }

    /// Reads requests until `wanted` of each kind wait; `have` of each do already. `intake` must be from before this call: a
    /// split that is ingested in between is found by the next call.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn fill(
        &mut self,
        (supply, have): (&Supply, (usize, usize)),
        wanted: usize,
        intake: IntakeProgress,
        checks: &BTreeMap<String, CheckContext>,
    ) -> Result<Page, Error> {
        let mut page = Page::default();
        if intake.done || !self.wait_for_rows {
            self.read(&mut page, (supply, have), wanted, intake, checks)?;
        }
        (page.is_dry, page.has_sent_before) = (self.dry, self.has_sent_before(supply.doubts_first));
        Ok(page)
    }

    fn read(
        &mut self,
        page: &mut Page,
        (supply, (have_new, have_again)): (&Supply, (usize, usize)),
        wanted: usize,
        intake: IntakeProgress,
        checks: &BTreeMap<String, CheckContext>,
    ) -> Result<(), Error> {
        let doubts_first = supply.doubts_first;
        if !self.only_doubts && !doubts_first {
            self.read_skipped(page, supply)?;
        }
        // Whether every new request was read, or is skipped.
        let mut is_at_end = self.only_doubts || doubts_first;
        let mut pages = 0;
        while have_new + page.new.len() < wanted && !is_at_end && pages < PAGES_MAX {
            let read = self.reading.new_requests(self.after_new, wanted)?;
            let Some((last, _)) = read.last() else {
                is_at_end = true;
                break;
            };
            pages += 1;
            self.after_new = *last;
            for (request, name) in served(read, supply, checks) {
                // What was skipped comes first, so that each request is read once.
                if supply.held().contains(&name) || self.skipped.contains_key(&name) {
                    self.skipped.entry(name).or_insert((RequestId(request.0 - 1), request)).1 = request;
                } else {
                    page.new.push(Candidate::new(request, name));
                }
            }
        }
        self.is_cut = pages == PAGES_MAX && page.new.is_empty();
        let has_none = have_new + page.new.len() == 0 && is_at_end;
        let is_last = has_none && (intake.done || self.only_doubts);
        if has_none && !is_last && !doubts_first && self.has_overdue() {
            return Ok(());
        }
        page.again = self.again((supply, have_again), wanted, checks, is_last || doubts_first)?;
        self.dry = is_last && self.skipped.is_empty() && !doubts_first && !self.has_sent_before(doubts_first);
        Ok(())
    }

    /// Reads some of the skipped requests of checks that are not held any more.
    fn read_skipped(&mut self, page: &mut Page, supply: &Supply) -> Result<(), Error> {
        let mut skipped = std::mem::take(&mut self.skipped);
        skipped.retain(|name, _| !supply.leaves_out(name));
        for (name, (after, until)) in skipped.iter_mut().filter(|(name, _)| !supply.held().contains(*name)) {
            let read = self.reading.new_requests_of(name, (*after, *until), SKIPPED_PAGE)?;
            *after = if read.len() < SKIPPED_PAGE { *until } else { read.last().copied().unwrap_or(*until) };
            page.new.extend(read.into_iter().map(|request| Candidate::new(request, name.clone())));
        }
        skipped.retain(|_, (after, until)| after != until);
        self.skipped = skipped;
        Ok(())
    }

    /// Whether a kind of request that may be served now was not read to its end.
    fn has_sent_before(&self, doubts_first: bool) -> bool {
        self.sent_before.iter().any(|part| self.may_serve(&part.sent, doubts_first))
    }

    /// Whether a refused request comes before all others that were sent before. It does so only where no new request is
    /// left.
    fn has_overdue(&self) -> bool {
        self.sent_before.first().is_some_and(|part| part.sent.is_refused)
    }

    fn may_serve(&self, sent: &SentBefore, doubts_first: bool) -> bool {
        sent.state != State::Planned || !(self.only_doubts || doubts_first)
    }

    /// Reads requests that were sent before until `wanted` of them wait, also refused ones if `with_refused`.
    fn again(
        &mut self,
        (supply, have): (&Supply, usize),
        wanted: usize,
        checks: &BTreeMap<String, CheckContext>,
        with_refused: bool,
    ) -> Result<Vec<Candidate>, Error> {
        let is_next = |queue: &Self, sent: &SentBefore| {
            queue.may_serve(sent, supply.doubts_first) && (with_refused || !sent.is_refused)
        };
        let mut again = Vec::new();
        while have + again.len() < wanted
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
            again.extend(served(page, supply, checks).map(|(request, name)| Candidate::again(request, name, is_doubt)));
        }
        Ok(again)
    }
}

/// The requests of a page that are served. Requests of a check that is left out, or no longer in the campaign file, stay
/// pending.
fn served(
    page: Vec<(RequestId, String)>,
    supply: &Supply,
    checks: &BTreeMap<String, CheckContext>,
) -> impl Iterator<Item = (RequestId, String)> {
    page.into_iter().filter(|(_, name)| checks.contains_key(name) && !supply.leaves_out(name))
}
