//! The answers of ongoing AML. The service's description shows `Header` with the version of the dataset. An enrolment
//! and a rescreening also have the matches of a screening, and every operation states the enrolment.

use super::{aml, question::Question};
use crate::digest::hex;
use serde_json::{Value, json};

/// The answer to an operation: `enrolled`, `rescreened` or `withdrawn`. One customer in fifty is not enrolled, so that
/// there is nothing to rescreen or to withdraw.
pub(super) fn content(mut question: Question<'_>, done: &str) -> Value {
    let id = hex(&question.rng.roll().to_be_bytes());
    let unknown = done != "enrolled" && (question.rng.below(50) == 0 || (question.negative && done == "withdrawn"));
    let screened = aml::content(question);
    let mut content = json!({"Header": screened["Header"]});
    if unknown {
        content["enrolment"] = json!({"status": "not_enrolled"});
        return content;
    }
    content["enrolment"] = json!({"id": format!("enr_{id}"), "status": done});
    if done != "withdrawn" {
        content["match"] = screened["match"].clone();
    }
    content
}
