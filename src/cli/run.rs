//! `rescreen run`: runs a campaign, or resumes it.

use super::{
    afterwards::Afterwards,
    campaign_args::{CampaignArgs, CorrectionArgs},
    json,
    metrics::{Metrics, MetricsArgs, MetricsGuard},
    next_command::{again, next_command, typed},
    output::{Message, OutputArgs, is_terminal, message, question},
    progress, signals,
    simulate::BuiltIn,
    stdout,
    summary::{Summary, SummaryArgs},
};
use clap::Args;
use rescreen::{
    Error,
    client::origin_of,
    mapping::FieldFeed,
    model::{
        Credits, ExitCode, FailureCode, Mode, clock::local_time, duration::parse_duration, nearest::hint,
        shell_words::quoted,
    },
    pipeline::{
        Campaign, NextCommand, Prepared, Progress, RetryOrder, RunEnded, RunOptions, RunReport, Signal, Tap,
        campaign::flags,
        wording::{counted, grouped},
    },
    sink::OutputMode,
};
use std::{io::BufRead, time::Duration};
use tokio::sync::{mpsc, watch};

#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub campaign: CampaignArgs,
    /// Retry failures that were provably not charged: all of them, or those with this failure code
    #[arg(long, value_name = "CODE", num_args = 0..=1, default_missing_value = "all", help_heading = flags::RESUME)]
    retry: Option<String>,
    /// With --retry, also retry failures that may have been charged, which is assumed if the balance fell without
    /// explanation
    #[arg(long, requires = "retry", help_heading = flags::RESUME)]
    retry_unproven: bool,
    #[command(flatten)]
    corrections: CorrectionArgs,
    /// After this time (such as 50m), send nothing more, wait for replies, publish and exit
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration, help_heading = flags::STOPS)]
    at_most: Option<Duration>,
    /// The partition of the campaign in this input, if several workers run partitions of it with a charge book [default:
    /// $JOB_COMPLETION_INDEX]
    #[arg(long, value_name = "NAME", help_heading = flags::INPUT)]
    partition: Option<String>,
    /// Also write result rows to standard output as JSON Lines, when their part is published
    #[arg(long, conflicts_with = "json", help_heading = flags::OUTPUT)]
    stdout: bool,
    /// Start over if the ledger is lost; existing results are moved to a subfolder
    #[arg(long, help_heading = flags::RESUME)]
    new_ledger: bool,
    /// Continue with an older copy of the ledger; requests it does not record may be paid for again
    #[arg(long, help_heading = flags::RESUME)]
    accept_older_ledger: bool,
    #[command(flatten)]
    metrics: MetricsArgs,
    /// Do not ask for confirmation before a production run
    #[arg(short, long, help_heading = flags::BUDGET)]
    yes: bool,
    /// Send although an earlier run stopped because of a price or a guard and nothing has changed since
    #[arg(long, help_heading = flags::RESUME)]
    continue_anyway: bool,
    /// Send even if the service asked an earlier run to wait
    #[arg(long, help_heading = flags::RESUME)]
    lift_pause: bool,
    /// Publish answers that no rule recognises as final results, with the verdict `unrecognised`
    #[arg(long, help_heading = flags::RESUME)]
    accept_unrecognised: bool,
    #[command(flatten)]
    pub summary: SummaryArgs,
}

pub async fn run(args: RunArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let mut summary = Summary::begin(json::Format::Run, &args.summary)?;
    let ran = run_to_its_end(args, &mut summary, output).await;
    summary.finish(ran)
}

async fn run_to_its_end(args: RunArgs, summary: &mut Summary, output: &OutputArgs) -> Result<RunReport, Error> {
    let options = RunOptions {
        at_most: args.at_most,
        corrections: args.corrections.corrections(),
        retry: match &args.retry {
            Some(code) => Some(RetryOrder { code: retry_code(code)?, unproven: args.retry_unproven }),
            None => None,
        },
        tap: args.stdout.then(|| Box::new(stdout::Rows { are_kept: true }) as Tap),
        continue_anyway: args.continue_anyway,
        lift_pause: args.lift_pause,
        accept_unrecognised: args.accept_unrecognised,
        next_command: Some(next_line(typed())),
    };
    let mut campaign = args.campaign.campaign()?;
    if let Some(partition) = &args.partition {
        campaign.service = campaign.service.in_partition(partition)?;
    }
    campaign.new_ledger = args.new_ledger;
    campaign.accept_older_ledger = args.accept_older_ledger;
    campaign.command = typed();
    let yes = args.yes || campaign.service.simulate;
    summary.is_about(&campaign);
    let afterwards = Afterwards::of(&campaign);
    let metrics = args.metrics.bind().await?;
    let report = run_campaign(campaign, options, yes, metrics, output).await?;
    print_report(&report, output);
    afterwards.print(&report, output);
    Ok(report)
}

/// Prepares the run, prints what it will do, asks for confirmation if needed, and runs it.
pub async fn run_campaign(
    campaign: Campaign,
    options: RunOptions,
    yes: bool,
    metrics: Option<Metrics>,
    output: &OutputArgs,
) -> Result<RunReport, Error> {
    Ready::open(campaign, yes, output).await?.go(options, signals::listen(), metrics, output).await
}

/// A run that was prepared and confirmed.
pub struct Ready {
    prepared: Prepared,
    simulator: Option<BuiltIn>,
}

impl Ready {
    /// Prepares the run, prints what it will do, and asks for confirmation if needed.
    pub async fn open(mut campaign: Campaign, yes: bool, output: &OutputArgs) -> Result<Ready, Error> {
        let simulator = if campaign.service.simulate { Some(BuiltIn::start(&mut campaign).await?) } else { None };
        let prepared = Prepared::open(campaign).await?;
        banner(prepared.campaign(), &prepared.key_hint()).iter().for_each(|line| output.say(line));
        if let Some(folder) = prepared.set_aside() {
            let what = if prepared.campaign().new_ledger {
                "a new ledger was started; the previous contents are in"
            } else {
                "this copy of the ledger does not record all results; they are published again, and the previous ones \
                     are in"
            };
            output.say(&format!("{what} {}", folder.display()));
        }
        if let Some(folder) = prepared.read_afresh() {
            output.say(&format!(
                "the input has changed since it was read, and nothing was sent: it is read afresh; what was read before is in {}",
                folder.display()
            ));
        }
        prepared.read_again().iter().for_each(|rows| output.say(&rows.line()));
        print_feeds(&prepared.feeds(), output);
        for changed in prepared.changed_mappings()? {
            output.say(&changed.message());
        }
        if prepared.campaign().key_secret_is_placeholder {
            output.say(
                "the key secret comes from a program, which a rehearsal does not start: its keys differ from those of a \
                 real run",
            );
        }
        if let Some(note) = prepared.rate_note() {
            output.say(note);
        }
        let is_asked = prepared.campaign().mode == Mode::Production && !yes;
        if is_asked && let Err(error) = confirm(prepared.campaign(), prepared.used()) {
            prepared.leave().await;
            return Err(error);
        }
        Ok(Ready { prepared, simulator })
    }

    pub fn campaign(&self) -> &Campaign {
        self.prepared.campaign()
    }

    /// Leaves the partition that it would run.
    pub async fn leave(self) {
        self.prepared.leave().await;
    }

    /// Runs it.
    pub async fn go(
        self,
        options: RunOptions,
        signals: mpsc::Receiver<Signal>,
        metrics: Option<Metrics>,
        output: &OutputArgs,
    ) -> Result<RunReport, Error> {
        let (progress, seen) = watch::channel(Progress::default());
        let served = serve(metrics, &seen, output);
        let shown = progress::show(output, seen);
        let report = self.prepared.go(options, signals, progress).await;
        drop((shown, served));
        drop(self.simulator);
        report
    }
}

/// Serves the metrics, if that is asked for, and says where.
pub fn serve(
    metrics: Option<Metrics>,
    progress: &watch::Receiver<Progress>,
    output: &OutputArgs,
) -> Option<MetricsGuard> {
    let metrics = metrics?;
    output.say(&metrics.note);
    Some(metrics.serve(progress.clone()))
}

/// What a command that sends says first: its mode, service and campaign, the campaign file that it uses, and whether the
/// answers are invented.
pub fn banner(campaign: &Campaign, key_hint: &str) -> Vec<String> {
    let mut lines = head_lines(campaign, key_hint);
    lines.extend(OutputMode::of(campaign.mode, campaign.service.simulate).warning());
    lines
}

/// Mode, service, key and campaign, and the campaign file that is used.
pub fn head_lines(campaign: &Campaign, key_hint: &str) -> Vec<String> {
    let file = campaign.file.as_ref().map(|path| format!("campaign file: {}", path.display()));
    std::iter::once(first_line(campaign, key_hint)).chain(file).collect()
}

/// `PRODUCTION · host · key …4c1 · campaign 2026-11`, and the proxy if there is one. An invalid proxy is reported when the
/// service is first called.
pub fn first_line(campaign: &Campaign, key_hint: &str) -> String {
    let mode = campaign.mode.as_str().to_uppercase();
    let service = match (campaign.service.simulate, campaign.service.settings.url.as_deref()) {
        (false, Some(url)) => {
            // Characters of another script may look like Latin ones, so such a host is shown in the encoded form used
            // for DNS.
            let url = if url.is_ascii() { url.to_owned() } else { origin_of(url) };
            url.split("://").nth(1).unwrap_or(&url).split('/').next().unwrap_or_default().to_owned()
        }
        _ => "simulator".to_owned(),
    };
    let proxy = campaign.service.proxy_in_use().ok().flatten();
    let proxy = proxy.map(|proxy| format!(" · proxy {proxy}")).unwrap_or_default();
    format!("{mode} · {service}{proxy} · key {key_hint} · campaign {}", campaign.name)
}

/// Prints which column feeds which field, and whether the column was matched by name.
pub fn print_feeds(feeds: &[FieldFeed], output: &OutputArgs) {
    for feed in feeds {
        let chosen = if feed.by_name { " (by name)" } else { "" };
        output.say(&format!("  {}.{} ← {}{chosen}", feed.check_name, feed.field, feed.from));
    }
}

/// Asks the user to confirm a production run by typing its limit. `used` is what earlier runs charged and hold of it.
fn confirm(campaign: &Campaign, used: Credits) -> Result<(), Error> {
    let limit = campaign.allowance.limit.unwrap_or_default();
    if !is_terminal() {
        return Err(Error::Config(
            "a production run needs confirmation, and there is no terminal to ask on; add --yes".to_owned(),
        ));
    }
    let most = limit.saturating_sub(used);
    let used = if used > Credits::ZERO { format!(", of which {} are used", grouped(used.0)) } else { String::new() };
    question(&format!(
        "This may cost up to {}: the limit is {}{used}; `rescreen plan` shows the expected cost. Type {limit} to \
         continue: ",
        counted(most.0, "credit", "credits"),
        grouped(limit.0)
    ));
    let mut typed = String::new();
    let read = std::io::stdin().lock().read_line(&mut typed);
    match read {
        Ok(_) if typed.trim().replace([',', ' '], "") == limit.to_string() => Ok(()),
        _ => Err(Error::Config(format!(
            "expected {limit}, the limit in credits, found another answer; nothing was sent"
        ))),
    }
}

/// Prints the end of a run: its totals, why it stopped, where the outputs are, and the command that continues. Why it
/// stopped and how to continue are printed even with `--quiet`, and also that there was nothing to do: a schedule that
/// only repeats a finished campaign checks no one any more.
pub fn print_report(report: &RunReport, output: &OutputArgs) {
    if report.remarks.was_complete
        && let Some(at) = report.sums.completed_at_us
    {
        let since = local_time(at);
        message(
            Message::Summary,
            &format!("complete since {since}, nothing sent; for a new round, use a new --campaign"),
        );
    }
    if output.quiet {
        report.reasons().iter().for_each(|line| message(about(line), line))
    } else {
        report.lines().iter().for_each(|line| message(about(line), line))
    }
    output.say(&format!("outputs: {}", report.out.display()));
    if report.is_finished() {
        return;
    }
    let next = match &report.next_command {
        Some(command) => format!("continue with: {command}"),
        None => "some rows were not sent: run the campaign again, with the same command as before".to_owned(),
    };
    message(Message::NextCommand, &next);
}

/// What a line of a report is about.
fn about(line: &str) -> Message {
    if line.starts_with("stopped:") { Message::Stopped } else { Message::Summary }
}

/// Makes the command that continues this command line; none if the campaign is finished, or if only another command
/// line continues it, which is not known.
pub fn next_line(words: Vec<String>) -> NextCommand {
    Box::new(move |ended| match ended {
        RunEnded::Reported(report) => {
            let is_unknown = report.leaves_rows() && report.command.is_empty() && report.decision_command().is_none();
            (!report.is_finished() && !is_unknown).then(|| next_command(&words, report))
        }
        RunEnded::Failed(error) => json::Failed::of(error, &words).next_command,
        RunEnded::Killed => Some(quoted(&again(&words))),
    })
}

fn retry_code(text: &str) -> Result<Option<FailureCode>, Error> {
    if text == "all" {
        return Ok(None);
    }
    let codes = FailureCode::ALL.map(FailureCode::as_str);
    match FailureCode::ALL.into_iter().find(|code| code.as_str() == text) {
        Some(code) => Ok(Some(code)),
        None => Err(Error::Config(format!("--retry {text}: expected a failure code{}", hint(text, codes)))),
    }
}
