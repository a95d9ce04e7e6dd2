//! A statement of the service compared with the ledgers of campaigns: what only one of them has, and what has another amount.
//! About 120 bytes of memory for each request, and a little more for each line of the statement that no ledger knows.
//!
//! | file | noun |
//! |---|---|
//! | `statement` | the statement, read line by line |

mod statement;

pub use statement::Columns;

use super::{campaign::SIMULATED_ORIGIN, status::open_ledger};
use crate::{
    error::Error,
    ledger::{LedgerCharge, Reading},
    model::{Mode, state::State},
    sink::OutputMode,
};
use sha2::{Digest, Sha256};
use statement::StatementLine;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};
use uuid::Uuid;

/// What to compare.
pub struct ReconcileOrder<'a> {
    /// Output folders or ledger files. All campaigns that the statement is about.
    pub places: &'a [PathBuf],
    pub statement: &'a Path,
    pub columns: Columns,
    /// Whether charges are positive or negative numbers; `None` if no amount may be negative.
    pub charges: Option<ChargeSign>,
}

/// The sign of a charge in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChargeSign {
    #[default]
    Positive,
    Negative,
}

impl ChargeSign {
    pub fn as_str(self) -> &'static str {
        match self {
            ChargeSign::Positive => "positive",
            ChargeSign::Negative => "negative",
        }
    }
}

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// Both have a charge, or the statement a charge and the ledger none, and the amounts differ.
    OtherAmount,
    /// The request is in doubt, or waits as a job, so that the ledger has no charge yet. The statement has one.
    Unsettled,
    OnlyLedger,
    OnlyStatement,
}

impl DifferenceKind {
    pub const ALL: [DifferenceKind; 4] = [
        DifferenceKind::OtherAmount,
        DifferenceKind::Unsettled,
        DifferenceKind::OnlyLedger,
        DifferenceKind::OnlyStatement,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            DifferenceKind::OtherAmount => "other_amount",
            DifferenceKind::Unsettled => "unsettled",
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
    /// Unsettled requests that the statement charges nothing for.
    pub unsettled: u64,
    /// The columns of the statement that were used, and the sign of a charge.
    pub columns: Columns,
    pub charges: ChargeSign,
    /// The sum of all lines with an identity, and that of all requests.
    pub statement_credits: i64,
    pub ledger_credits: u64,
    /// Why the charges of a campaign are not real, if they are not.
    pub warnings: Vec<String>,
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
    charge: ChargeKnown,
}

/// What a ledger knows of a charge, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ChargeKnown {
    None,
    Unsettled,
    Charged,
}

impl ChargeKnown {
    fn of(charge: &LedgerCharge) -> ChargeKnown {
        match () {
            () if charge.charged.0 > 0 => ChargeKnown::Charged,
            () if is_unsettled(charge) => ChargeKnown::Unsettled,
            () => ChargeKnown::None,
        }
    }
}

/// Notes what an identity means. Two partitions of a campaign may have the same key, of which one was sent. An identity of several
/// charged requests means none.
fn know(known: &mut HashMap<[u8; 16], Option<Meant>>, id: [u8; 16], meant: Meant) {
    known
        .entry(id)
        .and_modify(|before| match before {
            Some(one) if one.request == meant.request => {}
            Some(one) if [one.charge, meant.charge] == [ChargeKnown::Charged; 2] => *before = None,
            Some(one) if meant.charge > one.charge => *one = meant,
            Some(_) | None => {}
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
    let mut reconciled = Reconciled::default();
    let readings = opened(order.places, &mut reconciled)?;
    let (mut known, mut requests) = (HashMap::new(), 0);
    for reading in &readings {
        reading.ledger_charges(|charge| -> Result<(), Error> {
            let meant = Meant { request: requests, charge: ChargeKnown::of(&charge) };
            charge.ids.iter().for_each(|id| know(&mut known, short(id), meant));
            requests += 1;
            Ok(())
        })?;
    }
    let mut stated: Vec<Stated> = std::iter::repeat_with(Stated::default).take(requests).collect();
    let (mut unknown, mut is_negative) = (Vec::new(), false);
    reconciled.columns = statement::read(order.statement, &order.columns, |StatementLine { line, ids, amount }| {
        reconciled.lines += 1;
        let mut meant = ids.iter().filter_map(|id| known.get(&short(id)).copied().flatten());
        let one = meant.next();
        if one.is_some_and(|one| meant.any(|other| other.request != one.request)) {
            return Err("its columns identify two requests; name the right column with --id COLUMN".to_owned());
        }
        is_negative |= amount < 0 && !ids.is_empty();
        if let Some(meant) = one {
            let one = &mut stated[meant.request];
            one.amount = one.amount.saturating_add(amount);
            one.line = if one.line == 0 { line } else { one.line };
        } else if let Some(id) = ids.into_iter().next() {
            unknown.push(Unknown { line, id, amount });
        } else {
            reconciled.without_id.count += 1;
            reconciled.without_id.stated = reconciled.without_id.stated.saturating_add(amount);
        }
        Ok(())
    })?;
    reconciled.charges = charges(order, is_negative)?;
    let sign = if reconciled.charges == ChargeSign::Positive { 1 } else { -1 };
    reconciled.without_id.stated = reconciled.without_id.stated.saturating_mul(sign);
    let all = stated.iter().map(|one| one.amount).chain(unknown.iter().map(|one| one.amount));
    reconciled.statement_credits = all.fold(0_i64, i64::saturating_add).saturating_mul(sign);
    let mut at = 0;
    for reading in &readings {
        let campaign = reading.identity()?.campaign;
        reading.ledger_charges(|charge| {
            let Stated { amount, line } = &stated[at];
            at += 1;
            let stated = (*line > 0).then_some(amount.saturating_mul(sign));
            reconciled.ledger_credits = reconciled.ledger_credits.saturating_add(charge.charged.0);
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
        let (kind, stated) = (DifferenceKind::OnlyStatement, Some(amount.saturating_mul(sign)));
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
        } else if is_unsettled(charge) {
            self.unsettled += 1;
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
        Some(_) if is_unsettled(charge) && charged == 0 => Some(DifferenceKind::Unsettled),
        Some(_) => Some(DifferenceKind::OtherAmount),
        None => (charged > 0).then_some(DifferenceKind::OnlyLedger),
    }
}

/// Opens the ledgers of charged campaigns.
fn opened(places: &[PathBuf], reconciled: &mut Reconciled) -> Result<Vec<Reading>, Error> {
    let (mut readings, mut ids) = (Vec::new(), Vec::new());
    for place in places {
        let shown = place.display();
        let reading = open_ledger(place)?;
        reading.hold_still()?;
        let (identity, id) = (reading.identity()?, reading.ledger_id()?);
        if identity.mode != Mode::Production || identity.origin == SIMULATED_ORIGIN {
            return Err(Error::Config(format!(
                "{shown}: expected a campaign that was charged, found a rehearsal or one in sandbox mode, which costs nothing"
            )));
        }
        if ids.contains(&id) {
            return Err(Error::Config(format!(
                "{shown}: expected each ledger once, found one that is named before, or its copy"
            )));
        }
        let is_simulated = reading.sums()?.simulated == Some(true);
        let warning = OutputMode::of(identity.mode, is_simulated).warning();
        reconciled.warnings.extend(warning.map(|warning| format!("{shown}: {warning}")));
        ids.push(id);
        readings.push(reading);
    }
    Ok(readings)
}

/// Whether the ledger has no charge of a request yet, because it is in doubt or waits as a job.
fn is_unsettled(charge: &LedgerCharge) -> bool {
    charge.state != State::Planned && !charge.state.is_settled()
}

/// The sign of a charge. A statement with refunds alone looks like one whose charges are negative, so that is never guessed.
fn charges(order: &ReconcileOrder<'_>, is_negative: bool) -> Result<ChargeSign, Error> {
    match order.charges {
        Some(sign) => Ok(sign),
        None if !is_negative => Ok(ChargeSign::Positive),
        None => Err(Error::Config(format!(
            "--statement {}: some amounts are negative; say whether these are charges (--charges negative) or refunds (--charges \
             positive)",
            order.statement.display()
        ))),
    }
}

/// A short digest of an identity, without case. A key has several forms.
fn short(id: &str) -> [u8; 16] {
    let id = Uuid::try_parse(id).map_or_else(|_| id.to_lowercase(), |key| key.hyphenated().to_string());
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(id)[..16]);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_means_the_charged_one_of_several_requests_and_none_if_two_were_charged() {
        let meant = |request, charge| Meant { request, charge };
        let known_after = |all: &[Meant]| {
            let mut known = HashMap::new();
            all.iter().for_each(|one| know(&mut known, [0; 16], *one));
            known[&[0; 16]]
        };
        let [planned, unsettled, charged] =
            [meant(1, ChargeKnown::None), meant(2, ChargeKnown::Unsettled), meant(3, ChargeKnown::Charged)];
        for order in [[planned, unsettled, charged], [charged, unsettled, planned], [unsettled, charged, planned]] {
            assert_eq!(known_after(&order), Some(charged));
        }
        assert_eq!(known_after(&[planned, unsettled]), Some(unsettled));
        assert_eq!(known_after(&[unsettled, planned]), Some(unsettled));
        assert_eq!(known_after(&[charged, charged]), Some(charged), "two identities of one request");
        assert_eq!(known_after(&[charged, meant(4, ChargeKnown::Charged), charged]), None);
    }

    #[test]
    fn a_key_is_the_same_in_each_of_its_forms() {
        let key = "de3b5729-9891-5775-ab25-c6b8db89d990";
        for form in [&key.to_uppercase(), &format!("{{{key}}}"), &key.replace('-', ""), &format!("urn:uuid:{key}")] {
            assert_eq!(short(form), short(key), "{form}");
        }
        assert_ne!(short("R-1"), short("r1"));
        assert_eq!(short("R-1"), short("r-1"));
    }
}
