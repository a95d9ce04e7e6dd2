//! The promise: a query of an output finds typed columns, whatever the campaign has answered so far. JSON is JSON, a
//! dataset without rows is a table, and a campaign keeps the columns that it was begun with.

use crate::support::{
    ran::results,
    tables::{files, text},
    world::{AML, World},
};
use parquet::{
    basic::LogicalType,
    file::reader::{FileReader, SerializedFileReader},
};
use rescreen::{
    model::ExitCode,
    sink::{ColumnType, DatasetKind, Kind, OutputFormat},
};
use std::{
    fs::{self, File},
    path::Path,
};

fn kind_of(schema: &[ColumnType], name: &str) -> Option<Kind> {
    schema.iter().find(|column| column.name == name).map(|column| column.kind)
}

fn is_json(path: &Path, name: &str) -> bool {
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = file.metadata().file_metadata().schema_descr();
    let column = schema.columns().iter().find(|column| column.name() == name).unwrap();
    column.logical_type_ref() == Some(&LogicalType::Json)
}

#[tokio::test]
async fn a_dataset_without_rows_has_a_part_with_all_columns() {
    for format in [OutputFormat::Parquet, OutputFormat::Jsonl] {
        let mut world = World::new().rows(3).max_credits(0).campaign(|file| file.output.format = Some(format));
        let ran = world.run().await.exits(ExitCode::Budget).counts(results(0).pending(3));
        for dataset in &ran.manifest().datasets {
            let [part] = dataset.parts.as_slice() else { panic!("{:?}: {:?}", dataset.kind, dataset.parts) };
            assert_eq!(part.rows, if dataset.kind == DatasetKind::Pending { 3 } else { 0 });
            let path = ran.out.join(&part.path);
            if format == OutputFormat::Parquet {
                let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
                let columns = file.metadata().file_metadata().schema_descr().num_columns();
                assert_eq!(columns, dataset.schema.len(), "{}", part.path);
            } else {
                assert_eq!(fs::metadata(path).unwrap().len(), part.bytes);
            }
        }
        let empty = format!("results/{AML}/part-000000.{format}");
        assert_eq!(ran.manifest().datasets[0].parts[0].path, empty);
        let mut world = world.max_credits(100);
        let ran = world.run().await.exits(ExitCode::Complete).counts(results(3)).adds_up(true);
        let parts = &ran.manifest().datasets[0].parts;
        assert_eq!((parts.len(), parts[0].path.as_str(), parts[0].rows), (2, empty.as_str(), 0), "it stays");
        assert_eq!(files(&ran.out, "results").len(), 2);
    }
}

#[tokio::test]
async fn the_columns_of_json_are_json_and_the_digest_is_after_them() {
    let mut world = World::new().rows(3);
    world.append("book.csv", "torn\n");
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(3).failures(1));
    let manifest = ran.manifest();
    let schema = |kind| &manifest.datasets.iter().find(|one| one.kind == kind).unwrap().schema;
    for (kind, name) in [
        (DatasetKind::Results, "sent"),
        (DatasetKind::Results, "answer"),
        (DatasetKind::Failures, "input"),
        (DatasetKind::Pending, "answer"),
    ] {
        assert_eq!(kind_of(schema(kind), name), Some(Kind::Json), "{name}");
    }
    let last: Vec<&str> = schema(DatasetKind::Results).iter().rev().map(|column| &*column.name).take(3).collect();
    assert_eq!(last, ["reused_from", "decisions", "answer_digest"]);
    assert!(is_json(&ran.out.join(&manifest.datasets[0].parts[0].path), "answer"));
    let spec = manifest.datasets[0].answer_digest.as_ref().unwrap();
    assert_eq!(spec.compared, ["/match", "/matches", "/totalHits"]);
    for line in ran.results() {
        let answer = serde_json::from_str(text(line, "answer")).unwrap();
        assert_eq!(text(line, "answer_digest"), spec.digest(&answer), "a reader can make it from the answer");
    }
}
