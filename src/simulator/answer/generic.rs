//! The answer to a check that a user declared: a value of the declared type at every column's pointer, so that a
//! rehearsal fills every column. The values have no meaning.

use super::question::{Question, place};
use crate::check::ColumnKind;
use serde_json::{Map, Value, json};

const WORDS: [&str; 6] = ["amber", "basalt", "cedar", "delta", "ember", "flint"];

pub(super) fn content(question: Question<'_>) -> Value {
    let mut rng = question.rng;
    let mut content = Value::Object(Map::new());
    for column in &question.order.check.answer.columns {
        let Some(pointer) = column.pointers.first().filter(|pointer| !pointer.is_empty()) else { continue };
        let value = match column.kind {
            ColumnKind::Text => Value::from(*rng.pick(&WORDS)),
            ColumnKind::Integer => Value::from(rng.below(100)),
            ColumnKind::Number => Value::from(rng.below(1_000) as f64 / 1_000.0),
            ColumnKind::Boolean => Value::from(!question.negative && rng.below(10) > 0),
            ColumnKind::Date => {
                let (year, month, day) = (1990 + rng.below(36), 1 + rng.below(12), 1 + rng.below(28));
                Value::from(format!("{year}-{month:02}-{day:02}"))
            }
            ColumnKind::Timestamp => {
                let (month, day, hour) = (1 + rng.below(12), 1 + rng.below(28), rng.below(24));
                Value::from(format!("2026-{month:02}-{day:02}T{hour:02}:00:00Z"))
            }
            ColumnKind::Count if question.negative => json!([]),
            ColumnKind::Count => (0..rng.below(4)).map(|at| json!({"id": at + 1})).collect(),
            ColumnKind::Json => json!({"code": *rng.pick(&WORDS), "weight": rng.below(10)}),
        };
        place(&mut content, pointer, value);
    }
    content
}
