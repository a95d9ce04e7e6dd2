//! `rescreen decide`: records what a person decided about the matches of a worklist. It sends nothing and changes nothing in the
//! campaign.

use super::{chosen, json, output::OutputArgs};
use clap::Args;
use rescreen::{
    Error,
    model::{Clock, ExitCode},
    pipeline::{
        self, DecideOrder,
        wording::{counted, grouped},
    },
};
use std::path::PathBuf;

#[derive(Args)]
pub struct DecideArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// Worklist of `rescreen export --worklist`, with `accepted` or `not_accepted` in the column `decision`
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Reason for the rows whose column `why` is empty
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Person who decided [default: your user name]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Campaign file, if it names the file of decisions
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn decide(args: DecideArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let place = chosen::one_to_show("decide", args.dir.as_deref(), args.config.as_deref())?.place;
    let deciding = tokio::task::spawn_blocking(move || {
        pipeline::record_decisions(&DecideOrder {
            place: &place,
            config: args.config.as_deref(),
            from: &args.from,
            by: &args.by.unwrap_or_else(pipeline::system_user),
            why: args.why.as_deref(),
            clock: Clock::System,
        })
    });
    let decided = deciding.await.map_err(Error::from)??;
    let recorded = decided.accepted + decided.not_accepted;
    output.say(&match recorded {
        0 => "no new decision".to_owned(),
        _ => format!(
            "{} recorded: {} accepted, {} not accepted",
            counted(recorded, "decision", "decisions"),
            grouped(decided.accepted),
            grouped(decided.not_accepted)
        ),
    });
    if decided.unchanged > 0 {
        output.say(&format!("{} recorded before", counted(decided.unchanged, "decision was", "decisions were")));
    }
    if decided.undecided > 0 {
        output.say(&format!("{} no decision", counted(decided.undecided, "row has", "rows have")));
    }
    decided.mode.warning().iter().for_each(|line| output.say(line));
    output.say(&format!("decisions: {}, {} in all", decided.file.display(), grouped(decided.count)));
    if args.json {
        let fields = serde_json::json!({
            "campaign": decided.campaign,
            "mode": decided.mode.as_str(),
            "file": decided.file.display().to_string(),
            "accepted": decided.accepted,
            "not_accepted": decided.not_accepted,
            "unchanged": decided.unchanged,
            "undecided": decided.undecided,
            "decisions": decided.count,
        });
        json::print(&json::object(json::Format::Decide, ExitCode::Complete, fields));
    }
    Ok(ExitCode::Complete)
}
