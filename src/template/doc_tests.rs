//! The examples in `docs/templates.md`: every filter has one, with the result the page states.

use super::{filters::FILTERS, *};
use crate::model::{Position, Row, row::Values};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

const PAGE: &str = include_str!("../../docs/templates.md");

/// The row described on the page.
fn row() -> RowView {
    let value = json!({
        "name": "  Thandi van der Merwe ", "code": "ab-12", "amount": "1250", "born": "31/12/1980",
        "country": "South Africa", "branch": "Ndola", "tags": ["b", "a", "b"], "empty": null,
        "people": [{"name": "Anele", "role": "director"}, {"name": "Ravi", "role": "clerk"}],
    });
    let serde_json::Value::Object(map) = value else { unreachable!("it is an object") };
    let position = Position { source: "page".into(), row_number: 1, line: 2, byte_offset: 0 };
    let nulls = Nulls::new(vec![String::new()], BTreeMap::new());
    RowView::new(&Row { position, values: Values::Nested(map) }, &Arc::new(nulls))
}

/// Filter, example and result in a line of the table on the page.
fn example(line: &str) -> Option<[String; 3]> {
    let cells: Vec<String> =
        line.replace("\\|", "\u{0}").split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect();
    let code = |at: usize| Some(cells.get(at)?.strip_prefix('`')?.strip_suffix('`')?.to_owned());
    Some([code(1)?, code(2)?, code(3)?])
}

#[test]
fn every_filter_has_an_example_that_gives_what_the_page_says() {
    let branch = BTreeMap::from([("Ndola".to_owned(), "zm".to_owned())]);
    let templates = Templates::new(Tables(BTreeMap::from([("branch".to_owned(), branch)])));
    let row = row();
    let mut shown = BTreeSet::new();
    for [filter, example, result] in PAGE.lines().filter_map(example) {
        let template = templates.compile(&example).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(template.render(&row).as_deref(), Ok(result.as_str()), "{example}");
        shown.insert(filter);
    }
    assert_eq!(shown, FILTERS.iter().map(|name| (*name).to_owned()).collect());
}
