//! The receivers that an inbox knows. It decides which receiver the requests of a new ledger name: the first one that
//! requests of the same campaign have named, because a request that is sent again must have the same body.

use super::{
    inbox::{Inbox, InboxError, ReceiverId, secret_in},
    signature::WebhookSecret,
};
use rusqlite::{Connection, TransactionBehavior};

/// What the requests of a campaign depend on, besides their content. With the same, they name the same receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namer {
    pub campaign: String,
    /// `sandbox` or `production`.
    pub mode: String,
    /// The fingerprint of the API key.
    pub scope: String,
    /// The public base URL of the receiver.
    pub base: String,
}

impl Inbox {
    /// Records a receiver with its secret, and returns the secret that applies: the first one that was recorded, because
    /// requests that name it may be at the service already.
    ///
    /// # Errors
    /// The inbox cannot be written.
    pub fn register(
        &mut self,
        receiver: &ReceiverId,
        secret: &WebhookSecret,
        now_us: i64,
    ) -> Result<WebhookSecret, InboxError> {
        let write = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        write.execute(
            "INSERT INTO receiver (id, secret, made_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            (&receiver.0, secret.expose(), now_us),
        )?;
        let known = secret_in(&write, receiver)?;
        write.commit()?;
        Ok(known.unwrap_or_else(|| secret.clone()))
    }

    /// The receiver that requests of this campaign named first, with its secret. If there is none, this new one is
    /// recorded.
    ///
    /// # Errors
    /// The inbox cannot be written.
    pub fn receiver_of(
        &mut self,
        namer: &Namer,
        new: (ReceiverId, WebhookSecret),
        now_us: i64,
    ) -> Result<(ReceiverId, WebhookSecret), InboxError> {
        let write = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(known) = named_first(&write, namer)? {
            return Ok(known);
        }
        write.execute(
            "INSERT INTO receiver (id, secret, made_at) VALUES (?1, ?2, ?3)",
            (&new.0.0, new.1.expose(), now_us),
        )?;
        note_named(&write, namer, &new.0, now_us)?;
        write.commit()?;
        Ok(new)
    }

    /// Records that requests of this campaign name a receiver.
    ///
    /// # Errors
    /// The inbox cannot be written.
    pub fn note_named(&self, namer: &Namer, receiver: &ReceiverId, now_us: i64) -> Result<(), InboxError> {
        Ok(note_named(&self.conn, namer, receiver, now_us)?)
    }
}

fn note_named(conn: &Connection, namer: &Namer, receiver: &ReceiverId, now_us: i64) -> rusqlite::Result<()> {
    let Namer { campaign, mode, scope, base } = namer;
    conn.execute(
        "INSERT INTO named_by (campaign, mode, scope, base, receiver, named_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO NOTHING",
        (campaign, mode, scope, base, &receiver.0, now_us),
    )?;
    Ok(())
}

fn named_first(conn: &Connection, namer: &Namer) -> rusqlite::Result<Option<(ReceiverId, WebhookSecret)>> {
    let Namer { campaign, mode, scope, base } = namer;
    let mut select = conn.prepare_cached(
        "SELECT id, secret FROM named_by JOIN receiver ON receiver.id = named_by.receiver
         WHERE campaign = ?1 AND mode = ?2 AND scope = ?3 AND base = ?4 ORDER BY named_at, id",
    )?;
    let mut rows = select.query((campaign, mode, scope, base))?;
    while let Some(row) = rows.next()? {
        let (id, secret): (String, String) = (row.get(0)?, row.get(1)?);
        if let Some(known) = ReceiverId::new(&id).zip(WebhookSecret::new(secret.into())) {
            return Ok(Some(known));
        }
    }
    Ok(None)
}
