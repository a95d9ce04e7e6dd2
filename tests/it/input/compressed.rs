//! Compressed books are read like the text inside, and damaged ones up to the damaged place.

use super::{csv, known_of, place, shown, splits_of};
use flate2::{Compression, write::GzEncoder};
use rescreen::source::{Format, KnownSource, Origin, SourceError, SourceOptions, SourceReader};
use std::{io::Write, path::Path};

pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(text).unwrap();
    compressed.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

type Compress = (&'static str, fn(&[u8]) -> Vec<u8>);

const COMPRESSIONS: [Compress; 2] = [("gz", gzip), ("zst", zstd)];

fn open(path: &Path, known: Option<&KnownSource>) -> Result<SourceReader, SourceError> {
    SourceReader::open("book".into(), Origin::File(path.into()), &SourceOptions::default(), known)
}

fn book(rows: u32) -> String {
    (1..=rows)
        .fold("id,name\n".to_owned(), |book, n| book + &format!("{n:05},name {}\n", n.wrapping_mul(2_654_435_761)))
}

#[test]
fn a_compressed_book_reads_like_its_text_by_name_by_first_bytes_and_from_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(2_500);
    let plain: Vec<_> = csv(&book).records().iter().map(|record| (shown(record), place(record))).collect();
    for (extension, compress) in COMPRESSIONS {
        let compressed = compress(book.as_bytes());
        for name in [format!("book.csv.{extension}"), "book.csv".to_owned(), "book".to_owned()] {
            let path = folder.path().join(&name);
            std::fs::write(&path, &compressed).unwrap();
            let splits = splits_of(open(&path, None).unwrap()).unwrap();
            let records = splits.iter().flat_map(|split| &split.records);
            assert!(records.map(|record| (shown(record), place(record))).eq(plain.iter().cloned()), "{name}");
        }
        let streamed = csv(&compressed).records();
        assert!(streamed.iter().map(|record| (shown(record), place(record))).eq(plain.iter().cloned()));
    }
}

#[test]
fn the_inner_extension_gives_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let layout = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, gzip(text.as_bytes())).unwrap();
        open(&path, None).map(|reader| (reader.layout().0, reader.layout().1)).map_err(|error| error.to_string())
    };
    assert_eq!(layout("a.tsv.gz", "a,b\n"), Ok((Format::Csv, Some(b'\t'))));
    assert_eq!(layout("a.ndjson.gz", "x\n"), Ok((Format::Jsonl, None)));
    assert_eq!(layout("a.gz", "{\"a\":1}\n"), Ok((Format::Jsonl, None)));
    assert!(layout("a.json.gz", "[{}]").unwrap_err().contains("found a JSON list"));
    assert!(
        layout("a.xlsx.gz", "PK\x03\x04")
            .unwrap_err()
            .contains("a spreadsheet in a stream or inside a compressed file")
    );
    let twice = String::from_utf8_lossy(&gzip(b"a")).into_owned();
    assert!(twice.starts_with('\x1f'));
    std::fs::write(folder.path().join("b.gz"), gzip(&gzip(b"a\n1\n"))).unwrap();
    let message = open(&folder.path().join("b.gz"), None).err().unwrap().to_string();
    assert!(message.contains("a gzip file inside another compressed file is not supported"), "{message}");
}

#[test]
fn a_book_is_recognised_compressed_or_not_and_a_new_member_is_appended() {
    let (old, new) = (book(1_200), "01201,x\n01202,y\n");
    let known = csv(&old).known();
    for (extension, compress) in COMPRESSIONS {
        let compressed = [compress(old.as_bytes()), compress(new.as_bytes())].concat();
        let splits = csv(&compressed).splits(Some(&known)).unwrap();
        assert_eq!(splits.iter().map(|split| split.records.len()).sum::<usize>(), 2, "{extension}");
        assert_eq!(place(&splits[0].records[0]), (1_201, 1_202, old.len() as u64), "{extension}");
        let edited = old.replace("01100,", "01101,");
        match csv(&compress(edited.as_bytes())).splits(Some(&known)) {
            Err(SourceError::Changed { first_changed_rows, .. }) => assert_eq!(first_changed_rows, 1_001..=1_200),
            other => panic!("{extension}: {other:?}"),
        }
        let short = csv(&compress(&old.as_bytes()[..500])).refused(Some(&known));
        assert!(short.contains("an input of 500 bytes"), "{short}");
    }
}

#[test]
fn rows_before_a_damaged_place_are_read_and_the_full_book_continues_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(20_000);
    for (extension, compress) in COMPRESSIONS {
        let path = folder.path().join(format!("book.csv.{extension}"));
        let compressed = compress(book.as_bytes());
        std::fs::write(&path, &compressed[..compressed.len() / 2]).unwrap();
        let mut reader = open(&path, None).unwrap();
        let (format, delimiter, header) = reader.layout();
        let header = header.map(<[String]>::to_vec);
        let (mut rows, mut checkpoints) = (0, Vec::new());
        let fault = loop {
            match reader.next_split() {
                Ok(split) => {
                    let split = split.expect("a damaged file has no end");
                    rows += split.records.len();
                    checkpoints.push(split.checkpoint);
                }
                Err(fault) => break fault.to_string(),
            }
        };
        assert!((5_000..15_000).contains(&rows), "{extension}: {rows} rows");
        let expected = ["book: reading failed after byte ", "is damaged or truncated near its byte ", "run again"];
        assert!(expected.iter().all(|part| fault.contains(part)), "{fault}");
        assert!(reader.next_split().unwrap().is_none(), "and nothing after it");

        std::fs::write(&path, &compressed).unwrap();
        let known = KnownSource { format, delimiter, header, checkpoints };
        let rest: usize =
            splits_of(open(&path, Some(&known)).unwrap()).unwrap().iter().map(|split| split.records.len()).sum();
        assert_eq!(rows + rest, 20_000, "{extension}");
    }
}

#[test]
fn a_bomb_stops_with_the_rows_before_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.csv.gz");
    let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(format!("a\n{}", "0\n".repeat(4 << 20)).as_bytes()).unwrap();
    std::fs::write(&path, compressed.finish().unwrap()).unwrap();
    let mut reader = open(&path, None).unwrap();
    let mut rows = 0;
    let fault = loop {
        match reader.next_split() {
            Ok(split) => rows += split.unwrap().records.len(),
            Err(fault) => break fault.to_string(),
        }
    };
    // The first mebibyte, and at most one read beyond it.
    assert!((500_000..600_000).contains(&rows), "{rows} rows");
    assert!(fault.contains("expected at most 200 bytes out of each byte of the gzip file"), "{fault}");
}

#[test]
fn the_limits_of_fields_and_rows_hold_in_compressed_books() {
    let noise: String =
        (0..(1 << 20) + 1).map(|n: u32| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 26)).collect();
    let text = format!("a,b\n1,{}\n2,{noise}\n3,x\n", &noise[1..]);
    for (extension, compress) in COMPRESSIONS {
        let rows = csv(&compress(text.as_bytes())).rows();
        assert!(rows[0].starts_with("{\"a\":\"1\""), "{extension}");
        assert!(
            rows[1].starts_with("field_too_large: column `b`: expected at most 1 MiB, found 1048577 bytes"),
            "{extension}"
        );
        assert_eq!(rows[2], r#"{"a":"3","b":"x"}"#, "{extension}");
    }
}

#[test]
fn an_empty_file_with_a_compressed_extension_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.csv.gz");
    std::fs::write(&path, "").unwrap();
    assert!(open(&path, None).err().unwrap().to_string().contains("damaged or truncated near its byte 0"));
    std::fs::write(&path, gzip(b"a\n")).unwrap();
    assert_eq!(known_of(open(&path, None).unwrap()).0.len(), 0);
}
