//! What became of an order to deliver results again.

use crate::{
    client::{DeliveryRefusal, ReplyKind},
    model::{Credits, ExitCode, JobId, Stop},
    pipeline::wording::counted,
};

/// The most jobs that are named in one report.
const NAMED_MAX: usize = 20;

/// What became of the order.
#[derive(Debug, Clone, Default)]
pub struct Redeliveries {
    /// The new receiver's URL.
    pub receiver: Option<String>,
    /// The number of jobs that the order is about.
    pub of: usize,
    /// The number of jobs whose result the service delivers again.
    pub accepted: usize,
    /// The jobs that the service refused, and why.
    pub refused: Vec<(JobId, DeliveryRefusal)>,
    /// Jobs of another API key.
    pub withheld: Vec<JobId>,
    /// The job whose reply states a charge, although nothing should be charged, and what was booked for it. No more was
    /// asked for then.
    pub charged: Option<(JobId, Credits)>,
    pub stop: Option<Stop>,
}

impl Redeliveries {
    pub fn exit_code(&self) -> ExitCode {
        // A conflict says that a job has no result yet.
        let is_failure = |refusal: &DeliveryRefusal| refusal.kind != ReplyKind::Conflict;
        let failures = if self.refused.iter().any(|(_, refusal)| is_failure(refusal)) {
            ExitCode::Failures
        } else {
            ExitCode::Complete
        };
        let is_doubt = !self.withheld.is_empty() || self.charged.is_some();
        let doubt = if is_doubt { ExitCode::Doubt } else { ExitCode::Complete };
        self.stop.as_ref().map_or(ExitCode::Complete, Stop::exit_code).or(doubt).or(failures)
    }

    /// What happened, in words.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(url) = &self.receiver {
            let jobs = match (self.accepted, self.of - self.accepted) {
                (0, 0) => "",
                (_, 0) => ", and the service delivers the jobs asked for here to it",
                (0, _) => "; whether the service delivers any job to it is not known",
                _ => ", and the service delivers the accepted jobs to it; for the other jobs this is not known",
            };
            lines.push(format!("new receiver: {url}; new requests of this ledger name it{jobs}"));
        }
        lines.push(match self.of {
            0 => "the ledger has no job without a result; name ended ones with --job ID".to_owned(),
            of => format!("the service delivers {} of {} again", self.accepted, counted(of as u64, "job", "jobs")),
        });
        for (job, DeliveryRefusal { kind, status, message }) in self.refused.iter().take(NAMED_MAX) {
            let what = match kind {
                ReplyKind::Conflict => "it has no result yet",
                ReplyKind::NotFound => "the service does not know it",
                _ => "refused",
            };
            let message = Some(message).filter(|message| *kind != ReplyKind::NotFound && !message.is_empty());
            let words = message.map(|message| format!(": {message}")).unwrap_or_default();
            lines.push(format!("job {job}: {what} (HTTP {status}){words}"));
        }
        if self.refused.len() > NAMED_MAX {
            lines.push(format!("and {} more", self.refused.len() - NAMED_MAX));
        }
        if !self.withheld.is_empty() {
            let named: Vec<&str> = self.withheld.iter().take(NAMED_MAX).map(JobId::as_str).collect();
            let more = if self.withheld.len() > NAMED_MAX { ", …" } else { "" };
            lines.push(format!(
                "{} accepted under another API key and left alone: {}{more}",
                counted(self.withheld.len() as u64, "job was", "jobs were"),
                named.join(", ")
            ));
        }
        lines.extend(self.charged.as_ref().map(|(job, credits)| charged_line(job, *credits)));
        lines.extend(self.stop.as_ref().map(|stop| format!("stopped: {stop}")));
        lines
    }
}

/// What is said about a charge for a delivery.
pub(super) fn charged_line(job: &JobId, credits: Credits) -> String {
    format!(
        "job {job}: the reply states a charge, or an amount that cannot be read, although delivering again should be free. \
         {credits} credits are booked for it, and no more was asked for: compare the balance (`rescreen credits`), ask the \
         service, and then continue with --continue-anyway"
    )
}
