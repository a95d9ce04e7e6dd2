//! What the report of a run says about jobs at the service.

use super::{
    report::RunReport,
    wording::{counted, grouped},
};
use crate::model::{clock::local_time, state::State};

impl RunReport {
    /// Requests that the service accepted as jobs.
    pub fn jobs(&self) -> u64 {
        self.sums.in_state(State::Submitted)
    }

    /// Whether nothing is left but jobs at the service, which no run can hurry.
    pub fn waits_for_jobs(&self) -> bool {
        let sources = self.manifest.as_ref().map(|manifest| &manifest.input.sources);
        let is_read = sources.is_some_and(|sources| sources.iter().all(|source| source.complete));
        self.jobs() > 0 && self.sums.open() == self.jobs() && self.sent.stops.is_empty() && is_read
    }

    /// The command line that gets the results of jobs, if nothing else is left.
    pub fn collect_command(&self) -> Option<Vec<String>> {
        let out = self.out.display().to_string();
        let words = ["rescreen", "collect", &out, "--for", "2h"].map(str::to_owned).to_vec();
        (self.waits_for_jobs() && !self.remarks.collected).then_some(words)
    }

    /// The lines about jobs without a result.
    pub fn job_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.jobs() > 0 {
            let since = self.open_jobs.oldest_us.map(|at| format!(", the oldest since {}", local_time(at)));
            // A job is asked for at growing intervals, so collecting earlier asks for nothing.
            let next =
                self.open_jobs.next_us.map(|at| format!("; the next one is asked for at {} or later", local_time(at)));
            lines.push(format!(
                "{}{}: a bank takes up to 48 hours, `rescreen collect` gets the \
                 results at no cost, and nothing is sent again{}",
                counted(
                    self.jobs(),
                    "request is in progress at the service as a job",
                    "requests are in progress at the service as jobs"
                ),
                since.unwrap_or_default(),
                next.unwrap_or_default(),
            ));
        }
        if self.jobs() > 0 && self.remarks.collected && self.sent.polls == 0 && self.sent.stops.is_empty() {
            lines.push(
                "the service was not asked about any of them, because it was asked less than a minute ago".to_owned(),
            );
        }
        for odd in &self.open_jobs.odd {
            let count = grouped(odd.count);
            lines.push(format!("no status for {count} of them, such as {}: {}", odd.job, odd.heard));
        }
        if self.sent.withheld_jobs > 0 {
            lines.push(format!(
                "{} accepted under another API key, and only that key can ask for the result: collect again with that \
                 API key; if it is lost, decide with `rescreen resolve {} --list --include-in-doubt`",
                counted(self.sent.withheld_jobs, "job was", "jobs were"),
                self.out.display()
            ));
        }
        lines
    }
}
