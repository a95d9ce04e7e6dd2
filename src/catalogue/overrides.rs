//! Which checks the user declared, and what their declarations change. Plan, status and manifest name them, so that a
//! reader of the results knows which rules are not those of the program.

use super::{Catalogue, CatalogueError, Declaration};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A check that the user declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredCheck {
    pub check: String,
    /// The parts of the declaration that differ from the catalogue, such as `routes` or `answer`; `None` if the
    /// catalogue does not have the check. It is empty if nothing differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Vec<String>>,
}

impl DeclaredCheck {
    /// Compares a declaration with the built-in one. `None` if it is the built-in one.
    pub fn of(declaration: &Declaration) -> Option<DeclaredCheck> {
        let built_in = Catalogue::built_in();
        let Ok(known) = built_in.get(&declaration.name) else {
            return Some(DeclaredCheck { check: declaration.name.clone(), differs: None });
        };
        if known == declaration {
            return None;
        }
        let differs = differing(known, declaration);
        (!differs.is_empty()).then(|| DeclaredCheck { check: declaration.name.clone(), differs: Some(differs) })
    }
}

impl Catalogue {
    /// The declarations that are not the built-in ones, as TOML.
    ///
    /// # Errors
    /// A declaration cannot be written as TOML.
    pub fn own_declarations(&self) -> Result<Vec<String>, CatalogueError> {
        let built_in = Catalogue::built_in().declarations;
        let own = self.declarations.iter().filter(|(name, own)| built_in.get(*name) != Some(*own));
        let write = |(name, own): (&String, &Declaration)| {
            let invalid =
                |error: toml::ser::Error| CatalogueError::Declaration { name: name.clone(), fault: error.to_string() };
            toml::to_string(own).map_err(invalid)
        };
        own.map(write).collect()
    }
}

impl fmt::Display for DeclaredCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.differs {
            None => write!(f, "{} (not in the catalogue)", self.check),
            Some(parts) => write!(f, "{} (differs in {})", self.check, parts.join(", ")),
        }
    }
}

/// The names of the top-level parts in which two declarations differ.
fn differing(known: &Declaration, own: &Declaration) -> Vec<String> {
    let parts = |declaration| match serde_json::to_value(declaration) {
        Ok(Value::Object(parts)) => parts,
        _ => serde_json::Map::new(),
    };
    let (known, own) = (parts(known), parts(own));
    let mut names: Vec<&String> = known.keys().chain(own.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(|name| known.get(*name) != own.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_names_the_parts_that_differ_from_the_catalogue() {
        let mut declaration = Catalogue::built_in().get("aml-screening").unwrap().clone();
        assert_eq!(DeclaredCheck::of(&declaration), None);
        declaration.routes.guide = "/elsewhere".to_owned();
        declaration.verdict.recognised = "payload.x is defined".to_owned();
        let declared = DeclaredCheck::of(&declaration).unwrap();
        assert_eq!(declared.to_string(), "aml-screening (differs in routes, verdict)");
        declaration.name = "own-check".to_owned();
        assert_eq!(DeclaredCheck::of(&declaration).unwrap().to_string(), "own-check (not in the catalogue)");
    }

    #[test]
    fn only_what_differs_from_the_catalogue_is_written_and_is_read_back_the_same() {
        let catalogue = Catalogue::built_in();
        for built_in in catalogue.iter() {
            assert_eq!(catalogue.clone().with(built_in.clone()).unwrap().own_declarations().unwrap(), [""; 0]);
            let own = Declaration { name: format!("own-{}", built_in.name), ..built_in.clone() };
            let written = catalogue.clone().with(own.clone()).unwrap().own_declarations().unwrap();
            assert_eq!(written.iter().map(|text| toml::from_str(text).unwrap()).collect::<Vec<Declaration>>(), [own]);
        }
    }
}
