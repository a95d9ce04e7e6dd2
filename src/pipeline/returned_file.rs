//! A file that rescreen wrote and a person returns, edited in a spreadsheet program: failed rows with corrections, or a worklist
//! with decisions. Its faults name the option and the line.

use crate::{
    error::Error,
    model::{FailureCode, Record, Row},
    source::SourceReader,
};

/// Gives every row to `each`. `named` is the option with the file, as a user wrote it.
///
/// # Errors
/// The file or a row cannot be read, or `each` says what is wrong with a row.
pub fn each_row(
    mut reader: SourceReader,
    named: &str,
    mut each: impl FnMut(&Row) -> Result<(), String>,
) -> Result<(), Error> {
    while let Some(split) = reader.next_split()? {
        for record in split.records {
            let (line, read) = match record {
                Record::Row(row) => (row.position.line, each(&row)),
                Record::Damaged { position, failure, .. } => {
                    let fault = match failure.code {
                        // What the message of an input advises does not help here.
                        FailureCode::InvalidUtf8 => {
                            "expected UTF-8, found other bytes; save the file as `CSV UTF-8`".to_owned()
                        }
                        _ => failure.message,
                    };
                    (position.line, Err(fault))
                }
            };
            read.map_err(|fault| Error::Config(format!("{named}, line {line}: {fault}")))?;
        }
    }
    Ok(())
}
