//! The guess for a field that says whether the subject is a person (0) or a company (1): a column of such words or
//! numbers, or one value for all rows if something in every row shows it.

use super::{
    guess::{FieldFeed, Guess, listed},
    profile::Profile,
};
use crate::{
    catalogue::{
        FieldSpec,
        column_names::{NameFit, fit, role},
    },
    mapping::FieldSource,
    model::field::FieldKind,
    pipeline::wording::{counted, grouped},
};
use std::collections::BTreeMap;

/// The name of the table in the campaign file that translates words for a person or a company.
pub const TABLE: &str = "entity";
/// The number of values or rows, of 100, that must indicate it.
const SHOWN_PERCENT: usize = 95;
/// The same for a column that says it of some rows only.
const WORDS_PERCENT: usize = 50;
/// The same for names with a legal form of a company.
const COMPANIES_PERCENT: usize = 90;

/// The guess, and the entries of the table that it uses.
pub fn entity(
    field: &FieldSpec,
    profiles: &[Profile],
    name: &Guess,
    catalogue_fields: &[&FieldSpec],
) -> (Guess, BTreeMap<String, String>) {
    let no_table = BTreeMap::new();
    let columns: Vec<&Profile> = profiles.iter().filter(|one| says_entity(field, one)).collect();
    match &columns[..] {
        [] => (with_words(one_for_all(field, profiles, name, catalogue_fields), profiles), no_table),
        [only] => by_column(field, only),
        several => {
            let names: Vec<String> = several.iter().map(|one| one.shown()).collect();
            let why =
                format!("expected 0 for a person or 1 for a company; {} fit about equally: choose one", listed(&names));
            (Guess::open(why, several.iter().map(|one| one.place.source()).collect()), no_table)
        }
    }
}

/// Whether the values of a column say it. Numbers and single letters do so only under a name that says it too.
fn says_entity(field: &FieldSpec, profile: &Profile) -> bool {
    let traits = &profile.traits;
    let words = traits.person_words + traits.company_words;
    let accepted = profile.fit(field).accepted;
    let by_words = profile.has_share(words, SHOWN_PERCENT);
    if fit(field, profile.place.name()) >= NameFit::Known {
        return by_words || profile.has_share(accepted, SHOWN_PERCENT);
    }
    let whole_words = traits.entity_words().iter().all(|(word, _)| word.len() > 3);
    by_words && whole_words && profile.filled >= 3
}

fn by_column(field: &FieldSpec, profile: &Profile) -> (Guess, BTreeMap<String, String>) {
    let accepted = profile.fit(field).accepted;
    let is_named = fit(field, profile.place.name()) >= NameFit::Known;
    let by = if is_named { "by name" } else { "by content" };
    let empty = profile.rows - profile.filled;
    let remark =
        if empty > 0 { format!("; {} no value", counted(empty as u64, "row has", "rows have")) } else { String::new() };
    let feed = |source, why: String| {
        let from = format!("column {}", profile.shown().trim_start_matches("column "));
        Guess::Fed(FieldFeed { source, from, why: why + &remark, is_doubtful: false, is_by_content: true })
    };
    if accepted == profile.filled {
        let why = format!("{by}; every value is a number or a word that the field takes");
        return (feed(profile.place.source(), why), BTreeMap::new());
    }
    let words = profile.traits.entity_words();
    let entries = words.iter().map(|(word, entity)| ((*word).to_owned(), entity.to_string())).collect();
    let known = profile.traits.person_words + profile.traits.company_words;
    let source = FieldSource::Template(format!("{{{{ {} | lower | table('{TABLE}') }}}}", profile.place.expression()));
    let why = format!(
        "{by}; {} of {} values are words for a person or a company, see [tables.{TABLE}]",
        grouped(known as u64),
        grouped(profile.filled as u64)
    );
    (feed(source, why), entries)
}

/// An open guess with the columns that have a word for one of the two in many rows and none for the other, such as
/// `individual` in the rows of persons only. The rows without such a word would be the other; that is a guess.
fn with_words(guess: Guess, profiles: &[Profile]) -> Guess {
    let Guess::Open(mut open) = guess else { return guess };
    for one in profiles {
        let (persons, companies) = (one.traits.person_words, one.traits.company_words);
        let entities: Vec<(&str, u8)> = one.traits.entity_words();
        let is_one_kind = (persons == 0) != (companies == 0) && entities.iter().all(|(word, _)| word.len() > 3);
        if !is_one_kind || one.shown_name().is_none() || !one.has_share(persons + companies, WORDS_PERCENT) {
            continue;
        }
        let words: Vec<String> = entities.iter().map(|(word, _)| format!("'{word}'")).collect();
        let (named, other) = if companies == 0 { (0, 1) } else { (1, 0) };
        let read = format!("{} | default('', true) | lower", one.place.operand());
        let source = format!("{{{{ {named} if ({read}) in [{}] else {other} }}}}", words.join(", "));
        open.why.push_str(&format!(
            "; {} has a word for a {} in {} of {} rows",
            one.shown(),
            if named == 0 { "person" } else { "company" },
            grouped((persons + companies) as u64),
            grouped(one.rows as u64)
        ));
        open.with_default.push(FieldSource::Template(source));
    }
    Guess::Open(open)
}

/// One value for all rows, if every row shows it in the same way.
fn one_for_all(field: &FieldSpec, profiles: &[Profile], name: &Guess, catalogue_fields: &[&FieldSpec]) -> Guess {
    let of_kind = |kind: FieldKind| catalogue_fields.iter().find(|field| field.kind == kind).copied();
    let is_in_all = |kind: FieldKind| {
        let field = of_kind(kind)?;
        let holds = |one: &&Profile| {
            one.filled * 100 >= one.rows * SHOWN_PERCENT && one.has_share(one.fit(field).certain, SHOWN_PERCENT)
        };
        profiles.iter().find(holds)
    };
    let person =
        is_in_all(FieldKind::SaId).map(|one| format!("{} has an ID number of a person in each row", one.shown()));
    let company =
        is_in_all(FieldKind::RegistrationNumber).map(|one| format!("{} has a company number in each row", one.shown()));
    let named: Vec<&Profile> = match name.fed().map(|feed| &feed.source) {
        Some(source) => profiles.iter().filter(|one| one.place.source() == *source).collect(),
        None => Vec::new(),
    };
    let company = company.or_else(|| {
        let all = named.iter().find(|one| one.filled >= 3 && one.has_share(one.traits.companies, COMPANIES_PERCENT))?;
        let (count, filled) = (grouped(all.traits.companies as u64), grouped(all.filled as u64));
        Some(format!("{count} of {filled} names in {} end in a legal form such as Ltd", all.shown()))
    });
    let is_first_and_surname = name.fed().is_some_and(|feed| {
        matches!(&feed.source, FieldSource::Template(text) if !text.contains(" or ") && text.matches("{{").count() == 2)
    });
    let person = person.or_else(|| is_first_and_surname.then(|| "the rows have first names and a surname".to_owned()));
    let why_open = |what: String| {
        let what = if what.is_empty() { "no column says which".to_owned() } else { what };
        Guess::open(
            format!("expected {}; {what}", role("entity").what),
            vec![FieldSource::Constant(0.into()), FieldSource::Constant(1.into())],
        )
    };
    match (person, company) {
        (Some(why), None) => constant(field, 0, &why),
        (None, Some(why)) => constant(field, 1, &why),
        (Some(person), Some(company)) => why_open(format!("{person}, but {company}")),
        (None, None) => {
            let some = named.iter().find(|one| one.traits.companies > 0);
            why_open(some.map_or_else(String::new, |one| {
                format!(
                    "no column says which; {} of {} names in {} end in a legal form such as Ltd",
                    grouped(one.traits.companies as u64),
                    grouped(one.filled as u64),
                    one.shown()
                )
            }))
        }
    }
}

fn constant(field: &FieldSpec, value: u8, why: &str) -> Guess {
    let what = if value == 0 { "person" } else { "company" };
    debug_assert_eq!(field.kind, FieldKind::Integer);
    Guess::Fed(FieldFeed {
        source: FieldSource::Constant(value.into()),
        from: format!("the constant {value} ({what})"),
        why: format!("by content: {why}"),
        is_doubtful: false,
        is_by_content: true,
    })
}
