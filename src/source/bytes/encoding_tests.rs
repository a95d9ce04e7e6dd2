//! Tests of the encodings of a source.

use super::*;
use std::io::Cursor;

fn text(raw: &[u8], said: Option<Encoding>) -> Vec<u8> {
    let mut text = Vec::new();
    decode(Box::new(Cursor::new(raw.to_vec())), raw, said).unwrap().1.read_to_end(&mut text).unwrap();
    text
}

fn refused(raw: &[u8], said: Encoding) -> &'static str {
    decode(Box::new(io::empty()), raw, Some(said)).err().unwrap()
}

#[test]
fn utf_16_in_both_byte_orders_is_detected_by_its_byte_order_mark() {
    let units: Vec<u16> = "\u{feff}é,€,\u{1f600}\n".encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    for raw in [little, big] {
        for said in [None, Some(Encoding::Utf16)] {
            assert_eq!(text(&raw, said), "\u{feff}é,€,\u{1f600}\n".as_bytes());
        }
        assert_eq!(refused(&raw, Encoding::Utf8), "the byte order mark (BOM) of UTF-16");
        assert_eq!(refused(&raw, Encoding::WINDOWS_1252), "the byte order mark (BOM) of UTF-16");
    }
    assert!(refused(b"ab\0\0", Encoding::Utf16).starts_with("a text without a byte order mark"));
    assert!(text(b"", Some(Encoding::Utf16)).is_empty(), "an empty text is accepted");
}

#[test]
fn a_lone_surrogate_and_half_a_unit_are_undecodable_and_differ() {
    let of = |units: &[u16]| {
        let raw: Vec<u8> = [0xfeff].iter().chain(units).flat_map(|unit| unit.to_le_bytes()).collect();
        text(&raw, None)
    };
    let halves = [of(&[0xd800]), of(&[0xd801]), of(&[0xdc00]), text(b"\xff\xfea", None), text(b"\xff\xfeb", None)];
    for (at, half) in halves.iter().enumerate() {
        assert!(std::str::from_utf8(half).is_err(), "{half:?}");
        assert!(!halves[..at].contains(half));
    }
    // Text after half a pair is still decoded.
    assert!(of(&[0xd800, 0x61]).ends_with(b"a") && of(&[0xd800, 0xd83d, 0xde00]).ends_with("\u{1f600}".as_bytes()));
}

#[test]
fn windows_1252_is_read_and_its_five_undefined_bytes_are_undecodable() {
    assert_eq!(text(b"caf\xe9 \x80 \x93x\x94", Some(Encoding::WINDOWS_1252)), "café € “x”".as_bytes());
    for byte in 0..=255_u8 {
        let text = text(&[byte], Some(Encoding::WINDOWS_1252));
        let none = [0x81, 0x8d, 0x8f, 0x90, 0x9d].contains(&byte);
        assert_eq!(std::str::from_utf8(&text).is_err(), none, "{byte:#x}");
    }
    assert_eq!(refused(b"\xef\xbb\xbfa", Encoding::WINDOWS_1252), "the byte order mark (BOM) of UTF-8");
}

#[test]
fn utf_16_without_a_byte_order_mark_is_recognised_by_its_first_characters_or_named() {
    let little = b"n\0a\0,\0\xe9\0\n\0";
    let big = b"\0n\0a\0,\0\xe9\0\n";
    for said in [None, Some(Encoding::Utf16)] {
        assert_eq!(text(little, said), "na,é\n".as_bytes());
        assert_eq!(text(big, said), "na,é\n".as_bytes());
    }
    assert_eq!(text(b"\x38\x04,\0", Some(Encoding::Utf16Le)), "и,".as_bytes());
    assert_eq!(text(b"\x04\x38\0,", Some(Encoding::Utf16Be)), "и,".as_bytes());
    assert_eq!(text(b"\xff\xfea\0", Some(Encoding::Utf16Le)), "\u{feff}a".as_bytes());
    assert!(refused(b"\xff\xfea\0", Encoding::Utf16Be).ends_with("`utf-16le`"));
    assert!(refused(b"\x38\x04,\0", Encoding::Utf16).contains("`utf-16le`"), "the advice works");
}

#[test]
fn code_pages_are_read_and_what_they_do_not_have_is_undecodable_and_differs() {
    let page = |name: &str, raw: &[u8]| text(raw, Some(name.parse().unwrap()));
    for (name, raw, expected) in [
        ("windows-1250", &b"\x8eluk"[..], "Žluk"),
        ("windows-1251", b"\xcf\xe5\xf2\xf0", "Петр"),
        ("iso-8859-1", b"Jos\xe9", "José"),
        ("iso-8859-2", b"\xa3\xf3d\xbc", "Łódź"),
        ("gbk", b"\xcd\xf5\xd0\xa1\xc3\xf7", "王小明"),
        ("shift_jis", b"\x8eR\x93c", "山田"),
        ("big5", b"\xb3\xaf", "陳"),
        ("euc-kr", b"\xb1\xe8", "김"),
    ] {
        assert_eq!(String::from_utf8(page(name, raw)).unwrap(), expected, "{name}");
    }
    let undecodable = [
        page("gbk", b"a\xff"),
        page("gbk", b"a\xcd"),
        page("shift_jis", b"\x8e"),
        page("windows-1253", b"\xd2\x81"),
        page("windows-1253", b"\xd2"),
        page("iso-8859-2", b"\x9a"),
    ];
    for (at, bytes) in undecodable.iter().enumerate() {
        assert!(std::str::from_utf8(bytes).is_err(), "{bytes:?}");
        assert!(!undecodable[..at].contains(bytes));
    }
}

#[test]
fn a_character_of_a_code_page_may_be_split_between_two_reads() {
    let mut page = CodePage::new(encoding_rs::GBK);
    let mut text = Vec::new();
    page.push(b"a\xcd", &mut text, false);
    page.push(b"\xf5\xcd", &mut text, false);
    page.push(b"\n", &mut text, false);
    page.push(b"", &mut text, true);
    assert_eq!(text, b"a\xe7\x8e\x8b\xffcd\n");
}

#[test]
fn an_encoding_is_named_as_in_the_campaign_file_or_as_other_programs_name_it() {
    assert_eq!("UTF-16".parse(), Ok(Encoding::Utf16));
    assert_eq!("utf_16_le".parse(), Ok(Encoding::Utf16Le));
    for (name, shown) in [
        ("Windows-1252", "windows-1252"),
        ("latin-1", "windows-1252"),
        ("cp1250", "windows-1250"),
        ("ISO_8859-2", "iso-8859-2"),
        ("Shift-JIS", "shift_jis"),
        ("GB2312", "gbk"),
        ("cp936", "gbk"),
        ("utf8", "utf-8"),
    ] {
        let encoding: Encoding = name.parse().unwrap();
        assert_eq!(encoding.to_string(), shown, "{name}");
        assert_eq!(serde_json::to_value(encoding).unwrap(), shown);
        assert_eq!(serde_json::from_value::<Encoding>(shown.into()).unwrap(), encoding);
    }
    for none in ["ebcdic", "replacement", "x-user-defined", ""] {
        assert!(none.parse::<Encoding>().unwrap_err().contains("`windows-1252`"), "{none}");
    }
}
