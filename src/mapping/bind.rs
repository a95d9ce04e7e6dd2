//! Binding: resolves a mapping against the columns of a source, once, so that rows are read by index and a wrong name
//! is found before anything is sent. It decides what feeds each field of each check.

use super::{
    error::MappingError,
    matching::{Match, fold, match_column},
    path::{column_expression, path_expression},
    planned::{Frame, Mapping, PlannedCheck, RowShape, Source},
    shown_columns::ShownColumns,
};
use crate::{
    catalogue::{Declaration, FieldRule, FieldSpec},
    model::{
        field::{FieldKind, tidy},
        row::{find_column, find_two_columns},
    },
    template::{Condition, Template},
};
use serde_json::Value;
use std::sync::Arc;

/// A mapping bound to one source.
#[derive(Debug, Clone)]
pub struct Bound {
    pub(super) frame: Arc<Frame>,
    pub(super) checks: Vec<BoundCheck>,
}

/// What feeds a field, as text for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFeed {
    /// The check's name in the campaign.
    pub check_name: String,
    pub field: String,
    /// Such as ``column `Customer Name` ``, `template`, `constant 0` or `default "all"`.
    pub from: String,
    /// Whether the column was matched by its name, because the user set no source.
    pub by_name: bool,
    /// The index of the check and of the field in its declaration, if a column or a template fills a field that is sent.
    pub of_row: Option<(usize, usize)>,
}

/// Columns that have the name of an optional field of a check, and that the user did not map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmappedColumns {
    /// The check's name in the campaign.
    pub check_name: String,
    /// Field and column.
    pub columns: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub(super) struct BoundCheck {
    pub name: String,
    pub declaration: Arc<Declaration>,
    pub when: Option<(Arc<Condition>, String)>,
    /// In the order of the declaration.
    pub fields: Vec<BoundField>,
    pub expects: Vec<(Arc<FieldSpec>, BoundField)>,
    /// Optional fields that are not mapped, and columns of the same name.
    pub unmapped: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub(super) struct BoundField {
    pub feed: BoundFeed,
    pub by_name: bool,
}

#[derive(Debug, Clone)]
pub(super) enum BoundFeed {
    Column {
        name: String,
        /// The index in the header; `None` for JSON rows, which are looked up by key.
        place: Option<usize>,
        /// The texts that mean null in this column.
        nulls: Vec<String>,
    },
    Template(Arc<Template>),
    Constant(Value),
    /// The default in the declaration, or nothing.
    Unmapped,
}

impl BoundFeed {
    /// Whether the row decides the value.
    pub(super) fn is_of_row(&self) -> bool {
        matches!(self, BoundFeed::Column { .. } | BoundFeed::Template(_))
    }
}

impl Bound {
    /// The columns of each check that have the name of an optional field and are not mapped. Optional fields are never
    /// matched by name, because they change what is asked and paid for.
    pub fn unmapped_columns(&self) -> Vec<UnmappedColumns> {
        let checks = self.checks.iter().filter(|check| !check.unmapped.is_empty());
        let of_check =
            |check: &BoundCheck| UnmappedColumns { check_name: check.name.clone(), columns: check.unmapped.clone() };
        checks.map(of_check).collect()
    }

    /// What feeds each field, in order. Fields that are not sent are left out.
    pub fn feeds(&self) -> Vec<FieldFeed> {
        let mut feeds = Vec::new();
        for (check_index, check) in self.checks.iter().enumerate() {
            let expected = check.expects.iter().map(|(spec, field)| (None, &**spec, field));
            let fields = check.declaration.fields.iter().zip(&check.fields).enumerate();
            let fields = fields.map(|(at, (spec, field))| (Some((check_index, at)), spec, field));
            for (place, spec, field) in fields.chain(expected) {
                let from = match (&field.feed, &spec.default) {
                    // A column name may span several lines.
                    (BoundFeed::Column { name, .. }, _) => format!("column `{}`", tidy(name)),
                    (BoundFeed::Template(_), _) => "template".to_owned(),
                    (BoundFeed::Constant(value), _) => format!("constant {value}"),
                    (BoundFeed::Unmapped, Some(default)) => format!("default {default}"),
                    (BoundFeed::Unmapped, None) => continue,
                };
                let (check_name, field_name) = (check.name.clone(), spec.name.clone());
                let of_row = place.filter(|_| field.feed.is_of_row());
                feeds.push(FieldFeed { check_name, field: field_name, from, by_name: field.by_name, of_row });
            }
        }
        feeds
    }
}

pub(super) fn bind(mapping: &Mapping, columns: &[String], shape: RowShape) -> Result<Bound, MappingError> {
    let several = mapping.checks.len() > 1;
    let shown = ShownColumns::new(mapping, columns, shape);
    let binder = Binder { frame: &mapping.frame, columns, shown, shape, several };
    let checks = mapping.checks.iter().map(|check| binder.check(check)).collect::<Result<_, _>>()?;
    Ok(Bound { frame: mapping.frame.clone(), checks })
}

/// How the user named a column.
#[derive(Debug, Clone, Copy)]
enum NamedBy {
    Setting,
    Template,
}

/// The first name of a path such as `names[0].full`; `None` for a single name.
fn root_of(column: &str) -> Option<&str> {
    let end = column.find(['.', '['])?;
    (end > 0).then(|| &column[..end])
}

/// Two columns with nearly the same name, by place and name.
pub fn both((first, one): (usize, &str), (second, other): (usize, &str)) -> String {
    format!("columns {} (`{}`) and {} (`{}`)", first + 1, tidy(one), second + 1, tidy(other))
}

struct Binder<'a> {
    frame: &'a Frame,
    columns: &'a [String],
    /// The columns, as messages may show them.
    shown: ShownColumns<'a>,
    shape: RowShape,
    /// Whether a flag must name its check.
    several: bool,
}

impl Binder<'_> {
    fn check(&self, planned: &PlannedCheck) -> Result<BoundCheck, MappingError> {
        if let Some((condition, _)) = &planned.when {
            self.know_all(condition.columns().iter(), &planned.name, "when", NamedBy::Template)?;
        }
        let mut fields = Vec::with_capacity(planned.sources.len());
        for (spec, source) in planned.declaration.fields.iter().zip(&planned.sources) {
            let field = self.field(&planned.name, spec, source.as_ref())?;
            let is_fed = !matches!(field.feed, BoundFeed::Unmapped);
            if is_fed && spec.kind.file().is_some() && self.frame.files_root.is_none() {
                return Err(MappingError::NoFilesRoot { check: planned.name.clone(), field: spec.name.clone() });
            }
            fields.push(field);
        }
        self.check_one_of(planned, &fields)?;
        let expects = planned.expects.iter().map(|(spec, source)| {
            let field = self.field(&planned.name, spec, Some(source))?;
            Ok((Arc::clone(spec), field))
        });
        Ok(BoundCheck {
            unmapped: self.unmapped(planned, &fields),
            expects: expects.collect::<Result<_, MappingError>>()?,
            name: planned.name.clone(),
            declaration: planned.declaration.clone(),
            when: planned.when.clone(),
            fields,
        })
    }

    /// The optional fields that nothing fills, with a column of the same name that fills no other field.
    fn unmapped(&self, planned: &PlannedCheck, fields: &[BoundField]) -> Vec<(String, String)> {
        let is_used = |column: &str| {
            let name = |field: &BoundField| matches!(&field.feed, BoundFeed::Column { name, .. } if name == column);
            fields.iter().any(name)
        };
        let specs = planned.declaration.fields.iter().zip(fields);
        let unfilled = specs.filter(|(spec, field)| !spec.required && matches!(field.feed, BoundFeed::Unmapped));
        let own = |(spec, _): (&FieldSpec, _)| {
            let mut columns = self.columns.iter().filter(|column| fold(column) == fold(&spec.name));
            Some((spec.name.clone(), columns.find(|column| !is_used(column))?.clone()))
        };
        unfilled.filter_map(own).collect()
    }

    /// Refuses a check whose rule no row can satisfy, because nothing fills any field of the rule.
    fn check_one_of(&self, planned: &PlannedCheck, fields: &[BoundField]) -> Result<(), MappingError> {
        let is_filled = |name: &String| {
            let place = planned.declaration.fields.iter().position(|spec| spec.name == *name);
            place.is_some_and(|at| !matches!(fields[at].feed, BoundFeed::Unmapped))
        };
        for rule in &planned.declaration.rules {
            if let FieldRule::OneOf(names) = rule
                && !names.iter().any(is_filled)
            {
                return Err(MappingError::NoneOf {
                    check: planned.name.clone(),
                    fields: names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "),
                    known: self.shown.known(""),
                    flag: self.flag(&planned.name, &names[0], "COLUMN"),
                });
            }
        }
        Ok(())
    }

    fn field(&self, check: &str, spec: &FieldSpec, source: Option<&Source>) -> Result<BoundField, MappingError> {
        let place = format!("field `{}`", spec.name);
        let feed = match source {
            Some(Source::Constant(value)) => BoundFeed::Constant(value.clone()),
            Some(Source::Template(template)) => {
                self.know_all(template.columns().iter(), check, &place, NamedBy::Template)?;
                BoundFeed::Template(template.clone())
            }
            Some(Source::Column(column)) => {
                self.know_all([column], check, &place, NamedBy::Setting)?;
                self.column(column)
            }
            None => {
                let feed = self.matched(check, spec)?;
                let by_name = matches!(feed, BoundFeed::Column { .. });
                return Ok(BoundField { feed, by_name });
            }
        };
        Ok(BoundField { feed, by_name: false })
    }

    fn matched(&self, check: &str, spec: &FieldSpec) -> Result<BoundFeed, MappingError> {
        // An optional field changes what is asked and paid for: the user must map it.
        if !spec.required {
            return Ok(BoundFeed::Unmapped);
        }
        let (check, field) = (check.to_owned(), spec.name.clone());
        match match_column(spec, self.columns) {
            Match::Column(column) => Ok(self.column(column)),
            Match::Nothing if spec.default.is_some() => Ok(BoundFeed::Unmapped),
            Match::Ambiguous(first, second) => {
                let (flag, columns) = (self.flag(&check, &field, first), format!("`{first}` and `{second}`"));
                Err(MappingError::Ambiguous { check, field, columns, flag })
            }
            Match::Nothing => {
                let near = [spec.name.as_str()].into_iter().chain(spec.synonyms.iter().map(String::as_str));
                let hint = near.map(|name| self.shown.hint(name)).find(|hint| !hint.is_empty()).unwrap_or_default();
                let ways = self.ways(&check, spec);
                let doc = if spec.doc.is_empty() { String::new() } else { format!(" ({})", spec.doc) };
                let (field, known) = (format!("field `{field}`{doc}"), self.shown.known(&hint));
                Err(MappingError::NoSource { check, field, known, ways })
            }
        }
    }

    fn column(&self, name: &str) -> BoundFeed {
        let place = find_column(self.columns.iter().map(String::as_str), name);
        let name = place.map_or(name, |at| self.columns[at].as_str()).to_owned();
        let nulls = self.frame.nulls.of(&name).to_vec();
        BoundFeed::Column { name, place: place.filter(|_| self.shape == RowShape::Flat), nulls }
    }

    /// Refuses unknown columns, and names that several columns have. A header has all columns; the first JSON row may
    /// lack some.
    fn know_all<'b>(
        &self,
        named: impl IntoIterator<Item = &'b String>,
        check: &str,
        place: &str,
        by: NamedBy,
    ) -> Result<(), MappingError> {
        let names = || self.columns.iter().map(String::as_str);
        let (check, place) = (check.to_owned(), place.to_owned());
        for column in named {
            if let Some([first, second]) = find_two_columns(names(), column) {
                let columns = both(first, second);
                return Err(MappingError::TwoColumns { check, place, column: column.clone(), columns });
            }
            if find_column(names(), column).is_some() {
                continue;
            }
            if let (RowShape::Nested, NamedBy::Setting, Some(root)) = (self.shape, by, root_of(column))
                && find_column(names(), root).is_some()
            {
                let part = path_expression(column)
                    .map(|path| format!("; to read a part of `{root}`, write `{{{{ {path} }}}}`"));
                let known = format!(
                    "{}; if a column has this name, write `{{{{ {} }}}}`",
                    part.unwrap_or_default(),
                    column_expression(column)
                );
                return Err(MappingError::UnknownColumn { check, place, column: column.clone(), known });
            }
            if self.shape == RowShape::Flat {
                let hint = match by {
                    NamedBy::Setting => self.shown.hint(column),
                    NamedBy::Template => self.shown.hint_in_template(column),
                };
                let known = self.shown.known(&hint);
                return Err(MappingError::UnknownColumn { check, place, column: column.clone(), known });
            }
        }
        Ok(())
    }

    /// How to set a required field that nothing fills. If it has few values, or is a country, all rows may have the same
    /// one.
    fn ways(&self, check: &str, spec: &FieldSpec) -> String {
        let map = format!("`{}`", self.flag(check, &spec.name, "COLUMN"));
        let values = spec.closed_values();
        let (first, listed) = match (values.split_first(), spec.kind) {
            (Some((first, [])), _) => (first.as_str(), String::new()),
            (Some((first, others)), _) if others.len() > OTHERS_MAX => {
                (first.as_str(), " (or another of its values)".to_owned())
            }
            (Some((first, others)), _) => (first.as_str(), format!(" (or {})", others.join(", "))),
            (None, FieldKind::Country | FieldKind::Country2) => ("za", " (or another country)".to_owned()),
            (None, FieldKind::Country3) => ("zaf", " (or another country)".to_owned()),
            (None, _) => return map,
        };
        let set = self.setting("--set", check, &spec.name, first);
        format!(
            "{map}, for all rows with `{set}`{listed}, or in its line of the campaign file, which `rescreen init` marks OPEN"
        )
    }

    fn flag(&self, check: &str, field: &str, column: &str) -> String {
        self.setting("--map", check, field, column)
    }

    fn setting(&self, flag: &str, check: &str, field: &str, value: &str) -> String {
        let field = if self.several { format!("{check}.{field}") } else { field.to_owned() };
        let quote = if value.contains(char::is_whitespace) { "'" } else { "" };
        format!("{flag} {quote}{field}={value}{quote}")
    }
}

/// The most values of a field that a message names after the first.
const OTHERS_MAX: usize = 5;
