//! The profile of a column: how many values it has, how many differ, and how many of them a field would accept. It keeps
//! counts and no value. A profile is all that the guesses are made from.

use super::{
    column::{Place, PlacedValue, values},
    value::{Traits, traits},
};
use crate::{
    catalogue::{
        FieldSpec,
        column_names::{NameFit, role},
    },
    model::{Row, column_name::looks_like_a_name, field::FieldKind},
    pipeline::wording::grouped,
};
use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

/// The texts that mean a missing value in lists. Only these are proposed as `null`.
pub const NULL_WORDS: [&str; 10] =
    ["NULL", "null", "N/A", "n/a", "#N/A", "-", "--", "-0-", "Not Available", "not available"];

/// How many values of a column a field accepts, and how many of these can hardly be anything else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fit {
    pub accepted: usize,
    pub certain: usize,
}

/// The profile of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub place: Place,
    /// Its number, from 1.
    pub number: usize,
    /// Whether its name may be repeated in messages.
    pub may_be_shown: bool,
    /// The rows of the sample.
    pub rows: usize,
    /// The rows that have a value here.
    pub filled: usize,
    /// The rows that have further values at the same place, which are not read.
    pub with_more: usize,
    pub distinct: usize,
    /// Which rows have a value.
    pub present: Vec<bool>,
    /// The words that mean a missing value, with their counts.
    pub nulls: BTreeMap<&'static str, usize>,
    pub traits: Traits,
    /// The rows that have a value here and a surname elsewhere, and those of them in which this value has the surname.
    pub beside_surname: usize,
    pub with_surname: usize,
    fits: BTreeMap<String, Fit>,
}

impl Profile {
    /// How many values a field accepts.
    pub fn fit(&self, field: &FieldSpec) -> Fit {
        self.fits.get(&test_name(field)).copied().unwrap_or_default()
    }

    /// Whether at least this many of 100 filled values are counted.
    pub fn has_share(&self, count: usize, percent: usize) -> bool {
        self.filled > 0 && count * 100 >= self.filled * percent
    }

    /// Whether every row of the sample has a value, and no two the same.
    pub fn identifies(&self) -> bool {
        self.rows > 1 && self.filled == self.rows && self.distinct == self.rows && self.with_more == 0
    }

    /// Its name as the user can write it, unless it may be data.
    pub fn shown_name(&self) -> Option<String> {
        let path = self.place.path();
        (self.may_be_shown && looks_like_a_name(&path)).then_some(path)
    }

    /// How many of its values there are, and what they look like.
    pub fn about(&self) -> String {
        if self.filled == 0 {
            return "empty".to_owned();
        }
        let traits = &self.traits;
        let looks = match traits {
            _ if self.has_share(traits.addresses, 90) => "e-mail addresses",
            _ if self.has_share(traits.file_names, 90) => "names of files",
            _ if self.has_share(traits.numbers, 90) => "numbers",
            _ if self.has_share(traits.long, 20) => "long texts",
            _ if self.has_share(traits.texts, 80) => "texts",
            _ => "values of several kinds",
        };
        let (filled, distinct) = (grouped(self.filled as u64), grouped(self.distinct as u64));
        format!("{filled} filled, {distinct} distinct, {looks}")
    }

    /// Its name in a message or a comment.
    pub fn shown(&self) -> String {
        self.place.shown(self.number, self.may_be_shown)
    }
}

/// What decides whether a field accepts a value, as a text.
fn test_name(field: &FieldSpec) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        field.kind, field.allowed, field.choices, field.names, field.digits, field.length_max
    )
}

/// Whether a value that a field accepts can hardly be anything else.
fn is_certain(field: &FieldSpec, text: &str, of_value: Traits) -> bool {
    match field.kind {
        FieldKind::SaId | FieldKind::Vin | FieldKind::RegistrationNumber => true,
        // A code of two letters may be a state or a unit.
        FieldKind::Country | FieldKind::Country2 | FieldKind::Country3 => text.chars().count() > 3,
        FieldKind::Plate | FieldKind::PlateAny => of_value.sa_plates > 0,
        FieldKind::Text => field.choices.is_some(),
        _ => false,
    }
}

/// The profiles of all places in a sample, in the order of the columns. `fields` are the fields of the checks.
pub fn profiles(rows: &[Row], header: Option<&[String]>, fields: &[&FieldSpec], may_be_shown: bool) -> Vec<Profile> {
    let mut tests: BTreeMap<String, &FieldSpec> = BTreeMap::new();
    fields.iter().filter(|field| field.kind.file().is_none()).for_each(|field| {
        tests.entry(test_name(field)).or_insert(field);
    });
    let mut found: Vec<(Profile, HashSet<u64>)> = Vec::new();
    let mut places: BTreeMap<Place, usize> = BTreeMap::new();
    let mut add = |place: Place, found: &mut Vec<(Profile, HashSet<u64>)>| {
        *places.entry(place.clone()).or_insert_with(|| {
            found.push((Profile::new(place, found.len() + 1, may_be_shown, rows.len()), HashSet::new()));
            found.len() - 1
        })
    };
    let surname = role("surname");
    for name in header.unwrap_or_default() {
        add(Place::column(name), &mut found);
    }
    for (number, row) in rows.iter().enumerate() {
        let values = values(row);
        let is_surname = |place: &Place| surname.fit(place.name()) == NameFit::Known;
        let surnames = values.iter().filter(|(place, _)| is_surname(place)).map(|(_, value)| value.text.to_lowercase());
        let surnames: Vec<String> = surnames.collect();
        for (place, value) in values {
            let is_beside = !surnames.is_empty() && !is_surname(&place);
            let at = add(place, &mut found);
            let (profile, distinct) = &mut found[at];
            profile.count(number, &value, &tests);
            if is_beside {
                let text = value.text.to_lowercase();
                profile.beside_surname += 1;
                profile.with_surname += usize::from(surnames.iter().any(|surname| has_words(&text, surname)));
            }
            if profile.present[number] {
                let mut hasher = DefaultHasher::new();
                value.text.hash(&mut hasher);
                distinct.insert(hasher.finish());
            }
        }
    }
    let counted = |(profile, distinct): (Profile, HashSet<u64>)| Profile { distinct: distinct.len(), ..profile };
    found.into_iter().map(counted).collect()
}

/// Whether a text has these words one after the other.
fn has_words(text: &str, words: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(words)
        .any(|(at, _)| is_end(text[..at].chars().next_back()) && is_end(text[at + words.len()..].chars().next()))
}

impl Profile {
    fn new(place: Place, number: usize, may_be_shown: bool, rows: usize) -> Profile {
        Profile {
            place,
            number,
            may_be_shown,
            rows,
            filled: 0,
            with_more: 0,
            distinct: 0,
            present: vec![false; rows],
            nulls: BTreeMap::new(),
            traits: Traits::default(),
            beside_surname: 0,
            with_surname: 0,
            fits: BTreeMap::new(),
        }
    }

    fn count(&mut self, row: usize, value: &PlacedValue, tests: &BTreeMap<String, &FieldSpec>) {
        if let Some(word) = NULL_WORDS.into_iter().find(|word| *word == value.text) {
            *self.nulls.entry(word).or_default() += 1;
            return;
        }
        self.present[row] = true;
        self.filled += 1;
        self.with_more += usize::from(value.has_more);
        let of_value = traits(&value.text);
        self.traits.add(&of_value);
        for (name, field) in tests {
            if field.accept(&value.text).is_ok() {
                let fit = self.fits.entry(name.clone()).or_default();
                fit.accepted += 1;
                fit.certain += usize::from(is_certain(field, &value.text, of_value));
            }
        }
    }
}
