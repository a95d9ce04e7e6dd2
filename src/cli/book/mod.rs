//! `rescreen book`: creates, shows and checks the charge book that workers on several machines share.

mod expect;
mod status;

use super::{
    campaign_args::CampaignArgs,
    output::{to_stderr, to_stdout},
};
use clap::{Args, Subcommand};
use rescreen::{
    Error,
    book::{self, AccountName, AccountRow, Address, Findings},
    client::origin_of,
    model::{ExitCode, clock::local_time, printable::printable},
    pipeline::{BookSource, campaign::file::CampaignFile, read_secret, system_user, wording::counted},
};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct BookArgs {
    #[command(subcommand)]
    command: BookCommand,
}

#[derive(Subcommand)]
enum BookCommand {
    /// Create the book in a PostgreSQL database, as its owner
    Init(PlaceArgs),
    /// Say which partitions a campaign should have, so that it is known when it is complete
    Expect(expect::ExpectArgs),
    /// Show the accounts, what keeps them from sending, and how far the partitions of their campaigns are
    Status(status::StatusArgs),
    /// Check that this machine and this role can use the book, and that its sums add up
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
    source: BookSource,
    /// The campaign file names a book, and so an account.
    is_named: bool,
}

pub async fn book(args: BookArgs) -> Result<ExitCode, Error> {
    match args.command {
        BookCommand::Init(place) => init(place.find()?).await,
        BookCommand::Expect(args) => expect::expect(args).await,
        BookCommand::Status(args) => status::status(args).await,
        BookCommand::Check(place) => check(place.find()?).await,
        BookCommand::Resume(args) => resume(args).await,
    }
}

impl BookArgs {
    /// Whether the command prints a JSON object.
    pub fn is_json(&self) -> bool {
        matches!(&self.command, BookCommand::Status(args) if args.json)
    }
}

impl PlaceArgs {
    fn find(self) -> Result<Place, Error> {
        let (file, base) = self.file()?;
        Place::of(&file, &base)
    }

    /// The campaign file, and the folder that its paths are relative to.
    fn file(self) -> Result<(CampaignFile, PathBuf), Error> {
        CampaignArgs { config: self.config, ..CampaignArgs::default() }.fold()
    }
}

impl Place {
    fn of(file: &CampaignFile, base: &Path) -> Result<Place, Error> {
        let source = BookSource::of(&file.ledger)?.unwrap_or_default();
        let url = read_secret(&source.url, "the URL of the charge book", base)?;
        let (origin, is_named) = (file.service.url.as_deref().map(origin_of), file.ledger.book.is_some());
        Ok(Place { address: Address::new(&url)?, origin, source, is_named })
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

async fn check(place: Place) -> Result<ExitCode, Error> {
    let Findings { faults, remarks } = book::check(&place.address).await?;
    remarks.iter().chain(&faults).for_each(|finding| to_stdout(finding));
    match faults.len() as u64 {
        0 => to_stdout(&format!(
            "the charge book in the database {} can be used from here, and its sums add up",
            place.address.shown()
        )),
        faults => to_stderr(&format!("{} with the charge book", counted(faults, "fault", "faults"))),
    }
    Ok(if faults.is_empty() { ExitCode::Complete } else { ExitCode::Usage })
}

async fn resume(args: ResumeArgs) -> Result<ExitCode, Error> {
    let place = args.place.find()?;
    let origin = args.url.as_deref().map(origin_of).or(place.origin);
    let name = args.account.or(place.is_named.then_some(place.source.account));
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
