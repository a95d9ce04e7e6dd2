//! `checks.json`: how each check of a campaign was declared, what of it is the user's, and which rules each part was made with.

use super::super::campaign::recorded::declarations_in;
use crate::{
    catalogue::{Declaration, DeclaredCheck},
    error::Error,
    ledger::{LedgerError, Reading},
    model::key::hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The name of the file.
pub const CHECKS: &str = "checks.json";

/// The content of the file.
///
/// # Errors
/// The ledger cannot be read.
pub fn checks(reading: &Reading) -> Result<Value, Error> {
    let declarations = declarations_in(reading)?;
    let mut rules = BTreeMap::new();
    let mut parts: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    for part in reading.parts()? {
        let digest = match part.rules {
            None => None,
            Some(id) => {
                let row = reading.rules(id)?;
                let digest = hex(&Sha256::digest(&row.text));
                rules.insert(digest.clone(), json(&row.text, "rules")?);
                Some(digest)
            }
        };
        parts.entry(part.check_use).or_default().push(json!({ "part": part.path, "rules": digest }));
    }
    let mut checks = Vec::new();
    for (id, row) in reading.check_uses()? {
        let declaration = declarations.iter().find(|declaration| declaration.name == row.check);
        checks.push(json!({
            "name": row.name,
            "check": row.check,
            "layout": json(&row.layout, "layout")?,
            "declaration": declaration.map(|declaration: &Declaration| json!(declaration)),
            "declared_by_the_user": declaration.and_then(DeclaredCheck::of),
            "parts": parts.remove(&id).unwrap_or_default(),
        }));
    }
    Ok(json!({ "checks": checks, "rules": rules }))
}

fn json(text: &str, what: &str) -> Result<Value, LedgerError> {
    serde_json::from_str(text).map_err(|fault| LedgerError::Damaged(format!("the {what} of a check: {fault}")))
}
