//! An export as a workbook: a summary, a sheet for each table, and one of the failures. Pending and skipped have a sheet if
//! they have a row.

use super::table::Table;
use crate::{
    error::Error,
    model::Verdict,
    sink::{
        CELL_CHARACTERS_MAX, CheckTotals, InputTotals, OutputMode, Schema, Selected, TableCell, Workbook,
        WrittenWorkbook,
    },
};
use std::{collections::BTreeMap, path::Path};

/// The names of the sheets that have no other name.
const SUMMARY: &str = "summary";
const RESERVED: [&str; 4] = [SUMMARY, "failures", "pending", "skipped"];

/// A workbook being written.
pub struct Book {
    workbook: Workbook,
    summary: usize,
    /// The sheets of the datasets, or the columns of those that have no row yet.
    sheets: BTreeMap<Table, Sheet>,
}

enum Sheet {
    Begun(usize),
    Waits(Schema),
}

/// What the summary says.
pub struct Facts<'a> {
    pub campaign: &'a str,
    pub mode: OutputMode,
    pub input: &'a InputTotals,
    pub totals: &'a [CheckTotals],
    pub selected: Option<&'a Selected>,
    /// When the last answer came, in microseconds since 1970.
    pub last_answer_us: Option<i64>,
}

impl Book {
    /// # Errors
    /// A storage error.
    pub fn create(path: &Path) -> Result<Book, Error> {
        let mut workbook = Workbook::create(path, &RESERVED)?;
        let summary = workbook.add_page(SUMMARY)?;
        Ok(Book { workbook, summary, sheets: BTreeMap::new() })
    }

    /// Adds a dataset.
    ///
    /// # Errors
    /// A storage error.
    pub fn add(&mut self, table: Table, name: &str, schema: Schema) -> Result<(), Error> {
        let sheet = match table {
            Table::Pending | Table::Skipped => Sheet::Waits(schema),
            Table::Failures => Sheet::Begun(self.workbook.add_reserved(name, &schema.columns)?),
            Table::Results(_) => Sheet::Begun(self.workbook.add_table(name, &schema.columns)?),
        };
        self.sheets.insert(table, sheet);
        Ok(())
    }

    /// Adds a row to a dataset.
    ///
    /// # Errors
    /// A storage error.
    pub fn write(&mut self, table: Table, row: &[TableCell]) -> Result<(), Error> {
        let Some(sheet) = self.sheets.get_mut(&table) else { return Ok(()) };
        let number = match sheet {
            Sheet::Begun(number) => *number,
            Sheet::Waits(schema) => {
                let number = self.workbook.add_reserved(table.kind().as_str(), &schema.columns)?;
                *sheet = Sheet::Begun(number);
                number
            }
        };
        Ok(self.workbook.write_row(number, row)?)
    }

    /// The workbook, for tables that are not datasets.
    pub fn workbook(&mut self) -> &mut Workbook {
        &mut self.workbook
    }

    /// Writes the summary, and gives the workbook its name.
    ///
    /// # Errors
    /// A storage error.
    pub fn finish(mut self, facts: &Facts<'_>) -> Result<WrittenWorkbook, Error> {
        let (cut, continued) = (self.workbook.cut_cells(), self.workbook.continued());
        for (line, is_heading) in lines(facts, cut, &continued) {
            self.workbook.write_line(self.summary, &line, is_heading)?;
        }
        Ok(self.workbook.finish()?)
    }
}

/// The lines of the summary, and which of them are headings.
fn lines(facts: &Facts<'_>, cut: u64, continued: &[Vec<String>]) -> Vec<(Vec<TableCell>, bool)> {
    let text = |text: &str| TableCell::text(text);
    let fact = |name: &str, value: TableCell| (vec![TableCell::text(name), value], false);
    let mut lines = vec![
        (vec![text("campaign"), text(facts.campaign)], true),
        fact("mode", text(facts.mode.as_str())),
        fact("answers", TableCell::Text(answers(facts.mode))),
    ];
    if let Some(at_us) = facts.last_answer_us {
        lines.push(fact("last answer (UTC)", TableCell::Timestamp(at_us)));
    }
    lines.push(fact("rows of the input", TableCell::integer(facts.input.rows)));
    lines.push(fact("rows that could not be read", TableCell::integer(facts.input.unreadable_rows)));
    if let Some(selected) = facts.selected {
        lines.push(fact("the other sheets have only", TableCell::Text(limits(selected))));
    }
    for sheets in continued {
        lines.push(fact("continued sheets", TableCell::Text(sheets.join(", "))));
    }
    if cut > 0 {
        lines.push(fact(&format!("cells cut to {CELL_CHARACTERS_MAX} characters"), TableCell::integer(cut)));
    }
    lines.push((Vec::new(), false));
    let verdicts = Verdict::ALL.map(Verdict::as_str);
    let heading =
        ["check", "asked", "results"].into_iter().chain(verdicts).chain(["failures", "pending", "skipped", "credits"]);
    lines.push((heading.map(text).collect(), true));
    lines.extend(facts.totals.iter().map(|totals| (counts(totals), false)));
    lines
}

fn counts(totals: &CheckTotals) -> Vec<TableCell> {
    let by_verdict = Verdict::ALL.map(|verdict| totals.by_verdict.get(verdict.as_str()).copied().unwrap_or_default());
    let numbers = [totals.asks, totals.results].into_iter().chain(by_verdict).chain([
        totals.failures,
        totals.pending,
        totals.skipped,
        totals.credits,
    ]);
    [TableCell::text(totals.check.as_str())].into_iter().chain(numbers.map(TableCell::integer)).collect()
}

/// What the answers are worth.
fn answers(mode: OutputMode) -> String {
    match mode.invented_by() {
        None => "from the service".to_owned(),
        Some(source) => format!("invented by {source}: they say nothing about a person, a company or a vehicle"),
    }
}

/// What an export is limited to, in words.
pub fn limits(selected: &Selected) -> String {
    let mut limits = Vec::new();
    if !selected.verdicts.is_empty() {
        let verdicts: Vec<&str> = selected.verdicts.iter().map(|verdict| verdict.as_str()).collect();
        limits.push(format!("the verdict {}", verdicts.join(" or ")));
    }
    if !selected.checks.is_empty() {
        limits.push(format!("the check {}", selected.checks.join(" or ")));
    }
    if let Some(since) = &selected.changed_since {
        limits.push(format!("a change since {since}"));
    }
    format!("rows with {}", limits.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::InputTotals;

    #[test]
    fn the_summary_says_what_is_invented_and_what_is_missing() {
        let totals = [CheckTotals { check: "aml".into(), asks: 3, results: 2, failures: 1, ..CheckTotals::default() }];
        let selected = Selected {
            verdicts: vec![Verdict::Review, Verdict::Adverse],
            changed_since: Some("2026-10".into()),
            ..Selected::default()
        };
        let input = InputTotals { rows: 4, unreadable_rows: 1, ..InputTotals::default() };
        let (mode, last_answer_us) = (OutputMode::Simulated, Some(7));
        let facts = Facts {
            campaign: "2026-11",
            mode,
            input: &input,
            totals: &totals,
            selected: Some(&selected),
            last_answer_us,
        };
        let lines = lines(&facts, 2, &[vec!["aml".to_owned(), "aml (2)".to_owned()]]);
        let has = |wanted: [TableCell; 2]| lines.iter().any(|(line, _)| *line == wanted);
        let text = |text: &str| TableCell::text(text);
        assert!(has([text("campaign"), text("2026-11")]));
        assert!(
            lines[2].0[1] == text("invented by the simulator: they say nothing about a person, a company or a vehicle")
        );
        assert!(has([text("last answer (UTC)"), TableCell::Timestamp(7)]));
        let limits = "rows with the verdict review or adverse and a change since 2026-10";
        assert!(has([text("the other sheets have only"), text(limits)]));
        assert!(has([text("continued sheets"), text("aml, aml (2)")]));
        assert!(has([text("cells cut to 32767 characters"), TableCell::Integer(2)]));
        let last = &lines.last().unwrap().0;
        assert!(last[..3] == [text("aml"), TableCell::Integer(3), TableCell::Integer(2)]);
        assert_eq!(last.len(), lines[lines.len() - 2].0.len());
    }
}
