//! Jobs: requests that the service accepts with a 202 and answers later.

use super::{check::Check, digest::Digest, keys::Receipt, order::Order};
use std::collections::BTreeMap;

/// A job and its state.
pub(super) struct Job {
    pub(super) order: Order,
    pub(super) state: JobState,
    /// The API key of the submitting account.
    pub(super) account: Digest,
    pub(super) ready_at_us: i64,
    pub(super) price: u64,
    /// Why it will fail, if it will.
    pub(super) fails: Option<&'static str>,
    /// A reply has shown it as completed.
    pub(super) was_shown: bool,
}

/// The states of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobState {
    Pending,
    Completed(Receipt),
    Failed(&'static str),
}

/// A path about a job.
pub(super) struct JobPath<'a> {
    /// The path with the place of the id.
    pub(super) template: &'a str,
    /// The status path of the same job, with the place of the id.
    pub(super) status: &'a str,
    pub(super) id: &'a str,
}

/// All jobs, by id.
#[derive(Default)]
pub(super) struct Jobs {
    pub(super) by_id: BTreeMap<String, Job>,
    /// Pending jobs by the time when they are ready.
    pub(super) waiting: BTreeMap<(i64, String), ()>,
}

impl std::fmt::Debug for Jobs {
    /// Orders contain personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} jobs", self.by_id.len())
    }
}

impl Jobs {
    pub(super) fn count(&self) -> u64 {
        self.by_id.len() as u64
    }

    /// A job of this account at this status path.
    pub(super) fn find_at(&mut self, path: &JobPath<'_>, account: Digest) -> Option<&mut Job> {
        let job = self.by_id.get_mut(path.id).filter(|job| job.account == account)?;
        job.order.check.job.as_ref().is_some_and(|spec| spec.status == path.status).then_some(job)
    }

    /// When the next pending job is ready.
    pub(super) fn next_ready_us(&self) -> Option<i64> {
        self.waiting.first_key_value().map(|((ready_at_us, _), ())| *ready_at_us)
    }

    /// The id of the next pending job that is ready.
    pub(super) fn next_ready(&mut self, now_us: i64) -> Option<String> {
        let ((ready_at_us, _), ()) = self.waiting.first_key_value()?;
        (*ready_at_us <= now_us).then(|| self.waiting.pop_first().map(|((_, id), ())| id)).flatten()
    }
}

/// The report type in the replies about a job. The description shows `foreign-bank`.
pub(super) fn report_type(check: &Check) -> &str {
    check.name.strip_suffix("-account").unwrap_or(&check.name)
}

/// The type of the event of a job that ends like this. The description shows those of `foreign-bank`.
pub(super) fn event_type(check: &Check, end: &str) -> String {
    format!("{}.verification.{end}", report_type(check).replace('-', "_"))
}
