//! `rescreen demo`: a sample customer list is checked end to end against the built-in simulator. It is the first
//! command a new user runs, and it uses the same code as a real run.

use super::{
    afterwards::query,
    output::OutputArgs,
    program::program,
    run::{next_line, print_report, run_campaign},
};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, shell_words::quoted},
    pipeline::{Campaign, RunOptions, campaign::place::REHEARSALS},
};
use std::path::{Path, PathBuf};

/// The sample list and its campaign file, for a new user to copy and change.
const BOOK: &str = include_str!("../../sample-data/customers.csv");
const CAMPAIGN: &str = include_str!("../../sample-data/customers.toml");

#[derive(Args)]
pub struct DemoArgs {
    /// Folder for the demo's files
    #[arg(long, value_name = "DIR", default_value = "rescreen-demo")]
    dir: PathBuf,
}

pub async fn demo(args: DemoArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let dir = &args.dir;
    write_where_missing(dir, "customers.csv", BOOK)?;
    write_where_missing(dir, "customers.toml", CAMPAIGN)?;
    let round = next_round(dir);
    output.say(&format!(
        "Checks a list of invented customers, {}: AML screening and ID number verification,",
        dir.join("customers.csv").display(),
    ));
    output.say(&format!(
        "as configured in {}. The simulator answers, so no credits are spent.",
        dir.join("customers.toml").display(),
    ));
    output.say("");
    let mut file = rescreen::pipeline::read_file(&dir.join("customers.toml"))?;
    (file.simulate, file.unlimited) = (true, true);
    file.campaign = Some(round.clone());
    let campaign = Campaign::new(file, dir)?;
    let (out, format) = (campaign.out.clone(), campaign.format);
    let config = dir.join("customers.toml").display().to_string();
    let program = program();
    let words = [program.as_str(), "run", "-c", &config, "--campaign", &round, "--simulate"].map(str::to_owned);
    let options = RunOptions { next_command: Some(next_line(words.to_vec())), ..RunOptions::default() };
    let report = run_campaign(campaign, options, true, None, output).await?;
    output.say("");
    print_report(&report, output);
    output.say("");
    output.say("Read the results, for example in DuckDB:");
    output.say_to_copy(&format!("  {}", query(&out, format)));
    output.say("Run the same campaign again; nothing is paid for twice:");
    output.say_to_copy(&format!("  {}", quoted(&words)));
    let list = dir.join("customers.csv").display().to_string();
    let init = [program.as_str(), "init", &list, "--check", "aml-screening", "--check", "said-verification"];
    output.say("Next, let rescreen propose a campaign file, here for the sample list, then for one of your own:");
    output.say_to_copy(&format!("  {}", quoted(&init.map(str::to_owned))));
    match report.exit_code {
        // The sample list has a few bad rows on purpose.
        ExitCode::Failures => Ok(ExitCode::Complete),
        code => Ok(code),
    }
}

/// The demo can be run repeatedly: each run is a new campaign, and nothing is deleted.
fn next_round(dir: &Path) -> String {
    let name = |number: u32| format!("demo-{number}");
    let rehearsals = dir.join("out").join(REHEARSALS);
    (1..).map(name).find(|name| !rehearsals.join(name).exists()).unwrap_or_else(|| name(1))
}

fn write_where_missing(dir: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = dir.join(name);
    let failed = |error: std::io::Error| Error::Config(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(dir).map_err(failed)?;
    if path.exists() { Ok(()) } else { std::fs::write(&path, text).map_err(failed) }
}
