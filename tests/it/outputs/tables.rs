//! Tables that are read back contain what was written, in both formats.

use super::{names, row, schema, write};
use arrow::{
    array::{Array, AsArray, RecordBatch},
    datatypes::{DataType, Date32Type, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType},
};
use parquet::{
    arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
    basic::LogicalType,
    file::reader::{FileReader, SerializedFileReader},
};
use rescreen::{
    catalogue::ColumnValue,
    model::{Credits, Failure, FailureCode, IdempotencyKey, Verdict},
    sink::{
        AnswerSource, Column, FailureRow, Head, Kind, OutputFormat, OutputMode, PendingReason, PendingRow, ResultForm,
        ResultRow, Schema, SinkError, SkippedRow, TableCell, TableWriter, failures_schema, pending_schema,
        results_schema, skipped_schema,
    },
};
use sha2::{Digest, Sha256};
use std::{fs, fs::File, path::Path};

fn read(path: &Path) -> (Vec<RecordBatch>, usize) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let row_groups = builder.metadata().num_row_groups();
    (builder.build().unwrap().map(Result::unwrap).collect(), row_groups)
}

#[test]
fn parquet_that_is_read_back_has_the_written_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let written = write(&path, OutputFormat::Parquet, 20_000).unwrap();
    let (batches, row_groups) = read(&path);
    assert_eq!(row_groups, 2);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 20_000);
    let types: Vec<DataType> = batches[0].schema().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(
        types,
        [
            DataType::Utf8,
            DataType::Int64,
            DataType::Float64,
            DataType::Boolean,
            DataType::Date32,
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            DataType::Utf8
        ]
    );
    let columns = batches[0].columns();
    assert_eq!(columns[0].as_string::<i32>().value(7), "0007");
    assert_eq!(columns[1].as_primitive::<Int64Type>().value(7), 7);
    assert_eq!(columns[2].as_primitive::<Float64Type>().value(7), 1.75);
    assert!(!columns[3].as_boolean().value(7));
    assert_eq!(columns[4].as_primitive::<Date32Type>().value(7), 20_777);
    assert_eq!(columns[5].as_primitive::<TimestampMicrosecondType>().value(7), 1_795_132_800_000_007);
    assert_eq!(columns[6].as_string::<i32>().value(7), r#"{"status":"no match","n":7}"#);
    assert!(columns[1..].iter().all(|column| column.is_null(8)) && columns[0].is_valid(8));

    let bytes = fs::read(&path).unwrap();
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((written.rows, written.bytes, written.sha256), (20_000, bytes.len() as u64, digest));
}

/// A table with a column of JSON, and rows of it. The last text is not JSON.
fn write_json(path: &Path, format: OutputFormat) {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, nullable: true };
    let schema = Schema { columns: vec![column("id", Kind::Text), column("answer", Kind::Json)] };
    let mut writer = TableWriter::create(path, format, &schema).unwrap();
    for (id, text) in [
        ("a", "{\"score\": 1.50,\r\n \"n\": 12345678901234567890123, \"s\": \"a\\nb\"}"),
        ("b", "[]"),
        ("c", "half {\n"),
    ] {
        writer.write_row(vec![TableCell::text(id), TableCell::json(text)]).unwrap();
    }
    writer.write_row(vec![TableCell::text("d"), TableCell::Null]).unwrap();
    writer.finish().unwrap();
}

#[test]
fn json_is_nested_in_json_lines_with_the_digits_of_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.jsonl");
    write_json(&path, OutputFormat::Jsonl);
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        "{\"id\":\"a\",\"answer\":{\"score\": 1.50, \"n\": 12345678901234567890123, \"s\": \"a\\nb\"}}\n\
         {\"id\":\"b\",\"answer\":[]}\n{\"id\":\"c\",\"answer\":\"half {\\n\"}\n{\"id\":\"d\",\"answer\":null}\n"
    );
}

#[test]
fn json_has_its_logical_type_in_parquet_and_is_text_for_arrow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    write_json(&path, OutputFormat::Parquet);
    let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let logical = |at: usize| file.metadata().file_metadata().schema_descr().column(at).logical_type_ref().cloned();
    assert_eq!((logical(0), logical(1)), (Some(LogicalType::String), Some(LogicalType::Json)));
    let (batches, _) = read(&path);
    let answers = batches[0].column(1).as_string::<i32>();
    assert!(answers.value(0).starts_with("{\"score\": 1.50,\r\n"), "unchanged: {}", answers.value(0));
    assert_eq!((answers.value(2), answers.is_null(3)), ("\"half {\\n\"", true));
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for format in [OutputFormat::Parquet, OutputFormat::Jsonl] {
        let [first, second] = ["first", "second"].map(|name| folder.path().join(format!("{name}.{format}")));
        assert_eq!(write(&first, format, 40_000).unwrap(), write(&second, format, 40_000).unwrap());
        assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
    }
}

/// A part is written again byte for byte after a crash, so its bytes must not depend on the process either. If an
/// upgrade of arrow, parquet or zstd changes this digest, unfinished campaigns are affected: mention it in the
/// release notes.
#[test]
fn the_same_rows_give_the_same_bytes_in_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let written = write(&folder.path().join("part.parquet"), OutputFormat::Parquet, 40_000).unwrap();
    assert_eq!(written.sha256, "58b275170148dcf8520e0f6b32a9041bad9ce2b58c227c26fac946be9dc73ecb");
}

#[test]
fn large_answers_end_a_row_group_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let mut writer = TableWriter::create(&path, OutputFormat::Parquet, &schema()).unwrap();
    for n in 0..80 {
        let mut row = row(n);
        row[6] = TableCell::Text("x".repeat(1 << 20));
        writer.write_row(row).unwrap();
    }
    writer.finish().unwrap();
    let (batches, row_groups) = read(&path);
    assert_eq!(row_groups, 3);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 80);
}

#[test]
fn json_lines_contain_every_column_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.jsonl");
    let written = write(&path, OutputFormat::Jsonl, 3).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1],
        r#"{"id":"0001","n":1,"x":0.25,"ok":false,"day":"2026-11-20","at":"2026-11-20T00:00:00.000001Z","answer":"{\"status\":\"no match\",\"n\":1}"}"#
    );
    assert_eq!(lines[2], r#"{"id":"0002","n":null,"x":null,"ok":null,"day":null,"at":null,"answer":null}"#);
    assert_eq!((lines.len(), written.rows, written.bytes), (3, 3, text.len() as u64));
}

#[test]
fn a_table_without_rows_is_a_valid_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    assert_eq!(write(&path, OutputFormat::Parquet, 0).unwrap().rows, 0);
    assert!(read(&path).0.is_empty());
}

#[test]
fn a_row_that_does_not_match_the_schema_is_an_error_that_does_not_repeat_the_value() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TableWriter::create(&folder.path().join("part.jsonl"), OutputFormat::Jsonl, &schema()).unwrap();
    let mut row = row(1);
    row[1] = TableCell::text("Thandi");
    let message = writer.write_row(row).unwrap_err().to_string();
    assert!(
        message.ends_with("a row does not match the columns of its table: column `n`: expected integer, found text"),
        "{message}"
    );
}

#[test]
fn a_row_of_each_dataset_fits_its_schema() {
    let catalogue = rescreen::catalogue::Catalogue::built_in();
    let answer = &catalogue.get("aml-screening").unwrap().answer.columns;
    let results =
        results_schema(&[("Branch".to_owned(), Kind::Text)], answer, &["surname".to_owned()], ResultForm::default())
            .unwrap();
    let head = Head {
        campaign: "2026-11",
        mode: OutputMode::Sandbox,
        check_name: Some("aml-screening"),
        subject: Some("0012"),
        source: "customers.csv",
        row_number: 12,
    };
    let key = IdempotencyKey::from_slice(&[7; 16]).unwrap();
    let result = ResultRow {
        head,
        verdict: Verdict::Review,
        finding: "name_match".to_owned(),
        carried: vec![TableCell::Null],
        columns: vec![ColumnValue::Null; answer.len()],
        expected: vec![Some(false)],
        completed_at_us: 1,
        credits: Credits(2),
        answer_source: AnswerSource::Sent,
        request_id: None,
        idempotency_key: key,
        http_status: Some(200),
        attempts: 1,
        latency_ms: Some(31),
        requested_at_us: None,
        sent: "{}".into(),
        answer: "{\"score\": 1.50,\n \"n\": 12345678901234567890123}".into(),
        answer_is_json: false,
        answer_digest: "0f".to_owned(),
        decisions: None,
        reused_from: None,
    };
    let failure = Failure::read(FailureCode::RaggedRow, "expected 2 columns, found 1");
    let failure = FailureRow {
        head: Head { check_name: None, subject: None, ..head },
        failure: &failure,
        http_status: None,
        attempts: 0,
        possibly_charged: false,
        retryable: false,
        line: 13,
        byte_offset: 400,
        idempotency_key: None,
        input: "{}",
    };
    let pending = PendingRow {
        head,
        reason: PendingReason::InDoubt,
        job_id: None,
        deadline_us: Some(5),
        credits: None,
        answer: None,
    };
    let skipped = SkippedRow { head, reason: "when" };
    let folder = tempfile::tempdir().unwrap();
    let line = |schema: &Schema, cells: Vec<TableCell>| {
        let path = folder.path().join("part.jsonl");
        let mut writer = TableWriter::create(&path, OutputFormat::Jsonl, schema).unwrap();
        writer.write_row(cells).unwrap();
        writer.finish().unwrap();
        let line = fs::read_to_string(&path).unwrap();
        fs::remove_file(path).unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    let result = line(&results, result.into_cells(ResultForm::default()));
    assert_eq!((&result["verdict"], &result["credits"]), (&"review".into(), &2.into()));
    assert_eq!(result["idempotency_key"], "07070707-0707-0707-0707-070707070707");
    assert_eq!(result["completed_at"], "1970-01-01T00:00:00.000001Z");
    assert!(result["branch"].is_null());
    assert_eq!((&result["answer"]["score"], &result["answer_digest"]), (&1.5.into(), &"0f".into()));
    let failure = line(&failures_schema(), failure.cells());
    assert!(failure["check_name"].is_null());
    assert_eq!((&failure["code"], &failure["line"]), (&"ragged_row".into(), &13.into()));
    let pending = line(&pending_schema(), pending.cells());
    assert_eq!((&pending["reason"], &pending["result_id"]), (&"in_doubt".into(), &result["result_id"]));
    assert_eq!(line(&skipped_schema(), skipped.cells())["reason"], "when");
}

#[test]
fn an_abandoned_writer_leaves_no_file_and_keeps_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    for format in [OutputFormat::Parquet, OutputFormat::Jsonl] {
        let path = folder.path().join("part");
        fs::write(&path, "old").unwrap();
        let mut writer = TableWriter::create(&path, format, &schema()).unwrap();
        for n in 0..3_000 {
            writer.write_row(row(n)).unwrap();
        }
        assert_eq!(names(folder.path()), [".part.tmp", "part"]);
        drop(writer);
        assert_eq!(names(folder.path()), ["part"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}

#[test]
fn a_stale_temporary_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".part.tmp"), "half a row of an earlier run").unwrap();
    write(&folder.path().join("part"), OutputFormat::Jsonl, 1).unwrap();
    assert_eq!(names(folder.path()), ["part"]);
    assert_eq!(fs::read_to_string(folder.path().join("part")).unwrap().lines().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("results"), "a file in the way").unwrap();
    match write(&folder.path().join("results/aml/part"), OutputFormat::Parquet, 1) {
        Err(SinkError::Storage { path, step, .. }) => {
            assert_eq!((path, step), (folder.path().join("results/aml"), "creating the folder"));
        }
        other => panic!("{other:?}"),
    }
}
