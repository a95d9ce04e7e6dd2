//! Whether a run would start, and what would stop it, as far as that can be seen beforehand. The decisions are those of
//! the run; this module only asks for them with the counts of the plan.

use super::{money::Money, planned::Plan};
use crate::{
    client::Client,
    error::Error,
    ledger::Sums,
    model::{Credits, ExitCode, Mode, Stop, budget::BudgetRefusal, clock::local_time},
    pipeline::{
        campaign::{Campaign, file::Share},
        send::{
            account::balance_alone,
            earlier_stop::{kept_stop, long_pause},
            guards,
        },
        wording::{counted, grouped, in_quarantine, under_another_key},
    },
};
use std::time::Duration;

/// How long a plan waits for the balance.
const BALANCE_WAIT: Duration = Duration::from_secs(30);
/// How long it waits before it asks for the balance again.
const BALANCE_RETRIES: [Duration; 3] =
    [Duration::from_millis(250), Duration::from_millis(500), Duration::from_millis(1_000)];

/// What keeps a run from starting, or would stop it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The exit code of the run.
    pub exit_code: ExitCode,
    /// What was found, and what to do about it.
    pub reason: String,
    /// The flag that removes it, with its value.
    pub remedy: Option<(String, String)>,
}

/// What is known of the account.
#[derive(Debug, Default)]
pub struct AccountSeen {
    /// The fingerprint of the API key; `None` if it comes from a program, which a plan does not start.
    pub api_key: Option<Result<String, Error>>,
    /// The balance; `None` if it was not asked for.
    pub balance: Option<Result<Credits, Error>>,
}

impl AccountSeen {
    /// The fingerprint of the API key, if it was read.
    pub fn fingerprint(&self) -> Option<&str> {
        self.api_key.as_ref()?.as_deref().ok()
    }
}

/// Reads the API key and, in production, the balance. Starts no program and sends nothing that is charged.
pub async fn see_account(campaign: &Campaign) -> AccountSeen {
    let service = &campaign.service;
    if service.needs_program() {
        return AccountSeen::default();
    }
    let read = service.api_key().and_then(|api_key| {
        let fingerprint = api_key.fingerprint();
        // As a run does, so that a mistake in the service settings is found.
        let settings = service.settings.url.clone().map(|url| service.client_settings(url, api_key)).transpose()?;
        settings.map(|settings| Client::new(&settings)).transpose()?;
        Ok(fingerprint)
    });
    let may_ask = read.is_ok() && campaign.mode == Mode::Production;
    let balance = async {
        let asked = tokio::time::timeout(BALANCE_WAIT, balance(campaign)).await;
        let message = format!("no answer within {} s", BALANCE_WAIT.as_secs());
        asked.unwrap_or_else(|_| Err(Error::Stopped(Stop::Unavailable { message })))
    };
    let balance = if may_ask { Some(balance.await) } else { None };
    AccountSeen { api_key: Some(read), balance }
}

/// Reads the balance. Like a run, it does not give up at the first reply that is lost or broken.
async fn balance(campaign: &Campaign) -> Result<Credits, Error> {
    for wait in BALANCE_RETRIES {
        match balance_alone(&campaign.service, campaign.clock).await {
            Err(Error::Stopped(Stop::Unavailable { .. } | Stop::NotTheService { .. })) => {
                tokio::time::sleep(wait).await
            }
            read => return read,
        }
    }
    balance_alone(&campaign.service, campaign.clock).await
}

impl Obstacle {
    fn of_stop(stop: &Stop) -> Obstacle {
        Obstacle { exit_code: stop.exit_code(), reason: stop.to_string(), remedy: stop.remedy() }
    }

    fn of_error(error: &Error) -> Obstacle {
        Obstacle { exit_code: error.exit_code(), reason: error.to_string(), remedy: None }
    }
}

/// The exit code of a run with these obstacles.
pub fn exit_code(obstacles: &[Obstacle]) -> ExitCode {
    obstacles.iter().map(|one| one.exit_code).fold(ExitCode::Complete, ExitCode::or)
}

/// Everything that would stop a run, the first to be met first.
pub fn obstacles(campaign: &Campaign, plan: &Plan, seen: &AccountSeen) -> Result<Vec<Obstacle>, Error> {
    let now_us = campaign.clock.now_us();
    let mut obstacles = Vec::new();
    if let Some(Err(error)) = &seen.api_key {
        obstacles.push(Obstacle::of_error(error));
    }
    if let (Some(sums), Some(Ok(api_key))) = (&plan.known, &seen.api_key) {
        let settings = campaign.settings_digest(api_key)?;
        let kept = kept_stop(sums, &settings).filter(|_| !plan.is_settled());
        obstacles.extend(kept.or_else(|| long_pause(sums, now_us)).map(|stop| of_earlier_run(&stop)));
    }
    obstacles.extend(guard(campaign, plan));
    obstacles.extend(guards::expected_rows(plan.tree.rows, campaign.expect_rows).map(|stop| Obstacle::of_stop(&stop)));
    if plan.money.requests() + plan.tree.in_doubt > 0 {
        if let Some(Err(error)) = &seen.balance
            && !matches!(seen.api_key, Some(Err(_)))
        {
            obstacles.push(Obstacle::of_error(error));
        }
        let balance = seen.balance.as_ref().and_then(|balance| balance.as_ref().ok()).copied();
        let refusal = plan.money.refusal(balance, now_us);
        obstacles.extend(refusal.map(|refusal| too_expensive(&plan.money, refusal, balance)));
    }
    obstacles.extend(doubts(campaign, plan, seen));
    let tree = &plan.tree;
    if tree.requests() == 0 && tree.rejected + tree.unreadable > 0 {
        let reason = "every check asked is rejected, so nothing would be sent".to_owned();
        obstacles.push(Obstacle { exit_code: ExitCode::Failures, reason, remedy: None });
    }
    Ok(obstacles)
}

/// What a run could not settle, if it has nothing else to do: requests in doubt that were sent under another API key, and
/// those that wait for a decision.
fn doubts(campaign: &Campaign, plan: &Plan, seen: &AccountSeen) -> Vec<Obstacle> {
    let tree = &plan.tree;
    let withheld = seen.fingerprint().map_or(0, |api_key| plan.withheld(api_key));
    if plan.money.requests() + tree.jobs > 0 || tree.in_doubt > withheld {
        return Vec::new();
    }
    let obstacle = |reason| Obstacle { exit_code: ExitCode::Doubt, reason, remedy: None };
    let until = plan.keys_until_us(campaign).map_or_else(|| "the keys expire".to_owned(), local_time);
    let under_another_key = (withheld > 0).then(|| under_another_key(withheld, &until, &campaign.out));
    let is_charged = campaign.mode == Mode::Production && !campaign.service.simulate;
    let waiting = (tree.quarantined > 0).then(|| in_quarantine(tree.quarantined, is_charged, &campaign.out));
    under_another_key.into_iter().chain(waiting).map(obstacle).collect()
}

/// The guard on rows that cannot be read or mapped. If nothing is left to send, there is nothing to stop.
fn guard(campaign: &Campaign, plan: &Plan) -> Option<Obstacle> {
    if plan.is_settled() {
        return None;
    }
    let corrected = plan.corrections.as_ref().map_or(0, |counts| counts.mapped);
    let sums = counts(plan.tree.unreadable, plan.tree.asks, plan.tree.rejected.saturating_sub(corrected));
    let of_all = guards::unmapped(&sums, &campaign.guards).map(|stop| (plan.tree.rows, stop));
    // An earlier run has read its rows; only their sum counts.
    let early = plan.early_stop.clone().filter(|_| plan.known.is_none());
    let (rows, stop) = of_all.or(early)?;
    let Stop::TooManyErrors { failed, of, .. } = stop else { return Some(Obstacle::of_stop(&stop)) };
    let among = if rows < plan.tree.rows {
        format!(" among the first {}", counted(rows, "row", "rows"))
    } else {
        String::new()
    };
    let reason = format!(
        "{} of {} cannot be read and mapped{among}, more than --max-errors allows ({}); correct the mapping or the input, \
         or allow more",
        grouped(failed),
        grouped(of),
        allowed(campaign.guards.max_errors)
    );
    Some(Obstacle { reason, ..Obstacle::of_stop(&stop) })
}

/// A limit as the user writes it.
fn allowed(share: Share) -> String {
    match share {
        Share::Count(count) => grouped(count),
        Share::Percent(percent) => format!("{percent}%"),
    }
}

/// A stop that an earlier run left.
fn of_earlier_run(stop: &Stop) -> Obstacle {
    let reason = match stop {
        Stop::Kept { message, at_us, .. } => format!(
            "the run of {} stopped, its cause has not changed since, and another run would send nothing. It said: {message}",
            local_time(*at_us)
        ),
        stop => stop.to_string(),
    };
    Obstacle { reason, ..Obstacle::of_stop(stop) }
}

/// The counts on which the guard decides.
pub fn counts(unreadable: u64, asks: u64, unmapped: u64) -> Sums {
    Sums { unreadable, asks, unmapped, ..Sums::default() }
}

fn too_expensive(money: &Money, refusal: BudgetRefusal, balance: Option<Credits>) -> Obstacle {
    let stop = Stop::Budget(refusal);
    let hold = money.to_hold().unwrap_or_default();
    let jobs = match money.this_run() {
        Some(cost) if cost < hold => format!(" ({} while the jobs have no result)", grouped(hold.0)),
        _ => String::new(),
    };
    let cost = grouped(money.this_run().unwrap_or_default().0);
    let (reason, remedy) = match (refusal, money.sufficient_limit()) {
        (BudgetRefusal::Limit { limit, .. }, Some(needed)) => (
            format!(
                "the limit of {} is {} short: {} are used, and this run needs {cost}{jobs}; --max-credits {needed} suffices",
                counted(limit.0, "credit", "credits"),
                grouped(money.short_by().0),
                grouped(money.used().0),
            ),
            Some(("--max-credits".to_owned(), needed.to_string())),
        ),
        (BudgetRefusal::Balance { spendable, keep, .. }, _) => (
            format!(
                "the balance of {} is {} short: this run needs {cost}{jobs}, {} are held and {} are to be kept; top up the \
                 account, or lower --keep-balance",
                counted(balance.unwrap_or_default().0, "credit", "credits"),
                grouped(hold.saturating_sub(spendable).0),
                grouped(money.account.held.0),
                grouped(keep.0),
            ),
            None,
        ),
        _ => (stop.to_string(), None),
    };
    Obstacle { exit_code: stop.exit_code(), reason, remedy }
}
