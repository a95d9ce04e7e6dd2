//! `rescreen credits`: prints the account's balance.

use super::{campaign_args::CampaignArgs, json, output::to_stdout, reach::ReachArgs};
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
    #[command(flatten)]
    service: ReachArgs,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn credits(args: CreditsArgs) -> Result<ExitCode, Error> {
    let mut flags = CampaignArgs { config: args.config, ..CampaignArgs::default() };
    let service = &mut flags.settings.service;
    (service.url, service.proxy_flag) = (args.service.url, args.service.proxy);
    let (file, base) = flags.fold()?;
    if file.service.url.is_none() {
        return Err(Error::Config("no service is named: --service URL (or [service] url)".to_owned()));
    }
    let service = Service::new(&file, &base)?;
    let balance = balance_alone(&service, Clock::System).await?;
    if args.json {
        let fields = serde_json::json!({
            "balance": balance,
            "service": service.settings.url,
            "read_at": json::time(Clock::System.now_us()),
        });
        json::print(&json::object(json::Format::Credits, ExitCode::Complete, fields));
    } else {
        to_stdout(&balance.to_string());
    }
    Ok(ExitCode::Complete)
}
