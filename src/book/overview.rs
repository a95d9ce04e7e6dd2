//! What a charge book shows to people: its accounts, and the partitions of their campaigns.

use super::{
    AccountName, BookError,
    session::{Address, answered},
    worker::{halt_of, opened},
};
use crate::model::{
    Credits, Halt,
    shared_partition::{CampaignRow, PartitionOutputs, PartitionRow, PartitionState},
};
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::{Client, Row};

/// An account of the book.
#[derive(Debug, Clone)]
pub struct AccountRow {
    pub account: AccountName,
    pub per_minute: i64,
    pub per_minute_max: i64,
    /// The end of a pause that the service asked for, in microseconds since 1970.
    pub paused_until_us: Option<i64>,
    pub halt: Option<Halt>,
    /// Its campaigns, those that were used last first.
    pub campaigns: Vec<CampaignRow>,
}

/// The accounts of the book.
///
/// # Errors
/// The book is absent or does not answer.
pub async fn accounts(address: &Address) -> Result<Vec<AccountRow>, BookError> {
    let client = opened(address).await?;
    let sql = "SELECT origin, name, per_minute, per_minute_max,
               (extract(epoch FROM paused_until) * 1000000)::int8, halt, id, paused_until > clock_timestamp()
               FROM rescreen.account ORDER BY origin, name";
    let mut accounts = Vec::new();
    for row in answered(client.query(sql, &[])).await? {
        let halt: Option<String> = row.try_get(5)?;
        let is_paused = row.try_get::<_, Option<bool>>(7)?.unwrap_or_default();
        accounts.push(AccountRow {
            account: AccountName { origin: row.try_get(0)?, name: row.try_get(1)? },
            per_minute: row.try_get(2)?,
            per_minute_max: row.try_get(3)?,
            paused_until_us: row.try_get::<_, Option<i64>>(4)?.filter(|_| is_paused),
            halt: halt.as_deref().map(halt_of),
            campaigns: campaigns(&client, row.try_get(6)?).await?,
        });
    }
    Ok(accounts)
}

async fn campaigns(client: &Client, account: i64) -> Result<Vec<CampaignRow>, BookError> {
    let sql = "SELECT campaign, mode, partitions FROM rescreen.campaign WHERE account = $1";
    let mut expected: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for row in answered(client.query(sql, &[&account])).await? {
        let names: Vec<String> = row.try_get(2)?;
        expected.insert((row.try_get(0)?, row.try_get(1)?), names.into_iter().collect());
    }
    let sql = "SELECT campaign, mode, name, worker, (extract(epoch FROM began_at) * 1000000)::int8,
               (extract(epoch FROM seen_at) * 1000000)::int8, left_at IS NULL,
               seen_at < clock_timestamp() - interval '60 seconds', published_at IS NOT NULL, outputs::text, charged, held
               FROM rescreen.partition WHERE account = $1 ORDER BY left_at IS NULL DESC, seen_at DESC, id";
    let mut campaigns = Vec::new();
    for row in answered(client.query(sql, &[&account])).await? {
        let key: (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let partition = partition(&row, expected.get(&key))?;
        campaign_in(&mut campaigns, key).partitions.push(partition);
    }
    for (key, names) in expected {
        let campaign = campaign_in(&mut campaigns, key);
        campaign.expected = Some(names.len() as u64);
        let begun: BTreeSet<&str> = campaign.partitions.iter().map(|partition| partition.name.as_str()).collect();
        let absent: Vec<PartitionRow> =
            names.iter().filter(|name| !begun.contains(name.as_str())).map(|name| not_begun(name)).collect();
        campaign.partitions.extend(absent);
    }
    for campaign in &mut campaigns {
        // Numbers by their value: 2 before 10.
        campaign.partitions.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    }
    Ok(campaigns)
}

/// The campaign with this name and mode, which is added if it is new.
fn campaign_in(campaigns: &mut Vec<CampaignRow>, (campaign, mode): (String, String)) -> &mut CampaignRow {
    let found = campaigns.iter().position(|known| (&known.campaign, &known.mode) == (&campaign, &mode));
    let at = found.unwrap_or_else(|| {
        campaigns.push(CampaignRow { campaign, mode, expected: None, partitions: Vec::new() });
        campaigns.len() - 1
    });
    &mut campaigns[at]
}

fn not_begun(name: &str) -> PartitionRow {
    PartitionRow {
        name: name.to_owned(),
        state: PartitionState::NotBegun,
        is_expected: true,
        worker: None,
        began_at_us: None,
        seen_at_us: None,
        outputs: None,
        charged: Credits::ZERO,
        held: Credits::ZERO,
    }
}

fn partition(row: &Row, expected: Option<&BTreeSet<String>>) -> Result<PartitionRow, BookError> {
    let name: String = row.try_get(2)?;
    let (is_here, is_silent): (bool, bool) = (row.try_get(6)?, row.try_get(7)?);
    let is_published: bool = row.try_get(8)?;
    // What another release has written may not be readable.
    let outputs: Option<String> = row.try_get(9)?;
    let outputs: Option<PartitionOutputs> = outputs.and_then(|text| serde_json::from_str(&text).ok());
    let is_complete = is_published && outputs.as_ref().is_some_and(|outputs| outputs.is_complete);
    let credits = |at: usize| -> Result<Credits, BookError> {
        // The table allows no negative amount.
        Ok(Credits(row.try_get::<_, i64>(at)?.unsigned_abs()))
    };
    Ok(PartitionRow {
        state: match (is_here, is_silent, is_complete) {
            (true, false, _) => PartitionState::Running,
            (true, true, _) => PartitionState::Silent,
            (false, _, true) => PartitionState::Complete,
            (false, _, false) => PartitionState::NotComplete,
        },
        is_expected: expected.is_none_or(|names| names.contains(&name)),
        worker: Some(row.try_get(3)?),
        began_at_us: Some(row.try_get(4)?),
        seen_at_us: Some(row.try_get(5)?),
        outputs,
        charged: credits(10)?,
        held: credits(11)?,
        name,
    })
}
