//! The files of requests, as a run reads them again: their content is compared with what was recorded at intake, and the
//! bodies that contain them share a cap of memory.

use crate::{
    client::{Form, Template},
    error::Error,
    files::{Root, RootFault},
    ledger::{CommitMode, Reading, RequestFiles},
    model::{
        Attachment, Credits, IdempotencyKey, RequestId,
        attachment::digest_text,
        budget::{Account, Allowance, BudgetRefusal},
        state::State,
    },
    pipeline::blocking::blocking,
};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const KIB: usize = 1024;
/// The most memory that all bodies with files use together. One larger body may exceed it alone.
const ROOM_BYTES_MAX: usize = 32 * 1024 * KIB;

/// The files of a campaign.
pub struct FileBodies {
    reading: Mutex<Reading>,
    pub root: Option<Arc<Root>>,
    room: Arc<Semaphore>,
    /// The prices of the requests whose document is being uploaded, and which are not armed yet.
    uploading: Arc<Mutex<Credits>>,
    /// Bodies are made one at a time, because a file is in memory twice while its body is made.
    pub making: tokio::sync::Mutex<()>,
}

/// A request that is ready to be armed.
pub struct FileBody {
    /// The key that its body was made for.
    pub key: IdempotencyKey,
    pub form: Form,
    /// The members of the body without the files. An answer echoes some of them.
    pub members: Map<String, Value>,
    /// The memory of the body. It is given back when the exchange has ended.
    pub room: OwnedSemaphorePermit,
    /// Set if its document was uploaded just now: the room in the budget, which it needs until it is armed.
    pub budget_room: Option<BudgetRoom>,
}

/// Room in the budget for a request whose document is uploaded before its price is held. It is given back when this is
/// dropped.
pub struct BudgetRoom {
    price: Credits,
    uploading: Arc<Mutex<Credits>>,
}

impl Drop for BudgetRoom {
    fn drop(&mut self) {
        let mut uploading = self.uploading.lock().unwrap_or_else(PoisonError::into_inner);
        *uploading = uploading.saturating_sub(self.price);
    }
}

/// A file that is not what it was when its row was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// The state of its request.
    pub state: State,
    pub field: String,
    pub fault: String,
    /// Source and row number of its row.
    pub row: Option<(String, u64)>,
    /// The beginning of the recorded digest, by which the right file can be recognised.
    pub digest: String,
    /// The files root is missing, so nothing is known about the file.
    pub no_root: bool,
}

/// What happened to the content of a file.
pub enum ContentFault {
    Root(RootFault),
    Differs,
}

impl FileBodies {
    /// The files of a ledger.
    pub fn new(reading: Reading, root: Option<Arc<Root>>) -> FileBodies {
        let room = Arc::new(Semaphore::new(ROOM_BYTES_MAX / KIB));
        FileBodies {
            reading: Mutex::new(reading),
            root,
            room,
            uploading: Arc::default(),
            making: tokio::sync::Mutex::default(),
        }
    }

    pub fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the memory of a body, and of the largest file that it is made from.
    pub async fn room_for(&self, template: &Template, files: &[Attachment]) -> OwnedSemaphorePermit {
        let largest = files.iter().map(|file| usize::try_from(file.bytes).unwrap_or(usize::MAX)).max();
        let wanted = template.capacity(files).saturating_add(largest.unwrap_or_default());
        let wanted = (wanted / KIB + 1).min(ROOM_BYTES_MAX / KIB);
        let wanted = u32::try_from(wanted).expect("it is at most the room of all bodies");
        Arc::clone(&self.room).acquire_many_owned(wanted).await.expect("the semaphore is never closed")
    }

    /// Takes room in the budget for a request whose document is uploaded next, if there is room beside the others. The
    /// budget itself is decided when the request is armed; this only saves uploads in vain.
    pub fn budget_room(
        &self,
        account: &Account,
        allowance: &Allowance,
        price: Credits,
    ) -> Result<BudgetRoom, BudgetRefusal> {
        let mut uploading = self.uploading.lock().unwrap_or_else(PoisonError::into_inner);
        let held = account.held + *uploading;
        let armed = account.armed + *uploading;
        Account { held, armed, ..*account }.admit(price, allowance)?;
        *uploading = *uploading + price;
        Ok(BudgetRoom { price, uploading: Arc::clone(&self.uploading) })
    }

    /// The content of one file, if it is still the recorded one.
    pub async fn content(
        &self,
        commit_mode: CommitMode,
        root: &Arc<Root>,
        row: &Arc<RequestFiles>,
        file: &Attachment,
    ) -> Result<Result<Vec<u8>, ContentFault>, Error> {
        let _alone = self.making.lock().await;
        let (root, row, file) = (Arc::clone(root), Arc::clone(row), file.clone());
        blocking(commit_mode, move || Ok(read(&root, &row, &file))).await
    }

    pub fn differs(
        &self,
        row: &RequestFiles,
        request: RequestId,
        file: &Attachment,
        fault: ContentFault,
    ) -> Result<FileFault, Error> {
        let fault = match fault {
            ContentFault::Root(RootFault::TooLarge { .. }) | ContentFault::Differs => {
                "it found another file at its path".to_owned()
            }
            ContentFault::Root(fault) => format!("it {fault}"),
        };
        self.fault(row, request, file, fault, false)
    }

    pub fn fault(
        &self,
        row: &RequestFiles,
        request: RequestId,
        file: &Attachment,
        fault: String,
        no_root: bool,
    ) -> Result<FileFault, Error> {
        let place = self.reading().first_row_of(request)?;
        let digest = digest_text(&file.sha256).chars().take(23).collect();
        Ok(FileFault { state: row.state, field: file.field.clone(), fault, row: place, digest, no_root })
    }
}

/// Reads a file again and compares it with what was recorded. If it was replaced, the equal file of another row is read.
pub fn read(root: &Root, row: &RequestFiles, file: &Attachment) -> Result<Vec<u8>, ContentFault> {
    let read_at = |path: &str| {
        let bytes = root.read(path, file.bytes).map_err(ContentFault::Root)?;
        let is_same = <[u8; 32]>::from(Sha256::digest(&bytes)) == file.sha256;
        if is_same { Ok(bytes) } else { Err(ContentFault::Differs) }
    };
    read_at(&file.path).or_else(|fault| {
        let others = row.other_paths.iter().filter(|(field, _)| *field == file.field);
        others.map(|(_, path)| read_at(path)).find_map(Result::ok).ok_or(fault)
    })
}
