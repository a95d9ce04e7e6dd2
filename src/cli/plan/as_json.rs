//! A plan as JSON, with every number of the screen.

use super::{super::json, next::Next, shown::Planned};
use rescreen::{
    model::Credits,
    pipeline::{Rejection, ValueCounts, outlook},
};
use serde_json::{Value, json};

/// The most reasons that are listed.
const REASONS_MAX: usize = 100;

/// The plan as one object.
pub fn object(planned: &Planned<'_>) -> Value {
    let Planned { campaign, plan, seen, obstacles, .. } = planned;
    let (tree, money) = (&plan.tree, &plan.money);
    let finish_us = campaign.clock.now_us() + i64::try_from(plan.duration.as_micros()).unwrap_or(i64::MAX / 2);
    let balance = seen.balance.as_ref().and_then(|balance| balance.as_ref().ok());
    let fields = json!({
        "campaign": campaign.name,
        "mode": campaign.mode.as_str(),
        "service": campaign.origin(),
        "obstacles": obstacles.iter().map(|one| json!({
            "exit_code": one.exit_code as u8,
            "reason": one.reason,
        })).collect::<Vec<_>>(),
        "next_command": match &planned.next {
            Next::Run(command) | Next::Rehearse(command) | Next::PlanAgain(command) => Some(command),
            Next::Nothing => None,
        },
        "rows": {
            "total": tree.rows,
            "unreadable": tree.unreadable,
            "readable": tree.readable(),
        },
        "asks": {
            "total": tree.asks,
            "skipped": tree.skipped,
            "rejected": tree.rejected,
            "duplicates": tree.duplicates,
            "settled": tree.settled,
            "jobs": tree.jobs,
            "quarantined": tree.quarantined,
            "kept": tree.kept,
            "reused": tree.reused,
            "in_doubt": tree.in_doubt,
            "to_send": tree.to_send,
        },
        "requests": tree.requests(),
        "to_send_of_other_mapping": money.of_other_mapping,
        "rejected": {
            "total": plan.reasons.total(),
            "by_code": plan.reasons.by_code().into_iter().map(|(code, count)| (code.as_str().to_owned(), count.into()))
                .collect::<serde_json::Map<String, Value>>(),
            "reasons": plan.reasons.commonest(REASONS_MAX).iter().map(reason).collect::<Vec<_>>(),
            "file": planned.failures.as_ref().filter(|_| matches!(plan.failures, Some(Ok(1..)))),
        },
        "id": campaign.id.as_ref().zip(plan.id.as_ref()).map(|(column, counts)| with(json!({ "column": column }), counts)),
        "fields": plan.feeds.iter().map(|feed| {
            let named = json!({
                "check": feed.check_name,
                "field": feed.field,
                "from": feed.from,
                "by_name": feed.by_name,
            });
            match feed.of_row.and_then(|place| plan.fields.get(&place)) {
                Some(counts) => with(named, counts),
                None => named,
            }
        }).collect::<Vec<_>>(),
        "columns_not_sent": plan.unmapped_columns.iter().flat_map(|unmapped| {
            unmapped.columns.iter().map(|(field, column)| json!({
                "check": unmapped.check_name,
                "field": field,
                "column": column,
            }))
        }).collect::<Vec<_>>(),
        "corrections": plan.corrections.as_ref().map(|counts| json!({
            "corrected": counts.corrected,
            "unchanged": counts.unchanged,
            "refused": counts.refused,
            "mapped": counts.mapped,
            "failing": counts.failing,
            "changed_columns": counts.changed_columns,
            "ignored_columns": counts.ignored_columns,
        })),
        "notes": plan.notes.iter().map(|(note, noted)| json!({
            "note": note.as_str(),
            "count": noted.count,
            "first_source": noted.source,
            "first_row_number": noted.row_number,
        })).collect::<Vec<_>>(),
        "credits": {
            "limit": money.allowance.limit,
            "keep_balance": money.allowance.keep_balance,
            "charged": money.account.charged,
            "held": money.account.held,
            "used": money.used(),
            "this_run": money.this_run(),
            "this_run_in_production": money.in_production(),
            "held_at_once": money.to_hold(),
            "short_by": money.short_by(),
            "sufficient_limit": money.sufficient_limit(),
            "balance": balance,
        },
        "checks": money.checks.iter().map(|one| json!({
            "check": one.check,
            "to_send": one.requests,
            "price": one.price,
            "credits": one.price_here.map(|price| Credits::times(price, one.requests)),
            "per_hour": one.per_hour,
            "may_be_job": one.is_job,
        })).collect::<Vec<_>>(),
        "webhook_url": campaign.webhook.url,
        "time": {
            "per_minute": campaign.service.settings.rate().per_minute,
            "seconds": plan.duration.as_secs(),
            "finishes_at": json::time(finish_us),
            "limited_by": plan.slowest.as_ref().map(|(check, per_hour)| json!({ "check": check, "per_hour": per_hour })),
        },
    });
    json::object(json::Format::Plan, outlook::exit_code(obstacles), fields)
}

fn reason(reason: &Rejection) -> Value {
    json!({
        "code": reason.code.as_str(),
        "check": reason.check_name,
        "message": reason.message,
        "count": reason.count,
        "source": reason.source,
        "first_lines": reason.lines,
    })
}

fn with(mut named: Value, counts: &ValueCounts) -> Value {
    if let Value::Object(members) = &mut named {
        members.insert("filled".to_owned(), counts.filled.into());
        members.insert("distinct".to_owned(), counts.distinct.into());
        members.insert("empty".to_owned(), counts.empty.into());
    }
    named
}
