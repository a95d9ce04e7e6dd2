//! `rescreen plan`: shows what a run would do and cost. It sends nothing that is charged.

use super::{
    campaign_args::CampaignArgs,
    next_command::typed,
    output::{OutputArgs, to_stdout},
    progress::humanize,
    run::{first_line, print_feeds},
    simulate::BuiltIn,
};
use clap::Args;
use rescreen::{
    Error,
    mapping::UnmappedColumns,
    model::{ExitCode, Mode, clock::local_time, shell_words::quoted, state::State},
    pipeline::{self, Campaign, Plan, balance_alone, wording::grouped},
};
use std::time::Duration;

#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Print the first N requests, with their values masked
    #[arg(long, value_name = "N", default_value_t = 0)]
    show: usize,
}

pub async fn plan(args: PlanArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let mut campaign = args.campaign.campaign_to_plan()?;
    let simulator = if campaign.service.simulate { Some(BuiltIn::start(&mut campaign).await?) } else { None };
    let key_hint = campaign.service.api_key().map_or_else(|_| "not read".to_owned(), |key| key.hint());
    output.say(&first_line(&campaign, &key_hint));
    let (for_plan, show) = (campaign.clone(), args.show);
    let planned = tokio::task::spawn_blocking(move || pipeline::plan(&for_plan, show)).await;
    let plan = planned.map_err(Error::from)??;
    print_feeds(&plan.feeds, output);
    if campaign.key_secret_stands_in && plan.known.is_some() {
        output.say(
            "the key secret comes from a program, which `plan` does not start: requests that were already sent count \
             as new",
        );
    }
    for line in lines(&campaign, &plan) {
        to_stdout(&line);
    }
    for line in balance(&campaign, &plan).await {
        to_stdout(&line);
    }
    drop(simulator);
    output.say(&format!("continue with: {}", quoted(&as_run(typed()))));
    Ok(ExitCode::Complete)
}

/// The same command line for `run`, without the flags that only `plan` has.
fn as_run(words: Vec<String>) -> Vec<String> {
    let mut run = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "plan" if run.len() == 1 => run.push("run".to_owned()),
            "--show" => drop(words.next()),
            show if show.starts_with("--show=") => {}
            _ => run.push(word),
        }
    }
    run
}

/// The plan as text.
fn lines(campaign: &Campaign, plan: &Plan) -> Vec<String> {
    let declared = campaign.declared();
    let mut lines: Vec<String> = declared.iter().map(|declared| format!("declared by you {declared}")).collect();
    lines.extend([
        format!("rows            {:>12}", grouped(plan.rows)),
        format!("asks            {:>12}", grouped(plan.asks)),
        format!("requests        {:>12}   one for each distinct content", grouped(plan.requests)),
        format!("duplicates      {:>12}   answered by another row's request, free", grouped(plan.duplicates)),
        format!("skipped         {:>12}", grouped(plan.skipped)),
        format!("rejected        {:>12}   cost nothing, see failures/", grouped(plan.rejected.values().sum())),
    ]);
    for (code, count) in &plan.rejected {
        let (code, width) = (code.as_str(), 25 - code.as_str().len());
        lines.push(format!("  {code} {:>width$}", grouped(*count)));
    }
    for (note, noted) in plan.notes.iter() {
        let (count, row, source) = (grouped(noted.count), grouped(noted.row_number), &noted.source);
        lines.push(format!("noted           {count:>12}   {note} (first in row {row} of {source})"));
    }
    lines.push(format!("already settled {:>12}", grouped(plan.requests - plan.to_send)));
    lines.push(format!("to send         {:>12}", grouped(plan.to_send)));
    lines.push(match plan.credits {
        Some(credits) => format!("credits         {:>12}   at the table prices", grouped(credits.0)),
        None => "credits                 open   a price is unknown; add --price CHECK=N".to_owned(),
    });
    let end = campaign.clock.now_us() + i64::try_from(plan.duration.as_micros()).unwrap_or(i64::MAX / 2);
    lines.push(format!(
        "time            {:>12}   at {} a minute, until {}",
        humanize(plan.duration),
        campaign.service.rate.per_minute,
        local_time(end)
    ));
    for (check, per_hour) in campaign.hourly_limits() {
        let limit = grouped(per_hour.into());
        lines.push(format!(
            "hourly limit    {limit:>12}   {check}, counted for this campaign alone; not in the time above"
        ));
    }
    for ((check, field), count) in &plan.filled {
        lines.push(format!("filled          {:>12}   {check}.{field}", grouped(*count)));
    }
    lines.extend(plan.unmapped_columns.iter().map(unmapped));
    lines.extend(plan.shown.iter().map(|request| format!("request         {request}")));
    lines.extend(doubt(campaign, plan));
    lines
}

/// The columns of a check that are not sent although an optional field has their name, and the lines of the campaign
/// file that map them.
fn unmapped(of_check: &UnmappedColumns) -> String {
    let line = |(field, column): &(String, String)| format!("fields.{field} = {}", serde_json::json!(column));
    let lines: Vec<String> = of_check.columns.iter().map(line).collect();
    let (column, have) = if lines.len() == 1 { ("column has", "it") } else { ("columns have", "them") };
    format!(
        "not sent        {:>12}   {column} the name of an optional field of {}; to send {have}: {}",
        lines.len(),
        of_check.check_name,
        lines.join(", ")
    )
}

/// Whether the keys of requests in doubt could expire before the run gets to them.
fn doubt(campaign: &Campaign, plan: &Plan) -> Option<String> {
    let known = plan.known.as_ref()?;
    let count = known.in_state(State::Armed) + known.in_state(State::InDoubt) + known.in_state(State::Repeating);
    let oldest = plan.oldest_doubt_us?;
    let life_hours = campaign.key_life_hours();
    let until = oldest + i64::from(life_hours - 2) * 3_600 * 1_000_000;
    let late = if campaign.clock.now_us() > until { "too late: they will be quarantined" } else { "they go first" };
    Some(format!("in doubt        {:>12}   to be settled before {}: {late}", grouped(count), local_time(until)))
}

async fn balance(campaign: &Campaign, plan: &Plan) -> Vec<String> {
    if campaign.mode == Mode::Sandbox {
        return vec!["balance                    -   sandbox costs nothing".to_owned()];
    }
    let read = tokio::time::timeout(Duration::from_secs(30), balance_alone(&campaign.service, campaign.clock)).await;
    let balance = match read {
        Ok(Ok(balance)) => balance,
        Ok(Err(error)) => return vec![format!("balance              unknown   {error}")],
        Err(_) => return vec!["balance              unknown   the service did not answer in 30 s".to_owned()],
    };
    let mut lines = vec![format!("balance         {:>12}", grouped(balance.0))];
    let allowance = campaign.allowance;
    let spent = plan.known.as_ref().map(|sums| sums.account.charged + sums.account.held).unwrap_or_default();
    if let (Some(credits), Some(limit)) = (plan.credits, allowance.limit) {
        if spent + credits > limit {
            lines.push(format!(
                "the limit of {limit} credits will pause the run: {} more credits are needed",
                grouped((spent + credits).saturating_sub(limit).0)
            ));
        }
        if credits + allowance.keep_balance > balance {
            lines.push("the balance will pause the run before it is complete".to_owned());
        }
    }
    lines
}
