//! The report of a run, as data and as text lines. The library only builds the text; the command line prints it.

use super::{
    campaign::Campaign,
    intake::{notes::Notes, rejections::Rejections},
    publish::{by_verdict, credits},
    send::Sent,
    wording::{counted, grouped},
};
use crate::{
    ledger::{OpenJobs, RunStamp, Sums},
    model::{Credits, ExitCode, FailureCode, Mode, Stop, state::State},
    sink::{Manifest, OutputMode},
};
use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

/// The result of a run.
#[derive(Debug, Clone)]
pub struct RunReport {
    pub exit_code: ExitCode,
    /// What was sent. Its stops name each reason once.
    pub sent: Sent,
    pub remarks: Remarks,
    pub sums: Arc<Sums>,
    /// Jobs without a result.
    pub open_jobs: OpenJobs,
    /// The maximum number of rows read from each input, if limited.
    pub limit_rows: Option<u64>,
    /// The published manifest; `None` after a second interrupt.
    pub manifest: Option<Manifest>,
    pub out: PathBuf,
    pub mode: Mode,
    /// The built-in simulator answers.
    pub rehearsal: bool,
    /// The price table.
    pub prices: BTreeMap<String, Credits>,
    /// When the oldest request in doubt was armed, in microseconds since 1970.
    pub oldest_doubt_us: Option<i64>,
    /// The shortest key lifetime of the campaign's checks.
    pub key_life_hours: u32,
    /// Rows whose answer is paid for and that no rule recognises.
    pub unrecognised: u64,
    /// Published rows that the current declarations judge differently.
    pub judged_differently: u64,
    /// The smallest limit that covers what is used and everything that is left to send.
    pub sufficient_limit: Option<Credits>,
    /// Why rows were rejected, if too many were.
    pub reasons: Rejections,
    /// The failed asks by code, the commonest first.
    pub by_code: Vec<(FailureCode, u64)>,
    /// Requests that were not sent, because an earlier round has the answer.
    pub reused: u64,
    /// The command line that started the run. After `rescreen collect`, the command line of the run before it.
    pub command: Vec<String>,
    /// The command that continues, as a user can copy it. The command line makes it.
    pub next_command: Option<String>,
    /// When the run began and ended, once that is recorded.
    pub run: Option<RunStamp>,
}

/// What a run says besides what it sent and what the ledger records.
#[derive(Debug, Clone, Default)]
pub struct Remarks {
    /// Nothing was left to do when the run began.
    pub was_complete: bool,
    /// Notes about the values that this run ingested.
    pub notes: Notes,
    /// Messages about rows whose line was completed after they were read.
    pub completed: Vec<String>,
    /// This was `rescreen collect`: only requests that had been sent were settled.
    pub collected: bool,
}

impl RunReport {
    /// A report of which only the campaign and the run itself are known.
    pub(super) fn of(campaign: &Campaign, sums: Arc<Sums>, sent: Sent, remarks: Remarks) -> RunReport {
        RunReport {
            exit_code: ExitCode::Complete,
            sent: Sent { stops: once(sent.stops), ..sent },
            remarks,
            sums,
            open_jobs: OpenJobs::default(),
            limit_rows: campaign.source_options.limit_rows,
            manifest: None,
            out: campaign.out.clone(),
            mode: campaign.mode,
            rehearsal: campaign.service.simulate,
            prices: campaign.prices.clone(),
            oldest_doubt_us: None,
            key_life_hours: campaign.key_life_hours(),
            unrecognised: 0,
            judged_differently: 0,
            sufficient_limit: None,
            reasons: Rejections::default(),
            by_code: Vec::new(),
            reused: 0,
            command: campaign.command.clone(),
            next_command: None,
            run: None,
        }
    }

    /// The report of a run whose outputs are published.
    pub(super) fn published(mut self, campaign: &Campaign, manifest: Manifest) -> RunReport {
        self.remarks.was_complete &= manifest.complete && self.sent.answered == 0 && self.sent.stops.is_empty();
        self.manifest = Some(manifest);
        self.exit_code = self.judge(campaign);
        self
    }

    /// The report of a run that a second interrupt ended before its outputs were published. It says only why.
    pub(super) fn cut_short(campaign: &Campaign, sums: Arc<Sums>, stops: Vec<Stop>) -> RunReport {
        let signals = [Stop::Interrupted, Stop::Terminated];
        let first = stops.iter().find(|stop| signals.contains(stop));
        let exit_code = first.map_or(ExitCode::Interrupted, Stop::exit_code);
        let sent = Sent { stops, ..Sent::default() };
        RunReport { exit_code, limit_rows: None, ..RunReport::of(campaign, sums, sent, Remarks::default()) }
    }

    /// The exit code: of all that apply, the one with the highest rank.
    fn judge(&self, campaign: &Campaign) -> ExitCode {
        let in_doubt = self.in_doubt() + self.sums.in_state(State::Quarantined);
        let failures = self.failures();
        let accepted = match campaign.guards.accept_failures {
            Some(share) => !share.is_exceeded(failures, self.sums.asks + self.sums.unreadable),
            None => failures == 0,
        };
        let unsent = self.sums.in_state(State::Planned) > 0;
        let is_left = self.is_unfinished() && (self.unrecognised > 0 || !self.waits_for_jobs());
        let applies = [
            (in_doubt > 0 || self.sent.withheld_jobs > 0 || is_left, ExitCode::Doubt),
            (self.jobs() > 0, ExitCode::Jobs),
            (self.is_limited(), ExitCode::TimeIsUp),
            // The service was not working: these requests were refused and are proven uncharged.
            (self.sent.stops.is_empty() && unsent && !self.remarks.collected, ExitCode::Service),
            (!accepted, ExitCode::Failures),
        ];
        let codes = applies.into_iter().filter(|(applies, _)| *applies).map(|(_, code)| code);
        codes.chain(self.sent.stops.iter().map(Stop::exit_code)).fold(ExitCode::Complete, ExitCode::or)
    }

    /// Whether `--limit` left rows of an input unread.
    fn is_limited(&self) -> bool {
        let is_complete = self.manifest.as_ref().is_some_and(|manifest| manifest.complete);
        self.limit_rows.is_some() && !is_complete && self.sent.stops.is_empty()
    }

    /// Whether nothing is left to do in the campaign, although some asks may have failed.
    pub fn is_finished(&self) -> bool {
        matches!(self.exit_code, ExitCode::Complete | ExitCode::Failures)
    }

    /// Whether unsent rows remain after `rescreen collect`. Only a run sends them.
    pub fn leaves_rows(&self) -> bool {
        let is_settled = self.in_doubt() == self.sent.withheld && !self.waits_for_jobs();
        let is_left = self.is_unfinished() && !self.leaves_only_unrecognised();
        self.remarks.collected && self.sent.stops.is_empty() && is_settled && is_left
    }

    /// Whether another run is needed although nothing stopped this one. With `--limit`, only pending rows count: unread
    /// rows are expected.
    fn is_unfinished(&self) -> bool {
        let Some(manifest) = &self.manifest else { return true };
        let pending = manifest.totals.iter().any(|totals| totals.pending > 0);
        !manifest.complete && (pending || self.limit_rows.is_none()) && self.sent.stops.is_empty()
    }

    /// Whether the input is read, and everything is settled and published except answers that no rule recognises.
    pub fn leaves_only_unrecognised(&self) -> bool {
        let Some(manifest) = &self.manifest else { return false };
        let pending: u64 = manifest.totals.iter().map(|totals| totals.pending).sum();
        let is_read = manifest.input.sources.iter().all(|source| source.complete);
        self.unrecognised > 0 && pending == self.unrecognised && is_read
    }

    pub(super) fn in_doubt(&self) -> u64 {
        [State::Armed, State::InDoubt, State::Repeating].into_iter().map(|state| self.sums.in_state(state)).sum()
    }

    /// The number of failed asks; a row that could not be read counts once.
    pub fn failures(&self) -> u64 {
        let totals = self.manifest.iter().flat_map(|manifest| &manifest.totals);
        totals.map(|totals| totals.failures).sum::<u64>() + self.sums.unreadable
    }

    /// The lines to show at the end of a run.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(manifest) = &self.manifest {
            lines.extend(self.totals(manifest));
        }
        lines.extend(self.invented());
        lines.extend(self.remarks.notes.lines());
        if self.sent.unexplained > Credits::ZERO
            && !self.sent.stops.iter().any(|stop| matches!(stop, Stop::Price { .. } | Stop::BalanceFell { .. }))
        {
            lines.push(format!(
                "the balance fell by {} more than this run's requests explain: another client used the account, or a \
                 price is higher than in the price table; compare with the statement of the service",
                counted(self.sent.unexplained.0, "credit", "credits")
            ));
        }
        lines.extend(self.dearer());
        lines.extend(self.remarks.completed.iter().cloned());
        lines.extend(self.stopped());
        lines.extend(self.failed());
        lines.extend(self.limited());
        lines.extend(self.doubts());
        lines.extend(self.rejudging());
        let is_left = self.is_unfinished() && !self.waits_for_jobs() && !self.leaves_only_unrecognised();
        if self.remarks.collected && is_left {
            lines.push(
                "requests that were already sent are settled as far as possible; nothing new was sent, and rows may be \
                 left: run the campaign again to send them"
                    .to_owned(),
            );
        }
        lines
    }

    /// Only the lines that say why the campaign is not finished.
    pub fn reasons(&self) -> Vec<String> {
        let stopped = self.stopped().into_iter().chain(self.failed()).chain(self.limited());
        stopped.chain(self.doubts()).chain(self.rejudging()).collect()
    }

    /// The command line that lists what a person has to decide; `None` if running again can help.
    pub fn decision_command(&self) -> Option<Vec<String>> {
        let quarantined = self.sums.in_state(State::Quarantined);
        let waits = quarantined > 0 || self.sent.withheld > 0;
        let can_run =
            self.in_doubt() > self.sent.withheld || (self.sums.in_state(State::Planned) > 0 && !self.remarks.collected);
        if self.exit_code != ExitCode::Doubt || !waits || can_run {
            return None;
        }
        let out = self.out.display().to_string();
        let mut words = ["rescreen", "resolve", &out, "--list"].map(str::to_owned).to_vec();
        if self.sent.withheld > 0 {
            words.push("--include-in-doubt".to_owned());
        }
        Some(words)
    }

    /// The checks that cost more than the price table says, unless the run stopped for it. It does not for the result of
    /// a job.
    fn dearer(&self) -> Vec<String> {
        let has_stopped = |check: &str| {
            let mut stops = self.sent.stops.iter();
            stops.any(|stop| matches!(stop, Stop::Price { check: stopped, .. } if stopped == check))
        };
        let dearer = self.prices.iter().map(|(check, table)| (check, *table, self.sums.price_to_hold(check, *table)));
        let dearer = dearer.filter(|(check, table, seen)| seen > table && !has_stopped(check));
        let line = |(check, table, seen): (&String, Credits, Credits)| {
            format!(
                "one `{check}` costs up to {}, but the price table says {}: correct it with --price {check}={seen}, or in \
                 [budget] prices",
                counted(seen.0, "credit", "credits"),
                grouped(table.0),
            )
        };
        dearer.map(line).collect()
    }

    /// Says that the answers are not real.
    fn invented(&self) -> Option<String> {
        OutputMode::of(self.mode, self.rehearsal || self.sums.simulated == Some(true)).warning()
    }

    fn totals(&self, manifest: &Manifest) -> Vec<String> {
        let sum = |of: fn(&crate::sink::CheckTotals) -> u64| manifest.totals.iter().map(of).sum::<u64>();
        let verdict = |(verdict, number): (&crate::model::Verdict, &u64)| format!("{} {verdict}", grouped(*number));
        let verdicts: Vec<String> = by_verdict(manifest).iter().map(verdict).collect();
        let held = match self.sums.account.held.0 {
            0 => String::new(),
            held => format!(", {} held", grouped(held)),
        };
        vec![
            format!(
                "{}: {} ({}), {}, {} pending, {} skipped",
                counted(self.sums.rows, "row", "rows"),
                counted(sum(|totals| totals.results), "result", "results"),
                if verdicts.is_empty() { "none yet".to_owned() } else { verdicts.join(", ") },
                counted(self.failures(), "failure", "failures"),
                grouped(sum(|totals| totals.pending)),
                grouped(sum(|totals| totals.skipped)),
            ),
            format!(
                "{}, {}, {}{} charged{held}",
                self.requests(),
                counted(self.sums.duplicates(), "free duplicate", "free duplicates"),
                self.reused(),
                counted(credits(manifest).0, "credit", "credits"),
            ),
        ]
    }

    /// `420 reused answers, `; empty without any.
    fn reused(&self) -> String {
        match self.reused {
            0 => String::new(),
            reused => format!("{}, ", counted(reused, "reused answer", "reused answers")),
        }
    }

    /// `543 requests`, or `93 of 543 requests sent` while some wait to be sent.
    fn requests(&self) -> String {
        let all = self.sums.requests();
        let counted = counted(all, "request", "requests");
        match self.sums.in_state(State::Planned) {
            0 => counted,
            planned => format!("{} of {counted} sent", grouped(all - planned)),
        }
    }

    /// Whether requests cost anything: none does in sandbox, or if the built-in simulator answers.
    pub(super) fn is_charged(&self) -> bool {
        self.mode == Mode::Production && !self.rehearsal
    }

    pub(super) fn limited(&self) -> Option<String> {
        let limit = self.limit_rows.filter(|_| self.is_limited())?;
        Some(format!(
            "only the first {limit} rows of each input were read (--limit); run without --limit to read the rest"
        ))
    }
}

/// One stop for each reason and check, in their original order. Several requests under way can stop the run for the same
/// reason with different numbers.
fn once(stops: Vec<Stop>) -> Vec<Stop> {
    let reason = |stop: &Stop| (std::mem::discriminant(stop), stop.check().map(str::to_owned));
    let mut known = HashSet::new();
    stops.into_iter().filter(|stop| known.insert(reason(stop))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RequestId;

    #[test]
    fn two_checks_that_stopped_for_the_same_reason_are_both_shown_and_each_once() {
        let price = |check: &str, request| Stop::Price {
            check: check.to_owned(),
            stated: Credits(8),
            table: Credits(3),
            request: Some(RequestId(request)),
        };
        let refused = |check: &str| Stop::CheckRefused { check: check.to_owned(), status: 403 };
        let pushed_back = |until_us| Stop::PushedBack { until_us };
        let stops = vec![
            price("a", 1),
            pushed_back(5),
            refused("a"),
            price("b", 2),
            price("a", 3),
            refused("b"),
            refused("a"),
            pushed_back(6),
        ];
        let shown = [price("a", 1), pushed_back(5), refused("a"), price("b", 2), refused("b")];
        assert_eq!(once(stops), shown);
    }
}
