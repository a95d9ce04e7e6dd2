//! The plan: reads and maps everything, sends nothing, and says what a run would do and cost.

use super::{
    campaign::Campaign,
    intake::{Intake, Step, TakenParts},
    notes::Notes,
};
use crate::{
    error::Error,
    ledger::{Reading, Sums},
    mapping::{AskRequest, Feed, Mapped},
    model::{Credits, FailureCode},
};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

/// What a run would do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub rows: u64,
    pub asks: u64,
    /// Distinct requests of the whole input.
    pub requests: u64,
    /// Asks that share another's request.
    pub duplicates: u64,
    pub skipped: u64,
    /// Rows and asks that fail before anything is sent, by reason.
    pub rejected: BTreeMap<FailureCode, u64>,
    /// What is to be said about values that were accepted.
    pub notes: Notes,
    /// Requests a run would still send, and what they cost at the table prices; the cost is open where a price is.
    pub to_send: u64,
    pub credits: Option<Credits>,
    /// At this rate.
    pub duration: Duration,
    /// Per check and field, in how many requests it is filled.
    pub filled: BTreeMap<(String, String), u64>,
    pub feeds: Vec<Feed>,
    /// The first requests, with values masked.
    pub shown: Vec<String>,
    /// Where a ledger exists: what it holds.
    pub known: Option<Sums>,
    /// When the first request in doubt was armed.
    pub oldest_doubt_us: Option<i64>,
}

/// Reads and maps everything. `show` requests are kept, masked. Blocks.
///
/// # Errors
/// What would stop a run before its first request.
pub fn plan(campaign: &Campaign, show: usize) -> Result<Plan, Error> {
    let reading = Reading::find(&campaign.ledger)?;
    let mut intake = Intake::open(campaign, &[])?;
    let mut plan = Plan { feeds: intake.feeds(), ..Plan::default() };
    let mut counting = Counting { seen: HashSet::new(), unsent: BTreeMap::new(), show };
    while let Some(step) = intake.step()? {
        if let Step::Split { name, parts } = step {
            plan.notes.add(&name, &parts);
            counting.count(campaign, &mut plan, reading.as_ref(), parts)?;
        }
    }
    plan.requests = counting.seen.len() as u64;
    plan.to_send = counting.unsent.values().sum();
    let cost = |(sold, count): (&String, &u64)| campaign.price(sold).map(|price| price.times(*count));
    plan.credits = counting.unsent.iter().map(cost).sum();
    plan.duration = Duration::from_secs_f64(plan.to_send as f64 * 60.0 / f64::from(campaign.service.rate.per_minute));
    if let Some(reading) = reading {
        plan.known = Some(reading.sums()?);
        plan.oldest_doubt_us = reading.oldest_doubt_us()?;
    }
    Ok(plan)
}

struct Counting {
    /// Checks and bodies of all requests, digested.
    seen: HashSet<[u8; 16]>,
    /// Requests not settled yet, by catalogue name.
    unsent: BTreeMap<String, u64>,
    show: usize,
}

impl Counting {
    fn count(
        &mut self,
        campaign: &Campaign,
        plan: &mut Plan,
        reading: Option<&Reading>,
        parts: TakenParts,
    ) -> Result<(), Error> {
        plan.rows += parts.rows.len() as u64;
        for (_, check, mapped) in parts.asks {
            plan.asks += u64::from(check.is_some());
            match mapped {
                Mapped::Skipped(_) => plan.skipped += 1,
                Mapped::Failed(failure) => *plan.rejected.entry(failure.code).or_default() += 1,
                Mapped::Ask(ask)
                    if self.seen.insert(request_digest(&campaign.uses[ask.check_index].check, &ask.body)) =>
                {
                    let one = &campaign.uses[ask.check_index];
                    let settled = reading
                        .map(|reading| reading.is_settled(&ask.key, &one.check, &ask.body))
                        .transpose()?
                        .unwrap_or(false);
                    *self.unsent.entry(one.check.clone()).or_default() += u64::from(!settled);
                    for field in ask.fields.keys() {
                        *plan.filled.entry((one.name().to_owned(), field.clone())).or_default() += 1;
                    }
                    if plan.shown.len() < self.show {
                        plan.shown.push(masked(one.name(), &ask));
                    }
                }
                Mapped::Ask(_) => plan.duplicates += 1,
            }
        }
        Ok(())
    }
}

/// Equal body, equal request: the same rule as the ledger's.
fn request_digest(sold: &str, body: &[u8]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    hasher.update(sold.as_bytes());
    hasher.update([0]);
    hasher.update(body);
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize()[..16]);
    digest
}

/// A request as it may be shown: of each text the first sign and its length, numbers and codes as they are.
fn masked(check: &str, ask: &AskRequest) -> String {
    let fields = ask.fields.iter().map(|(field, value)| match value.as_str() {
        Some(text) if text.chars().count() > 3 => {
            let first = text.chars().next().unwrap_or_default();
            format!("{field} = \"{first}…\" ({} characters)", text.chars().count())
        }
        _ => format!("{field} = {value}"),
    });
    format!("{check}: {}", fields.collect::<Vec<_>>().join(", "))
}
