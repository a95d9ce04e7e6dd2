//! Lines before the table and rows after it that are not read. The others keep their places in the file.

use super::{csv, jsonl, place, shown, splits_of};
use crate::support::allocated::peak_of;
use rescreen::source::{Format, HeaderLine, Origin, SourceOptions, SourceReader};
use std::io::Cursor;

fn lines(count: u32) -> impl Fn(&mut SourceOptions) {
    move |options| options.skip_lines = count
}

fn footer(rows: usize) -> impl Fn(&mut SourceOptions) {
    move |options| options.skip_footer = rows
}

#[test]
fn a_table_below_a_title_is_read_and_rows_keep_their_lines() {
    for (text, before) in [
        ("Customers \"2026\n\nid,name\n1,a\n\n2,b\n", 2),
        ("Customers \"2026\r\n\r\nid,name\r\n1,a\r\n\r\n2,b\r\n", 2),
        ("Customers \"2026\r\rid,name\r1,a\r\r2,b\r", 2),
        ("Customers \"2026\n\nid,name\n1,a\n\n2,b\n", 1),
    ] {
        let records = csv(text).said(lines(before)).records();
        assert_eq!(
            records.iter().map(shown).collect::<Vec<_>>(),
            [r#"{"id":"1","name":"a"}"#, r#"{"id":"2","name":"b"}"#]
        );
        let places: Vec<_> = records.iter().map(|record| (place(record).0, place(record).1)).collect();
        assert_eq!(places, [(1, 4), (2, 6)], "{text:?}: row numbers, and lines of the file");
    }
}

#[test]
fn the_delimiter_is_that_of_the_table_or_of_a_line_before_it() {
    assert_eq!(csv("a,b,c,d\nid;name\n1;x\n").said(lines(1)).rows(), [r#"{"id":"1","name":"x"}"#]);
    assert_eq!(csv("sep=;\r\ntitle\r\nid;name\r\n1;x\r\n").said(lines(2)).rows(), [r#"{"id":"1","name":"x"}"#]);
    assert_eq!(csv("sep=;\nid;name\n1;x\n").said(lines(1)).rows(), [r#"{"id":"1","name":"x"}"#]);
    let title = "x".repeat(600_000);
    assert_eq!(csv(&format!("{title}\r\n{title}\r\nid\r\n1\r\n")).said(lines(2)).rows(), [r#"{"id":"1"}"#]);
}

#[test]
fn lines_before_rows_without_a_header_are_skipped_too() {
    let missing = |options: &mut SourceOptions| (options.skip_lines, options.header) = (1, HeaderLine::Missing);
    assert_eq!(csv("title\n1,2\n").said(missing).rows(), [r#"{"column_1":"1","column_2":"2"}"#]);
}

#[test]
fn a_table_that_begins_after_the_end_is_refused() {
    for text in ["", "id\n1\n", "id\n1"] {
        let message = csv(text).said(lines(5)).refused(None);
        assert!(message.contains("expected the table to begin in line 6, found the end of the input"), "{message}");
        assert!(message.contains("--header-row"), "{message}");
    }
    let message = jsonl("{\"a\":1}\n").said(lines(1)).refused(None);
    assert!(message.contains("`header_row`, `skip_rows` and `skip_footer`"), "{message}");
}

#[test]
fn the_last_rows_are_not_read() {
    let book = "id\n1\n2\n3\nTotal\n";
    assert_eq!(csv(book).said(footer(1)).rows(), [r#"{"id":"1"}"#, r#"{"id":"2"}"#, r#"{"id":"3"}"#]);
    assert_eq!(csv("id\n1\n2\n3\n\nTotal,6").said(footer(1)).rows().len(), 3, "a row of the footer may be ragged");
    assert_eq!(csv(book).said(footer(3)).rows(), [r#"{"id":"1"}"#]);
    assert!(csv(book).said(footer(4)).rows().is_empty() && csv(book).said(footer(9)).rows().is_empty());
    assert_eq!(csv(book).said(footer(1)).limit(2).rows().len(), 2);
}

#[test]
fn a_footer_across_splits_resumes_where_it_was_and_new_rows_take_its_place() {
    let rows = |range: std::ops::RangeInclusive<u32>| range.map(|n| format!("{n}\n")).collect::<String>();
    let book = format!("title\nid\n{}Total\nEnd\n", rows(1..=2_500));
    let both = |options: &mut SourceOptions| (options.skip_lines, options.skip_footer) = (1, 2);
    let splits = csv(&book).said(both).splits(None).unwrap();
    assert_eq!(splits.iter().map(|split| split.records.len()).collect::<Vec<_>>(), [1_000, 1_000, 500]);
    let known = csv(&book).said(both).known();
    assert_eq!(known.checkpoints.last().unwrap().next_row_number, 2_501);
    assert!(csv(&book).said(both).splits(Some(&known)).unwrap().is_empty());
    let longer = format!("title\nid\n{}Total\nEnd\n", rows(1..=2_502));
    let splits = csv(&longer).said(both).splits(Some(&known)).unwrap();
    let new: Vec<_> =
        splits.iter().flat_map(|split| &split.records).map(|record| (place(record).0, shown(record))).collect();
    assert_eq!(new, [(2_501, r#"{"id":"2501"}"#.to_owned()), (2_502, r#"{"id":"2502"}"#.to_owned())]);
    for split in 1..3 {
        let part = rescreen::source::KnownSource { checkpoints: known.checkpoints[..split].to_vec(), ..known.clone() };
        let rest = csv(&book).said(both).splits(Some(&part)).unwrap();
        assert_eq!(rest.iter().map(|split| split.records.len()).sum::<usize>(), 2_500 - split * 1_000);
    }
}

#[test]
fn a_footer_takes_no_memory_for_the_rows_before_it() {
    let book = |rows: usize| format!("id,name\n{}", format!("1,{}\n", "x".repeat(200)).repeat(rows));
    let peak = |text: &str, rows: usize| {
        let options = SourceOptions { format: Some(Format::Csv), skip_footer: rows, ..SourceOptions::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.csv");
        std::fs::write(&path, text).unwrap();
        let read = || {
            let mut reader = SourceReader::open("book".into(), Origin::File(path.clone()), &options, None).unwrap();
            let mut count = 0;
            while let Some(split) = reader.next_split().unwrap() {
                count += split.records.len();
            }
            count
        };
        peak_of(read)
    };
    let (short, long) = (peak(&book(5_000), 10), peak(&book(50_000), 10));
    assert_eq!((short.0, long.0), (4_990, 49_990));
    assert!(long.1 < short.1 + (64 << 10), "{} bytes for 5,000 rows, {} for 50,000", short.1, long.1);
    assert!(long.1 < peak(&book(50_000), 0).1 + (256 << 10), "ten rows are held, and no more");
}

#[test]
fn a_footer_of_more_than_64_mebibytes_is_refused() {
    let row = "x".repeat(13 << 20) + "\n";
    let text = |rows: usize| format!("id\n{}", row.repeat(rows));
    assert_eq!(csv(&text(5)).said(footer(4)).records().len(), 1);
    let message = csv(&text(7)).said(footer(7)).refused(None);
    assert!(message.contains("expected the last 7 rows, which are not read, to have at most 64 MiB"), "{message}");
}

#[test]
fn a_footer_of_a_stream_is_held_back_until_the_stream_ends() {
    let origin = Origin::Reader(Box::new(Cursor::new(b"id\n1\n2\nTotal".to_vec())));
    let options = SourceOptions { skip_footer: 1, ..SourceOptions::default() };
    let splits = splits_of(SourceReader::open("-".into(), origin, &options, None).unwrap()).unwrap();
    assert_eq!(splits.iter().flat_map(|split| &split.records).count(), 2);
}
