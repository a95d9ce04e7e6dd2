//! What is sent next: requests in doubt first, then those a 202 left pending, then the planned ones in input order. Reads
//! the ledger page by page, so that memory does not grow with what waits.

use super::{
    flight::{Sold, Try},
    intake::IntakeProgress,
};
use crate::{
    error::Error,
    ledger::{LedgerError, Reading},
    model::{
        RequestId,
        planted::{Bug, planted},
        state::State,
    },
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet, VecDeque};

/// States in the order they are served, each read once, upwards. A request that changes its state during the run may come
/// into a later page: what was in doubt at first is remembered, so that no request is ever on its way twice.
const ORDER: [State; 3] = [State::InDoubt, State::Repeating, State::Planned];

/// Reads the ledger for the send loop.
pub struct Feeder {
    reading: Reading,
    stage: usize,
    after: RequestId,
    dry: bool,
    /// Requests given out that were in doubt.
    given: HashSet<RequestId>,
    /// Nothing is given before all rows are taken.
    wait_for_rows: bool,
}

impl Feeder {
    pub fn new(reading: Reading, wait_for_rows: bool) -> Feeder {
        let stage = usize::from(planted(Bug::DoubtNeverSent));
        Feeder { reading, stage, after: RequestId(0), dry: false, given: HashSet::new(), wait_for_rows }
    }

    /// Whether nothing is left and nothing more will come.
    pub fn is_dry(&self) -> bool {
        self.dry
    }

    /// Fills `ready` up to `wanted`. `intake` is what was known before the ledger is read: a split that is taken in between
    /// is seen at the next call.
    pub fn fill(
        &mut self,
        ready: &mut VecDeque<Try>,
        wanted: usize,
        intake: IntakeProgress,
        sold: &BTreeMap<String, Sold>,
    ) -> Result<(), Error> {
        if self.wait_for_rows && !intake.done {
            return Ok(());
        }
        self.dry = false;
        while ready.len() < wanted {
            let page = self.reading.in_state(ORDER[self.stage], self.after, wanted)?;
            let Some((last, _)) = page.last() else {
                if self.stage + 1 < ORDER.len() {
                    self.stage += 1;
                    self.after = RequestId(0);
                    continue;
                }
                self.dry = intake.done;
                return Ok(());
            };
            self.after = *last;
            // A check that is no longer in the campaign file keeps its requests pending.
            let in_doubt = ORDER[self.stage] != State::Planned;
            for (request, name) in page.into_iter().filter(|(_, name)| sold.contains_key(name)) {
                if self.given.contains(&request) {
                    continue;
                }
                if in_doubt {
                    self.given.insert(request);
                }
                ready.push_back(Try::new(request, name, in_doubt));
            }
        }
        Ok(())
    }

    /// The mapped fields of a request and its generation.
    pub fn fields(&self, request: RequestId) -> Result<(Map<String, Value>, u32), Error> {
        let (fields, generation) = self.reading.fields(request)?;
        let damaged = |error| LedgerError::Damaged(format!("the fields of a request: {error}"));
        Ok((serde_json::from_str(&fields).map_err(damaged)?, generation))
    }
}
