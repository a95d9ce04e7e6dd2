//! One attempt of one request: made ready, with its document uploaded if it is large → armed → sent, if the gate is still
//! open → settled. [`super::next_step`] decides what comes next.

use super::{
    attempt_end::{AttemptEnd, Heard},
    context::{CheckContext, RunContext},
    file_body::FileBody,
    make_ready::make_ready,
    outgoing::Outgoing,
    purse::{Claimed, NotClaimed},
    settle::settle,
    upload::NotReady,
};
use crate::{
    error::Error,
    ledger::ArmOrder,
    model::{Credits, Permit, Receipt, RequestId, state::Outcome},
};
use std::sync::{Arc, atomic::Ordering};
use tokio::sync::{OwnedSemaphorePermit, mpsc::UnboundedSender};

/// Makes one attempt. `lower` is what the check costs, if that is less than its price. It tells what it heard before it is
/// recorded.
pub async fn attempt(
    context: Arc<RunContext>,
    permit: Permit,
    request: RequestId,
    name: String,
    lower: Option<Credits>,
    tell: UnboundedSender<Heard>,
) -> Result<AttemptEnd, Error> {
    let check = context.checks.get(&name).ok_or_else(|| Error::Internal(format!("no check `{name}` in this run")))?;
    if context.clock_watch.has_moved() {
        return Ok(AttemptEnd::ClockMoved);
    }
    let price = context.ledger.sums().price_to_hold(&name, check.price).max(check.job_hold);
    let ready = make_ready(&context, permit, request, check, price).await?;
    let mut order = order(&context, check, request, name);
    let mut outgoing = Outgoing::new(&order, &context, price, lower);
    let (permit, mut file_body) = match ready {
        Ok(ready) => ready,
        Err(NotReady::Ended(end)) => return Ok(end),
        // The request itself is not sent. Its failed upload is recorded as an attempt, so that it is counted, paced and
        // judged like any other.
        Err(NotReady::Failed(exchange)) => {
            return settle(&context, check, outgoing, *exchange, Some(order), &tell).await;
        }
    };
    let claimed = match claim(&context, &mut order).await? {
        Ok(claimed) => claimed,
        Err(not_claimed) => return Ok(not_claimed.into()),
    };
    let receipt = match context.ledger.arm(order).await? {
        Ok(receipt) => receipt,
        Err(not_armed) => {
            if let Some(claimed) = claimed {
                context.purse.not_armed(&context.ledger, claimed.request).await?;
            }
            return Ok(not_armed.into());
        }
    };
    drop(claimed);
    outgoing.armed(&receipt, context.ledger.sums().account);
    if let Some(file_body) = &mut file_body {
        // Given back now: the hold takes the place of the room in the budget that the upload needed.
        outgoing.uploaded = file_body.budget_room.take().is_some();
    }
    let permit = match may_still_send(&context, permit, &outgoing.check).await {
        Ok(permit) => permit,
        Err(withheld) => {
            context.ledger.take_back(outgoing.settlement(Outcome::NotWritten, &context.clock)).await?;
            return Ok(withheld);
        }
    };
    let (receipt, room) = filled(receipt, file_body, &mut outgoing)?;
    outgoing.sent_at = context.moment();
    let exchange = context.client.send(permit, receipt, check.auth).await;
    drop(room);
    settle(&context, check, outgoing, exchange, None, &tell).await
}

fn order(context: &RunContext, check: &CheckContext, request: RequestId, name: String) -> ArmOrder {
    ArmOrder {
        mode: context.campaign.mode,
        request,
        check: name,
        price: check.price,
        job_hold: check.job_hold,
        allowance: context.campaign.allowance,
        scope: context.scope.clone(),
        path: check.path.clone(),
        routes: Arc::clone(&check.routes),
        shape: Arc::clone(&check.shape),
        key_life_hours: check.declaration.key_life_hours,
        now_us: context.clock.now_us(),
        room: None,
    }
}

/// Claims the line of a request and room for what arming would hold in addition, if other partitions have a say.
async fn claim(context: &RunContext, order: &mut ArmOrder) -> Result<Result<Option<Claimed>, NotClaimed>, Error> {
    let claimed = context.purse.claim(&context.ledger, order).await?;
    if let Ok(claimed) = &claimed {
        order.room = claimed.as_ref().map(|claimed| claimed.room);
    }
    Ok(claimed)
}

/// Renews the permit of an armed request, and checks again whether it may be sent. The commit may have taken long: the
/// machine may have slept, or another reply may have closed the gate. Without renewal, requests that waited together
/// would be sent together.
async fn may_still_send(context: &RunContext, permit: Permit, check: &str) -> Result<Permit, AttemptEnd> {
    let permit = context.throttle.renew(permit).await;
    if context.clock_watch.has_moved() {
        return Err(AttemptEnd::ClockMoved);
    }
    // An upload may have waited for the rate between its steps.
    let is_closed = context.key_in_question.load(Ordering::Relaxed)
        || context.throttle.paused_until().is_some()
        || context.check_pauses.is_paused(check, context.moment());
    permit.filter(|_| !is_closed).ok_or(AttemptEnd::GateClosed)
}

/// The receipt with the body that is sent, and the memory of a body with files.
fn filled(
    receipt: Receipt,
    file_body: Option<Box<FileBody>>,
    outgoing: &mut Outgoing,
) -> Result<(Receipt, Option<OwnedSemaphorePermit>), Error> {
    let Some(file_body) = file_body else {
        outgoing.body = serde_json::from_slice(receipt.body()).unwrap_or_default();
        return Ok((receipt, None));
    };
    if file_body.key != receipt.key() {
        return Err(Error::Internal("a body was made for another key".to_owned()));
    }
    let FileBody { form, members, room, .. } = *file_body;
    outgoing.body = members;
    Ok((receipt.filled(form.body, form.content_type), Some(room)))
}
