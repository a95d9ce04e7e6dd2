//! What one evaluation has built so far, in bytes. MiniJinja's fuel bounds the steps of a template and not what a step
//! makes, so everything that makes text or a list asks here first. It owns the limits.
//!
//! The account is kept per thread, as the watch over missing values is: an evaluation never leaves its thread.

use super::refusal::refuse;
use minijinja::Error;
use std::{cell::Cell, io, thread::LocalKey};

/// Bytes of a template's text, at most.
pub(super) const SOURCE_BYTES_MAX: usize = 64 << 10;
/// Bytes of any text that a template makes, its result too, at most.
pub(super) const TEXT_BYTES_MAX: usize = 2 << 20;
/// Bytes that one evaluation makes in all, at most, whether it keeps them or not.
const ALL_BYTES_MAX: usize = 8 << 20;
/// Bytes of text and items that one evaluation goes through in all, at most: what is read takes time also where nothing
/// is made of it.
const READ_BYTES_MAX: usize = 16 << 20;
/// What an item of a list takes, in bytes.
const ITEM_BYTES: usize = 32;
/// Lists, objects and namespaces that one evaluation makes by naming their parts, at most. Each can be inside another, and
/// what is nested deeply is dropped and compared on the stack.
const NESTED_MAX: usize = 1_000;

/// What is said of a text that is too long.
pub(super) const TOO_LONG: &str = "expected at most 2 MiB of text from a template, found more";

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static READ: Cell<usize> = const { Cell::new(0) };
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// An evaluation begins.
pub(super) fn reset() {
    BYTES.set(0);
    READ.set(0);
    NESTED.set(0);
}

/// A text of so many bytes is about to be made.
pub(super) fn text(bytes: usize) -> Result<(), Error> {
    if bytes > TEXT_BYTES_MAX {
        return Err(refuse(TOO_LONG));
    }
    all(bytes)
}

/// A text or a list of so many bytes or items is about to be read from end to end.
pub(super) fn read(bytes: usize) -> Result<(), Error> {
    const SAID: &str = "expected a template that goes through at most 16 MiB of text, found more";
    count(&READ, bytes, READ_BYTES_MAX, || SAID.to_owned())
}

/// A list of so many items is about to be made.
pub(super) fn items(count: usize) -> Result<(), Error> {
    all(count.saturating_mul(ITEM_BYTES))
}

/// A list, an object or a namespace is made of its parts.
pub(super) fn nested() -> Result<(), Error> {
    let said = || format!("expected at most {NESTED_MAX} lists and objects made by a template, found more");
    count(&NESTED, 1, NESTED_MAX, said)
}

fn all(bytes: usize) -> Result<(), Error> {
    const SAID: &str = "expected a template that makes at most 8 MiB of text and lists on its way, found more";
    count(&BYTES, bytes, ALL_BYTES_MAX, || SAID.to_owned())
}

/// Adds to what one evaluation has used of a limit; `said` is the refusal above it.
fn count(
    used: &'static LocalKey<Cell<usize>>,
    more: usize,
    max: usize,
    said: impl FnOnce() -> String,
) -> Result<(), Error> {
    let so_far = used.get().saturating_add(more);
    used.set(so_far);
    if so_far > max { Err(refuse(said())) } else { Ok(()) }
}

/// What a template prints. It takes no more than its limit.
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
