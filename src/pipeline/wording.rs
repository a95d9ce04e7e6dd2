//! Formatting of counts for reports, notes and messages.

pub use crate::model::grouped::grouped;

/// A number and its noun, in the singular or plural.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}
