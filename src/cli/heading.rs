//! The headings of long helps: the flags of one purpose stand together.

pub const MAPPING: &str = "Checks and mapping";
pub const BUDGET: &str = "Campaign and budget";
pub const INPUT: &str = "Input";
pub const SERVICE: &str = "Service and rate";
pub const OUTPUT: &str = "Outputs";
pub const STOPS: &str = "When to stop";
pub const RESUME: &str = "After an earlier run";
