//! What is sent next: new requests in input order, and beside them those that were sent before: in doubt, pending, or
//! refused without a charge. Reads the ledger page by page, so that memory does not grow with what waits.

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
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// What was sent before, in the order it is served. What was refused for credits or rate comes behind everything else: one
/// refusal that the service keeps under a key could pause all the others; one in doubt may not change its key, and comes last.
const SENT_BEFORE: [SentBefore; 6] = [
    SentBefore { state: State::InDoubt, is_refused: false },
    SentBefore { state: State::Repeating, is_refused: false },
    SentBefore { state: State::Planned, is_refused: false },
    SentBefore { state: State::Planned, is_refused: true },
    SentBefore { state: State::InDoubt, is_refused: true },
    SentBefore { state: State::Repeating, is_refused: true },
];

/// Reads the ledger for the send loop.
pub struct RequestQueue {
    reading: Reading,
    /// What was sent before, each state read once, what was not tried for longest first.
    stage: usize,
    /// The last attempt of the last request that was read so.
    after_sent: u64,
    /// New requests, read upwards.
    after_new: RequestId,
    dry: bool,
    /// Requests of this run that are not settled. They change their state while it goes on, and no request may be on its way
    /// twice.
    in_hand: HashSet<RequestId>,
    /// Nothing is given before all rows are taken.
    wait_for_rows: bool,
    /// What is proven uncharged stays where it is.
    only_doubts: bool,
    /// Checks of which nothing more is sent in this run.
    left_out: BTreeSet<String>,
}

impl RequestQueue {
    pub fn new(reading: Reading, wait_for_rows: bool) -> RequestQueue {
        RequestQueue {
            reading,
            stage: usize::from(planted(Bug::DoubtNeverSent)),
            after_sent: 0,
            after_new: RequestId(0),
            dry: false,
            in_hand: HashSet::new(),
            wait_for_rows,
            only_doubts: false,
            left_out: BTreeSet::new(),
        }
    }

    /// Gives what may have been charged, and nothing else.
    pub fn of_doubts(reading: Reading) -> RequestQueue {
        RequestQueue { only_doubts: true, ..RequestQueue::new(reading, false) }
    }

    /// Whether nothing is left and nothing more will come.
    pub fn is_dry(&self) -> bool {
        self.dry
    }

    /// Gives nothing more of a check.
    pub fn leave_out(&mut self, check: &str) {
        self.left_out.insert(check.to_owned());
    }

    /// Whether nothing more of this check is sent in this run.
    pub fn leaves_out(&self, check: &str) -> bool {
        self.left_out.contains(check)
    }

    /// A request is answered or failed: it is in no page again.
    pub fn settled(&mut self, request: RequestId) {
        self.in_hand.remove(&request);
    }

    /// Fills `new` and `again` up to `wanted`. `intake` is what was known before the ledger is read: a split that is taken in
    /// between is seen at the next call.
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
        self.fill_again(again, wanted, checks, |sent| !sent.is_refused)?;
        while new.len() < wanted && !self.only_doubts {
            let page = self.reading.new_requests(self.after_new, wanted)?;
            let Some((last, _)) = page.last() else { break };
            self.after_new = *last;
            new.extend(self.take(page, checks).map(|(request, name)| Candidate::new(request, name)));
        }
        if new.is_empty() && (intake.done || self.only_doubts) {
            self.fill_again(again, wanted, checks, |_| true)?;
            self.dry = self.stage >= SENT_BEFORE.len();
        }
        Ok(())
    }

    fn fill_again(
        &mut self,
        again: &mut VecDeque<Candidate>,
        wanted: usize,
        checks: &BTreeMap<String, CheckContext>,
        serves: impl Fn(&SentBefore) -> bool,
    ) -> Result<(), Error> {
        while let Some(sent) = SENT_BEFORE.get(self.stage).filter(|sent| serves(sent) && again.len() < wanted) {
            let is_doubt = sent.state != State::Planned;
            if self.only_doubts && !is_doubt {
                self.stage += 1;
                continue;
            }
            let page = self.reading.sent_before(*sent, self.after_sent, wanted)?;
            self.after_sent = page.last().map_or(0, |(last, ..)| *last);
            self.stage += usize::from(page.is_empty());
            let page = page.into_iter().map(|(_, request, name)| (request, name)).collect();
            again.extend(self.take(page, checks).map(|(request, name)| Candidate::again(request, name, is_doubt)));
        }
        Ok(())
    }

    /// Those of a page that are not in hand already. A check that is left out, or is no longer in the campaign file, keeps its
    /// requests pending.
    fn take<'a>(
        &'a mut self,
        page: Vec<(RequestId, String)>,
        check: &'a BTreeMap<String, CheckContext>,
    ) -> impl Iterator<Item = (RequestId, String)> + 'a {
        let left_out = &self.left_out;
        let served = page.into_iter().filter(|(_, name)| check.contains_key(name) && !left_out.contains(name));
        served.filter(|(request, _)| self.in_hand.insert(*request))
    }
}
