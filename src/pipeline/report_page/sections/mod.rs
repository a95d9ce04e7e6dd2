//! The sections of the page, from its figures. Each file makes the sections about one subject.

mod changed;
mod failed;
mod history;
mod money;
mod outcomes;
mod overview;
mod proof;
mod speed;

use super::{block::Section, figures::Figures};

/// All sections in order.
pub fn sections(figures: &Figures) -> Vec<Section> {
    vec![
        overview::overview(figures),
        outcomes::outcomes(figures),
        outcomes::verdicts(figures),
        changed::changes(figures),
        failed::failures(figures),
        money::credits(figures),
        speed::throughput(figures),
        speed::latency(figures),
        history::runs(figures),
        proof::files(figures),
        proof::reading(),
    ]
}
