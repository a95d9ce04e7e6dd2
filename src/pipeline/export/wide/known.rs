//! What is known of a row in each check: the columns after those of the input. Their names are unique, also if the input
//! is an earlier export of this kind.

use crate::{
    pipeline::{
        compare::{ChangedRow, Outcome},
        export::standing::Standing,
    },
    sink::{Column, Kind, TableCell, column_name},
};
use std::{collections::HashSet, iter::repeat_n};

/// What is known of one check of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    pub standing: Standing,
    pub result: Option<KnownResult>,
    /// How it changed since an earlier round.
    pub changed: Option<ChangedRow>,
}

/// What is known of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownResult {
    pub finding: String,
    /// When the answer came, in microseconds since 1970.
    pub completed_at_us: i64,
    /// The cells of the check's own columns.
    pub cells: Vec<TableCell>,
}

/// A check and its own columns.
pub struct KnownCheck {
    pub name: String,
    pub columns: Vec<Column>,
}

/// The columns after those of the input.
pub struct KnownColumns {
    pub checks: Vec<KnownCheck>,
    /// Two columns of each check say how it changed.
    pub has_changes: bool,
}

impl KnownColumns {
    /// The columns of the input, those of the checks, and the mode of the campaign.
    pub fn after(&self, mut columns: Vec<Column>) -> Vec<Column> {
        let mut taken: HashSet<String> = columns.iter().map(|column| column.name.to_lowercase()).collect();
        let mut add = |name: String, kind| {
            let numbered = |number: u32| if number == 1 { name.clone() } else { format!("{name}_{number}") };
            let unique = (1..).map(numbered).find(|name| taken.insert(name.to_lowercase()));
            columns.push(Column { name: unique.unwrap_or(name), kind, nullable: true });
        };
        for check in &self.checks {
            let name = column_name(&check.name);
            let mut add = |ending: &str, kind| add(format!("{name}_{ending}"), kind);
            if self.has_changes {
                add("change", Kind::Text);
                add("before", Kind::Text);
            }
            add("verdict", Kind::Text);
            add("finding", Kind::Text);
            add("date", Kind::Date);
            add("failure", Kind::Text);
            check.columns.iter().for_each(|column| add(&column.name, column.kind));
        }
        add("_mode".to_owned(), Kind::Text);
        columns
    }

    /// The cells of the checks of a row.
    pub fn cells(&self, known: Vec<Option<Known>>) -> Vec<TableCell> {
        let mut cells = Vec::new();
        for (check, known) in self.checks.iter().zip(known) {
            if self.has_changes {
                let changed = known.as_ref().and_then(|known| known.changed);
                cells.push(TableCell::or_null(changed, |one| TableCell::text(one.change.as_str())));
                cells.push(TableCell::or_null(changed.and_then(|one| one.before), before));
            }
            cells.extend(ended(known.as_ref()));
            match known.and_then(|known| known.result) {
                Some(result) => cells.extend(result.cells),
                None => cells.extend(repeat_n(TableCell::Null, check.columns.len())),
            }
        }
        cells
    }
}

/// The verdict of an earlier round, or how it ended without one.
fn before(outcome: Outcome) -> TableCell {
    TableCell::text(outcome.verdict().map_or(outcome.as_str(), |verdict| verdict.as_str()))
}

/// How one check of a row ended.
fn ended(known: Option<&Known>) -> [TableCell; 4] {
    let null = || TableCell::Null;
    let Some(known) = known else { return [null(), null(), null(), null()] };
    match (&known.result, known.standing) {
        (Some(result), Standing::Result(verdict)) => {
            let finding = TableCell::text(result.finding.as_str());
            [TableCell::text(verdict.as_str()), finding, day(result.completed_at_us), null()]
        }
        (_, standing) => [null(), null(), null(), TableCell::Text(reason(standing))],
    }
}

/// Why there is no result.
fn reason(standing: Standing) -> String {
    match standing {
        Standing::Failed(code) => code.as_str().to_owned(),
        Standing::Pending(reason) => format!("pending_{}", reason.as_str()),
        Standing::Skipped => "skipped".to_owned(),
        Standing::Result(verdict) => verdict.as_str().to_owned(),
    }
}

/// The day of a time, in UTC.
fn day(at_us: i64) -> TableCell {
    let at = jiff::Timestamp::from_microsecond(at_us).ok();
    TableCell::or_null(at, |at| TableCell::Date(at.to_zoned(jiff::tz::TimeZone::UTC).date()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{FailureCode, Verdict},
        pipeline::compare::Change,
        sink::PendingReason,
    };

    fn column(name: &str) -> Column {
        Column { name: name.to_owned(), kind: Kind::Text, nullable: true }
    }

    fn check(name: &str, columns: &[&str]) -> KnownCheck {
        KnownCheck { name: name.to_owned(), columns: columns.iter().map(|name| column(name)).collect() }
    }

    fn known(standing: Standing) -> Known {
        Known { standing, result: None, changed: None }
    }

    #[test]
    fn each_check_has_its_columns_and_no_name_is_there_twice() {
        let known = |has_changes| KnownColumns {
            checks: vec![check("aml", &["match_count"]), check("id-check", &[])],
            has_changes,
        };
        let input = || vec![column("No"), column("AML_verdict"), column("_mode")];
        let names = |has_changes| {
            let columns = known(has_changes).after(input());
            columns.into_iter().map(|column| column.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names(false),
            "No AML_verdict _mode aml_verdict_2 aml_finding aml_date aml_failure aml_match_count id_check_verdict \
             id_check_finding id_check_date id_check_failure _mode_2"
        );
        assert!(names(true).contains("aml_change aml_before aml_verdict_2"), "{}", names(true));
    }

    #[test]
    fn a_row_without_a_result_says_why_and_has_as_many_cells() {
        let columns = KnownColumns { checks: vec![check("aml", &["a", "b"])], has_changes: true };
        for (standing, expected) in [
            (Standing::Failed(FailureCode::MissingValue), "missing_value"),
            (Standing::Pending(PendingReason::ServiceJob), "pending_service_job"),
            (Standing::Skipped, "skipped"),
        ] {
            let changed = Some(ChangedRow { change: Change::FailedNow, before: Some(Outcome::Result(Verdict::Clear)) });
            let cells = columns.cells(vec![Some(Known { changed, ..known(standing) })]);
            let (text, null) = (|text: &str| TableCell::text(text), || TableCell::Null);
            let ended = [text("failed_now"), text("clear"), null(), null(), null(), text(expected), null(), null()];
            assert!(cells == ended, "{cells:?}");
        }
        // 2026-11-20T23:59:59.999999Z
        let completed_at_us = 1_795_219_199_999_999;
        let result = KnownResult { finding: "name_match".to_owned(), completed_at_us, cells: Vec::new() };
        let found = Known { result: Some(result), ..known(Standing::Result(Verdict::Review)) };
        let day = TableCell::Date(jiff::civil::date(2026, 11, 20));
        assert!(
            ended(Some(&found)) == [TableCell::text("review"), TableCell::text("name_match"), day, TableCell::Null]
        );
        assert!(columns.cells(vec![None]).iter().all(|cell| *cell == TableCell::Null));
    }
}
