//! `rescreen book status`: the accounts of a charge book, and how far the partitions of their campaigns are.

use super::PlaceArgs;
use crate::cli::{
    json,
    output::{to_stderr, to_stdout},
    table::of_page,
};
use clap::Args;
use rescreen::{
    Error,
    book::{self, AccountName, AccountRow},
    model::{
        Clock, Credits, ExitCode, Mode,
        clock::local_time,
        printable::printable,
        shared_partition::{CampaignRow, PartitionOutputs, PartitionRow, PartitionState},
    },
    pipeline::wording::{counted, grouped},
};
use serde_json::{Value, json};

#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn status(args: StatusArgs) -> Result<ExitCode, Error> {
    let accounts = book::accounts(&args.place.find()?.address).await?;
    if args.json {
        let fields = json!({ "accounts": accounts.iter().map(account_fields).collect::<Vec<_>>() });
        json::print(&json::object(json::Format::Book, ExitCode::Complete, fields));
        return Ok(ExitCode::Complete);
    }
    if accounts.is_empty() {
        to_stderr("the charge book has no account yet; the first run that uses it adds one");
    }
    for (at, row) in accounts.iter().enumerate() {
        if at > 0 {
            to_stdout("");
        }
        lines(row).iter().for_each(|line| to_stdout(line));
    }
    Ok(ExitCode::Complete)
}

fn lines(row: &AccountRow) -> Vec<String> {
    let AccountName { origin, name } = &row.account;
    let mut lines = vec![format!(
        "account {} at {}: {} requests a minute, at most {} in any",
        name, origin, row.per_minute, row.per_minute_max
    )];
    if let Some(halt) = &row.halt {
        lines.push(format!("  halted at {} by {}: {}", local_time(halt.at_us), halt.worker, halt.message));
    }
    if let Some(until_us) = row.paused_until_us {
        lines.push(format!("  waits until {}: the service asked for it", local_time(until_us)));
    }
    if row.campaigns.is_empty() {
        lines.push("  no campaign".to_owned());
    }
    for campaign in &row.campaigns {
        lines.push(String::new());
        lines.extend(campaign_lines(campaign).iter().map(|line| format!("  {line}")));
    }
    lines
}

fn campaign_lines(campaign: &CampaignRow) -> Vec<String> {
    let mode = if campaign.mode == Mode::Production.as_str() { String::new() } else { format!(" ({})", campaign.mode) };
    let lacks = campaign.lacks();
    let state = if lacks.is_empty() { "complete".to_owned() } else { format!("not complete: {}", lacks.join(", ")) };
    let mut lines = vec![format!("campaign {}{mode}: {state}", campaign.campaign)];
    let PartitionOutputs { rows, results, failures, pending, skipped, .. } = campaign.outputs();
    let (charged, held) = campaign.charged_and_held();
    lines.push(format!(
        "{} of {} complete; {}: {}, {}, {} pending, {} skipped; {} charged, {} held",
        campaign.complete(),
        counted(campaign.expected.unwrap_or(campaign.partitions.len() as u64), "partition", "partitions"),
        counted(rows, "row", "rows"),
        counted(results, "result", "results"),
        counted(failures, "failure", "failures"),
        grouped(pending),
        grouped(skipped),
        counted(charged.0, "credit", "credits"),
        grouped(held.0),
    ));
    lines.extend(campaign.remarks());
    let mut table = of_page(&["partition", "state", "rows", "pending", "charged", "held", "worker"]);
    for partition in &campaign.partitions {
        let count = |count: fn(&PartitionOutputs) -> u64| {
            partition.outputs.as_ref().map_or("-".to_owned(), |outputs| grouped(count(outputs)))
        };
        table.add_row([
            if partition.name.is_empty() { "(whole)".to_owned() } else { printable(&partition.name).into_owned() },
            state_of(partition),
            count(|outputs| outputs.rows),
            count(|outputs| outputs.pending),
            grouped(partition.charged.0),
            grouped(partition.held.0),
            partition.worker.as_deref().map_or("-".to_owned(), |worker| printable(worker).into_owned()),
        ]);
    }
    lines.extend(table.to_string().lines().map(|line| line.trim_end().to_owned()));
    lines
}

/// The state of a partition, and how long its worker has been silent. The clocks of the book and of this machine may differ by
/// some seconds.
fn state_of(partition: &PartitionRow) -> String {
    let state = match partition.state {
        PartitionState::Silent => {
            let silent_us = Clock::System.now_us().saturating_sub(partition.seen_at_us.unwrap_or_default());
            let minutes = silent_us.max(0).unsigned_abs() / 60_000_000;
            format!("silent {} min", grouped(minutes.max(1)))
        }
        state => state.as_str().to_owned(),
    };
    if partition.is_expected { state } else { format!("{state}, not expected") }
}

fn account_fields(row: &AccountRow) -> Value {
    json!({
        "service": row.account.origin,
        "account": row.account.name,
        "per_minute": row.per_minute,
        "per_minute_max": row.per_minute_max,
        "paused_until": json::time(row.paused_until_us),
        "halt": row.halt.as_ref().map(|halt| json!({
            "code": halt.exit_code,
            "message": halt.message,
            "worker": halt.worker,
            "at": json::time(halt.at_us),
        })),
        "campaigns": row.campaigns.iter().map(campaign_fields).collect::<Vec<_>>(),
    })
}

fn campaign_fields(campaign: &CampaignRow) -> Value {
    let lacks = campaign.lacks();
    let (charged, held) = campaign.charged_and_held();
    json!({
        "campaign": campaign.campaign,
        "mode": campaign.mode,
        "complete": lacks.is_empty(),
        "lacks": lacks,
        "partitions_expected": campaign.expected,
        "partitions_complete": campaign.complete(),
        "outputs": counts(&campaign.outputs()),
        "credits": credits(charged, held),
        "remarks": campaign.remarks(),
        "partitions": campaign.partitions.iter().map(partition_fields).collect::<Vec<_>>(),
    })
}

fn partition_fields(partition: &PartitionRow) -> Value {
    let outputs = partition.outputs.as_ref();
    json!({
        "partition": partition.name,
        "state": partition.state.as_str(),
        "expected": partition.is_expected,
        "worker": partition.worker,
        "began_at": json::time(partition.began_at_us),
        "seen_at": json::time(partition.seen_at_us),
        "outputs": outputs.map(counts),
        "manifest_sha256": outputs.map(|outputs| &outputs.manifest),
        "credits": credits(partition.charged, partition.held),
    })
}

fn counts(outputs: &PartitionOutputs) -> Value {
    let PartitionOutputs { rows, results, failures, pending, skipped, credits, .. } = outputs;
    json!({
        "rows": rows,
        "results": results,
        "failures": failures,
        "pending": pending,
        "skipped": skipped,
        "credits": credits,
    })
}

fn credits(charged: Credits, held: Credits) -> Value {
    json!({ "charged": charged, "held": held })
}
