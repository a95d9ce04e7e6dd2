//! Consent: some checks must confirm that the person agreed. A column says so for each row. One value for every row says
//! nothing about a single person, so it needs a reference to the evidence, which the ledger records.

use super::{
    Campaign,
    file::{CampaignFile, CheckTable},
};
use crate::{
    catalogue::{Catalogue, Declaration, FieldSpec},
    error::Error,
    ledger::Consent,
    mapping::FieldSource,
    model::row::{Position, Row, Values},
    template::{RowView, Tables, Template, Templates},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Maximum length of a reference to evidence, in characters.
const EVIDENCE_CHARACTERS_MAX: usize = 500;

/// The reference to the evidence of consent, if the file names one.
///
/// # Errors
/// It is not valid, or a check needs one and there is none.
pub fn evidence(file: &CampaignFile, catalogue: &Catalogue, tables: &Tables) -> Result<Option<String>, Error> {
    let named = file.consent.evidence.as_deref().map(str::trim);
    if let Some(named) = named
        && (named.is_empty() || named.chars().count() > EVIDENCE_CHARACTERS_MAX || named.chars().any(char::is_control))
    {
        return Err(Error::Config(format!(
            "--consent-evidence (or [consent] evidence): expected a reference of 1 to {EVIDENCE_CHARACTERS_MAX} \
             characters on one line, such as the number of a consent form"
        )));
    }
    let constant = file.checks.iter().find_map(|table| {
        let declaration = catalogue.get(&table.check).ok()?;
        Some((table, constant_consent(table, declaration, tables)?))
    });
    match (constant, named) {
        (Some((table, field)), None) => {
            let name = table.name.as_deref().unwrap_or(&table.check);
            Err(Error::Config(format!(
                "check `{name}`: `{field}` does not depend on what each row says, which does not show that each person \
                 consented; map it to a column that says so for each row, or name the evidence with --consent-evidence REF (or \
                 [consent] evidence)"
            )))
        }
        (_, named) => Ok(named.map(str::to_owned)),
    }
}

/// The field that confirms the consent, if its value says nothing about a single person: a constant, a template that
/// confirms the consent whatever the row says or if the row says nothing, or a default.
fn constant_consent<'a>(table: &CheckTable, declaration: &'a Declaration, tables: &Tables) -> Option<&'a str> {
    let field = declaration.consent.as_deref()?;
    let spec = declaration.fields.iter().find(|spec| spec.name == field)?;
    let is_constant = match table.fields.get(field) {
        // It is also sent for rows whose column or template has no value.
        _ if spec.default.is_some() => true,
        Some(FieldSource::Constant(_)) => true,
        // A template that does not compile is refused with the mapping.
        Some(FieldSource::Template(text)) => {
            Templates::new(tables.clone()).compile(text).is_ok_and(|template| confirms_anyway(&template, spec))
        }
        Some(FieldSource::Column(_)) | None => false,
    };
    is_constant.then_some(field)
}

/// Whether a template confirms the consent for invented rows: for one that says nothing, or for all that say something
/// else.
fn confirms_anyway(template: &Template, spec: &FieldSpec) -> bool {
    const WORDS: [&str; 5] = ["no", "false", "0", "n", "never"];
    let columns: Arc<Vec<String>> = Arc::new(template.columns().iter().cloned().collect());
    let confirms = |values: Values| {
        let position = Position { source: "".into(), row_number: 1, line: 1, byte_offset: 0 };
        let view = RowView::new(&Row { position, values }, &Arc::default());
        let text = template.render(&view).ok()?;
        Some(spec.accept(text.trim()).is_ok_and(|accepted| accepted.value != Value::Bool(false)))
    };
    if columns.is_empty() || confirms(Values::Nested(Map::new())) == Some(true) {
        return true;
    }
    let flat = |cells: Vec<String>| confirms(Values::Flat { header: Arc::clone(&columns), cells: cells.into() });
    let different = (0..columns.len()).map(|at| format!("another word {at}")).collect();
    let equal = WORDS.iter().map(|word| vec![(*word).to_owned(); columns.len()]);
    let rendered: Vec<bool> = [different].into_iter().chain(equal).filter_map(flat).collect();
    !rendered.is_empty() && rendered.iter().all(|confirms| *confirms)
}

/// The evidence to record for the checks of a campaign whose consent is the same for every row.
pub fn recorded(campaign: &Campaign, recorded_by: &str) -> Vec<Consent> {
    let Some(evidence) = &campaign.consent_evidence else { return Vec::new() };
    let recorded_at_us = campaign.clock.now_us();
    let checks = campaign.checks().into_iter().filter(|declaration| declaration.consent.is_some());
    let consent = |declaration: &Declaration| Consent {
        check: declaration.name.clone(),
        evidence: evidence.clone(),
        recorded_by: recorded_by.to_owned(),
        recorded_at_us,
    };
    checks.map(consent).collect()
}

/// The longest name of a person, in characters.
const PERSON_CHARACTERS_MAX: usize = 2_000;

/// The name of a person, as `--by` has it, without spaces around it. `who` says what the person does, such as `who decided`.
///
/// # Errors
/// It is empty or too long.
pub fn person<'a>(by: &'a str, who: &str) -> Result<&'a str, Error> {
    let by = by.trim();
    if by.is_empty() || by.chars().count() > PERSON_CHARACTERS_MAX {
        return Err(Error::Config(format!("--by: expected the name of the person {who}")));
    }
    Ok(by)
}

/// The name of the system user, as decisions and evidence record it. Where no name is known, as in many containers, it
/// is the number of the user.
pub fn system_user() -> String {
    user_named_by(|name| std::env::var(name).ok())
}

fn user_named_by(variable: impl Fn(&str) -> Option<String>) -> String {
    let named =
        ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| variable(name).filter(|name| !name.is_empty()));
    #[cfg(unix)]
    let unnamed = || format!("user id {}", rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    let unnamed = || "an unknown user".to_owned();
    named.unwrap_or_else(unnamed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::campaign::parse;

    fn of(consent: &str, evidence: &str) -> Result<Option<String>, String> {
        let text = format!("{evidence}\n[[check]]\nuse = \"foreign-bank-account\"\n{consent}\n");
        evidence_of(&text)
    }

    fn evidence_of(text: &str) -> Result<Option<String>, String> {
        evidence(&parse(text).unwrap(), &Catalogue::built_in(), &Tables::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_user_without_a_name_is_recorded_by_number() {
        assert_eq!(user_named_by(|name| (name == "LOGNAME").then(|| "nomsa".to_owned())), "nomsa");
        let unnamed = user_named_by(|_| Some(String::new()));
        #[cfg(unix)]
        assert_eq!(unnamed, format!("user id {}", rustix::process::geteuid().as_raw()));
        #[cfg(not(unix))]
        assert_eq!(unnamed, "an unknown user");
    }

    #[test]
    fn one_value_for_every_row_needs_evidence_and_a_column_does_not() {
        for constant in ["fields.consentConfirmed = { value = true }", "fields.consentConfirmed = \"{{ 'true' }}\""] {
            let message = of(constant, "").unwrap_err();
            assert!(message.contains("--consent-evidence") && message.contains("consentConfirmed"), "{message}");
            let named = of(constant, "[consent]\nevidence = \" form 12, signed 2026-10 \"").unwrap();
            assert_eq!(named.as_deref(), Some("form 12, signed 2026-10"));
        }
        for template in [
            "{{ agreed | default('true') }}",
            "{{ agreed or true }}",
            "{{ 'true' if agreed else 'true' }}",
            "{% if agreed == 'no' %}true{% else %}true{% endif %}",
            "{{ person.agreed | default('true') }}",
            "{% set x = agreed | default('') %}true",
            "tr{{ agreed | lower | replace(agreed | lower, '') }}ue",
        ] {
            let message = of(&format!("fields.consentConfirmed = \"{template}\""), "").unwrap_err();
            assert!(message.contains("--consent-evidence"), "{template}: {message}");
        }
        for column in [
            "",
            "fields.consentConfirmed = \"agreed\"",
            "fields.consentConfirmed = \"{{ agreed | lower }}\"",
            "fields.consentConfirmed = \"{{ 'true' if agreed == 'signed' else 'false' }}\"",
            "fields.consentConfirmed = \"{{ 'false' if agreed == 'no' else 'true' }}\"",
            "fields.consentConfirmed = \"{{ 'true' if signed_by == name else 'false' }}\"",
        ] {
            assert_eq!(of(column, ""), Ok(None), "{column}");
        }
    }

    #[test]
    fn a_default_of_the_declaration_needs_evidence() {
        let mut declaration = Catalogue::built_in().get("foreign-bank-account").unwrap().clone();
        let field = declaration.fields.iter_mut().find(|field| field.name == "consentConfirmed").unwrap();
        field.default = Some(true.into());
        let mut table = CheckTable::of("foreign-bank-account");
        for source in [None, Some(FieldSource::from("agreed"))] {
            table.fields.extend(source.map(|source| ("consentConfirmed".to_owned(), source)));
            assert_eq!(constant_consent(&table, &declaration, &Tables::default()), Some("consentConfirmed"));
        }
    }

    #[test]
    fn a_reference_is_short_and_on_one_line() {
        for odd in ["\"\"", "\"  \"", "\"a\\nb\"", &format!("\"{}\"", "x".repeat(501))] {
            assert!(of("", &format!("[consent]\nevidence = {odd}")).unwrap_err().contains("on one line"), "{odd}");
        }
    }

    #[test]
    fn a_check_without_consent_needs_no_evidence() {
        assert_eq!(evidence_of("[[check]]\nuse = \"aml-screening\"\nfields.entity = { value = 0 }\n"), Ok(None));
    }
}
