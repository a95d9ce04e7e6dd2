//! Makes a request with files ready, just before it is armed: reads its files again and makes the body. A large document
//! is uploaded first. It decides whether the request may be armed at all.

use super::{
    context::{CheckContext, RunContext},
    file_body::{FileBody, FileFault, read},
    upload::{Due, NotMade, due, upload},
};
use crate::{
    client::{Exchange, FormFault, Template},
    error::Error,
    ledger::LedgerError,
    model::{Credits, Permit, Placement, RequestId, budget::BudgetRefusal},
    pipeline::blocking::blocking,
};
use std::sync::Arc;

/// What became of a request that has to be made ready.
pub enum Made {
    /// It has no files: it is sent as it was recorded.
    Plain(Permit),
    Ready(Permit, Box<FileBody>),
    /// A file differs from what was recorded.
    Changed(FileFault),
    /// Its upload has expired, and its key was used with the old one.
    Expired,
    /// The upload failed, which is proven uncharged. The reply says why.
    NotUploaded(Box<Exchange>),
    /// The reply to its upload cannot be followed.
    Unusable(String),
    /// This much was charged for its upload, and is booked.
    Charged(Credits),
    /// The budget has no room for it, so its document was not uploaded.
    Refused(BudgetRefusal),
    /// The simulator answered a campaign of the real service, or the reverse.
    OtherSide(bool),
    /// The rate allows no further request for now.
    GateClosed,
}

/// Makes a request of a check ready. `price` is what it holds once it is armed.
pub async fn make_ready(
    context: &RunContext,
    permit: Permit,
    request: RequestId,
    check: &CheckContext,
    price: Credits,
) -> Result<Made, Error> {
    let Some(file_bodies) = &context.file_bodies else { return Ok(Made::Plain(permit)) };
    let row = file_bodies.reading().request_files(request)?;
    let Some(row) = row else { return Ok(Made::Plain(permit)) };
    let row = Arc::new(row);
    let template = Arc::new(Template::read(&row.template, &row.files).map_err(|fault| damaged(request, &fault))?);
    let Some(root) = file_bodies.root.clone() else {
        let fault = "the folder of the files is not known".to_owned();
        let fault = file_bodies.fault(&row, request, &row.files[0], fault, true)?;
        return Ok(Made::Changed(fault));
    };
    let room = file_bodies.room_for(&template, &row.files).await;
    let mut permit = permit;
    let mut recorded = row.upload.clone();
    let mut uploaded = None;
    if let Some(file) = row.files.iter().find(|file| file.placement == Placement::Upload) {
        let now_us = context.clock.now_us();
        match due(&row, now_us) {
            Due::No => {}
            Due::Expired => return Ok(Made::Expired),
            Due::Missing => {
                let fault = "a request in doubt has no recorded upload".to_owned();
                return Err(LedgerError::Damaged(fault).into());
            }
            Due::Yes => {
                let account = context.ledger.sums().account;
                let budget_room = match file_bodies.budget_room(&account, &context.campaign.allowance, price) {
                    Ok(budget_room) => budget_room,
                    Err(refusal) => return Ok(Made::Refused(refusal)),
                };
                let document = match file_bodies.content(context.campaign.commit_mode, &root, &row, file).await? {
                    Ok(document) => document,
                    Err(fault) => return Ok(Made::Changed(file_bodies.differs(&row, request, file, fault)?)),
                };
                match upload(context, permit, (request, check, price), file, &row, document).await? {
                    Ok((made, next)) => (recorded, permit, uploaded) = (Some(made), next, Some(budget_room)),
                    Err(NotMade::Failed(exchange)) => return Ok(Made::NotUploaded(exchange)),
                    Err(NotMade::Unusable(fault)) => return Ok(Made::Unusable(fault)),
                    Err(NotMade::Charged(credits)) => return Ok(Made::Charged(credits)),
                    Err(NotMade::OtherSide(simulated)) => return Ok(Made::OtherSide(simulated)),
                    Err(NotMade::GateClosed) => return Ok(Made::GateClosed),
                }
            }
        }
    }
    let reference = recorded.as_ref().map(|upload| upload.reference.clone());
    let made = {
        let _alone = file_bodies.making.lock().await;
        let (row, template) = (Arc::clone(&row), Arc::clone(&template));
        let make = move || {
            let mut failed = None;
            let form = template.filled(row.key, &row.files, reference.as_deref(), |file| {
                read(&root, &row, file).map_err(|fault| failed = Some((file.clone(), fault)))
            });
            Ok(form.map_err(|()| failed))
        };
        blocking(context.campaign.commit_mode, make).await?
    };
    match made {
        Ok(form) => {
            let members = template.without_files(&row.files);
            let file_body = FileBody { key: row.key, form, members, room, uploaded };
            Ok(Made::Ready(permit, Box::new(file_body)))
        }
        Err(Some((file, fault))) => Ok(Made::Changed(file_bodies.differs(&row, request, &file, fault)?)),
        Err(None) => Err(Error::Internal("a body was not made, for no reason".to_owned())),
    }
}

fn damaged(request: RequestId, fault: &FormFault) -> Error {
    LedgerError::Damaged(format!("request {}: {fault}", request.0)).into()
}
