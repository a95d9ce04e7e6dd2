//! The JSON of `rescreen status`.

use super::json::{stop, time};
use rescreen::{
    Error,
    ledger::{Consent, DatasetSeen, FailuresByCode, OpenJobs, Published, RunRow, Sums},
    model::{Clock, state::State},
    pipeline::Status,
    webhook::Newest,
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, path::Path};

/// The fields of one campaign.
pub fn fields(status: &Status, update: Option<&Newest>) -> Value {
    let sums = &status.sums;
    json!({
        "campaign": status.identity.campaign,
        "mode": status.identity.mode,
        "service": status.identity.origin,
        "simulated": sums.simulated,
        "ledger": status.ledger.display().to_string(),
        "state": status.state().as_str(),
        "running": status.is_in_use,
        "last_run": status.last_run.as_ref().map(last_run),
        "last_stop": status.last_run.as_ref().and_then(last_stop),
        "percent": percent(status),
        "per_minute": status.per_minute.map(|rate| rate.round() as u64),
        "ends_at": time(status.time_left_us().map(|left| Clock::System.now_us().saturating_add(left))),
        "rows": sums.rows,
        "unreadable_rows": sums.unreadable,
        "asks": sums.asks,
        "unmapped": sums.unmapped,
        "skipped": sums.skipped,
        "requests": requests(sums),
        "attempts": sums.attempts,
        "checks": checks(status),
        "unreadable_row_codes": codes(&status.failures, None),
        "in_doubt": status.in_doubt(),
        "unrecognised": status.unrecognised,
        "judged_differently": status.judged_differently,
        "parts_to_compare": status.parts_to_compare,
        "declared": status.declared,
        "mappings": status.mappings,
        "credits": credits(sums),
        "input_complete": status.input_complete,
        "consents": status.consents.iter().map(consent).collect::<Vec<_>>(),
        "purges": status.purges,
        "datasets": datasets(&sums.datasets),
        "jobs": jobs(&status.jobs),
        "oldest_in_flight_at": time(status.oldest_in_flight_us),
        "oldest_doubt_at": time(status.oldest_doubt_us),
        "paused_until": time(sums.paused_until_us),
        "completed_at": time(sums.completed_at_us),
        "dataset_update": update.map(|update| json!({
            "kind": update.kind,
            "received_at": time(update.received_at_us),
        })),
    })
}

/// The line of one campaign of several.
pub fn summary(folder: &Path, status: &Result<Status, Error>) -> Value {
    let folder = folder.display().to_string();
    match status {
        Ok(status) => json!({
            "folder": folder,
            "campaign": status.identity.campaign,
            "mode": status.identity.mode,
            "state": status.state().as_str(),
            "percent": percent(status),
            "credits_charged": status.sums.account.charged,
            "last_stop": status.last_run.as_ref().and_then(last_stop),
            "error": Value::Null,
        }),
        Err(error) => json!({
            "folder": folder,
            "campaign": Value::Null,
            "mode": Value::Null,
            "state": "unreadable",
            "percent": Value::Null,
            "credits_charged": Value::Null,
            "last_stop": Value::Null,
            "error": error.to_string(),
        }),
    }
}

/// The progress in percent, with one decimal, rounded down.
fn percent(status: &Status) -> Option<f64> {
    status.percent().map(|percent| (percent * 10.0).floor() / 10.0)
}

fn last_run(run: &RunRow) -> Value {
    json!({
        "id": run.id,
        "command": run.command,
        "program_version": run.program,
        "started_at": time(run.started_at_us),
        "ended_at": time(run.end.as_ref().map(|end| end.at_us)),
        "exit_code": run.end.as_ref().map(|end| end.exit_code),
    })
}

/// Why the last run did not end as complete.
fn last_stop(run: &RunRow) -> Option<Value> {
    let end = run.end.as_ref()?;
    Some(stop(
        end.exit_code,
        end.kind.as_deref()?,
        end.message.as_deref(),
        end.at_us,
        run.next_command.as_deref(),
        end.credits_needed,
    ))
}

/// The credits of a campaign over all its runs, and the account's balance when it was last read.
pub fn credits(sums: &Sums) -> Value {
    let reading = sums.account.reading;
    json!({
        "charged": sums.account.charged,
        "held": sums.account.held,
        "balance": reading.map(|reading| reading.balance),
        "balance_read_at": time(reading.map(|reading| reading.at_us)),
    })
}

/// The jobs at the service without a result.
pub fn jobs(jobs: &OpenJobs) -> Value {
    json!({ "open": jobs.count, "oldest_at": time(jobs.oldest_us), "next_question_at": time(jobs.next_us) })
}

/// The number of requests in each state.
pub fn requests(sums: &Sums) -> Value {
    let states = State::ALL.map(|state| (state.as_str().to_owned(), sums.in_state(state).into()));
    Value::Object(Map::from_iter(states))
}

/// The failed asks of a check by code.
pub fn codes(failures: &FailuresByCode, check: Option<&str>) -> Value {
    let found = failures.iter().find(|(name, _)| name.as_deref() == check);
    let codes = found.into_iter().flat_map(|(_, codes)| codes).map(|(code, n)| (code.as_str().to_owned(), (*n).into()));
    Value::Object(codes.collect())
}

fn checks(status: &Status) -> Value {
    let check = |one: &Published| {
        json!({
            "check": one.check,
            "results": one.rows,
            "verdicts": one.by_verdict,
            "failure_codes": codes(&status.failures, Some(&one.check)),
        })
    };
    status.published.iter().map(check).collect()
}

fn consent(one: &Consent) -> Value {
    json!({
        "check": one.check,
        "evidence": one.evidence,
        "recorded_by": one.recorded_by,
        "recorded_at": time(one.recorded_at_us),
    })
}

fn datasets(seen: &BTreeMap<String, Vec<DatasetSeen>>) -> Value {
    let one = |seen: &DatasetSeen| json!({ "version": seen.version, "answers": seen.answers, "first_at": time(seen.first_us), "last_at": time(seen.last_us) });
    let of_check = |(check, seen): (&String, &Vec<DatasetSeen>)| (check.clone(), seen.iter().map(one).collect());
    Value::Object(seen.iter().map(of_check).collect())
}
