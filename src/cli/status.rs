//! `rescreen status`: shows the state of a campaign. It can be used while a run is writing.

use super::output::{json_to_stdout, to_stdout};
use clap::Args;
use rescreen::{
    Error,
    ledger::DatasetSeen,
    model::{ExitCode, clock::local_time, printable::printable, state::State},
    pipeline::{
        self, Status,
        wording::{counted, grouped},
    },
};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct StatusArgs {
    /// Output folder [default: the only one in out/]
    dir: Option<PathBuf>,
    /// File with the deliveries, if `rescreen listen` uses another than the one of this user
    #[arg(long, value_name = "FILE")]
    inbox: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn status(args: &StatusArgs) -> Result<ExitCode, Error> {
    let status = pipeline::status(&folder(args.dir.as_deref())?)?;
    let update = pipeline::dataset_update(args.inbox.as_deref());
    if args.json {
        let mut json = status.to_json();
        json["dataset_update"] = update.map_or(
            Value::Null,
            |update| serde_json::json!({ "kind": update.kind, "received_at_us": update.received_at_us }),
        );
        json_to_stdout(&json.to_string());
        return Ok(ExitCode::Complete);
    }
    lines(&status).iter().for_each(|line| to_stdout(line));
    if let Some(update) = update {
        to_stdout(&format!("dataset updated {}   {}", local_time(update.received_at_us), update.kind));
    }
    Ok(ExitCode::Complete)
}

/// The folder named on the command line, or else the only one in `out/`.
pub fn folder(dir: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(dir) = dir {
        return Ok(dir.to_owned());
    }
    let entries =
        std::fs::read_dir("out").map(|entries| entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>());
    let mut found: Vec<PathBuf> = entries.unwrap_or_default();
    found.retain(|path| path.join("ledger.sqlite").exists());
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Error::Config("expected a campaign in out/, found none; name its output folder".to_owned())),
        several => {
            let names: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
            Err(Error::Config(format!(
                "expected one campaign in out/, found several: {}; name one of them",
                names.join(", ")
            )))
        }
    }
}

/// The versions of the service's list that a check was answered with, if there are several: their answers may not be
/// alike.
fn dataset_line(check: &str, seen: &[DatasetSeen]) -> Option<String> {
    let shown = |one: &DatasetSeen| {
        let count = counted(one.answers, "answer", "answers");
        format!("{} ({count} from {})", printable(&one.version), local_time(one.first_us))
    };
    let all = || seen.iter().map(shown).collect::<Vec<_>>().join(", then ");
    (seen.len() > 1).then(|| {
        format!("the list of {check} changed during this campaign: {}; see the column `dataset_version`", all())
    })
}

fn lines(status: &Status) -> Vec<String> {
    let (identity, sums) = (&status.identity, &status.sums);
    let simulated = if sums.simulated == Some(true) { " (simulated)" } else { "" };
    let mut lines = vec![
        format!("campaign {} · {}{simulated} · {}", identity.campaign, identity.mode, identity.origin),
        format!(
            "rows            {:>12}{}",
            grouped(sums.rows),
            if status.input_complete { "" } else { "   the input is not fully read yet" }
        ),
        format!("rejected        {:>12}", grouped(sums.unmapped + sums.unreadable)),
        format!("skipped         {:>12}", grouped(sums.skipped)),
        format!("requests        {:>12}", grouped(sums.requests())),
    ];
    for state in State::ALL.into_iter().filter(|state| sums.in_state(*state) > 0) {
        lines.push(format!("  {:<14}{:>12}", state.as_str(), grouped(sums.in_state(state))));
    }
    if status.unrecognised > 0 {
        lines.push(format!(
            "unrecognised    {:>12}   answered and paid for, but no rule recognises the answer: see pending/",
            grouped(status.unrecognised)
        ));
    }
    if status.judged_differently > 0 {
        lines.push(format!(
            "judged differently by the current declaration: {}   published rows stay as they are; `rescreen export` \
             publishes all results judged by it",
            grouped(status.judged_differently)
        ));
    }
    if status.parts_to_compare > 0 {
        lines.push(format!(
            "{} not compared with the current declaration yet: run the campaign, or `rescreen collect`",
            counted(status.parts_to_compare, "result file is", "result files are")
        ));
    }
    lines.extend(status.declared.iter().map(|declared| format!("declared by you {declared}")));
    lines.push(format!("attempts        {:>12}", grouped(sums.attempts)));
    lines.push(format!("credits charged {:>12}", grouped(sums.account.charged.0)));
    lines.push(format!("credits held    {:>12}", grouped(sums.account.held.0)));
    if let Some(reading) = sums.account.reading {
        lines.push(format!("balance         {:>12}   read {}", grouped(reading.balance.0), local_time(reading.at_us)));
    }
    for (check, seen) in &sums.datasets {
        lines.extend(dataset_line(check, seen));
    }
    if let (Some(oldest), Some(next)) = (status.jobs.oldest_us, status.jobs.next_us) {
        lines.push(format!(
            "jobs            {:>12}   the oldest since {}, the next one is asked for at {} or later: `rescreen collect`",
            grouped(status.jobs.count),
            local_time(oldest),
            local_time(next)
        ));
    }
    if let Some(at) = status.oldest_doubt_us {
        lines.push(format!("in doubt since  {}", local_time(at)));
    }
    if let Some(at) = status.paused_until_us(jiff::Timestamp::now().as_microsecond()) {
        lines.push(format!("paused until    {}", local_time(at)));
    }
    lines.extend(pipeline::consent_lines(&status.consents));
    if let Some(at) = sums.completed_at_us {
        lines.push(format!("complete since  {}", local_time(at)));
    }
    lines
}
