//! Fills the fields of a check from one row. It decides what a missing value means: a required field fails, a template
//! that reads a missing value fails, and an optional field with an empty cell is left out.

use super::{
    AskRequest, Bound, Mapped,
    ask::Filled,
    attach::{attach, check_body_size},
    bind::{BoundCheck, BoundFeed, BoundField},
    error::MappingError,
    expect,
};
use crate::{
    catalogue::FieldSpec,
    model::{
        Failure, FailureCode, Row,
        field::{Accepted, refusal::FieldRefusal, tidy, visible::visible},
        row::{Cell, Values},
    },
    template::{Nulls, RenderFault, RowView},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, cell::OnceCell};

/// Maximum bytes of a field's value (safety, section 6).
const FIELD_BYTES_MAX: usize = 1024 * 1024;

/// Why a check's fields could not be filled.
enum Unfilled {
    /// A failure of the row.
    Failed(Failure),
    /// A mistake in the configuration.
    Stop(Box<MappingError>),
}

impl From<Failure> for Unfilled {
    fn from(failure: Failure) -> Unfilled {
        Unfilled::Failed(failure)
    }
}

impl Bound {
    /// The result for each check, in order. An error is a mistake in the configuration that only a row can reveal, and
    /// stops the run.
    pub fn map(&self, row: &Row) -> Result<Vec<Mapped>, MappingError> {
        let filling = Filling { bound: self, row, view: OnceCell::new() };
        self.checks.iter().enumerate().map(|(index, check)| filling.check(index, check)).collect()
    }
}

impl BoundCheck {
    /// The fields that a column or a template fills, by their index in the declaration.
    fn of_row(&self) -> impl Iterator<Item = (usize, &FieldSpec, &BoundField)> {
        let fields = self.declaration.fields.iter().zip(&self.fields).enumerate();
        fields.filter(|(_, (_, field))| field.feed.is_of_row()).map(|(at, (spec, field))| (at, spec, field))
    }
}

impl Bound {
    /// The names of the fields of each check that a column or a template fills, by their index in the declaration.
    pub fn fields_of_row(&self) -> Vec<Vec<(usize, &str)>> {
        self.checks.iter().map(|check| check.of_row().map(|(at, spec, _)| (at, spec.name.as_str())).collect()).collect()
    }

    /// What a row has for these fields of a check, also if the row is rejected for another field. A file is not read.
    pub fn values(&self, row: &Row, check_index: usize) -> Vec<FieldValue> {
        let Some(check) = self.checks.get(check_index) else { return Vec::new() };
        let filling = Filling { bound: self, row, view: OnceCell::new() };
        let value = |(_, spec, field): (usize, &FieldSpec, &BoundField)| match filling.text(check, spec, field) {
            Ok(None) | Err(_) => FieldValue::None,
            Ok(Some(_)) if spec.kind.file().is_some() => FieldValue::Unsent,
            Ok(Some(text)) => match spec.accept(&text) {
                Ok(accepted) => FieldValue::Sent(accepted.value),
                Err(_) => FieldValue::Unsent,
            },
        };
        check.of_row().map(value).collect()
    }
}

/// What a row has for one field.
pub enum FieldValue {
    /// Nothing, or a template that cannot make a value.
    None,
    /// A value that is refused, or a file.
    Unsent,
    /// A value, as it would be sent.
    Sent(Value),
}

/// One row being mapped.
struct Filling<'a> {
    bound: &'a Bound,
    row: &'a Row,
    /// Created when the first template needs it.
    view: OnceCell<RowView>,
}

impl Filling<'_> {
    fn view(&self) -> &RowView {
        self.view.get_or_init(|| RowView::new(self.row, &self.bound.frame.nulls))
    }

    fn check(&self, index: usize, check: &BoundCheck) -> Result<Mapped, MappingError> {
        if let Some((condition, text)) = &check.when {
            match condition.holds(self.view()) {
                Ok(true) => {}
                Ok(false) => return Ok(Mapped::Skipped(format!("when: {text}"))),
                Err(fault) => return self.outcome(self.fault(fault, check, "when")),
            }
        }
        match self.request(index, check) {
            Ok(request) => Ok(Mapped::Ask(request)),
            Err(unfilled) => self.outcome(unfilled),
        }
    }

    fn request(&self, index: usize, check: &BoundCheck) -> Result<AskRequest, Unfilled> {
        let (filled, expected) = (self.fields(check)?, self.expected(check)?);
        Ok(AskRequest::new(&self.bound.frame, &check.declaration, filled, expected, index))
    }

    fn outcome(&self, unfilled: Unfilled) -> Result<Mapped, MappingError> {
        match unfilled {
            Unfilled::Failed(failure) => Ok(Mapped::Failed(failure)),
            Unfilled::Stop(error) => Err(*error),
        }
    }

    /// The fields to send, and notes on them.
    fn fields(&self, check: &BoundCheck) -> Result<Filled, Unfilled> {
        let mut filled = Filled { fields: Map::with_capacity(check.fields.len()), ..Filled::default() };
        let mut paths = Vec::new();
        for (spec, field) in check.declaration.fields.iter().zip(&check.fields) {
            if spec.kind.file().is_some() {
                if let Some(path) = self.text(check, spec, field)? {
                    // Files are read last, because reading them takes longest. Their place in the body is kept.
                    filled.fields.insert(spec.name.clone(), Value::Null);
                    paths.push((spec, field, path.trim().to_owned()));
                }
                continue;
            }
            if let Some(Accepted { value, notes }) = self.field(check, spec, field)? {
                filled.fields.insert(spec.name.clone(), value);
                filled.notes.extend(notes);
            }
        }
        for rule in &check.declaration.rules {
            rule.check(&filled.fields).map_err(|fault| Failure::map(FailureCode::InvalidValue, fault))?;
        }
        for (spec, field, path) in paths {
            let file = attach(&self.bound.frame, &check.declaration, spec, path)
                .map_err(|refusal| Failure::map(refusal.code, format!("{}: {refusal}", label(spec, field))))?;
            filled.fields.insert(spec.name.clone(), file.digest_text().into());
            filled.files.push(file);
        }
        filled.notes.extend(check_body_size(self.bound.frame.body_bytes_max, &filled.files)?);
        Ok(filled)
    }

    /// What the row expects of the answer.
    fn expected(&self, check: &BoundCheck) -> Result<Map<String, Value>, Unfilled> {
        let mut expected = Map::new();
        for (spec, field) in &check.expects {
            if let Some(Accepted { value, .. }) = self.field(check, spec, field)? {
                expected.insert(expect::name_of(spec).to_owned(), value);
            }
        }
        Ok(expected)
    }

    /// The value of a field as it will be sent; with `None` the field is left out or has its default.
    fn field(&self, check: &BoundCheck, spec: &FieldSpec, field: &BoundField) -> Result<Option<Accepted>, Unfilled> {
        if let BoundFeed::Constant(value) = &field.feed {
            return Ok(Some(value.clone().into()));
        }
        let Some(text) = self.text(check, spec, field)? else { return Ok(None) };
        let refused = |refusal: FieldRefusal| Failure::map(refusal.code, format!("{}: {refusal}", label(spec, field)));
        let mut accepted = spec.accept(&text).map_err(refused)?;
        if let BoundFeed::Template(_) = &field.feed {
            accepted.notes.extend(self.view().take_notes());
            accepted.notes.sort();
            accepted.notes.dedup();
        }
        Ok(Some(accepted))
    }

    /// The text of a field before it is validated; `None` if the field is left out or has its default.
    fn text<'b>(
        &'b self,
        check: &BoundCheck,
        spec: &FieldSpec,
        field: &BoundField,
    ) -> Result<Option<Cow<'b, str>>, Unfilled> {
        let text = match &field.feed {
            // A constant is validated when the mapping is made.
            BoundFeed::Unmapped | BoundFeed::Constant(_) => return Ok(None),
            BoundFeed::Column { name, place, nulls } => self.cell(spec, field, name, *place, nulls)?,
            BoundFeed::Template(template) => {
                // Notes on the cells that a condition or another field read are not notes on this field.
                self.view().take_notes();
                match template.render(self.view()) {
                    Ok(text) if visible(&text).text.is_empty() => None,
                    Ok(text) => Some(Cow::Owned(text)),
                    Err(fault) => return Err(self.fault(fault, check, &label(spec, field))),
                }
            }
        };
        let Some(text) = text else {
            return if spec.required {
                let message = format!("{}: expected a value, found none", label(spec, field));
                Err(Failure::map(FailureCode::MissingValue, message).into())
            } else {
                Ok(None)
            };
        };
        if text.len() > FIELD_BYTES_MAX {
            let message = format!("{}: expected at most 1 MiB, found {} bytes", label(spec, field), text.len());
            return Err(Failure::map(FailureCode::FieldTooLarge, message).into());
        }
        Ok(Some(text))
    }

    /// The text of a column's cell; `None` is null.
    fn cell(
        &self,
        spec: &FieldSpec,
        field: &BoundField,
        name: &str,
        place: Option<usize>,
        nulls: &[String],
    ) -> Result<Option<Cow<'_, str>>, Failure> {
        let cell = match (&self.row.values, place) {
            // If the row has another header than the bound one, the column is looked up by name, so that no wrong
            // column is paid for.
            (Values::Flat { header, cells }, Some(place)) if header.get(place).is_some_and(|column| column == name) => {
                cells.get(place).map(Cell::Text)
            }
            _ => self.row.get(name),
        };
        let text = match cell {
            None | Some(Cell::Json(Value::Null)) => return Ok(None),
            Some(Cell::Text(text)) => Cow::Borrowed(text),
            Some(Cell::Json(Value::String(text))) => Cow::Borrowed(text.as_str()),
            Some(cell) => match cell.to_text() {
                Some(text) => Cow::Owned(text),
                None => {
                    let expected =
                        "expected a single value, found a list or an object; select one of its parts with a template";
                    let message = format!("{}: {expected}", label(spec, field));
                    return Err(Failure::map(FailureCode::InvalidValue, message));
                }
            },
        };
        let is_missing = |seen: &str| seen.is_empty() || Nulls::is_one_of(nulls, seen);
        Ok(Some(text).filter(|text| !is_missing(&visible(text).text)))
    }

    fn fault(&self, fault: RenderFault, check: &BoundCheck, place: &str) -> Unfilled {
        match fault {
            RenderFault::UnknownColumn { .. } => Unfilled::Stop(Box::new(MappingError::UnknownColumnInRow {
                check: check.name.clone(),
                place: place.to_owned(),
                row_number: self.row.position.row_number,
            })),
            RenderFault::Missing { .. } => Failure::map(FailureCode::MissingValue, format!("{place}: {fault}")).into(),
            RenderFault::Country { .. } => {
                Failure::map(FailureCode::UnknownCountry, format!("{place}: {fault}")).into()
            }
            RenderFault::Error { .. } => Failure::map(FailureCode::TemplateError, format!("{place}: {fault}")).into(),
        }
    }
}

/// The name of a field and its source in messages.
fn label(spec: &FieldSpec, field: &BoundField) -> String {
    match &field.feed {
        BoundFeed::Column { name, .. } => format!("field `{}` (column `{}`)", spec.name, tidy(name)),
        BoundFeed::Template(_) => format!("field `{}` (template)", spec.name),
        BoundFeed::Constant(_) | BoundFeed::Unmapped => format!("field `{}`", spec.name),
    }
}
