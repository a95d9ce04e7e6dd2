//! Maps and counts the rows of a split. Several threads do this at once, each for a split of its own.

use super::{earlier_rows::EarlierRows, planned::PlanOptions, tree::Standing};
use crate::{
    error::Error,
    ledger::{Reading, Sums},
    mapping::{AskRequest, Bound, FieldValue, Mapped},
    model::{Failure, Position, Record, Row},
    pipeline::{
        campaign::Campaign,
        failure_file::FailedRow,
        intake::{
            carried_kinds::CarriedKinds,
            distinct::{Digest, Digests},
            notes::Notes,
            rejections::Rejections,
            subject::subject,
            unbound,
            values::SplitValues,
        },
        publish::secret_columns::SecretColumns,
        reuse::EarlierRound,
        wording::counted,
    },
    source::Split,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The state that all workers share.
pub struct Worker<'a> {
    pub campaign: &'a Campaign,
    digests: Digests,
    options: &'a PlanOptions,
    secret_columns: SecretColumns,
    earlier: EarlierRows,
    /// The round whose answers are used again.
    reused: Option<Arc<EarlierRound>>,
    /// The sums of the ledger, if there is one.
    sums: Option<&'a Sums>,
    carried: Arc<CarriedKinds>,
    /// The ledger would not be used, because the input changed before anything was sent.
    pub is_afresh: bool,
    /// Whether more requests are needed for [`Plan::shown`](super::planned::Plan::shown).
    pub wants_more: AtomicBool,
}

/// The counts of one split.
#[derive(Default)]
pub struct SplitCounts {
    pub rows: u64,
    pub unreadable: u64,
    pub asks: u64,
    pub skipped: u64,
    pub rejected: u64,
    pub reasons: Rejections,
    pub notes: Notes,
    /// The digests of the asks in input order, each with the index of its check and its standing.
    pub digests: Vec<(Digest, usize, Standing)>,
    pub shown: Vec<(Digest, String)>,
    pub id: SplitValues,
    /// By the index of the check and that of the field in its declaration.
    pub fields: BTreeMap<(usize, usize), SplitValues>,
    /// The rows that failed, if they are to be written.
    pub failed: Vec<FailedRow>,
}

impl<'a> Worker<'a> {
    pub fn new(
        campaign: &'a Campaign,
        options: &'a PlanOptions,
        earlier: EarlierRows,
        carried: Arc<CarriedKinds>,
        sums: Option<&'a Sums>,
    ) -> Result<Worker<'a>, Error> {
        let secret_columns = SecretColumns::of(campaign)?;
        let wants_more = AtomicBool::new(options.show > 0);
        let digests = Digests::default();
        let reused = EarlierRound::open(campaign)?;
        let is_afresh = false;
        Ok(Worker { campaign, digests, options, secret_columns, earlier, reused, sums, carried, is_afresh, wants_more })
    }

    pub fn count(&self, reading: Option<&Reading>, bound: Option<&Bound>, split: Split) -> Result<SplitCounts, Error> {
        let mut counts = SplitCounts { rows: split.records.len() as u64, ..SplitCounts::default() };
        let fields = bound.map(Bound::fields_of_row).unwrap_or_default();
        for record in split.records {
            match record {
                Record::Damaged { position, failure, input } => {
                    counts.unreadable += 1;
                    self.fail(&mut counts, &position, None, failure, || input);
                }
                Record::Row(row) => {
                    self.count_row(&mut counts, reading, bound.ok_or_else(unbound)?, &fields, &row)?;
                }
            }
        }
        counts.id.finish();
        counts.fields.values_mut().for_each(SplitValues::finish);
        Ok(counts)
    }

    fn count_row(
        &self,
        counts: &mut SplitCounts,
        reading: Option<&Reading>,
        bound: &Bound,
        fields: &[Vec<(usize, &str)>],
        row: &Row,
    ) -> Result<(), Error> {
        if let Some(id) = &self.campaign.id {
            let (text, notes) = subject(row, Some(id)).unzip();
            counts.notes.add(&row.position.source, row.position.row_number, &notes.unwrap_or_default());
            counts.id.add_id(text.as_deref(), &self.digests);
        }
        for (check_index, mapped) in self.carried.map(bound, row)?.into_iter().enumerate() {
            counts.asks += 1;
            let of_check = fields.get(check_index).map(Vec::as_slice).unwrap_or_default();
            match mapped {
                Mapped::Skipped(_) => counts.skipped += 1,
                Mapped::Failed(failure) => {
                    for ((at, _), found) in of_check.iter().zip(bound.values(row, check_index)) {
                        let values = counts.fields.entry((check_index, *at)).or_default();
                        match found {
                            FieldValue::None => values.add(None),
                            FieldValue::Unsent => values.add_unsent(),
                            FieldValue::Sent(value) => values.add(Some(self.digest_of_value(&value))),
                        }
                    }
                    let Position { source, row_number, .. } = &row.position;
                    if self.earlier.keep(&row.position, check_index) {
                        // An earlier run read the row with another mapping, which could fill the fields.
                        let digest = self
                            .digests
                            .of(&format!("kept {check_index}"), format!("{source}\n{row_number}").as_bytes());
                        counts.digests.push((digest, check_index, Standing::Kept));
                    } else {
                        counts.rejected += 1;
                        self.fail(counts, &row.position, Some(check_index), failure, || row.to_json().into());
                    }
                }
                Mapped::Ask(ask) => {
                    for (at, name) in of_check {
                        let digest = ask.fields.get(*name).map(|value| self.digest_of_value(value));
                        counts.fields.entry((check_index, *at)).or_default().add(digest);
                    }
                    counts.notes.add(&row.position.source, row.position.row_number, &ask.notes);
                    self.count_ask(counts, reading, &row.position, &ask)?;
                }
            }
        }
        Ok(())
    }

    fn count_ask(
        &self,
        counts: &mut SplitCounts,
        reading: Option<&Reading>,
        position: &Position,
        ask: &AskRequest,
    ) -> Result<(), Error> {
        let one = &self.campaign.uses[ask.check_index];
        let state = reading.map(|reading| reading.state_of(&ask.key, &one.check, &ask.body)).transpose()?.flatten();
        let mut standing = Standing::new(state, self.earlier.keep(position, ask.check_index));
        if let Some(round) = self.reused.as_ref().filter(|_| standing.is_sent())
            && round.answer(&one.check, (&ask.fields, &ask.body), self.sums)?.is_some()
        {
            standing = standing.reused();
        }
        let digest = match standing {
            // A later row with the same content is sent, because this one is not.
            Standing::Kept => self.digests.of(&format!("kept {}", one.check), &ask.body),
            // Asks of one check with equal bodies share a request. The ledger uses the same rule.
            _ => self.digests.of(&one.check, &ask.body),
        };
        counts.digests.push((digest, ask.check_index, standing));
        if self.wants_more.load(Ordering::Relaxed)
            && counts.shown.len() < self.options.show
            && counts.shown.iter().all(|(shown, _)| *shown != digest)
        {
            counts.shown.push((digest, masked(one.name(), ask)));
        }
        Ok(())
    }

    /// Counts a failure, and keeps its row if failures are to be written. The check is `None` if the row could not be
    /// read.
    fn fail(
        &self,
        counts: &mut SplitCounts,
        position: &Position,
        check_index: Option<usize>,
        failure: Failure,
        input: impl FnOnce() -> Value,
    ) {
        // With one check, its name would only repeat what is known.
        let of_several = self.campaign.uses.len() > 1;
        let check_name = check_index.filter(|_| of_several).map(|at| self.campaign.uses[at].name());
        counts.reasons.add(check_name, &failure, &position.source, position.line);
        if self.options.failures.is_some() {
            let input = self.secret_columns.masked(&input()).into_owned();
            counts.failed.push(FailedRow::new(position, check_name, &failure, String::new(), input));
        }
    }

    fn digest_of_value(&self, value: &Value) -> Digest {
        match value {
            Value::String(text) => self.digests.of("", text.as_bytes()),
            other => self.digests.of("", other.to_string().as_bytes()),
        }
    }
}

/// A request with masked values: the first character and the length of each text, and only the length of a text of at most
/// three characters. Numbers are shown as they are.
fn masked(check: &str, ask: &AskRequest) -> String {
    let fields = ask.fields.iter().map(|(field, value)| match value.as_str() {
        // The first character of a short text says too much of it.
        Some(text) => match (text.chars().next(), text.chars().count()) {
            (Some(first), length @ 4..) => format!("{field} = \"{first}…\" ({length} characters)"),
            (_, length) => format!("{field} = \"…\" ({})", counted(length as u64, "character", "characters")),
        },
        None => format!("{field} = {value}"),
    });
    format!("{check}: {}", fields.collect::<Vec<_>>().join(", "))
}
