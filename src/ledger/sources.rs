//! The sources of a campaign: their names, their layouts, and how far each was read.

use super::{Ledger, LedgerError, Reading, amount::Amounts};
use crate::model::Checkpoint;
use rusqlite::{OptionalExtension, Row, params};

/// A source as the ledger records it.
#[derive(Debug, Clone)]
pub struct SourceView {
    pub id: i64,
    pub name: String,
    /// JSON: format, delimiter, header.
    pub layout: Option<String>,
    pub complete: bool,
    pub ends: Vec<Checkpoint>,
}

impl Ledger {
    /// Records the sources of the campaign once, in their order. Returns their ids in order. A source is identified by
    /// its position in this order, not by its name: a moved file is the same source if its content is the same.
    pub async fn sources(&self, names: Vec<String>) -> Result<Vec<i64>, LedgerError> {
        self.write(move |store| {
            let known: Vec<i64> = store
                .conn
                .prepare("SELECT id FROM source ORDER BY id")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            if !known.is_empty() {
                // A source from which nothing was read may still be replaced.
                for (id, name) in known.iter().zip(&names) {
                    let sql = "UPDATE source SET name = ?2 WHERE id = ?1
                               AND NOT EXISTS (SELECT 1 FROM split WHERE split.source = source.id)";
                    store.conn.execute(sql, params![id, name])?;
                }
                return Ok(known);
            }
            let insert = |name: &String| {
                store.conn.execute("INSERT INTO source (name) VALUES (?1)", [name])?;
                Ok(store.conn.last_insert_rowid())
            };
            names.iter().map(insert).collect()
        })
        .await
    }

    /// Records the layout of a source (format, delimiter, header). It is fixed once the first split is ingested.
    pub fn source_layout(&self, source: i64, layout: String) -> Result<(), LedgerError> {
        self.write_blocking(move |store| {
            let sql = "UPDATE source SET layout = ?2 WHERE id = ?1
                       AND NOT EXISTS (SELECT 1 FROM split WHERE split.source = source.id)";
            store.conn.execute(sql, params![source, layout])?;
            Ok(())
        })
    }

    /// Records whether a source was read to its end.
    pub fn source_complete(&self, source: i64, complete: bool) -> Result<(), LedgerError> {
        self.write_blocking(move |store| {
            store.conn.execute("UPDATE source SET complete = ?2 WHERE id = ?1", params![source, complete])?;
            Ok(())
        })
    }
}

impl Reading {
    /// The sources in order, each with the checkpoints of its splits.
    pub fn sources(&self) -> Result<Vec<SourceView>, LedgerError> {
        let mut sources = self.sources_alone()?;
        for source in &mut sources {
            let sql = "SELECT end_offset, end_line, next_row_number, sha256 FROM split WHERE source = ?1 ORDER BY id";
            let mut select = self.conn.prepare_cached(sql)?;
            source.ends = select.query_map([source.id], checkpoint)?.collect::<Result<_, _>>()?;
            if source.ends.iter().any(|end| end.next_row_number == 0) {
                return Err(LedgerError::Damaged("a split ends before the first row".to_owned()));
            }
        }
        Ok(sources)
    }

    fn sources_alone(&self) -> Result<Vec<SourceView>, LedgerError> {
        let mut select = self.conn.prepare("SELECT id, name, layout, complete FROM source ORDER BY id")?;
        let found = select.query_map([], |row| {
            let (id, name, layout, complete) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(SourceView { id, name, layout, complete, ends: Vec::new() })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The sources in order, each with the checkpoint of its last split. `ends` is empty.
    pub fn source_ends(&self) -> Result<Vec<(SourceView, Option<Checkpoint>)>, LedgerError> {
        let mut ended = Vec::new();
        for source in self.sources_alone()? {
            let sql = "SELECT end_offset, end_line, next_row_number, sha256 FROM split
                       WHERE source = ?1 ORDER BY next_row_number DESC LIMIT 1";
            let end = self.conn.prepare_cached(sql)?.query_row([source.id], checkpoint).optional()?;
            ended.push((source, end));
        }
        if ended.iter().flat_map(|(_, end)| end).any(|end| end.next_row_number == 0) {
            return Err(LedgerError::Damaged("a split ends before the first row".to_owned()));
        }
        Ok(ended)
    }
}

fn checkpoint(row: &Row<'_>) -> Result<Checkpoint, rusqlite::Error> {
    let number = |at| row.amount(at);
    Ok(Checkpoint { end_offset: number(0)?, end_line: number(1)?, next_row_number: number(2)?, sha256: row.get(3)? })
}
