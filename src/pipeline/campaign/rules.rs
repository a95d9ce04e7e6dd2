//! The rules of a check: the part of its declaration that says how an answer is read and judged. Unlike names and types
//! of columns, rules can be corrected in the same campaign, and the answers that are already paid for are judged again.

use super::Campaign;
use crate::{
    catalogue::{AnswerSpec, Declaration, VerdictSpec},
    error::Error,
    ledger::{Ledger, LedgerError, RulesRow},
    template::Templates,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the answers of a check are read and judged. The ledger records it as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub answer: AnswerSpec,
    pub verdict: VerdictSpec,
    /// The names of the fields whose values are never shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Words of the check for a job that has a result. An answer with such a word does not contradict itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
}

impl Rules {
    /// The rules of a declaration.
    pub fn of(declaration: &Declaration) -> Rules {
        let secrets = declaration.fields.iter().filter(|field| field.secret).map(|field| field.name.clone());
        Rules {
            answer: declaration.answer.clone(),
            verdict: declaration.verdict.clone(),
            secrets: secrets.collect(),
            completed: declaration.job.as_ref().map(|job| job.completed.clone()).unwrap_or_default(),
        }
    }

    /// Rules that the ledger records.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn recorded(row: &RulesRow) -> Result<Rules, Error> {
        let damaged = |error| LedgerError::Damaged(format!("the rules of `{}`: {error}", row.check));
        Ok(serde_json::from_str(&row.text).map_err(damaged)?)
    }

    /// The declaration with its rules replaced by these.
    pub fn in_place(self, declaration: &Declaration) -> Declaration {
        let mut declaration = declaration.clone();
        for field in &mut declaration.fields {
            field.secret = self.secrets.contains(&field.name);
        }
        Declaration { answer: self.answer, verdict: self.verdict, ..declaration }
    }
}

/// Compiles the rules of the campaign's declarations. A rule that does not compile must not be recorded: the commands
/// that read declarations from the ledger would fail from then on.
///
/// # Errors
/// A rule is not a valid expression.
pub fn compile_rules(campaign: &Campaign) -> Result<(), Error> {
    let templates = Templates::default();
    for Declaration { name: check, verdict, .. } in campaign.checks() {
        let rules = verdict.rules.iter().map(|rule| (format!("with the finding `{}`", rule.finding), &rule.when));
        for (rule, source) in std::iter::once(("`recognised`".to_owned(), &verdict.recognised)).chain(rules) {
            templates.answer_rule(source).map_err(|error| {
                Error::Config(format!("verdict rule {rule} of check `{check}`: {error}; correct the declaration"))
            })?;
        }
    }
    Ok(())
}

/// Makes the rules of the campaign's declarations the current ones in the ledger. Returns their ids by check.
///
/// # Errors
/// They cannot be recorded.
pub async fn use_rules(campaign: &Campaign, ledger: &Ledger) -> Result<BTreeMap<String, i64>, Error> {
    let mut ids = BTreeMap::new();
    for declaration in campaign.checks() {
        let text =
            serde_json::to_string(&Rules::of(declaration)).map_err(|error| Error::Internal(error.to_string()))?;
        let id = ledger.use_rules(declaration.name.clone(), text).await?;
        ids.insert(declaration.name.clone(), id);
    }
    Ok(ids)
}
