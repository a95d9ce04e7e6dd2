//! What the charge book knows of requests that a run is about to send. Where a ledger was lost, its answers are taken from
//! the book before anything is sent, which costs no slot of the rate.

use super::{
    context::{Candidate, RunContext},
    driver::Driver,
    engine::Input,
    queue::Page,
};
use crate::{
    error::Error,
    model::{RequestId, Stop, state::State},
    pipeline::intake::IntakeProgress,
};
use std::collections::{BTreeSet, HashMap};

/// The minimum number of requests read from the ledger at once. While another connection writes, each read starts with
/// an empty page cache.
const READY_MIN: usize = 512;

/// The most pages that are read at once of which the charge book knows every request.
const KNOWN_PAGES_MAX: usize = 16;

impl Driver {
    /// Reads the next requests from the ledger, if any are wanted.
    pub(super) async fn read_requests(&mut self, intake: IntakeProgress) -> Result<Option<Page>, Error> {
        let Some(wanted) = self.engine.wants() else { return Ok(None) };
        for _ in 0..KNOWN_PAGES_MAX {
            let have = (self.engine.supply(), self.engine.waiting());
            let mut page = match self.for_list.is_full() {
                true => Page { has_sent_before: true, ..Page::default() },
                false => self.queue.fill(have, wanted.max(READY_MIN), intake, &self.context.checks)?,
            };
            let mut is_any_known = match take_known(&self.context, &mut page, &mut self.served).await? {
                Ok(is_any_known) => is_any_known,
                Err(stop) => {
                    self.tell(Input::Closed(stop)).await?;
                    return Ok(None);
                }
            };
            if let Some(earlier) = &self.context.earlier {
                let engine = &self.engine;
                let is_left_out = |check: &str| engine.supply().leaves_out(check);
                let is_held = |request: RequestId| engine.holds(request);
                let from_to = (&**earlier, &*self.context.ledger);
                is_any_known |= self.for_list.take(from_to, &mut page, is_left_out, is_held).await?;
            }
            let is_empty = page.new.is_empty() && page.again.is_empty();
            if !is_any_known || page.is_dry || !is_empty || !self.for_list.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }
}

/// Takes what the book knows of the requests of a page into the ledger, and those that need no sending off the page.
/// Returns whether it took any. Those that were taken and have no answer are added to `served`: the queue may list them again.
///
/// # Errors
/// The ledger cannot be written. It breaks off if the book cannot be reached.
async fn take_known(
    context: &RunContext,
    page: &mut Page,
    served: &mut BTreeSet<RequestId>,
) -> Result<Result<bool, Stop>, Error> {
    page.again.retain(|candidate| !served.contains(&candidate.request));
    let requests: Vec<RequestId> = page.new.iter().chain(&page.again).map(|candidate| candidate.request).collect();
    let known = match context.purse.known(&context.ledger, &requests, context.clock.now_us()).await? {
        Ok(known) => known,
        Err(stop) => return Ok(Err(stop)),
    };
    let known: HashMap<RequestId, State> = known.into_iter().collect();
    let is_known = |candidate: &mut Candidate| known.contains_key(&candidate.request);
    let taken = page.new.extract_if(.., is_known).chain(page.again.extract_if(.., is_known)).collect::<Vec<_>>();
    let open = taken.into_iter().filter_map(|Candidate { request, check, .. }| match known.get(&request)? {
        State::Planned => Some(Candidate::again(request, check, false)),
        State::Armed | State::InDoubt | State::Repeating => Some(Candidate::again(request, check, true)),
        State::Submitted | State::Answered | State::Failed | State::Quarantined => None,
    });
    let open: Vec<Candidate> = open.collect();
    served.extend(open.iter().map(|candidate| candidate.request));
    page.again.extend(open);
    Ok(Ok(!known.is_empty()))
}
