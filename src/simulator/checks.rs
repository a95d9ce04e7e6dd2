//! All checks that the service offers: those of the catalogue, and those that a campaign declares. The catalogue is read
//! from its text; no code of the client is used for it.

use super::{built_in::CHECKS, check::Check};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

/// The checks that the service offers, by name.
#[derive(Debug, Clone)]
pub struct Checks(Arc<BTreeMap<String, Arc<Check>>>);

impl Checks {
    /// The checks of the catalogue.
    pub fn built_in() -> Checks {
        static LOADED: LazyLock<Checks> = LazyLock::new(|| {
            let load = |(name, text): &(&str, &str)| {
                let check = toml::from_str(text).expect("a test loads every built-in declaration");
                ((*name).to_owned(), Arc::new(check))
            };
            Checks(Arc::new(CHECKS.iter().map(load).collect()))
        });
        LOADED.clone()
    }

    /// Adds checks by their declarations. Each replaces the one with the same name.
    ///
    /// # Errors
    /// What is wrong with a text.
    pub fn with(mut self, declarations: impl IntoIterator<Item: AsRef<str>>) -> Result<Checks, toml::de::Error> {
        for text in declarations {
            let check: Check = toml::from_str(text.as_ref())?;
            Arc::make_mut(&mut self.0).insert(check.name.clone(), Arc::new(check));
        }
        Ok(self)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Check>> {
        self.0.values()
    }

    /// The check with a name.
    #[cfg(test)]
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Check>> {
        self.0.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_declaration_is_read_and_one_of_a_campaign_replaces_it() {
        let checks = Checks::built_in();
        assert!(checks.iter().count() == CHECKS.len() && CHECKS.iter().all(|(name, _)| checks.get(name).is_some()));
        let own = "name = 'aml-screening'\nsummary = ''\nflow = 'direct'\nfield = []\nroutes = { guide = '/own' }\n\
                   answer = { payload = ['/data'] }\nverdict = {}";
        let own = checks.clone().with([own]).unwrap();
        assert_eq!((own.iter().count(), &*own.get("aml-screening").unwrap().routes.guide), (CHECKS.len(), "/own"));
        assert!(checks.with(["name = 'x'"]).is_err());
    }
}
