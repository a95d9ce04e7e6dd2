//! The columns of a check's results beside the fixed ones of `sink/datasets.rs`, which orders them. Their names and types are fixed at its first use and recorded in the ledger. Where
//! the values are in an answer is not part of the layout: the rules say that, and they can be corrected at any time.

use super::{
    Campaign,
    carried::{self, Carried, expected_names},
};
use crate::{
    catalogue::{AnswerSpec, ColumnKind, ColumnSpec, Declaration, DeclaredCheck, DigestSpec},
    error::Error,
    ledger::{CheckUseRow, LedgerError, Reading},
    mapping::CheckUse,
    model::value_kind::ValueKind,
    sink::{self, AnswerOutput, Kind, OutputFormat, ResultForm, Schema},
};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The layout of a check's results, fixed at its first use and recorded in the ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultLayout {
    /// The format of all parts of the campaign. With two formats, every glob would miss some of the parts.
    pub format: OutputFormat,
    #[serde(deserialize_with = "carried::list")]
    pub carry: Vec<Carried>,
    pub columns: Vec<NamedColumn>,
    /// The names of the values that rows expect in the answer, in column order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expects: Vec<String>,
    /// How the digests of the answers are made.
    pub digest: DigestSpec,
    /// Where the answers are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answer: AnswerOutput,
    /// The results have no column for what was sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without_sent: bool,
    /// The results have a column for the decisions about matches.
    #[serde(default, skip_serializing_if = "is_default")]
    pub decisions: bool,
    /// The results have a column for the campaign whose answer is used again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reused_from: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
            digest: declaration.answer.digest_spec(),
            answer: campaign.answer,
            without_sent: !campaign.sent,
            decisions: declaration.answer.matches.is_some(),
            reused_from: true,
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
        let carry: Vec<(String, Kind)> = self
            .carry
            .iter()
            .filter(|one| !one.is_all())
            .map(|one| (one.name().to_owned(), kind_of(one.kind())))
            .collect();
        Ok(sink::results_schema(&carry, &self.columns_of(&AnswerSpec::default()), &self.expects, self.form())?)
    }

    /// The same layout with all columns. The digests are made by these rules.
    pub fn with_all_columns(self, digest: DigestSpec, decisions: bool) -> ResultLayout {
        ResultLayout { digest, answer: AnswerOutput::Column, without_sent: false, decisions, reused_from: true, ..self }
    }

    /// What the results have beside the columns of the check.
    pub fn form(&self) -> ResultForm {
        ResultForm {
            sent: !self.without_sent,
            answer: self.answer == AnswerOutput::Column,
            decisions: self.decisions,
            reused_from: self.reused_from,
        }
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
    /// The format, the place of the answers, the carried columns, the expectations, or the columns of the user's declaration differ.
    pub fn agreed(&self, recorded: Option<&CheckUseRow>, is_built_in: bool) -> Result<String, Error> {
        let Some(row) = recorded else {
            return serde_json::to_string(self).map_err(|error| Error::Internal(error.to_string()));
        };
        let known = ResultLayout::of(row)?;
        let differs = if known.format != self.format {
            format!("the format was {} and is now {}", known.format, self.format)
        } else if known.answer != self.answer {
            format!("`answer` of [output] was \"{}\" and is now \"{}\"", known.answer.as_str(), self.answer.as_str())
        } else if known.without_sent != self.without_sent {
            format!("`sent` of [output] was {} and is now {}", !known.without_sent, !self.without_sent)
        } else if let Some(differs) = known.carries_differently(&self.carry) {
            differs
        } else if known.expects != self.expects {
            "the expectations".to_owned()
        } else if known.columns != self.columns && !is_built_in {
            known.differing(self)
        } else if known.compares_differently(self) && !is_built_in {
            "what is compared of an answer (`compared` and `volatile` of the declaration)".to_owned()
        } else {
            return Ok(row.layout.clone());
        };
        Err(LedgerError::Layout { check: row.name.clone(), differs }.into())
    }

    /// How other carried columns differ from those of this layout.
    fn carries_differently(&self, carry: &[Carried]) -> Option<String> {
        let retyped = self
            .carry
            .iter()
            .zip(carry)
            .find(|(known, now)| !now.agrees(known) && Carried { kind: None, ..Carried::clone(now) }.agrees(known));
        if let Some((known, now)) = retyped {
            let [was, is] = [known, now].map(|one| one.kind().as_str());
            return Some(format!("the carried column `{}` had the type {was} and has {is} now", now.column));
        }
        let is_same =
            self.carry.len() == carry.len() && carry.iter().zip(&self.carry).all(|(now, known)| now.agrees(known));
        (!is_same).then(|| "the carried columns".to_owned())
    }

    /// Whether another layout compares other parts of an answer. Where the payload is may be corrected at any time.
    fn compares_differently(&self, other: &ResultLayout) -> bool {
        let parts = |digest: &DigestSpec| [digest.compared.clone(), digest.volatile.clone()];
        parts(&self.digest) != parts(&other.digest)
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

/// The type of a carried column in the results.
fn kind_of(kind: ValueKind) -> Kind {
    match kind {
        ValueKind::Text => Kind::Text,
        ValueKind::Integer => Kind::Integer,
        ValueKind::Number => Kind::Number,
        ValueKind::Boolean => Kind::Boolean,
    }
}

/// Gives the carried columns of a campaign the types that the ledger records. All columns are those that the first run
/// found.
///
/// # Errors
/// The ledger cannot be read.
pub fn as_recorded(mut carry: Vec<Carried>, ledger: &Reading) -> Result<Vec<Carried>, Error> {
    let Some(row) = ledger.check_uses()?.into_values().next() else { return Ok(carry) };
    let recorded = ResultLayout::of(&row)?.carry;
    if carry.iter().any(Carried::is_all) && !recorded.is_empty() {
        return Ok(recorded);
    }
    for (one, known) in carry.iter_mut().zip(recorded) {
        if one.agrees(&known) {
            one.kind = Some(known.kind());
        }
    }
    Ok(carry)
}

/// The names of the columns that the results have without carried ones.
///
/// # Errors
/// A check is not in the catalogue.
pub fn own_columns(campaign: &Campaign) -> Result<HashSet<String>, Error> {
    let mut names = HashSet::new();
    for one in &campaign.uses {
        let layout = ResultLayout { carry: Vec::new(), ..ResultLayout::new(campaign, one)? };
        names.extend(layout.schema()?.columns.into_iter().map(|column| column.name));
    }
    Ok(names)
}

/// The checks of a campaign as the ledger records them.
///
/// # Errors
/// A check would have another layout than the ledger records.
pub fn agreed_uses(campaign: &Campaign, ledger: &Reading) -> Result<Vec<CheckUseRow>, Error> {
    let recorded = ledger.check_uses()?;
    let row = |one: &CheckUse| {
        let declaration = campaign.catalogue.get(&one.check)?;
        let layout = ResultLayout::new(campaign, one)?;
        layout.schema()?;
        let known = recorded.values().find(|row| row.name == one.name());
        let layout = layout.agreed(known, DeclaredCheck::of(declaration).is_none())?;
        Ok(CheckUseRow { name: one.name().to_owned(), check: one.check.clone(), layout })
    };
    campaign.uses.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(columns: &[(&str, ColumnKind)]) -> ResultLayout {
        let named = |(name, kind): &(&str, ColumnKind)| NamedColumn { name: (*name).to_owned(), kind: *kind };
        let columns = columns.iter().map(named).collect();
        let digest = DigestSpec { compared: vec!["/match".to_owned()], ..DigestSpec::default() };
        ResultLayout { columns, digest, ..ResultLayout::default() }
    }

    fn row(layout: &str) -> CheckUseRow {
        CheckUseRow { name: "aml".to_owned(), check: "aml-screening".to_owned(), layout: layout.to_owned() }
    }

    #[test]
    fn a_declaration_of_the_user_keeps_what_is_compared_and_may_correct_the_payload() {
        let known = layout(&[("a", ColumnKind::Text)]);
        let text = known.agreed(None, false).unwrap();
        let other = |digest| ResultLayout { digest, ..layout(&[("a", ColumnKind::Text)]) };
        let corrected = DigestSpec { payload: vec!["/results".to_owned()], ..known.digest.clone() };
        assert_eq!(other(corrected).agreed(Some(&row(&text)), false).unwrap(), text);
        let error = other(DigestSpec::default()).agreed(Some(&row(&text)), false).unwrap_err().to_string();
        assert!(error.contains("what is compared of an answer"), "{error}");
        assert_eq!(other(DigestSpec::default()).agreed(Some(&row(&text)), true).unwrap(), text);
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
