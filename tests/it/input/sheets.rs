//! Spreadsheets: a cell is what it shows, a row has its place in the sheet, and a cell without a value is a failure.

use super::{known_of, place, shown, splits_of};
use crate::fuzzed::checks::xlsx::{Workbook, rows, text};
use rescreen::source::{Columns, Format, HeaderLine, KnownSource, Origin, SourceError, SourceOptions, SourceReader};
use tempfile::TempDir;

struct Sheet {
    folder: TempDir,
    options: SourceOptions,
}

impl Sheet {
    fn of(workbook: &Workbook) -> Sheet {
        let sheet = Sheet { folder: tempfile::tempdir().unwrap(), options: SourceOptions::default() };
        sheet.write(&workbook.bytes());
        sheet
    }

    fn write(&self, bytes: &[u8]) {
        std::fs::write(self.folder.path().join("book.xlsx"), bytes).unwrap();
    }

    fn said(mut self, say: impl FnOnce(&mut SourceOptions)) -> Sheet {
        say(&mut self.options);
        self
    }

    fn open(&self, known: Option<&KnownSource>) -> Result<SourceReader, SourceError> {
        SourceReader::open("book".into(), Origin::File(self.folder.path().join("book.xlsx")), &self.options, known)
    }

    fn records(&self) -> Vec<(String, (u64, u64))> {
        let splits = splits_of(self.open(None).unwrap()).unwrap();
        let records = splits.iter().flat_map(|split| &split.records);
        records.map(|record| (shown(record), (place(record).0, place(record).1))).collect()
    }

    fn rows(&self) -> Vec<String> {
        self.records().into_iter().map(|(shown, _)| shown).collect()
    }

    fn refused(&self) -> String {
        let fault = self.open(None).and_then(splits_of).expect_err("the spreadsheet is refused");
        fault.to_string()
    }
}

fn book(cells: &[&[&str]]) -> Workbook {
    Workbook::new().sheet("Customers", &rows(cells)).shared(&["id", "name"])
}

const ID: &str = "<c t=\"s\"><v>0</v></c>";
const NAME: &str = "<c t=\"s\"><v>1</v></c>";

fn number(digits: &str) -> String {
    format!("<c><v>{digits}</v></c>")
}

#[test]
fn numbers_keep_their_digits_and_texts_their_characters() {
    for workbook in [
        book(&[
            &[ID, NAME],
            &[&number("8001015009087"), &text("say \"no\", Zoë\n ")],
            &[&text("0012"), &number("0.1")],
        ]),
        book(&[
            &[ID, NAME],
            &[&number("8.001015009087E12"), &text("say \"no\", Zoë\n ")],
            &[&text("0012"), &number("0.10000000000000001")],
        ])
        .compressed(),
    ] {
        let sheet = Sheet::of(&workbook);
        assert_eq!(
            sheet.open(None).unwrap().layout(),
            (Format::Csv, Some(b','), Some(&["id".to_owned(), "name".to_owned()][..]))
        );
        let rows = sheet.rows();
        assert_eq!(rows[0], r#"{"id":"8001015009087","name":"say \"no\", Zoë\n "}"#);
        assert_eq!(rows[1], r#"{"id":"0012","name":"0.1"}"#);
    }
}

#[test]
fn dates_booleans_and_results_of_formulas_are_text() {
    let cells = [
        ("<c s=\"1\"><v>46115</v></c>", "2026-04-03"),
        ("<c s=\"2\"><v>46115.75</v></c>", "2026-04-03T18:00:00"),
        ("<c t=\"d\"><v>2026-04-03T00:00:00</v></c>", "2026-04-03"),
        ("<c s=\"3\"><v>1.5</v></c>", "PT36H0M0S"),
        ("<c t=\"b\"><v>1</v></c>", "true"),
        ("<c t=\"b\"><v>0</v></c>", "false"),
        ("<c><f>2*21</f><v>42</v></c>", "42"),
        ("<c t=\"str\"><f>A1</f><v>x</v></c>", "x"),
        ("<c t=\"str\"><f>\"\"</f><v></v></c>", ""),
    ];
    for (cell, expected) in cells {
        let sheet = Sheet::of(&book(&[&[ID, NAME], &[&number("1"), cell]]));
        assert_eq!(sheet.rows(), [format!(r#"{{"id":"1","name":"{expected}"}}"#)], "{cell}");
    }
    let sheet = Sheet::of(&book(&[&[ID, NAME], &[&number("1"), "<c s=\"1\"><v>44653</v></c>"]]).in_1904());
    assert_eq!(sheet.rows(), [r#"{"id":"1","name":"2026-04-03"}"#]);
}

#[test]
fn a_cell_without_a_value_fails_its_row_and_the_next_row_is_read() {
    for (cell, message, kept) in [
        ("<c t=\"e\"><v>#N/A</v></c>", "found the error #N/A; fix the cell", "#N/A"),
        ("<c t=\"e\"><f>X1</f><v>#REF!</v></c>", "found the error #REF!", "#REF!"),
        ("<c><f>1+1</f></c>", "found a formula without its result", ""),
        ("<c><f>1+1</f><v></v></c>", "found a formula without its result", ""),
        ("<c><v>1000000000000000</v></c>", "expected a number of at most 15 digits", "1000000000000000"),
        ("<c><v>12345678901234567890</v></c>", "expected a number of at most 15 digits", "12345678901234567000"),
        ("<c s=\"1\"><v>60</v></c>", "expected a date from 1900 to 9999", "60"),
    ] {
        let sheet = Sheet::of(&book(&[&[ID, NAME], &[&number("1"), cell], &[&number("2"), &text("y")]]));
        let rows = sheet.rows();
        assert!(
            rows[0].starts_with("invalid_value: column `name`: expected") && rows[0].contains(message),
            "{}",
            rows[0]
        );
        assert!(rows[0].ends_with(&format!(r#"{{"id":"1","name":"{kept}"}}"#)), "{}", rows[0]);
        assert_eq!(rows[1], r#"{"id":"2","name":"y"}"#);
    }
    let header = Sheet::of(&book(&[&[ID, "<c t=\"e\"><v>#N/A</v></c>"], &[&number("1")]]));
    assert!(header.refused().contains("the header: expected text, found a cell without a value in column 2"));
}

#[test]
fn places_are_rows_of_the_sheet_and_empty_rows_are_not_records() {
    let broken = text("x\ny\r\nz");
    let sheet = Sheet::of(&book(&[
        &[],
        &[ID, NAME],
        &[&number("1"), &broken],
        &["<c s=\"1\"/>", ""],
        &["", &text("no id")],
        &[&number("3"), "", &text("left over")],
        &[&number("4"), &text("y")],
    ]));
    let records = sheet.records();
    assert_eq!(records.iter().map(|(_, place)| *place).collect::<Vec<_>>(), [(1, 3), (2, 5), (3, 6), (4, 7)]);
    assert_eq!(records[1].0, r#"{"id":"","name":"no id"}"#);
    assert_eq!(records[2].0, r#"ragged_row: expected 2 columns, found 3 {"id":"3","name":"","column_3":"left over"}"#);
}

#[test]
fn the_one_sheet_with_data_is_read_and_of_several_the_one_that_is_named() {
    let data = rows(&[&[ID], &[&number("1")]]);
    let empty = Workbook::new().shared(&["id"]).sheet("Notes", "<sheetData/>").sheet("Customers", &data);
    assert_eq!(Sheet::of(&empty).rows(), [r#"{"id":"1"}"#]);
    let two = || Workbook::new().shared(&["id"]).sheet("May", &data).sheet("June", &rows(&[&[ID], &[&number("2")]]));
    let message = Sheet::of(&two()).refused();
    assert_eq!(
        message,
        "book: expected one sheet with data, found 2 (May, June); name one with --sheet NAME (or [input] sheet)"
    );
    for name in ["June", " june "] {
        let sheet = Sheet::of(&two()).said(|options| options.sheet = Some(name.to_owned()));
        assert_eq!(sheet.rows(), [r#"{"id":"2"}"#]);
    }
    let message = Sheet::of(&two()).said(|options| options.sheet = Some("Jun".to_owned())).refused();
    assert!(message.contains("expected the sheet `Jun`, found May, June; did you mean `June`?"), "{message}");
    let none = Workbook::new().sheet("Notes", "<sheetData/>");
    assert_eq!(
        Sheet::of(&none).refused(),
        "book: expected a sheet with data, found none; check that this is the right file and sheet"
    );
    let csv = super::csv("id\n1\n").said(|options| options.sheet = Some("May".to_owned())).refused(None);
    assert!(csv.contains("found a file of another format; remove `sheet`"), "{csv}");
}

#[test]
fn merged_cells_in_the_data_are_refused_with_their_range() {
    let of = |range: &str| {
        let data = rows(&[&[], &[ID, NAME], &[&number("1"), &text("x")]]);
        let merged = format!("{data}<mergeCells count=\"1\"><mergeCell ref=\"{range}\"/></mergeCells>");
        Sheet::of(&Workbook::new().shared(&["id", "name"]).sheet("Customers", &merged))
    };
    for range in ["A3:A4", "A1:B2", "B3:D3"] {
        let message = of(range).refused();
        assert!(
            message.contains(&format!("sheet `Customers`: expected no merged cells in the data, found {range}")),
            "{message}"
        );
    }
    for outside in ["A1:B1", "C2:D9"] {
        assert_eq!(of(outside).rows().len(), 1, "{outside}");
    }
}

#[test]
fn a_merged_title_suggests_the_row_of_the_header_and_the_table_below_it_is_read() {
    let data = rows(&[
        &[&text("Customers of 2026")],
        &[],
        &[ID, NAME],
        &[&number("1"), &text("x")],
        &[&number("2")],
        &[&text("Total")],
    ]);
    let merged = format!("{data}<mergeCells count=\"1\"><mergeCell ref=\"A1:F1\"/></mergeCells>");
    let book = || Sheet::of(&Workbook::new().shared(&["id", "name"]).sheet("Customers", &merged));
    let message = book().refused();
    assert!(message.contains("found A1:F1 merged") && message.contains("--header-row N"), "{message}");
    for before in [1, 2] {
        let sheet = book().said(|options| (options.skip_lines, options.skip_footer) = (before, 1));
        let expected =
            [(r#"{"id":"1","name":"x"}"#.to_owned(), (1, 4)), (r#"{"id":"2","name":""}"#.to_owned(), (2, 5))];
        assert_eq!(sheet.records(), expected, "rows keep their numbers in the sheet");
    }
    let message = book().said(|options| options.skip_lines = 9).refused();
    assert!(message.contains("expected a sheet with data from row 10 on, found none"), "{message}");
}

#[test]
fn a_sheet_without_a_header_has_the_names_given() {
    let names = ["id".to_owned(), "name".to_owned()];
    let sheet = Sheet::of(&book(&[&[&number("1")], &[&number("2"), &text("x")]]))
        .said(|options| options.header = HeaderLine::Named(Columns::new(&names).unwrap()));
    assert_eq!(sheet.rows(), [r#"{"id":"1","name":""}"#, r#"{"id":"2","name":"x"}"#]);
}

#[test]
fn an_unchanged_sheet_gives_nothing_an_appended_one_the_new_rows_and_an_edited_one_is_refused() {
    let numbers: Vec<String> = (1..=2_600).map(|n| number(&n.to_string())).collect();
    let of = |count: usize, edit: Option<(usize, &str)>| {
        let mut cells: Vec<Vec<&str>> = vec![vec![ID, NAME]];
        cells.extend(numbers[..count].iter().map(|number| vec![number.as_str(), NAME]));
        if let Some((row, cell)) = edit {
            cells[row] = vec![cell, NAME];
        }
        let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
        book(&cells).bytes()
    };
    let sheet = Sheet::of(&Workbook::new());
    sheet.write(&of(2_500, None));
    let (splits, known) = known_of(sheet.open(None).unwrap());
    assert_eq!(splits.iter().map(|split| split.records.len()).collect::<Vec<_>>(), [1_000, 1_000, 500]);
    let again = |known: &KnownSource| sheet.open(Some(known)).and_then(splits_of);
    assert!(again(&known).unwrap().is_empty());
    for taken in 1..=3 {
        let part = KnownSource { checkpoints: known.checkpoints[..taken].to_vec(), ..known.clone() };
        assert_eq!(again(&part).unwrap().len(), 3 - taken);
    }
    sheet.write(&of(2_600, None));
    let new = again(&known).unwrap();
    assert_eq!((new[0].records.len(), place(&new[0].records[0]).1), (100, 2_502));
    sheet.write(&of(2_500, Some((1_500, "<c><v>7</v></c>"))));
    match again(&known) {
        Err(SourceError::Changed { first_changed_rows, .. }) => assert_eq!(first_changed_rows, 1_001..=2_000),
        other => panic!("{other:?}"),
    }
    // Cells without a value are part of the digest too.
    sheet.write(&of(2_500, Some((1_500, "<c t=\"e\"><v>#N/A</v></c>"))));
    assert!(again(&known).is_err());
    sheet.write(&of(1_100, None));
    assert!(matches!(again(&known), Err(SourceError::Truncated { .. })));
}

#[test]
fn a_damaged_spreadsheet_is_a_fault_and_never_an_end_of_input() {
    let whole = book(&[&[ID, NAME], &[&number("1"), &text("x")], &[&number("2"), &text("y")]]);
    let xml = rows(&[&[ID], &[&number("1")]]);
    let cut = Workbook::new().shared(&["id"]).sheet("Customers", &xml[..xml.len() - 30]);
    assert!(Sheet::of(&cut).refused().contains("is damaged"), "{}", Sheet::of(&cut).refused());
    let disorder =
        "<sheetData><row r=\"2\"><c r=\"A2\"><v>1</v></c></row><row r=\"1\"><c r=\"A1\"><v>2</v></c></row></sheetData>";
    let message = Sheet::of(&Workbook::new().sheet("Customers", disorder)).refused();
    assert!(message.contains("row 1 of the sheet: expected cells in order"), "{message}");
    for index in ["x", "-1", " 1", "1 ", "99999999999999999999", "1.0", "7", "&#49;", "<!-- -->1"] {
        let cell = format!("<c t=\"s\"><v>{index}</v></c>");
        let message = Sheet::of(&book(&[&[ID, NAME], &[&number("1"), &cell]])).refused();
        assert!(message.contains("is damaged"), "{index}: {message}");
    }
    let sheet = Sheet::of(&whole);
    let bytes = whole.bytes();
    for keep in [4, 100, bytes.len() / 2, bytes.len() - 10] {
        sheet.write(&bytes[..keep]);
        let message = sheet.refused();
        assert!(message.starts_with("book: expected a"), "{message}");
    }
    sheet.write(b"id,name\n1,x\n");
    assert!(sheet.refused().contains("is damaged"));
    sheet.write(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and the rest");
    assert_eq!(
        sheet.refused(),
        "book: a spreadsheet in the old format .xls, or one with a password is not supported; save it as .xlsx \
         or as CSV, without a password"
    );
    let other = crate::fuzzed::checks::xlsx::archive(&[("a.txt".to_owned(), b"x".to_vec())], false);
    sheet.write(&other);
    assert!(sheet.refused().contains("found a zip archive of another kind"), "{}", sheet.refused());
}

#[test]
fn a_range_written_backwards_and_a_cell_outside_any_sheet_are_faults() {
    let merged =
        format!("{}<mergeCells><mergeCell ref=\"B9:A2\"/></mergeCells>", rows(&[&[ID, NAME], &[&number("1"), NAME]]));
    let backwards = Sheet::of(&Workbook::new().shared(&["id", "name"]).sheet("Customers", &merged));
    assert!(
        backwards.refused().contains("an invalid reference to a cell, a row or a range"),
        "{}",
        backwards.refused()
    );
    for place in ["A1048577", "A4294967295", "XFE2", "ZZZZZZ2", "AHEETDATAROOW2", ""] {
        let cell = format!("<sheetData><row><c r=\"A1\"><v>1</v></c><c r=\"{place}\"><v>2</v></c></row></sheetData>");
        let message = Sheet::of(&Workbook::new().sheet("Customers", &cell)).refused();
        assert!(message.contains("is damaged"), "{place}: {message}");
    }
}

#[test]
fn a_spreadsheet_that_expands_too_far_is_refused() {
    let blank = |bytes: usize| vec![b' '; bytes];
    let with =
        |part: &str, content: &[u8]| Sheet::of(&book(&[&[ID], &[&number("1")]]).part(part, content).compressed());
    let texts = |bytes: usize| [b"<sst><si><t>id</t></si>", &blank(bytes)[..], b"</sst>"].concat();
    assert_eq!(with("xl/sharedStrings.xml", &texts(900_000)).rows().len(), 1, "the first mebibyte is free");
    let too_dense = "expected at most 200 decompressed bytes for each byte";
    assert!(with("xl/sharedStrings.xml", &texts(1_100_000)).refused().contains(too_dense));
    assert_eq!(with("xl/other.xml", &blank(1_100_000)).rows().len(), 1, "a part that is never opened does not matter");
    let claim = format!("<sst uniqueCount{}=\"99999999999999\"><si/></sst>", " ".repeat(70));
    let message = with("xl/sharedStrings.xml", claim.as_bytes()).refused();
    assert_eq!(message, "book: expected at most 4194304 shared strings in a spreadsheet, found more; save it as CSV");
    // The part of a sheet may have any name.
    let kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet";
    let list = format!(
        "<Relationships><Relationship Id=\"rId1\" Type=\"{kind}\" Target=\"media/image1.png\"/></Relationships>"
    );
    let elsewhere = |xml: &str| {
        let book = book(&[]).part("xl/_rels/workbook.xml.rels", list.as_bytes());
        Sheet::of(&book.part("xl/media/image1.png", format!("<worksheet>{xml}</worksheet>").as_bytes()).compressed())
    };
    let xml = rows(&[&[ID], &[&number("1")]]);
    assert_eq!(elsewhere(&xml).rows().len(), 1);
    assert!(elsewhere(&(xml + &" ".repeat(1_100_000))).refused().contains(too_dense));
}

#[test]
fn the_limits_of_fields_and_columns_hold_in_a_sheet() {
    let of = |bytes: usize| {
        Sheet::of(&book(&[&[ID, NAME], &[&number("1"), &text(&"x".repeat(bytes))], &[&number("2"), NAME]]))
    };
    assert!(of(1 << 20).rows()[0].starts_with("{\"id\""));
    let rows = of((1 << 20) + 1).rows();
    assert!(rows[0].starts_with("field_too_large: column `name`: expected at most 1 MiB, found 1048577 bytes"));
    assert_eq!(rows[1], r#"{"id":"2","name":"name"}"#);
    let wide = |count: usize| {
        let cells: String = (0..count).map(|n| format!("<c t=\"inlineStr\"><is><t>c{n}</t></is></c>")).collect();
        Sheet::of(&Workbook::new().sheet("Wide", &format!("<sheetData><row>{cells}</row></sheetData>")))
    };
    assert!(wide(1_024).rows().is_empty());
    assert!(wide(1_025).refused().contains("expected at most 1024 columns, found 1025"));
}

#[test]
fn a_row_of_16_mebibytes_is_read_from_a_sheet_and_one_byte_more_is_not() {
    // As CSV: two quotes for each cell, and a comma between two.
    let of = |last: usize| {
        let (whole, last) = (text(&"x".repeat(1 << 20)), text(&"x".repeat(last)));
        let head: Vec<String> = (0..16).map(|n| text(&format!("c{n}"))).collect();
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let mut cells = vec![whole.as_str(); 15];
        cells.push(&last);
        Sheet::of(&Workbook::new().sheet("Wide", &rows(&[&head, &cells, &["<c><v>1</v></c>"]])))
    };
    let last = (1 << 20) - 15 * 2 - 15 - 2;
    assert!(of(last).rows()[0].starts_with("{\"c0\""));
    let rows = of(last + 1).rows();
    assert!(
        rows[0].starts_with("row_too_large: expected a row of at most 16 MiB, found 16777217 bytes"),
        "{}",
        &rows[0][..80]
    );
    assert!(rows[1].starts_with("{\"c0\":\"1\""));
}
