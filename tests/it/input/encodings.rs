//! Text that is not UTF-8: detected by its byte order mark or declared by the user, never guessed, never repaired.

use super::{csv, jsonl, place, shown};
use rescreen::source::{Encoding, SourceOptions};

fn windows_1252(options: &mut SourceOptions) {
    options.encoding = Some(Encoding::WINDOWS_1252);
}

fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_utf_16_book_reads_like_utf_8_and_offsets_are_those_of_the_utf_8() {
    let text = "id,name\r\n1,Zoë\r\n2,\"a\r\nb\"\r\n";
    let marked = format!("\u{feff}{text}");
    let (plain, wide) = (csv(&marked).records(), utf16(text));
    let wide = csv(&wide).records();
    assert_eq!(wide.iter().map(shown).collect::<Vec<_>>(), plain.iter().map(shown).collect::<Vec<_>>());
    assert_eq!(wide.iter().map(place).collect::<Vec<_>>(), plain.iter().map(place).collect::<Vec<_>>());
    let lines = utf16("{\"a\":\"Zoë\"}\n{\"a\":\"\u{1f600}\"}\n");
    assert_eq!(jsonl(&lines).rows(), ["{\"a\":\"Zoë\"}", "{\"a\":\"\u{1f600}\"}"]);
}

#[test]
fn half_a_character_fails_its_row_and_the_next_row_is_read() {
    let mut wide = utf16("id,name\n1,x");
    wide.extend_from_slice(&0xd800_u16.to_le_bytes());
    wide.extend("\n2,y\n".encode_utf16().flat_map(u16::to_le_bytes));
    let rows = csv(&wide).rows();
    assert!(rows[0].starts_with("invalid_utf8: column `name`: expected UTF-16, found half a character"), "{}", rows[0]);
    assert_eq!(rows[1], r#"{"id":"2","name":"y"}"#);
    wide.push(b'3');
    assert!(csv(&wide).rows()[2].starts_with("ragged_row"), "half a unit at the end is not lost");
}

#[test]
fn windows_1252_is_read_only_where_it_is_declared() {
    let raw = b"id,name\n1,Andr\xe9\n2,\x80 5\n3,a\x81b\n";
    let rows = csv(raw).said(windows_1252).rows();
    assert_eq!(rows[..2], [r#"{"id":"1","name":"André"}"#, r#"{"id":"2","name":"€ 5"}"#]);
    assert!(rows[2].starts_with("invalid_utf8: column `name`: expected windows-1252, found a byte"), "{}", rows[2]);
    let rows = csv(raw).rows();
    assert!(
        rows[0].starts_with("invalid_utf8") && rows[0].contains("set `encoding = \"windows-1252\"`"),
        "{}",
        rows[0]
    );
    let lines = b"{\"a\":\"Andr\xe9\"}\n{\"a\":\"\x8f\"}\n";
    let rows = jsonl(lines).said(windows_1252).rows();
    assert_eq!(rows[0], "{\"a\":\"André\"}");
    assert!(rows[1].starts_with("invalid_utf8: line 2, column 7: expected windows-1252, found a byte"), "{}", rows[1]);
    assert!(jsonl(lines).rows()[0].contains("expected UTF-8, found other bytes; save the file as UTF-8"));
}

#[test]
fn an_encoding_that_the_file_contradicts_is_refused() {
    for (raw, said, found) in [
        (
            &b"\xef\xbb\xbfid\n1\n"[..],
            Encoding::WINDOWS_1252,
            "expected windows-1252 text, found the byte order mark (BOM) of UTF-8",
        ),
        (b"\xff\xfei\0", Encoding::Utf8, "expected utf-8 text, found the byte order mark (BOM) of UTF-16"),
        (b"id\0\0", Encoding::Utf16, "expected utf-16 text, found a text without a byte order mark (BOM)"),
    ] {
        let message = csv(raw).said(|options| options.encoding = Some(said)).refused(None);
        assert!(message.contains(found), "{message}");
    }
}

#[test]
fn every_change_is_found_even_between_undecodable_texts() {
    let known = csv(b"id\na\x81\n").said(windows_1252).known();
    assert!(csv(b"id\na\x81\nb\n").said(windows_1252).splits(Some(&known)).unwrap()[0].records.len() == 1);
    assert!(
        csv(b"id\na\x8d\nb\n").said(windows_1252).refused(Some(&known)).contains("the first change is in rows 1 to 1")
    );
    // The same bytes in another encoding are also another text.
    let known = csv(b"id\nAndr\xe9\n").said(windows_1252).known();
    assert!(csv(b"id\nAndr\xe9\n2\n").refused(Some(&known)).contains("the first change is in rows 1 to 1"));
    assert!(csv("id\nAndré\n").splits(Some(&known)).unwrap().is_empty(), "saved as UTF-8 it is the same text");
}

#[test]
fn the_limits_apply_to_the_utf_8() {
    // A character of two bytes: half a mebibyte of them reaches the limit of a field.
    let of = |count: usize| [&b"a\n"[..], &vec![0xe9; count], b"\n2\n"].concat();
    assert!(!csv(&of(1 << 19)).said(windows_1252).rows()[0].starts_with("field_too_large"));
    let rows = csv(&of((1 << 19) + 1)).said(windows_1252).rows();
    assert!(rows[0].starts_with("field_too_large: column `a`: expected at most 1 MiB, found 1048578 bytes"));
    assert_eq!(rows[1], r#"{"a":"2"}"#);
    let rows = csv(&utf16(&format!("a\n{}\n2\n", "x".repeat((16 << 20) + 1)))).rows();
    assert!(rows[0].starts_with("row_too_large: expected a row of at most 16 MiB, found 16777217 bytes"));
    assert_eq!(rows[1], r#"{"a":"2"}"#);
}
