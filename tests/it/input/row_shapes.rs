//! What is remarkable about the rows of an input as a whole: rows of empty cells, rows that span several lines, and rows
//! that a spreadsheet program hides.

use super::{csv, shown, splits_of};
use crate::fuzzed::checks::xlsx::{Workbook, text};
use rescreen::source::{HiddenRows, Origin, RowShapes, SourceOptions, SourceReader};

fn shapes(mut reader: SourceReader) -> RowShapes {
    while reader.next_split().unwrap().is_some() {}
    reader.shapes()
}

#[test]
fn empty_rows_and_rows_of_several_lines_are_counted_with_the_place_of_the_first() {
    for end in ["\n", "\r\n"] {
        let table = ["id,name", "1,a", ",,", "2,\"b", "c\"", " , ", "3,\"d", "e", "f\"", ",", ""].join(end);
        let shapes = shapes(csv(&table).open(None).unwrap());
        assert_eq!((shapes.empty_rows, shapes.first_empty_line), (3, 3), "{end:?}");
        assert_eq!((shapes.spanning_rows, shapes.first_span), (2, (4, 5)), "{end:?}");
        let lines = shapes.lines("book.csv");
        assert_eq!(lines[0], "rows of empty cells, skipped: 3, the first in line 3 of book.csv");
        assert!(lines[1].starts_with("rows that span several lines: 2, the first at lines 4 to 5 of book.csv"));
    }
    for plain in ["id,name\n1,a\n2,b", "id,name\r1,a\r2,b\r", "id,name\r\n1,a\r\n2,b\r\n"] {
        assert_eq!(shapes(csv(plain).open(None).unwrap()), RowShapes::default(), "{plain:?}");
    }
}

#[test]
fn empty_rows_after_the_last_full_split_are_counted() {
    let rows: String = (1..=1_000).map(|id| format!("{id},x\n")).collect();
    let table = format!("id,name\n{rows}{}", ",\n".repeat(120));
    assert_eq!(shapes(csv(&table).open(None).unwrap()).empty_rows, 120);
}

#[test]
fn a_ragged_row_of_several_lines_names_its_last_line() {
    let rows = csv("id,name,city\n1,a,x\n2,\"b,y\n3,c,z\n4,d,\"w\n5,e,v\n").rows();
    assert!(
        rows[1].starts_with("ragged_row: expected 3 columns, found 2 in lines 3 to 5, which are one row"),
        "{rows:?}"
    );
    assert_eq!(rows.len(), 3);
    assert!(csv("id,name\n1\n").rows()[0].starts_with("ragged_row: expected 2 columns, found 1 {"));
}

/// A sheet with the five ways in which a row is shown or hidden.
fn list() -> Workbook {
    let row = |attributes: &str, id: &str| format!("<row {attributes}><c t=\"s\"><v>0</v></c>{}</row>", text(id));
    let header = "<row r=\"1\"><c t=\"s\"><v>0</v></c><c t=\"s\"><v>1</v></c></row>";
    let rows = [
        row("r=\"2\"", "shown"),
        row("r=\"3\" hidden=\"1\"", "filtered"),
        row("r=\"4\" ht=\"0\" customHeight=\"1\"", "flat"),
        row("r=\"5\" hidden=\"true\" outlineLevel=\"1\"", "collapsed"),
        row("r=\"6\" outlineLevel=\"1\" hidden=\"0\" ht=\"15\"", "expanded"),
    ];
    let sheet = format!("<sheetData>{header}{}</sheetData><autoFilter ref=\"A1:B6\"/>", rows.concat());
    Workbook::new().shared(&["id", "name"]).sheet("Book", &sheet)
}

fn read(workbook: &Workbook, options: &SourceOptions) -> (Vec<String>, RowShapes) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    std::fs::write(&path, workbook.bytes()).unwrap();
    let open = || SourceReader::open("book".into(), Origin::File(path.clone()), options, None).unwrap();
    let splits = splits_of(open()).unwrap();
    let rows = splits.iter().flat_map(|split| &split.records).map(shown).collect();
    (rows, shapes(open()))
}

#[test]
fn hidden_rows_are_counted_or_left_out_however_they_are_hidden() {
    let (rows, shapes) = read(&list(), &SourceOptions::default());
    assert_eq!(rows.len(), 5);
    assert_eq!(shapes.hidden, HiddenRows { hidden: 3, of: 5, by_filter: true, left_out: false });
    assert_eq!(
        shapes.lines("book"),
        ["3 of 5 rows are hidden by a filter in book, and read as well; --visible-only leaves them out"]
    );
    let (rows, shapes) = read(&list(), &SourceOptions { visible_only: true, ..SourceOptions::default() });
    assert_eq!(rows, [r#"{"id":"id","name":"shown"}"#, r#"{"id":"id","name":"expanded"}"#]);
    assert_eq!(shapes.hidden, HiddenRows { hidden: 3, of: 5, by_filter: true, left_out: true });
    assert_eq!(shapes.empty_rows, 0);
}

#[test]
fn hidden_sheets_are_named_and_left_out_with_visible_only() {
    let old =
        "<sheetData><row r=\"1\"><c t=\"s\"><v>0</v></c></row><row r=\"2\"><c t=\"s\"><v>1</v></c></row></sheetData>";
    let workbook = list().sheet("Old", old).hidden();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    std::fs::write(&path, workbook.bytes()).unwrap();
    let fault = SourceReader::open("book".into(), Origin::File(path), &SourceOptions::default(), None).err().unwrap();
    assert!(fault.to_string().contains("found 2 (Book, Old, which is hidden)"), "{fault}");
    let visible = SourceOptions { visible_only: true, ..SourceOptions::default() };
    assert_eq!(read(&workbook, &visible).0.len(), 2);
    let named = SourceOptions { sheet: Some("Old".to_owned()), ..visible };
    assert_eq!(read(&workbook, &named).0, [r#"{"id":"name"}"#]);
}
