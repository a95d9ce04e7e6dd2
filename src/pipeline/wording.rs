//! Formatting of counts for reports, notes and messages.

pub use crate::model::grouped::grouped;
use crate::sink::AskCounts;
use std::path::Path;

/// A number and its noun, in the singular or plural.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// What to do about requests in doubt that were sent under another API key.
pub fn under_another_key(requests: u64, until: &str, out: &Path) -> String {
    format!(
        "{} sent under another API key, and only that key's account can tell what was answered or charged: run again with \
         that API key before {until}. If it is lost, decide now with `rescreen resolve {} --list --include-in-doubt`, or \
         run again after that time and decide then",
        counted(requests, "request in doubt was", "requests in doubt were"),
        out.display()
    )
}

/// What to do about requests in quarantine.
pub fn in_quarantine(requests: u64, is_charged: bool, out: &Path) -> String {
    let risk = if is_charged { "possibly charged, and sending again may charge again; " } else { "" };
    format!(
        "{} in quarantine: {risk}decide with `rescreen resolve {} --list`",
        counted(requests, "request is", "requests are"),
        out.display()
    )
}

/// The asks of a campaign, by dataset.
pub fn ask_counts(counts: AskCounts) -> String {
    let AskCounts { results, failures, pending, skipped } = counts;
    format!(
        "{}, {}, {} pending, {} skipped",
        counted(results, "result", "results"),
        counted(failures, "failure", "failures"),
        grouped(pending),
        grouped(skipped)
    )
}
