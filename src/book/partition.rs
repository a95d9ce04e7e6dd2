//! The partitions of campaigns. One worker runs a partition at a time. A worker that another one took over from finds that its token
//! is not there any more, and ends.

use super::{
    BookError,
    worker::{Book, Line, Partition, account_is_gone, text_of},
};
use crate::model::{nearest::about_nearest, shared_account::PartitionName, shared_partition::PartitionOutputs};
use tokio_postgres::Row;
use uuid::Uuid;

impl Book {
    /// Enters a partition. A partition whose worker was killed is free after a minute, or at once for the same ledger.
    ///
    /// # Errors
    /// Another worker runs the partition, its keys are made otherwise, or the book was away for a minute.
    pub async fn enter_partition(&mut self, name: PartitionName) -> Result<(), BookError> {
        let PartitionName { campaign, mode, partition, key_secret, ledger } = &name;
        let mode = mode.as_str();
        let sql = "SELECT p.key_secret FROM rescreen.partition p WHERE account = $1 AND campaign = $2 AND mode = $3
                   AND key_secret IS DISTINCT FROM $4 LIMIT 1";
        if !self.asked(Line::Credits, sql, &[&self.account, campaign, &mode, key_secret]).await?.is_empty() {
            return Err(BookError::OtherKeys { campaign: campaign.clone() });
        }
        // One that was charged before may settle what it has.
        let sql = "SELECT partitions FROM rescreen.campaign c
                   WHERE account = $1 AND campaign = $2 AND mode = $3 AND $4 <> ALL (partitions)
                   AND NOT EXISTS (SELECT FROM rescreen.partition p WHERE p.account = $1 AND p.campaign = $2 AND p.mode = $3
                                   AND p.name = $4 AND p.armed > 0)";
        if let Some(row) = self.asked(Line::Credits, sql, &[&self.account, campaign, &mode, partition]).await?.first() {
            let names: Vec<String> = row.try_get(0)?;
            return Err(not_expected(&name, &names));
        }
        let sql =
            "INSERT INTO rescreen.partition (account, campaign, mode, name, key_secret, ledger, worker, token, left_at)
                   VALUES ($1, $2, $3, $4, $5, $6, '', '', clock_timestamp()) ON CONFLICT DO NOTHING";
        self.asked(Line::Credits, sql, &[&self.account, campaign, &mode, partition, key_secret, ledger]).await?;
        let token = Uuid::new_v4().to_string();
        let sql = "UPDATE rescreen.partition SET turn = turn + 1, token = $5, worker = $6, ledger = $7, left_at = NULL,
                   began_at = clock_timestamp(), seen_at = clock_timestamp()
                   WHERE account = $1 AND campaign = $2 AND mode = $3 AND name = $4 AND (ledger = $7 OR token = $5
                   OR left_at IS NOT NULL OR seen_at < clock_timestamp() - interval '60 seconds') RETURNING id";
        let worker = &self.worker.name;
        let values =
            [&self.account as _, campaign as _, &mode as _, partition as _, &token as _, worker as _, ledger as _];
        let taken = self.asked(Line::Credits, sql, &values).await?;
        let Some(row) = taken.first() else {
            let sql = "SELECT worker FROM rescreen.partition WHERE account = $1 AND campaign = $2 AND mode = $3 AND name = $4";
            let found = self.asked(Line::Credits, sql, &[&self.account, campaign, &mode, partition]).await?;
            let worker = found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
            return Err(BookError::Running { partition: shown(&name.campaign, &name.partition), worker });
        };
        self.partition = Some(Partition { id: row.try_get(0)?, token, name });
        Ok(())
    }

    /// The partition that this worker runs.
    ///
    /// # Errors
    /// It runs none.
    pub(super) fn own_partition(&self) -> Result<&Partition, BookError> {
        self.partition
            .as_ref()
            .ok_or_else(|| BookError::Refused("this command runs no partition of a campaign".to_owned()))
    }

    /// Tells that this worker is here.
    ///
    /// # Errors
    /// The book was away for a minute, or another worker has taken the partition over.
    pub async fn here(&self) -> Result<(), BookError> {
        let Partition { id, token, .. } = self.own_partition()?;
        let sql = "UPDATE rescreen.partition SET seen_at = clock_timestamp() WHERE id = $1 AND token = $2 RETURNING id";
        if self.asked(Line::Credits, sql, &[id, token]).await?.is_empty() {
            return Err(self.overtaken());
        }
        Ok(())
    }

    /// Tells that this worker has left its partition.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn leave_partition(&self) -> Result<(), BookError> {
        let Partition { id, token, .. } = self.own_partition()?;
        let sql = "UPDATE rescreen.partition SET left_at = clock_timestamp() WHERE id = $1 AND token = $2";
        self.asked(Line::Credits, sql, &[id, token]).await?;
        Ok(())
    }

    /// Tells what the partition has published. If another worker has taken it over, that one will.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn published(&self, outputs: &PartitionOutputs) -> Result<(), BookError> {
        let Partition { id, token, .. } = self.own_partition()?;
        let sql = "UPDATE rescreen.partition SET outputs = $3::text::jsonb, published_at = clock_timestamp()
                   WHERE id = $1 AND token = $2";
        self.asked(Line::Credits, sql, &[id, token, &text_of(outputs)?]).await?;
        Ok(())
    }

    /// Another worker has the partition. From now on, this one gets no slot either.
    pub(super) fn overtaken(&self) -> BookError {
        self.is_overtaken.store(true, std::sync::atomic::Ordering::Relaxed);
        self.overtaken_error()
    }

    pub(super) fn overtaken_error(&self) -> BookError {
        BookError::Overtaken {
            partition: self
                .partition
                .as_ref()
                .map(|partition| shown(&partition.name.campaign, &partition.name.partition))
                .unwrap_or_default(),
        }
    }

    /// The turn of the partition, from a row that says whether it is still this worker's.
    pub(super) fn turn(&self, row: &Row, at: usize) -> Result<i64, BookError> {
        let token: Option<String> = row.try_get(at + 1)?;
        let turn: Option<i64> = row.try_get(at)?;
        match (turn, self.own_partition()?.token == token.unwrap_or_default()) {
            (Some(turn), true) => Ok(turn),
            (Some(_), false) => Err(self.overtaken()),
            (None, _) => Err(account_is_gone()),
        }
    }
}

/// How many names of partitions a message shows.
const NAMES_SHOWN: usize = 5;

fn not_expected(name: &PartitionName, expected: &[String]) -> BookError {
    let all = || expected.iter().map(String::as_str);
    let mut names = about_nearest(&name.partition, all());
    let others: Vec<&str> = all().filter(|other| !names.contains(other)).take(NAMES_SHOWN - names.len()).collect();
    names.extend(others);
    let more = if names.len() < expected.len() { ", …" } else { "" };
    BookError::NotExpected {
        partition: shown(&name.campaign, &name.partition),
        count: expected.len(),
        names: format!("{}{more}", names.join(", ")),
    }
}

/// A partition, for a message.
pub(super) fn shown(campaign: &str, partition: &str) -> String {
    match partition {
        "" => format!("the campaign `{campaign}`"),
        partition => format!("partition `{partition}` of the campaign `{campaign}`"),
    }
}
