//! After the last life the service works, and the campaign must finish: run after run makes progress, and a person
//! decides what only a person can.

use super::{
    files::restore_for_doubts,
    life::{API_KEYS, Life},
    oddities::{Oddity, is_played},
    progress::neglected,
    script::PLENTY,
    stage::Stage,
};
use rescreen::{
    ledger::{CommitMode, Decision},
    pipeline::{self, Resolution},
    simulator::JobFaults,
};
use std::time::Duration;

/// The most lives after the service works, and the hours between them: first runs in quick succession, then beyond the
/// life of any key.
const LAST_RESTS: [u64; 20] = [1, 1, 1, 1, 1, 1, 13, 13, 13, 13, 13, 13, 13, 1, 1, 1, 13, 13, 1, 1];
/// The longest pause that a run obeys: a service may ask for years.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 3_600 + 60);
/// Runs with a working service after which no request may be left that none of them sent.
const RUNS_TO_SEND_ALL: usize = 6;

impl Stage {
    /// From here on the service works, except for the rows that it always treats badly. Returns whether the campaign is
    /// finished.
    pub async fn heal(&mut self, lives: &[Life]) -> bool {
        let rows = self.script.oddities.rows.as_deref().unwrap_or("");
        self.simulator.set_faults(rows.parse().expect("the script names faults that are"));
        self.simulator.set_job_faults(JobFaults::none());
        self.simulator.set_balance(2 * PLENTY);
        if is_played(Oddity::Progress) {
            // The longest pause that the service asks for has ended.
            tokio::time::sleep(PAUSE_MAX).await;
        }
        let prices = lives.last().map_or([1, 1], |life| life.prices);
        let keys: Vec<&str> =
            API_KEYS.into_iter().filter(|key| lives.iter().any(|life| life.api_key == *key)).collect();
        let mut before = self.audit.standing();
        let healed_at = self.wire.sent();
        let mut sent_before = healed_at;
        let mut runs = 0;
        // A run of this round ended with a decision for a person.
        let mut named = false;
        for (at, hours) in LAST_RESTS.into_iter().enumerate() {
            let sent = self.wire.sent();
            let rest = Duration::from_secs(hours * 3_600);
            let life = Life { guards_off: true, ..Life::quiet(keys[at % keys.len()], prices, rest) };
            if let Some(documents) = self.script.documents() {
                restore_for_doubts(self.folder.path(), documents, at);
            }
            // Jobs end when the service says so, which takes up to 48 hours.
            if self.one(&life).await && !self.audit.has_jobs() {
                return true;
            }
            // A run that only waits for the end of a pause does not count as one of those that must send everything.
            runs += usize::from(self.wire.sent() > sent);
            named |= self.named;
            if (at + 1).is_multiple_of(keys.len()) && is_played(Oddity::Progress) {
                let (after, log) = (self.audit.standing(), self.wire.log());
                // A run that ends with a decision for a person, or as the service asks, stops early; but the next ones
                // continue from there.
                let all = runs >= RUNS_TO_SEND_ALL;
                let round = if all { healed_at } else { sent_before };
                // More rows that are never answered than end a run, and nothing else left. Requests in doubt wait for a
                // clock to be set, and the run says so.
                let excused = self.unanswered || named && !all || self.apart && after.planned == 0;
                if let Some(fault) = neglected(&before, &after, &log[round..]).filter(|_| !excused) {
                    self.audit.fault(format!("after {} last runs: {fault}", at + 1));
                }
                (before, sent_before, named) = (after, log.len(), false);
            }
            self.decide(at < LAST_RESTS.len() / 2).await;
        }
        false
    }

    /// A person decides about the quarantined requests. A job that always fails and states no charge is sent again for a
    /// while only.
    async fn decide(&mut self, may_send_again: bool) {
        let out = self.folder.path().join("out");
        let waiting = pipeline::quarantined(&out).map_or(0, |waiting| waiting.len());
        if waiting == 0 {
            return;
        }
        let decision =
            if self.script.written_off || !may_send_again { Decision::WriteOff } else { Decision::SendAgain };
        let (clock, commit_mode) = (self.clocks.ours(), CommitMode::Inline);
        let resolution = Resolution {
            decision,
            reason: "the desk was asked",
            decided_by: "somebody",
            include_in_doubt: false,
            secret: None,
            clock,
            commit_mode,
        };
        match pipeline::decide(&out, &[], &resolution).await {
            Ok(_) => self.log.push(format!("{waiting} quarantined: {decision:?}")),
            Err(error) => self.audit.fault(format!("the decision was refused: {error}")),
        }
    }
}
