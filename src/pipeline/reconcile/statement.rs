//! A statement of the service: a list of charges in any format that an input can have. The service's description shows none, so the
//! columns are found by their names, or named by the user.

use super::super::returned_file::each_row;
use crate::{
    error::Error,
    model::{Row, nearest::hint, printable::printable, row::find_column},
    sink::unmarked,
    source::{Origin, SourceOptions, SourceReader},
};
use std::path::Path;

/// Names of columns that identify a request, compared without case and separators: those of the first group of which a statement has
/// any. An `id` may only count lines, so it is the last.
const IDS: [&[&str]; 3] = [
    &["idempotencykey", "requestid", "jobid"],
    &["requestreference", "transactionid", "transactionreference", "reference"],
    &["id"],
];
/// Names of columns with the charge.
const AMOUNTS: [&str; 7] = ["credits", "creditsused", "creditscharged", "creditscost", "charge", "charged", "amount"];

/// Where the ids and amounts of a statement are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// Columns that identify a request. Without any, they are found by their names.
    pub ids: Vec<String>,
    /// The column with the charge. Without it, it is found by its name.
    pub amount: Option<String>,
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

/// Reads a statement, and returns the columns that were used.
///
/// # Errors
/// It cannot be read, has no such columns, `each` says what is wrong with a line, or an amount is not a whole number.
pub fn read(
    path: &Path,
    wanted: &Columns,
    mut each: impl FnMut(StatementLine) -> Result<(), String>,
) -> Result<Columns, Error> {
    let shown = path.display().to_string();
    let named = format!("--statement {shown}");
    let failed = |fault: String| Error::Config(format!("{named}: {fault}"));
    let origin = Origin::File(path.to_owned());
    let reader = SourceReader::open(shown.as_str().into(), origin, &SourceOptions::default(), None)?;
    // A table has the same columns in each line. An object of JSON Lines may lack some.
    let of_table = reader.layout().2.map(|names| columns_of(names, wanted)).transpose().map_err(failed)?;
    let mut used = of_table.clone().unwrap_or_default();
    each_row(reader, &named, |row| {
        let own;
        let columns = match &of_table {
            Some(columns) => columns,
            None => {
                let names: Vec<String> = row.to_json().keys().cloned().collect();
                own = Columns { ids: found_ids(&names, wanted), amount: found_amount(&names, wanted)? };
                for id in own.ids.iter().filter(|id| !used.ids.contains(id)).cloned().collect::<Vec<_>>() {
                    used.ids.push(id);
                }
                used.amount = used.amount.take().or_else(|| own.amount.clone());
                &own
            }
        };
        each(line_of(row, columns)?)
    })?;
    if used.ids.is_empty() || used.amount.is_none() {
        columns_of(&[], wanted).map_err(failed)?;
    }
    Ok(used)
}

/// The columns of a table.
fn columns_of(names: &[String], wanted: &Columns) -> Result<Columns, String> {
    let shown = || {
        let names: Vec<String> = names.iter().take(40).map(|name| format!("`{}`", printable(name))).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    for name in wanted.ids.iter().chain(&wanted.amount) {
        if find_column(names.iter().map(String::as_str), name).is_none() {
            let hint = hint(name, names.iter().map(String::as_str));
            return Err(format!("expected the column `{}`, found {}{hint}", printable(name), shown()));
        }
    }
    let first = "the first line must have the names of the columns";
    let ids = found_ids(names, wanted);
    if ids.is_empty() {
        return Err(format!(
            "expected a column that identifies a request, such as `request_id` or `idempotency_key`, found {}; {first}; name it \
             with --id COLUMN",
            shown()
        ));
    }
    let amount = found_amount(names, wanted)?.ok_or_else(|| {
        format!(
            "expected a column with the charge, such as `credits`, found {}; {first}; name it with --amount COLUMN",
            shown()
        )
    })?;
    Ok(Columns { ids, amount: Some(amount) })
}

fn found_ids(names: &[String], wanted: &Columns) -> Vec<String> {
    if !wanted.ids.is_empty() {
        return wanted.ids.clone();
    }
    let of_group = |group: &&[&str]| -> Vec<String> {
        group.iter().flat_map(|known| names.iter().filter(move |name| plain(name) == *known)).cloned().collect()
    };
    IDS.iter().map(of_group).find(|found| !found.is_empty()).unwrap_or_default()
}

fn found_amount(names: &[String], wanted: &Columns) -> Result<Option<String>, String> {
    if wanted.amount.is_some() {
        return Ok(wanted.amount.clone());
    }
    let mut found = names.iter().filter(|name| AMOUNTS.contains(&plain(name).as_str()));
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => Err(format!(
            "the columns `{}` and `{}` may both be the charge; name the one that is with --amount COLUMN",
            printable(one),
            printable(other)
        )),
        (one, _) => Ok(one.cloned()),
    }
}

/// The name of a column without case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn line_of(row: &Row, columns: &Columns) -> Result<StatementLine, String> {
    let text = |column: &String| {
        let cell = row.get(column).and_then(|cell| cell.to_text()).unwrap_or_default();
        unmarked(cell.trim()).to_owned()
    };
    let ids: Vec<String> = columns.ids.iter().map(text).filter(|id| !id.is_empty()).collect();
    let amount = columns.amount.as_ref().map(text).unwrap_or_default();
    let amount = match amount_of(&amount) {
        Some(amount) => amount,
        // A total may be written for people.
        None if ids.is_empty() => 0,
        None => {
            let column = columns.amount.as_deref().map(printable).unwrap_or_default();
            return Err(format!(
                "column `{column}`: expected a whole number of credits without separators, such as 1006 or -2, found another text"
            ));
        }
    };
    Ok(StatementLine { line: row.position.line, ids, amount })
}

/// A whole number, also as a spreadsheet program writes it: `-2.00`.
fn amount_of(cell: &str) -> Option<i64> {
    let (whole, fraction) = cell.split_once('.').unwrap_or((cell, "0"));
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    let amount: i64 = whole.replace('\u{2212}', "-").parse().ok().filter(|_| is_whole)?;
    // Room to add up many.
    (amount.unsigned_abs() <= 1 << 40).then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines = Vec<(u64, Vec<String>, i64)>;

    fn lines(name: &str, text: &str, ids: &[&str], amount: Option<&str>) -> Result<Lines, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut found = Vec::new();
        let wanted =
            Columns { ids: ids.iter().map(|id| (*id).to_owned()).collect(), amount: amount.map(str::to_owned) };
        let read = read(&path, &wanted, |one| {
            found.push((one.line, one.ids, one.amount));
            Ok(())
        });
        read.map(|_| found).map_err(|error| error.to_string().replace(&path.display().to_string(), "S"))
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn ids_and_amounts_are_found_by_the_names_that_statements_have() {
        let text =
            "Id;Request ID;Idempotency-Key;Product;Credits\n1;r-1;;AML;1\n2;;;Total;R 1,006.00\n3;r-2;k-2;;-2.00\n";
        let expected = [(2, ids(&["r-1"]), 1), (3, ids(&[]), 0), (4, ids(&["k-2", "r-2"]), -2)];
        assert_eq!(lines("s.csv", text, &[], None).unwrap(), expected);
        let named = lines("s.csv", "ref,id,credits,rand\nr-1,9,2,7\n", &["ref"], Some("Rand"));
        assert_eq!(named.unwrap(), [(2, ids(&["r-1"]), 7)]);
    }

    #[test]
    fn each_object_of_json_lines_has_its_own_columns() {
        let text = "{\"note\":\"November\",\"credits\":3}\n{\"request_id\":\"r-1\",\"credits\":1}\n\
                    {\"idempotency_key\":\"k-2\",\"charge\":2}\n";
        let expected = [(1, ids(&[]), 3), (2, ids(&["r-1"]), 1), (3, ids(&["k-2"]), 2)];
        assert_eq!(lines("s.jsonl", text, &[], None).unwrap(), expected);
        for (amount, line) in [("null", 1), ("[1]", 1), ("1.5", 1)] {
            let fault = lines("s.jsonl", &format!("{{\"id\":\"r\",\"credits\":{amount}}}\n"), &[], None).unwrap_err();
            assert!(fault.contains(&format!("line {line}: column `credits`: expected a whole number")), "{fault}");
        }
        assert!(lines("s.jsonl", "{\"a\":1}\n", &[], None).unwrap_err().contains("identifies a request"));
    }

    #[test]
    fn what_is_missing_ambiguous_or_no_number_is_named() {
        let fault = |text: &str, ids: &[&str]| lines("s.csv", text, ids, None).unwrap_err();
        assert!(fault("a,credits\n", &[]).contains("--statement S: expected a column that identifies a request"));
        assert!(
            fault("id,b\nx,1\n", &[])
                .contains("such as `credits`, found `id`, `b`; the first line must have the names")
        );
        assert!(fault("id,credits\nx,1\n", &["idd"]).contains("found `id`, `credits`; did you mean `id`?"));
        assert!(fault("id,credits,credits used\nx,1,1\n", &[]).contains("may both be the charge"));
        for amount in ["1.5", "R 1", "\"1,006\"", "1.", "--1", "", "9999999999999"] {
            let fault = fault(&format!("id,credits\nx,2\ny,{amount}\n"), &[]);
            assert!(fault.contains("line 3: column `credits`: expected a whole number"), "{fault}");
        }
    }
}
