//! `rescreen book expect`: says which partitions a campaign should have.

use super::PlaceArgs;
use crate::cli::output::to_stderr;
use clap::Args;
use rescreen::{
    Error,
    book::{self, AccountName, Expected},
    client::origin_of,
    model::{ExitCode, Mode},
    pipeline::{self, Service, system_user, wording::counted},
};
use std::{collections::BTreeSet, io::Read};

#[derive(Args)]
pub struct ExpectArgs {
    /// Names of all partitions
    #[arg(value_name = "PARTITION", required_unless_present_any = ["count", "names_from"])]
    partitions: Vec<String>,
    /// The partitions are called 0 to N - 1, as the pods of an Indexed Job
    #[arg(long, value_name = "N", conflicts_with_all = ["partitions", "names_from"], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: Option<u32>,
    /// Read the names from FILE, one on each line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "partitions")]
    names_from: Option<std::path::PathBuf>,
    /// Name of the campaign [default: that of the campaign file]
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,
    /// Mode of the campaign [default: that of the campaign file]
    #[arg(long)]
    mode: Option<Mode>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub async fn expect(args: ExpectArgs) -> Result<ExitCode, Error> {
    let partitions = names(&args)?;
    let (mut file, base) = args.place.file()?;
    file.campaign = args.campaign.or(file.campaign);
    file.mode = args.mode.or(file.mode);
    if file.campaign.is_none() {
        let fault = "expected the name of the campaign: --campaign NAME, or `campaign` in the campaign file";
        return Err(Error::Config(fault.to_owned()));
    }
    let expected = Expected { campaign: pipeline::campaign_name(&file)?, mode: file.mode(), partitions };
    if file.simulate {
        return Err(Error::Config("a simulated campaign uses no charge book".to_owned()));
    }
    let service = Service::new(&file, &base)?;
    let place = super::Place::of(&file, &base)?;
    let origin = origin_of(service.settings.url.as_deref().unwrap_or_default());
    let account = AccountName { origin, name: place.source.account };
    let others = book::expect(&place.address, &account, service.pace(), &expected, &system_user()).await?;
    to_stderr(&format!(
        "the campaign {} should have {}; `rescreen book status` shows how far they are",
        expected.campaign,
        counted(expected.partitions.len() as u64, "partition", "partitions")
    ));
    for other in others {
        let name =
            if other.is_empty() { "a run without --partition".to_owned() } else { format!("partition `{other}`") };
        to_stderr(&format!(
            "{name} has begun and is not among them: its rows do not count, and what it was charged does"
        ));
    }
    Ok(ExitCode::Complete)
}

/// The names, each once and in order.
fn names(args: &ExpectArgs) -> Result<Vec<String>, Error> {
    let given = match (&args.count, &args.names_from) {
        (Some(count), _) => (0..*count).map(|index| index.to_string()).collect(),
        (None, Some(path)) => {
            let text = if path.as_os_str() == "-" {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).map(|_| text)
            } else {
                std::fs::read_to_string(path)
            };
            let text = text.map_err(|error| Error::Config(format!("--names-from {}: {error}", path.display())))?;
            text.trim_start_matches('\u{feff}')
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect()
        }
        (None, None) => args.partitions.clone(),
    };
    let names: BTreeSet<String> = given.into_iter().collect();
    if names.is_empty() {
        return Err(Error::Config(
            "--names-from: expected the name of a partition on each line, found none".to_owned(),
        ));
    }
    match names.iter().find(|name| !pipeline::is_partition_name(name)) {
        Some(name) => Err(Error::Config(format!(
            "`{name}`: expected the name of a partition, such as 2026-11 or 7: at most 200 characters, all of them visible"
        ))),
        None => Ok(names.into_iter().collect()),
    }
}
