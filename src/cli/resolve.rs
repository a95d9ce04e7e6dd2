//! `rescreen resolve`: a person's decision about quarantined requests.

use super::{
    status::folder,
    talk::{to_stderr, to_stdout},
};
use clap::Args;
use rescreen::{
    Error,
    ledger::{Decision, Quarantined, Seat},
    model::{Clock, ExitCode, KeySecret, RequestId, clock::local_time},
    pipeline::{self, Resolution, read_file, read_secret},
};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(group = clap::ArgGroup::new("decision").args(["list", "write_off", "send_again"]))]
pub struct ResolveArgs {
    /// The output folder [default: the only one in out/]
    dir: Option<PathBuf>,
    /// Show what waits for a decision
    #[arg(long)]
    list: bool,
    /// Take the charges as made and the asks as failed
    #[arg(long, requires = "reason")]
    write_off: bool,
    /// Take the charges as made and ask again, for a new charge
    #[arg(long, requires = "reason")]
    send_again: bool,
    /// Only these requests; repeatable
    #[arg(long = "request", value_name = "N")]
    requests: Vec<i64>,
    /// Why; it is recorded with your name and the time
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The campaign file, where the campaign has a key secret
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub async fn resolve(args: &ResolveArgs) -> Result<ExitCode, Error> {
    let place = folder(args.dir.as_deref())?;
    let decision = match (args.write_off, args.send_again) {
        (true, _) => Decision::WriteOff,
        (_, true) => Decision::SendAgain,
        _ => {
            let waiting = pipeline::quarantined(&place)?;
            waiting.iter().for_each(|one| to_stdout(&line(one)));
            let code = if waiting.is_empty() { ExitCode::Complete } else { ExitCode::Doubt };
            to_stderr(&format!("{} requests wait for a decision", waiting.len()));
            return Ok(code);
        }
    };
    let only: Vec<RequestId> = args.requests.iter().copied().map(RequestId).collect();
    let reason = args.reason.as_deref().unwrap_or_default();
    let secret = key_secret(args.config.as_deref())?;
    let resolution = Resolution {
        decision,
        reason,
        decided_by: &who(),
        secret: secret.as_ref(),
        clock: Clock::System,
        seat: Seat::Thread,
    };
    let moved = pipeline::decide(&place, &only, &resolution).await?;
    let next = match decision {
        Decision::WriteOff => "run the campaign again to publish",
        Decision::SendAgain => "run the campaign again to send them",
    };
    to_stderr(&format!("{moved} requests decided; {next}"));
    Ok(ExitCode::Complete)
}

/// Names the rows, never the person.
fn line(one: &Quarantined) -> String {
    let rows: Vec<String> = one.rows.iter().map(|(source, row)| format!("{source} row {row}")).collect();
    let since = one.first_armed_at_us.map_or_else(|| "an unknown time".to_owned(), local_time);
    format!(
        "request {} · {} · {} credits held · {} attempts since {since} · {}",
        one.request.0,
        one.sold,
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

/// Who decides, as the system knows them.
fn who() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| "unknown".to_owned())
}
