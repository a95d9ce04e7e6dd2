//! The checks that the service offers: one TOML declaration per check, embedded in the binary, and the loader that
//! validates them. A declaration from a campaign file adds a check, or replaces the one with the same name.

mod answer;
mod declaration;
mod expectation;

pub use answer::{ColumnValue, payload_at};
pub use declaration::{
    AnswerSpec, ColumnKind, ColumnSpec, Compare, Declaration, ExpectSpec, FieldRule, FieldSpec, Finding, Flow, Routes,
    Spelling, VerdictRule, VerdictSpec,
};

use crate::model::{Verdict, file_name::check_file_name, nearest::hint};
use std::{collections::BTreeMap, sync::LazyLock};

/// The built-in declarations, as text.
const BUILT_IN: [(&str, &str); 9] = [
    ("adverse-media", include_str!("adverse-media.toml")),
    ("aml-screening", include_str!("aml-screening.toml")),
    ("cipc-company", include_str!("cipc-company.toml")),
    ("consumer-trace", include_str!("consumer-trace.toml")),
    ("number-plate", include_str!("number-plate.toml")),
    ("property-search", include_str!("property-search.toml")),
    ("said-verification", include_str!("said-verification.toml")),
    ("vehicle-check", include_str!("vehicle-check.toml")),
    ("vin-decode", include_str!("vin-decode.toml")),
];

/// Fields that the transport sets. No declaration may use them.
const RESERVED_FIELDS: [&str; 3] = ["mode", "webhookUrl", "webhookSecret"];

/// Why a declaration or a check's name is invalid.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("no check is called `{name}`{hint}")]
    UnknownCheck { name: String, hint: String },
    #[error("declaration of check `{name}`: {fault}")]
    Declaration { name: String, fault: String },
}

/// All checks that a campaign can use, by name.
#[derive(Debug, Clone)]
pub struct Catalogue {
    declarations: BTreeMap<String, Declaration>,
}

impl Catalogue {
    /// The built-in checks.
    pub fn built_in() -> Catalogue {
        static LOADED: LazyLock<BTreeMap<String, Declaration>> = LazyLock::new(|| {
            let load = |(name, text): (&str, &str)| {
                let declaration: Declaration = toml::from_str(text).expect("a test loads every built-in declaration");
                (name.to_owned(), declaration)
            };
            BUILT_IN.map(load).into()
        });
        Catalogue { declarations: LOADED.clone() }
    }

    /// The text of a built-in declaration, to copy into a campaign file.
    pub fn built_in_toml(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Adds a check, or replaces the one with the same name.
    pub fn with(mut self, declaration: Declaration) -> Result<Catalogue, CatalogueError> {
        check(&declaration).map_err(|fault| CatalogueError::Declaration { name: declaration.name.clone(), fault })?;
        self.declarations.insert(declaration.name.clone(), declaration);
        Ok(self)
    }

    /// The declaration of a check. The error for an unknown name suggests the nearest known one.
    pub fn get(&self, name: &str) -> Result<&Declaration, CatalogueError> {
        self.declarations.get(name).ok_or_else(|| CatalogueError::UnknownCheck {
            name: name.to_owned(),
            hint: hint(name, self.declarations.keys().map(String::as_str)),
        })
    }

    /// All declarations, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Declaration> {
        self.declarations.values()
    }
}

/// Validates a declaration; the error says what is wrong with it.
fn check(declaration: &Declaration) -> Result<(), String> {
    let fits = is_identifier(&declaration.name, '-').and_then(|()| check_file_name(&declaration.name));
    fits.map_err(|fault| format!("name: {fault}"))?;
    for path in [Some(&declaration.routes.guide), declaration.routes.alternate.as_ref()].into_iter().flatten() {
        if !path.starts_with('/') || path.contains(['?', '#', ' ']) || path.contains("//") || path.contains("..") {
            return Err(format!(
                "routes: expected a path that begins with one `/`, without `?`, `#`, `..` and spaces; found `{path}`"
            ));
        }
    }
    if declaration.key_life_hours < 3 {
        return Err(format!(
            "key_life_hours: expected 3 or more, found {}; nothing is sent again in the last two hours of a key",
            declaration.key_life_hours
        ));
    }
    check_fields(declaration)?;
    if declaration.answer.payload.is_empty() {
        return Err("answer.payload: expected at least one JSON pointer".to_owned());
    }
    let pointers = declaration.answer.columns.iter().flat_map(|column| &column.pointers);
    for pointer in declaration.answer.payload.iter().chain(pointers) {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!("answer: expected a JSON pointer, which begins with `/`; found `{pointer}`"));
        }
    }
    for column in &declaration.answer.columns {
        is_identifier(&column.name, '_').map_err(|fault| format!("column `{}`: {fault}", column.name))?;
    }
    check_expectations(declaration)?;
    if declaration.verdict.otherwise.verdict == Verdict::Clear {
        return Err(
            "verdict.otherwise: expected any verdict except `clear`, found `clear`; an answer that no rule matches is \
                    never `clear`: use `review`"
                .to_owned(),
        );
    }
    let findings = declaration.verdict.rules.iter().map(|rule| &rule.finding);
    for finding in findings.chain([&declaration.verdict.otherwise.finding]) {
        is_identifier(finding, '_').map_err(|fault| format!("finding `{finding}`: {fault}"))?;
    }
    Ok(())
}

/// Checks that each name of `expect` is used once, and that its column has a type that can be compared.
fn check_expectations(declaration: &Declaration) -> Result<(), String> {
    let mut names: Vec<&str> = Vec::new();
    for (column, expect) in declaration.expectations() {
        let (name, column_name) = (&expect.name, &column.name);
        is_identifier(name, '_').map_err(|fault| format!("column `{column_name}`, expect `{name}`: {fault}"))?;
        if names.contains(&name.as_str()) {
            return Err(format!("expected each `expect` name once, found `{name}` on two columns; rename one of them"));
        }
        if matches!(column.kind, ColumnKind::Number | ColumnKind::Count | ColumnKind::Json) {
            return Err(format!(
                "column `{column_name}`: expected a column of type text, integer, boolean or date for `expect`; remove \
                 `expect` or change the type"
            ));
        }
        names.push(name);
    }
    Ok(())
}

fn check_fields(declaration: &Declaration) -> Result<(), String> {
    let names: Vec<&str> = declaration.fields.iter().map(|field| field.name.as_str()).collect();
    for (at, field) in declaration.fields.iter().enumerate() {
        let name = &field.name;
        if names[..at].contains(&name.as_str()) || declaration.fixed.contains_key(name) {
            return Err(format!(
                "field `{name}`: expected each name once in `field` and `fixed`, found it twice; remove one"
            ));
        }
        if RESERVED_FIELDS.contains(&name.as_str()) {
            return Err(format!("field `{name}` is set by rescreen and cannot be declared; remove it"));
        }
        if let Some(default) = &field.default {
            let text = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            field.accept(&text).map_err(|fault| format!("default of field `{name}`: {fault}"))?;
        }
    }
    for rule in &declaration.rules {
        if let Some(unknown) = rule.fields().iter().find(|field| !names.contains(&field.as_str())) {
            return Err(format!(
                "expected a declared field in each rule, found `{unknown}`{}",
                hint(unknown, names.iter().copied())
            ));
        }
    }
    Ok(())
}

/// Checks that a name consists of lower-case letters, digits and one separator, and begins with a letter. Such a name
/// is safe as a column, a folder and a TOML key.
pub fn is_identifier(text: &str, separator: char) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == separator;
    match text.chars().next() {
        Some(first) if first.is_ascii_lowercase() && text.chars().all(fits) && text.len() <= 60 => Ok(()),
        _ => Err(format!("expected up to 60 lower-case letters, digits and `{separator}`, beginning with a letter")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_declaration_loads_and_passes_its_own_checks() {
        for declaration in Catalogue::built_in().iter() {
            check(declaration).unwrap();
        }
    }

    #[test]
    fn an_unknown_check_suggests_the_nearest_known_one() {
        let message = Catalogue::built_in().get("aml-screning").unwrap_err().to_string();
        assert_eq!(message, "no check is called `aml-screning`; did you mean `aml-screening`?");
    }

    #[test]
    fn an_answer_without_a_matching_rule_may_not_be_declared_clear() {
        let catalogue = Catalogue::built_in();
        let mut declaration = catalogue.get("aml-screening").unwrap().clone();
        declaration.verdict.otherwise.verdict = Verdict::Clear;
        let message = catalogue.with(declaration).unwrap_err().to_string();
        assert!(message.contains("never `clear`"), "{message}");
    }
}
