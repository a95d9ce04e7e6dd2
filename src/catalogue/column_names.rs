//! The names that columns of lists have, by what they mean, and how well the name of a column fits a field. It serves
//! `rescreen init` only: a proposal that a user reads. A run matches a column without being told only by the synonyms of a field.

use super::FieldSpec;
use crate::model::field::FieldKind;
use serde::Deserialize;
use std::sync::LazyLock;

/// What a column may be for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    pub name: String,
    /// The fields it is for, by name.
    #[serde(default)]
    pub fields: Vec<String>,
    /// The fields it is for, by kind.
    #[serde(default)]
    pub kinds: Vec<FieldKind>,
    /// Completes "expected …".
    pub what: String,
    /// Each as its words.
    #[serde(deserialize_with = "words_of_each")]
    names: Vec<Vec<String>>,
}

fn words_of_each<'de, D: serde::Deserializer<'de>>(names: D) -> Result<Vec<Vec<String>>, D::Error> {
    Ok(Vec::<String>::deserialize(names)?.iter().map(|name| tokens(name)).collect())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnNames {
    neutral: Vec<String>,
    #[serde(rename = "role")]
    roles: Vec<Role>,
}

static NAMES: LazyLock<ColumnNames> =
    LazyLock::new(|| toml::from_str(include_str!("column-names.toml")).expect("a test loads the names of columns"));

/// How well the name of a column fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameFit {
    Not,
    /// It contains a fitting name, such as `spouse id number`.
    Part,
    /// It is a fitting name, perhaps after a word such as `customer`.
    Known,
    /// It is the name of the field or one of its synonyms: `plan` and `run` take such a column by themselves.
    Own,
}

/// The role of a field, if it has one.
pub fn role_of(field: &FieldSpec) -> Option<&'static Role> {
    let roles = &NAMES.roles;
    let named = roles.iter().find(|role| role.fields.contains(&field.name));
    named.or_else(|| roles.iter().find(|role| role.kinds.contains(&field.kind)))
}

/// A role by its name.
///
/// # Panics
/// If no role has this name. A test looks up each role that the program uses.
pub fn role(name: &str) -> &'static Role {
    NAMES.roles.iter().find(|role| role.name == name).expect("every role that is asked for is declared")
}

/// How well the name of a column fits a field.
pub fn fit(field: &FieldSpec, column: &str) -> NameFit {
    let words = tokens(column);
    let wanted = words.concat();
    let own = [&field.name].into_iter().chain(&field.synonyms).any(|name| tokens(name).concat() == wanted);
    match role_of(field) {
        _ if own => NameFit::Own,
        Some(role) => role.fit_words(&words),
        None => NameFit::Not,
    }
}

impl Role {
    /// How well the name of a column fits; never [`NameFit::Own`].
    pub fn fit(&self, column: &str) -> NameFit {
        self.fit_words(&tokens(column))
    }

    fn fit_words(&self, column: &[String]) -> NameFit {
        let mut best = NameFit::Not;
        for name in &self.names {
            let before = ends_with(column, name);
            if before.is_some_and(|before| before.iter().all(|word| NAMES.neutral.contains(word))) {
                return NameFit::Known;
            }
            let is_part = before.is_some() || column.windows(name.len()).any(|part| part == name);
            if is_part && letters(name).count() > 2 {
                best = NameFit::Part;
            }
        }
        best
    }
}

/// The words before a name at the end of a column; `None` if the column does not end so.
fn ends_with<'a>(column: &'a [String], name: &[String]) -> Option<&'a [String]> {
    if letters(column).eq(letters(name)) {
        return Some(&[]);
    }
    let before = column.len().checked_sub(name.len())?;
    (column[before..] == *name).then(|| &column[..before])
}

/// The bytes of words, without what separates the words.
fn letters(words: &[String]) -> impl Iterator<Item = u8> {
    words.iter().flat_map(|word| word.bytes())
}

/// Whether a text is the name of a column that some check could use.
pub fn is_known(text: &str) -> bool {
    let words = tokens(text);
    NAMES.roles.iter().any(|role| role.fit_words(&words) == NameFit::Known)
}

/// The words of a name in lower case, each without a plural `s`: `IDNumber` and `id_numbers` are `id` and `number`.
pub fn tokens(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let (mut words, mut word) = (Vec::new(), String::new());
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let begins = letter.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || (before.is_some_and(char::is_uppercase) && letters.get(at + 1).is_some_and(|c| c.is_lowercase())));
        if begins || !letter.is_alphanumeric() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    words.push(word);
    let singular = |word: String| match word.strip_suffix('s') {
        Some(rest) if rest.len() > 3 && !rest.ends_with(['s', 'u', 'i']) => rest.to_owned(),
        _ => word,
    };
    words.into_iter().filter(|word| !word.is_empty()).map(singular).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    fn of(check: &str, field: &str, column: &str) -> NameFit {
        let catalogue = Catalogue::built_in();
        let fields = &catalogue.get(check).unwrap().fields;
        fit(fields.iter().find(|one| one.name == field).unwrap(), column)
    }

    #[test]
    fn a_name_is_split_into_words_without_plural() {
        for (name, words) in [
            ("IDNumber", "id number"),
            ("id_numbers", "id number"),
            ("Company\nRegistration\nNumbers", "company registration number"),
            ("surnameOfClient", "surname of client"),
            ("address", "address"),
            ("CIPC status", "cipc status"),
            ("  ", ""),
        ] {
            assert_eq!(tokens(name).join(" "), words, "{name}");
        }
    }

    #[test]
    fn a_column_fits_a_field_by_its_own_name_a_known_one_or_a_part() {
        for (check, field, column, expected) in [
            ("said-verification", "idNumber", "ID Number", NameFit::Own),
            ("said-verification", "idNumber", "RSA ID", NameFit::Known),
            ("said-verification", "idNumber", "Customer identity number", NameFit::Known),
            ("said-verification", "idNumber", "Spouse ID number", NameFit::Part),
            ("said-verification", "idNumber", "valid", NameFit::Not),
            ("cipc-company", "registration_number", "Company Registration Numbers", NameFit::Own),
            ("cipc-company", "registration_number", "CK", NameFit::Known),
            ("vin-decode", "vin", "Chassis", NameFit::Known),
            ("vehicle-check", "registrationNumber", "licence no", NameFit::Known),
            ("aml-screening", "country", "Nationality", NameFit::Known),
            ("aml-screening", "country", "PASSPORT_COUNTRY", NameFit::Part),
            ("bank-account", "surname", "Van", NameFit::Known),
            ("bank-account", "surname", "PRIMARY_NAME_LAST", NameFit::Known),
            ("bank-account", "surname", "last seen", NameFit::Part),
            ("aml-screening", "name", "SECONDARY_NAME_FULL", NameFit::Part),
            ("foreign-bank-account", "passportCountry", "nationality", NameFit::Not),
        ] {
            assert_eq!(of(check, field, column), expected, "{check}.{field} and {column}");
        }
    }

    #[test]
    fn every_field_of_a_role_is_declared_by_a_check() {
        let catalogue = Catalogue::built_in();
        let names: Vec<&String> = catalogue.iter().flat_map(|check| &check.fields).map(|field| &field.name).collect();
        for role in &NAMES.roles {
            assert!(role.fields.iter().all(|field| names.contains(&field)), "{}", role.name);
            assert!(!role.names.is_empty() && !role.what.is_empty(), "{}", role.name);
        }
        assert!(is_known("Surname") && is_known("vin") && !is_known("Thandi"));
    }
}
