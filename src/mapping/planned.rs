//! A mapping before it is bound to the columns of a source: each check with the compiled sources of its fields.

use crate::{
    catalogue::{Declaration, FieldSpec},
    files::Root,
    model::{KeySecret, Mode},
    template::{Condition, Nulls, Template},
};
use serde_json::Value;
use std::sync::Arc;

/// The mapping of a campaign: every check with the sources of its fields, not yet bound to the columns of a source.
#[derive(Debug, Clone)]
pub struct Mapping {
    pub(super) frame: Arc<Frame>,
    pub(super) checks: Vec<PlannedCheck>,
    /// The column names come from the user or are numbered, not from a line of a file, so messages may repeat them.
    pub(super) named_by_user: bool,
}

/// What all asks of the campaign share.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) campaign: String,
    pub(super) mode: Mode,
    pub(super) key_secret: Option<KeySecret>,
    pub(super) nulls: Arc<Nulls>,
    /// The folder below which rows name files.
    pub(super) files_root: Option<Arc<Root>>,
    pub(super) body_bytes_max: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct PlannedCheck {
    /// The check's name in the campaign.
    pub(super) name: String,
    pub(super) declaration: Arc<Declaration>,
    pub(super) when: Option<(Arc<Condition>, String)>,
    /// In the order of the declaration; `None` is matched by name.
    pub(super) sources: Vec<Option<Source>>,
    /// In the order of the declaration.
    pub(super) expects: Vec<(Arc<FieldSpec>, Source)>,
}

/// A field's source, compiled.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Column(String),
    Template(Arc<Template>),
    /// As it will be sent.
    Constant(Value),
}

/// Whether rows are cells under a header or JSON objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowShape {
    Flat,
    Nested,
}
