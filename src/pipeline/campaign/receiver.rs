//! The receiver of a ledger: one address and one random secret, so that the body of a request never changes.

use super::Campaign;
use crate::{
    catalogue::Declaration,
    error::Error,
    ledger::{Ledger, Reading, Receiver},
    pipeline::state_folder::state_folder,
    webhook::{Inbox, PATH, ReceiverId, WebhookSecret},
};
use std::path::{Path, PathBuf};
use uuid::Uuid;

impl Campaign {
    /// The file of the inbox.
    pub fn inbox(&self) -> Option<PathBuf> {
        let folder = self.service.state_folder.as_ref().map(|folder| inbox_in(folder));
        self.webhook.inbox.clone().or(folder)
    }

    /// Whether a check takes a receiver.
    pub fn has_receiver(&self, check: &Declaration) -> bool {
        self.webhook.url.is_some() && check.job.as_ref().is_some_and(|job| job.webhook)
    }

    /// The receiver of the ledger, which is made at its first use, and is known to the inbox afterwards. `None` if no
    /// check of the campaign has one.
    ///
    /// # Errors
    /// The ledger has another receiver, or the inbox cannot be used.
    pub async fn receiver(&self, ledger: &Ledger) -> Result<Option<Receiver>, Error> {
        let Some(url) = self.webhook.url.as_deref().filter(|_| self.checks().iter().any(|one| self.has_receiver(one)))
        else {
            return Ok(None);
        };
        let reading = Reading::open(ledger.path())?;
        let now_us = self.clock.now_us();
        let receiver = match reading.receivers()?.pop() {
            None => ledger.add_receiver(url.to_owned(), random_secret(), now_us).await?,
            Some(known) if known.base == url => known,
            Some(known) => {
                return Err(Error::Config(format!(
                    "--webhook-url (or [webhook] url): expected {}, which the requests of this ledger name, found {url}; \
                     keep that URL, or let the service deliver to another one with `rescreen retry-webhook {} \
                     --webhook-url {url}`",
                    known.base,
                    self.out.display()
                )));
            }
        };
        self.register(&receiver, &reading.ledger_id()?)?;
        Ok(Some(receiver))
    }

    /// Makes a receiver known to the inbox, so that its deliveries are accepted.
    ///
    /// # Errors
    /// The inbox cannot be used, or knows another secret of this receiver.
    pub fn register(&self, receiver: &Receiver, ledger_id: &str) -> Result<(), Error> {
        let path = self.inbox().ok_or_else(no_folder)?;
        let damaged = || Error::Internal("a receiver of the ledger is not valid".to_owned());
        let id = receiver_id(ledger_id, receiver.number).ok_or_else(damaged)?;
        let secret = WebhookSecret::new(receiver.secret.clone().into()).ok_or_else(damaged)?;
        let known = Inbox::open(&path)?.register(&id, &secret, self.clock.now_us())?;
        if known.expose() != secret.expose() {
            return Err(Error::Config(format!(
                "{}: it has another secret for the receiver {id} than the ledger; name another file with [webhook] inbox",
                path.display()
            )));
        }
        Ok(())
    }
}

/// The inbox of this user on this machine, if none is named.
///
/// # Errors
/// The user has no state folder.
pub fn default_inbox() -> Result<PathBuf, Error> {
    state_folder(|name| std::env::var_os(name)).map(|folder| inbox_in(&folder)).ok_or_else(no_folder)
}

fn no_folder() -> Error {
    Error::Config("the inbox of deliveries has no folder: set HOME, or [webhook] inbox = \"FILE\"".to_owned())
}

/// The default file of the inbox in the state folder.
pub fn inbox_in(state_folder: &Path) -> PathBuf {
    state_folder.join("webhooks").join("inbox.sqlite")
}

/// The id of a ledger's receiver: the id of the ledger, and the number of each later receiver.
pub fn receiver_id(ledger_id: &str, number: u32) -> Option<ReceiverId> {
    match number {
        0 | 1 => ReceiverId::new(ledger_id),
        number => ReceiverId::new(&format!("{ledger_id}-{number}")),
    }
}

/// The URL that the service delivers to.
pub fn delivery_url(base: &str, id: &ReceiverId) -> String {
    format!("{base}{PATH}{id}")
}

/// 244 random bits as 64 hexadecimal digits.
pub fn random_secret() -> String {
    [Uuid::new_v4(), Uuid::new_v4()].map(|uuid| uuid.simple().to_string()).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_enough_and_differ() {
        let (one, other) = (random_secret(), random_secret());
        assert_eq!(one.len(), 64);
        assert_ne!(one, other);
        assert!(WebhookSecret::new(one.into()).is_some());
    }
}
