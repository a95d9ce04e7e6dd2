//! Inputs without a header: the first line is a row, and the columns have the names that the user gives, or numbers.

use super::{csv, jsonl, place, shown};
use rescreen::source::{Columns, HeaderLine, SourceOptions};

fn missing(options: &mut SourceOptions) {
    options.header = HeaderLine::Missing;
}

fn named(names: &[&str]) -> impl Fn(&mut SourceOptions) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    move |options| options.header = HeaderLine::Named(Columns::new(&names).unwrap())
}

#[test]
fn the_first_line_is_a_row_of_columns_with_the_names_given() {
    let records = csv("\u{feff}0012;2,5,\n\n2;x\n3\n").said(named(&["id", "name"])).records();
    let shown: Vec<String> = records.iter().map(shown).collect();
    assert_eq!(
        shown[..2],
        [r#"{"id":"0012","name":"2,5,"}"#, r#"{"id":"2","name":"x"}"#],
        "the names show the delimiter"
    );
    assert_eq!(shown[2], r#"ragged_row: expected 2 columns, found 1 {"id":"3"}"#);
    assert_eq!(records.iter().map(place).collect::<Vec<_>>(), [(1, 1, 3), (2, 3, 14), (3, 4, 18)]);
}

#[test]
fn columns_without_names_have_numbers() {
    let rows = csv("1,2\n3\n").said(missing).rows();
    assert_eq!(
        rows,
        [r#"{"column_1":"1","column_2":"2"}"#, r#"ragged_row: expected 2 columns, found 1 {"column_1":"3"}"#]
    );
    assert!(csv("").said(missing).rows().is_empty());
    assert!(csv("").said(named(&["id"])).rows().is_empty());
    assert_eq!(csv("1,\"x").said(missing).rows().len(), 1, "a quote left open is one failure");
}

#[test]
fn a_book_without_a_header_resumes_where_it_was() {
    let book: String = (1..=2_500).map(|n| format!("{n},name {n}\n")).collect();
    for say in [&missing as &dyn Fn(&mut SourceOptions), &named(&["id", "name"])] {
        let known = csv(&book).said(say).known();
        assert_eq!(known.checkpoints.len(), 3);
        assert!(csv(&book).said(say).splits(Some(&known)).unwrap().is_empty());
        let longer = format!("{book}2501,x\n");
        let splits = csv(&longer).said(say).splits(Some(&known)).unwrap();
        assert_eq!(place(&splits[0].records[0]).0, 2_501);
    }
}

#[test]
fn column_names_that_differ_from_the_first_run_are_refused() {
    let known = csv("1,2\n").said(named(&["id", "name"])).known();
    let message = csv("1,2\n3,4\n").said(named(&["name", "id"])).refused(Some(&known));
    assert!(message.contains("the 2 columns that this input had before, found 2, and column 1 differs"), "{message}");
}

#[test]
fn json_lines_have_their_own_column_names() {
    let message = jsonl("{\"a\":1}\n").said(missing).refused(None);
    assert!(message.contains("remove `header` and `columns`"), "{message}");
}

#[test]
fn a_row_of_1024_cells_is_read_without_a_header_and_one_more_is_refused() {
    let of = |cells: usize| vec!["x"; cells].join(",");
    assert_eq!(csv(&of(1_024)).said(missing).rows().len(), 1);
    assert!(csv(&of(1_025)).said(missing).refused(None).contains("expected at most 1024 columns, found 1025"));
}
