//! `rescreen doctor`: examines the service and this machine before a campaign runs. It sends sandbox requests only.

use super::{
    campaign_args::{CampaignArgs, Rehearsal},
    json,
    output::{OutputArgs, to_stdout},
    reach::ReachArgs,
    table::of_page,
};
use clap::Args;
use rescreen::{
    Error,
    model::ExitCode,
    pipeline::{
        campaign::file::CampaignFile,
        doctor::{Diagnosis, Examination, Standing},
        wording::counted,
    },
};
use std::path::PathBuf;

#[derive(Args)]
pub struct DoctorArgs {
    /// Campaign file [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    service: ReachArgs,
    /// Check to examine; repeatable [default: those of the campaign file, or all]
    #[arg(long = "check", value_name = "NAME")]
    checks: Vec<String>,
    /// Output folder of the campaign, with its ledger
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Rate limit: steady rate in requests per minute
    #[arg(long, value_name = "N")]
    per_minute: Option<u32>,
    /// Examine the built-in simulator in place of the service
    #[arg(long)]
    simulate: bool,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn doctor(args: DoctorArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let mut settings = CampaignFile::default();
    settings.output.dir = args.out;
    (settings.service.url, settings.service.proxy_flag) = (args.service.url, args.service.proxy);
    settings.service.per_minute = args.per_minute;
    let flags = CampaignArgs {
        config: args.config,
        checks: args.checks,
        settings,
        simulate: args.simulate.then_some(Rehearsal::Fast),
        ..CampaignArgs::default()
    };
    let (file, base) = flags.fold()?;
    let mut examination = Examination::new(&file, &base)?;
    let simulator = match file.simulate {
        true => Some(super::simulate::BuiltIn::beside(&mut examination.service, &examination.catalogue).await?),
        false => None,
    };
    output.say("checking the service in sandbox mode, without spending credits; every 60 requests take up to a minute");
    if let Some(proxy) = examination.service.proxy_in_use()? {
        output.say(&format!("the service is reached through the proxy {proxy}"));
    }
    let diagnosis = examination.run().await?;
    drop(simulator);
    if args.json {
        json::print(&json::object(json::Format::Doctor, diagnosis.exit_code(), diagnosis.to_json()));
    } else {
        lines(&diagnosis).iter().for_each(|line| to_stdout(line));
    }
    Ok(diagnosis.exit_code())
}

fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let mut table = of_page(&["", "examined", "found"]);
    for finding in &diagnosis.findings {
        table.add_row([finding.standing.as_str(), &finding.subject, &finding.detail]);
    }
    let mut lines: Vec<String> = table.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    let bad = diagnosis.findings.iter().filter(|one| matches!(one.standing, Standing::Bad(_))).count();
    lines.push(String::new());
    lines.push(match bad {
        0 => "nothing was found that would stop a campaign".to_owned(),
        bad => format!("{} would stop a campaign", counted(bad as u64, "finding", "findings")),
    });
    let recommended = diagnosis.recommended.lines();
    if !recommended.is_empty() {
        lines.push(String::new());
        lines.push("# for the campaign file".to_owned());
        lines.extend(recommended);
    }
    lines
}
