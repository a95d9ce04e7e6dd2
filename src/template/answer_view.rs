//! What a rule can read of an answer: `payload`, `answer`, `sent` and `answered_on`. Nothing is copied or converted before
//! a rule reads it, because an answer has hundreds of values and rules read a few.

use super::missing::{missing, null};
use crate::model::json_pointer;
use jiff::civil::Date;
use minijinja::{
    Value,
    value::{Enumerator, Object, ObjectRepr},
};
use serde_json::{Map, Value as Json};
use std::{fmt, sync::Arc};
use yoke::Yoke;

/// An answer as rules read it. It is created once for all rules of a check.
#[derive(Clone)]
pub struct AnswerView(Arc<Roots>);

/// The variables of a rule.
struct Roots {
    /// `None` if the answer has nothing at the place of its payload.
    payload: Option<Part>,
    answer: Part,
    sent: Part,
    /// The day of the answer, if it is known.
    answered_on: Option<Date>,
}

impl AnswerView {
    /// A view of an answer. `payload` is the JSON pointer of its payload, and `sent` has the members of the body that was
    /// sent. `answered_on` is the day of the answer: a rule must not depend on the day on which it is judged.
    pub fn new(answer: &Arc<Json>, payload: &str, sent: Map<String, Json>, answered_on: Option<Date>) -> AnswerView {
        let whole = Part::whole(Arc::clone(answer));
        let payload = whole.0.try_map_project_cloned(|json, _| json_pointer::at(json, payload).ok_or(()));
        AnswerView::of(payload.ok().map(Part), whole, sent, answered_on)
    }

    /// A view of a payload and an answer that need not be the same document.
    pub(super) fn of_both(payload: &Json, answer: &Json) -> AnswerView {
        let whole = |json: &Json| Part::whole(Arc::new(json.clone()));
        AnswerView::of(Some(whole(payload)), whole(answer), Map::new(), None)
    }

    fn of(payload: Option<Part>, answer: Part, sent: Map<String, Json>, answered_on: Option<Date>) -> AnswerView {
        AnswerView(Arc::new(Roots { payload, answer, sent: Part::whole(Arc::new(Json::Object(sent))), answered_on }))
    }

    pub(super) fn context(&self) -> Value {
        Value::from_dyn_object(Arc::clone(&self.0))
    }
}

impl Object for Roots {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        let part = match key {
            "payload" => self.payload.as_ref(),
            "answer" => Some(&self.answer),
            "sent" => Some(&self.sent),
            "answered_on" => {
                let day = self.answered_on.map(|day| Value::from(day.to_string()));
                return Some(day.unwrap_or_else(|| missing("`answered_on`".to_owned())));
            }
            _ => None,
        };
        Some(part.map_or_else(|| missing(format!("`{key}`")), |part| part.clone().read(|| format!("`{key}`"))))
    }
}

/// A value in a document, which it keeps alive. Its members and items are parts of the same document.
#[derive(Clone)]
struct Part(Yoke<&'static Json, Arc<Json>>);

impl Part {
    fn whole(document: Arc<Json>) -> Part {
        Part(Yoke::attach_to_cart(document, |json| json))
    }

    fn json(&self) -> &Json {
        self.0.get()
    }

    fn member(&self, name: &str) -> Value {
        let found = self.0.try_map_project_cloned(|json, _| json.get(name).ok_or(()));
        found.map_or_else(|()| missing(format!("`{name}`")), |found| Part(found).read(|| format!("`{name}`")))
    }

    fn item(&self, at: usize) -> Value {
        let what = || "an item of a list".to_owned();
        let found = self.0.try_map_project_cloned(|json, _| json.get(at).ok_or(()));
        found.map_or_else(|()| missing(what()), |found| Part(found).read(what))
    }

    /// This part as a MiniJinja value. A null is defined but has no value.
    fn read(self, what: impl FnOnce() -> String) -> Value {
        match self.json() {
            Json::Null => null(what()),
            Json::Bool(truth) => Value::from(*truth),
            Json::Number(number) => Value::from_serialize(number),
            Json::String(text) => Value::from(text.as_str()),
            Json::Array(_) | Json::Object(_) => Value::from_object(self),
        }
    }
}

impl Object for Part {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.json().is_array() { ObjectRepr::Seq } else { ObjectRepr::Map }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(if self.json().is_array() {
            key.as_usize().map_or_else(|| missing("a member of a list".to_owned()), |at| self.item(at))
        } else {
            key.as_str().map_or_else(|| missing("an entry of an object".to_owned()), |name| self.member(name))
        })
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(if self.json().is_array() { missing("a member of a list".to_owned()) } else { self.member(key) })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.json() {
            Json::Array(list) => Enumerator::Seq(list.len()),
            Json::Object(members) => {
                let mut names: Vec<&str> = members.keys().map(String::as_str).collect();
                names.sort_unstable();
                Enumerator::Values(names.into_iter().map(Value::from).collect())
            }
            _ => Enumerator::Empty,
        }
    }
}

/// An answer is personal data.
macro_rules! redacted {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("[redacted]")
            }
        }
    )*};
}

redacted!(AnswerView, Roots, Part);
