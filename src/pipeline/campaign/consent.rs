//! Consent: some checks must confirm that the person agreed. A column says so for each row. One value for every row says
//! nothing about a single person, so it needs a reference to the evidence, which the ledger records.

use super::{
    Campaign,
    file::{CampaignFile, CheckTable},
};
use crate::{
    catalogue::{Catalogue, Declaration},
    error::Error,
    ledger::Consent,
    mapping::FieldSource,
    template::Templates,
};

/// Maximum length of a reference to evidence, in characters.
const EVIDENCE_CHARACTERS_MAX: usize = 500;

/// The reference to the evidence of consent, if the file names one.
///
/// # Errors
/// It is not valid, or a check needs one and there is none.
pub fn evidence(file: &CampaignFile, catalogue: &Catalogue) -> Result<Option<String>, Error> {
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
        Some((table, constant_consent(table, declaration)?))
    });
    match (constant, named) {
        (Some((table, field)), None) => {
            let name = table.name.as_deref().unwrap_or(&table.check);
            Err(Error::Config(format!(
                "check `{name}`: `{field}` is the same for every row, which does not show that each person consented; \
                 map it to a column that says so for each row, or name the evidence with --consent-evidence REF (or \
                 [consent] evidence)"
            )))
        }
        (_, named) => Ok(named.map(str::to_owned)),
    }
}

/// The field that confirms the consent, if it is the same for every row: a constant, a template that reads no column, or
/// a default.
fn constant_consent<'a>(table: &CheckTable, declaration: &'a Declaration) -> Option<&'a str> {
    let field = declaration.consent.as_deref()?;
    let default = || declaration.fields.iter().any(|spec| spec.name == field && spec.default.is_some());
    let is_constant = match table.fields.get(field) {
        Some(FieldSource::Constant(_)) => true,
        // A template that does not compile is refused with the mapping.
        Some(FieldSource::Template(text)) => {
            Templates::default().compile(text).is_ok_and(|template| template.columns().is_empty())
        }
        Some(FieldSource::Column(_)) => false,
        None => default(),
    };
    is_constant.then_some(field)
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

/// The name of the system user, as decisions and evidence record it.
pub fn system_user() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::campaign::file::parse;

    fn of(consent: &str, evidence: &str) -> Result<Option<String>, String> {
        let text = format!("{evidence}\n[[check]]\nuse = \"foreign-bank-account\"\n{consent}\n");
        evidence_of(&text)
    }

    fn evidence_of(text: &str) -> Result<Option<String>, String> {
        evidence(&parse(text).unwrap(), &Catalogue::built_in()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_value_for_every_row_needs_evidence_and_a_column_does_not() {
        for constant in ["fields.consentConfirmed = { value = true }", "fields.consentConfirmed = \"{{ 'true' }}\""] {
            let message = of(constant, "").unwrap_err();
            assert!(message.contains("--consent-evidence") && message.contains("consentConfirmed"), "{message}");
            let named = of(constant, "[consent]\nevidence = \" form 12, signed 2026-10 \"").unwrap();
            assert_eq!(named.as_deref(), Some("form 12, signed 2026-10"));
        }
        for column in ["", "fields.consentConfirmed = \"agreed\"", "fields.consentConfirmed = \"{{ agreed | lower }}\""]
        {
            assert_eq!(of(column, ""), Ok(None));
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
