//! `rescreen run`: runs a campaign, or resumes it.

use super::{
    campaign_args::CampaignArgs,
    next_command::{next_command, typed},
    output::{OutputArgs, is_terminal, to_stderr},
    progress, signals,
    simulate::BuiltIn,
};
use clap::Args;
use rescreen::{
    Error,
    client::origin_of,
    mapping::FieldFeed,
    model::{ExitCode, FailureCode, Mode, clock::local_time, nearest::hint},
    pipeline::{Campaign, Prepared, Progress, RetryOrder, RunOptions, RunReport, Tap},
};
use std::{
    io::{BufRead, Write},
    time::Duration,
};
use tokio::sync::watch;

#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Ask again for failures that are proven uncharged: all, or those of one code
    #[arg(long, value_name = "CODE", num_args = 0..=1, default_missing_value = "all")]
    retry: Option<String>,
    /// With --retry: also failures that may have been charged, as the balance fell without an explanation
    #[arg(long, requires = "retry")]
    retry_unproven: bool,
    /// Drain, publish and end after this long, like 50m
    #[arg(long = "for", value_name = "D", value_parser = humantime::parse_duration)]
    at_most: Option<Duration>,
    /// Also write the result rows to standard output, as JSON lines, when their part is published
    #[arg(long)]
    stdout: bool,
    /// Begin anew where the ledger is lost; old results are set aside
    #[arg(long)]
    new_ledger: bool,
    /// Go on with an older copy of the ledger; what it does not know may be paid for again
    #[arg(long)]
    accept_older_ledger: bool,
    /// Do not ask before production
    #[arg(short, long)]
    yes: bool,
    /// Send although an earlier run stopped for a price or a guard and nothing has changed since
    #[arg(long)]
    continue_anyway: bool,
    /// Send although the service asked an earlier run to wait
    #[arg(long)]
    lift_pause: bool,
}

pub async fn run(args: RunArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let options = RunOptions {
        at_most: args.at_most,
        retry: match &args.retry {
            Some(code) => Some(RetryOrder { code: retry_code(code)?, unproven: args.retry_unproven }),
            None => None,
        },
        tap: args.stdout.then(|| Box::new(std::io::stdout()) as Tap),
        continue_anyway: args.continue_anyway,
        lift_pause: args.lift_pause,
    };
    let mut campaign = args.campaign.campaign()?;
    campaign.new_ledger = args.new_ledger;
    campaign.accept_older_ledger = args.accept_older_ledger;
    campaign.command = typed();
    let yes = args.yes || campaign.service.simulate;
    let report = run_campaign(campaign, options, yes, output).await?;
    print_report(&report, &typed(), output);
    Ok(report.exit_code)
}

/// Prepares, says what it will do, asks where that is due, and does it.
pub async fn run_campaign(
    mut campaign: Campaign,
    options: RunOptions,
    yes: bool,
    output: &OutputArgs,
) -> Result<RunReport, Error> {
    let simulator = if campaign.service.simulate { Some(BuiltIn::start(&mut campaign).await?) } else { None };
    let prepared = Prepared::open(campaign).await?;
    output.say(&first_line(prepared.campaign(), &prepared.key_hint()));
    if let Some(folder) = prepared.set_aside() {
        let what = if prepared.campaign().new_ledger {
            "a new ledger was begun; what was here before is in"
        } else {
            "this copy of the ledger does not know all results; they are published again, and those from before are in"
        };
        output.say(&format!("{what} {}", folder.display()));
    }
    print_feeds(&prepared.feeds(), output);
    if prepared.campaign().key_secret_stands_in {
        output.say("the key secret comes from a program, and a rehearsal starts none: its keys differ from those of a real run");
    }
    if let Some(note) = prepared.rate_note() {
        output.say(note);
    }
    if prepared.campaign().mode == Mode::Production && !yes {
        confirm(prepared.campaign())?;
    }
    let (progress, seen) = watch::channel(Progress::default());
    let shown = progress::show(output, seen, prepared.campaign().service.rate.per_minute);
    let report = prepared.go(options, signals::listen(), progress).await;
    drop(shown);
    drop(simulator);
    report
}

/// `PRODUCTION · host · key …4c1 · campaign 2026-11`
pub fn first_line(campaign: &Campaign, key_hint: &str) -> String {
    let mode = campaign.mode.as_str().to_uppercase();
    let service = match (campaign.service.simulate, campaign.service.url.as_deref()) {
        (false, Some(url)) => {
            // Letters of another script may look like Latin ones: such a host is shown as it is looked up.
            let url = if url.is_ascii() { url.to_owned() } else { origin_of(url) };
            url.split("://").nth(1).unwrap_or(&url).split('/').next().unwrap_or_default().to_owned()
        }
        _ => "simulator".to_owned(),
    };
    format!("{mode} · {service} · key {key_hint} · campaign {}", campaign.name)
}

/// Which column feeds which field: where the program chose, it says so.
pub fn print_feeds(feeds: &[FieldFeed], output: &OutputArgs) {
    for feed in feeds {
        let chosen = if feed.by_name { " (by its name)" } else { "" };
        output.say(&format!("  {}.{} ← {}{chosen}", feed.check_name, feed.field, feed.from));
    }
}

/// Production is begun by typing what it may cost.
fn confirm(campaign: &Campaign) -> Result<(), Error> {
    let limit = campaign.allowance.limit.unwrap_or_default();
    if !is_terminal() {
        return Err(Error::Config("production wants --yes where nobody can be asked".to_owned()));
    }
    let mut stderr = std::io::stderr();
    drop(write!(stderr, "This may cost up to {limit} credits. Type the figure to go on: "));
    drop(stderr.flush());
    let mut typed = String::new();
    let read = std::io::stdin().lock().read_line(&mut typed);
    match read {
        Ok(_) if typed.trim().replace([',', ' '], "") == limit.to_string() => Ok(()),
        _ => Err(Error::Config("the figure was not typed; nothing was sent".to_owned())),
    }
}

/// The end of a run: what it came to, why it stopped, where the outputs are, and the command that continues. Why and how to
/// continue are said also when nothing else is wanted.
pub fn print_report(report: &RunReport, words: &[String], output: &OutputArgs) {
    if report.was_complete
        && let Some(at) = report.sums.completed_at_us
    {
        output.say(&format!("complete since {}, nothing sent; a new round is a new --campaign", local_time(at)));
    }
    if output.quiet {
        report.reasons().iter().for_each(|line| to_stderr(line))
    } else {
        report.lines().iter().for_each(|line| to_stderr(line))
    }
    output.say(&format!("outputs: {}", report.out.display()));
    let is_finished = matches!(report.exit_code, ExitCode::Complete | ExitCode::Failures);
    if is_finished {
        return;
    }
    let has_no_command = report.leaves_rows() && report.command.is_empty() && report.decision_command().is_none();
    to_stderr(&if has_no_command {
        "rows are left that were not sent: run the campaign again, with the command that it was run with".to_owned()
    } else {
        format!("go on with: {}", next_command(words, report))
    });
}

fn retry_code(text: &str) -> Result<Option<FailureCode>, Error> {
    if text == "all" {
        return Ok(None);
    }
    let codes = FailureCode::ALL.map(FailureCode::as_str);
    match FailureCode::ALL.into_iter().find(|code| code.as_str() == text) {
        Some(code) => Ok(Some(code)),
        None => Err(Error::Config(format!("--retry {text}: no such failure code{}", hint(text, codes)))),
    }
}
