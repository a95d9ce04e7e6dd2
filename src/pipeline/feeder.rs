//! What is sent next: requests in doubt first, then those a 202 left pending, then the planned ones in input order. Reads
//! the ledger page by page, so that memory does not grow with what waits.

use super::{
    flight::{Sold, Try},
    intake::IntakeProgress,
};
use crate::{
    error::Error,
    ledger::{LedgerError, Reading},
    model::{RequestId, state::State},
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};

/// States in the order they are served. Each is read once, upwards: a request that returns to a state during the run is
/// held in memory by the send loop and lies below the cursor.
const ORDER: [State; 3] = [State::InDoubt, State::Repeating, State::Planned];

/// Reads the ledger for the send loop.
pub struct Feeder {
    reading: Reading,
    stage: usize,
    after: RequestId,
    dry: bool,
    /// Nothing is given before all rows are taken.
    wait_for_rows: bool,
}

impl Feeder {
    pub fn new(reading: Reading, wait_for_rows: bool) -> Feeder {
        Feeder { reading, stage: 0, after: RequestId(0), dry: false, wait_for_rows }
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
            let known = page.into_iter().filter(|(_, name)| sold.contains_key(name));
            ready.extend(known.map(|(request, name)| Try::new(request, name)));
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
