//! Any text as a template, as a condition and as a rule over an answer: the same row gives the same result, a missing
//! value never becomes text, no text exceeds its limit, and no error message repeats a cell.

use rescreen::{
    model::{Position, Row, row::Values},
    template::{Nulls, RenderFault, RowView, Tables, Templates},
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// A text that is only in cells.
const MARKER: &str = "Qzx7Wv";
/// The most bytes of a template, and of its result.
const SOURCE_BYTES_MAX: usize = 64 << 10;
const TEXT_BYTES_MAX: usize = 2 << 20;
/// How a template engine would print a missing value.
const NOTHING: [&str; 4] = ["none", "null", "undefined", "nil"];

pub fn check(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let tables = BTreeMap::from([("branches".to_owned(), BTreeMap::from([("12".to_owned(), "Cape Town".to_owned())]))]);
    let templates = Templates::new(Tables(tables));
    let views = rows();
    if let Ok(template) = templates.compile(source) {
        assert!(source.len() <= SOURCE_BYTES_MAX, "a template of {} bytes was accepted", source.len());
        for view in &views {
            let rendered = template.render(view);
            assert_eq!(rendered, template.render(view), "the same row gives the same text");
            match rendered {
                Ok(text) => {
                    assert!(text.len() <= TEXT_BYTES_MAX, "a text of {} bytes", text.len());
                    says_nothing_of_nothing(source, &text);
                }
                Err(fault) => repeats_no_cell(source, &fault),
            }
        }
    }
    if let Ok(condition) = templates.condition(source) {
        for view in &views {
            let held = condition.holds(view);
            assert_eq!(held, condition.holds(view), "the same row satisfies the same condition");
            held.err().iter().for_each(|fault| repeats_no_cell(source, fault));
        }
    }
    if let Ok(rule) = templates.answer_rule(source) {
        for answer in answers() {
            let payload = &answer["results"];
            let held = rule.holds(payload, &answer);
            assert_eq!(held, rule.holds(payload, &answer), "the same answer satisfies the same rule");
            held.err().iter().for_each(|message| is_clean(source, message));
        }
    }
}

/// Checks that a result has no word for a missing value, unless the template has it.
fn says_nothing_of_nothing(source: &str, text: &str) {
    // A template may build such a word from its own characters.
    if source.contains(['\\', '~', '|', '+']) {
        return;
    }
    let (source, text) = (source.to_lowercase(), text.to_lowercase());
    for word in NOTHING {
        assert!(source.contains(word) || !text.contains(word), "`{word}` was printed: {text:?}");
    }
}

fn repeats_no_cell(source: &str, fault: &RenderFault) {
    if let RenderFault::Missing { what } = fault {
        assert!(!what.is_empty(), "a missing value has a name");
    }
    is_clean(source, &fault.to_string());
}

fn is_clean(source: &str, message: &str) {
    assert!(!message.is_empty());
    let (source, shown, marker) = (source.to_lowercase(), message.to_lowercase(), MARKER.to_lowercase());
    assert!(source.contains(&marker) || !shown.contains(&marker), "a cell is repeated: {message}");
}

/// Rows with values, with nulls of each kind, and with nothing at all.
fn rows() -> Vec<RowView> {
    let cell = |text: &str| format!("{text}{MARKER}");
    let columns = ["name", "surname", "country", "status", "born", "no", "branch"];
    let whole = [
        cell("Jo "),
        cell("B"),
        "za".to_owned(),
        "%.99999f".to_owned(),
        "1990-02-28".into(),
        "007".into(),
        "12".into(),
    ];
    let gaps = [cell("Jo "), "".to_owned(), "".into(), " ".into(), cell("1990-13-"), "N/A".into(), "".into()];
    let nothing: [String; 7] = Default::default();
    let nested = json!({
        "name": cell("Jo "), "surname": null, "no": 7, "rate": 1.5, "flag": true, "born": "1990-02-28",
        "address": {"lines": [cell("1 "), null, ""], "code": null}, "list": [], "object": {}, "names": [{"name": cell("A")}, {}],
    });
    let nested = nested.as_object().expect("an object").clone();
    let mut rows: Vec<Values> = [whole, gaps, nothing].into_iter().map(|cells| flat(&columns, &cells)).collect();
    rows.extend([Values::Nested(nested), Values::Nested(Map::new())]);
    let nulls = Arc::new(Nulls::new(vec![String::new(), "N/A".to_owned()], BTreeMap::new()));
    let position = Position { source: "input".into(), row_number: 1, line: 2, byte_offset: 20 };
    rows.into_iter().map(|values| RowView::new(&Row { position: position.clone(), values }, &nulls)).collect()
}

fn flat(columns: &[&str], cells: &[String]) -> Values {
    let header = Arc::new(columns.iter().map(|column| (*column).to_owned()).collect());
    Values::Flat { header, cells: cells.iter().map(String::as_str).collect() }
}

fn answers() -> [Value; 3] {
    [
        json!({"success": true, "results": {"match": [{"type": "pep", "name": MARKER}], "totalHits": 1, "status": MARKER}}),
        json!({"success": true, "results": {"match": null, "totalHits": "x", "status": null, "list": [MARKER, 1, null]}}),
        json!({"results": MARKER}),
    ]
}
