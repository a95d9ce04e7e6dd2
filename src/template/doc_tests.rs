//! Every example of the reference gives what the reference says. `docs/templates.md` and `rescreen help templates` show
//! them.

use super::{
    reference::{FILTERS, FUNCTIONS, OBJECT_METHODS, RECIPES, SAMPLE_ROW, TEXT_METHODS},
    *,
};
use crate::model::{Position, Row, row::Values};
use std::{collections::BTreeMap, sync::Arc};

fn row() -> RowView {
    let position = Position { source: "page".into(), row_number: 1, line: 2, byte_offset: 0 };
    let nulls = Nulls::new(vec![String::new()], BTreeMap::new());
    let values = Values::Nested(serde_json::from_str(SAMPLE_ROW).unwrap());
    RowView::new(&Row { position, values }, &Arc::new(nulls))
}

#[test]
fn every_example_gives_the_result_that_is_shown() {
    let branch = BTreeMap::from([("Ndola".to_owned(), "zm".to_owned())]);
    let templates = Templates::new(Tables(BTreeMap::from([("branch".to_owned(), branch)])));
    let row = row();
    let entries = [FILTERS, TEXT_METHODS, OBJECT_METHODS, FUNCTIONS].concat();
    let examples = entries.iter().map(|entry| (entry.example, entry.result));
    for (example, result) in examples.chain(RECIPES.iter().map(|recipe| (recipe.template, recipe.result))) {
        let template = templates.compile(example).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(template.render(&row).as_deref(), Ok(result), "{example}");
    }
    for entry in entries {
        assert!(entry.example.contains(entry.name), "{}: {}", entry.name, entry.example);
    }
}

#[test]
fn every_filter_and_method_of_the_program_is_in_the_reference() {
    let state = Templates::default().environment;
    for name in ["sort", "min", "groupby", "tojson", "safe", "escape", "pprint"] {
        assert!(reference::filter(name).is_none(), "{name}");
        let source = format!("{{{{ 'x' | {name} }}}}");
        let fault = state.render_str(&source, ()).expect_err(&source);
        assert_eq!(fault.kind(), ErrorKind::UnknownFilter, "{name}");
    }
    for filter in FILTERS {
        let source = format!("{{{{ 'x' | {} }}}}", filter.name);
        let fault = state.render_str(&source, ()).err();
        assert!(fault.is_none_or(|fault| fault.kind() != ErrorKind::UnknownFilter), "{}", filter.name);
    }
}
