//! What the report of a run says about requests without an answer, and about answers that are judged differently.

use super::{
    report::RunReport,
    wording::{counted, in_quarantine, under_another_key},
};
use crate::model::{
    Stop,
    clock::{local_time, usable_life_us},
    state::State,
};

impl RunReport {
    /// What the current declarations say about answers that are paid for.
    pub fn rejudging(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.unrecognised > 0 {
            lines.push(format!(
                "{} no rule recognises: paid for, never sent again, and in pending/ with the reason `unrecognised` and \
                 the answer. Correct the declaration in the campaign file (`rescreen checks NAME --toml` prints it) and \
                 run again, which judges them at no cost; or publish them as they are with --accept-unrecognised",
                counted(self.unrecognised, "row has an answer that", "rows have an answer that"),
            ));
        }
        if self.judged_differently > 0 {
            lines.push(format!(
                "{} judged differently by the current declaration; published rows stay as they are, and `rescreen \
                 export {} --to FOLDER` publishes all results judged by it",
                counted(self.judged_differently, "result is", "results are"),
                self.out.display()
            ));
        }
        lines
    }

    /// What may have been charged and has no answer, and what to do about it.
    pub fn doubts(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let safe_us = usable_life_us(self.key_life_hours);
        let until = self
            .oldest_doubt_us
            .map_or_else(|| "the keys expire".to_owned(), |at| local_time(at.saturating_add(safe_us)));
        // Repeating did not help these in this run, so nothing says that another run settles them.
        let open = self.in_doubt().saturating_sub(self.sent.lasting_conflicts.count());
        let resolve = format!("rescreen resolve {} --list --include-in-doubt", self.out.display());
        lines.extend(self.sent.lasting_conflicts.lines(&resolve));
        if self.sent.withheld > 0 {
            lines.push(under_another_key(self.sent.withheld, &until, &self.out));
        } else if open > 0 && !self.is_charged() {
            lines.push(format!(
                "{} sent and {} no answer yet; running again before {until} settles this",
                counted(open, "request was", "requests were"),
                if open == 1 { "has" } else { "have" },
            ));
        } else if open > 0 && self.sent.stops.iter().any(|stop| matches!(stop, Stop::Conflict { .. })) {
            // The service says that these keys belong to another body, so sending them again may give no answer.
            lines.push(format!(
                "{} may have been charged under their keys and have no answer yet",
                counted(open, "request", "requests"),
            ));
        } else if open > 0 {
            lines.push(format!(
                "{} may have been charged and have no answer yet; running again before {until} settles this at no cost",
                counted(open, "request", "requests"),
            ));
        }
        lines.extend(self.job_lines());
        let quarantined = self.sums.in_state(State::Quarantined);
        if quarantined > 0 {
            lines.push(in_quarantine(quarantined, self.is_charged(), &self.out));
        }
        lines
    }
}
