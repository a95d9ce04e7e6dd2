//! What is known of a row in each check: the columns after those of the input. Their names are unique, also if the input
//! is an earlier export of this kind.

use crate::{
    model::Judgement,
    pipeline::export::standing::Standing,
    sink::{Column, Kind, TableCell, column_name},
};
use std::collections::HashSet;

/// What is known of one check of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub standing: Standing,
    /// The judgement of the answer, and when it came, in microseconds since 1970.
    pub judgement: Option<(Judgement, i64)>,
}

/// The columns of the checks with these names, after those of the input, and the mode of the campaign.
pub fn with_known(mut columns: Vec<Column>, checks: &[&str]) -> Vec<Column> {
    let mut taken: HashSet<String> = columns.iter().map(|column| column.name.to_lowercase()).collect();
    let mut add = |name: String, kind| {
        let numbered = |number: u32| if number == 1 { name.clone() } else { format!("{name}_{number}") };
        let unique = (1..).map(numbered).find(|name| taken.insert(name.to_lowercase()));
        columns.push(Column { name: unique.unwrap_or(name), kind, nullable: true });
    };
    for check in checks {
        let check = column_name(check);
        for (ending, kind) in
            [("verdict", Kind::Text), ("finding", Kind::Text), ("date", Kind::Date), ("failure", Kind::Text)]
        {
            add(format!("{check}_{ending}"), kind);
        }
    }
    add("_mode".to_owned(), Kind::Text);
    columns
}

/// The cells of one check of a row.
pub fn cells(known: Option<&Known>) -> [TableCell; 4] {
    let null = || TableCell::Null;
    let Some(known) = known else { return [null(), null(), null(), null()] };
    match (&known.judgement, known.standing) {
        (Some((judgement, at_us)), Standing::Result(verdict)) => {
            let finding = TableCell::text(judgement.finding.as_str());
            [TableCell::text(verdict.as_str()), finding, day(*at_us), null()]
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
    TableCell::or_null(at.map(|at| TableCell::Date(at.to_zoned(jiff::tz::TimeZone::UTC).date())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{FailureCode, Verdict},
        sink::PendingReason,
    };

    #[test]
    fn each_check_has_four_columns_and_no_name_is_there_twice() {
        let input = |name: &str| Column { name: name.to_owned(), kind: Kind::Text, nullable: true };
        let columns = with_known(vec![input("No"), input("AML_verdict"), input("_mode")], &["aml", "id-check"]);
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let expected = "No AML_verdict _mode aml_verdict_2 aml_finding aml_date aml_failure id_check_verdict \
                        id_check_finding id_check_date id_check_failure _mode_2";
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn a_row_without_a_result_says_why() {
        let reasons = [
            (Standing::Failed(FailureCode::MissingValue), "missing_value"),
            (Standing::Pending(PendingReason::ServiceJob), "pending_service_job"),
            (Standing::Skipped, "skipped"),
        ];
        for (standing, expected) in reasons {
            let cells = cells(Some(&Known { standing, judgement: None }));
            assert!(cells[..3].iter().all(|cell| *cell == TableCell::Null));
            assert!(cells[3] == TableCell::text(expected), "{expected}");
        }
        let judgement = Judgement { verdict: Verdict::Review, finding: "name_match".to_owned() };
        // 2026-11-20T23:59:59.999999Z
        let judgement = Some((judgement, 1_795_219_199_999_999));
        let known = Known { standing: Standing::Result(Verdict::Review), judgement };
        let day = TableCell::Date(jiff::civil::date(2026, 11, 20));
        assert!(
            cells(Some(&known)) == [TableCell::text("review"), TableCell::text("name_match"), day, TableCell::Null]
        );
        assert!(cells(None).iter().all(|cell| *cell == TableCell::Null));
    }
}
