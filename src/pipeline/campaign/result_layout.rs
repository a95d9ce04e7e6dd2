//! The columns of a check's results. They are fixed at its first use and recorded in the ledger.

use crate::{
    catalogue::ColumnSpec,
    error::Error,
    sink::{self, OutputFormat, Schema},
};
use serde::{Deserialize, Serialize};

/// The layout of a check's results, fixed at its first use and recorded in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultLayout {
    /// The format of all parts of the campaign. With two formats, every glob would miss some of the parts.
    pub format: OutputFormat,
    pub carry: Vec<String>,
    pub columns: Vec<ColumnSpec>,
    /// JSON pointers to the part of an answer that the columns are read from.
    pub payload: Vec<String>,
    /// The names of the values that rows expect in the answer, in column order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expects: Vec<String>,
}

impl ResultLayout {
    /// The columns of the results.
    ///
    /// # Errors
    /// Two columns have the same name.
    pub fn schema(&self) -> Result<Schema, Error> {
        Ok(sink::results_schema(&self.carry, &self.columns, &self.expects)?)
    }

    /// The columns for which rows expect a value.
    pub fn expected(&self) -> impl Iterator<Item = (&str, &ColumnSpec)> {
        self.expects.iter().filter_map(|name| {
            let named = |column: &&ColumnSpec| column.expect.as_ref().is_some_and(|expect| expect.name == *name);
            Some((name.as_str(), self.columns.iter().find(named)?))
        })
    }
}
