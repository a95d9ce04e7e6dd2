//! `rescreen purge`: removes the personal data of a campaign, or of single subjects, from its ledger and its outputs. It
//! sends nothing.

use super::{chosen, json, output::OutputArgs};
use clap::Args;
use rescreen::{
    Error,
    model::{
        Clock, ExitCode,
        clock::{local_time, utc_time},
        duration::Age,
        field::tidy,
        printable::printable,
    },
    pipeline::{self, PurgeOrder, PurgeReport, PurgeWhat, wording::counted},
};
use std::path::PathBuf;

#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").args(["older_than", "subjects"]).required(true))]
pub struct PurgeArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// Purge the whole campaign if its newest row and answer are older than this, such as 5y, 18mo or 90d
    #[arg(long, value_name = "AGE", value_parser = Age::parse)]
    older_than: Option<Age>,
    /// Purge the rows of this subject: a value of the column that [input] id names; repeatable
    #[arg(long = "subject", value_name = "ID")]
    subjects: Vec<String>,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Purge although the ledger has lost commits, as an older copy has
    #[arg(long)]
    accept_older_ledger: bool,
    /// Reason, such as the number of a request; recorded with the name and the time
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Person who purges [default: your user name]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Campaign file whose campaign is meant [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    config: Option<PathBuf>,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn purge(mut args: PurgeArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let chosen = chosen::one_to_show("purge", args.dir.as_deref(), args.config.as_deref())?;
    // As the values of the column are recorded.
    args.subjects.iter_mut().for_each(|subject| *subject = tidy(subject));
    let (dry_run, is_json) = (args.dry_run, args.json);
    let purging = tokio::task::spawn_blocking(move || {
        let order = PurgeOrder {
            place: &chosen.place,
            out: chosen.out.as_deref(),
            what: args.older_than.map_or(PurgeWhat::Subjects(&args.subjects), PurgeWhat::OlderThan),
            by: &args.by.unwrap_or_else(pipeline::system_user),
            reason: args.reason.as_deref(),
            dry_run: args.dry_run,
            accept_older_ledger: args.accept_older_ledger,
            clock: Clock::System,
        };
        pipeline::purge(&order)
    });
    let report = purging.await.map_err(Error::from)??;
    lines(&report, dry_run).iter().for_each(|line| output.say(line));
    if is_json {
        json::print(&json::object(json::Format::Purge, ExitCode::Complete, as_json(&report, dry_run)));
    }
    Ok(ExitCode::Complete)
}

fn lines(report: &PurgeReport, dry_run: bool) -> Vec<String> {
    let counts = &report.counts;
    let mut lines = Vec::new();
    if let Some(due_us) = report.due_us {
        let newest = report.newest_us.map_or_else(|| "unknown".to_owned(), local_time);
        let due = if due_us == i64::MAX { "never".to_owned() } else { format!("on {}", local_time(due_us)) };
        lines.push(format!("nothing to purge: the newest data is of {newest}, and reaches this age {due}"));
    } else if counts.asks == 0 {
        lines.push("nothing more to purge: no row is left that this purge means".to_owned());
    } else {
        lines.push(format!(
            "{}: {}, {}, and the content of {}",
            if dry_run { "would be purged" } else { "purged" },
            counted(counts.rows, "row", "rows"),
            counted(counts.asks, "ask", "asks"),
            counted(counts.requests, "request", "requests"),
        ));
        lines.push(format!(
            "kept: when each of them was sent, how it ended, and that it cost {}",
            counted(counts.credits.0, "credit", "credits")
        ));
        if counts.shared > 0 {
            let requests = counted(counts.shared, "request keeps its content", "requests keep their content");
            lines.push(format!("{requests}, because rows that stay ask the same"));
        }
    }
    match (report.is_unfinished, dry_run) {
        (true, true) => {
            lines.push("an earlier purge was interrupted; without --dry-run, this command finishes it".to_owned())
        }
        (true, false) => lines.push("an earlier purge was interrupted, and is finished now".to_owned()),
        _ => {}
    }
    if counts.crossed > 0 {
        let answers = counted(counts.crossed, "answer", "answers");
        lines.push(format!(
            "{answers} of rows that stay may be about a purged person, because the service answered another request: see the \
             finding `echo_mismatch`"
        ));
    }
    if report.unattributed > 0 {
        let rows = counted(report.unattributed, "row has", "rows have");
        lines.push(format!("{rows} no subject, or could not be read, and stay: look for the person there"));
    }
    if counts.asks > 0 {
        lines.push("out of reach, if they exist:".to_owned());
        lines.extend(report.copies.iter().map(|copy| format!("  {}", printable(copy))));
    }
    lines
}

fn as_json(report: &PurgeReport, dry_run: bool) -> serde_json::Value {
    let counts = &report.counts;
    serde_json::json!({
        "campaign": report.campaign,
        "path": report.out.display().to_string(),
        "dry_run": dry_run,
        "rows": counts.rows,
        "asks": counts.asks,
        "requests": counts.requests,
        "shared_requests": counts.shared,
        "credits": counts.credits.0,
        "unattributed_rows": report.unattributed,
        "crossed_answers": counts.crossed,
        "interrupted_before": report.is_unfinished,
        "newest_data_at": report.newest_us.and_then(utc_time),
        "due_at": report.due_us.and_then(utc_time),
        "copies": report.copies,
    })
}
