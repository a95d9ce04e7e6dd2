//! The checks that the service offers: one TOML declaration per check, embedded in the binary, and the loader that
//! validates them. A declaration from a campaign file adds a check, or replaces the one with the same name.

mod accept;
mod answer;
mod answer_digest;
mod body_shape;
mod built_in;
mod cached_failure;
pub mod column_names;
mod declaration;
mod expectation;
mod field_rule;
mod job;
mod limits;
mod marks;
mod matches;
mod overrides;
mod paste;

pub use answer::{ColumnValue, payload_at};
pub use answer_digest::DigestSpec;
pub use body_shape::BodyShape;
pub use cached_failure::CachedFailureSpec;
pub use declaration::{
    AnswerSpec, ColumnKind, ColumnSpec, Compare, Declaration, ExpectSpec, FieldSpec, Finding, Flow, ImageSpec,
    MatchesSpec, Routes, Spelling, Subject, VerdictRule, VerdictSpec,
};
pub use field_rule::FieldRule;
pub use job::{JOB_ID, JobSpec};
pub use limits::{Choices, Digits};
pub use marks::Limit;
pub use matches::Match;
pub use overrides::DeclaredCheck;

use crate::model::{
    Verdict, attachment::UPLOAD_REFERENCE, field::FieldKind, file_name::check_file_name, nearest::hint,
};
use built_in::CHECKS;
use serde_json::Map;
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

/// Fields that the transport sets. No declaration may use them.
const RESERVED_FIELDS: [&str; 3] = ["mode", "webhookUrl", "webhookSecret"];

/// The most files of one request.
const FILES_MAX: usize = 8;

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
    /// Shared, because the built-in ones are asked for often and rarely changed.
    declarations: Arc<BTreeMap<String, Declaration>>,
}

impl Catalogue {
    /// The built-in checks.
    pub fn built_in() -> Catalogue {
        static LOADED: LazyLock<Arc<BTreeMap<String, Declaration>>> = LazyLock::new(|| {
            let load = |(name, text): (&str, &str)| {
                let declaration: Declaration = toml::from_str(text).expect("a test loads every built-in declaration");
                (name.to_owned(), declaration)
            };
            Arc::new(CHECKS.iter().copied().map(load).collect())
        });
        Catalogue { declarations: Arc::clone(&LOADED) }
    }

    /// A built-in declaration as text, to paste into a campaign file.
    pub fn built_in_toml(name: &str) -> Option<String> {
        CHECKS.iter().find(|(known, _)| *known == name).map(|(_, text)| paste::for_a_campaign_file(text))
    }

    /// Adds a check, or replaces the one with the same name.
    pub fn with(mut self, declaration: Declaration) -> Result<Catalogue, CatalogueError> {
        Catalogue::check(&declaration)?;
        Arc::make_mut(&mut self.declarations).insert(declaration.name.clone(), declaration);
        Ok(self)
    }

    /// Validates a declaration.
    ///
    /// # Errors
    /// What is wrong with it; the part is between backticks.
    pub fn check(declaration: &Declaration) -> Result<(), CatalogueError> {
        check(declaration).map_err(|fault| CatalogueError::Declaration { name: declaration.name.clone(), fault })
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

/// The longest lifetime of a key: a year.
const KEY_LIFE_HOURS_MAX: u32 = 365 * 24;

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
    if !(3..=KEY_LIFE_HOURS_MAX).contains(&declaration.key_life_hours) {
        return Err(format!(
            "key_life_hours: expected 3 to {KEY_LIFE_HOURS_MAX}, found {}; nothing is sent again in the last two hours \
             of a key, and no service keeps one for more than a year",
            declaration.key_life_hours
        ));
    }
    if declaration.per_hour == Some(0) || declaration.in_flight == Some(0) {
        return Err("per_hour, in_flight: expected at least 1, found 0; remove the limit".to_owned());
    }
    check_fields(declaration)?;
    marks::check_marks(declaration)?;
    cached_failure::check(declaration.cached_failure.as_ref())?;
    job::check(declaration.job.as_ref(), declaration.flow == Flow::Job)?;
    if declaration.answer.payload.is_empty() {
        return Err("answer.payload: expected at least one JSON pointer".to_owned());
    }
    let pointers = declaration.answer.columns.iter().flat_map(|column| &column.pointers);
    let images = declaration.answer.images.iter().map(|image| &image.pointer);
    let digest = declaration.answer.compared.iter().chain(&declaration.answer.volatile);
    let matches = declaration.answer.matches.iter().flat_map(|matches| {
        let columns = matches.columns.iter().flat_map(|column| &column.pointers);
        let MatchesSpec { lists, required, id, total, more, .. } = matches;
        lists.iter().chain(required).chain(id).chain(total).chain(more).chain(columns)
    });
    for pointer in declaration.answer.payload.iter().chain(pointers).chain(images).chain(digest).chain(matches) {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!("answer: expected a JSON pointer, which begins with `/`; found `{pointer}`"));
        }
    }
    let of_matches = declaration.answer.matches.iter().flat_map(|matches| &matches.columns);
    for column in declaration.answer.columns.iter().chain(of_matches) {
        is_identifier(&column.name, '_').map_err(|fault| format!("column `{}`: {fault}", column.name))?;
        if column.image && column.kind != ColumnKind::Text {
            return Err(format!("column `{}`: expected type text for `image = true`; change the type", column.name));
        }
    }
    check_expectations(declaration)?;
    let has_lists = declaration.answer.matches.as_ref().is_some_and(|matches| !matches.lists.is_empty());
    if let Some(rule) = declaration.verdict.rules.iter().find(|rule| rule.of_matches && !has_lists) {
        return Err(format!(
            "verdict.rule `{}`: expected `answer.matches` with `lists` for `of_matches = true`, found none",
            rule.finding
        ));
    }
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
        if matches!(column.kind, ColumnKind::Number | ColumnKind::Count | ColumnKind::Json | ColumnKind::Timestamp) {
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
    if let Some(name) = RESERVED_FIELDS.iter().find(|name| declaration.fixed.contains_key(**name)) {
        return Err(format!("fixed.{name}: this field is set by rescreen and cannot be declared; remove it"));
    }
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
        check_limits(field)?;
        if field.kind.file().is_some() && (field.default.is_some() || !field.allowed.is_empty()) {
            return Err(format!("field `{name}`: expected no `default` and no `allowed` for a file; remove them"));
        }
        if let Some(default) = &field.default {
            let text = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            field.accept(&text).map_err(|fault| format!("default of field `{name}`: {fault}"))?;
        }
    }
    let consent = declaration.consent.as_ref();
    if let Some(unknown) = consent.filter(|field| !names.contains(&field.as_str())) {
        let hint = hint(unknown, names.iter().copied());
        return Err(format!("consent: expected a declared field, found `{unknown}`{hint}"));
    }
    let files = declaration.fields.iter().filter(|field| field.kind.file().is_some());
    if files.clone().count() > FILES_MAX {
        return Err(format!("expected at most {FILES_MAX} fields with files, found more; remove some"));
    }
    let documents = files.filter(|field| field.kind == FieldKind::Document).count();
    if declaration.flow == Flow::Upload && documents != 1 {
        return Err(format!("flow `upload`: expected one field of the kind `document`, found {documents}"));
    }
    if declaration.flow == Flow::Upload
        && (names.contains(&UPLOAD_REFERENCE) || declaration.fixed.contains_key(UPLOAD_REFERENCE))
    {
        return Err(format!(
            "flow `upload`: `{UPLOAD_REFERENCE}` is set by rescreen and cannot be declared; remove it"
        ));
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

/// Checks that the limits of a field fit its kind, and that each word stands for a value that is accepted.
fn check_limits(field: &FieldSpec) -> Result<(), String> {
    let name = &field.name;
    if field.digits.is_some() && field.kind != FieldKind::Digits {
        let kind = field.kind.as_str();
        return Err(format!("field `{name}`, digits: expected the kind `digits`, found `{kind}`"));
    }
    if let Some(choices) = &field.choices {
        if field.kind != FieldKind::Text {
            let kind = field.kind.as_str();
            return Err(format!("field `{name}`, choices: expected the kind `text`, found `{kind}`"));
        }
        let twice = |text: &&String| choices.find(text) != Some(text.as_str());
        if let Some(text) = choices.texts.iter().find(twice) {
            return Err(format!(
                "field `{name}`, choices: expected texts that differ in letters or digits, found `{text}` twice"
            ));
        }
    }
    for (word, value) in &field.names {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let plain = FieldSpec { names: Map::new(), ..field.clone() };
        match plain.accept(&text) {
            Ok(accepted) if accepted.value == *value => {}
            Ok(_) => {
                return Err(format!("field `{name}`, names: expected `{word}` to stand for a value as it is sent"));
            }
            Err(fault) => return Err(format!("field `{name}`, names: the value of `{word}`: {fault}")),
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
    fn a_declaration_cannot_set_what_the_program_sets() {
        for name in RESERVED_FIELDS {
            let catalogue = Catalogue::built_in();
            let mut declaration = catalogue.get("aml-screening").unwrap().clone();
            declaration.fixed.insert(name.to_owned(), "production".into());
            let message = catalogue.with(declaration).unwrap_err().to_string();
            assert!(message.contains(&format!("fixed.{name}")), "{message}");
        }
    }

    #[test]
    fn an_upload_has_one_document_and_its_reference_is_not_declared() {
        let catalogue = Catalogue::built_in();
        let declaration = || catalogue.get("proof-of-address").unwrap().clone();
        let mut fixed = declaration();
        fixed.fixed.insert(UPLOAD_REFERENCE.to_owned(), "own".into());
        let mut field = declaration();
        field.fields.last_mut().unwrap().name = UPLOAD_REFERENCE.to_owned();
        let mut without = declaration();
        without.fields.retain(|field| field.kind != FieldKind::Document);
        for (declaration, says) in
            [(fixed, "is set by rescreen"), (field, "is set by rescreen"), (without, "expected one field")]
        {
            let message = catalogue.clone().with(declaration).unwrap_err().to_string();
            assert!(message.contains("flow `upload`: ") && message.contains(says), "{message}");
        }
    }

    #[test]
    fn a_key_lives_for_three_hours_to_a_year() {
        let catalogue = Catalogue::built_in();
        let with = |hours| {
            let mut declaration = catalogue.get("aml-screening").unwrap().clone();
            declaration.key_life_hours = hours;
            catalogue.clone().with(declaration).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!((with(3), with(8_760)), (Ok(()), Ok(())));
        for hours in [0, 2, 8_761, 2_560_000_000, u32::MAX] {
            let message = with(hours).unwrap_err();
            assert!(message.contains(&format!("expected 3 to 8760, found {hours};")), "{message}");
        }
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
