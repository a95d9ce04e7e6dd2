//! The statements that create tables for the outputs of a check, in a database or engine. The columns are those of the
//! writers: of the declaration alone, or with what a campaign adds to them.

use super::{
    campaign::{Campaign, result_layout::ResultLayout},
    intake::Intake,
};
use crate::{
    catalogue::{ColumnSpec, Declaration},
    error::Error,
    ledger::Reading,
    mapping::CheckUse,
    model::nearest::hint,
    sink::{self, AnswerOutput, DatasetKind, Engine, NewTable, ResultForm, Schema, column_name},
};
use std::collections::BTreeMap;

/// The tables for a check of the catalogue.
///
/// # Errors
/// Two columns of the declaration have the same name.
pub fn tables_of_check(engine: Engine, declaration: &Declaration) -> Result<String, Error> {
    let schema = sink::results_schema(&[], &declaration.answer.columns, &[], ResultForm::default())?;
    let table = results_table(&declaration.name, schema, own_meanings(&declaration.answer.columns));
    Ok(script(engine, vec![table]))
}

/// The tables for the checks of a campaign, or for one of them, with its carried and expected columns. The columns are
/// those that the ledger records, if there is one.
///
/// # Errors
/// The campaign has no such check, or the ledger cannot be read.
pub fn tables_of_campaign(engine: Engine, campaign: &Campaign, check: Option<&str>) -> Result<String, Error> {
    let is_asked_for = |one: &&CheckUse| check.is_none_or(|check| one.name() == check || one.check == check);
    let uses: Vec<&CheckUse> = campaign.uses.iter().filter(is_asked_for).collect();
    if let (Some(check), true) = (check, uses.is_empty()) {
        let names: Vec<&str> = campaign.uses.iter().map(CheckUse::name).collect();
        let hint = hint(check, names.iter().copied());
        return Err(Error::Config(format!(
            "the campaign has no check `{check}`{hint}; its checks are: {}",
            names.join(", ")
        )));
    }
    let has_ledger = campaign.ledger.exists();
    let recorded = if has_ledger { Reading::open(&campaign.ledger)?.check_uses()? } else { BTreeMap::new() };
    // The input has the names and types of the carried columns until a run records them.
    let opened = match has_ledger || campaign.carry.is_empty() {
        true => None,
        false => match Intake::open(campaign, &[]) {
            Ok(intake) => Some(Campaign { carry: intake.carry().to_vec(), ..campaign.clone() }),
            Err(error) if campaign.carries_all => return Err(error),
            Err(_) => None,
        },
    };
    let campaign = opened.as_ref().unwrap_or(campaign);
    let tables = |one: &CheckUse| {
        let layout = match recorded.values().find(|row| row.name == one.name()) {
            Some(row) => ResultLayout::of(row)?,
            None => ResultLayout::new(campaign, one)?,
        };
        let declaration = campaign.catalogue.get(&one.check)?;
        let mut meanings = own_meanings(&layout.columns_of(&declaration.answer));
        for carried in &layout.carry {
            meanings.insert(column_name(carried.name()), format!("Input column `{}`.", carried.column));
        }
        for name in &layout.expects {
            let meaning = format!("Whether the answer agrees with the row about `{name}`.");
            meanings.insert(column_name(&format!("expected_{name}_match")), meaning);
        }
        let mut tables = vec![results_table(one.name(), layout.schema()?, meanings)];
        tables.extend((layout.answer == AnswerOutput::Dataset).then(|| answers_table(one.name())));
        Ok(tables)
    };
    let tables = uses.into_iter().map(tables).collect::<Result<Vec<_>, Error>>()?;
    Ok(script(engine, tables.concat()))
}

/// Where the columns of the declaration come from.
fn own_meanings(columns: &[ColumnSpec]) -> BTreeMap<String, String> {
    let meaning = |column: &ColumnSpec| {
        let assumed = if column.assumed { " (assumed)" } else { "" };
        let text = match &column.pointers[..] {
            [] => "Not in the declaration any more: null.".to_owned(),
            pointers => format!("From the answer: {}{assumed}.", pointers.join(" or ")),
        };
        (column_name(&column.name), text)
    };
    columns.iter().map(meaning).collect()
}

fn results_table(check: &str, schema: Schema, own_meanings: BTreeMap<String, String>) -> NewTable {
    let meaning = format!("Answers of the check {check}: one line for each row.");
    NewTable {
        name: column_name(&format!("results_{check}")),
        kind: DatasetKind::Results,
        schema,
        meaning,
        own_meanings,
    }
}

/// The table of the whole answers, if they are a dataset of their own.
fn answers_table(check: &str) -> NewTable {
    NewTable {
        name: column_name(&format!("answers_{check}")),
        kind: DatasetKind::Answers,
        schema: sink::answers_schema(),
        meaning: format!("Whole answers of the check {check}: one line for each result."),
        own_meanings: BTreeMap::new(),
    }
}

/// The statements for tables of results and answers, and for the datasets that all checks share.
fn script(engine: Engine, own: Vec<NewTable>) -> String {
    let shared = [
        (DatasetKind::Failures, sink::failures_schema(), "Rows that could not be read or mapped, or got no answer."),
        (DatasetKind::Pending, sink::pending_schema(), "Rows that are not settled yet."),
        (DatasetKind::Skipped, sink::skipped_schema(), "Rows that the condition of the check left out."),
    ];
    let shared = shared.map(|(kind, schema, meaning)| NewTable {
        name: kind.as_str().to_owned(),
        kind,
        schema,
        meaning: meaning.to_owned(),
        own_meanings: BTreeMap::new(),
    });
    let statements: Vec<String> = own.iter().chain(&shared).map(|table| sink::create_table(engine, table)).collect();
    statements.join("\n\n")
}
