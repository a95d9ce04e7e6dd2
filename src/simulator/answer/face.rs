//! The answer to a face match: the status and the score of the description. The warnings are seen in the field.

use super::question::Question;
use crate::simulator::answer_style::Dialect;
use serde_json::{Value, json};

pub(super) fn content(question: Question<'_>) -> Value {
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
    json!({ "face_match": face })
}
