//! Compares the CSV reader with Python's: equal cells from equal bytes, without rows of empty cells, for files with
//! quotes, line ends, delimiters and all of Unicode in their cells. Without `python3` nothing is compared, and the test says so.

use super::cases;
use proptest::{collection::vec, prelude::*};
use rescreen::{
    model::Record,
    source::{Format, Origin, SourceOptions, SourceReader},
};
use std::{
    io::{Cursor, Write},
    process::{Command, Stdio},
};

const PYTHON: &str = "
import csv, io, json, sys
def rows(text, delimiter):
    return [row for row in csv.reader(io.StringIO(text, newline=''), delimiter=delimiter) if any(cell.strip() for cell in row)]
json.dump([rows(text, delimiter) for text, delimiter in json.load(sys.stdin)], sys.stdout)
";

/// A file as text, and its delimiter.
type Csv = (String, char);

/// A cell as it is written in the file.
fn cell() -> impl Strategy<Value = String> {
    let quoted = |text: String| format!("\"{}\"", text.replace('"', "\"\""));
    prop_oneof![
        3 => "[a-zA-Z0-9 .'#\\\\-]{1,8}",
        1 => Just(String::new()),
        2 => "[a-z][a-z\" ]{0,5}",
        3 => "[a-z\",;|\t\r\n]{0,8}".prop_map(quoted),
        2 => "\\PC{0,8}".prop_map(quoted),
        1 => "0[0-9]{1,12}|1e5|TRUE|NaN|-0|1\\.10",
    ]
}

fn file() -> impl Strategy<Value = Csv> {
    let line_end = prop::sample::select(vec!["\n", "\r\n"]);
    let delimiter = prop::sample::select(vec![',', ';', '\t', '|']);
    let rows = (1..6_usize).prop_flat_map(|columns| vec(vec(cell(), columns), 0..8));
    (rows, line_end, delimiter, any::<bool>()).prop_map(|(rows, line_end, delimiter, ends)| {
        let columns = rows.first().map_or(1, Vec::len);
        let header: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
        let lines = std::iter::once(header).chain(rows).map(|cells| cells.join(&delimiter.to_string()));
        let mut text = lines.collect::<Vec<_>>().join(line_end);
        if ends {
            text += line_end;
        }
        (text, delimiter)
    })
}

fn read_with_rescreen((text, delimiter): &Csv) -> Vec<Vec<String>> {
    let delimiter = Some(*delimiter as u8);
    let options = SourceOptions { format: Some(Format::Csv), delimiter, ..SourceOptions::default() };
    let origin = Origin::Reader(Box::new(Cursor::new(text.clone().into_bytes())));
    let mut reader = SourceReader::open("input".into(), origin, &options, None).unwrap();
    let header = reader.layout().2.unwrap().to_vec();
    let mut rows = vec![header];
    while let Some(split) = reader.next_split().unwrap() {
        rows.extend(split.records.iter().map(|record| match record {
            Record::Row(row) => row.to_json().values().map(|cell| cell.as_str().unwrap().to_owned()).collect(),
            Record::Damaged { failure, .. } => vec![format!("damaged: {}", failure.message)],
        }));
    }
    rows
}

/// What Python reads. `None` without Python.
fn read_with_python(files: &[Csv]) -> Option<Vec<Vec<Vec<String>>>> {
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(&serde_json::to_vec(files).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..cases(2) })]

    #[test]
    fn cells_are_those_that_python_reads(files in vec(file(), 100)) {
        let Some(there) = read_with_python(&files) else {
            eprintln!("SKIPPED: there is no python3 to compare with");
            return Ok(());
        };
        for (file, there) in files.iter().zip(there) {
            prop_assert_eq!(read_with_rescreen(file), there, "{:?}", file);
        }
    }
}
