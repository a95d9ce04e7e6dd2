//! Parquet: the values of every supported type are exact, damage is an error or a failure of its row, and memory has a
//! limit whatever a file claims.

use super::{known_of, place, shown, splits_of};
use arrow::{
    array::{
        ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray,
        FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int64Array, ListArray, RecordBatch, StringArray,
        StructArray, Time32MillisecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
        TimestampNanosecondArray, UInt64Array,
    },
    datatypes::{DataType, Field, Int32Type, i256},
};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion},
};
use rescreen::source::{KnownSource, Origin, SourceError, SourceOptions, SourceReader, Split};
use std::sync::Arc;
use tempfile::TempDir;

/// A file named `book.parquet` in its own folder.
struct Book(TempDir);

impl Book {
    fn of(bytes: &[u8]) -> Book {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("book.parquet"), bytes).unwrap();
        Book(folder)
    }

    fn open(&self, options: &SourceOptions, known: Option<&KnownSource>) -> Result<SourceReader, SourceError> {
        let origin = Origin::File(self.0.path().join("book.parquet"));
        SourceReader::open("book.parquet".into(), origin, options, known)
    }

    fn splits(&self) -> Result<Vec<Split>, SourceError> {
        splits_of(self.open(&SourceOptions::default(), None)?)
    }

    fn rows(&self) -> Vec<String> {
        self.splits().unwrap().iter().flat_map(|split| &split.records).map(shown).collect()
    }

    fn refused(&self) -> String {
        self.splits().map(drop).unwrap_err().to_string()
    }
}

fn zstd() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()))
}

fn written(columns: &[(&str, ArrayRef)], properties: WriterPropertiesBuilder) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(name, array)| (*name, array.clone(), true)));
    let batch = batch.unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn people(count: i64) -> Vec<(&'static str, ArrayRef)> {
    let names: Vec<String> = (1..=count).map(|at| format!("P{at:05} Vexford")).collect();
    vec![
        ("no", Arc::new(Int64Array::from_iter_values(1..=count)) as ArrayRef),
        ("name", Arc::new(StringArray::from(names))),
    ]
}

#[test]
fn values_of_every_type_are_exact() {
    let wide = i256::from_string(&"9".repeat(60)).unwrap();
    let uuid = [0u8, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let inner = StructArray::from(vec![
        (
            Arc::new(Field::new("a", DataType::Int8, true)),
            Arc::new(Int8Array::from(vec![Some(1), None, None])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("b", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("x\n\"y\""), None, Some("")])),
        ),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i64", Arc::new(Int64Array::from(vec![Some(i64::MAX), Some(i64::MIN), None]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None]))),
        ("text", Arc::new(StringArray::from(vec![Some("0012"), Some(" Zoë \u{1F600}"), None]))),
        ("dictionary", Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("a"), Some("b"), Some("a")]))),
        ("f64", Arc::new(Float64Array::from(vec![8_001_015_009_087.0, 1e21, 0.1]))),
        ("f32", Arc::new(Float32Array::from(vec![0.1, -0.0, 16_777_216.0]))),
        ("decimal", Arc::new(Decimal128Array::from(vec![110, -5, 0]).with_precision_and_scale(38, 2).unwrap())),
        (
            "wide",
            Arc::new(
                Decimal256Array::from(vec![Some(wide), Some(i256::ONE), None]).with_precision_and_scale(70, 0).unwrap(),
            ),
        ),
        ("date", Arc::new(Date32Array::from(vec![Some(3_653), Some(-719_162), None]))),
        (
            "local",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(315_619_200_000_000),
                Some(1_500_000),
                Some(253_402_300_799_000_000),
            ])),
        ),
        (
            "instant",
            Arc::new(
                TimestampNanosecondArray::from(vec![Some(0), Some(1_000_000_001), None])
                    .with_timezone("Africa/Johannesburg"),
            ),
        ),
        ("time", Arc::new(Time32MillisecondArray::from(vec![Some(3_723_004), Some(0), None]))),
        ("fine", Arc::new(Time64NanosecondArray::from(vec![Some(86_399_999_999_999), Some(1), None]))),
        ("truth", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some("é".as_bytes()), Some(b""), None]))),
        ("fixed", Arc::new(FixedSizeBinaryArray::try_from_iter([uuid; 3].into_iter()).unwrap())),
        ("list", Arc::new(list)),
        ("inner", Arc::new(inner)),
    ];
    let expected = [
        r#"{"i64":9223372036854775807,"u64":18446744073709551615,"text":"0012","dictionary":"a","f64":8001015009087,"f32":0.1,"decimal":"1.10","wide":"999999999999999999999999999999999999999999999999999999999999","date":"1980-01-02","local":"1980-01-02","instant":"1970-01-01T00:00:00Z","time":"01:02:03.004","fine":"23:59:59.999999999","truth":true,"bytes":"é","fixed":"00112233445566778899aabbccddeeff","list":[1,null],"inner":{"a":1,"b":"x\n\"y\""}}"#,
        r#"{"i64":-9223372036854775808,"u64":0,"text":" Zoë 😀","dictionary":"b","f64":"1000000000000000000000","f32":0,"decimal":"-0.05","wide":"1","date":"0001-01-01","local":"1970-01-01T00:00:01.5","instant":"1970-01-01T00:00:01.000000001Z","time":"00:00:00","fine":"00:00:00.000000001","truth":false,"bytes":"","fixed":"00112233445566778899aabbccddeeff","list":null,"inner":{"a":null,"b":null}}"#,
        r#"{"i64":null,"u64":null,"text":null,"dictionary":"a","f64":0.1,"f32":16777216,"decimal":"0.00","wide":null,"date":null,"local":"9999-12-31T23:59:59","instant":null,"time":null,"fine":null,"truth":null,"bytes":null,"fixed":"00112233445566778899aabbccddeeff","list":[],"inner":{"a":null,"b":""}}"#,
    ];
    let rows = |properties| Book::of(&written(&columns, properties)).rows();
    assert_eq!(rows(zstd()), expected);
    // Other writers: pages of version 2, no dictionaries, small row groups, no compression.
    assert_eq!(rows(zstd().set_writer_version(WriterVersion::PARQUET_2_0)), expected);
    assert_eq!(rows(zstd().set_dictionary_enabled(false).set_writer_version(WriterVersion::PARQUET_2_0)), expected);
    assert_eq!(rows(WriterProperties::builder().set_max_row_group_row_count(Some(1))), expected);
}

/// Three rows as pyarrow writes them by default, with Snappy: `no` 1 to 3, `name`.
const BY_PYARROW: &str = "\
    5041523115041530152e4c150615001200001804010009013c020000000000000003000000000000001500151415182c1506\
    1510150615061c0000000a24020000000601020324001504154815424c1504150012000024480e0000005030303030312056\
    6578666f72640e1112203220566578666f72641500151215162c15061510150615061c000000092002000000060101030215\
    04193c35001806736368656d611504001504250218026e6f00150c250218046e616d6525004c1c0000001606191c192c2600\
    1c150419350006101918026e6f1502160616860116880126522608292c15041500150200150015101502003c290619260006\
    00000026001c150c19350006101918046e616d6515021606169c01169a0126ee01269001292c150415001502001500151015\
    02003c165419061926000600000016a2021606260816a202002820706172717565742d6370702d6172726f77207665727369\
    6f6e2032362e302e31192c1c00001c000000db00000050415231";

#[test]
fn a_file_of_another_writer_with_snappy_is_read() {
    let bytes: Vec<u8> =
        (0..BY_PYARROW.len() / 2).map(|at| u8::from_str_radix(&BY_PYARROW[2 * at..2 * at + 2], 16).unwrap()).collect();
    let expected = [(1, "P00001"), (2, "P00002"), (3, "P00001")];
    assert_eq!(Book::of(&bytes).rows(), expected.map(|(no, name)| format!(r#"{{"no":{no},"name":"{name} Vexford"}}"#)));
    // A changed byte is an error or another value, and never a panic.
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        if let Err(error) = Book::of(&damaged).splits() {
            let message = error.to_string();
            assert!(message.starts_with("book.parquet: "), "byte {at}: {message}");
        }
    }
}

#[test]
fn rows_have_the_numbers_of_their_lines_across_row_groups() {
    let bytes = written(&people(2_500), zstd().set_max_row_group_row_count(Some(700)));
    let splits = Book::of(&bytes).splits().unwrap();
    assert_eq!(splits.iter().map(|split| split.records.len()).collect::<Vec<_>>(), [1_000, 1_000, 500]);
    let records: Vec<_> = splits.iter().flat_map(|split| &split.records).collect();
    assert!(records.iter().zip(1..).all(|(record, at)| place(record).0 == at && place(record).1 == at));
    assert_eq!(shown(records[2_499]), r#"{"no":2500,"name":"P02500 Vexford"}"#);
}

#[test]
fn a_file_that_was_written_again_is_recognised_by_its_rows() {
    let book = Book::of(&written(&people(1_500), zstd()));
    let (_, known) = known_of(book.open(&SourceOptions::default(), None).unwrap());
    // Other row groups and no compression, and two more rows.
    let longer = written(&people(1_502), WriterProperties::builder().set_max_row_group_row_count(Some(100)));
    let reader = Book::of(&longer).open(&SourceOptions::default(), Some(&known)).unwrap();
    let new: Vec<u64> =
        splits_of(reader).unwrap().iter().flat_map(|split| &split.records).map(|one| place(one).0).collect();
    assert_eq!(new, [1_501, 1_502]);
    let mut edited = people(1_500);
    edited[1].1 = Arc::new(StringArray::from_iter_values((1..=1_500).map(|at| format!("P{:05} Vexford", at % 1_200))));
    let edited = Book::of(&written(&edited, zstd())).open(&SourceOptions::default(), Some(&known)).err().unwrap();
    assert!(edited.to_string().contains("the first change is in rows 1001 to 1500"), "{edited}");
}

#[test]
fn a_value_without_text_is_a_failure_of_its_row() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("no", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))),
        ("limit", Arc::new(Float64Array::from(vec![f64::NAN, 1.0, 1.0, 2.0]))),
        ("born", Arc::new(Date32Array::from(vec![0, i32::MAX, 0, 0]))),
        ("code", Arc::new(BinaryArray::from_vec(vec![b"a", b"b", b"\xff\xfe", b"d"]))),
    ];
    let rows = Book::of(&written(&columns, zstd())).rows();
    let begin = [
        "invalid_value: column `limit`: expected a number, found NaN or an infinite one; write null for a missing number",
        "invalid_value: column `born`: expected a date or time from year 1 to 9999, found another one; correct it",
        "invalid_utf8: column `code`: expected text, found bytes that are not UTF-8; correct them or remove the column",
    ];
    for (row, begin) in rows.iter().zip(begin) {
        assert!(row.starts_with(begin) && row.contains(r#"\"no\":"#), "{row}");
    }
    assert_eq!(rows[3], r#"{"no":4,"limit":2,"born":"1970-01-01","code":"d"}"#);
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_what_to_do() {
    let good = written(&people(100), zstd());
    let cut = &good[..good.len() - 1];
    let middle: Vec<u8> = [&good[..4], &[0xa5; 60], &good[64..]].concat();
    let one = |name: &str, array: ArrayRef| written(&[(name, array)], zstd());
    let duration = arrow::array::DurationSecondArray::from(vec![1]);
    let interval = arrow::array::IntervalYearMonthArray::from(vec![1]);
    let no = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let twice = written(&[("a", no()), ("b", no())], zstd());
    let at = twice.windows(3).position(|part| part == b"\x18\x01b").unwrap();
    let mut twice = twice;
    twice[at + 2] = b'a';
    for (bytes, message) in [
        (cut.to_vec(), "book.parquet: expected an intact Parquet file, found one whose end is damaged or incomplete"),
        (middle, "damaged or incomplete; write the file again, or convert it to CSV or JSON Lines"),
        (b"PAR1".to_vec(), "whose end is damaged or incomplete"),
        (b"PARE....PARE".to_vec(), "an encrypted Parquet file is not supported; save a copy without encryption"),
        (b"id,name\n1,A\n".to_vec(), "whose end is damaged or incomplete"),
        (
            one("i", Arc::new(interval)),
            "column `i`: values of the type interval are not supported; convert the column to text",
        ),
        (twice, "columns 1 and 2 have the same name"),
    ] {
        let refused = Book::of(&bytes).refused();
        assert!(refused.contains(message), "{refused}");
    }
    // A duration is stored as a number.
    assert_eq!(Book::of(&one("d", Arc::new(duration))).rows(), [r#"{"d":1}"#]);
    let options = SourceOptions { skip_footer: 1, ..SourceOptions::default() };
    let refused = Book::of(&good).open(&options, None).err().unwrap().to_string();
    assert!(refused.contains("found a table of Parquet or Arrow, which names its own columns"), "{refused}");
}

#[test]
fn an_empty_file_has_no_rows() {
    assert_eq!(Book::of(&written(&people(0), zstd())).rows(), [""; 0]);
}

#[test]
fn a_row_above_the_limit_and_one_with_too_many_values_are_failures() {
    let text = Arc::new(StringArray::from(vec!["x".repeat(900 << 10), "y".to_owned()])) as ArrayRef;
    let names: Vec<String> = (0..20).map(|at| format!("c{at}")).collect();
    let columns: Vec<(&str, ArrayRef)> = names.iter().map(|name| (name.as_str(), text.clone())).collect();
    let rows = Book::of(&written(&columns, zstd())).rows();
    assert!(rows[0].starts_with("row_too_large: expected a row of at most 16 MiB"), "{}", &rows[0][..99]);
    assert!(rows[1].starts_with(r#"{"c0":"y","#));
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1); 100_001]), Some(vec![Some(2)])]);
    let rows = Book::of(&written(&[("list", Arc::new(list) as ArrayRef)], zstd())).rows();
    assert!(rows[0].starts_with("row_too_large: line 1: expected at most 100000 values in a row"));
    assert_eq!(rows[1], r#"{"list":[2]}"#);
}

#[test]
fn a_file_that_demands_much_memory_is_refused() {
    // One list of 20 million values in a file of a few kilobytes.
    let mut list = arrow::array::ListBuilder::new(arrow::array::Int32Builder::new());
    list.values().append_slice(&vec![7; 20_000_000]);
    list.append(true);
    let bytes = written(&[("list", Arc::new(list.finish()) as ArrayRef)], zstd());
    assert!(bytes.len() < 200_000, "{} bytes", bytes.len());
    let refused = Book::of(&bytes).refused();
    assert!(refused.contains("expected lists of at most 8 million values in 64 rows, found more"), "{refused}");
}

#[test]
fn a_campaign_is_begun_planned_and_rehearsed_with_a_parquet_file() {
    let workspace = crate::cli::Workspace::new(1);
    let mut columns = people(300);
    columns.push(("country", Arc::new(StringArray::from_iter_values((0..300).map(|_| "South African"))) as ArrayRef));
    std::fs::write(workspace.path().join("people.parquet"), written(&columns, zstd())).unwrap();
    workspace.say(&["init", "people.parquet", "--check", "aml-screening"]);
    let file = std::fs::read_to_string(workspace.path().join("rescreen.toml")).unwrap();
    assert!(file.contains("people.parquet") && !file.contains("windows-1252"), "{file}");
    std::fs::remove_file(workspace.path().join("rescreen.toml")).unwrap();
    for command in ["plan", "run"] {
        let usual = [command, "people.parquet", "--check", "aml-screening", "--set", "entity=person", "--id", "no"];
        let said = workspace.say(&[&usual[..], &["--simulate"]].concat()).exits(0);
        assert!(said.stdout.contains("300") || said.stderr.contains("300 rows: 300 results"), "{}", said.stderr);
    }
    assert!(workspace.path().join("out/rehearsals/people/manifest.json").is_file());
}
