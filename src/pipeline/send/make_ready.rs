//! Makes a request with files ready, just before it is armed: reads its files again and makes the body. A large document
//! is uploaded first. It decides whether the request may be armed at all.

use super::{
    attempt_end::AttemptEnd,
    context::{CheckContext, RunContext},
    file_body::{BudgetRoom, FileBodies, FileBody, read},
    upload::{Due, NotReady, Upload, due},
};
use crate::{
    client::{FormFault, Template},
    error::Error,
    files::Root,
    ledger::{LedgerError, RequestFiles, UploadRow},
    model::{Attachment, Credits, Permit, Placement, RequestId},
    pipeline::blocking::blocking,
};
use std::sync::Arc;

/// A request that may be armed, and its body if it has files. A request without files is sent as it was recorded.
pub type Ready = (Permit, Option<Box<FileBody>>);

/// The upload that a request names, and the room in the budget if it was made just now.
type Uploaded = (Option<UploadRow>, Option<BudgetRoom>);

/// Makes a request of a check ready. `price` is what it holds once it is armed.
pub async fn make_ready(
    context: &RunContext,
    permit: Permit,
    request: RequestId,
    check: &CheckContext,
    price: Credits,
) -> Result<Result<Ready, NotReady>, Error> {
    let Some(file_bodies) = &context.file_bodies else { return Ok(Ok((permit, None))) };
    let row = file_bodies.reading().request_files(request)?;
    let Some(row) = row else { return Ok(Ok((permit, None))) };
    let row = Arc::new(row);
    let template = Arc::new(Template::read(&row.template, &row.files).map_err(|fault| damaged(request, &fault))?);
    let Some(root) = file_bodies.root.clone() else {
        let fault = "the folder of the files is not known".to_owned();
        let fault = file_bodies.fault(&row, request, &row.files[0], fault, true)?;
        return Ok(Err(AttemptEnd::FileChanged(fault).into()));
    };
    let room = file_bodies.room_for(&template, &row.files).await;
    let file = row.files.iter().find(|file| file.placement == Placement::Upload);
    let (permit, (recorded, budget_room)) = match file {
        None => (permit, (row.upload.clone(), None)),
        Some(file) => {
            let documents = Documents { file_bodies, root: &root, row: &row, request };
            match documents.uploaded(context, permit, check, price, file).await? {
                Ok(uploaded) => uploaded,
                Err(not_ready) => return Ok(Err(not_ready)),
            }
        }
    };
    let reference = recorded.map(|upload| upload.reference);
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
            let file_body = FileBody { key: row.key, form, members, room, budget_room };
            Ok(Ok((permit, Some(Box::new(file_body)))))
        }
        Err(Some((file, fault))) => {
            Ok(Err(AttemptEnd::FileChanged(file_bodies.differs(&row, request, &file, fault)?).into()))
        }
        Err(None) => Err(Error::Internal("a body was not made, for no reason".to_owned())),
    }
}

/// The files of one request.
struct Documents<'a> {
    file_bodies: &'a FileBodies,
    root: &'a Arc<Root>,
    row: &'a Arc<RequestFiles>,
    request: RequestId,
}

impl Documents<'_> {
    /// The upload that the request names, made now if it needs one.
    async fn uploaded(
        &self,
        context: &RunContext,
        permit: Permit,
        check: &CheckContext,
        price: Credits,
        file: &Attachment,
    ) -> Result<Result<(Permit, Uploaded), NotReady>, Error> {
        let Documents { file_bodies, root, row, request } = *self;
        match due(row, context.clock.now_us()) {
            Due::No => return Ok(Ok((permit, (row.upload.clone(), None)))),
            Due::Expired => return Ok(Err(AttemptEnd::UploadExpired.into())),
            Due::Missing => {
                let fault = "a request in doubt has no recorded upload".to_owned();
                return Err(LedgerError::Damaged(fault).into());
            }
            Due::Yes => {}
        }
        let account = context.ledger.sums().account;
        let budget_room = match file_bodies.budget_room(&account, &context.campaign.allowance, price) {
            Ok(budget_room) => budget_room,
            Err(refusal) => return Ok(Err(AttemptEnd::OverBudget(refusal).into())),
        };
        let document = match file_bodies.content(context.campaign.commit_mode, root, row, file).await? {
            Ok(document) => document,
            Err(fault) => {
                return Ok(Err(AttemptEnd::FileChanged(file_bodies.differs(row, request, file, fault)?).into()));
            }
        };
        let uploaded = Upload { context, check, request, row, price }.upload(permit, file, document).await?;
        Ok(uploaded.map(|(made, permit)| (permit, (Some(made), Some(budget_room)))))
    }
}

fn damaged(request: RequestId, fault: &FormFault) -> Error {
    LedgerError::Damaged(format!("request {}: {fault}", request.0)).into()
}
