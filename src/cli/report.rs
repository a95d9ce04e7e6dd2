//! `rescreen report`: writes one HTML page about a campaign. It uses only the ledger and the manifest, sends nothing and
//! changes nothing.

use super::{chosen, json, output::OutputArgs};
use clap::Args;
use rescreen::{
    Error,
    model::ExitCode,
    pipeline::{
        self, ReportOrder,
        wording::{counted, grouped},
    },
};
use std::path::PathBuf;

#[derive(Args)]
pub struct ReportArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// File to write [default: report.html in the output folder]; it replaces an earlier report, but no other file
    #[arg(long, value_name = "FILE.html")]
    to: Option<PathBuf>,
    /// Earlier round to compare with: its output folder, or the name of its campaign
    #[arg(long, value_name = "OLD")]
    since: Option<PathBuf>,
    /// Campaign file whose campaign to report on [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    config: Option<PathBuf>,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn report(args: ReportArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let chosen = chosen::one_to_show("report", args.dir.as_deref(), args.config.as_deref())?;
    let since = args.since.as_deref().map(|old| chosen::published("report", old)).transpose()?;
    let to = args.to;
    let reporting = tokio::task::spawn_blocking(move || {
        let order = ReportOrder {
            place: &chosen.place,
            out: chosen.out.as_deref(),
            to: to.as_deref(),
            since: since.as_deref(),
        };
        pipeline::report_page(&order)
    });
    let reported = reporting.await.map_err(Error::from)??;
    reported.mode.warning().iter().for_each(|line| output.say(line));
    output.say(&format!(
        "{}, {}, {} pending, {} skipped",
        counted(reported.results, "result", "results"),
        counted(reported.failures, "failure", "failures"),
        grouped(reported.pending),
        grouped(reported.skipped)
    ));
    if !reported.is_published {
        output
            .say("the published files are older than this report, or there are none yet; `rescreen collect` publishes");
    }
    if let Some((campaign, changed)) = &reported.since {
        output.say(&format!("{} since {campaign}", counted(*changed, "change", "changes")));
    }
    output.say(&format!("report: {}", reported.file.display()));
    if args.json {
        let fields = serde_json::json!({
            "campaign": reported.campaign,
            "mode": reported.mode.as_str(),
            "state": reported.state,
            "file": reported.file.display().to_string(),
            "rows": reported.rows,
            "asks": reported.asks,
            "results": reported.results,
            "failures": reported.failures,
            "pending": reported.pending,
            "skipped": reported.skipped,
            "credits": reported.credits,
            "published": reported.is_published,
            "since": reported.since.as_ref().map(|(campaign, _)| campaign),
            "changed": reported.since.as_ref().map(|(_, changed)| changed),
        });
        json::print(&json::object(json::Format::Report, ExitCode::Complete, fields));
    }
    Ok(ExitCode::Complete)
}
