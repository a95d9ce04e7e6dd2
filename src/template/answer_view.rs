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
    payload: Found,
    answer: Found,
    sent: Found,
    /// The day of the answer, if it is known.
    answered_on: Option<Date>,
}

/// What was found where a rule reads. That of a variable is kept, because rules read it often.
enum Found {
    Absent,
    /// Defined, but without a value.
    Null,
    Value(Value),
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
        let sent = Part::whole(Arc::new(Json::Object(sent)));
        let (payload, answer, sent) = (Found::of(payload), Found::of(Some(answer)), Found::of(Some(sent)));
        AnswerView(Arc::new(Roots { payload, answer, sent, answered_on }))
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
        let found = match key {
            "payload" => &self.payload,
            "answer" => &self.answer,
            "sent" => &self.sent,
            "answered_on" => {
                let day = self.answered_on.map(|day| Value::from(day.to_string()));
                return Some(day.unwrap_or_else(|| missing("`answered_on`")));
            }
            _ => &Found::Absent,
        };
        Some(found.read(|| format!("`{key}`")))
    }
}

impl Found {
    /// `part` is `None` if the answer has nothing in its place.
    fn of(part: Option<Part>) -> Found {
        let Some(part) = part else { return Found::Absent };
        match part.json() {
            Json::Null => Found::Null,
            Json::Bool(truth) => Found::Value(Value::from(*truth)),
            Json::Number(number) => Found::Value(Value::from_serialize(number)),
            Json::String(text) => Found::Value(Value::from(text.as_str())),
            Json::Array(_) | Json::Object(_) => Found::Value(Value::from_object(part)),
        }
    }

    /// The value for a rule. `what` names it in messages.
    fn read(&self, what: impl FnOnce() -> String) -> Value {
        match self {
            Found::Absent => missing(what()),
            Found::Null => null(what()),
            Found::Value(value) => value.clone(),
        }
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
        self.part(|json| json.get(name)).read(|| format!("`{name}`"))
    }

    fn part(&self, find: impl Fn(&Json) -> Option<&Json>) -> Found {
        Found::of(self.0.try_map_project_cloned(|json, _| find(json).ok_or(())).ok().map(Part))
    }

    fn item(&self, at: usize) -> Value {
        self.part(|json| json.get(at)).read(|| "an item of a list".to_owned())
    }
}

impl Object for Part {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.json().is_array() { ObjectRepr::Seq } else { ObjectRepr::Map }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(if self.json().is_array() {
            key.as_usize().map_or_else(|| missing("a member of a list"), |at| self.item(at))
        } else {
            key.as_str().map_or_else(|| missing("an entry of an object"), |name| self.member(name))
        })
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(if self.json().is_array() { missing("a member of a list") } else { self.member(key) })
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
