//! `rescreen credits`: prints the account's balance.

use super::{campaign_args::CampaignArgs, output::to_stdout};
use clap::Args;
use rescreen::{
    Error,
    model::{Clock, ExitCode},
    pipeline::{Service, balance_alone},
};
use std::path::PathBuf;

#[derive(Args)]
pub struct CreditsArgs {
    /// Campaign file [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Base URL of the service
    #[arg(long, value_name = "URL")]
    service: Option<String>,
}

pub async fn credits(args: CreditsArgs) -> Result<ExitCode, Error> {
    let flags = CampaignArgs { config: args.config, service: args.service, ..CampaignArgs::default() };
    let (file, base) = flags.fold()?;
    let service = Service::new(&file, &base)?;
    let balance = balance_alone(&service, Clock::System).await?;
    to_stdout(&balance.to_string());
    Ok(ExitCode::Complete)
}
