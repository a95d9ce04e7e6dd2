//! What a template can read of a row: its columns as variables and as `row["…"]`. It decides which texts of a row count
//! as null. JSON null always does.

use super::{GLOBALS, missing::missing, refusal::UnknownColumn};
use crate::model::{
    Note, Row,
    field::visible::{Cleaned, visible},
    nearest::hint,
    row::{Values, find_column, folded},
};
use minijinja::{
    Error, ErrorKind, Value,
    value::{Enumerator, Object, ObjectRepr},
};
use serde_json::Value as Json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// The texts that mean null, for all columns and for single ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nulls {
    everywhere: Vec<String>,
    in_column: BTreeMap<String, Vec<String>>,
}

impl Default for Nulls {
    fn default() -> Nulls {
        Nulls::new(vec![String::new()], BTreeMap::new())
    }
}

impl Nulls {
    /// `in_column` replaces the list for the columns it names (found as by `find_column`). Spaces around a word are
    /// ignored, like those around a value, because a word may be copied from a file with its spaces.
    pub fn new(everywhere: Vec<String>, in_column: BTreeMap<String, Vec<String>>) -> Nulls {
        let trimmed = |words: Vec<String>| words.iter().map(|word| word.trim().to_owned()).collect();
        let in_column = in_column.into_iter().map(|(column, words)| (folded(&column), trimmed(words))).collect();
        Nulls { everywhere: trimmed(everywhere), in_column }
    }

    /// The words that mean null in a column.
    pub fn of(&self, column: &str) -> &[String] {
        if self.in_column.is_empty() {
            return &self.everywhere;
        }
        self.in_column.get(&folded(column)).unwrap_or(&self.everywhere)
    }

    /// Whether a text is one of the words, ignoring spaces around it.
    pub fn is_one_of(words: &[String], text: &str) -> bool {
        let text = text.trim();
        words.iter().any(|word| word == text)
    }
}

/// Texts of up to this many bytes are copied on each access.
const SHORT_BYTES: usize = 64;

/// A row as templates see it. It is created once for all templates of a row.
#[derive(Clone)]
pub struct RowView(Arc<RowData>);

struct RowData {
    row: Row,
    nulls: Arc<Nulls>,
    /// The values of columns that were read, by index, so that a template that reads a column often does not copy it
    /// each time.
    values: Mutex<BTreeMap<usize, Value>>,
    /// The column names, once they were read.
    names: OnceLock<Vec<Value>>,
    /// Notes on the cells that were read since they were last taken.
    notes: Mutex<BTreeSet<Note>>,
}

impl RowView {
    pub fn new(row: &Row, nulls: &Arc<Nulls>) -> RowView {
        RowView(Arc::new(RowData {
            row: row.clone(),
            nulls: nulls.clone(),
            values: Mutex::default(),
            names: OnceLock::new(),
            notes: Mutex::default(),
        }))
    }

    /// What was cleaned in the cells that templates read since the last call. A cell that is kept is noted once.
    pub fn take_notes(&self) -> Vec<Note> {
        let mut notes = self.0.notes.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *notes).into_iter().collect()
    }

    pub(super) fn context(&self) -> Value {
        Value::from_object(Root(self.0.clone()))
    }
}

impl fmt::Debug for RowView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl RowData {
    /// The value of a column; `None` if a flat source has no such column. A JSON object may lack any key.
    fn lookup(&self, name: &str) -> Option<Value> {
        match &self.row.values {
            Values::Flat { header, cells } => {
                let at = find_column(header.iter().map(String::as_str), name)?;
                let cell = cells.get(at).unwrap_or_default();
                let value = match cell.len() > SHORT_BYTES {
                    true => self.kept(at, || self.text(cell, self.nulls.of(name))),
                    false => self.text(cell, self.nulls.of(name)),
                };
                Some(value.unwrap_or_else(|| missing(format!("column `{}`", header[at]))))
            }
            Values::Nested(map) => {
                let at = find_column(map.keys().map(String::as_str), name);
                let found = at.and_then(|at| Some((at, map.values().nth(at)?)));
                let value = found.and_then(|(at, value)| self.kept(at, || self.convert(value, self.nulls.of(name))));
                Some(value.unwrap_or_else(|| missing(format!("`{name}`"))))
            }
        }
    }

    /// The value of a column, created on first access.
    fn kept(&self, at: usize, make: impl FnOnce() -> Option<Value>) -> Option<Value> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = values.get(&at) {
            return Some(value.clone());
        }
        let value = make()?;
        values.insert(at, value.clone());
        Some(value)
    }

    /// A text as a person sees it; `None` if it is null.
    fn text(&self, text: &str, nulls: &[String]) -> Option<Value> {
        let Cleaned { text, notes } = visible(text);
        if !notes.is_empty() {
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
        }
        (!Nulls::is_one_of(nulls, &text)).then(|| Value::from(&*text))
    }

    /// JSON as a MiniJinja value; `None` is null. Texts in `nulls` are null too.
    fn convert(&self, value: &Json, nulls: &[String]) -> Option<Value> {
        match value {
            Json::Null => None,
            Json::Bool(truth) => Some(Value::from(*truth)),
            Json::Number(number) => Some(Value::from_serialize(number)),
            Json::String(text) => self.text(text, nulls),
            Json::Array(list) => {
                let items = list.iter().map(|item| self.convert(item, nulls)).collect();
                Some(Value::from_object(Items { items }))
            }
            Json::Object(map) => {
                let member = |(key, member): (&String, &Json)| (key.as_str().into(), self.convert(member, nulls));
                Some(Value::from_object(ObjectView { members: map.iter().map(member).collect() }))
            }
        }
    }

    fn columns(&self) -> Vec<&str> {
        match &self.row.values {
            Values::Flat { header, .. } => header.iter().map(String::as_str).collect(),
            Values::Nested(map) => map.keys().map(String::as_str).collect(),
        }
    }
}

/// The variables of a template over a row.
struct Root(Arc<RowData>);

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "row" => Some(Value::from_object(RowColumns(self.0.clone()))),
            global if GLOBALS.contains(&global) => None,
            column => self.0.lookup(column),
        }
    }
}

/// The variable `row`, which gives access to columns with any name.
struct RowColumns(Arc<RowData>);

impl Object for RowColumns {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        self.0.lookup(name).or_else(|| {
            let unknown = UnknownColumn { name: name.to_owned(), hint: hint(name, self.0.columns()) };
            Some(Value::from(Error::new(ErrorKind::InvalidOperation, "unknown column").with_source(unknown)))
        })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names = || self.0.columns().into_iter().map(Value::from).collect();
        Enumerator::Values(self.0.names.get_or_init(names).clone())
    }
}

/// A JSON object in a row. A null member counts as missing.
struct ObjectView {
    /// Shared names, so that a name is returned without copying it.
    members: BTreeMap<Arc<str>, Option<Value>>,
}

impl Object for ObjectView {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(key) => self.get_value_by_str(key),
            None => Some(missing("an entry of an object")),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(self.members.get(key).cloned().flatten().unwrap_or_else(|| missing(format!("`{key}`"))))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.members.keys().map(|key| Value::from(Arc::clone(key))).collect())
    }
}

/// A JSON list in a row.
struct Items {
    items: Vec<Option<Value>>,
}

impl Items {
    fn item(&self, at: usize) -> Value {
        self.items.get(at).cloned().flatten().unwrap_or_else(|| missing("an item of a list"))
    }
}

impl Object for Items {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(key.as_usize().map_or_else(|| missing("a member of a list"), |at| self.item(at)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items.len())
    }
}

/// Rows are personal data.
macro_rules! redacted {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("[redacted]")
            }
        }
    )*};
}

redacted!(Root, RowColumns, ObjectView, Items);
