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
    payload: Root,
    answer: Root,
    sent: Root,
    /// The day of the answer, if it is known.
    answered_on: Option<Date>,
}

/// A document that a variable names. Its value is made once, because rules read it often.
enum Root {
    Absent,
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
        let (payload, answer, sent) = (Root::of(payload), Root::of(Some(answer)), Root::of(Some(sent)));
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
        let root = match key {
            "payload" => &self.payload,
            "answer" => &self.answer,
            "sent" => &self.sent,
            "answered_on" => {
                let day = self.answered_on.map(|day| Value::from(day.to_string()));
                return Some(day.unwrap_or_else(|| missing("`answered_on`")));
            }
            _ => &Root::Absent,
        };
        Some(match root {
            Root::Absent => missing(format!("`{key}`")),
            Root::Null => null(format!("`{key}`")),
            Root::Value(value) => value.clone(),
        })
    }
}

impl Root {
    /// `part` is `None` if the answer has nothing in its place.
    fn of(part: Option<Part>) -> Root {
        match part {
            None => Root::Absent,
            Some(part) => part.value().map_or(Root::Null, Root::Value),
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
        self.part(|json| json.get(name), || format!("`{name}`"))
    }

    /// The value of a part. A null is defined but has no value.
    fn part(&self, find: impl Fn(&Json) -> Option<&Json>, what: impl FnOnce() -> String) -> Value {
        match self.0.try_map_project_cloned(|json, _| find(json).ok_or(())) {
            Err(()) => missing(what()),
            Ok(found) => Part(found).value().unwrap_or_else(|| null(what())),
        }
    }

    fn item(&self, at: usize) -> Value {
        self.part(|json| json.get(at), || "an item of a list".to_owned())
    }

    /// This part as a MiniJinja value; `None` if it is null.
    fn value(self) -> Option<Value> {
        match self.json() {
            Json::Null => None,
            Json::Bool(truth) => Some(Value::from(*truth)),
            Json::Number(number) => Some(Value::from_serialize(number)),
            Json::String(text) => Some(Value::from(text.as_str())),
            Json::Array(_) | Json::Object(_) => Some(Value::from_object(self)),
        }
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
