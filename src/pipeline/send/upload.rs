//! The upload of a large document, before its request is armed. Both of its steps should be free and may be repeated: a crash
//! between them costs nothing. The reference is recorded before the document is sent, so that no two requests use one
//! place, and again with its time before the request that names it is armed.

use super::{
    attempt_end::AttemptEnd,
    context::{CheckContext, RunContext},
    peer::note_peer,
};
use crate::{
    client::{Begun, Exchange, Said, Stored, Ticket, TransportFault, stored},
    error::Error,
    ledger::{RequestFiles, UploadRow},
    model::{Attachment, Credits, Permit, RequestId, key::hex, state::State},
};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The service's description: a reference is valid for 15 minutes. One minute is left for the request itself.
const VALID_US: i64 = 14 * 60 * 1_000_000;
/// The time of an upload whose document is not sent yet: it counts as expired.
const ANNOUNCED: i64 = 0;
/// The most keys that a request gets because its uploads expired.
pub const GENERATIONS_MAX: u32 = 3;
/// The longest wait for the rate between two steps.
const PERMIT_TIME: Duration = Duration::from_secs(60);

/// Whether a request needs an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The recorded one is used.
    No,
    Yes,
    /// The recorded one has expired, and the key was already used with it.
    Expired,
    /// A request in doubt has none that was sent, which cannot be: it is recorded before the request is armed.
    Missing,
}

/// Why a request is not ready to be armed.
pub enum NotReady {
    /// A step of its upload failed, which is proven uncharged; the exchange says why.
    Failed(Box<Exchange>),
    /// The attempt ends here.
    Ended(AttemptEnd),
}

impl From<AttemptEnd> for NotReady {
    fn from(end: AttemptEnd) -> NotReady {
        NotReady::Ended(end)
    }
}

/// Decides whether a request needs a new upload. While an attempt is in doubt, its body must stay the same, whatever
/// the age of its upload.
pub fn due(row: &RequestFiles, now_us: i64) -> Due {
    let recorded = row.upload.as_ref().filter(|upload| upload.generation == row.generation);
    match (row.state, recorded) {
        (State::Planned, Some(upload)) => {
            let age_us = now_us.saturating_sub(upload.made_at_us);
            let is_valid = upload.made_at_us != ANNOUNCED && (0..VALID_US).contains(&age_us);
            match is_valid {
                true => Due::No,
                false if row.was_sent => Due::Expired,
                false => Due::Yes,
            }
        }
        // An upload is recorded before its request is sent, so nothing was sent that names one.
        (State::Planned, None) => Due::Yes,
        (_, Some(upload)) if upload.made_at_us != ANNOUNCED => Due::No,
        _ => Due::Missing,
    }
}

/// The request whose document is uploaded.
#[derive(Clone, Copy)]
pub struct Upload<'a> {
    pub context: &'a RunContext,
    pub check: &'a CheckContext,
    pub request: RequestId,
    pub row: &'a RequestFiles,
    /// What the request holds once it is armed.
    pub price: Credits,
}

impl Upload<'_> {
    /// Uploads a document and records the upload. Returns it with the permit for the request that names it; or why there
    /// is none.
    pub async fn upload(
        self,
        permit: Permit,
        file: &Attachment,
        document: Vec<u8>,
    ) -> Result<Result<(UploadRow, Permit), NotReady>, Error> {
        let Upload { context, request, row, .. } = self;
        let made_at_us = context.clock.now_us();
        let ticket = match self.begin(permit, file, made_at_us).await? {
            Ok(ticket) => ticket,
            Err(not_ready) => return Ok(Err(not_ready)),
        };
        let reference = ticket.reference.clone();
        let announced = UploadRow { generation: row.generation, reference, made_at_us: ANNOUNCED };
        if !recorded(context, request, &announced).await? {
            // Its place may be that of the other document, which must not be replaced.
            let fault = "it gave the reference of another document".to_owned();
            return Ok(Err(AttemptEnd::UploadUnusable(fault).into()));
        }
        let Some(permit) = next_permit(context).await else { return Ok(Err(AttemptEnd::GateClosed.into())) };
        if let Err(not_ready) = self.store(permit, ticket, document).await? {
            return Ok(Err(not_ready));
        }
        let Some(permit) = next_permit(context).await else { return Ok(Err(AttemptEnd::GateClosed.into())) };
        let made = UploadRow { made_at_us, ..announced };
        recorded(context, request, &made).await?;
        Ok(Ok((made, permit)))
    }

    /// Asks for a place for the document.
    async fn begin(
        self,
        permit: Permit,
        file: &Attachment,
        made_at_us: i64,
    ) -> Result<Result<Ticket, NotReady>, Error> {
        let Upload { context, check, .. } = self;
        let body = json!({
            "action": "upload",
            "mode": context.campaign.mode,
            "filename": format!("document.{}", file.kind.extension()),
            "size": file.bytes,
            "content_type": file.kind.media_type(),
        });
        let key = step_key(self.row, made_at_us);
        let route = (check.path.as_str(), check.auth);
        let begun = context.client.begin_upload(permit, route, &key, body.to_string().into_bytes()).await;
        // What was read is dropped before anything is awaited: a parsed body takes many times the memory of its text.
        let (step, charge, why) = {
            let said = Said::of(&begun, context.clock.now().into());
            (context.client.begun(&said), charge_of_step(context, &said, self.price), why_not(&said))
        };
        if let Some(credits) = booked(context, self.request, charge).await? {
            return Ok(Err(AttemptEnd::UploadCharged(credits).into()));
        }
        if let Ok(reply) = &begun.reply
            && !note_peer(context, reply.simulated).await?
        {
            return Ok(Err(AttemptEnd::OtherSide(reply.simulated).into()));
        }
        Ok(match step {
            Begun::Place(ticket) => Ok(ticket),
            Begun::Unusable(fault) => Err(AttemptEnd::UploadUnusable(fault).into()),
            Begun::Refused => Err(NotReady::Failed(Box::new(begun))),
            Begun::NotBegun => Err(not_uploaded(begun, &format!("its upload could not be started: {why}"))),
        })
    }

    /// Sends the document to its place.
    async fn store(self, permit: Permit, ticket: Ticket, document: Vec<u8>) -> Result<Result<(), NotReady>, Error> {
        let Upload { context, request, price, .. } = self;
        let sent = context.client.upload(permit, ticket, document).await;
        let (step, charge, why) = {
            let said = Said::of(&sent, context.clock.now().into());
            (stored(&said), charge_of_step(context, &said, price), why_not(&said))
        };
        if let Some(credits) = booked(context, request, charge).await? {
            return Ok(Err(AttemptEnd::UploadCharged(credits).into()));
        }
        Ok(match step {
            Stored::Kept => Ok(()),
            Stored::Refused => {
                let fault = format!("the document was refused at the place that it named: {why}");
                Err(AttemptEnd::UploadUnusable(fault).into())
            }
            Stored::NotKept => Err(not_uploaded(sent, &format!("its document could not be uploaded: {why}"))),
        })
    }
}

/// Records an upload, unless another request names the same one.
async fn recorded(context: &RunContext, request: RequestId, upload: &UploadRow) -> Result<bool, Error> {
    Ok(context.ledger.record_upload(request, upload.clone()).await?)
}

/// The charge that the reply to a step of an upload states: `price` if it cannot be read.
fn charge_of_step(context: &RunContext, said: &Said<'_>, price: Credits) -> Option<Credits> {
    let stated = said.unexpected_charge(context.campaign.service.settings.charge_pointer.as_deref(), price);
    stated.map(|stated| stated.credits().unwrap_or(price))
}

/// Books the charge of a step, and returns it.
async fn booked(context: &RunContext, request: RequestId, charge: Option<Credits>) -> Result<Option<Credits>, Error> {
    if let Some(credits) = charge {
        context.ledger.charged_beside(request, credits).await?;
    }
    Ok(charge)
}

async fn next_permit(context: &RunContext) -> Option<Permit> {
    tokio::time::timeout(PERMIT_TIME, context.throttle.admit()).await.ok()?.ok()
}

/// Why a step did not succeed.
fn why_not(said: &Said<'_>) -> String {
    let Some(status) = said.status() else { return said.fault().unwrap_or_default() };
    match said.unreadable().filter(|_| said.kind.is_success()) {
        _ if said.is_page() => format!("a web page with HTTP {status}"),
        Some(fault) => format!("HTTP {status}, {fault}"),
        None => format!("HTTP {status}"),
    }
}

/// The exchange of a request that was not sent, because its upload failed. A storage host's status says nothing about
/// the account.
fn not_uploaded(failed: Exchange, fault: &str) -> NotReady {
    let reply = Err(TransportFault::NotWritten(fault.to_owned()));
    NotReady::Failed(Box::new(Exchange { reply, ..failed }))
}

/// The idempotency key of the first step. The description requires a key on production calls; that this step needs one
/// is assumed. It is new for each try, because an old reply would name an expired upload.
fn step_key(row: &RequestFiles, made_at_us: i64) -> String {
    let digest = Sha256::digest(format!("upload {} {made_at_us}", row.key));
    format!("upload-{}", hex(&digest[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::IdempotencyKey;

    #[test]
    fn an_upload_is_made_anew_only_where_nothing_may_have_been_charged() {
        let minute = 60 * 1_000_000;
        let made_at_us = 1_000_000 * minute;
        for (state, was_sent, uploaded, age, wanted) in [
            (State::Planned, false, None, 0, Due::Yes),
            (State::Planned, false, Some(0), 13, Due::No),
            (State::Planned, true, Some(0), 13, Due::No),
            (State::Planned, false, Some(0), 14, Due::Yes),
            (State::Planned, false, Some(0), -1, Due::Yes),
            (State::Planned, true, Some(0), 14, Due::Expired),
            (State::InDoubt, true, Some(0), 13, Due::No),
            (State::InDoubt, true, Some(0), 5_000, Due::No),
            (State::Repeating, true, Some(0), 5_000, Due::No),
            (State::InDoubt, true, None, 0, Due::Missing),
            (State::InDoubt, true, Some(1), 0, Due::Missing),
        ] {
            let upload = uploaded.map(|generation| {
                let reference = "r".to_owned();
                UploadRow { generation, reference, made_at_us }
            });
            let key = IdempotencyKey::from_slice(&[1; 16]).unwrap();
            let (template, files) = (Vec::new(), Vec::new());
            let other_paths = Vec::new();
            let row = RequestFiles { state, key, generation: 0, template, files, other_paths, upload, was_sent };
            assert_eq!(due(&row, made_at_us + age * minute), wanted, "{state:?} {was_sent} {uploaded:?} {age}");
        }
    }
}
