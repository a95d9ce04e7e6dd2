//! `evidence.json`: who ran what, when and with which settings, and the counts that the other files add up to.

use super::bundle::ChainEnd;
use crate::{
    error::Error,
    ledger::{Consent, CorrectionsMade, DecisionsMade, Reading, RunRow, ServiceMove},
    model::{clock::utc_time, state::State},
    pipeline::report_page::figures::Figures,
    sink::{CheckTotals, InputTotals, LedgerMark, Manifest, OutputMode},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The name of the file.
pub const FACTS: &str = "evidence.json";
/// The other files, and the folder with the manifest, which has the published files too if they are included.
pub const ASKS: &str = "asks.jsonl";
pub const REQUESTS: &str = "requests.jsonl";
pub const DECISIONS: &str = "decisions.jsonl";
pub const PAGE: &str = "index.html";
pub const OUTPUTS: &str = "outputs";
/// The version of the format. A reader refuses another one.
pub const EVIDENCE_VERSION: u32 = 1;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub evidence_version: u32,
    /// `rescreen <version>`, which made the evidence. Each run names the version that made it.
    pub program: String,
    /// UTC, in ISO 8601.
    pub made_at: String,
    pub made_by: String,
    pub campaign: String,
    pub mode: OutputMode,
    /// The address of the service.
    pub service: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_moves: Vec<ServiceMove>,
    pub ledger: LedgerMark,
    /// Every row of the input is accounted for.
    pub complete: bool,
    pub input: InputTotals,
    /// The asks of each check, as in the manifest.
    pub checks: Vec<CheckTotals>,
    pub requests: RequestTotals,
    pub runs: Vec<Value>,
    /// Decisions of persons about requests that may have been charged, and corrected charges.
    pub decided_requests: Vec<Value>,
    pub corrected_rows: Vec<Value>,
    pub consents: Vec<Value>,
    /// Removals of personal data, without the subjects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purges: Vec<Value>,
    /// The ends of `asks.jsonl` and `requests.jsonl`.
    pub asks_end: ChainEnd,
    pub requests_end: ChainEnd,
    /// The end of `decisions.jsonl`, if there are decisions about matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions_end: Option<ChainEnd>,
    /// Whether `outputs/` has the published files. Otherwise it has only the manifest, which names their digests.
    pub has_outputs: bool,
}

/// The requests of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RequestTotals {
    /// How many are in each state.
    pub states: BTreeMap<State, u64>,
    /// How often one was sent.
    pub sent: u64,
    pub credits_charged: u64,
    pub credits_held: u64,
}

/// What is not in the ledger or the manifest.
pub struct Making {
    pub made_at_us: i64,
    pub made_by: String,
    pub asks_end: ChainEnd,
    pub requests_end: ChainEnd,
    pub decisions_end: Option<ChainEnd>,
    pub has_outputs: bool,
}

/// The path of a campaign file in the evidence, by its number in the ledger.
pub fn campaign_file(number: i64) -> String {
    format!("campaign/{number}.toml")
}

impl Facts {
    /// The facts of a campaign whose outputs are published.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn of(reading: &Reading, figures: &Figures, manifest: &Manifest, making: Making) -> Result<Facts, Error> {
        let Making { made_at_us, made_by, asks_end, requests_end, decisions_end, has_outputs } = making;
        let (identity, sums) = (&figures.status.identity, &figures.status.sums);
        let runs = reading.last_runs(u64::MAX)?;
        Ok(Facts {
            evidence_version: EVIDENCE_VERSION,
            program: concat!("rescreen ", env!("CARGO_PKG_VERSION")).to_owned(),
            made_at: time(made_at_us),
            made_by,
            campaign: identity.campaign.clone(),
            mode: figures.mode,
            service: identity.origin.clone(),
            service_moves: sums.service_moves.clone(),
            ledger: LedgerMark { id: reading.ledger_id()?, commits: reading.commits()? },
            complete: manifest.complete,
            input: figures.input.clone(),
            checks: manifest.totals.clone(),
            requests: RequestTotals {
                states: sums
                    .requests
                    .iter()
                    .filter(|(_, count)| **count > 0)
                    .map(|(state, count)| (*state, *count))
                    .collect(),
                sent: sums.attempts,
                credits_charged: sums.account.charged.0,
                credits_held: sums.account.held.0,
            },
            runs: runs.iter().rev().map(run).collect(),
            decided_requests: reading.decisions(u64::MAX)?.0.iter().map(decided).collect(),
            corrected_rows: figures.corrections.iter().map(corrected).collect(),
            consents: figures.consents.iter().map(consent).collect(),
            purges: figures.status.purges.iter().map(|purge| json!(purge)).collect(),
            asks_end,
            requests_end,
            decisions_end,
            has_outputs,
        })
    }
}

fn run(run: &RunRow) -> Value {
    let end = run.end.as_ref();
    json!({
        "run": run.number,
        "id": run.id,
        "command": run.command,
        "program": format!("rescreen {}", run.program),
        "started_by": run.started_by,
        "started_at": time(run.started_at_us),
        "ended_at": end.map(|end| time(end.at_us)),
        "exit_code": end.map(|end| end.exit_code),
        "stopped_for": end.and_then(|end| end.kind.as_deref()),
        "message": end.and_then(|end| end.message.as_deref()),
        "campaign_file": run.campaign_text.map(campaign_file),
    })
}

fn decided(made: &DecisionsMade) -> Value {
    json!({
        "decision": made.decision,
        "requests": made.requests,
        "by": made.decided_by,
        "first_at": time(made.first_us),
        "last_at": time(made.last_us),
        "reason": made.reason,
        "charged_before": made.charged.map(|(before, _)| before),
        "charged_after": made.charged.map(|(_, after)| after),
    })
}

fn corrected(made: &CorrectionsMade) -> Value {
    let source = &made.source;
    json!({
        "asks": made.asks,
        "by": source.corrected_by,
        "at": time(source.corrected_at_us),
        "file_sha256": source.sha256,
    })
}

fn consent(consent: &Consent) -> Value {
    let Consent { check, evidence, recorded_by, recorded_at_us } = consent;
    json!({ "check": check, "evidence": evidence, "by": recorded_by, "at": time(*recorded_at_us) })
}

fn time(at_us: i64) -> String {
    utc_time(at_us).unwrap_or_default()
}
