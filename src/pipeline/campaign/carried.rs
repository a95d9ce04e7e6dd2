//! The input columns that are copied into the results, and the names and types that they get there.

use crate::{
    catalogue::Declaration,
    error::Error,
    model::{
        row::{find_column, folded},
        value_kind::{TypedValue, ValueKind},
    },
    sink::{TableCell, column_name},
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeMap,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

/// An input column to copy into the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    pub column: String,
    /// Its name in the results, if that is not the column's own.
    pub name: Option<String>,
    /// Its type in the results. It is `None` until the input was looked at, and in the layout of a column of text.
    pub kind: Option<ValueKind>,
}

/// Stands for every column of the input.
const ALL: &str = "*";

impl Carried {
    /// Whether it stands for every column of the input, whose names are not known yet.
    pub fn is_all(&self) -> bool {
        self.column == ALL && self.name.is_none()
    }

    /// A column under its own name.
    pub fn plain(column: impl Into<String>) -> Carried {
        Carried { column: column.into(), name: None, kind: None }
    }

    /// Its type in the results.
    pub fn kind(&self) -> ValueKind {
        self.kind.unwrap_or(ValueKind::Text)
    }

    /// Whether the results have the same column under the same name for both. A type that is still open fits any.
    pub fn agrees(&self, recorded: &Carried) -> bool {
        let is_same_type = self.kind.is_none_or(|kind| kind == recorded.kind());
        self.column == recorded.column && self.name() == recorded.name() && is_same_type
    }

    /// Its value in a row, in its type; in a column of text, lists and objects are JSON. What means null, and a secret, has
    /// no type.
    pub fn cell(&self, row: &Value) -> TableCell {
        let column = self.column.as_str();
        let found = row.as_object().and_then(|map| {
            let by_other_spelling = || map.values().nth(find_column(map.keys().map(String::as_str), column)?);
            map.get(column).or_else(by_other_spelling)
        });
        match found.filter(|value| !value.is_null()).and_then(|value| self.kind().read(value)) {
            None => TableCell::Null,
            Some(TypedValue::Text(text)) => TableCell::Text(text),
            Some(TypedValue::Integer(number)) => TableCell::Integer(number),
            Some(TypedValue::Number(number)) => TableCell::Number(number),
            Some(TypedValue::Boolean(truth)) => TableCell::Boolean(truth),
        }
    }

    /// The name from which the name in the results is made.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.column)
    }
}

/// `COLUMN`, or `NAME=COLUMN`.
impl From<&str> for Carried {
    fn from(text: &str) -> Carried {
        match text.split_once('=') {
            Some((name, column)) if !name.trim().is_empty() && !column.trim().is_empty() => {
                Carried { column: column.trim().to_owned(), name: Some(name.trim().to_owned()), kind: None }
            }
            _ => Carried::plain(text),
        }
    }
}

/// A column under its own name is a text; a renamed one is `{ name = "column" }`,
/// and one with another type than text is `{ name = { column = "column", type = "integer" } }`.
impl Serialize for Carried {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let typed = Some(self.kind()).filter(|kind| *kind != ValueKind::Text);
        match &self.name {
            _ if typed.is_some() => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(self.name(), &TypedColumn { column: self.column.clone(), kind: typed })?;
                map.end()
            }
            None => serializer.serialize_str(&self.column),
            Some(name) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(name, &self.column)?;
                map.end()
            }
        }
    }
}

/// A column with its type.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedColumn {
    column: String,
    #[serde(rename = "type", default)]
    kind: Option<ValueKind>,
}

/// What a name stands for: a column, or a column with its type.
struct Target(TypedColumn);

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Target, D::Error> {
        deserializer.deserialize_any(TargetVisitor)
    }
}

struct TargetVisitor;

impl<'de> Visitor<'de> for TargetVisitor {
    type Value = Target;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a column such as `\"branch\"`, or one with its type such as `{ column = \"age\", type = \"integer\" }`",
        )
    }

    fn visit_str<E: serde::de::Error>(self, column: &str) -> Result<Target, E> {
        Ok(Target(TypedColumn { column: column.to_owned(), kind: None }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Target, A::Error> {
        TypedColumn::deserialize(MapAccessDeserializer::new(map)).map(Target)
    }
}

/// One item of the list: a text, or a table of names and columns.
struct Item(Vec<Carried>);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_any(ListVisitor { nested: true }).map(Item)
    }
}

/// Reads a list of columns and of tables, or one table.
///
/// # Errors
/// It is neither.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Carried>, D::Error> {
    deserializer.deserialize_any(ListVisitor { nested: false })
}

struct ListVisitor {
    /// Whether this is an item of a list.
    nested: bool,
}

impl<'de> Visitor<'de> for ListVisitor {
    type Value = Vec<Carried>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("columns such as `[\"branch\"]`, `\"*\"` for all, or names and columns such as `{ dob = \"Date of Birth\" }`")
    }

    fn visit_str<E: serde::de::Error>(self, column: &str) -> Result<Vec<Carried>, E> {
        if self.nested || column == ALL {
            Ok(vec![Carried::plain(column)])
        } else {
            Err(E::invalid_type(serde::de::Unexpected::Other("a text"), &self))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<Carried>, A::Error> {
        let mut list = Vec::new();
        while !self.nested
            && let Some(Item(more)) = items.next_element()?
        {
            list.extend(more);
        }
        if self.nested { Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &self)) } else { Ok(list) }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Carried>, A::Error> {
        let renamed = BTreeMap::<String, Target>::deserialize(MapAccessDeserializer::new(map))?;
        let carried = |(name, Target(TypedColumn { column, kind }))| Carried { column, name: Some(name), kind };
        Ok(renamed.into_iter().map(carried).collect())
    }
}

/// The names that a declaration gives to its expectations, of those that a campaign uses.
pub fn expected_names<T>(declaration: &Declaration, used: &BTreeMap<String, T>) -> Vec<String> {
    let used = declaration.expectations().filter(|(_, expect)| used.contains_key(&expect.name));
    used.map(|(_, expect)| expect.name.clone()).collect()
}

/// The columns that a list stands for, once the columns of the input are known. A column that the list names keeps the name
/// it has there. A column that the star adds gets the prefix `input_` if its name is taken. `own` are the columns that the
/// results have without carried ones.
pub fn expanded(carry: &[Carried], columns: &[String], own: &HashSet<String>) -> Vec<Carried> {
    let is_named = |column: &String| carry.iter().any(|one| !one.is_all() && folded(&one.column) == folded(column));
    let named = carry.iter().filter(|one| !one.is_all()).map(|one| column_name(one.name()));
    let mut taken: HashSet<String> = own.iter().cloned().chain(named).collect();
    let mut expanded = Vec::new();
    for one in carry {
        if !one.is_all() {
            expanded.push(one.clone());
            continue;
        }
        for column in columns.iter().filter(|column| !is_named(column)) {
            let numbered = (2_u64..).map(|number| format!("input_{column}_{number}"));
            let mut names = [column.clone(), format!("input_{column}")].into_iter().chain(numbered);
            let name = names.find(|name| taken.insert(column_name(name))).unwrap_or_default();
            expanded.push(Carried { name: Some(name).filter(|name| name != column), ..Carried::plain(column) });
        }
    }
    expanded
}

/// Refuses an empty name.
///
/// # Errors
/// A name or a column is empty.
pub fn check_names(carry: &[Carried]) -> Result<(), Error> {
    match carry.iter().find(|one| one.name().trim().is_empty() || one.column.trim().is_empty()) {
        Some(_) => Err(Error::Config(
            "--carry (or [output] carry): expected the name of a column, found an empty one".to_owned(),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Table {
        #[serde(deserialize_with = "list")]
        carry: Vec<Carried>,
    }

    fn read(text: &str) -> Result<Vec<Carried>, String> {
        toml::from_str(text).map(|table: Table| table.carry).map_err(|error| error.message().to_owned())
    }

    fn renamed(name: &str, column: &str) -> Carried {
        Carried { column: column.to_owned(), name: Some(name.to_owned()), kind: None }
    }

    #[test]
    fn a_star_stands_for_every_column_and_no_two_get_the_same_name() {
        let carry = read("carry = [{ dob = \"Date of Birth\" }, \"*\"]").unwrap();
        let columns = ["no", "Status", "status", "date of birth", "verdict", "*"].map(str::to_owned);
        let own = HashSet::from(["verdict".to_owned()]);
        let names: Vec<String> = expanded(&carry, &columns, &own).iter().map(|one| column_name(one.name())).collect();
        assert_eq!(names, ["dob", "no", "status", "input_status", "input_verdict", "_"]);
        assert!(read("carry = \"*\"").unwrap()[0].is_all() && Carried::from("*").is_all());
        assert_eq!(expanded(&[Carried::plain("no")], &columns, &own), [Carried::plain("no")]);
    }

    #[test]
    fn a_carried_column_has_its_own_name_or_another() {
        let dob = renamed("dob", "Date of Birth");
        assert_eq!(read("carry = [\"branch\"]").unwrap(), [Carried::plain("branch")]);
        assert_eq!(read("carry = { dob = \"Date of Birth\" }").unwrap(), std::slice::from_ref(&dob));
        let mixed = read("carry = [\"branch\", { dob = \"Date of Birth\", a = \"b\" }]").unwrap();
        assert_eq!(mixed, [Carried::plain("branch"), renamed("a", "b"), dob.clone()]);
        assert_eq!([Carried::from("dob=Date of Birth"), Carried::from("branch")], [dob, Carried::plain("branch")]);
        for wrong in ["carry = \"branch\"", "carry = [[\"branch\"]]", "carry = [1]", "carry = { a = 1 }"] {
            let message = read(wrong).unwrap_err();
            assert!(message.contains("invalid type"), "{wrong}: {message}");
        }
        assert!(check_names(&[Carried::plain(" ")]).is_err() && check_names(&mixed).is_ok());
    }

    #[test]
    fn a_type_is_read_and_recorded_and_text_is_what_older_releases_recorded() {
        let [typed] = read("carry = { age = { column = \"Age\", type = \"integer\" } }").unwrap().try_into().unwrap();
        assert_eq!(typed, Carried { kind: Some(ValueKind::Integer), ..renamed("age", "Age") });
        let recorded = serde_json::to_string(std::slice::from_ref(&typed)).unwrap();
        assert_eq!(recorded, r#"[{"age":{"column":"Age","type":"integer"}}]"#);
        assert_eq!(list(&mut serde_json::Deserializer::from_str(&recorded)).unwrap(), std::slice::from_ref(&typed));
        let plain = Carried { kind: Some(ValueKind::Integer), ..Carried::plain("a") };
        let recorded = serde_json::to_string(std::slice::from_ref(&plain)).unwrap();
        let again = list(&mut serde_json::Deserializer::from_str(&recorded)).unwrap();
        assert!(plain.agrees(&again[0]) && Carried::plain("a").agrees(&again[0]), "{again:?}");
        let text = Carried { kind: Some(ValueKind::Text), ..Carried::plain("a") };
        assert_eq!(serde_json::to_string(std::slice::from_ref(&text)).unwrap(), r#"["a"]"#);
        assert!(text.agrees(&Carried::plain("a")) && !text.agrees(&again[0]));
        let message = read("carry = { age = { column = \"Age\", type = \"money\" } }").unwrap_err();
        assert!(message.contains("expected one of `text`, `integer`, `number`, `boolean`"), "{message}");
    }

    #[test]
    fn a_layout_of_an_older_release_has_texts() {
        let recorded = serde_json::to_string(&[Carried::plain("a"), renamed("n", "b")]).unwrap();
        assert_eq!(recorded, r#"["a",{"n":"b"}]"#);
        let mut read = serde_json::Deserializer::from_str(&recorded);
        assert_eq!(list(&mut read).unwrap(), [Carried::plain("a"), renamed("n", "b")]);
    }
}
