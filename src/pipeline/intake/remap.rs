//! Applies a changed mapping to the rows that failed to map. They are remapped from the ledger, which costs nothing
//! until they are sent. Rows that were mapped are not changed, because their answers belong to the old mapping.

use super::{body_receiver::BodyReceiver, carried_kinds::CarriedKinds, ingest::fate, layout_of};
use crate::{
    error::Error,
    ledger::{AskFate, AskView, Fate, Ledger},
    mapping::{Bound, Mapping},
    model::{Failure, Position, Row, Stage, row::Values},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The number of asks given to the ledger at once.
const CHUNK: usize = 1_000;

/// Remaps all asks that failed to map. Blocks.
///
/// # Errors
/// The mapping no longer matches the columns, or the ledger fails.
pub fn remap(
    ledger: &Ledger,
    (mapping, carried): (&Mapping, &CarriedKinds),
    uses: &[(i64, String)],
    receiver: &BodyReceiver,
) -> Result<(), Error> {
    if ledger.sums().unmapped == 0 {
        return Ok(());
    }
    let reading = ledger.reading()?;
    let mut bound: BTreeMap<String, Bound> = BTreeMap::new();
    for source in reading.sources()? {
        if let Some(layout) = &source.layout {
            bound.insert(source.name, mapping.bind_nested(&layout_of(layout)?.columns)?);
        }
    }
    let mut changed: Vec<(i64, Fate)> = Vec::new();
    reading.failed_asks(|ask| -> Result<(), Error> {
        let AskFate::Failure(failure) = &ask.fate else { return Ok(()) };
        if let Some(bound) = bound.get(ask.source)
            && let Some(fate) = new_fate((bound, carried), uses, &ask, failure, receiver)?
        {
            changed.push((ask.id, fate));
        }
        if changed.len() >= CHUNK {
            ledger.remap(std::mem::take(&mut changed))?;
        }
        Ok(())
    })?;
    Ok(ledger.remap(changed)?)
}

/// The fate of an ask under the current mapping, if it has changed.
fn new_fate(
    (bound, carried): (&Bound, &CarriedKinds),
    uses: &[(i64, String)],
    ask: &AskView<'_>,
    failure: &Failure,
    receiver: &BodyReceiver,
) -> Result<Option<Fate>, Error> {
    let (Stage::Map, Value::Object(values)) = (failure.stage, &ask.row.input) else { return Ok(None) };
    let Some(at) = uses.iter().position(|(id, _)| Some(*id) == ask.check_use) else { return Ok(None) };
    let position = Position {
        source: ask.source.into(),
        row_number: ask.row.row_number,
        line: ask.row.line,
        byte_offset: ask.row.byte_offset,
    };
    let row = Row { position, values: Values::Nested(values.clone()) };
    let mapped = carried.map(bound, &row)?.into_iter().nth(at);
    let fate = mapped.map(|mapped| fate(&uses[at].1, mapped, receiver));
    Ok(fate.filter(|fate| !matches!(fate, Fate::Failure(again) if again == failure)))
}
