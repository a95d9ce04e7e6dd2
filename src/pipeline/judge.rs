//! From an answer to a verdict, by the rules of its declaration. Rules are compiled before anything is sent; one that
//! breaks on an answer makes it `unrecognised`, never `clear`.

use crate::{
    catalogue::{Declaration, VerdictSpec},
    error::Error,
    model::{Judgement, Verdict},
    template::{AnswerRule, AnswerView, Templates},
};
use serde_json::Value;

/// The rules of one check, compiled.
pub struct Judge {
    recognised: AnswerRule,
    rules: Vec<AnswerRule>,
    declaration: Declaration,
}

impl Judge {
    /// # Errors
    /// A rule that is no expression.
    pub fn new(declaration: &Declaration, templates: &Templates) -> Result<Judge, Error> {
        let compile = |source: &str| {
            templates
                .answer_rule(source)
                .map_err(|error| Error::Config(format!("verdict rule of check `{}`: {error}", declaration.name)))
        };
        let VerdictSpec { recognised, rules, .. } = &declaration.verdict;
        Ok(Judge {
            recognised: compile(recognised)?,
            rules: rules.iter().map(|rule| compile(&rule.when)).collect::<Result<_, _>>()?,
            declaration: declaration.clone(),
        })
    }

    /// The verdict on an answer.
    pub fn judge(&self, answer: &Value) -> Judgement {
        let found = match self.declaration.answer.payload(answer) {
            Some(payload) => self.find(payload, answer),
            None => None,
        };
        // A clear answer that calls itself a failure is for a person.
        let failed = answer.get("success") == Some(&Value::Bool(false));
        let contradicts = failed || answer.get("error").is_some_and(|error| !error.is_null());
        let found = found.map(|judgement| match judgement.verdict {
            Verdict::Clear if contradicts => {
                Judgement { verdict: Verdict::Review, finding: "contradictory_answer".to_owned() }
            }
            _ => judgement,
        });
        found.unwrap_or(Judgement { verdict: Verdict::Unrecognised, finding: "unrecognised".to_owned() })
    }

    fn find(&self, payload: &Value, answer: &Value) -> Option<Judgement> {
        let view = AnswerView::new(payload, answer);
        if !self.recognised.holds_for(&view).ok()? {
            return None;
        }
        let spec = &self.declaration.verdict;
        for (rule, compiled) in spec.rules.iter().zip(&self.rules) {
            if compiled.holds_for(&view).ok()? {
                return Some(Judgement { verdict: rule.verdict, finding: rule.finding.clone() });
            }
        }
        Some(Judgement { verdict: spec.otherwise.verdict, finding: spec.otherwise.finding.clone() })
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
