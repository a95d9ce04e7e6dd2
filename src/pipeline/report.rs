//! What a run or a plan came to, as data and as the lines a person reads. The library only makes the text; the command line
//! prints it.

use super::{
    campaign::Campaign,
    publish::{by_verdict, credits},
};
use crate::{
    ledger::Sums,
    model::{ExitCode, Mode, Stop, clock::local_time, state::State},
    sink::Manifest,
};
use std::path::PathBuf;

/// What a run came to.
#[derive(Debug, Clone)]
pub struct RunReport {
    pub exit_code: ExitCode,
    /// Why it stopped, each reason once; empty where nothing was left to do.
    pub stops: Vec<Stop>,
    pub sums: Sums,
    /// Answers of this run.
    pub answered: u64,
    /// What was published; nothing after a second interrupt.
    pub manifest: Option<Manifest>,
    pub out: PathBuf,
    pub mode: Mode,
    /// When the first request in doubt was armed, microseconds since 1970.
    pub oldest_doubt_us: Option<i64>,
    /// Nothing was left to do when the run began.
    pub was_complete: bool,
}

impl RunReport {
    pub(super) fn new(
        campaign: &Campaign,
        sums: Sums,
        stops: Vec<Stop>,
        answered: u64,
        manifest: Manifest,
        oldest_doubt_us: Option<i64>,
    ) -> RunReport {
        let was_complete = manifest.complete && answered == 0 && stops.is_empty();
        let mut report = RunReport {
            exit_code: ExitCode::Complete,
            stops: once(stops),
            sums,
            answered,
            manifest: Some(manifest),
            out: campaign.out.clone(),
            mode: campaign.mode,
            oldest_doubt_us,
            was_complete,
        };
        report.exit_code = report.judge(campaign);
        report
    }

    pub(super) fn cut_short(campaign: &Campaign, sums: Sums, stops: Vec<Stop>) -> RunReport {
        RunReport {
            exit_code: ExitCode::Interrupted,
            stops: once(stops),
            sums,
            answered: 0,
            manifest: None,
            out: campaign.out.clone(),
            mode: campaign.mode,
            oldest_doubt_us: None,
            was_complete: false,
        }
    }

    /// The exit code: of everything that applies, what ranks first.
    fn judge(&self, campaign: &Campaign) -> ExitCode {
        let in_doubt = self.in_doubt() + self.sums.in_state(State::Quarantined);
        let failures = self.failures();
        let accepted = match campaign.guards.accept_failures {
            Some(share) => !share.is_exceeded(failures, self.sums.asks + self.sums.unreadable),
            None => failures == 0,
        };
        let applies = [
            (in_doubt > 0, ExitCode::Doubt),
            // Refused for want of a working service, and proven uncharged.
            (self.stops.is_empty() && self.sums.in_state(State::Planned) > 0, ExitCode::Service),
            (!accepted, ExitCode::Failures),
        ];
        let codes = applies.into_iter().filter(|(applies, _)| *applies).map(|(_, code)| code);
        codes.chain(self.stops.iter().map(Stop::exit_code)).fold(ExitCode::Complete, ExitCode::or)
    }

    fn in_doubt(&self) -> u64 {
        [State::Armed, State::InDoubt, State::Repeating].into_iter().map(|state| self.sums.in_state(state)).sum()
    }

    /// Asks that failed; a row that could not be read counts once.
    pub fn failures(&self) -> u64 {
        let totals = self.manifest.iter().flat_map(|manifest| &manifest.totals);
        totals.map(|totals| totals.failures).sum::<u64>() + self.sums.unreadable
    }

    /// The lines a person reads at the end of a run.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(manifest) = &self.manifest {
            lines.extend(self.totals(manifest));
        }
        for stop in &self.stops {
            lines.push(format!("stopped: {stop}"));
        }
        lines.extend(self.doubts());
        lines
    }

    fn totals(&self, manifest: &Manifest) -> Vec<String> {
        let count = |number: u64, word: &str| format!("{} {word}", grouped(number));
        let sum = |of: fn(&crate::sink::CheckTotals) -> u64| manifest.totals.iter().map(of).sum::<u64>();
        let results = sum(|totals| totals.results);
        let verdicts: Vec<String> =
            by_verdict(manifest).iter().map(|(verdict, number)| count(*number, verdict.as_str())).collect();
        let mut lines = vec![format!(
            "{}: {} ({}), {}, {}, {}",
            count(self.sums.rows, "rows"),
            count(results, "results"),
            if verdicts.is_empty() { "none yet".to_owned() } else { verdicts.join(", ") },
            count(self.failures(), "failures"),
            count(sum(|totals| totals.pending), "pending"),
            count(sum(|totals| totals.skipped), "skipped"),
        )];
        let duplicates = self.sums.asks - self.sums.unmapped - self.sums.skipped - self.sums.requests();
        lines.push(format!(
            "{} for {} ({} were free), {} charged{}",
            count(self.sums.requests(), "requests"),
            count(self.sums.asks, "asks"),
            count(duplicates, "duplicates"),
            grouped(credits(manifest).0),
            match self.sums.account.held.0 {
                0 => String::new(),
                held => format!(", {} held", grouped(held)),
            },
        ));
        lines
    }

    fn doubts(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.in_doubt() > 0 {
            let until = self.oldest_doubt_us.map(|at| local_time(at + 70 * 3_600 * 1_000_000));
            lines.push(format!(
                "{} requests may have been charged and have no answer yet; running again before {} settles them at no cost",
                grouped(self.in_doubt()),
                until.unwrap_or_else(|| "their keys expire".to_owned()),
            ));
        }
        let quarantined = self.sums.in_state(State::Quarantined);
        if quarantined > 0 {
            lines.push(format!(
                "{} requests are quarantined: they may have been charged and their keys are too old to ask again; decide \
                 with `rescreen resolve {} --list`",
                grouped(quarantined),
                self.out.display()
            ));
        }
        lines
    }
}

/// Each reason once, in the order they came.
fn once(stops: Vec<Stop>) -> Vec<Stop> {
    let mut unique: Vec<Stop> = Vec::new();
    for stop in stops {
        if !unique.iter().any(|known| std::mem::discriminant(known) == std::mem::discriminant(&stop)) {
            unique.push(stop);
        }
    }
    unique
}

/// A number with its thousands parted by a comma.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        let texts: Vec<String> = [0, 999, 1_000, 14_719, 1_000_000].into_iter().map(grouped).collect();
        assert_eq!(texts, ["0", "999", "1,000", "14,719", "1,000,000"]);
    }
}
