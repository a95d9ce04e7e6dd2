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
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use serde_json::json;

    fn verdict(check: &str, answer: Value) -> (Verdict, String) {
        let catalogue = Catalogue::built_in();
        let templates = Templates::new(crate::template::Tables::default());
        let judgement = Judge::new(catalogue.get(check).unwrap(), &templates).unwrap().judge(&answer);
        (judgement.verdict, judgement.finding)
    }

    fn aml(results: Value) -> (Verdict, String) {
        verdict("aml-screening", json!({ "success": true, "results": results }))
    }

    #[test]
    fn an_empty_list_of_matches_is_clear_and_every_match_is_for_a_person() {
        assert_eq!(aml(json!({"match": []})), (Verdict::Clear, "no_match".into()));
        for (kind, finding) in [("sanction", "sanction_match"), ("pep", "pep_match"), ("media", "media_match")] {
            assert_eq!(aml(json!({"match": [{"type": kind}]})), (Verdict::Review, finding.into()));
        }
        assert_eq!(aml(json!({"match": [{"name": "x"}]})), (Verdict::Review, "name_match".into()));
        assert_eq!(aml(json!({"match": [{"type": "pep"}, {"type": "sanction"}]})).1, "sanction_match");
        assert_eq!(aml(json!({"totalHits": 0})).0, Verdict::Clear);
        assert_eq!(aml(json!({"totalHits": "3"})).0, Verdict::Review);
        assert_eq!(aml(json!({"match": [], "totalHits": 2})).0, Verdict::Review, "the fields contradict each other");
    }

    #[test]
    fn null_new_and_missing_values_never_become_clear() {
        assert_eq!(aml(json!({"match": null})).0, Verdict::Review);
        assert_eq!(aml(json!({"Header": {}})).0, Verdict::Unrecognised);
        assert_eq!(aml(json!({"totalHits": "many"})).0, Verdict::Unrecognised);
        assert_eq!(aml(json!("text")).0, Verdict::Unrecognised);
        assert_eq!(verdict("aml-screening", json!({"success": true})).0, Verdict::Unrecognised);
    }

    #[test]
    fn a_clear_answer_that_calls_itself_a_failure_is_for_a_person() {
        let answer = json!({"success": false, "error": {"code": "X"}, "results": {"match": []}});
        assert_eq!(verdict("aml-screening", answer).0, Verdict::Review);
    }

    #[test]
    fn the_status_of_an_id_number_is_compared_whole() {
        let said = |status: Value| {
            let answer =
                json!({"success": true, "results": {"said_verification": {"realTimeResults": {"Status": status}}}});
            verdict("said-verification", answer)
        };
        assert_eq!(said(json!("ID Number Valid")), (Verdict::Clear, "valid".into()));
        assert_eq!(said(json!("ID Number Invalid")).0, Verdict::Adverse);
        assert_eq!(said(json!("ID Number Not Found")).0, Verdict::NotFound);
        assert_eq!(said(json!("id number valid ")).0, Verdict::Review);
        assert_eq!(said(Value::Null).0, Verdict::Review);
        assert_eq!(
            verdict("said-verification", json!({"results": {"said_verification": {}}})).0,
            Verdict::Unrecognised
        );
    }
}
