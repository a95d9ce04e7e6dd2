//! Everything that a plan shows, on the screen and as JSON.

use super::next::Next;
use rescreen::pipeline::{AccountSeen, Campaign, Obstacle, Plan};

/// Everything that a plan shows.
pub struct Planned<'a> {
    pub campaign: &'a Campaign,
    pub plan: &'a Plan,
    pub seen: &'a AccountSeen,
    pub obstacles: &'a [Obstacle],
    /// The file of the rows that would fail.
    pub failures: Option<String>,
    /// The last line: what to do next.
    pub next: Next,
    /// Whether `--save` could write the settings to a campaign file.
    pub can_save: bool,
}
