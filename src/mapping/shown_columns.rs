//! Decides which column names a message repeats. A file without a header, or the wrong file, has a row of personal data
//! where the names should be. Names are repeated only if at least one column is known, because a check has it or the
//! user named it, and only those that look like names.

use super::{
    matching::fold,
    path::column_expression,
    planned::{Mapping, PlannedCheck, RowShape, Source},
};
use crate::model::{
    column_name::{looks_like_a_name, looks_like_data},
    field::tidy,
    nearest::{about_nearest, suggestion},
    row::find_column,
};
use std::collections::BTreeSet;

/// Maximum columns that one message lists, so that a wide file does not drown it.
const LISTED_MAX: usize = 20;
/// A name at least this similar to a long enough name of a check is that name with a typing mistake.
const LIKENESS_LEAST: f64 = 0.85;
const LIKENESS_LENGTH_LEAST: usize = 8;

/// The columns of a source, as messages may show them.
#[derive(Debug, Clone)]
pub struct ShownColumns<'a> {
    /// The names that may be repeated.
    names: Vec<&'a str>,
    count: usize,
    shape: RowShape,
    is_known: bool,
}

impl<'a> ShownColumns<'a> {
    pub(super) fn new(mapping: &Mapping, columns: &'a [String], shape: RowShape) -> ShownColumns<'a> {
        let known = KnownNames::of(&mapping.checks);
        let is_known = mapping.named_by_user
            || (!columns.iter().any(|column| looks_like_data(column))
                && columns.iter().any(|column| known.has(column)));
        let may_be_shown = |column: &&str| is_known && (mapping.named_by_user || looks_like_a_name(&tidy(column)));
        let names = columns.iter().map(String::as_str).filter(may_be_shown).collect();
        ShownColumns { names, count: columns.len(), shape, is_known }
    }

    /// `; did you mean …?`, or nothing.
    pub fn hint(&self, wrong: &str) -> String {
        let names: Vec<String> = about_nearest(wrong, self.names.iter().copied()).into_iter().map(tidy).collect();
        suggestion(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The same for a name in a template, where a name with spaces or signs is written in another way.
    pub fn hint_in_template(&self, wrong: &str) -> String {
        let near = about_nearest(wrong, self.names.iter().copied());
        let names: Vec<String> = near.into_iter().map(|name| column_expression(&tidy(name))).collect();
        suggestion(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The end of a message about an unknown column: the nearest name, and the list of columns.
    pub fn known(&self, hint: &str) -> String {
        if let Some(doubt) = self.doubt() {
            return doubt;
        }
        let mut listed: Vec<String> =
            self.names.iter().take(LISTED_MAX).map(|column| format!("`{}`", tidy(column))).collect();
        if self.count > listed.len() {
            listed.push(format!("and {} more", self.count - listed.len()));
        }
        format!("{hint}; the columns are {}", listed.join(", "))
    }

    /// What a message says instead of the names if they may be data.
    pub fn doubt(&self) -> Option<String> {
        let counted = |one: &str, many: &str| format!("{} {}", self.count, if self.count == 1 { one } else { many });
        match (self.is_known, self.shape) {
            (true, _) => None,
            (false, RowShape::Flat) => Some(format!(
                "; no known name is in the first line, so it is not repeated here: {}; if the first line is a row, use \
                 --no-header (or [input] header = false), and if it is a title above the table, --header-row N",
                counted("column", "columns")
            )),
            (false, RowShape::Nested) => Some(format!(
                "; no known name is among the keys of the first row, so they are not repeated here: {}",
                counted("key", "keys")
            )),
        }
    }
}

/// The names by which a header is recognised.
struct KnownNames<'a> {
    /// Names of fields and their synonyms, normalised.
    of_checks: BTreeSet<String>,
    /// The words in these names.
    words: BTreeSet<String>,
    /// The columns that the user named.
    of_user: Vec<&'a str>,
}

impl<'a> KnownNames<'a> {
    fn of(checks: &'a [PlannedCheck]) -> KnownNames<'a> {
        let mut known = KnownNames { of_checks: BTreeSet::new(), words: BTreeSet::new(), of_user: Vec::new() };
        for check in checks {
            for field in &check.declaration.fields {
                for name in [&field.name].into_iter().chain(&field.synonyms) {
                    known.of_checks.insert(fold(name));
                    known.words.extend(words(name));
                }
            }
            let expected = check.expects.iter().map(|(_, source)| source);
            for source in check.sources.iter().flatten().chain(expected) {
                match source {
                    Source::Column(column) => known.of_user.push(column),
                    Source::Template(template) => known.of_user.extend(template.columns().iter().map(String::as_str)),
                    Source::Constant(_) => {}
                }
            }
            let condition = check.when.iter().flat_map(|(condition, _)| condition.columns());
            known.of_user.extend(condition.map(String::as_str));
        }
        known
    }

    fn has(&self, column: &str) -> bool {
        let folded = fold(column);
        let is_like = |name: &String| {
            name.len() >= LIKENESS_LENGTH_LEAST
                && strsim::normalized_damerau_levenshtein(name, &folded) >= LIKENESS_LEAST
        };
        // A single word may be a value, such as `company` or `said`.
        let words: Vec<String> = words(column).collect();
        let known_words = words.iter().filter(|word| self.words.contains(*word)).count();
        self.of_checks.contains(&folded)
            || (words.len() > 1 && known_words * 2 > words.len())
            || self.of_checks.iter().any(is_like)
            || find_column(self.of_user.iter().copied(), column).is_some()
    }
}

fn words(name: &str) -> impl Iterator<Item = String> + '_ {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
