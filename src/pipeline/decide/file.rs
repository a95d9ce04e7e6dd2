//! A worklist that a person has filled in, as CSV or as a sheet, in any format that an input can have.

use crate::{
    decisions::Word,
    error::Error,
    model::{Row, nearest::hint},
    pipeline::export::worklist::{DECISION, LAST_DECISION, MATCH_DIGEST, RESULT_ID, SUBJECT, WHY, WORKLIST},
    pipeline::returned_file::each_row,
    sink::unmarked,
    source::{Origin, SourceOptions, SourceReader},
};
use std::path::Path;

/// A row of a worklist with a decision.
#[derive(Debug)]
pub struct Filled {
    pub line: u64,
    pub word: Word,
    /// Empty if the person wrote no reason.
    pub why: String,
    pub subject: String,
    pub match_digest: String,
    /// The number of the last decision about the match when the worklist was made; 0 without one.
    pub last_decision: u64,
    pub result_id: String,
}

/// The rows of a worklist.
#[derive(Debug, Default)]
pub struct FilledWorklist {
    pub rows: Vec<Filled>,
    /// Rows without a decision.
    pub undecided: u64,
}

/// Reads a worklist.
///
/// # Errors
/// It cannot be read, lacks a column, or has another word as a decision.
pub fn read(path: &Path) -> Result<FilledWorklist, Error> {
    let shown = path.display();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    let is_workbook = ["xlsx", "xlsm", "xlsb", "xls", "ods"].contains(&extension.as_str());
    let open = |sheet: Option<&str>| {
        let options = SourceOptions { sheet: sheet.map(str::to_owned), ..SourceOptions::default() };
        SourceReader::open(shown.to_string().as_str().into(), Origin::File(path.to_owned()), &options, None)
    };
    let reader = match open(is_workbook.then_some(WORKLIST)) {
        // The only sheet of a workbook that was made from a CSV file has another name.
        Err(fault) if is_workbook => open(None).map_err(|_| fault)?,
        opened => opened?,
    };
    let mut worklist = FilledWorklist::default();
    each_row(reader, &format!("--from {shown}"), |row| {
        match filled(row)? {
            Some(row) => worklist.rows.push(row),
            None => worklist.undecided += 1,
        }
        Ok(())
    })?;
    Ok(worklist)
}

/// A row; `None` if it has no decision.
fn filled(row: &Row) -> Result<Option<Filled>, String> {
    let found = |column: &str| row.get(column).map(|cell| cell.to_text().unwrap_or_default());
    let text = |column: &str| {
        let cell = found(column).ok_or_else(|| {
            format!(
                "expected a worklist of `rescreen export --worklist` with the column `{column}`, found none; keep its columns"
            )
        })?;
        Ok::<_, String>(unmarked(cell.trim()).to_owned())
    };
    let decision = text(DECISION)?;
    if decision.is_empty() {
        return Ok(None);
    }
    Ok(Some(Filled {
        line: row.position.line,
        word: word(&decision)?,
        // A person may have removed the column.
        why: found(WHY).map(|cell| unmarked(cell.trim()).to_owned()).unwrap_or_default(),
        subject: text(SUBJECT)?,
        match_digest: text(MATCH_DIGEST)?,
        last_decision: last_decision(&text(LAST_DECISION)?)?,
        result_id: text(RESULT_ID)?,
    }))
}

/// A number of a decision, also as a spreadsheet program writes it: `12.0`.
fn last_decision(cell: &str) -> Result<u64, String> {
    let plain = cell.strip_suffix(".0").unwrap_or(cell);
    if plain.is_empty() {
        return Ok(0);
    }
    plain
        .parse()
        .map_err(|_| format!("column `{LAST_DECISION}`: expected the number of a decision, found another text"))
}

/// A decision as a person may write it: `Not accepted`, `not-accepted`.
fn word(text: &str) -> Result<Word, String> {
    let plain = text.to_lowercase().replace([' ', '-'], "_");
    let names = Word::ALL.map(Word::as_str);
    Word::ALL.into_iter().find(|word| word.as_str() == plain).ok_or_else(|| {
        // The cell is not repeated: if columns were moved, it may be of a person.
        format!(
            "column `{DECISION}`: expected `accepted`, `not_accepted` or nothing, found another text{}",
            hint(&plain, names)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(name: &str, text: &str) -> Result<FilledWorklist, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
    }

    const HEADER: &str = "decision,why,subject,last_decision,match_digest,result_id\n";

    #[test]
    fn a_decision_is_read_as_people_and_spreadsheets_write_it() {
        let text =
            format!("{HEADER}Accepted, other birth date ,'+27,,m-1,r1\n,,C-2,,m-1,r2\nNot accepted,,C-3,12.0,m-1,r3\n");
        for text in [text.clone(), text.replace(',', ";").replace('\n', "\r\n")] {
            let found = read_text("worklist.csv", &text).unwrap();
            let rows: Vec<_> = found.rows.iter().map(|row| (row.line, row.word, &*row.why, &*row.subject)).collect();
            let expected = [(2, Word::Accepted, "other birth date", "+27"), (4, Word::NotAccepted, "", "C-3")];
            assert_eq!((rows, found.undecided), (expected.to_vec(), 1));
        }
    }

    #[test]
    fn what_is_no_worklist_is_refused_with_its_line() {
        for (text, expected) in [
            (
                format!("{HEADER}acepted,,C-1,,m-1,r1\n"),
                "line 2: column `decision`: expected `accepted`, `not_accepted` or nothing, found another text; did you mean `accepted`?",
            ),
            (
                "decision,why\naccepted,x\n".to_owned(),
                "line 2: expected a worklist of `rescreen export --worklist` with the column `subject`",
            ),
            (
                "name\nA\n".to_owned(),
                "line 2: expected a worklist of `rescreen export --worklist` with the column `decision`",
            ),
        ] {
            let fault = read_text("worklist.csv", &text).unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
