//! `rescreen resolve`: records a person's decision about requests that may have been charged, or corrects a charge.

use super::{
    output::{to_stderr, to_stdout},
    status::folder,
};
use clap::Args;
use rescreen::{
    Error,
    ledger::{CommitMode, Decision, Quarantined},
    model::{Clock, Credits, ExitCode, KeySecret, RequestId, clock::local_time},
    pipeline::{self, ChargeCorrection, Resolution, read_file, read_secret, system_user},
};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(group = clap::ArgGroup::new("decision").args(["list", "write_off", "send_again", "charge"]))]
pub struct ResolveArgs {
    /// Output folder [default: the only one in out/]
    dir: Option<PathBuf>,
    /// List the requests that need a decision
    #[arg(long)]
    list: bool,
    /// Assume that the requests were charged, and record their asks as failed
    #[arg(long, requires = "reason")]
    write_off: bool,
    /// Assume that the requests were charged, and send them again for a new charge
    #[arg(long, requires = "reason")]
    send_again: bool,
    /// Set the charge of one answered or failed request to N credits
    #[arg(long, value_name = "N", requires = "reason", requires = "requests")]
    charge: Option<Credits>,
    /// Include requests in doubt that another run could normally settle, for example if the API key is lost
    #[arg(long, conflicts_with = "charge")]
    include_in_doubt: bool,
    /// Apply only to this request (an id from --list); repeatable
    #[arg(long = "request", value_name = "ID")]
    requests: Vec<i64>,
    /// Reason for the decision; recorded with your user name and the time
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Campaign file; needed if the campaign has a key secret
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub async fn resolve(args: &ResolveArgs) -> Result<ExitCode, Error> {
    let place = folder(args.dir.as_deref())?;
    let decision = match (args.charge, args.write_off, args.send_again) {
        (Some(charge), ..) => return correct(args, &place, charge).await,
        (_, true, _) => Decision::WriteOff,
        (_, _, true) => Decision::SendAgain,
        _ => return list(args, &place),
    };
    let only: Vec<RequestId> = args.requests.iter().copied().map(RequestId).collect();
    let secret = key_secret(args.config.as_deref())?;
    let resolution = Resolution {
        decision,
        reason: args.reason.as_deref().unwrap_or_default(),
        decided_by: &system_user(),
        include_in_doubt: args.include_in_doubt,
        secret: secret.as_ref(),
        clock: Clock::System,
        commit_mode: CommitMode::Background,
    };
    let moved = pipeline::decide(&place, &only, &resolution).await?;
    let next = match decision {
        Decision::WriteOff => "run the campaign again to publish, or `rescreen collect`",
        Decision::SendAgain => "run the campaign again to send them",
    };
    to_stderr(&format!("{moved} requests decided; {next}"));
    Ok(ExitCode::Complete)
}

fn list(args: &ResolveArgs, place: &Path) -> Result<ExitCode, Error> {
    let waiting =
        if args.include_in_doubt { pipeline::quarantined_or_in_doubt(place)? } else { pipeline::quarantined(place)? };
    waiting.iter().for_each(|one| to_stdout(&line(one)));
    to_stderr(&format!("{} requests need a decision", waiting.len()));
    Ok(if waiting.is_empty() { ExitCode::Complete } else { ExitCode::Doubt })
}

/// Corrects the charge that is booked for one request.
async fn correct(args: &ResolveArgs, place: &Path, charge: Credits) -> Result<ExitCode, Error> {
    let [request] = args.requests.as_slice() else {
        return Err(Error::Config("--charge corrects one request at a time; expected one --request ID".to_owned()));
    };
    let correction = ChargeCorrection {
        request: RequestId(*request),
        charge,
        reason: args.reason.as_deref().unwrap_or_default(),
        decided_by: &system_user(),
        clock: Clock::System,
        commit_mode: CommitMode::Background,
    };
    let before = pipeline::correct_charge(place, &correction).await?;
    to_stderr(&format!(
        "request {request} is now booked with {charge} credits instead of {before}; result files already published \
         keep their amount, and the next run rewrites the manifest"
    ));
    Ok(ExitCode::Complete)
}

/// One request to decide on. It names the rows, never the person.
fn line(one: &Quarantined) -> String {
    let rows: Vec<String> = one.rows.iter().map(|(source, row)| format!("{source} row {row}")).collect();
    let since = one.first_armed_at_us.map_or_else(|| "an unknown time".to_owned(), local_time);
    format!(
        "request {} · {} · {} · {} credits held · {} attempts since {since} · {}",
        one.request.0,
        one.check,
        one.state.as_str(),
        one.held,
        one.attempts,
        rows.join(", ")
    )
}

fn key_secret(config: Option<&Path>) -> Result<Option<KeySecret>, Error> {
    let Some(path) = config else { return Ok(None) };
    let base = path.parent().unwrap_or(Path::new(""));
    let source = read_file(path)?.keys.secret;
    let secret = source.map(|source| read_secret(&source, "the key secret", base)).transpose()?;
    Ok(secret.map(KeySecret::new))
}
