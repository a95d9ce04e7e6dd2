//! What the ledger records about a run: when it began, and how it ended. This module decides what counts as its end: a
//! report, or an error after which the ledger can still be written.

use super::{
    campaign::{Campaign, consent::system_user},
    report::RunReport,
    shown_command,
};
use crate::{
    error::Error,
    ledger::{Ledger, NewRun, RunBegun, RunEnd, RunStamp},
};

/// How a run ended, or will have ended if nothing more is recorded.
#[derive(Clone, Copy)]
pub enum RunEnded<'a> {
    Reported(&'a RunReport),
    Failed(&'a Error),
    Killed,
}

/// Makes the command that continues a run, for people to copy. The caller knows the command line.
pub type NextCommand = Box<dyn Fn(RunEnded<'_>) -> Option<String> + Send + Sync>;

/// Records the begin of a run, does its work, and records its end. `command` is `run` or `collect`.
pub async fn recorded(
    ledger: &Ledger,
    campaign: &Campaign,
    command: &'static str,
    next_command: Option<NextCommand>,
    work: impl Future<Output = Result<RunReport, Error>>,
) -> Result<RunReport, Error> {
    let next =
        |ended: RunEnded<'_>| next_command.as_ref().and_then(|next| next(ended)).filter(|line| !has_password(line));
    let if_killed = next(RunEnded::Killed);
    shown_command::note(ledger, campaign, if_killed.as_deref());
    let begun = ledger.begin_run(new_run(command, campaign, if_killed)).await?;
    match work.await.map_err(|error| error.at_ledger(ledger.path())) {
        Ok(mut report) => {
            report.next_command = next(RunEnded::Reported(&report));
            record_report(ledger, campaign, &begun, &mut report).await?;
            Ok(report)
        }
        Err(error) => {
            record_error(ledger, campaign, &begun, &error, next(RunEnded::Failed(&error))).await;
            Err(error)
        }
    }
}

fn new_run(command: &'static str, campaign: &Campaign, next_command: Option<String>) -> NewRun {
    let (started_by, campaign_text) = (system_user(), campaign.text.clone());
    NewRun { command, next_command, started_by, campaign_text, at_us: campaign.clock.now_us() }
}

/// Whether a command may contain a password, such as a URL with an `@`. It is not recorded.
fn has_password(line: &str) -> bool {
    line.split_whitespace().any(|word| word.contains("://") && word.contains('@'))
}

/// Records a run that ended before it could do anything.
pub async fn refused(ledger: &Ledger, campaign: &Campaign, error: &Error) {
    if let Ok(begun) = ledger.begin_run(new_run("run", campaign, None)).await {
        record_error(ledger, campaign, &begun, error, None).await;
    }
}

async fn record_report(
    ledger: &Ledger,
    campaign: &Campaign,
    begun: &RunBegun,
    report: &mut RunReport,
) -> Result<(), Error> {
    let at_us = campaign.clock.now_us();
    let reason = report.reason();
    let end = RunEnd {
        at_us,
        exit_code: report.exit_code as u8,
        kind: reason.as_ref().map(|reason| reason.kind.as_str().to_owned()),
        message: reason.map(|reason| reason.message).or_else(|| report.accepted_in_words()),
        credits_needed: report.credits_needed().map(|credits| credits.0),
    };
    let next_command = report.next_command.clone();
    shown_command::note(ledger, campaign, next_command.as_deref());
    ledger.end_run(begun.number, end, next_command).await?;
    report.run = Some(RunStamp { id: begun.id.clone(), started_at_us: begun.started_at_us, ended_at_us: at_us });
    Ok(())
}

/// Records an error. The ledger may be what failed, so a fault of this record is not another error.
async fn record_error(
    ledger: &Ledger,
    campaign: &Campaign,
    begun: &RunBegun,
    error: &Error,
    next_command: Option<String>,
) {
    let end = RunEnd {
        at_us: campaign.clock.now_us(),
        exit_code: error.exit_code() as u8,
        kind: Some(error.kind().as_str().to_owned()),
        message: Some(error.to_string()),
        credits_needed: None,
    };
    shown_command::note(ledger, campaign, next_command.as_deref());
    if let Err(fault) = ledger.end_run(begun.number, end, next_command).await {
        tracing::info!("the end of the run was not recorded: {fault}");
    }
}
