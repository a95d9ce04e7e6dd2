//! What the tests share.

pub mod book;
pub mod data;
pub mod simulator_process;
