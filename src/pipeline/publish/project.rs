//! Projecting: a settled ask becomes an output row. It owns one decision: the verdict of a row, which is that of its answer
//! unless the row expected something else.

use crate::{
    catalogue::ColumnSpec,
    client::json_body,
    error::Error,
    ledger::{AskFate, AskView, CheckUseRow, LedgerError, RequestView},
    model::{
        Failure, FailureCode, Judgement, Stage, Verdict,
        planted::{Bug, planted},
        row::find_column,
        state::State,
    },
    pipeline::campaign::{Campaign, recorded::recorded_object, result_layout::ResultLayout},
    sink::{
        self, AnswerSource, FailureRow, Head, OutputMode, PendingReason, PendingRow, ResultRow, Schema, SkippedRow,
    },
};
use serde_json::Value;
use std::collections::BTreeMap;

/// A check of the campaign as outputs know it.
pub struct Projected {
    pub name: String,
    layout: ResultLayout,
    key_life_hours: u32,
}

impl Projected {
    pub fn schema(&self) -> Result<Schema, Error> {
        self.layout.schema()
    }
}

/// Makes the rows of one ledger's outputs.
pub struct Projector {
    campaign: String,
    checks: BTreeMap<i64, Projected>,
}

impl Projector {
    pub fn new(campaign: &Campaign, uses: BTreeMap<i64, CheckUseRow>) -> Result<Projector, Error> {
        let checks = uses.into_iter().map(|(id, row)| {
            let damaged = |error| LedgerError::Damaged(format!("the layout of a check: {error}"));
            let layout = serde_json::from_str(&row.layout).map_err(damaged)?;
            let key_life_hours =
                campaign.catalogue.get(&row.check).map_or(72, |declaration| declaration.key_life_hours);
            Ok((id, Projected { name: row.name, layout, key_life_hours }))
        });
        Ok(Projector { campaign: campaign.name.clone(), checks: checks.collect::<Result<_, Error>>()? })
    }

    pub fn campaign(&self) -> &str {
        &self.campaign
    }

    /// The checks by their number in the ledger.
    pub fn checks(&self) -> impl Iterator<Item = (i64, &Projected)> {
        self.checks.iter().map(|(id, check)| (*id, check))
    }

    pub fn check(&self, check_use: Option<i64>) -> Result<&Projected, Error> {
        check_use
            .and_then(|id| self.checks.get(&id))
            .ok_or_else(|| damaged("an ask belongs to a check that the campaign does not have"))
    }

    fn head<'a>(&'a self, mode: OutputMode, ask: &AskView<'a>) -> Head<'a> {
        Head {
            campaign: &self.campaign,
            mode,
            check_name: self.check(ask.check_use).ok().map(|check| check.name.as_str()),
            subject: ask.row.subject.as_deref(),
            source: ask.source,
            row_number: ask.row.row_number,
        }
    }

    pub fn result_row<'a>(
        &'a self,
        check: &Projected,
        mode: OutputMode,
        ask: &'a AskView<'a>,
    ) -> Result<ResultRow<'a>, Error> {
        let defect = || damaged("an ask with a result has no answer");
        let AskFate::Request(request) = &ask.fate else { return Err(defect()) };
        let answer = request.answer.as_ref().ok_or_else(defect)?;
        let json = json_body(answer.body.as_bytes()).map(|json| json.value).unwrap_or_default();
        let payload = check.layout.payload.iter().find_map(|at| json.pointer(at).filter(|found| !found.is_null()));
        let payload = payload.unwrap_or(&Value::Null);
        let met = met(&check.layout, ask.expected.as_deref(), payload)?;
        let judged = Judgement { verdict: answer.verdict, finding: answer.finding.clone() };
        let Judgement { verdict, finding } = as_expected(judged, &met);
        let columns = &check.layout.columns;
        Ok(ResultRow {
            head: self.head(mode, ask),
            verdict,
            finding,
            carried: check.layout.carry.iter().map(|column| carried(&ask.row.input, column)).collect(),
            columns: columns.iter().map(|column| column.read(payload)).collect(),
            expected: met.into_iter().map(|one| one.and_then(|(_, meets)| meets)).collect(),
            completed_at_us: answer.completed_at_us,
            credits: request.credits,
            answer_source: if request.first { AnswerSource::Sent } else { AnswerSource::Duplicate },
            request_id: answer.request_id.as_deref(),
            idempotency_key: request.key,
            http_status: request.http_status,
            attempts: request.attempts,
            latency_ms: Some(answer.latency_ms),
            requested_at_us: Some(answer.requested_at_us),
            sent: &request.fields,
            answer: &answer.body,
        })
    }

    pub fn failure_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::TableCell>, Error> {
        let unexplained = Failure {
            stage: Stage::Send,
            code: FailureCode::Refused,
            message: "the ledger keeps no reason".to_owned(),
        };
        let (failure, request): (&Failure, Option<&RequestView>) = match &ask.fate {
            AskFate::Failure(failure) => (failure, None),
            AskFate::Request(request) => (request.failure.as_ref().unwrap_or(&unexplained), Some(request)),
            AskFate::Skipped(_) => return Err(damaged("a skipped ask is among the failures")),
        };
        let possibly_charged = request.is_some_and(|request| request.possibly_charged);
        let row = FailureRow {
            head: self.head(mode, ask),
            failure,
            http_status: request.and_then(|request| request.http_status),
            attempts: request.map_or(0, |request| request.attempts),
            possibly_charged,
            retryable: request.is_some() && !possibly_charged,
            line: ask.row.line,
            byte_offset: ask.row.byte_offset,
            idempotency_key: request.map(|request| request.key),
            input: &ask.row.input.to_string(),
        };
        Ok(row.into_cells())
    }

    pub fn pending_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::TableCell>, Error> {
        let AskFate::Request(request) = &ask.fate else {
            return Err(damaged("a pending ask has no request"));
        };
        let reason = match request.state {
            State::Planned => PendingReason::Unsent,
            State::Armed | State::InDoubt => PendingReason::InDoubt,
            State::Repeating => PendingReason::Repeating,
            State::Quarantined => PendingReason::Quarantined,
            State::Answered | State::Failed => PendingReason::Answered,
        };
        let life_us = i64::from(self.check(ask.check_use)?.key_life_hours) * 3_600 * 1_000_000;
        let in_doubt = matches!(reason, PendingReason::InDoubt | PendingReason::Repeating);
        let deadline_us = request.first_armed_at_us.filter(|_| in_doubt).map(|at| at + life_us);
        Ok(PendingRow { head: self.head(mode, ask), reason, job_id: None, deadline_us }.into_cells())
    }

    pub fn skipped_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::TableCell>, Error> {
        match &ask.fate {
            AskFate::Skipped(reason) => Ok(SkippedRow { head: self.head(mode, ask), reason }.into_cells()),
            _ => Err(damaged("an ask that was not skipped is among the skipped")),
        }
    }
}

/// The value of a carried column as text; lists and objects as JSON.
fn carried(input: &Value, column: &str) -> Option<String> {
    let map = input.as_object()?;
    let at = find_column(map.keys().map(String::as_str), column)?;
    match map.values().nth(at)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Whether the answer meets each expectation of the check, by name; `None` where the row expects nothing, and inside where
/// the answer does not state it.
type Met<'a> = Vec<Option<(&'a str, Option<bool>)>>;

fn met<'a>(layout: &'a ResultLayout, expected: Option<&str>, payload: &Value) -> Result<Met<'a>, LedgerError> {
    let expected = expected.map(|text| recorded_object(text, "what a row expects")).transpose()?.unwrap_or_default();
    let one = |(name, column): (&'a str, &ColumnSpec)| {
        expected.get(name).map(|expected| (name, column.meets(expected, payload)))
    };
    Ok(layout.expected().map(one).collect())
}

/// The verdict of a row. An answer that pleases is for a person where it differs from what the row expected, or does not
/// say; one that was for a person, or worse, stays what it is.
fn as_expected(judged: Judgement, met: &[Option<(&str, Option<bool>)>]) -> Judgement {
    if !matches!(judged.verdict, Verdict::Clear | Verdict::Data) || planted(Bug::MismatchClear) {
        return judged;
    }
    let of = |wanted: Option<bool>| met.iter().flatten().find(|(_, meets)| *meets == wanted);
    let finding = match (of(Some(false)), of(None)) {
        (Some((name, _)), _) => format!("{name}_mismatch"),
        (None, Some((name, _))) => format!("{name}_not_stated"),
        (None, None) => return judged,
    };
    Judgement { verdict: Verdict::Review, finding }
}

/// The rows of the ledger contradict each other.
fn damaged(what: &str) -> Error {
    LedgerError::Damaged(what.to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(verdict: Verdict, met: &[Option<(&str, Option<bool>)>]) -> (Verdict, String) {
        let judged = as_expected(Judgement { verdict, finding: "as_answered".to_owned() }, met);
        (judged.verdict, judged.finding)
    }

    #[test]
    fn a_difference_or_an_unstated_value_turns_clear_and_data_into_review() {
        let (same, other, silent) = (Some(true), Some(false), None);
        for verdict in [Verdict::Clear, Verdict::Data] {
            assert_eq!(found(verdict, &[None, Some(("surname", same))]), (verdict, "as_answered".into()));
            assert_eq!(
                found(verdict, &[Some(("born", silent)), Some(("surname", other))]),
                (Verdict::Review, "surname_mismatch".into())
            );
            assert_eq!(found(verdict, &[Some(("born", silent))]), (Verdict::Review, "born_not_stated".into()));
        }
    }

    #[test]
    fn a_verdict_of_review_or_worse_is_unchanged() {
        for verdict in [Verdict::Review, Verdict::Adverse, Verdict::NotFound, Verdict::Unrecognised] {
            assert_eq!(found(verdict, &[Some(("surname", Some(false)))]), (verdict, "as_answered".into()));
        }
    }
}
