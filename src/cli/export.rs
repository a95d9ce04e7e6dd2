//! `rescreen export`: publishes all results of a campaign into a new folder, judged by the current declarations. It uses
//! only the ledger, sends nothing and changes nothing.

use super::{output::OutputArgs, signals, status::folder};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, Stop},
    pipeline::{self, ExportOrder, wording::counted},
    sink::OutputFormat,
};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

#[derive(Args)]
pub struct ExportArgs {
    /// Output folder [default: the only one in out/]
    dir: Option<PathBuf>,
    /// Folder to create and write to; it must not exist
    #[arg(long, value_name = "NEW_FOLDER")]
    to: PathBuf,
    /// Campaign file whose declarations judge the answers [default: those of the last run]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Format of the files: parquet or jsonl [default: that of the campaign]
    #[arg(long, value_name = "FORMAT")]
    format: Option<OutputFormat>,
}

pub async fn export(args: ExportArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let place = folder(args.dir.as_deref())?;
    let stop: Arc<OnceLock<Stop>> = Arc::default();
    let (stopping, mut signals) = (Arc::clone(&stop), signals::listen());
    let listening = tokio::spawn(async move {
        if let Some(signal) = signals.recv().await {
            drop(stopping.set(signal.stop()));
        }
    });
    let to = args.to.clone();
    let exporting = tokio::task::spawn_blocking(move || {
        let order = ExportOrder { place: &place, to: &args.to, config: args.config.as_deref(), format: args.format };
        pipeline::export(&order, &|| stop.get().cloned())
    });
    let manifest = exporting.await.map_err(Error::from)??;
    listening.abort();
    let results: u64 = manifest.totals.iter().map(|totals| totals.results).sum();
    let pending: u64 = manifest.totals.iter().map(|totals| totals.pending).sum();
    output.say(&format!("{}, {pending} pending", counted(results, "result", "results")));
    output.say(&format!("exported to: {}", to.display()));
    Ok(ExitCode::Complete)
}
