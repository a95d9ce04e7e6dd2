//! Counts the bytes that one evaluation has made so far. MiniJinja's fuel limits the steps of a template but not what a
//! step makes, so everything that makes text or a list is counted here first. It defines the limits.
//!
//! The counts are kept per thread, like the tracking of missing values: an evaluation never leaves its thread.

use super::refusal::refuse_limit;
use minijinja::Error;
use std::{cell::Cell, io, thread::LocalKey};

/// Maximum bytes of a template's text.
pub(super) const SOURCE_BYTES_MAX: usize = 64 << 10;
/// Maximum bytes of any text that a template makes, including its result.
pub(super) const TEXT_BYTES_MAX: usize = 2 << 20;
/// Maximum total bytes that one evaluation makes, whether it keeps them or not.
const ALL_BYTES_MAX: usize = 8 << 20;
/// Maximum total bytes of text and items that one evaluation reads: reading takes time even if nothing is made from it.
const READ_BYTES_MAX: usize = 16 << 20;
/// Bytes counted for an item of a list.
const ITEM_BYTES: usize = 32;
/// Maximum lists, objects and namespaces that one evaluation makes from literals. Each can contain another, and deeply
/// nested values are dropped and compared on the stack.
const NESTED_MAX: usize = 1_000;

/// The message for a text that is too long.
pub(super) const TOO_LONG: &str = "expected at most 2 MiB of text from a template, found more";

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static READ: Cell<usize> = const { Cell::new(0) };
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// Resets the counts at the start of an evaluation.
pub(super) fn reset() {
    BYTES.set(0);
    READ.set(0);
    NESTED.set(0);
}

/// Counts a text of this many bytes that is about to be made.
pub(super) fn text(bytes: usize) -> Result<(), Error> {
    if bytes > TEXT_BYTES_MAX {
        return Err(refuse_limit(TOO_LONG));
    }
    all(bytes)
}

/// Counts a text or a list of this many bytes or items that is about to be read completely.
pub(super) fn read(bytes: usize) -> Result<(), Error> {
    const SAID: &str = "expected a template that reads at most 16 MiB of text, found more";
    count(&READ, bytes, READ_BYTES_MAX, || SAID.to_owned())
}

/// Counts a list of this many items that is about to be made.
pub(super) fn items(count: usize) -> Result<(), Error> {
    all(count.saturating_mul(ITEM_BYTES))
}

/// Counts a list, an object or a namespace that is made from a literal.
pub(super) fn nested() -> Result<(), Error> {
    let said = || format!("expected at most {NESTED_MAX} lists and objects made by a template, found more");
    count(&NESTED, 1, NESTED_MAX, said)
}

fn all(bytes: usize) -> Result<(), Error> {
    const SAID: &str = "expected a template that makes at most 8 MiB of text and lists in total, found more";
    count(&BYTES, bytes, ALL_BYTES_MAX, || SAID.to_owned())
}

/// Adds to the amount of a limit that one evaluation has used; `said` is the refusal above the limit.
fn count(
    used: &'static LocalKey<Cell<usize>>,
    more: usize,
    max: usize,
    said: impl FnOnce() -> String,
) -> Result<(), Error> {
    let so_far = used.get().saturating_add(more);
    used.set(so_far);
    if so_far > max { Err(refuse_limit(said())) } else { Ok(()) }
}

/// The text that a template prints, up to the limit.
#[derive(Default)]
pub(super) struct Printed(Vec<u8>);

impl io::Write for Printed {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.0.len() + text.len() > TEXT_BYTES_MAX {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.0.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Printed {
    pub(super) fn into_text(self) -> String {
        String::from_utf8(self.0).expect("MiniJinja writes whole texts")
    }
}
