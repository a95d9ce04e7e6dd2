//! A plan as one screen of text, at most 80 columns wide. Every number is the sum of the numbers below it, or states
//! what it counts.

use super::shown::Planned;
use crate::cli::{
    progress::humanize,
    wrap::{self, cut, cut_line},
};
use rescreen::{
    mapping::FieldFeed,
    model::{Credits, ExitCode, Mode, clock::local_time, field::tidy, job_life},
    pipeline::{
        CheckCost, CorrectionCounts, ValueCounts, outlook,
        wording::{counted, grouped},
    },
};
use std::{collections::BTreeSet, path::Path};

/// The width of labels, and of the numbers after them.
const LABEL: usize = 20;
const NUMBER: usize = 12;
/// The width of the names of fields, and of each of their counts.
const LABELS: usize = 50;
const COUNT: usize = 10;
/// The lines of the whole screen, if they suffice. Fields are left out first, but never more than all but these.
const LINES: usize = 40;
const FIELDS_LEAST: usize = 6;
/// The most reasons that are listed if there are more than `REASONS_ALL`, and the most lines of each.
const REASONS_MAX: usize = 3;
const REASONS_ALL: usize = 4;
const REASON_LINES_MAX: usize = 5;

/// The lines of a plan on a page of this many columns.
pub fn lines(planned: &Planned<'_>, columns: usize) -> Vec<String> {
    let fitted =
        |section: Vec<String>| -> Vec<String> { section.iter().flat_map(|line| wrap::lines(line, columns)).collect() };
    let before = [tree(planned), rejected(planned, columns)].map(fitted);
    let ending = [fitted(end(planned)), planned.next.lines(planned.can_save, columns)].concat();
    let corrections = corrected_rows(planned);
    let after = [fitted(corrections), fitted(money(planned)), fitted(time(planned)), fitted(remarks(planned)), ending];
    let others: usize = before.iter().chain(&after).filter(|one| !one.is_empty()).map(|one| one.len() + 1).sum();
    // The first lines of the screen, and the empty line before this section.
    let heading = 1 + usize::from(planned.campaign.file.is_some());
    let fields = fields(planned, LINES.saturating_sub(others + heading + 1), columns);
    let sections = before.into_iter().chain([fields]).chain(after);
    let mut lines = Vec::new();
    for section in sections.filter(|section| !section.is_empty()) {
        lines.push(String::new());
        lines.extend(section);
    }
    lines
}

/// A label, a text such as a number, and what it is.
fn row(label: &str, value: &str, note: &str) -> Vec<String> {
    vec![format!("{label:<LABEL$}{value:>NUMBER$}   {note}").trim_end().to_owned()]
}

fn count(label: &str, number: u64, note: &str) -> Vec<String> {
    row(label, &grouped(number), note)
}

/// The name of an input without its folder.
fn file_name(source: &str) -> &str {
    match source {
        "-" => "standard input",
        path => Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path),
    }
}

fn tree(planned: &Planned<'_>) -> Vec<String> {
    let (tree, checks) = (&planned.plan.tree, planned.campaign.uses.len());
    let some = |number: u64, label, note| if number > 0 { count(label, number, note) } else { Vec::new() };
    let each =
        if checks == 1 { "1 for each readable row".to_owned() } else { format!("{checks} for each readable row") };
    let corrected = planned.plan.corrected_asks();
    let rejected = match corrected {
        0 => "cannot be sent, and costs nothing",
        _ => "counted without the corrections",
    };
    [
        count("rows", tree.rows, ""),
        count("  unreadable", tree.unreadable, ""),
        count("  readable", tree.readable(), ""),
        count("checks asked", tree.asks, &each),
        count("  skipped", tree.skipped, "left out by `when`"),
        count("  rejected", tree.rejected, rejected),
        count("  duplicates", tree.duplicates, "answered by another row's request, free"),
        count("  already settled", tree.settled, "answered or failed in an earlier run"),
        some(tree.jobs, "  jobs", "at the service, without a result yet"),
        some(tree.quarantined, "  quarantined", "wait for a decision: rescreen resolve"),
        some(tree.kept, "  kept", "read before with another mapping, and not sent"),
        some(tree.reused, "  reused", &saved(planned)),
        some(tree.in_doubt, "  in doubt", "sent again with the same key, already held"),
        count("  to send", tree.to_send, ""),
        some(corrected, "corrected", "rejected or unreadable before, mapped with their corrected row"),
        some(planned.plan.money.of_other_mapping, "also to send", "of rows that were read before with another mapping"),
    ]
    .concat()
}

/// Whose answers are used again, and what that saves.
fn saved(planned: &Planned<'_>) -> String {
    let from = planned.campaign.reuse.as_ref().map(|reuse| reuse.from.display().to_string()).unwrap_or_default();
    match planned.plan.money.saved {
        Credits::ZERO => format!("answered in {from}, free"),
        saved => format!("answered in {from}, which saves {}", counted(saved.0, "credit", "credits")),
    }
}

/// What a file of corrections changes.
fn corrected_rows(planned: &Planned<'_>) -> Vec<String> {
    planned.plan.corrections.iter().flat_map(CorrectionCounts::lines).collect()
}

fn rejected(planned: &Planned<'_>, columns: usize) -> Vec<String> {
    let plan = planned.plan;
    // One more reason takes as much room as a line that says that one was left out.
    let most = if plan.reasons.kinds() <= REASONS_ALL { REASONS_ALL } else { REASONS_MAX };
    let (total, commonest) = (plan.reasons.total(), plan.reasons.commonest(most));
    if total == 0 {
        return planned.failures.iter().map(|path| format!("no row fails, so {path} is not written")).collect();
    }
    let title = match plan.reasons.kinds() {
        kinds if kinds > most => {
            format!("rejected or unreadable: the {REASONS_MAX} commonest of {kinds} reasons")
        }
        _ => "rejected or unreadable, by reason".to_owned(),
    };
    let mut lines = vec![title];
    for reason in &commonest {
        let check = reason.check_name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let text = format!("{:>8}  {}: {check}{}", grouped(reason.count), reason.code.as_str(), reason.message);
        lines.extend(cut(wrap::lines(&text, columns), REASON_LINES_MAX, columns));
        lines.push(format!("          {}", reason.place(file_name(&reason.source))));
    }
    let rest = total - commonest.iter().map(|reason| reason.count).sum::<u64>();
    if rest > 0 {
        lines.push(format!("{:>8}  for other reasons", grouped(rest)));
    }
    lines.extend(match (&planned.failures, &plan.failures) {
        (Some(path), Some(Ok(count))) => Some(format!("all {} are in {path}", grouped(*count))),
        (None, _) => Some("to get all of them with their columns: --failures FILE.csv".to_owned()),
        _ => None,
    });
    lines
}

/// What fills the id and each field, and how often, in at most this many lines.
fn fields(planned: &Planned<'_>, most: usize, columns: usize) -> Vec<String> {
    let (campaign, plan) = (planned.campaign, planned.plan);
    let labels = columns.saturating_sub(3 * COUNT).min(LABELS);
    let mut lines = vec![format!("{:<labels$}{:>COUNT$}{:>COUNT$}{:>COUNT$}", "fields", "filled", "distinct", "empty")];
    if let (Some(id), Some(counts)) = (&campaign.id, &plan.id) {
        lines.extend(counted_field(&format!("  id ← `{}`", tidy(id)), *counts, labels));
    }
    let mut of_row: Vec<(&FieldFeed, ValueCounts)> = Vec::new();
    for feed in &plan.feeds {
        of_row.extend(feed.of_row.map(|place| (feed, plan.fields.get(&place).copied().unwrap_or_default())));
    }
    let fixed: Vec<&FieldFeed> = plan.feeds.iter().filter(|feed| feed.of_row.is_none()).collect();
    let several = campaign.uses.len() > 1;
    let same: Vec<String> = fixed.iter().map(|feed| label(feed, several)).collect();
    let same = if same.is_empty() { Vec::new() } else { wrap::lines(&format!("  {}", same.join(", ")), columns) };
    // One line says how many are left out.
    let room = most.saturating_sub(lines.len() + same.len() + 1);
    let shown = if of_row.len() + headings(&of_row, several) > room {
        // Fields with rows without a value matter most.
        of_row.sort_by_key(|(_, counts)| counts.empty == 0);
        room.saturating_sub(headings(&of_row, several)).max(FIELDS_LEAST)
    } else {
        of_row.len()
    };
    let left_out = of_row.len().saturating_sub(shown);
    of_row.truncate(shown);
    of_row.sort_by_key(|(feed, _)| feed.of_row);
    let mut heading = "";
    for (feed, counts) in of_row {
        if several && heading != feed.check_name {
            heading = &feed.check_name;
            lines.push(format!("  {heading}"));
        }
        let indent = if several { "    " } else { "  " };
        lines.extend(counted_field(&format!("{indent}{}", label(feed, false)), counts, labels));
    }
    if left_out > 0 {
        lines.push(format!("  and {}: --json lists them", counted(left_out as u64, "more field", "more fields")));
    }
    lines.extend(same);
    lines
}

/// The number of lines with the name of a check.
fn headings(fields: &[(&FieldFeed, ValueCounts)], several: bool) -> usize {
    let checks: BTreeSet<&str> = fields.iter().map(|(feed, _)| feed.check_name.as_str()).collect();
    if several { checks.len() } else { 0 }
}

fn label(feed: &FieldFeed, several: bool) -> String {
    let check = if several { format!("{}.", feed.check_name) } else { String::new() };
    let chosen = if feed.by_name { " (by name)" } else { "" };
    format!("{check}{} ← {}{chosen}", feed.field, feed.from.strip_prefix("column ").unwrap_or(&feed.from))
}

fn counted_field(label: &str, counts: ValueCounts, labels: usize) -> Vec<String> {
    let [filled, distinct, empty] = [counts.filled, counts.distinct, counts.empty].map(grouped);
    let numbers = format!("{filled:>COUNT$}{distinct:>COUNT$}{empty:>COUNT$}");
    if label.chars().count() > labels {
        return vec![cut_line(label, labels + 3 * COUNT), format!("{}{numbers}", " ".repeat(labels))];
    }
    vec![format!("{label:<labels$}{numbers}")]
}

fn money(planned: &Planned<'_>) -> Vec<String> {
    let (campaign, money) = (planned.campaign, &planned.plan.money);
    let is_sandbox = campaign.mode == Mode::Sandbox;
    let limit = money.allowance.limit.map_or("none".to_owned(), |limit| grouped(limit.0));
    let (charged, held) = (money.account.charged.0, money.account.held.0);
    let used = if held > 0 { format!("{} charged, {} held", grouped(charged), grouped(held)) } else { String::new() };
    let mut lines = row("limit", &limit, "credits, for all runs of the campaign");
    lines.extend(count("used", money.used().0, &used));
    let cost = money.this_run().map_or("unknown".to_owned(), |cost| grouped(cost.0));
    let note =
        if is_sandbox { "sandbox is free, and its answers are invented".to_owned() } else { prices(&money.checks) };
    lines.extend(row("this run", &cost, &note));
    if is_sandbox && money.requests() > 0 {
        let cost = money.in_production().map_or("unknown".to_owned(), |cost| grouped(cost.0));
        lines.extend(row("  in production", &cost, &prices(&money.checks)));
    }
    if let (Some(cost), Some(hold)) = (money.this_run(), money.to_hold())
        && hold > cost
    {
        lines.extend(count("  held at once", hold.0, "while the jobs have no result"));
    }
    let short = match money.short_by().0 {
        0 => String::new(),
        _ => format!("--max-credits {} suffices", money.sufficient_limit().unwrap_or_default()),
    };
    lines.extend(count("short by", money.short_by().0, &short));
    lines.extend(balance(planned));
    lines
}

/// The prices of the checks that would be sent.
fn prices(checks: &[CheckCost]) -> String {
    let sent = checks.iter().filter(|one| one.requests > 0);
    let price = |one: &CheckCost| match one.price {
        Some(price) => format!("{} × {} at {price}", grouped(one.requests), one.check),
        None => format!("{} × {}: add --price {}=N", grouped(one.requests), one.check, one.check),
    };
    sent.map(price).collect::<Vec<_>>().join(", ")
}

fn balance(planned: &Planned<'_>) -> Vec<String> {
    let (campaign, seen) = (planned.campaign, planned.seen);
    if campaign.mode == Mode::Sandbox {
        return row("balance", "-", "sandbox does not use it");
    }
    match &seen.balance {
        Some(Ok(balance)) => {
            let keep = campaign.allowance.keep_balance.0;
            let note = if keep > 0 { format!("of which {} are kept", grouped(keep)) } else { String::new() };
            count("balance", balance.0, &note)
        }
        Some(Err(_)) => row("balance", "unknown", "the service did not state it; see below"),
        None if campaign.service.needs_program() => {
            row("balance", "unknown", "the API key comes from a program, which `plan` does not start")
        }
        None => row("balance", "unknown", "there is no API key to ask for it"),
    }
}

fn time(planned: &Planned<'_>) -> Vec<String> {
    let (campaign, plan) = (planned.campaign, planned.plan);
    let end = campaign.clock.now_us() + i64::try_from(plan.duration.as_micros()).unwrap_or(i64::MAX / 2);
    let pace = match &plan.slowest {
        Some((check, per_hour)) => format!("at {} an hour of {check}", grouped(u64::from(*per_hour))),
        None => format!("at {} a minute", grouped(u64::from(campaign.service.settings.rate().per_minute))),
    };
    let note = match plan.duration.is_zero() {
        true => pace,
        // The simulator answers as fast as it can.
        false if campaign.service.unlimited => format!("of a real run, {pace}"),
        false => format!("{pace}, until {}", local_time(end)),
    };
    let mut lines = row("time", &humanize(plan.duration), &note);
    for one in plan.money.checks.iter().filter(|one| one.is_job && one.requests > 0) {
        let lost = job_life::LOST_AFTER.as_secs() / 3_600;
        let webhook = match &campaign.webhook.url {
            Some(url) => format!("The service also notifies {url} when they end."),
            None => "No webhook URL is set.".to_owned(),
        };
        let text = format!(
            "Requests of {} may become jobs: their results come after minutes or hours, and count as lost after {lost} h. A run \
             ends with exit code 5 while any is open, and `rescreen collect` gets their results. {webhook}",
            one.check
        );
        lines.push(format!("  {text}"));
    }
    lines
}

/// Everything else that the user should know.
fn remarks(planned: &Planned<'_>) -> Vec<String> {
    let (campaign, plan) = (planned.campaign, planned.plan);
    let mut remarks: Vec<String> =
        campaign.declared().iter().map(|declared| format!("declared by you {declared}")).collect();
    if let (Some(id), Some(counts)) = (&campaign.id, &plan.id)
        && let Some(doubt) = counts.of_id(id)
    {
        remarks.push(format!("warning: {doubt}"));
    }
    for (note, noted) in plan.notes.iter() {
        let (values, row) = (counted(noted.count, "value", "values"), grouped(noted.row_number));
        remarks.push(format!("noted {values}, first in row {row} of {}: {note}", noted.source));
    }
    remarks.extend(plan.notes.of_rows().iter().map(|line| format!("noted {line}")));
    for unmapped in &plan.unmapped_columns {
        let line = |(field, column): &(String, String)| format!("fields.{field} = {}", serde_json::json!(column));
        let lines: Vec<String> = unmapped.columns.iter().map(line).collect();
        let (columns, them) = if lines.len() == 1 { ("column has", "it") } else { ("columns have", "them") };
        remarks.push(format!(
            "not sent: {} {columns} the name of an optional field of {}; to send {them}: {}",
            lines.len(),
            unmapped.check_name,
            lines.join(", ")
        ));
    }
    if campaign.key_secret_is_placeholder && plan.known.is_some() {
        remarks.push(
            "the key secret comes from a program, which `plan` does not start: requests that were already sent count \
             as new"
                .to_owned(),
        );
    }
    if let Some(stop) = plan.known.as_ref().and_then(|sums| sums.stop.as_ref())
        && planned.seen.api_key.is_none()
    {
        remarks.push(format!(
            "the run of {} stopped: {}. `plan` does not read the API key, so it cannot tell whether the cause is gone",
            local_time(stop.at_us),
            stop.message
        ));
    }
    remarks.extend(doubt(planned));
    remarks.extend(plan.shown.iter().map(|request| format!("request {request}")));
    remarks
}

/// Whether the keys of requests in doubt could expire before the run gets to them.
fn doubt(planned: &Planned<'_>) -> Option<String> {
    let (campaign, in_doubt) = (planned.campaign, planned.plan.tree.in_doubt);
    let until = planned.plan.keys_until_us(campaign).filter(|_| in_doubt > 0)?;
    let withheld = planned.seen.fingerprint().map_or(0, |api_key| planned.plan.withheld(api_key));
    let late = match withheld {
        _ if campaign.clock.now_us() > until => "too late: they will be quarantined".to_owned(),
        0 => "they go first".to_owned(),
        withheld => format!("{} of them only under the API key that sent them", grouped(withheld)),
    };
    let requests = counted(in_doubt, "request", "requests");
    Some(format!("in doubt: {requests} to be settled before {}: {late}", local_time(until)))
}

fn end(planned: &Planned<'_>) -> Vec<String> {
    let (plan, obstacles) = (planned.plan, planned.obstacles);
    let sent = plan.money.requests() + plan.tree.in_doubt;
    let mut lines = match outlook::exit_code(obstacles) {
        ExitCode::Complete if sent > 0 => vec![format!("a run would send {}", counted(sent, "request", "requests"))],
        ExitCode::Complete => vec![format!("nothing would be sent: {}", nothing(planned))],
        ExitCode::Failures => vec!["nothing would be sent: every check asked is rejected".to_owned()],
        ExitCode::Usage => vec!["a run would not start (exit code 2):".to_owned()],
        code => vec![format!("a run would stop (exit code {}):", code as u8)],
    };
    if obstacles.iter().any(|one| one.exit_code != ExitCode::Failures) {
        lines.extend(obstacles.iter().map(|one| format!("  - {}", one.reason)));
    }
    lines
}

/// Why nothing would be sent although nothing would stop the run.
fn nothing(planned: &Planned<'_>) -> &'static str {
    let tree = &planned.plan.tree;
    match () {
        () if tree.rows == 0 => "the input has no rows",
        () if planned.plan.corrected_asks() > 0 => "a run would only take over the corrected rows",
        () if tree.jobs > 0 => "a run would wait for the results of jobs",
        () if tree.quarantined > 0 => "the rest waits for a decision: rescreen resolve",
        () if tree.reused > 0 => "an earlier round has the answers, and a run takes them",
        () if tree.settled > 0 => "everything is settled",
        () if tree.kept > 0 => "all rows keep the requests of an earlier mapping",
        () => "`when` leaves out every row",
    }
}
