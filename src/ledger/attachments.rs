//! The files of requests, and the uploads that requests name. The ledger records where a file is and what it must
//! contain, never its content.

use super::{Ledger, LedgerError, Reading, amount::Amounts, arm::request_row, store::Store};
use crate::model::{
    Attachment, IdempotencyKey, Placement, RequestId,
    file_kind::FileKind,
    state::{Outcome, State},
};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// The longest recorded path, and the longest reference of an upload, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// The most files of one request.
const FILES_MAX: usize = 16;

/// The most other paths of a file that are tried.
const OTHER_PATHS_MAX: usize = 100;

/// A request with files, as it is made ready for an attempt.
pub struct RequestFiles {
    pub state: State,
    pub key: IdempotencyKey,
    pub generation: u32,
    /// The JSON object that the body is made from. A file is represented by its digest.
    pub template: Vec<u8>,
    pub files: Vec<Attachment>,
    /// Field and path of equal files of other rows.
    pub other_paths: Vec<(String, String)>,
    pub upload: Option<UploadRow>,
    /// Something was sent under the current key, so its body must not change any more.
    pub was_sent: bool,
}

/// An upload that a request names.
#[derive(Clone, PartialEq, Eq)]
pub struct UploadRow {
    pub generation: u32,
    pub reference: String,
    pub made_at_us: i64,
}

impl Ledger {
    /// Records the upload that a request names, durably, before the request is armed. Returns `false` and records nothing
    /// if another request names the same upload: both would get the result of one document.
    pub async fn record_upload(&self, request: RequestId, upload: UploadRow) -> Result<bool, LedgerError> {
        self.write(move |store| {
            let row = request_row(store, request)?;
            // While an attempt may still be answered, the body under its key must stay the same.
            if row.standing.unproven > 0 || row.standing.state != State::Planned {
                let RequestId(id) = request;
                return Err(LedgerError::Damaged(format!("request {id} was sent and would get another upload")));
            }
            let sql = "INSERT INTO upload (request, generation, reference, made_at) VALUES (?1, ?2, ?3, ?4)
                       ON CONFLICT (request) DO UPDATE SET generation = ?2, reference = ?3, made_at = ?4";
            let UploadRow { generation, reference, made_at_us } = upload;
            // A service may name documents by their content, so the same document may have the same place.
            let shared = "SELECT 1 FROM upload AS other WHERE reference = ?1 AND request <> ?2
                          AND (SELECT sha256 FROM attachment WHERE request = other.request AND place = ?3)
                              IS NOT (SELECT sha256 FROM attachment WHERE request = ?2 AND place = ?3)";
            let values = params![reference, request.0, Placement::Upload.as_str()];
            let is_shared = store.conn.prepare_cached(shared)?.exists(values)?;
            if is_shared {
                return Ok(false);
            }
            store.conn.prepare_cached(sql)?.execute(params![request.0, generation, reference, made_at_us])?;
            Ok(true)
        })
        .await
    }
}

impl Reading {
    /// Whether any request has a file.
    pub fn has_files(&self) -> Result<bool, LedgerError> {
        Ok(self.conn.prepare_cached("SELECT 1 FROM attachment LIMIT 1")?.exists([])?)
    }

    /// A request with its files; `None` if it has no files.
    pub fn request_files(&self, request: RequestId) -> Result<Option<RequestFiles>, LedgerError> {
        let files = files_of(&self.conn, request)?;
        if files.is_empty() {
            return Ok(None);
        }
        let damaged = || LedgerError::Damaged(format!("request {} cannot be read", request.0));
        let sql = "SELECT state, coalesce(key, first_key), generation, body, attempts FROM request WHERE id = ?1";
        let (state, key, generation, template, attempts): (i64, Vec<u8>, u32, Vec<u8>, u32) = self
            .conn
            .prepare_cached(sql)?
            .query_row([request.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
        let sql =
            "SELECT generation, reference, made_at FROM upload WHERE request = ?1 AND octet_length(reference) < ?2";
        let upload = self.conn.prepare_cached(sql)?.query_row(params![request.0, TEXT_BYTES_MAX as i64], |row| {
            Ok(UploadRow { generation: row.get(0)?, reference: row.get(1)?, made_at_us: row.get(2)? })
        });
        let sql = "SELECT 1 FROM attempt WHERE request = ?1 AND generation = ?2 AND number <= ?3 AND outcome IS NOT ?4";
        let sent = params![request.0, generation, attempts, Outcome::NotWritten.as_str()];
        Ok(Some(RequestFiles {
            state: State::from_code(state).ok_or_else(damaged)?,
            key: IdempotencyKey::from_slice(&key).ok_or_else(damaged)?,
            generation,
            template,
            files,
            other_paths: other_paths_of(&self.conn, request)?,
            upload: upload.optional()?,
            was_sent: self.conn.prepare_cached(sql)?.exists(sent)?,
        }))
    }

    /// Source and row number of the first row that a request was made for.
    pub fn first_row_of(&self, request: RequestId) -> Result<Option<(String, u64)>, LedgerError> {
        let sql = "SELECT source.name, split.next_row_number - split.rows + ask.row_index
                   FROM request JOIN ask ON ask.id = request.first_ask
                   JOIN split ON split.id = ask.split JOIN source ON source.id = split.source WHERE request.id = ?1";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.amount(1)?));
        Ok(self.conn.prepare_cached(sql)?.query_row([request.0], row).optional()?)
    }
}

fn files_of(conn: &Connection, request: RequestId) -> Result<Vec<Attachment>, LedgerError> {
    let damaged = || LedgerError::Damaged(format!("the files of request {} cannot be read", request.0));
    let sql = "SELECT field, path, sha256, bytes, media, place FROM attachment WHERE request = ?1
               AND octet_length(field) + octet_length(path) < ?2 ORDER BY field LIMIT ?3";
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query(params![request.0, TEXT_BYTES_MAX as i64 * 32, FILES_MAX as i64])?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        let (media, place): (String, String) = (row.get(4)?, row.get(5)?);
        files.push(Attachment {
            field: row.get(0)?,
            path: row.get(1)?,
            sha256: row.get(2)?,
            bytes: row.amount(3)?,
            kind: FileKind::of_media_type(&media).ok_or_else(damaged)?,
            placement: Placement::ALL.into_iter().find(|one| one.as_str() == place).ok_or_else(damaged)?,
        });
    }
    Ok(files)
}

fn other_paths_of(conn: &Connection, request: RequestId) -> Result<Vec<(String, String)>, LedgerError> {
    let sql = "SELECT field, path FROM other_path WHERE request = ?1 AND octet_length(field) + octet_length(path) < ?2
               LIMIT ?3";
    let mut select = conn.prepare_cached(sql)?;
    let limits = params![request.0, TEXT_BYTES_MAX as i64 * 32, OTHER_PATHS_MAX as i64];
    let paths = select.query_map(limits, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(paths.collect::<Result<_, _>>()?)
}

/// Records where another row of a request has its files, if that is elsewhere. Their content is the same.
pub(super) fn insert_other_paths(store: &Store, request: i64, files: &[Attachment]) -> Result<(), LedgerError> {
    for file in files {
        let sql = "INSERT INTO other_path (request, field, path) SELECT request, field, ?3 FROM attachment
                   WHERE request = ?1 AND field = ?2 AND sha256 = ?4 AND path <> ?3 ON CONFLICT DO NOTHING";
        let values = params![request, file.field, file.path, file.sha256];
        store.conn.prepare_cached(sql)?.execute(values)?;
    }
    Ok(())
}

/// Deletes what is recorded about the files of a deleted request.
pub(super) fn delete(store: &Store, request: i64) -> Result<(), LedgerError> {
    for table in ["attachment", "other_path", "upload"] {
        store.conn.execute(&format!("DELETE FROM {table} WHERE request = ?1"), [request])?;
    }
    Ok(())
}

/// Records the files of a new request.
pub(super) fn insert_attachments(store: &Store, request: i64, files: &[Attachment]) -> Result<(), LedgerError> {
    for file in files {
        let sql = "INSERT INTO attachment (request, field, path, sha256, bytes, media, place)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        store.conn.prepare_cached(sql)?.execute(params![
            request,
            file.field,
            file.path,
            file.sha256,
            file.bytes as i64,
            file.kind.media_type(),
            file.placement.as_str()
        ])?;
    }
    Ok(())
}
