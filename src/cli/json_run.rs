//! The JSON of `rescreen run` and `rescreen collect`.

use super::{
    json::{stop, time},
    json_status::{codes, credits, jobs, requests},
};
use rescreen::{
    ledger::FailuresByCode,
    model::{Credits, Mode, state::State},
    pipeline::{Campaign, RunReport, campaign::file::Share},
    sink::{CheckTotals, MANIFEST_NAME},
};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What a report does not say about its campaign.
pub struct About {
    campaign: String,
    mode: Mode,
    service: String,
    limit: Option<Credits>,
    accept_failures: Option<Share>,
    pub ledger: PathBuf,
}

impl About {
    pub fn of(campaign: &Campaign) -> About {
        About {
            campaign: campaign.name.clone(),
            mode: campaign.mode,
            service: campaign.origin(),
            limit: campaign.allowance.limit,
            accept_failures: campaign.guards.accept_failures,
            ledger: campaign.ledger.clone(),
        }
    }
}

/// The fields of a run that has ended.
pub fn fields(about: &About, report: &RunReport, failures: &FailuresByCode) -> Value {
    let sums = &report.sums;
    let run = report.run.as_ref();
    let ended_at_us = run.map(|run| run.ended_at_us);
    json!({
        "campaign": about.campaign,
        "mode": about.mode,
        "service": about.service,
        "simulated": if report.rehearsal { Some(true) } else { sums.simulated },
        "run": run.map(|run| json!({
            "id": run.id,
            "started_at": time(run.started_at_us),
            "ended_at": time(run.ended_at_us),
        })),
        "complete": report.manifest.as_ref().is_some_and(|manifest| manifest.complete),
        "stop": report.reason().map(|reason| stop(
            report.exit_code as u8,
            reason.kind.as_str(),
            Some(&reason.message),
            ended_at_us.unwrap_or_default(),
            report.next_command.as_deref(),
            report.credits_needed().map(|credits| credits.0),
        )),
        "messages": report.reasons(),
        "rows": sums.rows,
        "unreadable_rows": sums.unreadable,
        "asks": sums.asks,
        "requests": requests(sums),
        "duplicates": sums.duplicates(),
        "reused": report.reused,
        "attempts": sums.attempts,
        "answered_in_this_run": report.sent.answered,
        "checks": report.manifest.as_ref().map(|manifest| {
            manifest.totals.iter().map(|totals| check(totals, failures)).collect::<Vec<_>>()
        }),
        "unreadable_row_codes": codes(failures, None),
        "failures": report.failures(),
        "accept_failures": about.accept_failures.map(share),
        "credits": credits(sums),
        "max_credits": about.limit,
        "unexplained_credits": report.sent.unexplained,
        "jobs": jobs(&report.open_jobs),
        "quarantined": sums.in_state(State::Quarantined),
        "oldest_doubt_at": time(report.oldest_doubt_us),
        "unrecognised": report.unrecognised,
        "judged_differently": report.judged_differently,
        "outputs": report.out.display().to_string(),
        "manifest": report.manifest.as_ref().map(|_| report.out.join(MANIFEST_NAME).display().to_string()),
    })
}

fn check(totals: &CheckTotals, failures: &FailuresByCode) -> Value {
    json!({
        "check": totals.check,
        "asks": totals.asks,
        "results": totals.results,
        "failures": totals.failures,
        "pending": totals.pending,
        "skipped": totals.skipped,
        "credits": totals.credits,
        "verdicts": totals.by_verdict,
        "failure_codes": codes(failures, Some(&totals.check)),
    })
}

/// As in a campaign file: a count, or a percentage as text.
fn share(share: Share) -> Value {
    match share {
        Share::Count(count) => count.into(),
        Share::Percent(percent) => format!("{percent}%").into(),
    }
}
