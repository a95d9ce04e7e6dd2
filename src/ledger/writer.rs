//! The writer thread and the handle to it. Whatever is waiting is committed as one transaction (group commit): no delay at
//! one request a second, thousands a second when the limit allows. An answer is given only after the commit; after a
//! failed one nothing more is accepted.

use super::{Identity, LedgerError, Sums, store::Store};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};
use tokio::sync::oneshot;

/// Works committed together, at most.
const GROUP_MAX: usize = 512;

/// Gives the result to whoever waits, after the commit.
type Deliver = Box<dyn FnOnce() + Send>;
type Work = Box<dyn FnOnce(&mut Store) -> Result<Deliver, LedgerError> + Send>;

/// The one handle to a ledger that is open for writing.
pub struct Ledger {
    works: Option<Sender<Work>>,
    writer: Option<JoinHandle<()>>,
    seen: Arc<Seen>,
    path: PathBuf,
}

/// What the writer leaves for others to see.
#[derive(Default)]
struct Seen {
    sums: Mutex<Sums>,
    fault: Mutex<Option<String>>,
}

impl Ledger {
    /// Opens the ledger at `path`, making it where there is none, and takes its lock.
    ///
    /// # Errors
    /// Another process holds it, it belongs to another campaign, it has another version, or it cannot be opened.
    pub fn open(path: &Path, identity: &Identity, now_us: i64) -> Result<Ledger, LedgerError> {
        let store = Store::open(path, identity, now_us)?;
        let seen = Arc::new(Seen { sums: Mutex::new(store.sums.clone()), fault: Mutex::default() });
        let (works, waiting) = channel();
        let for_writer = Arc::clone(&seen);
        let writer = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || write_all(store, &waiting, &for_writer))
            .map_err(|source| LedgerError::Open { path: path.to_owned(), source })?;
        Ok(Ledger { works: Some(works), writer: Some(writer), seen, path: path.to_owned() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sums as of the last commit.
    pub fn sums(&self) -> Sums {
        self.seen.sums.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs `work` in the writer's next transaction and waits until it is durable.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    {
        self.hand_over(work)?.await.map_err(|_| self.stopped())
    }

    /// The same for a thread of its own.
    pub(super) fn write_blocking<T, F>(&self, work: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    {
        self.hand_over(work)?.blocking_recv().map_err(|_| self.stopped())
    }

    fn hand_over<T, F>(&self, work: F) -> Result<oneshot::Receiver<T>, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    {
        let (deliver, waiting) = oneshot::channel();
        let work: Work = Box::new(move |store| {
            let result = work(store)?;
            // A caller that no longer waits has its commit all the same.
            Ok(Box::new(move || drop(deliver.send(result))))
        });
        let works = self.works.as_ref().expect("the handle gives up its sender only when it is dropped");
        works.send(work).map_err(|_| self.stopped())?;
        Ok(waiting)
    }

    fn stopped(&self) -> LedgerError {
        let fault = self.seen.fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        LedgerError::Stopped { cause: fault.unwrap_or_else(|| "its writer ended".to_owned()) }
    }
}

impl Drop for Ledger {
    /// Waits for the last commit, so that whoever opens the ledger next finds all of it and its lock free.
    fn drop(&mut self) {
        self.works = None;
        if let Some(writer) = self.writer.take() {
            // A panic of the writer was printed by itself; what it had not committed was never acknowledged.
            drop(writer.join());
        }
    }
}

fn write_all(mut store: Store, works: &Receiver<Work>, seen: &Seen) {
    while let Ok(first) = works.recv() {
        match write_group(&mut store, first, works) {
            Ok(delivers) => {
                seen.sums.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&store.sums);
                delivers.into_iter().for_each(|deliver| deliver());
            }
            Err(error) => {
                // The transaction is rolled back with the connection; nobody is told that anything was committed.
                *seen.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                return;
            }
        }
    }
}

fn write_group(store: &mut Store, first: Work, works: &Receiver<Work>) -> Result<Vec<Deliver>, LedgerError> {
    store.begin()?;
    let mut delivers = vec![first(store)?];
    while delivers.len() < GROUP_MAX
        && let Ok(work) = works.try_recv()
    {
        delivers.push(work(store)?);
    }
    store.commit()?;
    Ok(delivers)
}
