//! `rescreen resolve`: records a person's decision about requests that may have been charged, or corrects a charge.

use super::{
    chosen, json,
    output::{to_stderr, to_stdout},
};
use clap::Args;
use rescreen::{
    Error,
    ledger::{CommitMode, Decision, Quarantined, WaitingRow},
    model::{Clock, Credits, ExitCode, KeySecret, RequestId, clock::local_time, printable::printable, state::State},
    pipeline::{self, ChargeCorrection, Resolution, read_file, read_secret, system_user, wording::counted},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(group = clap::ArgGroup::new("decision").args(["list", "write_off", "send_again", "charge"]))]
pub struct ResolveArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
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
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn resolve(args: &ResolveArgs) -> Result<ExitCode, Error> {
    let place = chosen::one("resolve", args.dir.as_deref(), args.config.as_deref())?.place;
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
    let decided = pipeline::decide(&place, &only, &resolution).await?;
    let (word, next) = match decision {
        Decision::WriteOff => ("write_off", "run the campaign again to publish, or `rescreen collect`"),
        Decision::SendAgain => ("send_again", "run the campaign again to send them"),
    };
    let count = counted(decided.len() as u64, "request", "requests");
    to_stderr(&match decided.as_slice() {
        [] => nothing_decided(args, &place)?,
        decided => format!("{count} decided, {}; {next}", held_in_words(decided)),
    });
    if args.json {
        print_json(ExitCode::Complete, &place, word, &decided, Value::Null);
    }
    Ok(ExitCode::Complete)
}

/// `44 credits held`
fn held_in_words(requests: &[Quarantined]) -> String {
    format!("{} held", counted(requests.iter().map(|one| one.held.0).sum(), "credit", "credits"))
}

/// Why there was nothing to decide: requests in doubt are left to the next run and jobs to `collect`, unless the user
/// says otherwise.
fn nothing_decided(args: &ResolveArgs, place: &Path) -> Result<String, Error> {
    let open = if args.include_in_doubt { Vec::new() } else { pipeline::quarantined_or_in_doubt(place)? };
    let jobs = open.iter().filter(|one| one.state == State::Submitted).count();
    let in_doubt = open.len() - jobs;
    let in_doubt = (in_doubt > 0).then(|| {
        let count = counted(in_doubt as u64, "request is", "requests are");
        format!("{count} in doubt, which another run may settle at no cost")
    });
    let jobs = (jobs > 0).then(|| {
        let count = counted(jobs as u64, "request is a job", "requests are jobs");
        format!("{count} at the service, whose results `rescreen collect` gets at no cost")
    });
    let left: Vec<String> = in_doubt.into_iter().chain(jobs).collect();
    Ok(match left[..] {
        [] => "no request waits for a decision".to_owned(),
        _ => {
            format!("no request is quarantined; {}. To decide about them now, add --include-in-doubt", left.join("; "))
        }
    })
}

fn list(args: &ResolveArgs, place: &Path) -> Result<ExitCode, Error> {
    let waiting =
        if args.include_in_doubt { pipeline::quarantined_or_in_doubt(place)? } else { pipeline::quarantined(place)? };
    let code = if waiting.is_empty() { ExitCode::Complete } else { ExitCode::Doubt };
    if args.json {
        print_json(code, place, "list", &waiting, Value::Null);
        return Ok(code);
    }
    waiting.iter().for_each(|one| to_stdout(&line(one)));
    if waiting.is_empty() {
        to_stderr(&nothing_decided(args, place)?);
    } else {
        let count = counted(waiting.len() as u64, "request needs", "requests need");
        to_stderr(&format!("{count} a decision, {}", held_in_words(&waiting)));
    }
    Ok(code)
}

/// The object of every decision: which requests it is about.
fn print_json(code: ExitCode, place: &Path, action: &str, requests: &[Quarantined], charge: Value) {
    let request = |one: &Quarantined| {
        let row = |row: &WaitingRow| serde_json::json!({ "source": row.source, "row_number": row.row_number, "subject": row.subject });
        serde_json::json!({
            "request": one.request.0,
            "check": one.check,
            "state": one.state.as_str(),
            "credits_held": one.held,
            "attempts": one.attempts,
            "first_sent_at": json::time(one.first_armed_at_us),
            "why": one.why,
            "rows": one.rows.iter().map(row).collect::<Vec<_>>(),
        })
    };
    let fields = serde_json::json!({
        "folder": place.display().to_string(),
        "action": action,
        "requests": requests.iter().map(request).collect::<Vec<_>>(),
        "credits_held": requests.iter().map(|one| one.held.0).sum::<u64>(),
        "charge": charge,
    });
    json::print(&json::object(json::Format::Resolve, code, fields));
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
    if args.json {
        let charge = serde_json::json!({ "request": request, "before": before, "after": charge });
        print_json(ExitCode::Complete, place, "charge", &[], charge);
    }
    Ok(ExitCode::Complete)
}

/// One request to decide on, with its rows: their place and the value of their id column, never a name.
fn line(one: &Quarantined) -> String {
    let row = |row: &WaitingRow| {
        let subject = row.subject.as_deref().map(|subject| format!(" ({})", printable(subject)));
        format!("{} row {}{}", row.source, row.row_number, subject.unwrap_or_default())
    };
    let rows: Vec<String> = one.rows.iter().map(row).collect();
    let since = one.first_armed_at_us.map_or_else(|| "an unknown time".to_owned(), local_time);
    let why = one.why.as_deref().map(|why| format!(" · {}", printable(why)));
    format!(
        "request {} · {} · {} · {} held · {} since {since} · {}{}",
        one.request.0,
        one.check,
        one.state.as_str(),
        counted(one.held.0, "credit", "credits"),
        counted(one.attempts.into(), "attempt", "attempts"),
        rows.join(", "),
        why.unwrap_or_default()
    )
}

fn key_secret(config: Option<&Path>) -> Result<Option<KeySecret>, Error> {
    let Some(path) = config else { return Ok(None) };
    let base = path.parent().unwrap_or(Path::new(""));
    let source = read_file(path)?.keys.secret;
    let secret = source.map(|source| read_secret(&source, "the key secret", base)).transpose()?;
    Ok(secret.map(KeySecret::new))
}
