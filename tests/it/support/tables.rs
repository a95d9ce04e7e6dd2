//! Output tables as lines: both formats become the same JSON objects, so that a test states its expectation once.

use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use rescreen::sink::{DatasetKind, Manifest};
use serde_json::{Map, Value, value::RawValue};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
};

/// One row of an output.
pub type Line = Map<String, Value>;

/// The lines of one file, Parquet or JSON lines.
pub fn read(path: &Path) -> Vec<Line> {
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        let text = fs::read_to_string(path).unwrap();
        return text.lines().map(with_json_as_text).collect();
    }
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let line = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect::<Line>()
    };
    reader.get_row_iter(None).unwrap().map(|row| line(row.unwrap())).collect()
}

/// A line of JSON lines with its nested values as texts, as the columns of JSON in Parquet are: unchanged, also with a
/// name twice in one object.
fn with_json_as_text(text: &str) -> Line {
    let written: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
    let as_text = |(name, value): (String, Value)| match value {
        Value::Object(_) | Value::Array(_) => {
            let text = written[&name].get().to_owned();
            (name, text.into())
        }
        value => (name, value),
    };
    serde_json::from_str::<Line>(text).unwrap().into_iter().map(as_text).collect()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(truth) => (*truth).into(),
        Field::Int(number) | Field::Date(number) => (*number).into(),
        Field::Long(number) | Field::TimestampMicros(number) => (*number).into(),
        Field::Double(number) => (*number).into(),
        Field::Str(text) => text.as_str().into(),
        other => panic!("no column of ours holds {other:?}"),
    }
}

/// The lines of one kind that the manifest of an output folder names.
pub fn lines(out: &Path, kind: DatasetKind) -> Vec<Line> {
    let manifest = manifest(out);
    let wanted = manifest.datasets.iter().filter(|one| one.kind == kind);
    wanted
        .flat_map(|dataset| &dataset.parts)
        .flat_map(|part| {
            let lines = read(&out.join(&part.path));
            assert_eq!(lines.len() as u64, part.rows, "{}", part.path);
            lines
        })
        .collect()
}

pub fn manifest(out: &Path) -> Manifest {
    Manifest::read(out).unwrap().expect("nothing was published")
}

/// All files of an output folder below `under`, hidden ones too, sorted.
pub fn files(folder: &Path, under: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder.join(under)) else { return found };
    for entry in entries {
        let entry = entry.unwrap();
        // No leading slash: joined to the folder it would lead out of it.
        let name = format!("{under}/{}", entry.file_name().to_string_lossy()).trim_start_matches('/').to_owned();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(folder, &name));
        } else {
            found.push(name.into());
        }
    }
    found.sort();
    found
}

/// The text of a cell.
pub fn text<'a>(line: &'a Line, column: &str) -> &'a str {
    line[column].as_str().unwrap_or_else(|| panic!("`{column}` is not text: {}", line[column]))
}

/// The whole number in a cell.
pub fn number(line: &Line, column: &str) -> i64 {
    line[column].as_i64().unwrap_or_else(|| panic!("`{column}` is not a number: {}", line[column]))
}
