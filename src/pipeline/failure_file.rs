//! A file of the rows that fail, to be corrected in a spreadsheet program: the columns of the input, then where the row
//! is and why it fails. It is readable by its owner only and takes bounded memory. `plan --failures` writes one that
//! replaces no file, and each publication one that replaces the earlier one.
//!
//! The columns are known only at the end, because rows of JSON may have any. So the rows go into an unnamed temporary
//! file first.

use crate::{
    error::Error,
    files,
    model::{Failure, Position},
    sink::{BYTE_ORDER_MARK, FAILURES_CSV_TEMPORARY, SinkError, WrittenFile, harmless},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Seek, Write},
    path::{Path, PathBuf},
};
use tempfile::{Builder, NamedTempFile};

/// The columns after those of the input. A published file has no line: a corrected row is known by its number, and its
/// `result_id` says to which campaign it belongs. A plan has no results.
pub const ADDED: [&str; 6] = ["_source", "_row_number", LINE, "_code", "_message", RESULT_ID];
const LINE: &str = "_line";
pub const RESULT_ID: &str = "_result_id";
/// The column for the text of a row that could not be split into columns.
pub const RAW: &str = "_raw";
/// Further columns are left out. Rows of JSON could have a new one each.
const COLUMNS_MAX: usize = 10_000;

/// A row that fails, with its cells.
pub struct FailedRow {
    added: [String; ADDED.len()],
    input: Value,
}

impl FailedRow {
    /// `result_id` is empty in a plan.
    pub fn new(
        position: &Position,
        check_name: Option<&str>,
        failure: &Failure,
        result_id: String,
        input: Value,
    ) -> FailedRow {
        let message = match check_name {
            Some(name) => format!("{name}: {}", failure.message),
            None => failure.message.clone(),
        };
        let (row_number, line) = (position.row_number.to_string(), position.line.to_string());
        FailedRow {
            added: [
                position.source.to_string(),
                row_number,
                line,
                failure.code.as_str().to_owned(),
                message,
                result_id,
            ],
            input,
        }
    }
}

/// The file being written. It appears under its name when it is complete.
pub struct FailureFile {
    path: PathBuf,
    rows: BufWriter<File>,
    is_published: bool,
    columns: Vec<String>,
    places: HashMap<String, usize>,
    count: u64,
}

impl FailureFile {
    /// Begins the file. `columns` are those that are known of the input.
    ///
    /// # Errors
    /// A file has this name, or its folder cannot be written.
    pub fn create(path: &Path, columns: Vec<String>) -> Result<FailureFile, Error> {
        let shown = path.display();
        if path.as_os_str() == "-" {
            return Err(Error::Config("--failures -: expected the name of a new file, found `-`".to_owned()));
        }
        if std::fs::symlink_metadata(path).is_ok() {
            return Err(Error::Config(format!(
                "--failures {shown}: a file with this name exists and is not replaced; remove it, or name another file"
            )));
        }
        if !files::folder_of(path).is_dir() {
            return Err(Error::Config(format!(
                "--failures {shown}: expected a file in an existing folder, found no folder {}",
                files::folder_of(path).display()
            )));
        }
        FailureFile::begin(path, columns, false)
    }

    /// Begins a file that will replace the one of this name.
    ///
    /// # Errors
    /// Its folder cannot be written.
    pub fn replacing(path: &Path, columns: Vec<String>) -> Result<FailureFile, Error> {
        FailureFile::begin(path, columns, true)
    }

    fn begin(path: &Path, columns: Vec<String>, is_published: bool) -> Result<FailureFile, Error> {
        let rows = tempfile::tempfile_in(files::folder_of(path)).map_err(|fault| failed(path, "creating", fault))?;
        let mut file = FailureFile {
            is_published,
            path: path.to_owned(),
            rows: BufWriter::with_capacity(256 << 10, rows),
            columns: Vec::new(),
            places: HashMap::new(),
            count: 0,
        };
        for column in &columns {
            file.place(column);
        }
        Ok(file)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, row: &FailedRow) -> Result<(), Error> {
        let mut cells: Vec<(usize, String)> = Vec::new();
        match &row.input {
            Value::Object(input) => {
                for (name, value) in input {
                    cells.extend(self.place(name).map(|place| (place, text_of(value))));
                }
            }
            other => cells.extend(self.place(RAW).map(|place| (place, text_of(other)))),
        }
        let line = serde_json::to_string(&(cells, &row.added)).map_err(|error| Error::Internal(error.to_string()))?;
        self.count += 1;
        writeln!(self.rows, "{line}").map_err(|fault| failed(&self.path, "writing", fault))
    }

    /// The place of a column; `None` if there are too many.
    fn place(&mut self, name: &str) -> Option<usize> {
        if let Some(place) = self.places.get(name) {
            return Some(*place);
        }
        let place = self.columns.len();
        if place >= COLUMNS_MAX {
            return None;
        }
        self.columns.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        Some(place)
    }

    /// Writes the file and returns the number of its rows. Without a row there is no file.
    ///
    /// # Errors
    /// It cannot be written, or another file got its name meanwhile.
    pub fn end(mut self) -> Result<u64, Error> {
        if self.count == 0 {
            return Ok(0);
        }
        let path = std::mem::take(&mut self.path);
        let count = self.count;
        let file = self.written(&path).map_err(|fault| failed(&path, "writing", fault))?;
        file.persist_noclobber(&path).map_err(|error| failed(&path, "renaming", error.error))?;
        Ok(count)
    }

    /// Writes the file in the place of an earlier one. Returns what was written; without a row there is no file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end_replacing(mut self) -> Result<Option<WrittenFile>, Error> {
        if self.count == 0 {
            return Ok(None);
        }
        let path = std::mem::take(&mut self.path);
        let rows = self.count;
        let (file, sha256) = self
            .written(&path)
            .and_then(|mut file| digest_of(file.as_file_mut()).map(|sha256| (file, sha256)))
            .map_err(|fault| failed(&path, "writing", fault))?;
        let bytes = file.as_file().metadata().map_err(|fault| failed(&path, "writing", fault))?.len();
        file.persist(&path).map_err(|error| failed(&path, "renaming", error.error))?;
        files::sync_folder(files::folder_of(&path)).map_err(|fault| failed(&path, "fsync of the folder", fault))?;
        Ok(Some(WrittenFile { rows, bytes, sha256 }))
    }

    fn written(mut self, path: &Path) -> io::Result<NamedTempFile> {
        self.rows.flush()?;
        let mut rows = self.rows.into_inner().map_err(io::IntoInnerError::into_error)?;
        rows.rewind()?;
        // Only its owner can read a temporary file, and it keeps that mode.
        let file = Builder::new().prefix(FAILURES_CSV_TEMPORARY).suffix(".tmp").tempfile_in(files::folder_of(path))?;
        let mut file = BufWriter::with_capacity(256 << 10, file);
        // Without it, a spreadsheet program may read the letters of another encoding.
        file.write_all(BYTE_ORDER_MARK)?;
        let mut writer = csv::Writer::from_writer(file);
        let left_out = if self.is_published { LINE } else { RESULT_ID };
        let is_kept = |name: &str| name != left_out;
        let added = ADDED.into_iter().filter(|name| is_kept(name));
        let names = self.columns.iter().map(String::as_str).chain(added);
        writer.write_record(names.map(|name| harmless(name).into_owned()))?;
        for line in BufReader::with_capacity(256 << 10, rows).lines() {
            let (cells, added): (Vec<(usize, String)>, Vec<String>) = serde_json::from_str(&line?)?;
            let mut record = vec![String::new(); self.columns.len()];
            for (place, text) in cells {
                record[place] = text;
            }
            let added = ADDED.iter().zip(&added).filter(|(name, _)| is_kept(name)).map(|(_, text)| text);
            writer.write_record(record.iter().chain(added).map(|text| harmless(text).into_owned()))?;
        }
        let file = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        Ok(file)
    }
}

/// The SHA-256 of a file, in hexadecimal.
fn digest_of(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    files::sha256_of(file)
}

fn failed(path: &Path, step: &'static str, fault: io::Error) -> Error {
    SinkError::Storage { path: path.to_owned(), step, fault }.into()
}

/// A value as the text of a cell. A list or an object is JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FailureCode;
    use serde_json::json;

    fn row(number: u64, input: Value) -> FailedRow {
        let position = Position { source: "a.csv".into(), row_number: number, line: number + 1, byte_offset: 0 };
        FailedRow::new(
            &position,
            None,
            &Failure::map(FailureCode::MissingValue, "expected a name"),
            format!("id{number}"),
            input,
        )
    }

    #[test]
    fn the_columns_of_all_rows_come_before_the_reasons() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failures.csv");
        let mut file = FailureFile::create(&path, vec!["no".to_owned(), "name".to_owned()]).unwrap();
        file.add(&row(1, json!({ "no": "7", "name": "" }))).unwrap();
        file.add(&row(2, json!({ "no": 8, "more": [1, null] }))).unwrap();
        file.add(&row(3, json!("{\"no\": "))).unwrap();
        assert_eq!(file.end().unwrap(), 3);
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "\u{feff}no,name,more,_raw,_source,_row_number,_line,_code,_message\n\
             7,,,,a.csv,1,2,missing_value,expected a name\n\
             8,,\"[1,null]\",,a.csv,2,3,missing_value,expected a name\n\
             ,,,\"{\"\"no\"\": \",a.csv,3,4,missing_value,expected a name\n"
        );
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file is left");
    }

    #[test]
    fn a_published_file_replaces_the_earlier_one_and_has_no_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failures.csv");
        for number in [1, 2] {
            let mut file = FailureFile::replacing(&path, vec!["no".to_owned()]).unwrap();
            file.add(&row(number, json!({ "no": "=7" }))).unwrap();
            let written = file.end_replacing().unwrap().unwrap();
            let text = std::fs::read(&path).unwrap();
            assert_eq!((written.rows, written.bytes), (1, text.len() as u64));
            assert_eq!(written.sha256, files::sha256_of(text.as_slice()).unwrap());
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = "\u{feff}no,_source,_row_number,_code,_message,_result_id\n\
                        '=7,a.csv,2,missing_value,expected a name,id2\n";
        assert_eq!(text, expected);
        assert_eq!(FailureFile::replacing(&path, Vec::new()).unwrap().end_replacing().unwrap(), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn an_existing_file_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failures.csv");
        let mut late = FailureFile::create(&path, Vec::new()).unwrap();
        late.add(&row(1, json!({ "no": "7" }))).unwrap();
        std::fs::write(&path, "mine").unwrap();
        assert!(late.end().is_err(), "it appeared meanwhile");
        let message = FailureFile::create(&path, Vec::new()).err().unwrap().to_string();
        assert!(message.contains("exists and is not replaced"), "{message}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        let nowhere = FailureFile::create(&folder.path().join("no/failures.csv"), Vec::new()).err().unwrap();
        assert!(nowhere.to_string().contains("found no folder"), "{nowhere}");
    }

    #[test]
    fn columns_beyond_the_limit_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failures.csv");
        let mut file = FailureFile::create(&path, Vec::new()).unwrap();
        for number in 0..=COLUMNS_MAX as u64 {
            file.add(&row(number, json!({ format!("c{number}"): "x" }))).unwrap();
        }
        assert_eq!(file.columns.len(), COLUMNS_MAX);
    }
}
