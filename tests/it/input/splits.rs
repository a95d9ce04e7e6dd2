//! Where a split ends, and how a source's format is detected.

use super::{csv, jsonl, place, shown, splits_of};
use rescreen::source::{Format, Origin, SourceOptions, SourceReader};
use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, Sender, channel},
};

/// A stream that returns what it is sent, when it is sent.
struct Pipe(Receiver<Vec<u8>>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let chunk = self.0.recv().unwrap_or_default();
        buffer[..chunk.len()].copy_from_slice(&chunk);
        Ok(chunk.len())
    }
}

fn pipe(options: SourceOptions, first: &str) -> (Sender<Vec<u8>>, SourceReader) {
    let (sender, receiver) = channel();
    sender.send(first.as_bytes().to_vec()).unwrap();
    let origin = Origin::Reader(Box::new(Pipe(receiver)));
    (sender, SourceReader::open("-".into(), origin, &options, None).unwrap())
}

#[test]
fn a_split_ends_at_a_thousand_rows() {
    for (rows, sizes) in [(999, vec![999]), (1_000, vec![1_000]), (1_001, vec![1_000, 1]), (2_000, vec![1_000, 1_000])]
    {
        let text = format!("a\n{}", "x\n".repeat(rows));
        let splits = csv(&text).splits(None).unwrap();
        assert_eq!(splits.iter().map(|split| split.records.len()).collect::<Vec<_>>(), sizes);
    }
}

#[test]
fn a_split_ends_after_four_mebibytes() {
    let text = format!("a\n{}", format!("{}\n", "x".repeat(1 << 19)).repeat(20));
    let splits = csv(&text).splits(None).unwrap();
    assert_eq!(splits.iter().map(|split| split.records.len()).collect::<Vec<_>>(), [8, 8, 4]);
}

#[test]
fn a_split_of_json_ends_after_50_000_values() {
    let row = format!("{{\"a\":[{}]}}\n", vec!["0"; 19_998].join(","));
    let splits = jsonl(&row.repeat(7)).splits(None).unwrap();
    assert_eq!(splits.iter().map(|split| split.records.len()).collect::<Vec<_>>(), [3, 3, 1]);
}

#[test]
fn a_stalled_stream_gives_a_partial_split_and_continues_inside_the_row() {
    let (sender, mut reader) = pipe(SourceOptions::default(), "a,b\n1,2\n3,4\n5,\"6");
    let split = reader.next_split().unwrap().unwrap();
    assert_eq!(split.records.len(), 2);
    assert_eq!((split.checkpoint.end_offset, split.checkpoint.end_line), (12, 4));

    sender.send(b"\n7\",8".to_vec()).unwrap();
    drop(sender);
    let split = reader.next_split().unwrap().unwrap();
    assert_eq!(
        shown(&split.records[0]),
        r#"ragged_row: expected 2 columns, found 3 in lines 4 to 5, which are one row; check that no quote is missing {"a":"5","b":"6\n7","column_3":"8"}"#
    );
    assert_eq!(place(&split.records[0]), (3, 4, 12));
    assert!(reader.next_split().unwrap().is_none());
    assert!(reader.next_split().unwrap().is_none());
}

#[test]
fn a_stalled_line_of_json_is_finished_later() {
    let (sender, mut reader) = pipe(SourceOptions::default(), " {\"a\":1}\n{\"a\"");
    assert_eq!(reader.layout(), (Format::Jsonl, None, None));
    let split = reader.next_split().unwrap().unwrap();
    assert_eq!((split.records.len(), split.checkpoint.end_offset), (1, 9));
    sender.send(b":2}\n".to_vec()).unwrap();
    drop(sender);
    let split = reader.next_split().unwrap().unwrap();
    assert_eq!(shown(&split.records[0]), r#"{"a":2}"#);
    assert_eq!((split.checkpoint.end_offset, split.checkpoint.end_line), (17, 3));
}

#[test]
fn a_stream_of_single_bytes_reads_like_one_in_one_piece() {
    struct Drip(Vec<u8>, usize);
    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(byte) = self.0.get(self.1) else { return Ok(0) };
            buffer[0] = *byte;
            self.1 += 1;
            Ok(1)
        }
    }
    let text = "\u{feff}id;name\r\n1;\"a\r\n\"\"b\"\"\"\r\n\r\n2;x;y\r\n3;\u{e9}";
    let whole: Vec<_> = csv(text).records().iter().map(|record| (shown(record), place(record))).collect();
    let origin = Origin::Reader(Box::new(Drip(text.as_bytes().to_vec(), 0)));
    let reader = SourceReader::open("-".into(), origin, &SourceOptions::default(), None).unwrap();
    assert_eq!(reader.layout().1, Some(b';'));
    let dripped: Vec<_> =
        splits_of(reader).unwrap().iter().flat_map(|split| &split.records).map(|r| (shown(r), place(r))).collect();
    assert_eq!(dripped, whole);
    assert_eq!(whole.len(), 3);
}

#[test]
fn a_read_error_stops_after_the_rows_before_it_and_names_the_byte() {
    struct Broken(bool);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::Error::other("the disk is gone"));
            }
            buffer[..8].copy_from_slice(b"a,b\n1,2\n");
            Ok(8)
        }
    }
    let origin = Origin::Reader(Box::new(Broken(false)));
    let mut reader = SourceReader::open("-".into(), origin, &SourceOptions::default(), None).unwrap();
    assert_eq!(reader.next_split().unwrap().unwrap().records.len(), 1, "what came before is kept");
    let message = reader.next_split().unwrap_err().to_string();
    assert!(message.starts_with("-: reading failed after byte 8: the disk is gone"), "{message}");
}

#[test]
fn the_file_extension_gives_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        SourceReader::open(name.into(), Origin::File(path), &SourceOptions::default(), None)
            .map(|reader| (reader.layout().0, reader.layout().1))
            .map_err(|error| error.to_string())
    };
    assert_eq!(open("a.csv", "{x;y}\n"), Ok((Format::Csv, Some(b';'))));
    assert_eq!(open("a.TSV", "a,b\n"), Ok((Format::Csv, Some(b'\t'))));
    assert_eq!(open("a.txt", "a|b\n"), Ok((Format::Csv, Some(b'|'))));
    assert_eq!(open("a.ndjson", "x\n"), Ok((Format::Jsonl, None)));
    assert_eq!(open("a.json", "{}\n"), Ok((Format::Jsonl, None)));
    assert_eq!(open("a.dat", "\n {}\n"), Ok((Format::Jsonl, None)));
    assert_eq!(open("a.dat", "a,b\n"), Ok((Format::Csv, Some(b','))));
    assert!(open("a.json", "\n[{}]").unwrap_err().contains("found a JSON list; `jq -c '.[]'`"));
    for name in ["a.jsonl", "a.ndjson"] {
        let list = "[\n{\"no\": \"1\"},\n{\"no\": \"2\"}\n]\n";
        assert!(open(name, list).unwrap_err().contains("found a JSON list"), "{name}");
    }
    for (name, advice) in [
        ("a.zip", "convert it to CSV or JSON Lines first"),
        ("a.xls", "save it as .xlsx or as CSV"),
        ("a.ods.gz", "save it"),
    ] {
        let message = open(name, "").unwrap_err();
        assert!(message.contains("is not supported") && message.contains(advice), "{message}");
    }
    let reader = SourceReader::open("d".into(), Origin::File(folder.path().into()), &SourceOptions::default(), None);
    assert!(reader.err().unwrap().to_string().contains("found a folder"));
}

/// How long a stalled stream is waited for.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_stalled_stream_gives_a_partial_split_after_a_second() {
        let (_sender, mut reader) = pipe(SourceOptions::default(), "a,b\n1,2\n3,4\n5,\"6");
        let begin = Instant::now();
        let split = reader.next_split().unwrap().unwrap();
        let waited = begin.elapsed();
        assert!(waited > Duration::from_millis(900) && waited < Duration::from_secs(3), "{waited:?}");
        assert_eq!(split.records.len(), 2);
    }
}
