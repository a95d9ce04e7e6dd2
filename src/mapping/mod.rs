//! Mapping: turns a row into requests. The fields of a check are filled from columns, templates and constants. The
//! result is the exact body of a request and its key, or the reason why there is no request.
//!
//! It distinguishes mistakes in the configuration ([`MappingError`], which stops the run before anything is sent) from
//! failures of one row ([`Failure`](crate::model::Failure), which is written to an output).
//!
//! A `when` that a missing value cannot satisfy (`status == 'active'`) skips the ask and costs nothing. A `when` whose
//! result depends on a missing value (`joined < '2020'`, `status | upper == 'X'`) is a failure; see the table in
//! [`crate::template`].

mod ask;
mod attach;
mod bind;
mod error;
mod expect;
mod feed;
mod fill;
mod matching;
mod path;
mod planned;
mod shown_columns;
#[cfg(test)]
#[path = "mapping_tests.rs"]
mod tests;

pub use ask::{AskRequest, Mapped};
pub use bind::{Bound, FieldFeed, UnmappedColumns, both};
pub use error::MappingError;
pub use feed::FieldSource;
pub use fill::FieldValue;
pub use path::{column_expression, is_word, path_expression};
pub use planned::Mapping;
pub use shown_columns::ShownColumns;

use crate::{
    catalogue::{Catalogue, FieldSpec},
    files::Root,
    model::{KeySecret, Mode, nearest::hint},
    template::{Nulls, Tables, Templates},
};
use planned::{Frame, PlannedCheck, RowShape, Source};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// One use of a check in a campaign.
#[derive(Debug, Clone, Default)]
pub struct CheckUse {
    /// The check's name in the catalogue.
    pub check: String,
    /// Its name in the campaign; by default the name in the catalogue.
    pub name: Option<String>,
    /// The condition for the rows to check; by default all rows.
    pub when: Option<String>,
    /// The source of each field. Fields not listed here are matched with columns by name and synonym.
    pub fields: BTreeMap<String, FieldSource>,
    /// What rows expect of the answer, by the names of the expectations in the declaration.
    pub expect: BTreeMap<String, FieldSource>,
}

impl CheckUse {
    /// The check's name in the campaign.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.check)
    }
}

/// Options for all checks of a campaign.
#[derive(Debug, Clone)]
pub struct MappingOptions {
    pub campaign: String,
    pub mode: Mode,
    pub key_secret: Option<KeySecret>,
    /// Texts that mean null.
    pub null: Vec<String>,
    /// The same for single columns, instead of `null`.
    pub null_in: BTreeMap<String, Vec<String>>,
    pub tables: Tables,
    /// The folder below which rows name files.
    pub files_root: Option<Arc<Root>>,
    /// The most bytes of all files in one request.
    pub body_bytes_max: Option<u64>,
}

impl MappingOptions {
    /// Options without a secret and tables, in which only the empty text is null.
    pub fn new(campaign: impl Into<String>, mode: Mode) -> MappingOptions {
        MappingOptions {
            campaign: campaign.into(),
            mode,
            key_secret: None,
            null: vec![String::new()],
            null_in: BTreeMap::new(),
            tables: Tables::default(),
            files_root: None,
            body_bytes_max: None,
        }
    }
}

impl Mapping {
    /// Compiles templates, and checks names and constants. Columns are checked by [`Mapping::bind`].
    pub fn new(catalogue: &Catalogue, uses: &[CheckUse], options: MappingOptions) -> Result<Mapping, MappingError> {
        let templates = Templates::new(options.tables);
        let mut checks: Vec<PlannedCheck> = Vec::with_capacity(uses.len());
        for check_use in uses {
            let planned = plan(catalogue, check_use, &templates)?;
            if checks.iter().any(|check| check.name == planned.name) {
                return Err(MappingError::DuplicateName { name: planned.name });
            }
            checks.push(planned);
        }
        let frame = Frame {
            campaign: options.campaign,
            mode: options.mode,
            key_secret: options.key_secret,
            nulls: Arc::new(Nulls::new(options.null, options.null_in)),
            files_root: options.files_root,
            body_bytes_max: options.body_bytes_max,
        };
        Ok(Mapping { frame: Arc::new(frame), checks, named_by_user: false })
    }

    /// The same mapping for sources without a header line, whose columns are named by the user or numbered.
    pub fn without_header_line(self) -> Mapping {
        Mapping { named_by_user: true, ..self }
    }

    /// The columns of a header, as messages may show them.
    pub fn shown<'a>(&self, header: &'a [String]) -> ShownColumns<'a> {
        ShownColumns::new(self, header, RowShape::Flat)
    }

    /// The keys of the first JSON row, as messages may show them.
    pub fn shown_nested<'a>(&self, first_row_keys: &'a [String]) -> ShownColumns<'a> {
        ShownColumns::new(self, first_row_keys, RowShape::Nested)
    }

    /// Binds to a source with a header: columns become indexes, and an unknown name is an error.
    pub fn bind(&self, header: &[String]) -> Result<Bound, MappingError> {
        bind::bind(self, header, RowShape::Flat)
    }

    /// Binds to a source of JSON objects, given the keys of its first row. They are matched by name like a header; a
    /// key that a row lacks is a missing value in that row.
    pub fn bind_nested(&self, first_row_keys: &[String]) -> Result<Bound, MappingError> {
        bind::bind(self, first_row_keys, RowShape::Nested)
    }
}

fn plan(catalogue: &Catalogue, check_use: &CheckUse, templates: &Templates) -> Result<PlannedCheck, MappingError> {
    let declaration = catalogue.get(&check_use.check)?;
    let name = check_use.name.clone().unwrap_or_else(|| declaration.name.clone());
    let known = || declaration.fields.iter().map(|field| field.name.as_str());
    if let Some(unknown) = check_use.fields.keys().find(|field| !known().any(|name| name == *field)) {
        let hint = hint(unknown, known());
        return Err(MappingError::UnknownField { check: name, field: unknown.clone(), hint });
    }
    let misplaced = |place: String| {
        let check = name.clone();
        move |fault| MappingError::Template { check, place, fault }
    };
    let mut when = None;
    if let Some(text) = &check_use.when {
        let condition = templates.condition(text).map_err(misplaced("when".to_owned()))?;
        when = Some((Arc::new(condition), text.clone()));
    }
    let source = |field: &FieldSpec, source: &FieldSource| match source {
        FieldSource::Column(column) => Ok(Source::Column(column.clone())),
        FieldSource::Template(text) => {
            let template = templates.compile(text).map_err(misplaced(format!("field `{}`", field.name)))?;
            Ok(Source::Template(Arc::new(template)))
        }
        FieldSource::Constant(value) => {
            let refused = |fault| MappingError::Constant { check: name.clone(), field: field.name.clone(), fault };
            constant(field, value).map(Source::Constant).map_err(refused)
        }
    };
    let mut sources = Vec::with_capacity(declaration.fields.len());
    for field in &declaration.fields {
        sources.push(check_use.fields.get(&field.name).map(|given| source(field, given)).transpose()?);
    }
    let mut expects = Vec::with_capacity(check_use.expect.len());
    for field in expect::fields(declaration, &name, &check_use.expect)? {
        let given = &check_use.expect[expect::name_of(&field)];
        expects.push((Arc::new(field.clone()), source(&field, given)?));
    }
    Ok(PlannedCheck { name, declaration: Arc::new(declaration.clone()), when, sources, expects })
}

/// A constant as it will be sent, or why it is refused.
fn constant(field: &FieldSpec, value: &Value) -> Result<Value, String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.trim().is_empty() {
        return Err("expected a value, found none".to_owned());
    }
    field.accept(&text).map(|accepted| accepted.value).map_err(|refusal| refusal.message)
}
