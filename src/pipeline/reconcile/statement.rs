//! A statement of the service: a list of charges in any format that an input can have. The service's description shows none, so the
//! columns are found by their names, or named by the user.

use super::super::returned_file::each_row;
use crate::{
    error::Error,
    model::{Row, nearest::hint, printable::printable},
    sink::unmarked,
    source::{Origin, SourceOptions, SourceReader},
};
use std::path::Path;

/// Names of columns that identify a request: its idempotency key, the service's id of the exchange, or that of its job. Compared
/// without case and separators.
const IDS: [&str; 8] = [
    "idempotencykey",
    "requestid",
    "jobid",
    "reference",
    "requestreference",
    "transactionid",
    "transactionreference",
    "id",
];
/// Names of columns with the charge, the best first.
const AMOUNTS: [&str; 7] = ["credits", "creditsused", "creditscharged", "creditscost", "charge", "charged", "amount"];

/// Where the ids and amounts of a statement are.
pub struct Columns<'a> {
    /// Columns that identify a request. Without any, they are found by their names.
    pub ids: &'a [String],
    pub amount: Option<&'a str>,
}

/// A line of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementLine {
    pub line: u64,
    /// What may identify the request. Empty for a line that is about none, such as a sum.
    pub ids: Vec<String>,
    /// As the statement has it: charges may be negative.
    pub amount: i64,
}

/// The columns in use.
struct Found {
    ids: Vec<String>,
    amount: String,
}

/// Reads a statement.
///
/// # Errors
/// It cannot be read, has no such columns, or an amount is not a whole number.
pub fn read(path: &Path, columns: &Columns<'_>, mut each: impl FnMut(StatementLine)) -> Result<(), Error> {
    let shown = path.display().to_string();
    let origin = Origin::File(path.to_owned());
    let reader = SourceReader::open(shown.as_str().into(), origin, &SourceOptions::default(), None)?;
    let mut found: Option<Found> = None;
    each_row(reader, &format!("--statement {shown}"), |row| {
        let found = match &mut found {
            Some(found) => found,
            None => found.insert(columns_of(row, columns)?),
        };
        each(line_of(row, found)?);
        Ok(())
    })
}

fn columns_of(row: &Row, wanted: &Columns<'_>) -> Result<Found, String> {
    let names: Vec<String> = row.to_json().keys().cloned().collect();
    let listed = || {
        let names: Vec<String> = names.iter().take(40).map(|name| format!("`{}`", printable(name))).collect();
        names.join(", ")
    };
    let named = |name: &String| match row.get(name) {
        Some(_) => Ok(name.clone()),
        None => Err(format!(
            "expected the column `{}`, found {}{}",
            printable(name),
            listed(),
            hint(name, names.iter().map(String::as_str))
        )),
    };
    let is_called = |name: &String, known: &str| plain(name) == known;
    let ids = match wanted.ids {
        [] => IDS.iter().flat_map(|known| names.iter().filter(move |name| is_called(name, known))).cloned().collect(),
        ids => ids.iter().map(named).collect::<Result<Vec<_>, _>>()?,
    };
    if ids.is_empty() {
        return Err(format!(
            "expected a column that identifies a request, such as `request_id` or `idempotency_key`, found {}; name it with --id \
             COLUMN",
            listed()
        ));
    }
    let amount = match wanted.amount {
        Some(amount) => Some(named(&amount.to_owned())?),
        None => AMOUNTS.iter().find_map(|known| names.iter().find(|name| is_called(name, known))).cloned(),
    };
    let amount = amount.ok_or_else(|| {
        format!(
            "expected a column with the charge, such as `credits`, found {}; name it with --amount COLUMN",
            listed()
        )
    })?;
    Ok(Found { ids, amount })
}

/// The name of a column without case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn line_of(row: &Row, found: &Found) -> Result<StatementLine, String> {
    let text = |column: &String| {
        let cell = row.get(column).and_then(|cell| cell.to_text()).unwrap_or_default();
        unmarked(cell.trim()).to_owned()
    };
    let ids = found.ids.iter().map(text).filter(|id| !id.is_empty()).collect();
    let amount = text(&found.amount);
    let amount = amount_of(&amount).ok_or_else(|| {
        format!(
            "column `{}`: expected a whole number of credits, such as 2 or -2, found another text",
            printable(&found.amount)
        )
    })?;
    Ok(StatementLine { line: row.position.line, ids, amount })
}

/// A whole number, also as a spreadsheet program writes it: `-2.00`. An empty cell is 0.
fn amount_of(cell: &str) -> Option<i64> {
    if cell.is_empty() {
        return Some(0);
    }
    let (whole, fraction) = cell.split_once('.').unwrap_or((cell, "0"));
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    let amount: i64 = whole.replace('\u{2212}', "-").parse().ok().filter(|_| is_whole)?;
    // Room to add up many.
    (amount.unsigned_abs() <= 1 << 40).then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, ids: &[String], amount: Option<&str>) -> Result<Vec<(u64, Vec<String>, i64)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statement.csv");
        std::fs::write(&path, text).unwrap();
        let mut found = Vec::new();
        let read = read(&path, &Columns { ids, amount }, |one| found.push((one.line, one.ids, one.amount)));
        read.map(|()| found).map_err(|error| error.to_string().replace(&path.display().to_string(), "S"))
    }

    #[test]
    fn ids_and_amounts_are_found_by_the_names_that_statements_have() {
        let text =
            "Date;Request ID;Idempotency-Key;Product;Credits\n2026-11-01;r-1;;AML;1\n;;;Total;-2.00\n;r-2;k-2;;\n";
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let expected = [(2, ids(&["r-1"]), 1), (3, ids(&[]), -2), (4, ids(&["k-2", "r-2"]), 0)];
        assert_eq!(lines(text, &[], None).unwrap(), expected);
        let named = lines("ref,id,credits,rand\nr-1,9,2,7\n", &["ref".to_owned()], Some("Rand"));
        assert_eq!(named.unwrap(), [(2, ids(&["r-1"]), 7)]);
    }

    #[test]
    fn what_is_missing_or_no_number_is_named() {
        let fault = |text: &str, ids: &[String]| lines(text, ids, None).unwrap_err();
        assert!(
            fault("a,credits\nx,1\n", &[])
                .contains("--statement S, line 2: expected a column that identifies a request")
        );
        assert!(fault("id,b\nx,1\n", &[]).contains("such as `credits`, found `id`, `b`; name it with --amount COLUMN"));
        assert!(fault("id,credits\nx,1\n", &["idd".to_owned()]).contains("found `id`, `credits`; did you mean `id`?"));
        for amount in ["1.5", "R 1", "1 000", "1.", "--1", "9999999999999"] {
            let fault = fault(&format!("id,credits\nx,2\ny,{amount}\n"), &[]);
            assert!(fault.contains("line 3: column `credits`: expected a whole number"), "{fault}");
        }
    }
}
