//! The guesses for all fields of a check. It decides which fields are written, which stay open, and which are only
//! suggested: an optional field changes what is asked and paid for, so the user has to want it.

use super::{
    column::SHOWN_CHARACTERS_MAX,
    entity::entity,
    guess::{CANDIDATES_MAX, FieldFeed, Guess, OpenField, expected, guess, is_name, listed, remarks},
    profile::Profile,
    subject_name::subject_name,
};
use crate::{
    catalogue::{
        Declaration, FieldRule, FieldSpec,
        column_names::{NameFit, role, role_of},
    },
    mapping::FieldSource,
    model::{field::FieldKind, printable::printable_cut},
};
use std::{cmp::Reverse, collections::BTreeMap};

/// The kinds of numbers that a check is about.
const NUMBERS: [FieldKind; 5] =
    [FieldKind::SaId, FieldKind::Vin, FieldKind::RegistrationNumber, FieldKind::Plate, FieldKind::PlateAny];
/// A column with a value in fewer rows of 100 needs a value for the others.
const FEW_ROWS_PERCENT: usize = 50;
/// A column of names, of which nothing but its texts is known, has a value in at least this many rows of 100.
const FILLED_PERCENT: usize = 90;
/// A column has names, and not codes, if this percentage of its values has several words.
const WORDS_PERCENT: usize = 30;

/// What becomes of a field in the campaign file.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    Fed(FieldFeed),
    /// It is needed, and nothing feeds it.
    Open(OpenField),
    /// A line that the user may uncomment.
    Suggested(FieldFeed),
}

/// The guess for a field of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldGuess {
    pub field: FieldSpec,
    pub standing: Standing,
}

/// The guesses for a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckGuess {
    pub check: String,
    pub fields: Vec<FieldGuess>,
    /// What the answer could be compared with, at no cost: name of the expectation and column.
    pub expects: Vec<(String, FieldSource)>,
    /// The entries of the table for words such as `person`.
    pub entity_words: BTreeMap<String, String>,
}

impl CheckGuess {
    /// The fields that are needed and open.
    pub fn open(&self) -> impl Iterator<Item = (&FieldSpec, &OpenField)> {
        self.fields.iter().filter_map(|one| match &one.standing {
            Standing::Open(open) => Some((&one.field, open)),
            _ => None,
        })
    }

    /// The fields that are fed.
    pub fn fed(&self) -> impl Iterator<Item = (&FieldSpec, &FieldFeed)> {
        self.fields.iter().filter_map(|one| match &one.standing {
            Standing::Fed(feed) => Some((&one.field, feed)),
            _ => None,
        })
    }

    /// Whether this check fits by the names of columns: one feeds the number or the name that it is about.
    pub fn is_by_name(&self) -> bool {
        self.fed().any(|(field, _)| NUMBERS.contains(&field.kind) || is_full_name(field))
    }

    /// Whether this check is about a name, and a column has texts that may be one.
    pub fn is_by_texts(&self) -> bool {
        self.open().any(|(field, open)| is_full_name(field) && !open.candidates.is_empty())
    }

    /// Whether this check fits by the values of columns, and not only by names.
    pub fn is_by_content(&self) -> bool {
        let feeds = self.fields.iter().filter_map(|one| match &one.standing {
            Standing::Fed(feed) | Standing::Suggested(feed) => Some((&one.field, feed)),
            Standing::Open(_) => None,
        });
        let (mut has_number, mut has_name, mut has_country) = (false, false, false);
        for (field, feed) in feeds {
            has_number |= NUMBERS.contains(&field.kind) && feed.is_by_content;
            has_name |= is_full_name(field);
            has_country |= field.kind == FieldKind::Country2 && feed.is_by_content;
        }
        has_number || has_name && has_country
    }
}

/// The guesses for a check. `given` is what the user said, by field.
pub fn check(
    declaration: &Declaration,
    profiles: &[Profile],
    given: &BTreeMap<String, FieldSource>,
    all_fields: &[&FieldSpec],
) -> CheckGuess {
    let find = |name: &str| declaration.fields.iter().find(|field| field.name == name);
    let name = find("name").filter(|field| is_full_name(field)).map(|field| match given.get("name") {
        Some(source) => Guess::Fed(said(source, profiles)),
        None => subject_name(field, profiles),
    });
    let nothing = Guess::open("", Vec::new());
    let name = name.as_ref().unwrap_or(&nothing);
    let mut entity_words = BTreeMap::new();
    let mut fields = Vec::new();
    for field in &declaration.fields {
        let guess = match given.get(&field.name) {
            Some(source) => Guess::Fed(said(source, profiles)),
            None if declaration.consent.as_ref() == Some(&field.name) => {
                Guess::open(format!("expected {}", field.doc), Vec::new())
            }
            None if is_full_name(field) => name.clone(),
            None if field.name == "entity" && field.kind == FieldKind::Integer => {
                let (guess, words) = entity(field, profiles, name, all_fields);
                entity_words = words;
                guess
            }
            None => guess(field, profiles),
        };
        let is_given = given.contains_key(&field.name);
        let standing = match guess {
            Guess::Fed(feed) if field.required || is_given => Standing::Fed(feed),
            Guess::Fed(feed) if field.default.is_none() => Standing::Suggested(feed),
            Guess::Open(open) if field.required && field.default.is_none() => {
                Standing::Open(with_hints(field, open, profiles, all_fields))
            }
            Guess::Fed(_) | Guess::Open(_) => continue,
        };
        fields.push(FieldGuess { field: field.clone(), standing });
    }
    declaration.rules.iter().for_each(|rule| settle_rule(rule, declaration, &mut fields));
    let expects = expects(declaration, profiles, &fields);
    CheckGuess { check: declaration.name.clone(), fields, expects, entity_words }
}

fn is_full_name(field: &FieldSpec) -> bool {
    field.kind == FieldKind::Text && role_of(field).is_some_and(|role| role.name == "full_name")
}

/// What the user said feeds a field. A column is named as the user wrote it.
fn said(source: &FieldSource, profiles: &[Profile]) -> FieldFeed {
    let from = match source {
        FieldSource::Column(name) => format!("column `{}`", printable_cut(name, SHOWN_CHARACTERS_MAX)),
        FieldSource::Template(_) => "the template that you gave".to_owned(),
        FieldSource::Constant(value) => format!("the constant {value}"),
    };
    let profile = profiles.iter().find(|one| one.place.source() == *source);
    let why = format!("as you said{}", profile.map(remarks).unwrap_or_default());
    FieldFeed { source: source.clone(), from, why, is_doubtful: false, is_by_content: false }
}

/// What to write into an open field, where the rows give a hint.
fn with_hints(field: &FieldSpec, mut open: OpenField, profiles: &[Profile], all_fields: &[&FieldSpec]) -> OpenField {
    if is_full_name(field) && open.candidates.is_empty() {
        return with_texts(open, profiles);
    }
    let is_country = role_of(field).is_some_and(|role| role.name == "country");
    let sa_id = all_fields.iter().find(|field| field.kind == FieldKind::SaId);
    let numbers = sa_id.and_then(|sa_id| {
        profiles.iter().find(|one| one.filled == one.rows && one.has_share(one.fit(sa_id).accepted, 95))
    });
    if is_country
        && open.candidates.is_empty()
        && let Some(numbers) = numbers
    {
        open.why.push_str(&format!(
            "; {} has South African ID numbers: if South Africa is the country of each row, write it for all of them",
            numbers.shown()
        ));
    }
    let constant = match field.name.as_str() {
        _ if is_country => "za",
        "entity" if field.kind == FieldKind::Integer => "0",
        _ => return open,
    };
    for one in profiles.iter().filter(|one| one.filled * 100 < one.rows * FEW_ROWS_PERCENT) {
        if open.candidates.contains(&one.place.source()) {
            let (read, given) = (one.place.operand(), format!("default('{constant}', true)"));
            open.with_default.push(FieldSource::Template(format!("{{{{ {read} | {given} }}}}")));
        }
    }
    if !open.candidates.iter().any(|source| matches!(source, FieldSource::Constant(_))) {
        let value = if is_country { constant.into() } else { 0.into() };
        open.candidates.push(FieldSource::Constant(value));
    }
    open
}

/// The columns whose values can be names, though nothing else says so.
fn with_texts(mut open: OpenField, profiles: &[Profile]) -> OpenField {
    let can_be = |one: &&Profile| {
        let is_varied = one.filled * 100 >= one.rows * FILLED_PERCENT && one.distinct * 2 >= one.filled;
        is_name(one) && is_varied && one.shown_name().is_some()
    };
    let mut columns: Vec<&Profile> = profiles.iter().filter(can_be).collect();
    // A list of symbols may differ in each row too.
    columns.sort_by_key(|one| (!one.has_share(one.traits.several_words, WORDS_PERCENT), Reverse(one.distinct)));
    let shown: Vec<String> = columns.iter().map(|one| one.shown()).collect();
    if let [_, others @ ..] = &shown[..] {
        let have = if others.is_empty() { "has" } else { "have" };
        open.why.push_str(&format!("; {} {have} texts that may be names, and you decide", listed(&shown)));
    }
    open.candidates = columns.iter().take(CANDIDATES_MAX).map(|one| one.place.source()).collect();
    open
}

/// Of several optional fields at least one is needed: the only one that a column fits is taken, else it stays open.
fn settle_rule(rule: &FieldRule, declaration: &Declaration, fields: &mut Vec<FieldGuess>) {
    let FieldRule::OneOf(names) = rule else { return };
    let is_of_rule = |one: &FieldGuess| names.contains(&one.field.name);
    if fields.iter().any(|one| is_of_rule(one) && matches!(one.standing, Standing::Fed(_))) {
        return;
    }
    let fitting: Vec<usize> = (0..fields.len()).filter(|at| is_of_rule(&fields[*at])).collect();
    if let [only] = fitting[..] {
        if let Standing::Suggested(feed) = &fields[only].standing {
            fields[only].standing = Standing::Fed(feed.clone());
        }
        return;
    }
    let open = |field: &FieldSpec| {
        let why = format!("expected one of {}: {}", names.join(", "), expected(field));
        FieldGuess { field: field.clone(), standing: Standing::Open(OpenField::new(why, Vec::new())) }
    };
    let first = declaration.fields.iter().find(|field| names.contains(&field.name));
    fields.extend(first.filter(|_| fitting.is_empty()).map(open));
    for (at, name) in fitting.iter().enumerate() {
        let candidates = match &fields[*name].standing {
            Standing::Suggested(feed) => vec![feed.source.clone()],
            _ => Vec::new(),
        };
        if at == 0 {
            let why = format!("expected one of {}: choose one", names.join(", "));
            fields[*name].standing = Standing::Open(OpenField::new(why, candidates));
        }
    }
}

/// The expectations for which there is exactly one column that no field reads.
fn expects(declaration: &Declaration, profiles: &[Profile], fields: &[FieldGuess]) -> Vec<(String, FieldSource)> {
    let mut found = Vec::new();
    let is_read = |one: &Profile| {
        fields.iter().any(|guess| match &guess.standing {
            Standing::Fed(feed) => feed.source == one.place.source(),
            _ => false,
        })
    };
    for (_, expect) in declaration.expectations() {
        let name = match expect.name.as_str() {
            "surname" | "last_name" => "surname",
            "first_names" | "first_name" => "first_name",
            "date_of_birth" | "dob" => "birth_date",
            _ => continue,
        };
        let fits = |one: &&Profile| {
            let is_date = name != "birth_date" || one.traits.numbers * 100 >= one.filled * 90;
            one.filled > 0 && role(name).fit(one.place.name()) == NameFit::Known && is_date && !is_read(one)
        };
        let mut columns = profiles.iter().filter(fits);
        if let (Some(only), None) = (columns.next(), columns.next()) {
            found.push((expect.name.clone(), only.place.source()));
        }
    }
    found
}
