//! An onlooker reads the outputs of a run while it is under way, as a warehouse would, by pattern and by manifest.
//! Decides what a reader must never see: a row that is partial, duplicate or gone again, or a part that differs from
//! the manifest.

use arrow::array::{Array, AsArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rescreen::sink::{DatasetKind, Manifest};
use sha2::{Digest, Sha256};
use std::{
    collections::HashSet,
    fs::{self, File},
    path::{Path, PathBuf},
};

/// Reads one output folder again and again.
pub struct Onlooker {
    out: PathBuf,
    /// Every result that was ever seen. This set only grows.
    seen: HashSet<String>,
}

impl Onlooker {
    pub fn of(out: &Path) -> Onlooker {
        Onlooker { out: out.to_owned(), seen: HashSet::new() }
    }

    /// The violations that a reader sees now.
    pub fn look(&mut self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut now = HashSet::new();
        for part in result_files(&self.out) {
            match ids(&part) {
                Ok(ids) => {
                    let again = ids.into_iter().filter(|id| !now.insert(id.clone()));
                    faults.extend(again.map(|id| format!("the result {id} is a duplicate")));
                }
                Err(fault) => faults.push(format!("{}: {fault}", part.display())),
            }
        }
        faults.extend(self.seen.difference(&now).map(|id| format!("the result {id} has disappeared")));
        self.seen.extend(now);
        faults.extend(self.named());
        faults
    }

    /// Every part that the manifest names exists, with its bytes. A snapshot may be replaced while it is read: that is
    /// allowed if the manifest was replaced too.
    fn named(&self) -> Vec<String> {
        let manifest = match Manifest::read(&self.out) {
            Ok(None) => return Vec::new(),
            Ok(Some(manifest)) => manifest,
            Err(fault) => return vec![fault.to_string()],
        };
        let mut faults = Vec::new();
        for dataset in &manifest.datasets {
            for part in &dataset.parts {
                let found = fs::read(self.out.join(&part.path)).map(|bytes| hex(&Sha256::digest(bytes)));
                if found.as_ref().is_ok_and(|sha256| *sha256 == part.sha256) {
                    continue;
                }
                let replaced = || Manifest::read(&self.out).ok().flatten().as_ref() != Some(&manifest);
                if dataset.kind == DatasetKind::Results || !replaced() {
                    faults.push(format!("{}: expected SHA-256 {}, found {found:?}", part.path, part.sha256));
                }
            }
        }
        faults
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `results/**/*.parquet`, or the same for JSON lines. A temporary file starts with a dot, and no pattern matches it.
pub fn result_files(out: &Path) -> Vec<PathBuf> {
    let files = super::tables::files(out, "results").into_iter();
    let visible = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        (name.ends_with(".parquet") || name.ends_with(".jsonl")) && !name.starts_with('.')
    };
    files.filter(visible).map(|path| out.join(path)).collect()
}

/// The `result_id` of each row of a part, read to its end.
pub fn ids(part: &Path) -> Result<Vec<String>, String> {
    if part.extension().is_some_and(|extension| extension == "jsonl") {
        return ids_of_lines(&fs::read_to_string(part).map_err(|error| error.to_string())?);
    }
    let file = File::open(part).map_err(|error| error.to_string())?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
    let mut ids = Vec::new();
    for batch in reader.map_err(|error| error.to_string())? {
        let batch = batch.map_err(|error| error.to_string())?;
        let column = batch.column_by_name("result_id").ok_or("it has no result_id")?.as_string::<i32>().clone();
        ids.extend((0..column.len()).map(|row| column.value(row).to_owned()));
    }
    Ok(ids)
}

fn ids_of_lines(text: &str) -> Result<Vec<String>, String> {
    let id = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        line["result_id"].as_str().map(str::to_owned).ok_or_else(|| "it has no result_id".to_owned())
    };
    text.lines().map(id).collect()
}
