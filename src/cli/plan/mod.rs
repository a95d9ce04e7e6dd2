//! `rescreen plan`: shows on one screen what a run would do and cost, and what would stop it. It sends nothing that is
//! charged.

mod as_json;
mod next;
mod save;
mod screen;
mod shown;

use super::{
    campaign_args::{CampaignArgs, CorrectionArgs},
    json,
    next_command::typed,
    output::headed_to_stdout,
    run::head_lines,
    simulate::BuiltIn,
    table::page_of_stdout,
};
use clap::Args;
use rescreen::{
    Error,
    model::ExitCode,
    pipeline::{self, PlanOptions, outlook},
};
use save::Saved;
use shown::Planned;
use std::path::PathBuf;

#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub campaign: CampaignArgs,
    /// Print the first N requests, with their values masked
    #[arg(long, value_name = "N", default_value_t = 0)]
    show: usize,
    /// Write the rows that would fail to a new CSV file: their columns, then line, code and message
    #[arg(long, value_name = "FILE")]
    failures: Option<PathBuf>,
    /// Write the settings of this command to a new campaign file, so that the next commands are short
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    corrections: CorrectionArgs,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn plan(args: PlanArgs) -> Result<ExitCode, Error> {
    let saved = args.save.as_deref().map(|path| Saved::new(path, &args.campaign, &args.corrections)).transpose()?;
    let mut campaign = args.campaign.campaign_to_plan()?;
    let simulator = if campaign.service.simulate { Some(BuiltIn::start(&mut campaign).await?) } else { None };
    let options =
        PlanOptions { show: args.show, failures: args.failures.clone(), corrections: args.corrections.corrections() };
    let for_plan = campaign.clone();
    let planned = tokio::task::spawn_blocking(move || pipeline::plan(&for_plan, &options)).await;
    let mut plan = planned.map_err(Error::from)??;
    let seen = outlook::see_account(&campaign).await;
    drop(simulator);
    saved.as_ref().map_or(Ok(()), Saved::write)?;
    let obstacles = outlook::obstacles(&campaign, &plan, &seen)?;
    let unread = if campaign.service.needs_program() { "not read" } else { "missing" };
    let key_hint = campaign.service.api_key().map_or_else(|_| unread.to_owned(), |key| key.hint());
    let planned = Planned {
        campaign: &campaign,
        plan: &plan,
        seen: &seen,
        obstacles: &obstacles,
        failures: args.failures.map(|path| path.display().to_string()),
        next: next::next(
            saved.as_ref().map_or_else(typed, |saved| saved.words.clone()),
            &campaign.out,
            &plan,
            &seen,
            &obstacles,
        ),
        can_save: saved.is_none() && args.campaign.file_in_use().is_none(),
    };
    if !args.json {
        head_lines(&campaign, &key_hint).iter().for_each(|line| headed_to_stdout(line));
        args.save.iter().for_each(|path| headed_to_stdout(&format!("{} is written", path.display())));
        screen::lines(&planned, page_of_stdout()).iter().for_each(|line| headed_to_stdout(line));
    } else if !matches!(plan.failures, Some(Err(_))) {
        // The error is printed as the only object.
        json::print(&as_json::object(&planned));
    }
    match plan.failures.take() {
        Some(Err(error)) => Err(error),
        _ => Ok(outlook::exit_code(&obstacles)),
    }
}
