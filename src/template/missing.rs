//! The stand-in for a missing value, and the tracking of its use. It defines what counts as printing a missing value.
//!
//! MiniJinja prints an object without passing it the state of the evaluation, so the use is tracked per thread; an
//! evaluation never leaves its thread.

use super::spent;
use minijinja::{
    Error, ErrorKind, State, Value,
    value::{DynObject, Object, ObjectRepr},
};
use std::{cell::RefCell, cmp::Ordering, fmt, sync::Arc};

/// What represents a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandIn {
    /// An object that records being printed, is equal to nothing, and has only missing parts.
    Object,
    /// MiniJinja's undefined, which it refuses to compare.
    Undefined,
}

/// What an evaluation did with missing values.
#[derive(Debug)]
pub(super) struct MissingValues {
    stand_in: StandIn,
    /// The last missing value that was looked up.
    pub read: Option<Arc<str>>,
    /// The first missing value that was turned into text.
    pub printed: Option<Arc<str>>,
    /// Whether the kind of a missing value was requested. Every ordering comparison does so, and little else.
    pub kind_asked: bool,
}

impl MissingValues {
    const fn new(stand_in: StandIn) -> MissingValues {
        MissingValues { stand_in, read: None, printed: None, kind_asked: false }
    }
}

thread_local! {
    static WATCH: RefCell<MissingValues> =
        const { RefCell::new(MissingValues::new(StandIn::Object)) };
}

/// Runs an evaluation, and returns what it did with missing values.
pub(super) fn watched<T>(stand_in: StandIn, evaluation: impl FnOnce() -> T) -> (T, MissingValues) {
    WATCH.replace(MissingValues::new(stand_in));
    spent::reset();
    let outcome = evaluation();
    (outcome, WATCH.replace(MissingValues::new(StandIn::Object)))
}

/// A missing value. `what` names it in messages, as in "column `surname`".
pub(super) fn missing(what: impl Into<Arc<str>>) -> Value {
    stand_in(what.into(), false)
}

/// A null in an answer: defined, but without a value.
pub(super) fn null(what: impl Into<Arc<str>>) -> Value {
    stand_in(what.into(), true)
}

/// Maximum bytes of a name that is kept. A template may look up a name that is a long text.
const NAME_BYTES_MAX: usize = 200;

fn stand_in(mut what: Arc<str>, null: bool) -> Value {
    if what.len() > NAME_BYTES_MAX {
        what = format!("{}…", &what[..what.floor_char_boundary(NAME_BYTES_MAX)]).into();
    }
    WATCH.with_borrow_mut(|watch| {
        watch.read = Some(Arc::clone(&what));
        match watch.stand_in {
            StandIn::Object => Value::from_object(Missing { what, null }),
            StandIn::Undefined => Value::UNDEFINED,
        }
    })
}

/// Whether a value is missing: undefined, none or a stand-in.
pub(super) fn is_missing(value: &Value) -> bool {
    value.is_undefined() || value.is_none() || value.downcast_object_ref::<Missing>().is_some()
}

/// Whether the name exists, with a value or with null.
pub(super) fn is_defined(value: &Value) -> bool {
    !value.is_undefined() && value.downcast_object_ref::<Missing>().is_none_or(|missing| missing.null)
}

/// The error of using a missing value.
pub(super) fn used(value: &Value) -> Error {
    if let Some(missing) = value.downcast_object_ref::<Missing>() {
        print(&missing.what);
    }
    Error::from(ErrorKind::UndefinedError)
}

fn print(what: &Arc<str>) {
    WATCH.with_borrow_mut(|watch| {
        watch.printed.get_or_insert_with(|| Arc::clone(what));
    });
}

#[derive(Debug)]
struct Missing {
    what: Arc<str>,
    null: bool,
}

impl Object for Missing {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        WATCH.with_borrow_mut(|watch| watch.kind_asked = true);
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, _: &Value) -> Option<Value> {
        Some(missing(Arc::clone(&self.what)))
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }

    fn call_method(self: &Arc<Self>, _: &State<'_, '_>, _: &str, _: &[Value]) -> Result<Value, Error> {
        print(&self.what);
        Err(Error::from(ErrorKind::UndefinedError))
    }

    /// Two missing values are not equal, because both are unknown.
    fn custom_cmp(self: &Arc<Self>, _: &DynObject) -> Option<Ordering> {
        Some(Ordering::Less)
    }

    fn render(self: &Arc<Self>, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&self.what);
        Ok(())
    }
}
