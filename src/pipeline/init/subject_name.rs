//! The guess for a field with the full name of a person or a company: one column, the first names and the surname, or,
//! where rows differ, whichever of these a row has.

use super::{
    guess::{FieldFeed, Guess, guess, is_name, listed, remarks},
    profile::Profile,
};
use crate::{
    catalogue::{
        FieldSpec,
        column_names::{NameFit, Role, role},
    },
    mapping::FieldSource,
    pipeline::wording::grouped,
};

/// Rows of 100 that one source of the name must have, to be used alone.
const ALONE_PERCENT: usize = 95;
/// Rows of 100 that must have one of several sources.
const TOGETHER_PERCENT: usize = 90;
/// Rows of 100 in which two sources may both have a value.
const OVERLAP_PERCENT: usize = 5;

/// Rows of 100 in which a full name must have the surname that another column has.
const SHOWN_PERCENT: usize = 80;

/// A source of the name.
struct NameSource<'a> {
    /// One column, or first names and surname.
    columns: Vec<&'a Profile>,
}

impl NameSource<'_> {
    fn has(&self, row: usize) -> bool {
        self.columns.iter().all(|column| column.present[row])
    }

    fn count(&self) -> usize {
        let rows = self.columns.first().map_or(0, |column| column.rows);
        (0..rows).filter(|row| self.has(*row)).count()
    }

    fn shown(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| column.shown()).collect();
        names.join(" + ")
    }
}

/// The guess for the full name.
pub fn subject_name(field: &FieldSpec, profiles: &[Profile]) -> Guess {
    let single = guess(field, profiles);
    let Some(surname) = only(profiles, role("surname")) else { return with_companies(single, profiles) };
    let full = single.fed().and_then(|feed| profiles.iter().find(|one| one.place.source() == feed.source));
    let first = only(profiles, role("first_name"));
    let has_first = profiles.iter().any(|one| is_of(one, role("first_name")));
    let parts = first.map(|first| NameSource { columns: vec![first, surname] });
    match (full, parts) {
        // Few rows have both: each row has its own way to say the name.
        (Some(full), Some(parts)) if full.beside_surname * 100 < full.rows * OVERLAP_PERCENT => {
            alternatives(vec![NameSource { columns: vec![full] }, parts], profiles).unwrap_or(single)
        }
        (Some(full), _) if full.holds_surname(SHOWN_PERCENT) => single,
        // Many forms call the first names `full names`.
        (Some(full), None) if !has_first && full.beside_surname > 0 && !full.holds_surname(OVERLAP_PERCENT) => {
            let source = NameSource { columns: vec![full, surname] };
            let mut feed = fed(&[NameSource { columns: vec![full, surname] }], joined);
            let (with, beside) = (grouped(full.with_surname as u64), grouped(full.beside_surname as u64));
            feed.why = format!("by name; {} has the surname in {with} of {beside} rows, so it is added", full.shown());
            feed.source = joined(&source);
            Guess::Fed(feed)
        }
        (Some(_), None) if has_first => with_companies(single, profiles),
        (Some(full), parts) => {
            let parts = parts.unwrap_or(NameSource { columns: vec![full, surname] });
            let why = format!(
                "expected the full name; {} has the surname in {} of {} rows: choose it, or {}",
                full.shown(),
                grouped(full.with_surname as u64),
                grouped(full.beside_surname as u64),
                parts.shown()
            );
            Guess::open(why, vec![full.place.source(), joined(&parts)])
        }
        (None, Some(parts)) if is_covering(&parts) => match &single {
            Guess::Open(open) if open.candidates.len() > 1 => single,
            _ => Guess::Fed(fed(&[parts], joined)),
        },
        (None, Some(parts)) => alternatives(vec![parts], profiles).unwrap_or(single),
        (None, None) => single,
    }
}

/// The name of a company where a row has no name of a person.
fn with_companies(single: Guess, profiles: &[Profile]) -> Guess {
    let Some(full) = single.fed().and_then(|feed| profiles.iter().find(|one| one.place.source() == feed.source)) else {
        return single;
    };
    if full.has_rows(ALONE_PERCENT) {
        return single;
    }
    alternatives(vec![NameSource { columns: vec![full] }], profiles).unwrap_or(single)
}

fn is_of(profile: &Profile, role: &Role) -> bool {
    profile.filled > 0 && role.fit(profile.place.name()) == NameFit::Known && is_name(profile)
}

fn only<'a>(profiles: &'a [Profile], role: &Role) -> Option<&'a Profile> {
    let mut fitting = profiles.iter().filter(|one| is_of(one, role));
    fitting.next().filter(|_| fitting.next().is_none())
}

fn is_covering(source: &NameSource<'_>) -> bool {
    source.columns.iter().all(|column| column.has_rows(ALONE_PERCENT))
}

impl Profile {
    fn has_rows(&self, percent: usize) -> bool {
        self.filled * 100 >= self.rows * percent
    }

    /// Whether its values have the surname of their row, in this many of 100 rows.
    fn holds_surname(&self, percent: usize) -> bool {
        self.with_surname > 0 && self.with_surname * 100 >= self.beside_surname * percent
    }
}

/// Several sources, of which most rows have exactly one.
fn alternatives<'a>(mut sources: Vec<NameSource<'a>>, profiles: &'a [Profile]) -> Option<Guess> {
    let full = only(profiles, role("full_name"))
        .filter(|full| !sources.iter().any(|source| source.columns.iter().any(|column| std::ptr::eq(*column, *full))));
    let company = only(profiles, role("company_name"));
    for more in [full, company].into_iter().flatten() {
        sources.push(NameSource { columns: vec![more] });
    }
    if sources.len() < 2 {
        return None;
    }
    // A template takes the first of them that a row has, and the parts are last: they give a text in any case.
    sources.sort_by_key(|source| source.columns.len());
    let rows = profiles.first().map_or(0, |one| one.rows);
    let holders = |row: usize| sources.iter().filter(|source| source.has(row)).count();
    let covered = (0..rows).filter(|row| holders(*row) > 0).count();
    let overlaps = (0..rows).filter(|row| holders(*row) > 1).count();
    if covered * 100 < rows * TOGETHER_PERCENT || overlaps * 100 > rows * OVERLAP_PERCENT {
        let counted =
            |source: &NameSource<'_>| format!("{} in {} rows", source.shown(), grouped(source.count() as u64));
        let named: Vec<String> = sources.iter().map(counted).collect();
        let why = format!(
            "expected the full name; no column has it in most of the {} rows: {}",
            grouped(rows as u64),
            listed(&named)
        );
        let single = sources.iter().map(joined).collect();
        return Some(Guess::open(why, single));
    }
    let mut feed = fed(&sources, |_| FieldSource::Template(String::new()));
    let parts: Vec<String> = sources.iter().map(NameSource::operand).collect();
    feed.source = FieldSource::Template(format!("{{{{ {} }}}}", parts.join(" or ")));
    feed.why =
        format!("by name, whichever a row has: {} of {} rows have one", grouped(covered as u64), grouped(rows as u64));
    Some(Guess::Fed(feed))
}

impl NameSource<'_> {
    /// The expression that reads it, for use with `or`.
    fn operand(&self) -> String {
        match &self.columns[..] {
            [only] => only.place.operand(),
            columns => {
                let parts: Vec<String> = columns.iter().map(|column| column.place.operand()).collect();
                // A row with only one of them fails: half a name is never sent.
                format!("({})", parts.join(" ~ ' ' ~ "))
            }
        }
    }
}

/// The columns with a space between them.
fn joined(source: &NameSource<'_>) -> FieldSource {
    match &source.columns[..] {
        [only] => only.place.source(),
        columns => {
            let parts: Vec<String> =
                columns.iter().map(|column| format!("{{{{ {} }}}}", column.place.expression())).collect();
            FieldSource::Template(parts.join(" "))
        }
    }
}

fn fed(sources: &[NameSource<'_>], source: impl Fn(&NameSource<'_>) -> FieldSource) -> FieldFeed {
    let columns: Vec<&Profile> = sources.iter().flat_map(|source| source.columns.iter().copied()).collect();
    let names: Vec<String> = columns.iter().map(|column| column.shown()).collect();
    let why = columns.iter().map(|column| remarks(column)).find(|text| !text.is_empty()).unwrap_or_default();
    FieldFeed {
        source: source(&sources[0]),
        from: format!("columns {}", listed(&names)),
        why: format!("by name: first names and surname{why}"),
        is_doubtful: false,
        is_by_content: false,
    }
}
