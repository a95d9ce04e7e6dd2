//! CSV: what is a row, what is a failure, and at which position.

use super::{csv, place, row, shown};
use rescreen::model::row::Cell;

#[test]
fn identifiers_stay_text() {
    let records = csv("id,account\n0012, 007\n").records();
    assert_eq!(shown(&records[0]), r#"{"id":"0012","account":" 007"}"#);
    assert_eq!(row(&records[0]).get("ID"), Some(Cell::Text("0012")));
}

#[test]
fn quotes_and_embedded_line_ends_are_read_and_lines_are_physical() {
    let records = csv("a,b\n\"x\n\"\"y\"\"\",1\nz,2\n").records();
    assert_eq!(shown(&records[0]), r#"{"a":"x\n\"y\"","b":"1"}"#);
    assert_eq!([place(&records[0]), place(&records[1])], [(1, 2, 4), (2, 4, 16)]);
}

#[test]
fn line_ends_of_all_systems_and_blank_lines_count_as_lines() {
    for (text, places) in [
        ("a,b\r\n1,2\r\n3,4", [(1, 2, 5), (2, 3, 10)]),
        ("a,b\r1,2\r3,4\r", [(1, 2, 4), (2, 3, 8)]),
        ("a,b\n\n1,2\n\n\n3,4\n\n", [(1, 3, 5), (2, 6, 11)]),
        ("\r\n\r\na,b\r\n\r\n1,2\r\n3,4\r\n", [(1, 5, 11), (2, 6, 16)]),
        ("\na,b\r\r1,2\r\n\r3,4", [(1, 4, 6), (2, 6, 12)]),
    ] {
        let records = csv(text).records();
        assert_eq!(records.iter().map(place).collect::<Vec<_>>(), places, "{text:?}");
        assert_eq!(shown(&records[1]), r#"{"a":"3","b":"4"}"#, "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_is_skipped_and_counted() {
    let records = csv(b"\xef\xbb\xbfid,b\n1,2\n").records();
    assert_eq!(shown(&records[0]), r#"{"id":"1","b":"2"}"#);
    assert_eq!(place(&records[0]), (1, 2, 8));
    // Only at the start of the file; elsewhere it is text.
    assert_eq!(csv("id,b\n\u{feff}1,2\n").rows(), ["{\"id\":\"\u{feff}1\",\"b\":\"2\"}"]);
}

#[test]
fn the_delimiter_is_detected_in_the_header() {
    for text in ["a;b\n1;2,5\n", "a\tb\n1\t2,5\n", "a|b\n1|2,5\n", "\"a\";\"b\"\n1;\"2,5\"\n"] {
        assert_eq!(csv(text).rows(), [r#"{"a":"1","b":"2,5"}"#], "{text:?}");
    }
}

#[test]
fn a_ragged_row_is_a_failure_with_line_and_offset_and_the_run_continues() {
    let records = csv("a,b\n1,2\n3\n4,5,6\n").records();
    let shown: Vec<String> = records.iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            r#"{"a":"1","b":"2"}"#,
            r#"ragged_row: expected 2 columns, found 1 {"a":"3"}"#,
            r#"ragged_row: expected 2 columns, found 3 {"a":"4","b":"5","column_3":"6"}"#,
        ]
    );
    assert_eq!(records.iter().map(place).collect::<Vec<_>>(), [(1, 2, 4), (2, 3, 8), (3, 4, 10)]);
}

#[test]
fn bad_utf8_and_nul_are_failures_that_name_the_column() {
    let rows = csv(b"a,b\n1,caf\xe9\nx\0,2\n3,4\n").rows();
    assert_eq!(
        rows[0],
        "invalid_utf8: column `b`: expected UTF-8, found other bytes; save the file as UTF-8, or set `encoding = \"windows-1252\"` \
         before the first run; if the campaign has already started, run the failed rows from their own file in a new campaign {\"a\":\"1\",\"b\":\"caf\u{fffd}\"}"
    );
    assert_eq!(rows[1], r#"nul_byte: column `a`: expected text, found a NUL byte {"a":"x\u0000","b":"2"}"#);
    assert_eq!(rows[2], r#"{"a":"3","b":"4"}"#);
}

#[test]
fn a_quote_left_open_is_a_failure_even_where_the_columns_fit() {
    let rows = csv("a,b\n1,2\n3,\"4\n5,6\n").rows();
    assert_eq!(rows.len(), 2);
    assert!(rows[1].starts_with("ragged_row: expected a closing quote, found the end of the input"), "{}", rows[1]);
    assert_eq!(csv("a,b\n3,\"4\"").rows(), [r#"{"a":"3","b":"4"}"#]);
}

#[test]
fn a_field_of_one_mebibyte_is_read_and_one_byte_more_is_not() {
    let of = |bytes: usize| format!("a,b\n1,{}\n2,3\n", "x".repeat(bytes));
    assert!(!csv(&of(1 << 20)).rows()[0].starts_with("field_too_large"));
    let rows = csv(&of((1 << 20) + 1)).rows();
    assert!(rows[0].starts_with("field_too_large: column `b`: expected at most 1 MiB, found 1048577 bytes"));
    assert!(rows[0].ends_with("[cut]\"}") && rows[0].len() < 70_000);
    assert_eq!(rows[1], r#"{"a":"2","b":"3"}"#);
}

#[test]
fn a_row_of_16_mebibytes_is_parsed_and_one_byte_more_is_not_kept() {
    let of = |bytes: usize| format!("a,b\n1,{}\r\n2,3\n", "x".repeat(bytes - 2));
    assert!(csv(&of(16 << 20)).rows()[0].starts_with("field_too_large"));
    let rows = csv(&of((16 << 20) + 1)).rows();
    assert!(rows[0].starts_with("row_too_large: expected a row of at most 16 MiB, found 16777217 bytes"));
    assert_eq!(rows[1], r#"{"a":"2","b":"3"}"#);
}

#[test]
fn a_quote_that_swallows_the_file_is_one_failure() {
    let text = format!("a,b\n1,2\n3,\"open\n{}", "4,5\n".repeat(6 << 20));
    let records = csv(&text).records();
    assert_eq!(records.len(), 2);
    assert!(shown(&records[1]).starts_with("row_too_large"));
    assert_eq!(place(&records[1]), (2, 3, 8));
}

#[test]
fn the_cells_of_a_very_long_row_are_counted_and_not_kept() {
    let text = format!("a,b\n{}\n1,2\n", ",".repeat(3_000_000));
    let rows = csv(&text).rows();
    assert!(rows[0].starts_with("ragged_row: expected 2 columns, found 3000001"), "{}", &rows[0][..80]);
    assert_eq!(rows[1], r#"{"a":"1","b":"2"}"#);
}

#[test]
fn headers_that_cannot_be_used_are_refused() {
    for (text, message) in [
        (&b""[..], "input: expected a header line with the names of the columns, found an empty input"),
        (b"\n\r\n", "input: expected a header line with the names of the columns, found an empty input"),
        (
            b"id,name,id\n",
            "input: the header: columns 1 and 3 have the same name; rename one of them, or, if the first line is a row, use \
             --no-header (or [input] header = false)",
        ),
        (
            b"id,n\xe9\n",
            "input: the header: expected UTF-8, found other bytes in column 2; save the file as UTF-8, or set `encoding = \"windows-1252\"` \
         before the first run; if the campaign has already started, run the failed rows from their own file in a new campaign",
        ),
        (
            b"i\0d,n\n",
            "input: the header: expected text, found a NUL byte in column 1; remove it, or, if the file is UTF-16, name its \
             byte order with --encoding utf-16le or utf-16be (or [input] encoding)",
        ),
        (
            b"\"id,n\n1,2\n",
            "input: the header: expected its end before the end of the input; check that no quote is left open in it",
        ),
    ] {
        assert_eq!(csv(text).refused(None), message);
    }
    assert_eq!(csv("a,,\" \"\n1,2,3\n").rows(), [r#"{"a":"1","column_2":"2","column_3":"3"}"#]);
}

#[test]
fn unsupported_files_are_refused_with_what_to_do() {
    for (bytes, what) in [
        (&b"PK\x03\x04"[..], "a zip archive or a spreadsheet in a stream"),
        (b"BZh91AY", "a bzip2 file"),
        (b"\xd0\xcf\x11\xe0", "a spreadsheet in the old format .xls"),
        (b"PAR1", "a Parquet file"),
    ] {
        let message = csv(bytes).refused(None);
        assert!(message.starts_with(&format!("input: {what}")) && message.contains("is not supported"), "{message}");
    }
}

#[test]
fn a_lone_ctrl_z_at_the_end_is_not_a_row_and_anywhere_else_it_is_a_value() {
    for text in ["a,b\n1,2\n\x1a", "a,b\r\n1,2\r\n\x1a"] {
        assert_eq!(csv(text).rows(), [r#"{"a":"1","b":"2"}"#]);
    }
    for (text, rows) in [("a\n1\n\x1a\n", 2), ("a\n1\n\x1a\x1a", 2), ("a\n\x1a\n1\n", 2), ("a\n1\x1a", 1)] {
        assert_eq!(csv(text).rows().len(), rows, "{text:?}");
    }
    assert!(csv("a\n1\x1a").rows()[0].contains(r"1\u001a"), "not cut from a value");
    // Bytes written over it later count as appended.
    let known = csv("a\n1\n\x1a").known();
    assert_eq!(csv("a\n1\n2\n\x1a").splits(Some(&known)).unwrap()[0].records.len(), 1);
    assert!(csv("\x1a").refused(None).contains("found an empty input"));
}

#[test]
fn the_sep_line_of_a_spreadsheet_names_the_delimiter_and_is_not_a_row() {
    for text in ["sep=;\r\na;b\r\n1;2,5\r\n", "\u{feff}sep=;\na;b\n1;2,5\n", "\"sep=;\"\ra;b\r1;2,5\r"] {
        let records = csv(text).records();
        assert_eq!(records.iter().map(shown).collect::<Vec<_>>(), [r#"{"a":"1","b":"2,5"}"#], "{text:?}");
        assert_eq!(place(&records[0]).1, 3, "{text:?}");
    }
    // There are more commas than semicolons, and the `sep=` line is right.
    assert_eq!(csv("sep=;\na,x,y;b\n1;2\n").rows(), [r#"{"a,x,y":"1","b":"2"}"#]);
    assert_eq!(csv("sep=x\n1\n").rows(), [r#"{"sep=x":"1"}"#], "a header that only looks like it");
    let known = csv("sep=;\na;b\n1;2\n").known();
    assert_eq!(csv("sep=;\na;b\n1;2\n3;4\n").splits(Some(&known)).unwrap()[0].records.len(), 1);
}

#[test]
fn a_repeated_header_is_named_as_such() {
    for header in ["id,name", "\u{feff}id, name"] {
        let rows = csv(&format!("id,name\n1,Ann\n{header}\n2,Bo\n")).rows();
        assert!(rows[1].starts_with("invalid_value: expected a row, found the header again"), "{}", rows[1]);
        assert_eq!((rows.len(), &*rows[2]), (3, r#"{"id":"2","name":"Bo"}"#));
    }
    assert_eq!(csv("id,name\n1,name\n").rows(), [r#"{"id":"1","name":"name"}"#], "a row that has a name of a column");
}

#[test]
fn records_of_empty_cells_are_not_rows_and_count_as_lines() {
    for empty in [",", " , ", "\"\",\"\"", "\u{feff},\u{a0}", ",,,", "=\"\",", "  "] {
        let records = csv(&format!("a,b\n{empty}\n1,2\n{empty}\n{empty}\n3,4\n{empty}\n{empty}")).records();
        assert_eq!(records.iter().map(shown).collect::<Vec<_>>(), [r#"{"a":"1","b":"2"}"#, r#"{"a":"3","b":"4"}"#]);
        let lines: Vec<_> = records.iter().map(|record| (place(record).0, place(record).1)).collect();
        assert_eq!(lines, [(1, 3), (2, 6)], "{empty:?}");
    }
    assert_eq!(csv("a,b\n,\n,\n").rows(), Vec::<String>::new());
}

#[test]
fn an_empty_record_at_the_end_that_becomes_a_row_is_read() {
    for end in [",", " ", "1,2\n,"] {
        let known = csv(&format!("a,b\n0,0\n{end}")).known();
        let splits = csv(&format!("a,b\n0,0\n{end}5\n")).splits(Some(&known)).unwrap();
        let rows: Vec<String> = splits.iter().flat_map(|split| &split.records).map(shown).collect();
        assert_eq!(rows.len(), 1, "{end:?}: {rows:?}");
    }
}

#[test]
fn one_empty_cell_more_or_fewer_at_the_end_is_not_ragged() {
    for text in ["a;b\n1;2;\n", "a;b;\n1;2;\n", "a;b;\n1;2\n", "a;b\n1;2;\u{a0}\n"] {
        let rows = csv(text).rows();
        assert!(rows.len() == 1 && rows[0].starts_with(r#"{"a":"1","b":"2""#), "{text:?}: {rows:?}");
    }
    for text in ["a;b\n1;2;;\n", "a;b\n1;2;3\n", "a;b;c\n1;2\n", "a;b;\n1\n", "a;;\n1;2\n"] {
        assert!(csv(text).rows()[0].starts_with("ragged_row"), "{text:?}");
    }
}
