//! The identity of a ledger: campaign, mode, service and key scheme. It is recorded when the ledger is created. Any
//! difference is an error before anything is read or sent, because a key made under another identity would be charged
//! again.

use super::LedgerError;
use crate::model::{Mode, key::fingerprint, request::KEY_VERSION, same_service};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

/// The identity of a ledger or of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub campaign: String,
    pub mode: Mode,
    /// Scheme, host, port and path of the service, or `simulated`.
    pub origin: String,
    /// Of a run: the address that the service had before, if the user says that it has moved.
    pub moved_from: Option<String>,
    /// The fingerprint of the key secret, if there is one.
    pub key_secret: Option<String>,
}

/// The service got another address, as the user said. Its keys and accounts are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceMove {
    pub from: String,
    pub to: String,
    /// When it was recorded, in microseconds since 1970.
    pub at_us: i64,
}

/// Writes the identity into a new ledger.
pub(super) fn record(conn: &Connection, identity: &Identity, now_us: i64) -> Result<(), LedgerError> {
    conn.execute(
        "INSERT INTO campaign (id, campaign, mode, origin, key_version, key_secret, created_at, sums)
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, '')",
        params![identity.campaign, identity.mode.as_str(), identity.origin, KEY_VERSION, identity.key_secret, now_us],
    )?;
    Ok(())
}

/// Reads the identity of a ledger, with the address that the service moved to.
pub(super) fn read(conn: &Connection) -> Result<Option<(Identity, u32)>, LedgerError> {
    let row = conn
        .query_row(
            "SELECT campaign, mode, coalesce(iif(json_valid(sums), json_extract(sums, '$.service_moves[#-1].to'), NULL), origin),
                    key_secret, key_version FROM campaign",
            [],
            |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )
        .optional()?;
    row.map(|(campaign, mode, origin, key_secret, key_version)| {
        let mode = mode.parse().map_err(LedgerError::Damaged)?;
        Ok((Identity { campaign, mode, origin, moved_from: None, key_secret }, key_version))
    })
    .transpose()
}

/// A unique name of a ledger: a digest of its identity and of the time when it was created.
pub(super) fn ledger_id(conn: &Connection) -> Result<String, LedgerError> {
    let missing = || LedgerError::Damaged("it does not say to which campaign it belongs".to_owned());
    let (identity, key_version) = read(conn)?.ok_or_else(missing)?;
    // The name does not change when the service moves.
    let sql = "SELECT created_at, origin FROM campaign";
    let (created_at, origin): (i64, String) = conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Identity { campaign, mode, key_secret, .. } = identity;
    let text = format!("{campaign}\n{}\n{origin}\n{key_secret:?}\n{key_version}\n{created_at}", mode.as_str());
    Ok(fingerprint(b"rescreen ledger", &text))
}

/// Compares the recorded identity with that of the run.
pub(super) fn compare(recorded: &Identity, key_version: u32, brought: &Identity) -> Result<(), LedgerError> {
    let differs = |what: &'static str, recorded: &str, brought: &str| {
        (recorded != brought).then(|| LedgerError::Identity {
            what,
            recorded: recorded.to_owned(),
            brought: brought.to_owned(),
        })
    };
    let is_address = |recorded: &str| {
        [Some(&brought.origin), brought.moved_from.as_ref()]
            .into_iter()
            .flatten()
            .any(|address| same_service(recorded, address))
    };
    let secret = |fingerprint: &Option<String>| fingerprint.clone().unwrap_or_else(|| "none".to_owned());
    differs("campaign", &recorded.campaign, &brought.campaign)
        .or_else(|| differs("mode", recorded.mode.as_str(), brought.mode.as_str()))
        .or_else(|| differs("service", &recorded.origin, &brought.origin).filter(|_| !is_address(&recorded.origin)))
        .or_else(|| differs("key version", &key_version.to_string(), &KEY_VERSION.to_string()))
        .or_else(|| differs("key secret (fingerprint)", &secret(&recorded.key_secret), &secret(&brought.key_secret)))
        .map_or(Ok(()), Err)
}
