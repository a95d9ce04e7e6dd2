//! JSON Lines: one object per line, and no value is changed.

use super::{jsonl, place, shown};

#[test]
fn nested_values_keep_their_order_and_numbers_their_text() {
    let line = r#"{"id":"0012","n":12345678901234567890123,"p":1.10,"k":42,"address":{"lines":["a",null],"code":-0}}"#;
    let expected =
        r#"{"id":"0012","n":"12345678901234567890123","p":"1.10","k":42,"address":{"lines":["a",null],"code":"-0"}}"#;
    assert_eq!(jsonl(line).rows(), [expected]);
}

#[test]
fn blank_lines_are_not_records_but_count_as_lines() {
    let records = jsonl(b"\xef\xbb\xbf\n{\"a\":1}\r\n  \r\n\n{\"a\":2}").records();
    assert_eq!(records.iter().map(shown).collect::<Vec<_>>(), [r#"{"a":1}"#, r#"{"a":2}"#]);
    assert_eq!(records.iter().map(place).collect::<Vec<_>>(), [(1, 2, 4), (2, 5, 18)]);
    assert!(jsonl("\n \n").records().is_empty());
    assert!(jsonl("").records().is_empty());
}

#[test]
fn a_line_that_is_not_an_object_is_a_failure_and_the_run_continues() {
    let rows = jsonl(b"[1]\n{\"a\":}\n{\"a\":\"\xff\"}\n{\"a\":1,\"a\":2}\n{\"a\":\"\\u0000\"}\n{\"a\":1}\n").rows();
    let codes: Vec<&str> = rows.iter().map(|row| row.split(' ').next().unwrap()).collect();
    assert_eq!(codes, ["not_an_object:", "invalid_json:", "invalid_utf8:", "invalid_json:", "nul_byte:", r#"{"a":1}"#]);
    assert_eq!(
        rows[1],
        r#"invalid_json: line 2, column 6: expected a JSON object; the JSON is invalid: expected value "{\"a\":}""#
    );
    assert!(rows[2].contains("line 3, column 7: expected UTF-8"), "{}", rows[2]);
}

#[test]
fn a_line_of_16_mebibytes_is_parsed_and_a_longer_one_fails_without_being_parsed() {
    let of = |bytes: usize| format!("{{\"a\":\"{}\"}}\r\n{{\"a\":1}}\n", "x".repeat(bytes - 8));
    assert!(jsonl(&of(16 << 20)).rows()[0].starts_with("field_too_large: column `a`"));
    let records = jsonl(&of((16 << 20) + 1)).records();
    assert!(shown(&records[0]).starts_with("row_too_large: expected a row of at most 16 MiB, found 16777217 bytes"));
    assert_eq!(shown(&records[1]), r#"{"a":1}"#);
    assert_eq!(place(&records[1]), (2, 2, (16 << 20) + 3));
}

#[test]
fn a_line_that_exceeds_the_limit_because_of_spaces_is_a_failure_too() {
    let text = format!("{}{{\"a\":1}}\n{{\"a\":2}}\n", " ".repeat((16 << 20) + 5));
    let rows = jsonl(&text).rows();
    assert!(rows[0].starts_with("row_too_large"));
    assert_eq!(rows[1], r#"{"a":2}"#);
}

#[test]
fn a_row_of_more_than_100_000_values_is_a_failure_and_the_next_row_is_read() {
    let row = format!("{{\"a\":[{}]}}\n{{\"a\":1}}\n", vec!["0"; 100_000].join(","));
    let rows = jsonl(&row).rows();
    assert!(rows[0].starts_with("row_too_large: line 1: expected at most 100000 values in a row, found more"));
    assert_eq!(rows[1], r#"{"a":1}"#);
}
