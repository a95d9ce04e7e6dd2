//! `rescreen evidence`: a folder or an archive for an auditor. It sends nothing and changes nothing in the campaign.

use super::{chosen, json, output::OutputArgs, signals};
use clap::Args;
use rescreen::{
    Error,
    model::{Clock, ExitCode},
    pipeline::{self, EvidenceOrder, wording::counted},
};
use std::path::PathBuf;

#[derive(Args)]
pub struct EvidenceArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// Folder to create, or archive if its name ends in .zip [default: the output folder with the ending .evidence]
    #[arg(long, value_name = "NEW_FOLDER|NEW.zip")]
    to: Option<PathBuf>,
    /// Include the published files, which contain personal data; without them, only their digests are included
    #[arg(long)]
    with_outputs: bool,
    /// Person who makes the evidence [default: your user name]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Campaign file whose campaign is meant [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    config: Option<PathBuf>,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn evidence(args: EvidenceArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let chosen = chosen::one_to_show("evidence", args.dir.as_deref(), args.config.as_deref())?;
    let interrupted = signals::first();
    let making = tokio::task::spawn_blocking(move || {
        let order = EvidenceOrder {
            place: &chosen.place,
            out: chosen.out.as_deref(),
            to: args.to.as_deref(),
            with_outputs: args.with_outputs,
            made_by: &args.by.unwrap_or_else(pipeline::system_user),
            clock: Clock::System,
        };
        pipeline::evidence(&order, &interrupted)
    });
    let made = making.await.map_err(Error::from)??;
    made.mode.warning().iter().for_each(|line| output.say(line));
    output.say(&format!(
        "{}, {}, {}, {} charged",
        counted(made.rows, "row", "rows"),
        counted(made.asks, "ask", "asks"),
        counted(made.requests, "request", "requests"),
        counted(made.credits, "credit", "credits"),
    ));
    if !made.complete {
        output.say("the campaign is not complete, and the evidence says so");
    }
    output.say(&format!("evidence: {} ({})", made.path.display(), counted(made.files, "file", "files")));
    output.say(&format!("seal: {}", made.seal));
    output.say("keep the seal in a place that cannot be changed later, such as an e-mail to the auditor");
    if args.json {
        let fields = serde_json::json!({
            "campaign": made.campaign,
            "mode": made.mode.as_str(),
            "complete": made.complete,
            "path": made.path.display().to_string(),
            "rows": made.rows,
            "asks": made.asks,
            "requests": made.requests,
            "credits": made.credits,
            "files": made.files,
            "bytes": made.bytes,
            "seal": made.seal,
        });
        json::print(&json::object(json::Format::Evidence, ExitCode::Complete, fields));
    }
    Ok(ExitCode::Complete)
}
