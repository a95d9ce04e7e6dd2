//! Which names of columns a message repeats. A file without a header has a row of somebody's data where the names should be,
//! and so has the wrong file. It owns one decision: names are repeated where at least one column is known, because a check
//! has it or the user named it, and only those that look like names.

use super::{
    matching::fold,
    planned::{Mapping, PlannedCheck, RowShape, Source},
};
use crate::model::{
    column_name::{looks_like_a_name, looks_like_data},
    field::tidy,
    nearest::hint,
    row::find_column,
};
use std::collections::BTreeSet;

/// Columns that one message lists, at most: a wide file must not drown it.
const LISTED_MAX: usize = 20;
/// A name this close to one of a check is the same name with a typing mistake, where that one is long enough.
const LIKENESS_LEAST: f64 = 0.85;
const LIKENESS_LENGTH_LEAST: usize = 8;

/// The columns of a source as messages may speak of them.
#[derive(Debug, Clone)]
pub struct ShownColumns<'a> {
    /// Those that may be repeated.
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
        hint(wrong, self.names.iter().copied())
    }

    /// The tail of a message about a name that is not among the columns: the nearest, and what else there is.
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

    /// What is said in place of the names where they may be data.
    pub fn doubt(&self) -> Option<String> {
        let counted = |one: &str, many: &str| format!("{} {}", self.count, if self.count == 1 { one } else { many });
        match (self.is_known, self.shape) {
            (true, _) => None,
            (false, RowShape::Flat) => Some(format!(
                "; no known name is in the first line, so it is not repeated: {}; is the first line a row? use --no-header (or \
                 [input] header = false)",
                counted("column", "columns")
            )),
            (false, RowShape::Nested) => Some(format!(
                "; no known name is among the keys of the first row, so they are not repeated: {}",
                counted("key", "keys")
            )),
        }
    }
}

/// The names that a header is recognised by.
struct KnownNames<'a> {
    /// Of fields and their synonyms, folded.
    of_checks: BTreeSet<String>,
    /// The words they are made of.
    words: BTreeSet<String>,
    /// What the user calls columns.
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
        // One word alone may be a value: `company`, `said`.
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
