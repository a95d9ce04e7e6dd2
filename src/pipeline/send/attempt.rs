//! One attempt of one request: arm → gate → send → classify → judge → settle. [`super::next_step`] decides what comes
//! next.

use super::{
    attempt_end::{AttemptEnd, Heard},
    context::RunContext,
    file_body::FileBody,
    make_ready::{Made, make_ready},
    settle::{Sent, settle},
};
use crate::{
    error::Error,
    ledger::ArmOrder,
    model::{Credits, Permit, RequestId, state::Outcome},
};
use serde_json::Map;
use std::sync::{Arc, atomic::Ordering};
use tokio::{sync::mpsc::UnboundedSender, time::Instant};

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
    let ready = match make_ready(&context, permit, request, check, price).await? {
        Made::Plain(permit) => Ok((permit, None)),
        Made::Ready(permit, file_body) => Ok((permit, Some(file_body))),
        Made::NotUploaded(exchange) => Err(exchange),
        Made::Changed(fault) => return Ok(AttemptEnd::FileChanged(fault)),
        Made::Expired => return Ok(AttemptEnd::UploadExpired),
        Made::Unusable(fault) => return Ok(AttemptEnd::UploadUnusable(fault)),
        Made::Charged(credits) => return Ok(AttemptEnd::UploadCharged(credits)),
        Made::Refused(refusal) => return Ok(AttemptEnd::Refused(refusal)),
        Made::OtherSide(simulated) => return Ok(AttemptEnd::OtherSide(simulated)),
        Made::GateClosed => return Ok(AttemptEnd::GateClosed),
    };
    let order = ArmOrder {
        mode: context.campaign.mode,
        request,
        check: name.clone(),
        price: check.price,
        job_hold: check.job_hold,
        allowance: context.campaign.allowance,
        scope: context.scope.clone(),
        path: check.path.clone(),
        routes: Arc::clone(&check.routes),
        shape: Arc::clone(&check.shape),
        key_life_hours: check.declaration.key_life_hours,
        now_us: context.clock.now_us(),
    };
    let mut sent = Sent {
        request,
        check: name,
        attempt: 0,
        requested_at_us: order.now_us,
        sent_at: Instant::now(),
        before: context.ledger.sums().account,
        table: check.price,
        job_hold: check.job_hold,
        price,
        lower,
        uploaded: false,
        body: Map::new(),
    };
    let (permit, mut file_body) = match ready {
        Ok(ready) => ready,
        // The request itself is not sent. Its failed upload is recorded as an attempt, so that it is counted, paced and
        // judged like any other.
        Err(exchange) => return settle(&context, check, sent, *exchange, Some(order), &tell).await,
    };
    let receipt = match context.ledger.arm(order).await? {
        Ok(receipt) => receipt,
        Err(not_armed) => return Ok(not_armed.into()),
    };
    let sums = context.ledger.sums();
    (sent.attempt, sent.before) = (receipt.attempt(), sums.account);
    sent.price = sums.price_to_hold(&sent.check, check.price).max(check.job_hold);
    // The hold takes the place of the room that the upload needed.
    sent.uploaded = file_body.as_mut().and_then(|body| body.uploaded.take()).is_some();
    // Permits age during a slow commit. Without renewal, requests that waited together would be sent together.
    let permit = context.throttle.renew(permit).await;
    // Checked after the commit, which may have taken long: the machine may have slept, or another reply may have closed
    // the gate.
    let withheld = match &permit {
        _ if context.clock_watch.has_moved() => Some(AttemptEnd::ClockMoved),
        // An upload may have waited for the rate between its steps.
        _ if context.key_in_question.load(Ordering::Relaxed) => Some(AttemptEnd::GateClosed),
        Some(_) if context.throttle.paused_until().is_none() && !context.check_pauses.is_paused(&sent.check) => None,
        _ => Some(AttemptEnd::GateClosed),
    };
    let (Some(permit), None) = (permit, &withheld) else {
        context.ledger.take_back(sent.settlement(Outcome::NotWritten, &context.clock)).await?;
        return Ok(withheld.unwrap_or(AttemptEnd::GateClosed));
    };
    let mut room = None;
    let receipt = match file_body {
        None => {
            sent.body = serde_json::from_slice(receipt.body()).unwrap_or_default();
            receipt
        }
        Some(file_body) if file_body.key == receipt.key() => {
            let FileBody { form, members, room: of_body, .. } = *file_body;
            (sent.body, room) = (members, Some(of_body));
            receipt.filled(form.body, form.content_type)
        }
        Some(_) => return Err(Error::Internal("a body was made for another key".to_owned())),
    };
    sent.sent_at = Instant::now();
    let exchange = context.client.send(permit, receipt, check.auth).await;
    drop(room);
    settle(&context, check, sent, exchange, None, &tell).await
}
