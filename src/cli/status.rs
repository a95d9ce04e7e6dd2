//! `rescreen status`: shows the state of a campaign. It can be used while a run is writing.

use super::{
    chosen::{Choice, Chosen, choose},
    json, json_status,
    output::{lines_to_stdout, to_stdout},
    program::called,
    progress::humanize,
};
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use rescreen::{
    Error,
    ledger::{DatasetSeen, Published, PurgeRow, RunRow},
    model::{
        Clock, ExitCode, FailureCode, StopKind, clock::local_time, printable::printable, shell_words::quoted,
        state::State,
    },
    pipeline::{
        self, CampaignState, Status,
        campaign::SIMULATED_ORIGIN,
        wording::{counted, grouped},
    },
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

#[derive(Args)]
pub struct StatusArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// Campaign file whose campaign to show [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    config: Option<PathBuf>,
    /// File with the deliveries, if `rescreen listen` uses another than the one of this user
    #[arg(long, value_name = "FILE")]
    inbox: Option<PathBuf>,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub fn status(args: &StatusArgs) -> Result<ExitCode, Error> {
    let chosen = match choose("status", args.dir.as_deref(), args.config.as_deref())? {
        Choice::One(chosen) => chosen,
        Choice::Rehearsal(place) => {
            if !args.json {
                to_stdout(&format!("no campaign yet; this is the rehearsal {}", place.display()));
            }
            Chosen { place, out: None }
        }
        Choice::Several(folders) => return several(args, &folders),
    };
    let status = pipeline::status(&chosen.place)?;
    let update = pipeline::dataset_update(args.inbox.as_deref());
    if args.json {
        let fields = json_status::fields(&status, update.as_ref());
        json::print(&json::object(json::Format::Status, ExitCode::Complete, fields));
        return Ok(ExitCode::Complete);
    }
    lines(&status, &chosen.place).iter().for_each(|line| to_stdout(line));
    if let Some(update) = update {
        to_stdout(&format!("dataset updated {}   {}", local_time(update.received_at_us), update.kind));
    }
    Ok(ExitCode::Complete)
}

/// Several campaigns, each in one line: the last used first.
fn several(args: &StatusArgs, folders: &[PathBuf]) -> Result<ExitCode, Error> {
    let found: Vec<(&PathBuf, Result<Status, Error>)> =
        folders.iter().map(|folder| (folder, pipeline::status(folder))).collect();
    if args.json {
        let campaigns: Vec<_> = found.iter().map(|(folder, status)| json_status::summary(folder, status)).collect();
        let fields = serde_json::json!({ "campaigns": campaigns });
        json::print(&json::object(json::Format::Status, ExitCode::Complete, fields));
        return Ok(ExitCode::Complete);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(vec!["folder", "mode", "state", "requests", "credits", "last run"]);
    for (folder, status) in &found {
        let folder = printable(&folder.display().to_string()).into_owned();
        match status {
            Ok(status) => {
                let (all, open) = (status.sums.requests(), status.sums.open());
                table.add_row(vec![
                    folder,
                    status.identity.mode.to_string(),
                    state(status),
                    format!("{} of {}", grouped(all - open), grouped(all)),
                    grouped(status.sums.account.charged.0),
                    status.last_run.as_ref().map_or_else(|| "-".to_owned(), |run| local_time(last_time(run))),
                ]);
            }
            Err(_) => drop(table.add_row(vec![folder, "-".to_owned(), "cannot be read".to_owned()])),
        }
    }
    let text: Vec<String> = table.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    lines_to_stdout(&text.join("\n"));
    to_stdout("");
    to_stdout("`rescreen status FOLDER` shows one of them.");
    Ok(ExitCode::Complete)
}

fn last_time(run: &RunRow) -> i64 {
    run.end.as_ref().map_or(run.started_at_us, |end| end.at_us)
}

/// The state of a campaign in a few words.
fn state(status: &Status) -> String {
    let end = status.last_run.as_ref().and_then(|run| run.end.as_ref());
    match (status.state(), end.and_then(|end| end.kind.as_deref())) {
        (CampaignState::Killed, _) => "killed or crashed".to_owned(),
        (CampaignState::Stopped, Some(kind)) => format!("stopped: {}", printable(kind)),
        (CampaignState::NotComplete, _) => "not complete".to_owned(),
        (state, _) => state.as_str().to_owned(),
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

fn lines(status: &Status, place: &Path) -> Vec<String> {
    let (identity, sums) = (&status.identity, &status.sums);
    // The origin of a rehearsal says it already.
    let is_noted = sums.simulated == Some(true) && identity.origin != SIMULATED_ORIGIN;
    let simulated = if is_noted { " (simulated)" } else { "" };
    let mut lines =
        vec![format!("campaign {} · {}{simulated} · {}", identity.campaign, identity.mode, identity.origin)];
    lines.extend(last_run(status, place));
    lines.extend(progress(status));
    lines.extend([
        format!(
            "rows            {:>12}{}",
            grouped(sums.rows),
            if status.input_complete { "" } else { "   the input is not fully read yet" }
        ),
        format!("rejected        {:>12}", grouped(sums.unmapped + sums.unreadable)),
        format!("skipped         {:>12}", grouped(sums.skipped)),
        format!("requests        {:>12}", grouped(sums.requests())),
    ]);
    for state in State::ALL.into_iter().filter(|state| sums.in_state(*state) > 0) {
        let name = if state == State::Armed && status.is_in_use { "in flight" } else { state.as_str() };
        lines.push(format!("  {name:<14}{:>12}", grouped(sums.in_state(state))));
    }
    lines.extend(verdicts(status));
    lines.extend(failures(status));
    for mapping in &status.mappings {
        lines.push(format!(
            "mapping         {:>12}   rows of {} with its mapping since {}",
            grouped(mapping.rows),
            mapping.check,
            mapping
                .since
                .parse::<jiff::Timestamp>()
                .map_or_else(|_| mapping.since.clone(), |since| local_time(since.as_microsecond()))
        ));
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
    if let Some(at) = status.oldest_in_flight_us {
        lines.push(format!("in flight since {}   the oldest request in flight", local_time(at)));
    }
    if let Some(at) = status.oldest_doubt_us {
        let count = counted(status.in_doubt(), "request", "requests");
        lines.push(format!("in doubt since  {}   the oldest of {count} that may have been charged", local_time(at)));
    }
    if let Some(at) = status.paused_until_us(Clock::System.now_us()) {
        lines.push(format!("paused until    {}", local_time(at)));
    }
    lines.extend(pipeline::consent_lines(&status.consents));
    lines.extend(status.purges.iter().map(purge_line));
    if let Some(at) = sums.completed_at_us {
        lines.push(format!("complete since  {}", local_time(at)));
    }
    lines
}

/// `purged  12 rows, 20 requests, on 3 Nov 2026 10:00 by ann: request 17`
fn purge_line(purge: &PurgeRow) -> String {
    let PurgeRow { rows, requests, stamp, finished_at_us, .. } = purge;
    let reason = stamp.reason.as_deref().map_or_else(String::new, |reason| format!(": {}", printable(reason)));
    let end = if finished_at_us.is_none() { "; not finished: run `rescreen purge` again" } else { "" };
    format!(
        "purged          {}, {}, on {} by {}{reason}{end}",
        counted(*rows, "row", "rows"),
        counted(*requests, "request", "requests"),
        local_time(stamp.at_us),
        printable(&stamp.by)
    )
}

/// How the last run ended, and the command that continues it.
fn last_run(status: &Status, place: &Path) -> Vec<String> {
    let Some(run) = &status.last_run else { return Vec::new() };
    if status.is_in_use {
        return vec![match run.end {
            None => format!(
                "running         `rescreen {}` since {}",
                printable(&run.command),
                local_time(run.started_at_us)
            ),
            Some(_) => "running         a command has the ledger open".to_owned(),
        }];
    }
    let mut lines = Vec::new();
    match &run.end {
        None => lines.push(format!(
            "last run        did not end: it was killed, or the machine stopped; it began {}. Everything it sent is in \
             the ledger",
            local_time(run.started_at_us)
        )),
        Some(end) => {
            let verb = if end.exit_code == 0 || end.exit_code == 3 { "ended" } else { "stopped" };
            let kind = end.kind.as_ref().map(|kind| format!(" ({})", printable(kind))).unwrap_or_default();
            lines.push(format!("last run        {verb} {}, exit code {}{kind}", local_time(end.at_us), end.exit_code));
            lines.extend(end.message.as_ref().map(|message| format!("  {}", printable(message))));
        }
    }
    if run.end.as_ref().is_none_or(|end| !matches!(end.exit_code, 0 | 3)) {
        lines.push(next(run, place));
    }
    lines
}

/// The command that continues. Without one that a run on this machine has printed, it is made from the kind of the stop.
fn next(run: &RunRow, place: &Path) -> String {
    let of_place = |command: &str, more: &[&str]| {
        let place = place.display().to_string();
        let words = ["rescreen", command, &place].into_iter().chain(more.iter().copied());
        format!("  continue with: {}", quoted(&called(words.map(str::to_owned).collect())))
    };
    let kind = run.end.as_ref().and_then(|end| StopKind::from_name(end.kind.as_deref()?));
    match (&run.next_command, kind) {
        (Some(command), _) => format!("  continue with: {}", printable(command)),
        (None, Some(StopKind::Jobs)) => of_place("collect", &["--for", "2h"]),
        (None, Some(StopKind::Quarantine)) => of_place("resolve", &["--list"]),
        _ => "  continue with: the same command as before".to_owned(),
    }
}

/// How far sending is, how fast, and until when.
fn progress(status: &Status) -> Vec<String> {
    let sums = &status.sums;
    let Some(percent) = status.percent().filter(|_| status.sums.completed_at_us.is_none()) else { return Vec::new() };
    let settled = sums.requests() - sums.open();
    // A campaign with one open request of many is not at 100 %.
    let percent = (percent * 10.0).floor() / 10.0;
    let mut lines = vec![format!(
        "progress        {percent:>10.1} %   {} of {} requests",
        grouped(settled),
        grouped(sums.requests())
    )];
    if !status.is_in_use {
        if let Some(per_minute) = status.per_minute_max.filter(|rate| *rate > 0 && status.to_send() > 0) {
            let left = Duration::from_secs(status.to_send().saturating_mul(60) / u64::from(per_minute));
            let rate = grouped(per_minute.into());
            let line = format!("time left       {:>12}   at {rate} a minute, once it runs", humanize(left));
            lines.extend((left > Duration::ZERO).then_some(line));
        }
        return lines;
    }
    lines.push(match status.per_minute {
        Some(rate) => {
            format!("rate            {:>12}   answers a minute, in the last minutes", grouped(rate.round() as u64))
        }
        None => format!("rate            {:>12}   not known yet", "…"),
    });
    if let Some(left) = status.time_left_us() {
        let until = Clock::System.now_us().saturating_add(left);
        let left = Duration::from_micros(u64::try_from(left).unwrap_or_default());
        lines.push(format!("time left       {:>12}   until {}", humanize(left), local_time(until)));
    }
    lines
}

/// The published rows by verdict, a line for each check.
fn verdicts(status: &Status) -> Vec<String> {
    let is_purged = !status.purges.is_empty();
    let line = |of_check: &Published| {
        let verdicts: Vec<String> = of_check
            .by_verdict
            .iter()
            .map(|(verdict, count)| format!("{} {}", grouped(*count), printable(verdict)))
            .collect();
        let verdicts = match verdicts[..] {
            [] if is_purged => "none, or purged".to_owned(),
            [] => "none published yet".to_owned(),
            _ => verdicts.join(", "),
        };
        format!("results         {:>12}   {}: {verdicts}", grouped(of_check.rows), printable(&of_check.check))
    };
    status.published.iter().map(line).collect()
}

/// The failed asks by code, a line for each check.
fn failures(status: &Status) -> Vec<String> {
    let line = |(check, codes): (&Option<String>, &BTreeMap<FailureCode, u64>)| {
        let sum: u64 = codes.values().sum();
        let codes: Vec<String> =
            codes.iter().map(|(code, count)| format!("{} {}", grouped(*count), code.as_str())).collect();
        let check = check.as_deref().map_or_else(|| "all checks".into(), printable);
        format!("failures        {:>12}   {check}: {}", grouped(sum), codes.join(", "))
    };
    status.failures.iter().map(line).collect()
}
