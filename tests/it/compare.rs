//! The promise: a comparison of two rounds names every subject whose answer changed, and no other.

mod book;
mod engine;
mod screens;
mod timed;
