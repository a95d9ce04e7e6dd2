//! The headings of the flags in the help, and how a flag replaces a value of the campaign file.

pub const MAPPING: &str = "Checks and mapping";
pub const BUDGET: &str = "Campaign and budget";
pub const INPUT: &str = "Input";
pub const SERVICE: &str = "Service and rate";
pub const OUTPUT: &str = "Outputs";
pub const STOPS: &str = "When to stop";
pub const RESUME: &str = "After an earlier run";

/// A flag that is given replaces the value of the file.
pub fn over<T>(value: &mut Option<T>, given: Option<T>) {
    if given.is_some() {
        *value = given;
    }
}

/// The same for a list.
pub fn list_over<T>(values: &mut Vec<T>, given: Vec<T>) {
    if !given.is_empty() {
        *values = given;
    }
}
