//! `rescreen collect`: settles requests that were sent, reads the results of jobs and publishes, using only the ledger.

use super::{
    afterwards::Afterwards,
    chosen, json,
    metrics::MetricsArgs,
    next_command::typed,
    output::OutputArgs,
    progress,
    reach::{ReachArgs, URL_OF_A_LEDGER},
    run::{first_line, next_line, print_report, serve},
    signals,
    simulate::BuiltIn,
    summary::{Summary, SummaryArgs},
};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, duration::parse_duration},
    pipeline::{CollectOptions, Collection, EarlierStop, NamedService, Progress, RunReport, consent_lines},
};
use std::{path::PathBuf, time::Duration};
use tokio::sync::watch;

#[derive(Args)]
#[command(mut_arg("url", |url| url.help(URL_OF_A_LEDGER)))]
pub struct CollectArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// Campaign file that says where the API key is [default: read RESCREEN_API_KEY]; answers are judged by its
    /// declarations
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    service: ReachArgs,
    /// The service moved from this URL to the one of --service; requests in doubt are repeated at the new one
    #[arg(long, value_name = "OLD_URL")]
    service_moved_from: Option<String>,
    /// Folder of the results, if the ledger is in another folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Ask for jobs again until all have ended, for at most this time (such as 2h) [default: ask for each job once]
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    at_most: Option<Duration>,
    /// Send even if the service asked an earlier run to wait
    #[arg(long)]
    lift_pause: bool,
    /// Publish answers that no rule recognises as final results, with the verdict `unrecognised`
    #[arg(long)]
    accept_unrecognised: bool,
    #[command(flatten)]
    metrics: MetricsArgs,
    /// Continue with an older copy of the ledger; requests it does not record may be paid for again
    #[arg(long)]
    accept_older_ledger: bool,
    #[command(flatten)]
    pub summary: SummaryArgs,
}

pub async fn collect(args: CollectArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let mut summary = Summary::begin(json::Format::Collect, &args.summary)?;
    let collected = collect_to_its_end(args, &mut summary, output).await;
    summary.finish(collected)
}

async fn collect_to_its_end(args: CollectArgs, summary: &mut Summary, output: &OutputArgs) -> Result<RunReport, Error> {
    let chosen = chosen::one("collect", args.dir.as_deref(), args.config.as_deref())?;
    let out = args.out.or(chosen.out);
    let metrics = args.metrics.bind().await?;
    let named = NamedService { url: args.service.url.as_deref(), moved_from: args.service_moved_from.as_deref() };
    let mut collection = Collection::find(&chosen.place, out, args.config.as_deref(), named)?;
    collection.campaign_mut().accept_older_ledger = args.accept_older_ledger;
    collection.campaign_mut().service.settings.proxy_flag = args.service.proxy;
    summary.is_about(collection.campaign());
    let afterwards = Afterwards::of(collection.campaign());
    let simulated = collection.campaign().service.simulate;
    let simulator = if simulated { Some(BuiltIn::start(collection.campaign_mut()).await?) } else { None };
    // No API key is needed if there is nothing to send.
    let hint = collection.campaign().service.api_key().map_or_else(|_| "none".to_owned(), |key| key.hint());
    output.say(&format!("{} · collecting", first_line(collection.campaign(), &hint)));
    consent_lines(collection.consents()).iter().for_each(|line| output.say(line));
    let (progress, seen) = watch::channel(Progress::default());
    let served = serve(metrics, &seen, output);
    let shown = progress::show(output, seen);
    let options = CollectOptions {
        at_most: args.at_most,
        earlier_stop: EarlierStop { lift_pause: args.lift_pause, ..EarlierStop::default() },
        accept_unrecognised: args.accept_unrecognised,
        next_command: Some(next_line(typed())),
    };
    let report = collection.collect(options, signals::listen(), progress).await;
    drop((shown, served));
    drop(simulator);
    let report = report?;
    print_report(&report, output);
    afterwards.print(&report, output);
    Ok(report)
}
