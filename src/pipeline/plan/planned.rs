//! What a plan found, and what it is asked for.

use super::{money::Money, tree::Tree};
use crate::{
    error::Error,
    ledger::Sums,
    mapping::{FieldFeed, UnmappedColumns},
    model::{Stop, clock::usable_life_us},
    pipeline::{
        campaign::Campaign,
        corrections::{CorrectionCounts, Corrections},
        intake::{notes::Notes, rejections::Rejections, values::ValueCounts},
    },
};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// What a plan shows in addition to its counts.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// The number of requests to keep, masked.
    pub show: usize,
    /// The file to write the rows to that fail.
    pub failures: Option<PathBuf>,
    /// The file with the rows that would take the place of failed ones.
    pub corrections: Option<Corrections>,
}

/// What a run would do.
#[derive(Debug, Default)]
pub struct Plan {
    pub tree: Tree,
    /// Why rows and asks are rejected.
    pub reasons: Rejections,
    /// Notes about values that were accepted.
    pub notes: Notes,
    /// The values of the id, if there is one.
    pub id: Option<ValueCounts>,
    /// The values of each field that the row decides, by the index of the check and that of the field in its declaration.
    pub fields: BTreeMap<(usize, usize), ValueCounts>,
    pub feeds: Vec<FieldFeed>,
    pub unmapped_columns: Vec<UnmappedColumns>,
    pub money: Money,
    /// The time to send everything.
    pub duration: Duration,
    /// The check and its limit in an hour that decide the time, if the rate does not.
    pub slowest: Option<(String, u32)>,
    /// The first requests, with values masked.
    pub shown: Vec<String>,
    /// The sums of the ledger, if there is one.
    pub known: Option<Sums>,
    /// When the oldest request in doubt was armed, in microseconds since 1970.
    pub oldest_doubt_us: Option<i64>,
    /// The requests in doubt by the API key under which they were sent.
    pub doubts_by_api_key: BTreeMap<String, u64>,
    /// The guard on errors would stop a run after this many rows, before later rows are read.
    pub early_stop: Option<(u64, Stop)>,
    /// The number of rows in the file of failures, or why it could not be written.
    pub failures: Option<Result<u64, Error>>,
    /// What a file of corrections would change.
    pub corrections: Option<CorrectionCounts>,
}

impl Plan {
    /// How many requests in doubt were sent under another API key than the one with this fingerprint.
    pub fn withheld(&self, api_key: &str) -> u64 {
        let all: u64 = self.doubts_by_api_key.values().sum();
        all - self.doubts_by_api_key.get(api_key).copied().unwrap_or_default()
    }

    /// Until when the keys of all requests in doubt are used for sending again, in microseconds since 1970.
    pub fn keys_until_us(&self, campaign: &Campaign) -> Option<i64> {
        Some(self.oldest_doubt_us?.saturating_add(usable_life_us(campaign.key_life_hours())))
    }

    /// Whether a run has nothing left to send or to wait for, also of rows that were read with another mapping.
    pub fn is_settled(&self) -> bool {
        self.tree.is_settled() && self.money.requests() == 0 && self.corrected_asks() == 0
    }

    /// The asks that a file of corrections would give another row. Some are sent without a new request, or fail again.
    pub fn corrected_asks(&self) -> u64 {
        self.corrections.as_ref().map_or(0, |counts| counts.mapped + counts.failing)
    }
}
