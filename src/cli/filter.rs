//! `rescreen filter`: rows in on standard input, a row for each check of each row out on standard output, for engines that start a
//! program for each of their tasks. It runs the campaign with a ledger in a temporary folder; what must outlive the process is in the
//! charge book.
//!
//! All rows are read before anything is sent: a task whose rows broke off pays for nothing, and the program that writes them never waits
//! for one that writes results.

use super::{
    campaign_args::CampaignArgs,
    output::{Message, OutputArgs, message},
    run::Ready,
    signals, stdout,
};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, Mode},
    pipeline::{self, Campaign, Input, NewPlace, RunOptions, campaign::flags},
    source::{ARROW_STREAM_START, Origin, SourceOptions, SourceReader},
};
use std::{
    io::{self, BufWriter, Read},
    path::{Path, PathBuf},
};

/// What the rows are called in messages and in the column `source`.
const NAME: &str = "-";

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

pub async fn filter(args: FilterArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let yes = args.yes;
    let mut campaign = campaign(args)?;
    // Removed at the end, and by the next filter here if this one is killed.
    let place = NewPlace::begin(&campaign.out.with_extension(format!("filter-{}", std::process::id())), false)?;
    let rows = place.folder().join("rows");
    let (to, options) = (rows.clone(), campaign.source_options.clone());
    campaign.inputs = vec![Input { name: NAME.to_owned(), path: Some(rows) }];
    campaign.out = place.folder().join("out");
    campaign.ledger = campaign.out.join("ledger.sqlite");
    let mut signals = signals::listen();
    stdout::end_with_reader();
    let yes = yes || campaign.service.simulate;
    // It may wait long for its rows, and for its partition.
    let opening = async {
        tokio::task::spawn_blocking(move || take(&to, &options)).await.map_err(Error::from)??;
        Ready::open(campaign.clone(), yes, output).await
    };
    let ready = tokio::select! {
        biased;
        Some(signal) = signals.recv() => return Err(Error::Stopped(signal.stop())),
        ready = opening => ready?,
    };
    if let Err(error) = pipeline::check_stream(ready.campaign()) {
        ready.leave().await;
        return Err(error);
    }
    let report = ready.go(RunOptions::default(), signals, None, output).await?;
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
    // Without one, it was interrupted a second time.
    let is_whole = report.manifest.is_some() && write(campaign).await?;
    drop(place);
    if !report.is_finished() && !stdout::is_closed() {
        let lacks = if is_whole { "some rows have no answer yet" } else { "rows are missing" };
        message(Message::NextCommand, &format!("{lacks}: filter the same rows again"));
    }
    Ok(report.exit_code)
}

/// The campaign, with the rows of standard input.
fn campaign(mut args: FilterArgs) -> Result<Campaign, Error> {
    let input = &mut args.campaign.settings.input;
    if let Some(path) = input.paths.first() {
        let fault = "expected no input: the rows come from standard input. Use `rescreen run` for files";
        return Err(Error::Config(format!("{}: {fault}", path.display())));
    }
    input.paths = vec![PathBuf::from(NAME)];
    let mut campaign = args.campaign.campaign()?;
    if campaign.source_options.limit_rows.is_some() {
        let fault = "--limit (or [input] limit): a filter writes a row for every row; give it fewer rows";
        return Err(Error::Config(fault.to_owned()));
    }
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
    Ok(campaign)
}

/// Takes all rows of standard input into a file, and reads them once.
fn take(rows: &Path, options: &SourceOptions) -> Result<(), Error> {
    let failed = |fault: io::Error| Error::Config(format!("the rows of standard input cannot be kept: {fault}"));
    let mut start = Vec::new();
    let mut input = io::stdin().lock();
    input.by_ref().take(ARROW_STREAM_START.len() as u64).read_to_end(&mut start).map_err(failed)?;
    if start != ARROW_STREAM_START {
        let fault = "standard input: expected a stream of Arrow data (IPC), found something else; `rescreen run` reads other formats";
        return Err(Error::Config(fault.to_owned()));
    }
    let mut file = std::fs::File::create_new(rows).map_err(failed)?;
    io::copy(&mut start.chain(input), &mut file).map_err(failed)?;
    let mut reader = SourceReader::open(NAME.into(), Origin::File(rows.to_owned()), options, None)?;
    while reader.next_split()?.is_some() {}
    Ok(())
}

/// Writes the rows. Returns whether all were written.
async fn write(campaign: Campaign) -> Result<bool, Error> {
    let interrupted = signals::first();
    let out = Box::new(BufWriter::new(stdout::Rows { are_kept: false }));
    let writing = move || pipeline::stream(&campaign, out, &interrupted);
    let written = tokio::task::spawn_blocking(writing).await.map_err(Error::from)?;
    if stdout::is_closed() { Ok(false) } else { written }
}
