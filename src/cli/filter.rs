//! `rescreen filter`: rows in on standard input, a row for each ask out on standard output, for engines that start a program for each
//! of their tasks. It runs the campaign with a ledger in a temporary folder; what must outlive the process is in the charge book.

use super::{
    campaign_args::CampaignArgs,
    output::{Message, OutputArgs, message},
    run::run_campaign,
    signals, stdout,
};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, Mode},
    pipeline::{self, NewPlace, RunOptions, campaign::flags},
};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

#[derive(Args)]
pub struct FilterArgs {
    /// Read a stream of Arrow data (IPC) from standard input, and write one with a row for each check of each row, in their order
    #[arg(long, required = true)]
    arrow: bool,
    #[command(flatten)]
    campaign: CampaignArgs,
    /// The partition of the campaign that the rows are, with a charge book. A second process with the same name waits until the first
    /// has ended [default: $JOB_COMPLETION_INDEX]
    #[arg(long, value_name = "NAME", help_heading = flags::INPUT)]
    partition: Option<String>,
    /// Do not ask for confirmation before a production run
    #[arg(short, long, help_heading = flags::BUDGET)]
    yes: bool,
}

pub async fn filter(mut args: FilterArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let paths = &mut args.campaign.settings.input.paths;
    if let Some(path) = paths.first() {
        let fault = "expected no input: the rows come from standard input. Use `rescreen run` for files";
        return Err(Error::Config(format!("{}: {fault}", path.display())));
    }
    *paths = vec![PathBuf::from("-")];
    let mut campaign = args.campaign.campaign()?;
    match &mut campaign.service.book {
        Some(book) => book.waits_for_place = true,
        None if campaign.mode == Mode::Production && !campaign.service.simulate => {
            let fault = "filter keeps no ledger, so a production run needs a charge book, or a repeated task would pay again: \
                         [ledger] book = { env = \"RESCREEN_BOOK\" } (see docs/many-machines.md)";
            return Err(Error::Config(fault.to_owned()));
        }
        None => {}
    }
    // Without a book, a rehearsal has no partitions.
    if let Some(partition) = args.partition.as_ref().filter(|_| campaign.service.book.is_some()) {
        campaign.service = campaign.service.in_partition(partition)?;
    }
    // Removed at the end, and by the next filter if this one is killed. A run creates its folder and the ledger in it.
    let place = NewPlace::begin(&campaign.out.with_extension(format!("filter-{}", std::process::id())), false)?;
    campaign.out = place.folder().join("out");
    campaign.ledger = campaign.out.join("ledger.sqlite");
    let yes = args.yes || campaign.service.simulate;
    let report = run_campaign(campaign.clone(), RunOptions::default(), yes, None, output).await?;
    let lines = if output.quiet { report.reasons() } else { report.lines() };
    // Where the failures are in the output folder is of no use when it is gone.
    let failed = report.failed();
    lines.iter().filter(|line| failed.as_ref() != Some(line)).for_each(|line| message(Message::Summary, line));
    if failed.is_some() {
        message(
            Message::Summary,
            "some asks failed: the column `dataset` of their rows is `failures`, and `code` says why",
        );
    }
    if report.manifest.is_none() {
        // Interrupted a second time. A stream without its end mark says so to its reader.
        return Ok(report.exit_code);
    }
    let stop = Arc::new(OnceLock::new());
    let (stopping, mut signals) = (Arc::clone(&stop), signals::listen());
    let listening = tokio::spawn(async move {
        if let Some(signal) = signals.recv().await {
            drop(stopping.set(signal.stop()));
        }
    });
    let out = Box::new(stdout::Rows { are_kept: false });
    let writing = move || pipeline::stream(&campaign, out, &|| stop.get().cloned());
    let written = tokio::task::spawn_blocking(writing).await.map_err(Error::from)?;
    listening.abort();
    drop(place);
    if stdout::is_closed() {
        return Ok(report.exit_code);
    }
    written?;
    if !report.is_finished() {
        message(Message::NextCommand, "some rows have no answer yet: filter the same rows again");
    }
    Ok(report.exit_code)
}
