//! Settings of the service for a single check. The service's description states two header forms and two spellings of
//! some routes, and does not say which applies to which route.

use crate::{
    catalogue::{Catalogue, Spelling},
    client::Auth,
    error::Error,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[service.checks.NAME]`: what is not set is as in `[service]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckSettings {
    /// The header that carries the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// The spelling of the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<Spelling>,
    /// The most requests in an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<u32>,
    /// The most requests in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
}

/// The settings of single checks, by catalogue name.
pub type ByCheck = BTreeMap<String, CheckSettings>;

/// Checks that every name is a check, and that a check has the spelling that is set for it.
///
/// # Errors
/// The name of the nearest check, or the missing spelling.
pub fn validate(settings: &ByCheck, catalogue: &Catalogue) -> Result<(), Error> {
    for (name, one) in settings {
        let found = catalogue.get(name);
        let declaration = found.map_err(|unknown| Error::Config(format!("[service.checks.{name}]: {unknown}")))?;
        if one.per_hour == Some(0) || one.in_flight == Some(0) {
            return Err(Error::Config(format!(
                "[service.checks.{name}] per_hour, in_flight: expected at least 1, found 0"
            )));
        }
        if one.routes == Some(Spelling::Alternate) && declaration.routes.alternate.is_none() {
            return Err(Error::Config(format!(
                "[service.checks.{name}] routes: expected \"guide\", found \"alternate\"; `{name}` has only one route, {}",
                declaration.routes.guide
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let settings: ByCheck = toml::from_str(text).unwrap();
        validate(&settings, &Catalogue::built_in()).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_check_names_the_nearest_one() {
        let message = message("aml-screning = { auth = \"bearer\" }");
        assert!(message.contains("[service.checks.aml-screning]"), "{message}");
        assert!(message.contains("did you mean `aml-screening`?"), "{message}");
    }

    #[test]
    fn a_spelling_that_the_check_does_not_have_is_refused() {
        assert!(message("property-search = { routes = \"alternate\" }").contains("only one route, /property-search"));
        let settings: ByCheck = toml::from_str("aml-screening = { routes = \"alternate\" }").unwrap();
        assert!(validate(&settings, &Catalogue::built_in()).is_ok());
    }
}
