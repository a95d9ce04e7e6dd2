//! The columns of a check's results, fixed at its first use and kept in the ledger.

use crate::{
    catalogue::ColumnSpec,
    error::Error,
    sink::{self, OutputFormat, Schema},
};
use serde::{Deserialize, Serialize};

/// The shape of a check's results, fixed at its first use and kept in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultLayout {
    /// One campaign, one format: half of the parts in another would be missing from every glob.
    pub format: OutputFormat,
    pub carry: Vec<String>,
    pub columns: Vec<ColumnSpec>,
    /// JSON pointers to the part of an answer the columns read.
    pub payload: Vec<String>,
    /// What rows expect of the answer, by name, in the order of the columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expects: Vec<String>,
}

impl ResultLayout {
    /// The columns of the results.
    ///
    /// # Errors
    /// Two columns of one name.
    pub fn schema(&self) -> Result<Schema, Error> {
        Ok(sink::results_schema(&self.carry, &self.columns, &self.expects)?)
    }

    /// The columns that rows expect something of.
    pub fn expected(&self) -> impl Iterator<Item = (&str, &ColumnSpec)> {
        self.expects.iter().filter_map(|name| {
            let named = |column: &&ColumnSpec| column.expect.as_ref().is_some_and(|expect| expect.name == *name);
            Some((name.as_str(), self.columns.iter().find(named)?))
        })
    }
}
