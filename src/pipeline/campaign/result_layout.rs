//! The columns of a check's results. Their names and types are fixed at its first use and recorded in the ledger. Where
//! the values are in an answer is not part of the layout: the rules say that, and they can be corrected at any time.

use super::{
    Campaign,
    carried::{self, Carried, expected_names},
};
use crate::{
    catalogue::{AnswerSpec, ColumnKind, ColumnSpec, Declaration},
    error::Error,
    ledger::{CheckUseRow, LedgerError},
    mapping::CheckUse,
    sink::{self, OutputFormat, Schema},
};
use serde::{Deserialize, Serialize};

/// The layout of a check's results, fixed at its first use and recorded in the ledger. A ledger of an older release
/// records more about each column, which is ignored here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultLayout {
    /// The format of all parts of the campaign. With two formats, every glob would miss some of the parts.
    pub format: OutputFormat,
    #[serde(deserialize_with = "carried::list")]
    pub carry: Vec<Carried>,
    pub columns: Vec<NamedColumn>,
    /// The names of the values that rows expect in the answer, in column order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expects: Vec<String>,
}

/// A column of the check, by name and type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedColumn {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ColumnKind,
}

/// The names and types of the columns of a declaration.
pub fn named_columns(declaration: &Declaration) -> Vec<NamedColumn> {
    let named = |column: &ColumnSpec| NamedColumn { name: column.name.clone(), kind: column.kind };
    declaration.answer.columns.iter().map(named).collect()
}

/// Refuses a campaign whose outputs would have two columns of one name, before anything is opened.
///
/// # Errors
/// Two columns have the same name.
pub fn check_layouts(campaign: &Campaign) -> Result<(), Error> {
    campaign.uses.iter().try_for_each(|one| ResultLayout::new(campaign, one)?.schema().map(|_| ()))
}

impl ResultLayout {
    /// The layout of a check as its declaration has it now.
    ///
    /// # Errors
    /// There is no such check.
    pub fn new(campaign: &Campaign, one: &CheckUse) -> Result<ResultLayout, Error> {
        let declaration = campaign.catalogue.get(&one.check)?;
        Ok(ResultLayout {
            format: campaign.format,
            carry: campaign.carry.clone(),
            columns: named_columns(declaration),
            expects: expected_names(declaration, &one.expect),
        })
    }

    /// The layout that the ledger records for a check.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(row: &CheckUseRow) -> Result<ResultLayout, Error> {
        let damaged = |error| LedgerError::Damaged(format!("the layout of a check: {error}"));
        Ok(serde_json::from_str(&row.layout).map_err(damaged)?)
    }

    /// The columns of the results.
    ///
    /// # Errors
    /// Two columns have the same name.
    pub fn schema(&self) -> Result<Schema, Error> {
        let names: Vec<String> = self.carry.iter().map(|one| one.name().to_owned()).collect();
        Ok(sink::results_schema(&names, &self.columns_of(&AnswerSpec::default()), &self.expects)?)
    }

    /// The columns of the layout with the places that `answer` declares. A column that it does not declare is always
    /// null, and a column that the layout does not have is left out.
    pub fn columns_of(&self, answer: &AnswerSpec) -> Vec<ColumnSpec> {
        let column = |named: &NamedColumn| {
            let declared = answer.columns.iter().find(|column| column.name == named.name).cloned();
            let nowhere = || ColumnSpec {
                name: named.name.clone(),
                pointers: Vec::new(),
                kind: named.kind,
                assumed: false,
                image: false,
                expect: None,
            };
            ColumnSpec { kind: named.kind, ..declared.unwrap_or_else(nowhere) }
        };
        self.columns.iter().map(column).collect()
    }

    /// The text to record for this layout, if `recorded` is what the ledger has. The columns of a built-in check may
    /// differ from those of the release that began the campaign: then the recorded ones stay. A declaration of the user
    /// must have the recorded columns.
    ///
    /// # Errors
    /// The format, the carried columns, the expectations, or the columns of the user's declaration differ.
    pub fn agreed(&self, recorded: Option<&CheckUseRow>, is_built_in: bool) -> Result<String, Error> {
        let Some(row) = recorded else {
            return serde_json::to_string(self).map_err(|error| Error::Internal(error.to_string()));
        };
        let known = ResultLayout::of(row)?;
        let differs = if known.format != self.format {
            format!("the format was {} and is now {}", known.format, self.format)
        } else if known.carry != self.carry {
            "the carried columns".to_owned()
        } else if known.expects != self.expects {
            "the expectations".to_owned()
        } else if known.columns != self.columns && !is_built_in {
            known.differing(self)
        } else {
            return Ok(row.layout.clone());
        };
        Err(LedgerError::Layout { check: row.name.clone(), differs }.into())
    }

    /// The first column that differs in another layout.
    fn differing(&self, other: &ResultLayout) -> String {
        let kind = |columns: &[NamedColumn], name: &str| {
            columns.iter().find(|column| column.name == name).map(|column| column.kind)
        };
        for NamedColumn { name, kind: was } in &self.columns {
            match kind(&other.columns, name) {
                None => return format!("the column `{name}` is missing now"),
                Some(is) if is != *was => {
                    return format!("the column `{name}` had the type {} and has {} now", was.as_str(), is.as_str());
                }
                Some(_) => {}
            }
        }
        match other.columns.iter().find(|column| kind(&self.columns, &column.name).is_none()) {
            Some(NamedColumn { name, .. }) => format!("the column `{name}` is new"),
            None => "the order of the columns".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(columns: &[(&str, ColumnKind)]) -> ResultLayout {
        let named = |(name, kind): &(&str, ColumnKind)| NamedColumn { name: (*name).to_owned(), kind: *kind };
        let columns = columns.iter().map(named).collect();
        ResultLayout { format: OutputFormat::Parquet, carry: Vec::new(), columns, expects: Vec::new() }
    }

    fn row(layout: &str) -> CheckUseRow {
        CheckUseRow { name: "aml".to_owned(), check: "aml-screening".to_owned(), layout: layout.to_owned() }
    }

    /// As a release before version 7 of the ledger recorded it.
    const OLDER: &str = r#"{"format":"parquet","carry":[],"columns":[{"name":"day","pointers":["/d"],"type":"text",
        "assumed":true}],"payload":["/results"]}"#;

    #[test]
    fn a_layout_of_an_older_release_still_opens_and_keeps_its_types() {
        let new = layout(&[("day", ColumnKind::Date), ("more", ColumnKind::Text)]);
        assert_eq!(new.agreed(Some(&row(OLDER)), true).unwrap(), OLDER);
        assert_eq!(ResultLayout::of(&row(OLDER)).unwrap(), layout(&[("day", ColumnKind::Text)]));
    }

    #[test]
    fn a_declaration_of_the_user_keeps_names_types_and_order() {
        let known = layout(&[("a", ColumnKind::Text), ("b", ColumnKind::Date)]);
        let text = known.agreed(None, false).unwrap();
        assert_eq!(known.agreed(Some(&row(&text)), false).unwrap(), text);
        for (columns, differs) in [
            (vec![("a", ColumnKind::Text)], "the column `b` is missing now"),
            (vec![("a", ColumnKind::Integer), ("b", ColumnKind::Date)], "`a` had the type text and has integer now"),
            (vec![("a", ColumnKind::Text), ("b", ColumnKind::Date), ("c", ColumnKind::Text)], "the column `c` is new"),
            (vec![("b", ColumnKind::Date), ("a", ColumnKind::Text)], "the order of the columns"),
        ] {
            let error = layout(&columns).agreed(Some(&row(&text)), false).unwrap_err().to_string();
            assert!(error.contains(differs), "{error}");
        }
    }
}
