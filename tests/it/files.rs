//! The promise: only files below the files root are sent, whole and as they are; the same bytes are one charge; a file
//! that was replaced is never a new charge; an upload is safe at every step.

mod attacks;
mod cached;
mod golden;
mod limits;
mod memory;
mod replaced;
pub mod sample;
mod sending;
mod specimens;
mod uploads;
