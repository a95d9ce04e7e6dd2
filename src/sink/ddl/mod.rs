//! `CREATE TABLE` statements for the datasets, from the schemas that the writers use. This module decides which type of
//! an engine a column has, and when a name is quoted.

mod meaning;
mod words;

use super::{Column, DatasetKind, Kind, Schema};
use crate::model::printable::printable;
use std::{collections::BTreeMap, fmt, fmt::Write, str::FromStr};

/// A database or engine that the outputs are loaded into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Duckdb,
    Postgres,
    Bigquery,
    Snowflake,
    Spark,
}

impl Engine {
    /// All engines.
    pub const ALL: [Engine; 5] = [Engine::Duckdb, Engine::Postgres, Engine::Bigquery, Engine::Snowflake, Engine::Spark];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Duckdb => "duckdb",
            Engine::Postgres => "postgres",
            Engine::Bigquery => "bigquery",
            Engine::Snowflake => "snowflake",
            Engine::Spark => "spark",
        }
    }

    /// The type of a column. Timestamps have a time zone, because the outputs are in UTC.
    fn type_of(self, kind: Kind) -> &'static str {
        let [duckdb, postgres, bigquery, snowflake, spark] = match kind {
            Kind::Text => ["VARCHAR", "TEXT", "STRING", "VARCHAR", "STRING"],
            Kind::Integer => ["BIGINT", "BIGINT", "INT64", "NUMBER(19, 0)", "BIGINT"],
            Kind::Number => ["DOUBLE", "DOUBLE PRECISION", "FLOAT64", "FLOAT", "DOUBLE"],
            Kind::Boolean => ["BOOLEAN", "BOOLEAN", "BOOL", "BOOLEAN", "BOOLEAN"],
            Kind::Date => ["DATE", "DATE", "DATE", "DATE", "DATE"],
            Kind::Json => ["JSON", "JSONB", "JSON", "VARIANT", "STRING"],
            Kind::Timestamp => {
                ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_TZ(6)", "TIMESTAMP"]
            }
        };
        match self {
            Engine::Duckdb => duckdb,
            Engine::Postgres => postgres,
            Engine::Bigquery => bigquery,
            Engine::Snowflake => snowflake,
            Engine::Spark => spark,
        }
    }

    /// A name, in quotes where one of the engines reserves the word, or where its letters need them. Snowflake folds names without quotes to upper case,
    /// so a quoted name is in upper case there, and a load by name finds every column in the same way.
    fn name(self, name: &str) -> String {
        if !words::is_reserved(name) && name.is_ascii() {
            return name.to_owned();
        }
        match self {
            Engine::Duckdb | Engine::Postgres => format!("\"{name}\""),
            Engine::Snowflake => format!("\"{}\"", name.to_uppercase()),
            Engine::Bigquery | Engine::Spark => format!("`{name}`"),
        }
    }

    /// A text literal. Column names of a user may contain any character, so control characters become escapes.
    fn literal(self, text: &str) -> String {
        let text = printable(text);
        let escaped = match self {
            Engine::Duckdb | Engine::Postgres => text.replace('\'', "''"),
            Engine::Snowflake => text.replace('\\', "\\\\").replace('\'', "''"),
            Engine::Bigquery | Engine::Spark => text.replace('\\', "\\\\").replace('\'', "\\'"),
        };
        format!("'{escaped}'")
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Engine, String> {
        let found = Engine::ALL.into_iter().find(|engine| engine.as_str() == text);
        let names = Engine::ALL.map(|engine| format!("`{engine}`")).join(", ");
        found.ok_or_else(|| format!("expected one of {names}, found `{text}`"))
    }
}

/// A table to create.
#[derive(Debug, Clone)]
pub struct NewTable {
    pub name: String,
    pub kind: DatasetKind,
    pub schema: Schema,
    /// What the table contains.
    pub meaning: String,
    /// The meanings of the columns that are not the same for every check, by name.
    pub own_meanings: BTreeMap<String, String>,
}

impl NewTable {
    /// The meaning of a column, if it is known.
    fn meaning_of(&self, column: &Column) -> Option<String> {
        let own = self.own_meanings.get(&column.name).cloned();
        own.or_else(|| meaning::of(self.kind, &column.name))
    }
}

/// The statements that create a table with its comments. They do nothing if the table exists.
pub fn create_table(engine: Engine, table: &NewTable) -> String {
    let key = engine_key(engine);
    let mut lines: Vec<String> = Vec::new();
    let mut comments = String::new();
    for column in &table.schema.columns {
        let name = engine.name(&column.name);
        let mut line = format!("    {name} {}", engine.type_of(column.kind));
        line.push_str(if column.nullable { "" } else { " NOT NULL" });
        line.push_str(if column.name == "result_id" { key } else { "" });
        if let Some(meaning) = table.meaning_of(column).map(|meaning| engine.literal(&meaning)) {
            match engine {
                Engine::Duckdb | Engine::Postgres => {
                    let _ = write!(comments, "\nCOMMENT ON COLUMN {}.{name} IS {meaning};", table.name);
                }
                Engine::Bigquery => {
                    let _ = write!(line, " OPTIONS (description = {meaning})");
                }
                Engine::Snowflake | Engine::Spark => {
                    let _ = write!(line, " COMMENT {meaning}");
                }
            }
        }
        lines.push(line);
    }
    let meaning = engine.literal(&table.meaning);
    let end = match engine {
        Engine::Duckdb | Engine::Postgres => format!(";\nCOMMENT ON TABLE {} IS {meaning};{comments}", table.name),
        Engine::Bigquery => format!("\nOPTIONS (description = {meaning});"),
        Engine::Snowflake => format!("\nCOMMENT = {meaning};"),
        Engine::Spark => format!("\nUSING PARQUET\nCOMMENT {meaning};"),
    };
    format!("CREATE TABLE IF NOT EXISTS {} (\n{}\n){end}", table.name, lines.join(",\n"))
}

/// What marks `result_id` as the key. An engine that would not enforce it has none, so that no query relies on it.
fn engine_key(engine: Engine) -> &'static str {
    match engine {
        Engine::Duckdb | Engine::Postgres => " PRIMARY KEY",
        Engine::Bigquery | Engine::Snowflake | Engine::Spark => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::{ResultForm, answers_schema, failures_schema, pending_schema, results_schema, skipped_schema};

    fn table(columns: Vec<Column>, meanings: &[(&str, &str)]) -> NewTable {
        NewTable {
            name: "results_x".to_owned(),
            kind: DatasetKind::Results,
            schema: Schema { columns },
            meaning: "Answers.".to_owned(),
            own_meanings: meanings.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        }
    }

    fn column(name: &str, kind: Kind, nullable: bool) -> Column {
        Column { name: name.to_owned(), kind, nullable }
    }

    #[test]
    fn reserved_words_are_quoted_and_texts_are_escaped_for_each_engine() {
        let columns = vec![column("offset", Kind::Date, true)];
        let table = table(columns, &[("offset", "Input column `it's \\ \n`.")]);
        let found = |engine| create_table(engine, &table);
        let spark = found(Engine::Spark);
        assert!(spark.contains("`offset` DATE COMMENT 'Input column `it\\'s \\\\ \\\\n`.'"), "{spark}");
        let bigquery = found(Engine::Bigquery);
        assert!(bigquery.contains("`offset` DATE OPTIONS (description = 'Input column `it\\'s \\\\ \\\\n`.')"));
        let snowflake = found(Engine::Snowflake);
        assert!(snowflake.contains("\"OFFSET\" DATE COMMENT 'Input column `it''s \\\\ \\\\n`.'"), "{snowflake}");
        for engine in [Engine::Duckdb, Engine::Postgres] {
            let statement = "COMMENT ON COLUMN results_x.\"offset\" IS 'Input column `it''s \\ \\n`.';";
            assert!(found(engine).contains(statement), "{}", found(engine));
        }
    }

    #[test]
    fn every_fixed_column_has_a_meaning_in_plain_text() {
        for (kind, schema) in [
            (DatasetKind::Results, results_schema(&[], &[], &[], ResultForm::default()).unwrap()),
            (DatasetKind::Answers, answers_schema()),
            (DatasetKind::Failures, failures_schema()),
            (DatasetKind::Pending, pending_schema()),
            (DatasetKind::Skipped, skipped_schema()),
        ] {
            for column in schema.columns {
                let meaning = meaning::of(kind, &column.name).unwrap_or_else(|| panic!("{kind:?}: {}", column.name));
                assert!(
                    meaning.ends_with('.') && !meaning.contains('`') && !meaning.contains("]("),
                    "{}: {meaning}",
                    column.name
                );
            }
        }
        assert_eq!(meaning::of(DatasetKind::Skipped, "verdict"), None);
    }

    #[test]
    fn an_unknown_engine_is_answered_with_the_known_ones() {
        let expected = "expected one of `duckdb`, `postgres`, `bigquery`, `snowflake`, `spark`, found `mysql`";
        assert_eq!("mysql".parse::<Engine>().unwrap_err(), expected);
        assert!(Engine::ALL.iter().all(|engine| engine.as_str().parse() == Ok(*engine)));
    }
}
