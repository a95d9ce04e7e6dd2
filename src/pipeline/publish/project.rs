//! Projection of asks to output rows. The rules of a part decide columns and verdict; this module puts them into rows.

use super::{
    hidden::{Declared, Hiding, Image, SECRET},
    row_rules::{Judging, RowRules},
    secret_columns::SecretColumns,
};
use crate::{
    catalogue::ColumnValue,
    client::json_body,
    error::Error,
    ledger::{AskFate, AskView, CheckUseRow, LedgerError, Reading, RequestView},
    model::{
        Failure, FailureCode, Position, Stage, clock::usable_life_us, job_life::LOST_AFTER, json_numbers,
        reply_text::reply_text, state::State,
    },
    pipeline::{
        campaign::{Campaign, result_layout::ResultLayout, rules::Rules},
        failure_file::FailedRow,
    },
    sink::{
        self, AnswerOutput, AnswerSource, Column, Dataset, DatasetKind, FailureRow, HEAD_COLUMNS, Head, OutputMode,
        Part, PendingReason, PendingRow, ResultForm, ResultRow, Schema, SkippedRow, VERDICT_COLUMNS,
    },
    template::{Tables, Templates},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

/// After this time, in microseconds, a job without a result is quarantined.
const LOST_AFTER_US: i64 = LOST_AFTER.as_micros() as i64;

/// A check of the campaign, as the outputs need it.
pub struct Projected {
    pub name: String,
    row: CheckUseRow,
    layout: ResultLayout,
    key_life_hours: u32,
    /// The rules of the current declaration.
    pub current: RowRules,
}

impl Projected {
    pub fn schema(&self) -> Result<Schema, Error> {
        self.layout.schema()
    }

    /// The columns of the check among those of its results.
    ///
    /// # Errors
    /// Those of [`Projected::schema`].
    pub fn own_columns(&self) -> Result<Vec<Column>, Error> {
        let names: Vec<String> = self.layout.columns.iter().map(|column| sink::column_name(&column.name)).collect();
        let columns = self.schema()?.columns.into_iter();
        Ok(columns.filter(|column| names.contains(&column.name)).collect())
    }

    /// The carried columns among those of its results.
    ///
    /// # Errors
    /// Those of [`Projected::schema`].
    pub fn carried_columns(&self) -> Result<Vec<Column>, Error> {
        let before = HEAD_COLUMNS + VERDICT_COLUMNS;
        let carried = self.layout.carry.iter().filter(|one| !one.is_all()).count();
        Ok(self.schema()?.columns.into_iter().skip(before).take(carried).collect())
    }

    /// Whether its answers are a dataset of their own.
    pub fn has_answers_dataset(&self) -> bool {
        self.layout.answer == AnswerOutput::Dataset
    }

    /// Its answers as the manifest names them, if they are a dataset of their own.
    pub fn answers_dataset(&self, parts: Vec<Part>) -> Dataset {
        let check = Some(self.name.clone());
        Dataset { check, ..Dataset::of_all_checks(DatasetKind::Answers, &sink::answers_schema(), parts) }
    }

    /// What its results have beside the columns of the check.
    pub fn form(&self) -> ResultForm {
        self.layout.form()
    }

    /// Its results as the manifest names them.
    pub fn dataset(&self, parts: Vec<Part>) -> Result<Dataset, Error> {
        let schema = self.schema()?.column_types();
        let (kind, check, answer_digest) =
            (DatasetKind::Results, Some(self.name.clone()), Some(self.layout.digest.clone()));
        Ok(Dataset { kind, check, schema, answer_digest, parts })
    }

    /// The catalogue name.
    pub fn check(&self) -> &str {
        &self.row.check
    }
}

/// Makes the output rows of one ledger.
pub struct Projector {
    campaign: String,
    checks: BTreeMap<i64, Projected>,
    templates: Templates,
    secret_columns: SecretColumns,
}

impl Projector {
    /// # Errors
    /// A layout cannot be read, or a rule is not a valid expression.
    pub fn new(campaign: &Campaign, uses: BTreeMap<i64, CheckUseRow>) -> Result<Projector, Error> {
        let templates = Templates::new(Tables::default());
        let checks = uses.into_iter().map(|(id, row)| {
            let layout = ResultLayout::of(&row)?;
            let declaration = campaign.catalogue.get(&row.check)?;
            let current = RowRules::new(&row.check, &layout, &Rules::of(declaration), &templates)?;
            let key_life_hours = declaration.key_life_hours;
            Ok((id, Projected { name: row.name.clone(), row, layout, key_life_hours, current }))
        });
        let checks = checks.collect::<Result<_, Error>>()?;
        let secret_columns = SecretColumns::of(campaign)?;
        Ok(Projector { campaign: campaign.name.clone(), checks, templates, secret_columns })
    }

    /// The same with all columns, for a new folder, whatever those of the campaign are.
    pub fn with_all_columns(mut self) -> Projector {
        for check in self.checks.values_mut() {
            check.layout = std::mem::take(&mut check.layout)
                .with_all_columns(check.current.digest_spec(), check.current.has_matches());
        }
        self
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

    /// The rules that a part was made with.
    ///
    /// # Errors
    /// They are not in the ledger, or cannot be read.
    pub fn rules_of(&self, check: &Projected, rules: Option<i64>, reading: &Reading) -> Result<RowRules, Error> {
        let rules = rules.ok_or_else(|| damaged("a part has no rules"))?;
        let rules = Rules::recorded(&reading.rules(rules)?)?;
        RowRules::new(&check.row.check, &check.layout, &rules, &self.templates)
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

    /// The result row of an answered ask. The images of its answer are given to `each`.
    pub fn result_row<'a>(
        &'a self,
        check: &'a Projected,
        (rules, judging): (&RowRules, Judging),
        mode: OutputMode,
        ask: &'a AskView<'a>,
        each: &mut dyn FnMut(Image),
    ) -> Result<ResultRow<'a>, Error> {
        let defect = || damaged("an ask with a result has no answer");
        let AskFate::Request(request) = &ask.fate else { return Err(defect()) };
        let answer = request.answer.as_ref().ok_or_else(defect)?;
        let mut read = rules.read(ask, request, answer, judging)?;
        let row = self.secret_columns.masked(&ask.row.input);
        let text = answer_text(&answer.body, read.unreadable_numbers);
        let mut shown = text;
        let mut hidden: Option<Arc<Value>> = None;
        let hiding = self.secret_columns.hiding(&rules.hiding, ask);
        let declared = hiding.declared(rules.payload(&read.json));
        read.columns.iter_mut().for_each(|value| hide(value, &hiding, &declared));
        let changed = match hiding.json(&shown, &declared, each) {
            Cow::Owned(without) => Some(without),
            Cow::Borrowed(_) => None,
        };
        if let Some(without) = changed {
            hidden = Some(json_body(without.as_bytes()).map(|body| body.value).unwrap_or_default());
            shown = Cow::Owned(without);
        }
        let sent = without_secrets(&request.fields, &hiding);
        // Of the answer as it is shown, so that a digest says nothing about a secret.
        let answer_digest = check.layout.digest.digest(hidden.as_ref().unwrap_or(&read.json));
        Ok(ResultRow {
            head: self.head(mode, ask),
            verdict: read.judgement.verdict,
            finding: read.judgement.finding,
            carried: check.layout.carry.iter().map(|one| one.cell(&row)).collect(),
            columns: read.columns,
            answer_digest,
            expected: read.expected,
            completed_at_us: answer.completed_at_us,
            credits: request.credits,
            answer_source: match (request.first, &request.reused_from) {
                (false, _) => AnswerSource::Duplicate,
                (true, Some(_)) => AnswerSource::Reused,
                (true, None) => AnswerSource::Sent,
            },
            request_id: answer.request_id.as_deref(),
            idempotency_key: request.key,
            http_status: request.http_status,
            attempts: request.attempts,
            latency_ms: Some(answer.latency_ms),
            requested_at_us: Some(answer.requested_at_us),
            sent,
            answer: shown,
            answer_is_json: read.is_json && hidden.is_none(),
            decisions: ask.accepted.as_deref(),
            reused_from: request.reused_from.as_deref(),
        })
    }

    /// What identifies an ask in the outputs.
    pub fn result_id(&self, mode: OutputMode, ask: &AskView<'_>) -> String {
        let check = self.check(ask.check_use).ok().map(|check| check.name.as_str());
        sink::result_id(&self.campaign, mode, check, ask.source, ask.row.row_number)
    }

    /// A row of the input as the outputs show it: without the cells of secret columns.
    pub fn shown_row<'a>(&self, input: &'a Value) -> Cow<'a, Value> {
        self.secret_columns.masked(input)
    }

    /// Why an ask failed, without the values of secret fields, and its request if it has one.
    fn shown_failure<'a>(&self, ask: &'a AskView<'_>) -> Result<(Failure, Option<&'a RequestView>), Error> {
        let unexplained = || Failure {
            stage: Stage::Send,
            code: FailureCode::Refused,
            message: "the ledger records no reason".to_owned(),
        };
        let (failure, request): (Failure, Option<&RequestView>) = match &ask.fate {
            AskFate::Failure(failure) => (failure.clone(), None),
            AskFate::Request(request) => (request.failure.clone().unwrap_or_else(unexplained), Some(request)),
            AskFate::Skipped(_) => return Err(damaged("a skipped ask is among the failures")),
        };
        let hiding = self.check(ask.check_use).ok().map(|check| &check.current.hiding);
        let failure = match hiding.map(|hiding| self.secret_columns.hiding(hiding, ask)) {
            Some(hiding) => Failure { message: hiding.text(&failure.message).into_owned(), ..failure },
            None => failure,
        };
        Ok((failure, request))
    }

    /// The row of a failed ask for the file of failed rows.
    pub fn failed_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<FailedRow, Error> {
        let (failure, _) = self.shown_failure(ask)?;
        let position = Position {
            source: ask.source.into(),
            row_number: ask.row.row_number,
            line: ask.row.line,
            byte_offset: ask.row.byte_offset,
        };
        // With one check, its name would only repeat what is known.
        let check = self.check(ask.check_use).ok().filter(|_| self.checks.len() > 1).map(|check| check.name.as_str());
        let input = self.secret_columns.masked(&ask.row.input).into_owned();
        Ok(FailedRow::new(&position, check, &failure, self.result_id(mode, ask), input))
    }

    pub fn failure_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::TableCell>, Error> {
        let (failure, request) = self.shown_failure(ask)?;
        let possibly_charged = request.is_some_and(|request| request.possibly_charged);
        let row = FailureRow {
            head: self.head(mode, ask),
            failure: &failure,
            http_status: request.and_then(|request| request.http_status),
            attempts: request.map_or(0, |request| request.attempts),
            possibly_charged,
            retryable: request.is_some() && !possibly_charged,
            line: ask.row.line,
            byte_offset: ask.row.byte_offset,
            idempotency_key: request.map(|request| request.key),
            input: &self.secret_columns.masked(&ask.row.input).to_string(),
        };
        Ok(row.cells())
    }

    /// A pending row. `unrecognised` means that no rule recognises its answer.
    pub fn pending_row(
        &self,
        mode: OutputMode,
        ask: &AskView<'_>,
        unrecognised: bool,
    ) -> Result<Vec<sink::TableCell>, Error> {
        let AskFate::Request(request) = &ask.fate else {
            return Err(damaged("a pending ask has no request"));
        };
        let reason = pending_reason(request.state, unrecognised);
        let check = self.check(ask.check_use)?;
        let life_us = usable_life_us(check.key_life_hours);
        let in_doubt = matches!(reason, PendingReason::InDoubt | PendingReason::Repeating);
        let deadline_us = request.first_armed_at_us.filter(|_| in_doubt).map(|at| at.saturating_add(life_us));
        let job = request.job.as_ref().filter(|_| reason == PendingReason::ServiceJob);
        let job_id = job.map(|(id, _)| id.as_str());
        let deadline_us = deadline_us.or(job.map(|(_, accepted_us)| accepted_us.saturating_add(LOST_AFTER_US)));
        let answer = request.answer.as_ref().filter(|_| reason == PendingReason::Unrecognised);
        let hiding = self.secret_columns.hiding(&check.current.hiding, ask);
        let answer = answer.map(|answer| shown_answer(&check.current, &hiding, &answer.body));
        let credits = (request.state == State::Answered).then_some(request.credits);
        let head = self.head(mode, ask);
        Ok(PendingRow { head, reason, job_id, deadline_us, credits, answer: answer.as_deref() }.cells())
    }

    pub fn skipped_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::TableCell>, Error> {
        match &ask.fate {
            AskFate::Skipped(reason) => Ok(SkippedRow { head: self.head(mode, ask), reason }.cells()),
            _ => Err(damaged("an ask that was not skipped is among the skipped")),
        }
    }
}

/// Why an ask of a request in this state is pending. `unrecognised` means that no rule recognises its answer.
pub fn pending_reason(state: State, unrecognised: bool) -> PendingReason {
    match state {
        State::Planned => PendingReason::Unsent,
        State::Armed | State::InDoubt => PendingReason::InDoubt,
        State::Repeating => PendingReason::Repeating,
        State::Submitted => PendingReason::ServiceJob,
        State::Quarantined => PendingReason::Quarantined,
        State::Answered if unrecognised => PendingReason::Unrecognised,
        State::Answered | State::Failed => PendingReason::Answered,
    }
}

/// The text of an answer. Numbers that JSON cannot represent, if there are any, become texts.
fn answer_text(body: &[u8], unreadable_numbers: bool) -> Cow<'_, str> {
    let text = reply_text(body).0;
    let quoted = if unreadable_numbers { json_numbers::quoted(&text) } else { None };
    quoted.map_or(text, Cow::Owned)
}

/// The answer as the outputs show it.
fn shown_answer(rules: &RowRules, hiding: &Hiding, body: &[u8]) -> String {
    let text = answer_text(body, json_body(body).is_some_and(|body| body.unreadable_numbers));
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    hiding.json(&text, &hiding.declared(rules.payload(&json)), &mut drop).into_owned()
}

/// Replaces an image in a cell by its size and digest, and a secret by its sign.
fn hide(value: &mut ColumnValue, hiding: &Hiding, declared: &Declared<'_>) {
    if let ColumnValue::Json(text) = value
        && let Cow::Owned(shown) = hiding.json(text, declared, &mut drop)
    {
        *text = shown;
    }
    let ColumnValue::Text(text) = value else { return };
    if let Some(image) = declared.image(text) {
        *text = image.text();
    } else if let Cow::Owned(shown) = hiding.text(text) {
        *text = shown;
    }
}

/// The fields that were sent, without the values of secret fields and without images.
fn without_secrets<'a>(fields: &'a str, hiding: &Hiding) -> Cow<'a, str> {
    if hiding.secrets.is_empty() {
        return hiding.json(fields, &Declared::nothing(), &mut drop);
    }
    let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(fields) else { return Cow::Borrowed(SECRET) };
    for name in &hiding.secrets {
        if let Some(value) = members.get_mut(name) {
            *value = Value::from(SECRET);
        }
    }
    let text = Value::Object(members).to_string();
    Cow::Owned(hiding.json(&text, &Declared::nothing(), &mut drop).into_owned())
}

/// The error for ledger rows that contradict each other.
fn damaged(what: &str) -> Error {
    LedgerError::Damaged(what.to_owned()).into()
}
