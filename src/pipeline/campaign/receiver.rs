//! The receiver of a ledger: one address and one random secret, so that the body of a request never changes.

use super::Campaign;
use crate::{
    catalogue::Declaration,
    error::Error,
    ledger::{Ledger, LedgerError, Receiver},
    model::shell_words::quoted,
    pipeline::state_folder::state_folder,
    webhook::{Inbox, Namer, PATH, ReceiverId, WebhookSecret},
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

    /// The receiver of the ledger, which is chosen at its first use: the one that requests of this campaign already name,
    /// or else a new one. All receivers of the ledger are known to the inbox afterwards. `scope` is the fingerprint of the
    /// API key. `None` if no check of the campaign has a receiver.
    ///
    /// # Errors
    /// The ledger has another receiver, or the inbox cannot be used.
    pub async fn receiver(&self, ledger: &Ledger, scope: String) -> Result<Option<Receiver>, Error> {
        let Some(url) = self.webhook.url.as_deref().filter(|_| self.checks().iter().any(|one| self.has_receiver(one)))
        else {
            return Ok(None);
        };
        let known = ledger.reading()?.receivers()?;
        if let Some(other) = known.last().filter(|latest| latest.base != url) {
            let out = self.out.display().to_string();
            let words = ["rescreen", "retry-webhook", &out, "--webhook-url", url].map(str::to_owned);
            return Err(Error::Config(format!(
                "--webhook-url (or [webhook] url): expected {}, which the requests of this ledger name, found {url}; keep \
                 that URL, or let the service deliver to another one with `{}`",
                other.base,
                quoted(&words)
            )));
        }
        let (mut inbox, now_us) = (self.open_inbox()?, self.clock.now_us());
        for receiver in &known {
            self.register(&mut inbox, receiver)?;
        }
        let namer =
            Namer { campaign: self.name.clone(), mode: self.mode.as_str().to_owned(), scope, base: url.to_owned() };
        if let Some(latest) = known.into_iter().next_back() {
            inbox.note_named(&namer, &id_of(&latest)?, now_us)?;
            return Ok(Some(latest));
        }
        let new = new_receiver(url.to_owned());
        let (id, secret) = inbox.receiver_of(&namer, (id_of(&new)?, secret_of(&new)?), now_us)?;
        let receiver = Receiver { id: id.to_string(), secret: secret.expose().to_owned(), ..new };
        ledger.add_receiver(receiver.clone(), now_us).await?;
        Ok(Some(receiver))
    }

    /// Makes a receiver known to the inbox, so that its deliveries are accepted.
    ///
    /// # Errors
    /// The inbox cannot be used, or knows another secret of this receiver.
    pub fn register(&self, inbox: &mut Inbox, receiver: &Receiver) -> Result<(), Error> {
        let (id, secret) = (id_of(receiver)?, secret_of(receiver)?);
        let known = inbox.register(&id, &secret, self.clock.now_us())?;
        if known.expose() != secret.expose() {
            return Err(Error::Config(format!(
                "{}: it has another secret for the receiver {id} than the ledger; name another file with [webhook] inbox",
                self.inbox().unwrap_or_default().display()
            )));
        }
        Ok(())
    }

    /// The inbox of this campaign, open.
    ///
    /// # Errors
    /// There is no folder for it, or it cannot be used.
    pub fn open_inbox(&self) -> Result<Inbox, Error> {
        Ok(Inbox::open(&self.inbox().ok_or_else(no_folder)?)?)
    }
}

/// A new receiver, which neither the ledger nor the inbox has yet.
pub fn new_receiver(base: String) -> Receiver {
    Receiver { id: ReceiverId::random().to_string(), base, secret: random_secret() }
}

/// The id of a receiver of a ledger.
///
/// # Errors
/// The ledger is damaged.
pub fn id_of(receiver: &Receiver) -> Result<ReceiverId, Error> {
    ReceiverId::new(&receiver.id).ok_or_else(damaged)
}

fn secret_of(receiver: &Receiver) -> Result<WebhookSecret, Error> {
    WebhookSecret::new(receiver.secret.clone().into()).ok_or_else(damaged)
}

fn damaged() -> Error {
    LedgerError::Damaged("a receiver is not valid".to_owned()).into()
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

/// The URL that the service delivers to.
pub fn delivery_url(base: &str, id: &ReceiverId) -> String {
    format!("{base}{PATH}{id}")
}

/// 244 random bits as 64 hexadecimal digits.
fn random_secret() -> String {
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
