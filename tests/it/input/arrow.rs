//! Arrow data: a value has the text that it has in Parquet, a stream that was cut short never counts as whole, and memory has a limit.

use super::{known_of, shown, splits_of};
use crate::support::arrow::stream_of;
use arrow::{
    array::{
        Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
        DictionaryArray, DurationSecondArray, Float64Array, Int32Array, Int64Array, LargeBinaryArray, LargeListArray,
        LargeStringArray, ListArray, RecordBatch, RunArray, StringArray, StringViewArray, StructArray,
        TimestampMillisecondArray, TimestampNanosecondArray,
    },
    datatypes::{DataType, Field, Int32Type},
    ipc::writer::FileWriter,
};
use parquet::arrow::ArrowWriter;
use rescreen::source::{Origin, SourceError, SourceOptions, SourceReader, Split};
use std::{
    io::{self, Cursor, Read},
    sync::Arc,
};

fn open(bytes: impl Read + Send + 'static) -> Result<SourceReader, SourceError> {
    SourceReader::open("-".into(), Origin::Reader(Box::new(bytes)), &SourceOptions::default(), None)
}

fn splits(bytes: &[u8]) -> Result<Vec<Split>, SourceError> {
    splits_of(open(Cursor::new(bytes.to_vec()))?)
}

fn rows(bytes: &[u8]) -> Vec<String> {
    splits(bytes).unwrap().iter().flat_map(|split| &split.records).map(shown).collect()
}

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(name, array)| (*name, array.clone(), true))).unwrap()
}

/// The rows of the same columns in a Parquet file.
fn rows_of_parquet(columns: &[(&str, ArrayRef)]) -> Vec<String> {
    let batch = batch(columns);
    let file = tempfile::Builder::new().suffix(".parquet").tempfile().unwrap();
    let mut writer = ArrowWriter::try_new(file.reopen().unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let origin = Origin::File(file.path().to_owned());
    let reader = SourceReader::open("-".into(), origin, &SourceOptions::default(), None).unwrap();
    splits_of(reader).unwrap().iter().flat_map(|split| &split.records).map(shown).collect()
}

fn people() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("no", Arc::new(Int64Array::from_iter_values(1..=5)) as ArrayRef),
        ("name", Arc::new(StringArray::from(vec!["Thandi", "Sipho", "Zoë", "", "Anna"]))),
    ]
}

#[test]
fn a_value_has_the_text_that_it_has_in_parquet() {
    let inner = StructArray::from(vec![(
        Arc::new(Field::new("b", DataType::Utf8, true)),
        Arc::new(StringArray::from(vec![Some("x\n\"y\""), None])) as ArrayRef,
    )]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i64", Arc::new(Int64Array::from(vec![Some(i64::MIN), None]))),
        ("text", Arc::new(StringArray::from(vec![Some("0012"), Some(" Zoë \u{1F600}")]))),
        ("f64", Arc::new(Float64Array::from(vec![8_001_015_009_087.0, 0.1]))),
        ("decimal", Arc::new(Decimal128Array::from(vec![110, -5]).with_precision_and_scale(38, 2).unwrap())),
        ("date", Arc::new(Date32Array::from(vec![Some(3_653), None]))),
        ("instant", Arc::new(TimestampNanosecondArray::from(vec![0, 1_000_000_001]).with_timezone("UTC"))),
        ("local", Arc::new(TimestampMillisecondArray::from(vec![315_619_200_000, 1_500]))),
        ("truth", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some("é".as_bytes()), None]))),
        ("inner", Arc::new(inner)),
    ];
    assert_eq!(rows(&stream_of(&columns, 1)), rows_of_parquet(&columns));
}

#[test]
fn types_that_only_arrow_has_are_read_as_their_values() {
    let list = |large: bool| -> ArrayRef {
        let items = [Some(vec![Some(1), None]), None];
        match large {
            true => Arc::new(LargeListArray::from_iter_primitive::<Int32Type, _, _>(items)),
            false => Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(items)),
        }
    };
    let plain: Vec<(&str, ArrayRef)> = vec![
        ("large", Arc::new(StringArray::from(vec![Some("0012"), None]))),
        ("view", Arc::new(StringArray::from(vec![Some("a longer text than a view holds itself"), None]))),
        ("category", Arc::new(StringArray::from(vec!["x", "y"]))),
        ("runs", Arc::new(StringArray::from(vec!["x", "y"]))),
        ("bytes", Arc::new(StringArray::from(vec!["é", ""]))),
        ("day", Arc::new(Date32Array::from(vec![Some(3_653), None]))),
        ("list", list(false)),
    ];
    let others: Vec<(&str, ArrayRef)> = vec![
        ("large", Arc::new(LargeStringArray::from(vec![Some("0012"), None]))),
        ("view", Arc::new(StringViewArray::from(vec![Some("a longer text than a view holds itself"), None]))),
        ("category", Arc::new(DictionaryArray::<Int32Type>::from_iter(["x", "y"]))),
        ("runs", Arc::new(["x", "y"].into_iter().collect::<RunArray<Int32Type>>())),
        ("bytes", Arc::new(LargeBinaryArray::from_vec(vec!["é".as_bytes(), b""]))),
        ("day", Arc::new(Date64Array::from(vec![Some(3_653 * 86_400_000), None]))),
        ("list", list(true)),
    ];
    assert_eq!(rows(&stream_of(&others, 2)), rows_of_parquet(&plain));
}

#[test]
fn a_file_is_read_as_the_stream_in_it() {
    let batch = batch(&people());
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let file = writer.into_inner().unwrap();
    assert_eq!(rows(&file), rows(&stream_of(&people(), 2)));
}

#[test]
fn what_follows_the_end_of_a_stream_is_not_passed_over() {
    let stream = stream_of(&people(), 2);
    for more in [stream.clone(), b"\0".to_vec()] {
        let refused = splits(&[stream.clone(), more].concat()).map(drop).unwrap_err().to_string();
        assert!(refused.contains("write all rows as one stream"), "{refused}");
    }
    let batch = batch(&people());
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let file = writer.into_inner().unwrap();
    let refused = splits(&file[..file.len() - 20]).map(drop).unwrap_err().to_string();
    assert!(refused.contains("rows may be missing"), "{refused}");
}

#[test]
fn few_bytes_that_claim_many_rows_do_not_fill_the_memory() {
    let ends = Int32Array::from(vec![1_500_000_000]);
    let runs: ArrayRef = Arc::new(RunArray::try_new(&ends, &StringArray::from(vec!["abc"])).unwrap());
    let refused = splits(&stream_of(&[("runs", runs)], usize::MAX)).map(drop).unwrap_err().to_string();
    assert!(refused.contains("16,777,216 rows in a batch"), "{refused}");
    // A dictionary that repeats a long text: more than 2 GiB if it were written out at once.
    let long = "x".repeat(1 << 20);
    let values = StringArray::from(vec![long.as_str()]);
    let keys = Int32Array::from(vec![0; 2_100]);
    let column: ArrayRef = Arc::new(DictionaryArray::try_new(keys, Arc::new(values)).unwrap());
    let mut reader = open(Cursor::new(stream_of(&[("d", column)], 2_100))).unwrap();
    assert_eq!(reader.next_split().unwrap().unwrap().records.len(), 4, "4 MiB of it");
}

#[test]
fn a_stream_that_was_cut_anywhere_is_never_whole() {
    let whole = stream_of(&people(), 2);
    assert_eq!(rows(&whole).len(), 5);
    for length in 8..whole.len() {
        let cut = splits(&whole[..length]);
        // The first half of the end mark is an end mark, as the first releases of Arrow wrote it.
        let message = cut.map(drop).expect_err("a stream without its end").to_string();
        assert!(message.contains("Arrow data"), "{length}: {message}");
    }
}

#[test]
fn a_changed_byte_is_an_error_or_another_value_and_never_a_panic() {
    let whole = stream_of(&people(), 5);
    for at in 8..whole.len() {
        for change in [0x01, 0x55, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            if let Err(error) = splits(&damaged) {
                let message = error.to_string();
                assert!(message.starts_with("-: "), "byte {at}: {message}");
                assert!(!message.contains("Thandi"), "byte {at}: {message}");
            }
        }
    }
}

#[test]
fn a_batch_without_an_end_is_refused_before_it_fills_the_memory() {
    // A schema of 1.9 GiB.
    let claim = Cursor::new([&b"\xff\xff\xff\xff"[..], &0x7000_0000_u32.to_le_bytes()].concat());
    let refused = open(claim.chain(io::repeat(0))).err().unwrap().to_string();
    assert!(refused.contains("at most 256 MiB of Arrow data and 16,777,216 rows in a batch"), "{refused}");
}

#[test]
fn columns_that_have_no_text_and_columns_of_one_name_are_named() {
    let refused = |columns: &[(&str, ArrayRef)]| splits(&stream_of(columns, 9)).map(drop).unwrap_err().to_string();
    let wait: ArrayRef = Arc::new(DurationSecondArray::from(vec![1]));
    assert!(refused(&[("wait", wait)]).contains("column `wait`: values of the type duration are not supported"));
    let twice = [people()[0].clone(), people()[0].clone()];
    assert!(refused(&twice).contains("columns 1 and 2 have the same name"));
}

#[test]
fn a_stream_that_was_read_before_is_recognised_by_its_rows() {
    let (_, known) = known_of(open(Cursor::new(stream_of(&people(), 2))).unwrap());
    let again = |columns: &[(&str, ArrayRef)]| {
        let origin = Origin::Reader(Box::new(Cursor::new(stream_of(columns, 4))));
        SourceReader::open("-".into(), origin, &SourceOptions::default(), Some(&known)).map(drop)
    };
    again(&people()).unwrap();
    let mut changed = people();
    let names = changed[1].1.as_string::<i32>().iter().map(|name| name.filter(|name| *name != "Zoë"));
    changed[1].1 = Arc::new(names.collect::<StringArray>());
    assert_eq!(changed[1].1.null_count(), 1);
    assert!(again(&changed).unwrap_err().to_string().contains("change"), "another name");
}
