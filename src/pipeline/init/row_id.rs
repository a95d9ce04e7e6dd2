//! The guess for the column that identifies a row: it has a different value in each row of the sample. A column with
//! the name of an identifier is preferred.

use super::{guess::listed, profile::Profile};
use crate::{
    catalogue::{
        FieldSpec,
        column_names::{self, NameFit, role},
    },
    model::field::FieldKind,
    pipeline::wording::grouped,
};

/// The guess for the column of the row's identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowId {
    /// The column; `None` if it is open.
    pub column: Option<String>,
    pub shown: String,
    pub why: String,
}

impl RowId {
    /// No column is proposed.
    pub fn open(why: impl Into<String>) -> RowId {
        RowId { column: None, shown: String::new(), why: why.into() }
    }
}

/// Different values, for 100 rows, of a column that comes near to identifying each.
const NEAR_PERCENT: usize = 90;

/// The last words of names of identifiers.
const ID_WORDS: [&str; 16] = [
    "id",
    "no",
    "nr",
    "number",
    "code",
    "ref",
    "reference",
    "key",
    "uid",
    "uuid",
    "guid",
    "num",
    "index",
    "symbol",
    "seq",
    "identifier",
];

/// Words in names of amounts.
const MONEY_WORDS: [&str; 22] = [
    "amount", "amt", "price", "cost", "value", "total", "subtotal", "balance", "spent", "spend", "salary", "income",
    "revenue", "turnover", "fee", "paid", "zar", "usd", "eur", "gbp", "rand", "money",
];

/// Whether a column has amounts, by its values or by its name. `payment value ref` is a reference.
fn is_of_amounts(profile: &Profile) -> bool {
    let words = column_names::tokens(&profile.place.column);
    let has = |list: &[&str], word: &String| list.contains(&word.as_str());
    let by_name =
        words.iter().any(|word| has(&MONEY_WORDS, word)) && !words.last().is_some_and(|last| has(&ID_WORDS, last));
    by_name || profile.has_share(profile.traits.decimals, 50)
}

/// The column for `id`. Amounts are never proposed. Numbers of persons come last: the outputs repeat the identifier of each row.
pub fn row_id(profiles: &[Profile], fields: &[&FieldSpec]) -> RowId {
    let plain = |one: &&Profile| one.place.steps.is_empty();
    let unique: Vec<&Profile> = profiles.iter().filter(plain).filter(|one| one.identifies()).collect();
    let (amounts, unique): (Vec<&Profile>, Vec<&Profile>) = unique.into_iter().partition(|one| is_of_amounts(one));
    let is_of_person = |one: &Profile| {
        let sa_id = fields.iter().find(|field| field.kind == FieldKind::SaId);
        sa_id.is_some_and(|field| one.has_share(one.fit(field).accepted, 50)) || one.traits.addresses > 0
    };
    let rank = |one: &&Profile| {
        let own = role("own_number").fit(&one.place.column) == NameFit::Known;
        let words = column_names::tokens(&one.place.column);
        let is_named = words.last().is_some_and(|word| ID_WORDS.contains(&word.as_str()));
        match (own, is_named) {
            _ if is_of_person(one) => 9,
            (true, _) => 0,
            (_, true) => 1,
            _ if one.number == 1 && !one.has_share(one.traits.texts, 50) => 2,
            _ => 8,
        }
    };
    let best = unique.iter().copied().filter(|one| rank(one) < 8).min_by_key(|one| (rank(one), one.number));
    match best {
        Some(best) => RowId {
            column: Some(best.place.column.clone()),
            shown: best.shown(),
            why: format!("filled in each of the {} rows, and never twice the same", grouped(best.rows as u64)),
        },
        None if unique.is_empty() && !amounts.is_empty() => RowId::open(
            "only columns of amounts are filled and different in each row of the sample, and an amount identifies no \
             row; production and `diff` need a column that does",
        ),
        None if unique.is_empty() => RowId::open(nearest(profiles)),
        None => {
            let names: Vec<String> = unique.iter().map(|one| one.shown()).collect();
            RowId::open(format!(
                "no column has the name of an identifier; {} would do (--id COLUMN); production and `diff` need one",
                listed(&names)
            ))
        }
    }
}

/// What to do if no column identifies a row: the one that comes nearest, if nearly all of its values differ.
fn nearest(profiles: &[Profile]) -> String {
    let none = "no column is filled and different in each row of the sample; production and `diff` need one: add a \
                column of numbers to the list";
    let is_near = |one: &&Profile| one.place.steps.is_empty() && one.distinct * 100 >= one.rows * NEAR_PERCENT;
    let near = profiles.iter().filter(is_near).filter(|one| !is_of_amounts(one) && one.shown_name().is_some());
    match near.max_by_key(|one| one.distinct) {
        None => none.to_owned(),
        Some(near) => format!(
            "{none}, or take {} with --id, which has {} different values in {} rows",
            near.shown(),
            grouped(near.distinct as u64),
            grouped(near.rows as u64)
        ),
    }
}
