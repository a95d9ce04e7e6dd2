//! The answer to a face match: the status and the score of the description. The warnings are seen in the field. Where the
//! bundle with an ID verification has its report is the catalogue's assumption.

use super::{identity, question::Question};
use crate::answer_style::Dialect;
use serde_json::{Value, json};

pub(super) fn content(mut question: Question<'_>) -> Value {
    let number = question.text("id_number").to_owned();
    let is_of_number = question.order.check.name == "facematch-verified";
    let report = is_of_number.then(|| identity::report(&mut question, &number));
    let mut rng = question.rng;
    let (status, warnings) = match rng.below(100) {
        _ if question.negative => ("Declined", vec![]),
        0..80 => ("Approved", vec![]),
        80..88 => ("In Review", vec![]),
        _ => ("Declined", vec![json!({"risk": "LOW_FACE_SIMILARITY", "log_type": "error"})]),
    };
    let score = match status {
        "Approved" => 80 + rng.below(20),
        "In Review" => 50 + rng.below(30),
        _ => rng.below(50),
    };
    let mut face = json!({"status": status, "score": score});
    if question.dialect == Dialect::Field {
        face["warnings"] = warnings.into();
    }
    let mut content = json!({ "face_match": face });
    if let Some(report) = report {
        content["said_verification"] = report;
    }
    content
}
