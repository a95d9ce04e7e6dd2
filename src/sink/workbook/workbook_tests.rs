//! A whole workbook, read again by another program's reader.

use super::*;
use crate::sink::table::Kind;
use calamine::{Data, Reader, Xlsx, open_workbook};

fn column(name: &str) -> Column {
    Column { name: name.to_owned(), kind: Kind::Text, nullable: true }
}

#[test]
fn tables_are_sheets_with_their_header_in_the_order_in_which_they_were_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    let mut book = Workbook::create(&path, &["summary"]).unwrap();
    let page = book.add_page("summary").unwrap();
    let (one, two) = (
        book.add_table("one", &[column("a"), column("b")]).unwrap(),
        book.add_table("Summary", &[column("c")]).unwrap(),
    );
    book.write_row(two, &[TableCell::text("=1+1")]).unwrap();
    book.write_row(one, &[TableCell::text("0001015009087"), TableCell::Null]).unwrap();
    book.write_row(one, &[TableCell::Null, TableCell::Timestamp(1_775_217_600_000_000)]).unwrap();
    book.write_line(page, &[TableCell::text("campaign"), TableCell::text("<&> _x0041_ \u{1}")], true).unwrap();
    let written = book.finish().unwrap();
    assert_eq!((written.file.rows, written.cut_cells, written.continued.len()), (3, 0, 0));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), written.file.bytes);
    let mut read: Xlsx<_> = open_workbook(&path).unwrap();
    assert_eq!(read.sheet_names(), ["summary", "one", "Summary (2)"]);
    let rows = |read: &mut Xlsx<_>, name: &str| -> Vec<Vec<Data>> {
        read.worksheet_range(name).unwrap().rows().map(<[Data]>::to_vec).collect()
    };
    let one = rows(&mut read, "one");
    assert_eq!(one[1][0], Data::String("0001015009087".into()));
    let Data::DateTime(at) = &one[2][1] else { panic!("{:?}", one[2][1]) };
    assert_eq!(at.as_f64(), 46_115.5);
    assert_eq!(rows(&mut read, "Summary (2)"), [[Data::String("c".into())], [Data::String("=1+1".into())]]);
    assert_eq!(rows(&mut read, "summary")[0][1], Data::String("<&> _x0041_ \u{1}".into()));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left");
}

#[test]
fn a_table_that_is_too_long_continues_on_another_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    let mut book = Workbook::create(&path, &[]).unwrap();
    book.rows_max = 3;
    let table = book.add_table("rows", &[column("n")]).unwrap();
    for number in 0..5 {
        book.write_row(table, &[TableCell::Integer(number)]).unwrap();
    }
    let written = book.finish().unwrap();
    assert_eq!(written.continued, [["rows", "rows (2)", "rows (3)"]]);
    let mut read: Xlsx<_> = open_workbook(&path).unwrap();
    let heights: Vec<usize> =
        read.sheet_names().iter().map(|name| read.worksheet_range(name).unwrap().height()).collect();
    assert_eq!(heights, [3, 3, 2], "each has a header");
}

#[test]
fn texts_that_are_too_long_for_a_cell_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    let mut book = Workbook::create(&path, &[]).unwrap();
    let table = book.add_table("rows", &[column("a"), column("b")]).unwrap();
    for bytes in [CELL_CHARACTERS_MAX, CELL_CHARACTERS_MAX + 1, 2 * CELL_CHARACTERS_MAX] {
        book.write_row(table, &[TableCell::Text("x".repeat(bytes)), TableCell::Integer(1)]).unwrap();
    }
    assert_eq!((book.cut_cells(), book.finish().unwrap().cut_cells), (2, 2));
    let mut read: Xlsx<_> = open_workbook(&path).unwrap();
    let rows = read.worksheet_range("rows").unwrap();
    let lengths: Vec<usize> = rows.rows().skip(1).map(|row| row[0].to_string().chars().count()).collect();
    assert_eq!(lengths, [CELL_CHARACTERS_MAX; 3]);
    assert!(rows.rows().next_back().unwrap()[0].to_string().ends_with("x … (cut)"));
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let digest = |name: &str| {
        let mut book = Workbook::create(&folder.path().join(name), &[]).unwrap();
        let table = book.add_table("rows", &[column("n")]).unwrap();
        for number in 0..1_000 {
            book.write_row(table, &[TableCell::Integer(number)]).unwrap();
        }
        book.finish().unwrap().file.sha256
    };
    assert_eq!(digest("one.xlsx"), digest("two.xlsx"));
}

#[test]
fn a_workbook_without_a_table_row_and_a_row_with_too_many_columns() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = Workbook::create(&folder.path().join("book.xlsx"), &[]).unwrap();
    let many: Vec<Column> = (0..=COLUMNS_MAX).map(|number| column(&number.to_string())).collect();
    let fault = book.add_table("rows", &many).unwrap_err().to_string();
    assert!(fault.contains("expected at most 16384 columns in a sheet, found 16385"), "{fault}");
    book.add_table("rows", &many[1..]).unwrap();
    assert_eq!(book.finish().unwrap().file.rows, 0);
}
