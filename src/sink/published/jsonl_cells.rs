//! Rows of JSON Lines as cells: only the chosen columns of a line are decoded. Decides which JSON values a column of each
//! type accepts; no value is ever part of a message.

use crate::sink::{Kind, TableCell};
use serde::{
    Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    fmt,
    io::{self, BufRead, BufReader, Read},
};

/// A line has one answer, of which the largest takes twice its 32 MiB as text.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// A chosen column: its name, and its type in the manifest; `None` if the dataset does not have it.
pub type Chosen<'a> = (&'a str, Option<Kind>);

/// Hands out the cells of the chosen columns of each line. A column that the dataset does not have is null.
///
/// # Errors
/// What was found instead of a row, or the error of `each`.
pub fn jsonl_cells<E: From<String>>(
    file: impl Read,
    columns: &[Chosen<'_>],
    each: &mut dyn FnMut(&[TableCell]) -> Result<(), E>,
) -> Result<(), E> {
    let mut lines = BufReader::with_capacity(256 << 10, file);
    let (mut line, mut number) = (Vec::new(), 0_u64);
    loop {
        line.clear();
        number += 1;
        let read = lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if read.map_err(|fault: io::Error| E::from(format!("reading failed: {fault}")))? == 0 {
            return Ok(());
        }
        let mut deserializer = serde_json::Deserializer::from_slice(&line);
        let cells = deserializer.deserialize_map(Row(columns)).and_then(|cells| deserializer.end().map(|()| cells));
        // The parser's own message may contain a value, so only the place is told.
        let cells =
            cells.map_err(|_| E::from(format!("line {number}: expected a row of JSON, found a damaged one")))?;
        let cells = cells.map_err(|column| {
            E::from(format!(
                "line {number}: column `{column}` has a value that does not match its type in the manifest"
            ))
        })?;
        each(&cells)?;
    }
}

/// The row of a line.
struct Row<'a>(&'a [Chosen<'a>]);

impl<'de> Visitor<'de> for Row<'_> {
    /// The cells, or the name of the column whose value does not match.
    type Value = Result<Vec<TableCell>, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut cells = vec![TableCell::Null; self.0.len()];
        let mut fault = None;
        while let Some(Name(name)) = members.next_key::<Name<'de>>()? {
            let Some(place) = self.0.iter().position(|(chosen, _)| *chosen == name) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = members.next_value::<&RawValue>()?.get();
            let Some(kind) = self.0[place].1 else { continue };
            match cell(value, kind) {
                Some(cell) => cells[place] = cell,
                None => fault = Some(name.into_owned()),
            }
        }
        Ok(fault.map_or(Ok(cells), Err))
    }
}

/// A name that is borrowed from the line where it has no escapes.
struct Name<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text).map_err(D::Error::custom)
    }
}

/// The cell of a JSON value; `None` if a column of this type does not accept it.
fn cell(value: &str, kind: Kind) -> Option<TableCell> {
    if value == "null" {
        return Some(TableCell::Null);
    }
    let text = || serde_json::from_str::<String>(value).ok();
    Some(match kind {
        Kind::Json => TableCell::Json(value.to_owned()),
        Kind::Text => TableCell::Text(text()?),
        Kind::Integer => TableCell::Integer(value.parse().ok()?),
        Kind::Number => TableCell::Number(value.parse().ok().filter(|number: &f64| number.is_finite())?),
        Kind::Boolean => TableCell::Boolean(value.parse().ok()?),
        Kind::Date => TableCell::Date(text()?.parse().ok()?),
        Kind::Timestamp => TableCell::Timestamp(text()?.parse::<jiff::Timestamp>().ok()?.as_microsecond()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, columns: &[Chosen<'_>]) -> Result<Vec<Vec<TableCell>>, String> {
        let mut rows = Vec::new();
        jsonl_cells(text.as_bytes(), columns, &mut |cells: &[TableCell]| {
            rows.push(cells.to_vec());
            Ok::<(), String>(())
        })?;
        Ok(rows)
    }

    #[test]
    fn chosen_columns_have_their_types_and_the_others_are_skipped() {
        let columns = [
            ("at", Some(Kind::Timestamp)),
            ("no\"t", Some(Kind::Text)),
            ("absent", None),
            ("n", Some(Kind::Integer)),
            ("list", Some(Kind::Json)),
            ("day", Some(Kind::Date)),
            ("is", Some(Kind::Boolean)),
        ];
        let line = "{\"x\":{\"at\":[1,{}]},\"no\\\"t\":\"a\\u00e9\\n\",\"n\":-7,\"list\":[1.10],\"day\":\"2024-02-29\",\
                    \"at\":\"1970-01-01T00:00:01.000002Z\",\"is\":true}\n";
        let rows = read(&format!("{line}{{\"n\":null}}\n"), &columns).unwrap();
        let expected = [
            TableCell::Timestamp(1_000_002),
            TableCell::text("aé\n"),
            TableCell::Null,
            TableCell::Integer(-7),
            TableCell::Json("[1.10]".to_owned()),
            TableCell::Date("2024-02-29".parse().unwrap()),
            TableCell::Boolean(true),
        ];
        assert!(rows[0] == expected, "{:?}", rows[0]);
        assert!(rows[1].iter().all(|cell| *cell == TableCell::Null), "{:?}", rows[1]);
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn a_damaged_line_or_value_names_its_place_and_never_the_value() {
        let columns = [("n", Some(Kind::Integer))];
        let refused = |text: &str| read(text, &columns).unwrap_err();
        assert_eq!(
            refused("{\"n\":1}\n{\"n\":\"Vexford\"}\n"),
            "line 2: column `n` has a value that does not match its type in the manifest"
        );
        for damaged in ["{\"n\":1", "[1]\n", "{\"n\":1} x\n", "\n", "{\"n\":Vexford}\n"] {
            assert_eq!(refused(damaged), "line 1: expected a row of JSON, found a damaged one", "{damaged}");
        }
    }
}
