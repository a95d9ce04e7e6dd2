//! Input without line ends: reading stops at a limit and says where.

use rescreen::source::{Format, HeaderLine, Origin, SourceError, SourceOptions, SourceReader};
use std::io::{Cursor, Read, repeat};

fn endless(start: &'static str, byte: u8, options: &SourceOptions) -> Result<SourceReader, SourceError> {
    let reader = Cursor::new(start).chain(repeat(byte));
    SourceReader::open("input".into(), Origin::Reader(Box::new(reader)), options, None)
}

fn of(format: Format) -> SourceOptions {
    SourceOptions { format: Some(format), ..SourceOptions::default() }
}

/// The rows before the fault, and the message of the fault.
fn read(mut reader: SourceReader) -> (usize, String) {
    let mut rows = 0;
    loop {
        match reader.next_split() {
            Ok(Some(split)) => rows += split.records.len(),
            Ok(None) => panic!("an input without an end has ended"),
            Err(error) => return (rows, error.to_string()),
        }
    }
}

#[test]
fn an_endless_header_is_refused_after_16_mebibytes() {
    let expected =
        "input: the header: expected a line end within 16 MiB, found none; check that no quote is left open in it";
    for (start, byte) in [("", 0), ("id,name", b'x'), ("id,\"name", b'\n'), ("", b','), ("sep=", b';')] {
        for options in [SourceOptions::default(), of(Format::Csv)] {
            let error = endless(start, byte, &options).err().expect("refused").to_string();
            assert_eq!(error, expected, "{start:?}");
        }
    }
}

#[test]
fn an_endless_row_stops_the_reading_after_the_rows_before_it() {
    let expected = |line| format!("input: line {line}: expected a row that ends within 256 MiB, found no end");
    let (rows, message) = read(endless("id,name\n1,a\n2,\"b", b'x', &of(Format::Csv)).unwrap());
    assert_eq!(rows, 1);
    assert!(message.starts_with(&expected(3)), "{message}");
    let (rows, message) = read(endless("{\"id\":1}\n\n{\"id\":\"", b'x', &of(Format::Jsonl)).unwrap());
    assert_eq!(rows, 1);
    assert!(message.starts_with(&expected(3)), "{message}");
}

#[test]
fn an_endless_first_row_is_refused_where_there_is_no_header() {
    let options = SourceOptions { header: HeaderLine::Missing, ..of(Format::Csv) };
    let error = endless("", 0, &options).err().expect("refused").to_string();
    assert!(error.starts_with("input: line 1: expected a row that ends within 256 MiB"), "{error}");
}

#[test]
fn an_endless_line_before_the_table_is_refused() {
    let options = SourceOptions { skip_lines: 2, ..of(Format::Csv) };
    let error = endless("title\n", b'x', &options).err().expect("refused").to_string();
    assert!(error.starts_with("input: line 2: expected a row that ends within 256 MiB"), "{error}");
}

/// How long reading takes.
mod timed {
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn many_blank_lines_of_json_are_skipped_quickly() {
        let text = format!("{}{{\"a\":1}}\n", " \r\n\n".repeat(8 << 20));
        let begun = Instant::now();
        let records = crate::input::jsonl(&text).records();
        let elapsed = begun.elapsed();
        assert_eq!(records.iter().map(crate::input::place).collect::<Vec<_>>(), [(1, (16 << 20) + 1, 32 << 20)]);
        // Reading these one at a time took half a minute without optimisation.
        assert!(elapsed < Duration::from_secs(8), "{elapsed:?}");
    }
}
