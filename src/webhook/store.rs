//! The thread that writes to the inbox. Deliveries that arrive while it commits are stored in the next commit together,
//! so that a slow disk does not limit how many are received.

use super::{
    delivery::Delivery,
    inbox::{Inbox, InboxError, ReceiverId},
    signature::WebhookSecret,
};
use std::{
    io, thread,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::sync::{mpsc, oneshot};

/// The most deliveries of one commit, and the most that wait for it.
const TOGETHER_MAX: usize = 64;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    New,
    /// Its event was stored before.
    Known,
}

enum Order {
    Put(ReceiverId, Delivery, oneshot::Sender<Kept>),
    Secret(ReceiverId, oneshot::Sender<Option<WebhookSecret>>),
}

/// The way to the thread.
pub(super) struct Store(mpsc::Sender<Order>);

impl Store {
    /// Starts the thread. The second value arrives only if the inbox fails; then the thread ends.
    pub(super) fn start(inbox: Inbox) -> Result<(Store, oneshot::Receiver<InboxError>), InboxError> {
        let (orders, waiting) = mpsc::channel(TOGETHER_MAX);
        let (failed, failure) = oneshot::channel();
        let started = thread::Builder::new().name("inbox".to_owned()).spawn(move || {
            if let Err(error) = work(inbox, waiting) {
                drop(failed.send(error));
            }
        });
        started.map_err(|fault: io::Error| InboxError::Thread { fault })?;
        Ok((Store(orders), failure))
    }

    /// Stores a delivery. It is on disk when this returns. `None` if the inbox failed.
    pub(super) async fn put(&self, receiver: ReceiverId, delivery: Delivery) -> Option<Kept> {
        let (reply, kept) = oneshot::channel();
        self.0.send(Order::Put(receiver, delivery, reply)).await.ok()?;
        kept.await.ok()
    }

    /// The secret of a receiver, if there is such a receiver. `None` if the inbox failed.
    pub(super) async fn secret(&self, receiver: ReceiverId) -> Option<Option<WebhookSecret>> {
        let (reply, found) = oneshot::channel();
        self.0.send(Order::Secret(receiver, reply)).await.ok()?;
        found.await.ok()
    }
}

/// Works until every [`Store`] is gone.
fn work(mut inbox: Inbox, mut waiting: mpsc::Receiver<Order>) -> Result<(), InboxError> {
    while let Some(first) = waiting.blocking_recv() {
        let more = std::iter::from_fn(|| waiting.try_recv().ok()).take(TOGETHER_MAX - 1);
        let (mut deliveries, mut replies) = (Vec::new(), Vec::new());
        for order in std::iter::once(first).chain(more) {
            match order {
                Order::Put(receiver, delivery, reply) => {
                    deliveries.push((receiver, delivery));
                    replies.push(reply);
                }
                // Nobody may wait any more.
                Order::Secret(receiver, reply) => {
                    if let Some(found) = unless_busy(inbox.secret(&receiver))? {
                        let _ = reply.send(found);
                    }
                }
            }
        }
        if deliveries.is_empty() {
            continue;
        }
        let Some(kept) = unless_busy(inbox.put(&deliveries, now_us()))? else { continue };
        for (is_new, reply) in kept.into_iter().zip(replies) {
            let _ = reply.send(if is_new { Kept::New } else { Kept::Known });
        }
    }
    Ok(())
}

/// `None` if another process holds the inbox. Deliveries are then not acknowledged, and the service delivers again.
fn unless_busy<T>(found: Result<T, InboxError>) -> Result<Option<T>, InboxError> {
    match found {
        Err(error) if error.is_busy() => {
            tracing::warn!(
                "another program holds the inbox ({error}); deliveries are refused with 503 until it ends, and the \
                 service delivers them again"
            );
            Ok(None)
        }
        found => found.map(Some),
    }
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
