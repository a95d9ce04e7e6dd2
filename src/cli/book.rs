//! `rescreen book`: creates, shows and checks the charge book that workers on several machines share.

use super::{
    campaign_args::CampaignArgs,
    output::{to_stderr, to_stdout},
    table::of_page,
};
use clap::{Args, Subcommand};
use rescreen::{
    Error,
    book::{self, AccountName, AccountRow, Address, PartitionRow},
    client::origin_of,
    model::{Clock, ExitCode, Mode, clock::local_time, printable::printable},
    pipeline::{BookSource, read_secret, system_user, wording::counted},
};
use std::path::PathBuf;

#[derive(Args)]
pub struct BookArgs {
    #[command(subcommand)]
    command: BookCommand,
}

#[derive(Subcommand)]
enum BookCommand {
    /// Create the book in a PostgreSQL database, as its owner
    Init(PlaceArgs),
    /// Show the accounts, what keeps them from sending, and the partitions of their campaigns
    Status(PlaceArgs),
    /// Check that this machine and this role can use the book
    Check(PlaceArgs),
    /// Let the workers of an account send again, after a person has found out why they were stopped
    Resume(ResumeArgs),
}

/// Where the book is.
#[derive(Args)]
struct PlaceArgs {
    /// Campaign file whose [ledger] book says where the URL of the book is [default: rescreen.toml in the working folder, if
    /// there is one; without one, the environment variable RESCREEN_BOOK has the URL]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Args)]
struct ResumeArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// What was found and done; recorded with your user name and the time
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Name of the account [default: that of the campaign file, or the only one]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Base URL of the service [default: that of the campaign file, or the only one]
    #[arg(long = "service", value_name = "URL")]
    url: Option<String>,
}

/// The book, and the account that the campaign file names.
struct Place {
    address: Address,
    origin: Option<String>,
    account: Option<String>,
}

pub async fn book(args: BookArgs) -> Result<ExitCode, Error> {
    match args.command {
        BookCommand::Init(place) => init(place.find()?).await,
        BookCommand::Status(place) => status(place.find()?).await,
        BookCommand::Check(place) => check(place.find()?).await,
        BookCommand::Resume(args) => resume(args).await,
    }
}

impl PlaceArgs {
    fn find(self) -> Result<Place, Error> {
        let flags = CampaignArgs { config: self.config, ..CampaignArgs::default() };
        let (file, base) = flags.fold()?;
        let source = BookSource::of(&file.ledger)?.unwrap_or_default();
        let url = read_secret(&source.url, "the URL of the charge book", &base)?;
        let account = file.ledger.book.is_some().then_some(source.account);
        Ok(Place { address: Address::new(&url)?, origin: file.service.url.as_deref().map(origin_of), account })
    }
}

async fn init(place: Place) -> Result<ExitCode, Error> {
    book::create(&place.address).await?;
    to_stderr(&format!("created the charge book in the database {}", place.address.shown()));
    to_stderr(&format!(
        "next: let a login role for the workers use it: GRANT {} TO ROLE_NAME; and give its URL to each worker in the \
         environment variable RESCREEN_BOOK",
        book::WORKER_ROLE
    ));
    Ok(ExitCode::Complete)
}

async fn status(place: Place) -> Result<ExitCode, Error> {
    let accounts = book::accounts(&place.address).await?;
    if accounts.is_empty() {
        to_stderr("the charge book has no account yet; the first run that uses it adds one");
    }
    for (at, row) in accounts.iter().enumerate() {
        if at > 0 {
            to_stdout("");
        }
        lines(row).iter().for_each(|line| to_stdout(line));
    }
    Ok(ExitCode::Complete)
}

fn lines(row: &AccountRow) -> Vec<String> {
    let AccountName { origin, name } = &row.account;
    let mut lines = vec![format!(
        "account {} at {}: {} requests a minute, at most {} in any",
        printable(name),
        printable(origin),
        row.per_minute,
        row.per_minute_max
    )];
    if let Some(halt) = &row.halt {
        lines.push(format!(
            "  halted at {} by {}: {}",
            local_time(halt.at_us),
            printable(&halt.worker),
            printable(&halt.message)
        ));
    }
    if let Some(until_us) = row.paused_until_us {
        lines.push(format!("  waits until {}: the service asked for it", local_time(until_us)));
    }
    if row.partitions.is_empty() {
        lines.push("  no campaign".to_owned());
        return lines;
    }
    let mut table = of_page(&["campaign", "partition", "worker", "began", "last seen", "charged", "held"]);
    for partition in &row.partitions {
        let PartitionRow { campaign, mode, name, worker, began_at_us, seen_at_us, has_left, charged, held } = partition;
        let mode = if mode == Mode::Production.as_str() { String::new() } else { format!(" ({})", printable(mode)) };
        table.add_row([
            format!("{}{mode}", printable(campaign)),
            printable(name).into_owned(),
            printable(worker).into_owned(),
            local_time(*began_at_us),
            if *has_left { "ended".to_owned() } else { ago(Clock::System.now_us().saturating_sub(*seen_at_us)) },
            charged.to_string(),
            held.to_string(),
        ]);
    }
    lines.extend(table.to_string().lines().map(|line| format!("  {}", line.trim_end())));
    lines
}

/// How long ago something was. The clocks of the book and of this machine may differ by some seconds.
fn ago(us: i64) -> String {
    match us / 1_000_000 {
        ..60 => "now".to_owned(),
        seconds => format!("{} ago", counted(seconds.unsigned_abs() / 60, "minute", "minutes")),
    }
}

async fn check(place: Place) -> Result<ExitCode, Error> {
    let faults = book::check(&place.address).await?;
    for fault in &faults {
        to_stdout(fault);
    }
    match faults.len() as u64 {
        0 => to_stdout(&format!("the charge book in the database {} can be used from here", place.address.shown())),
        faults => to_stderr(&format!("{} with the charge book", counted(faults, "fault", "faults"))),
    }
    Ok(if faults.is_empty() { ExitCode::Complete } else { ExitCode::Usage })
}

async fn resume(args: ResumeArgs) -> Result<ExitCode, Error> {
    let place = args.place.find()?;
    let origin = args.url.as_deref().map(origin_of).or(place.origin);
    let name = args.account.or(place.account);
    if args.reason.trim().is_empty() {
        return Err(Error::Config("--reason: expected what was found and done, found nothing".to_owned()));
    }
    let accounts = book::accounts(&place.address).await?;
    let is_meant = |row: &&AccountRow| {
        origin.as_ref().is_none_or(|origin| row.account.origin == *origin)
            && name.as_ref().is_none_or(|name| row.account.name == *name)
    };
    let mut meant = accounts.iter().filter(is_meant);
    let (Some(row), None) = (meant.next(), meant.next()) else {
        return Err(Error::Config(format!(
            "expected the name of one account: --account NAME and --service URL. The charge book has {}",
            match accounts.as_slice() {
                [] => "no account".to_owned(),
                accounts => accounts
                    .iter()
                    .map(|row| format!("`{}` at {}", printable(&row.account.name), printable(&row.account.origin)))
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        )));
    };
    let AccountName { origin, name } = &row.account;
    let (name, origin) = (printable(name), printable(origin));
    match book::resume(&place.address, &row.account, &system_user(), &args.reason).await? {
        Some(halt) => to_stderr(&format!(
            "the workers of account {name} at {origin} may send again; they were stopped at {} by {}",
            local_time(halt.at_us),
            printable(&halt.worker)
        )),
        None => to_stderr(&format!("the workers of account {name} at {origin} were not stopped; nothing was changed")),
    }
    Ok(ExitCode::Complete)
}
