//! The writer thread and the handle to it. All waiting work is committed as one transaction (group commit): there is no
//! delay at one request per second, and thousands per second are possible. The caller gets the result only after the
//! commit. After a failed commit, no more work is accepted.

use super::{
    Identity, LedgerError, Sums,
    lock::LedgerFiles,
    readers::Readers,
    store::{CHECKPOINT_EVERY, Opening, Store},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{JoinHandle, sleep},
    time::Duration,
};
use tokio::sync::{
    mpsc::{UnboundedSender, unbounded_channel},
    oneshot,
};

/// The maximum number of works in one commit.
const GROUP_MAX: usize = 512;
/// After a commit of at least this many works, the writer is busy.
const GROUP_BUSY: usize = 8;

/// How long a busy writer waits for more work before each commit. A commit takes about a fifth of a millisecond, whatever
/// the number of works, and each wake-up of this thread costs more than a work.
const GROUP_WAIT: Duration = Duration::from_millis(1);

/// Hands a result to the task that waits for it.
type Delivery = Box<dyn FnOnce() + Send>;

/// Delivers the result to the caller after the commit.
enum Deliver {
    /// To a thread that waits.
    Here(Delivery),
    /// To a task. All results of a commit wake its runtime once.
    ToTask(Delivery),
}
type Work = Box<dyn FnOnce(&mut Store) -> Result<Deliver, LedgerError> + Send>;

/// Where commits are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitMode {
    /// On a separate thread, with many works in one commit.
    #[default]
    Background,
    /// On the caller's thread, with one work per commit. For simulations with paused time, in which no other thread may
    /// run.
    Inline,
}

/// The one handle to a ledger that is open for writing.
pub struct Ledger {
    writer: Writer,
    published: Arc<Published>,
    path: PathBuf,
    files: Arc<LedgerFiles>,
    pub(super) readers: Arc<Readers>,
    created: bool,
}

/// Work that was given to the writer and may not be durable yet.
#[must_use = "the work is durable only after waiting for it"]
pub enum Committing<T> {
    Durable(T),
    Waiting(oneshot::Receiver<T>),
}

/// The writer of an open ledger.
enum Writer {
    /// Both are `Some` until the handle is dropped.
    Background { works: Option<Sender<Work>>, writer: Option<JoinHandle<()>> },
    /// `None` after a failed commit: nothing more is accepted.
    Inline(Mutex<Option<Box<Store>>>),
}

/// What the writer publishes for the handle.
#[derive(Default)]
struct Published {
    /// The task that hands results to other tasks. It runs where the first of them waited.
    tasks: OnceLock<UnboundedSender<Vec<Delivery>>>,
    sums: Mutex<Arc<Sums>>,
    fault: Mutex<Option<String>>,
}

impl Ledger {
    /// Opens the ledger at `path` and locks it. Creates it if there is none.
    ///
    /// # Errors
    /// Another process has locked it, it belongs to another campaign, it has another version, or it cannot be opened.
    pub fn open(path: &Path, identity: &Identity, mode: CommitMode, now_us: i64) -> Result<Ledger, LedgerError> {
        Ledger::of(Store::open(path, identity, now_us, Opening::default())?, path, mode)
    }

    /// Like [`Ledger::open`], but accepts a ledger that lost its newest commits. The requests they recorded may be paid
    /// for again.
    ///
    /// # Errors
    /// See [`Ledger::open`].
    pub fn open_older(path: &Path, identity: &Identity, mode: CommitMode, now_us: i64) -> Result<Ledger, LedgerError> {
        Ledger::of(
            Store::open(path, identity, now_us, Opening { accepts_older: true, ..Opening::default() })?,
            path,
            mode,
        )
    }

    pub(super) fn of(store: Store, path: &Path, mode: CommitMode) -> Result<Ledger, LedgerError> {
        let (created, files) = (store.created, Arc::clone(&store.files));
        let sums = Mutex::new(Arc::clone(&store.saved));
        let published = Arc::new(Published { sums, ..Published::default() });
        let writer = match mode {
            CommitMode::Inline => Writer::Inline(Mutex::new(Some(Box::new(store)))),
            CommitMode::Background => {
                let (works, waiting) = channel();
                let for_writer = Arc::clone(&published);
                let writer = std::thread::Builder::new()
                    .name("ledger".to_owned())
                    .spawn(move || write_all(store, &waiting, &for_writer))
                    .map_err(|source| LedgerError::Open { path: path.to_owned(), source })?;
                Writer::Background { works: Some(works), writer: Some(writer) }
            }
        };
        Ok(Ledger { writer, published, path: path.to_owned(), files, readers: Arc::default(), created })
    }

    /// The path of the ledger file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the files of the ledger are still in place.
    ///
    /// # Errors
    /// The ledger, its lock file or its folder was removed, moved or replaced.
    pub fn check_files(&self) -> Result<(), LedgerError> {
        self.files.check()
    }

    /// Moves the write-ahead log into the database file, as far as concurrent readers allow.
    pub fn checkpoint(&self) -> Result<(), LedgerError> {
        self.write_blocking(|store| {
            store.checkpoint_wanted = true;
            Ok(())
        })
    }

    /// Whether this call created the ledger, so that nothing was ingested or sent before.
    pub fn was_created(&self) -> bool {
        self.created
    }

    /// The sums as of the last commit.
    pub fn sums(&self) -> Arc<Sums> {
        Arc::clone(&self.published.sums.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work` in the writer's next transaction and waits until it is durable.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    {
        match &self.writer {
            Writer::Inline(store) => self.write_here(store, work),
            Writer::Background { works, .. } => {
                self.published.tasks.get_or_init(deliver_in_a_task);
                self.hand_over(works, work, Deliver::ToTask)?.await.map_err(|_| self.stopped())
            }
        }
    }

    /// Like [`Ledger::write`], but blocks the calling thread.
    pub(super) fn write_blocking<T, F>(&self, work: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    {
        match &self.writer {
            Writer::Inline(store) => self.write_here(store, work),
            Writer::Background { works, .. } => {
                self.hand_over(works, work, Deliver::Here)?.blocking_recv().map_err(|_| self.stopped())
            }
        }
    }

    /// Runs `work` in the writer's next transaction without waiting. Use [`Ledger::await_commit`] to wait.
    pub(super) fn write_later<T, F>(&self, work: F) -> Result<Committing<T>, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    {
        match &self.writer {
            Writer::Inline(store) => self.write_here(store, work).map(Committing::Durable),
            Writer::Background { works, .. } => self.hand_over(works, work, Deliver::Here).map(Committing::Waiting),
        }
    }

    /// Waits until the work is durable. Blocks.
    pub fn await_commit<T>(&self, committing: Committing<T>) -> Result<T, LedgerError> {
        match committing {
            Committing::Durable(result) => Ok(result),
            Committing::Waiting(waiting) => waiting.blocking_recv().map_err(|_| self.stopped()),
        }
    }

    fn write_here<T>(
        &self,
        store: &Mutex<Option<Box<Store>>>,
        work: impl FnOnce(&mut Store) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut guard = store.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(store) = guard.as_mut() else { return Err(self.stopped()) };
        let written = store.begin().and_then(|()| work(store)).and_then(|result| store.commit().map(|()| result));
        let written = written.and_then(|result| store.checkpoint_if_due().map(|()| result));
        match written {
            Ok(result) => {
                self.published.note(&store.saved);
                Ok(result)
            }
            Err(error) => {
                store.give_up();
                let error = error.at(&self.path);
                self.published.fail(&error);
                *guard = None;
                Err(error)
            }
        }
    }

    fn hand_over<T, F>(
        &self,
        works: &Option<Sender<Work>>,
        work: F,
        to: fn(Delivery) -> Deliver,
    ) -> Result<oneshot::Receiver<T>, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    {
        let (deliver, waiting) = oneshot::channel();
        let published = Arc::clone(&self.published);
        let work: Work = Box::new(move |store| {
            let result = work(store).map_err(|error| {
                let error = error.at(store.path());
                // Recorded before the caller is released.
                published.fail(&error);
                error
            })?;
            // The commit is made even if the caller no longer waits.
            Ok(to(Box::new(move || drop(deliver.send(result)))))
        });
        let works = works.as_ref().expect("the sender is only dropped with the handle");
        works.send(work).map_err(|_| self.stopped())?;
        Ok(waiting)
    }

    fn stopped(&self) -> LedgerError {
        let fault = self.published.fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        LedgerError::Stopped { cause: fault.unwrap_or_else(|| "its writer thread ended".to_owned()) }
    }
}

/// Starts a task that delivers results. It ends with the ledger.
fn deliver_in_a_task() -> UnboundedSender<Vec<Delivery>> {
    let (sender, mut groups) = unbounded_channel::<Vec<Delivery>>();
    tokio::spawn(async move {
        while let Some(group) = groups.recv().await {
            group.into_iter().for_each(|deliver| deliver());
        }
    });
    sender
}

impl Published {
    /// Delivers the results of a commit. If the task that does so is gone, its runtime has ended.
    fn deliver(&self, delivers: &mut Vec<Deliver>) {
        let mut to_tasks = Vec::new();
        for deliver in delivers.drain(..) {
            match deliver {
                Deliver::Here(deliver) => deliver(),
                Deliver::ToTask(deliver) => to_tasks.push(deliver),
            }
        }
        if to_tasks.is_empty() {
            return;
        }
        let unsent = match self.tasks.get() {
            Some(task) => task.send(to_tasks).err().map(|unsent| unsent.0),
            None => Some(to_tasks),
        };
        unsent.into_iter().flatten().for_each(|deliver| deliver());
    }

    fn note(&self, sums: &Arc<Sums>) {
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(sums);
    }

    /// Records the reason of a failure. The transaction is rolled back with the connection, and no caller gets a
    /// result.
    fn fail(&self, error: &LedgerError) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}

impl Drop for Ledger {
    /// Waits for the last commit, closes the ledger and releases its lock.
    fn drop(&mut self) {
        // The last connection that closes removes the log, so this must be that of the writer.
        drop(std::mem::take(&mut self.readers));
        match &mut self.writer {
            Writer::Background { works, writer } => {
                *works = None;
                if let Some(writer) = writer.take() {
                    // A panic of the writer was already printed, and what it had not committed was never acknowledged.
                    drop(writer.join());
                }
            }
            Writer::Inline(store) => {
                if let Some(store) = store.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
                    store.close();
                }
            }
        }
    }
}

fn write_all(mut store: Store, works: &Receiver<Work>, published: &Published) {
    let mut is_busy = false;
    loop {
        // Declared before the work, so that the callers are released only after the reason of a failure is recorded.
        let mut delivers = Vec::new();
        let written = match works.recv_timeout(CHECKPOINT_EVERY) {
            Err(RecvTimeoutError::Disconnected) => return store.close(),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(first) => write_group(&mut store, first, works, &mut delivers, is_busy),
        };
        is_busy = delivers.len() >= GROUP_BUSY;
        if written.is_ok() {
            published.note(&store.saved);
            published.deliver(&mut delivers);
        }
        if let Err(error) = written.and_then(|()| store.checkpoint_if_due()) {
            published.fail(&error.at(store.path()));
            store.give_up();
            return;
        }
    }
}

/// Commits the waiting works, and what comes soon if the ledger is busy. The caller must run `delivers` after a
/// successful commit, or drop them.
fn write_group(
    store: &mut Store,
    first: Work,
    works: &Receiver<Work>,
    delivers: &mut Vec<Deliver>,
    is_busy: bool,
) -> Result<(), LedgerError> {
    if let Err(error) = store.begin() {
        // The caller of `first` is released with the others, after the reason is recorded.
        delivers.push(Deliver::Here(Box::new(move || drop(first))));
        return Err(error);
    }
    delivers.push(first(store)?);
    if is_busy {
        sleep(GROUP_WAIT);
    }
    while delivers.len() < GROUP_MAX
        && let Ok(work) = works.try_recv()
    {
        delivers.push(work(store)?);
    }
    store.commit()
}
