//! A statement of the service compared with the ledgers of campaigns: what only one of them has, and what has another amount.
//! About 120 bytes of memory for each request, and a little more for each line of the statement that no ledger knows.
//!
//! | file | noun |
//! |---|---|
//! | `statement` | the statement, read line by line |

mod statement;

pub use statement::Columns;

use super::status::open_ledger;
use crate::{
    error::Error,
    ledger::{LedgerCharge, Reading},
};
use sha2::{Digest, Sha256};
use statement::StatementLine;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// What to compare.
pub struct ReconcileOrder<'a> {
    /// Output folders or ledger files. All campaigns that the statement is about.
    pub places: &'a [PathBuf],
    pub statement: &'a Path,
    pub columns: Columns<'a>,
    /// Whether charges are positive or negative numbers; `None` if the statement shows it.
    pub charges: Option<ChargeSign>,
}

/// The sign of a charge in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeSign {
    Positive,
    Negative,
}

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// Both have a charge, or the statement a charge and the ledger none, and the amounts differ.
    OtherAmount,
    /// The ledger does not know whether it was charged, and the statement has a charge.
    InDoubt,
    OnlyLedger,
    OnlyStatement,
}

impl DifferenceKind {
    pub const ALL: [DifferenceKind; 4] = [
        DifferenceKind::OtherAmount,
        DifferenceKind::InDoubt,
        DifferenceKind::OnlyLedger,
        DifferenceKind::OnlyStatement,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            DifferenceKind::OtherAmount => "other_amount",
            DifferenceKind::InDoubt => "in_doubt",
            DifferenceKind::OnlyLedger => "only_ledger",
            DifferenceKind::OnlyStatement => "only_statement",
        }
    }
}

/// A request, or a line of the statement, that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeDifference {
    pub kind: DifferenceKind,
    /// Of a request: its campaign, and what the ledger has. `None` for a line that no ledger knows.
    pub request: Option<(String, LedgerCharge)>,
    /// What the statement charges in sum; `None` if it does not have the request.
    pub stated: Option<i64>,
    /// The first line of the statement that is about it.
    pub line: Option<u64>,
    /// The identity that the statement gives, if no ledger knows it.
    pub id: Option<String>,
}

/// A number of requests or lines, with what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub count: u64,
    pub ledger: u64,
    pub stated: i64,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reconciled {
    pub campaigns: Vec<String>,
    /// Lines of the statement, and those of them without an identity, with their amounts.
    pub lines: u64,
    pub without_id: Tally,
    /// Requests that were charged and agree.
    pub agree: Tally,
    /// Requests in doubt that the statement does not have.
    pub open_doubts: u64,
    /// In the order of [`DifferenceKind::ALL`].
    pub differences: [Tally; 4],
}

impl Reconciled {
    /// How much differs in a way.
    pub fn of(&self, kind: DifferenceKind) -> Tally {
        self.differences[kind as usize]
    }

    /// The number of all differences.
    pub fn differing(&self) -> u64 {
        self.differences.iter().map(|tally| tally.count).sum()
    }
}

/// A request of a ledger, and what the statement has of it.
#[derive(Default)]
struct Stated {
    amount: i64,
    /// The first line; 0 if there is none.
    line: u64,
}

/// The request that an identity means, by its place among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meant {
    request: usize,
    is_charged: bool,
}

/// Notes what an identity means. Two partitions of a campaign may have the same key, of which one was charged. An identity of
/// several charged requests means none.
fn know(known: &mut HashMap<[u8; 16], Option<Meant>>, id: [u8; 16], meant: Meant) {
    known
        .entry(id)
        .and_modify(|before| match before {
            Some(one) if one.request == meant.request || !meant.is_charged => {}
            Some(one) if one.is_charged => *before = None,
            Some(one) => *one = meant,
            None => {}
        })
        .or_insert(Some(meant));
}

/// A line that no ledger knows.
struct Unknown {
    line: u64,
    id: String,
    amount: i64,
}

/// Compares a statement with ledgers. `each` gets every difference: requests in the order of the ledgers, then lines.
///
/// # Errors
/// A ledger or the statement cannot be read, the sign of charges is not clear, or `each` failed.
pub fn reconcile(
    order: &ReconcileOrder<'_>,
    each: &mut dyn FnMut(&ChargeDifference) -> Result<(), Error>,
) -> Result<Reconciled, Error> {
    let readings: Vec<Reading> = order.places.iter().map(|place| open_ledger(place)).collect::<Result<_, _>>()?;
    let (mut known, mut requests) = (HashMap::new(), 0);
    for reading in &readings {
        reading.hold_still()?;
        reading.ledger_charges(|charge| -> Result<(), Error> {
            let meant = Meant { request: requests, is_charged: charge.charged.0 > 0 };
            charge.ids.iter().for_each(|id| know(&mut known, short(id), meant));
            requests += 1;
            Ok(())
        })?;
    }
    let mut reconciled = Reconciled::default();
    let mut stated: Vec<Stated> = std::iter::repeat_with(Stated::default).take(requests).collect();
    let (mut unknown, mut signs) = (Vec::new(), [false; 2]);
    statement::read(order.statement, &order.columns, |StatementLine { line, ids, amount }| {
        reconciled.lines += 1;
        if let Some(Some(meant)) = ids.iter().filter_map(|id| known.get(&short(id))).find(|meant| meant.is_some()) {
            let one = &mut stated[meant.request];
            one.amount = one.amount.saturating_add(amount);
            one.line = if one.line == 0 { line } else { one.line };
            signs = [signs[0] || amount > 0, signs[1] || amount < 0];
        } else if let Some(id) = ids.into_iter().next() {
            unknown.push(Unknown { line, id, amount });
        } else {
            reconciled.without_id.count += 1;
            reconciled.without_id.stated = reconciled.without_id.stated.saturating_add(amount);
        }
    })?;
    let sign = sign(order, signs)?;
    reconciled.without_id.stated *= sign;
    let mut at = 0;
    for reading in &readings {
        let campaign = reading.identity()?.campaign;
        reading.ledger_charges(|charge| {
            let Stated { amount, line } = &stated[at];
            at += 1;
            let stated = (*line > 0).then_some(amount * sign);
            match kind_of(&charge, stated) {
                Some(kind) => {
                    let line = Some(*line).filter(|line| *line > 0);
                    let request = Some((campaign.clone(), charge));
                    reconciled.differs(&ChargeDifference { kind, request, stated, line, id: None }, each)
                }
                None => {
                    reconciled.agrees(&charge);
                    Ok(())
                }
            }
        })?;
        reconciled.campaigns.push(campaign);
    }
    for Unknown { line, id, amount } in unknown {
        let (kind, stated) = (DifferenceKind::OnlyStatement, Some(amount * sign));
        reconciled.differs(&ChargeDifference { kind, request: None, stated, line: Some(line), id: Some(id) }, each)?;
    }
    Ok(reconciled)
}

impl Reconciled {
    fn agrees(&mut self, charge: &LedgerCharge) {
        if charge.charged.0 > 0 {
            let Tally { count, ledger, stated } = self.agree;
            let charged = charge.charged.0;
            self.agree =
                Tally { count: count + 1, ledger: ledger + charged, stated: stated.saturating_add_unsigned(charged) };
        } else if charge.in_doubt {
            self.open_doubts += 1;
        }
    }

    fn differs(
        &mut self,
        difference: &ChargeDifference,
        each: &mut dyn FnMut(&ChargeDifference) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tally = &mut self.differences[difference.kind as usize];
        tally.count += 1;
        tally.ledger += difference.request.as_ref().map_or(0, |(_, charge)| charge.charged.0);
        tally.stated = tally.stated.saturating_add(difference.stated.unwrap_or_default());
        each(difference)
    }
}

/// How a request differs, if it does. `stated` is what the statement charges.
fn kind_of(charge: &LedgerCharge, stated: Option<i64>) -> Option<DifferenceKind> {
    let charged = i64::try_from(charge.charged.0).unwrap_or(i64::MAX);
    match stated {
        Some(stated) if stated == charged => None,
        Some(_) if charge.in_doubt && charged == 0 => Some(DifferenceKind::InDoubt),
        Some(_) => Some(DifferenceKind::OtherAmount),
        None => (charged > 0).then_some(DifferenceKind::OnlyLedger),
    }
}

/// 1, or -1 if charges are negative in the statement.
fn sign(order: &ReconcileOrder<'_>, [positive, negative]: [bool; 2]) -> Result<i64, Error> {
    match (order.charges, positive, negative) {
        (Some(ChargeSign::Positive), ..) | (None, _, false) => Ok(1),
        (Some(ChargeSign::Negative), ..) | (None, false, true) => Ok(-1),
        (None, true, true) => Err(Error::Config(format!(
            "--statement {}: some lines of these campaigns have positive and some negative amounts; say which are charges with \
             --charges positive or --charges negative, and the others count as refunds",
            order.statement.display()
        ))),
    }
}

/// A short digest of an identity, without case.
fn short(id: &str) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(id.to_lowercase())[..16]);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_means_the_charged_one_of_several_requests_and_none_if_two_were_charged() {
        let meant = |request, is_charged| Meant { request, is_charged };
        let known_after = |all: &[Meant]| {
            let mut known = HashMap::new();
            all.iter().for_each(|one| know(&mut known, [0; 16], *one));
            known[&[0; 16]]
        };
        let (free, charged) = (meant(1, false), meant(2, true));
        assert_eq!(known_after(&[free, charged]), Some(charged));
        assert_eq!(known_after(&[charged, free]), Some(charged));
        assert_eq!(known_after(&[charged, charged]), Some(charged), "two identities of one request");
        assert_eq!(known_after(&[charged, meant(3, true), charged]), None);
    }
}
