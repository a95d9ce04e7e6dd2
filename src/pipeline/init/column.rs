//! The columns of a sample: where a value comes from, and how the campaign file names that place. A JSON row has paths
//! beside its columns: members of objects, and members of the objects in a list.

use crate::{
    mapping::{FieldSource, column_expression, is_word},
    model::{Row, column_name::looks_like_a_name, field::tidy, printable::printable_cut, row::Values},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most characters of a column's name in a message or a comment.
pub const SHOWN_CHARACTERS_MAX: usize = 60;
/// The most places of a JSON row.
const PLACES_MAX: usize = 500;
const DEPTH_MAX: usize = 4;

/// One step of a path below a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The member of an object.
    Member(String),
    /// The first member of this name among the objects of a list.
    OfItems(String),
}

/// A place of a row that may feed a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub column: String,
    pub steps: Vec<Step>,
}

impl Place {
    pub fn column(name: impl Into<String>) -> Place {
        Place { column: name.into(), steps: Vec::new() }
    }

    /// The name by which it is matched with a field: the last of its names.
    pub fn name(&self) -> &str {
        match self.steps.last() {
            Some(Step::Member(name) | Step::OfItems(name)) => name,
            None => &self.column,
        }
    }

    /// Its name with all steps, such as `FEATURES[].ADDR_COUNTRY`.
    pub fn path(&self) -> String {
        let mut name = tidy(&self.column);
        for step in &self.steps {
            match step {
                Step::Member(member) => name.push_str(&format!(".{member}")),
                Step::OfItems(member) => name.push_str(&format!("[].{member}")),
            }
        }
        name
    }

    /// Its name for a message or a comment, on one line. A name that may be data is not shown; `number` is the number of
    /// the column, from 1.
    pub fn shown(&self, number: usize, may_be_shown: bool) -> String {
        let name = self.path();
        if may_be_shown && looks_like_a_name(&name) {
            format!("`{}`", printable_cut(&name, SHOWN_CHARACTERS_MAX))
        } else {
            format!("column {number}")
        }
    }

    /// What a campaign file says to read it.
    pub fn source(&self) -> FieldSource {
        let plain = FieldSource::from(self.column.as_str());
        match plain {
            // A list of names starts with a space after a comma; a name of only spaces is not a column.
            FieldSource::Column(_) if self.steps.is_empty() => plain,
            _ => FieldSource::Template(format!("{{{{ {} }}}}", self.expression())),
        }
    }

    /// The expression that reads it in a template.
    pub fn expression(&self) -> String {
        let mut text = column_expression(&self.column);
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Member(member) if self.steps[..at].iter().all(|one| matches!(one, Step::Member(_))) => {
                    text.push_str(&format!(".{member}"));
                }
                Step::Member(member) => text.push_str(&format!(" | map(attribute='{member}') | select | first")),
                Step::OfItems(member) => text.push_str(&format!(" | map(attribute='{member}') | select | first")),
            }
        }
        text
    }

    /// The same as a part of a larger expression.
    pub fn operand(&self) -> String {
        let text = self.expression();
        if text.contains('|') { format!("({text})") } else { text }
    }
}

/// A value of a row at a place, and whether other values at the same place were passed over.
#[derive(Debug)]
pub struct PlacedValue {
    pub text: String,
    pub has_more: bool,
}

/// The values of a row by place. Empty cells and nulls are left out.
pub fn values(row: &Row) -> Vec<(Place, PlacedValue)> {
    match &row.values {
        Values::Flat { header, cells } => {
            let filled = header.iter().zip(cells.iter()).filter(|(_, cell)| !cell.trim().is_empty());
            filled
                .map(|(name, cell)| (Place::column(name), PlacedValue { text: tidy(cell), has_more: false }))
                .collect()
        }
        Values::Nested(map) => {
            let mut found = Found::default();
            for (name, value) in map {
                found.walk(&Place::column(name), value, 0);
            }
            found.0.into_iter().collect()
        }
    }
}

#[derive(Default)]
struct Found(BTreeMap<Place, PlacedValue>);

impl Found {
    fn walk(&mut self, place: &Place, value: &Value, depth: usize) {
        match value {
            Value::Null => {}
            Value::Object(members) if depth < DEPTH_MAX => {
                for (name, member) in members.iter().filter(|(name, _)| is_word(name)) {
                    self.walk(&below(place, Step::Member(name.clone())), member, depth + 1);
                }
            }
            // Only a list directly at a column or a member of it is read: a list in a list has no simple template.
            Value::Array(items) if depth < DEPTH_MAX && !place.steps.iter().any(is_of_items) => {
                for item in items.iter().filter_map(Value::as_object) {
                    for (name, member) in item.iter().filter(|(name, _)| is_word(name)) {
                        if !member.is_object() && !member.is_array() {
                            self.walk(&below(place, Step::OfItems(name.clone())), member, depth + 1);
                        }
                    }
                }
            }
            Value::Object(_) | Value::Array(_) => {}
            value => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let text = tidy(&text);
                if text.is_empty() {
                    return;
                }
                if let Some(known) = self.0.get_mut(place) {
                    known.has_more |= known.text != text;
                } else if self.0.len() < PLACES_MAX {
                    self.0.insert(place.clone(), PlacedValue { text, has_more: false });
                }
            }
        }
    }
}

fn below(place: &Place, step: Step) -> Place {
    let mut below = place.clone();
    below.steps.push(step);
    below
}

fn is_of_items(step: &Step) -> bool {
    matches!(step, Step::OfItems(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(column: &str, steps: &[Step]) -> Place {
        Place { column: column.to_owned(), steps: steps.to_vec() }
    }

    #[test]
    fn a_place_is_written_as_a_column_or_a_template() {
        let name = |name: &str| name.to_owned();
        for (place, source) in [
            (of("Full Name", &[]), FieldSource::Column(name("Full Name"))),
            (of("{{ x }}", &[]), FieldSource::Template(name(r#"{{ row["\u007b\u007b x \u007d\u007d"] }}"#))),
            (of("a", &[Step::Member(name("b"))]), FieldSource::Template(name("{{ a.b }}"))),
            (of("or", &[Step::Member(name("b"))]), FieldSource::Template(name("{{ row[\"or\"].b }}"))),
            (
                of("F", &[Step::OfItems(name("N"))]),
                FieldSource::Template(name("{{ F | map(attribute='N') | select | first }}")),
            ),
        ] {
            assert_eq!(place.source(), source);
        }
    }

    #[test]
    fn a_name_that_may_be_data_is_not_shown() {
        assert_eq!(of("Full\n Name", &[]).shown(3, true), "`Full Name`");
        for (name, may) in [("8001015009087", true), ("Thandi", false), ("{{ x }}", true), ("", true)] {
            assert_eq!(of(name, &[]).shown(3, may), "column 3", "{name}");
        }
        assert_eq!(of("a", &[Step::OfItems("b".to_owned())]).shown(1, true), "`a[].b`");
    }
}
