//! Compression of answers with a dictionary. Answers of one check resemble each other: the first ones become its
//! dictionary and are stored without one, and later answers are compressed with it. Every answer can be decompressed
//! alone.

use super::{
    LedgerError,
    compression::{ANSWER_BYTES_MAX, Level, compress, content_size, decompress},
};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::{
    cell::RefCell,
    collections::{HashMap, hash_map::Entry},
    io,
};
use zstd::bulk::{Compressor, Decompressor};

/// The first byte of an answer with a dictionary, whose id follows in four bytes. No zstd frame begins with it.
const MARK: u8 = 1;
/// The largest dictionary, in bytes.
pub(super) const DICTIONARY_BYTES_MAX: usize = 16 << 10;
/// What one answer adds to a dictionary at most, in bytes.
const SHARE_MAX: usize = 4 << 10;
/// The number of answers that make a dictionary.
const ANSWERS: usize = 8;

/// Compresses answers on the writer's thread.
#[derive(Default)]
pub(super) struct AnswerCompressors(HashMap<String, OfCheck>);

/// The dictionary of one check.
enum OfCheck {
    /// Not enough answers yet: their beginnings, and how many there were.
    Collecting(Vec<u8>, usize),
    Ready(u32, Box<Compressor<'static>>),
}

impl AnswerCompressors {
    /// Compresses an answer of this check. Once the first answers have been collected, this also records their
    /// dictionary.
    pub(super) fn compress(&mut self, conn: &Connection, check: &str, answer: &[u8]) -> Result<Vec<u8>, LedgerError> {
        if !self.0.contains_key(check) {
            self.0.insert(check.to_owned(), recorded(conn, check)?);
        }
        let of_check = self.0.get_mut(check).expect("it was inserted");
        match of_check {
            OfCheck::Ready(id, compressor) => {
                let frame = compressor.compress(answer).expect("compressing memory to memory does not fail");
                Ok([&[MARK][..], &id.to_le_bytes(), &frame].concat())
            }
            OfCheck::Collecting(beginnings, answers) => {
                beginnings.extend(&answer[..answer.len().min(SHARE_MAX)]);
                *answers += 1;
                if *answers >= ANSWERS || beginnings.len() >= DICTIONARY_BYTES_MAX {
                    beginnings.truncate(DICTIONARY_BYTES_MAX);
                    let text = std::mem::take(beginnings);
                    let id = id_of(check, &text);
                    let sql = "INSERT INTO dictionary (id, check_name, text) VALUES (?1, ?2, ?3)";
                    conn.prepare_cached(sql)?.execute(params![id, check, text])?;
                    *of_check = ready(id, &text)?;
                }
                Ok(compress(answer, Level::Answer))
            }
        }
    }
}

/// The dictionary of a check as the ledger has it.
fn recorded(conn: &Connection, check: &str) -> Result<OfCheck, LedgerError> {
    let sql = "SELECT id, text FROM dictionary WHERE check_name = ?1 LIMIT 1";
    let found = conn.query_row(sql, [check], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?))).optional()?;
    match found {
        // Answers that a damaged dictionary compresses could not be read once it is repaired.
        Some((id, text)) if id_of(check, &text) != id => Err(damaged()),
        Some((id, text)) => ready(id, &text),
        None => Ok(OfCheck::Collecting(Vec::new(), 0)),
    }
}

fn damaged() -> LedgerError {
    LedgerError::Damaged("the dictionary of a check is not the one that its answers were compressed with".to_owned())
}

/// The id of a dictionary. It depends on the content, so that another dictionary never takes the place of a lost one.
fn id_of(check: &str, text: &[u8]) -> u32 {
    let digest = Sha256::new().chain_update(check).chain_update([0]).chain_update(text).finalize();
    u32::from_be_bytes(*digest.first_chunk().expect("a SHA-256 has 32 bytes"))
}

fn ready(id: u32, text: &[u8]) -> Result<OfCheck, LedgerError> {
    let mut compressor = Compressor::with_dictionary(Level::Answer as i32, text).map_err(|_| damaged())?;
    // With a damaged dictionary, an answer would be restored as another one.
    compressor.include_checksum(true).map_err(|_| damaged())?;
    Ok(OfCheck::Ready(id, Box::new(compressor)))
}

/// Restores the answers of one ledger, for its reader.
#[derive(Default)]
pub(super) struct AnswerDecompressors(RefCell<HashMap<u32, Decompressor<'static>>>);

impl AnswerDecompressors {
    /// Reads the dictionaries of a check, so that answers are restored although the ledger no longer has them.
    fn keep(&self, conn: &Connection, check: &str) -> Result<(), LedgerError> {
        let mut select = conn.prepare("SELECT id, text FROM dictionary WHERE check_name = ?1")?;
        let mut rows = select.query([check])?;
        while let Some(row) = rows.next()? {
            let decompressor = Decompressor::with_dictionary(&row.get::<_, Vec<u8>>(1)?).map_err(|_| damaged())?;
            self.0.borrow_mut().insert(row.get(0)?, decompressor);
        }
        Ok(())
    }

    /// Restores a compressed answer.
    ///
    /// # Errors
    /// The bytes are not valid, the result would be larger than an answer can be, or the dictionary is missing.
    pub(super) fn decompress(&self, conn: &Connection, stored: &[u8]) -> Result<Vec<u8>, LedgerError> {
        let damaged = || LedgerError::Damaged("a request's answer cannot be read".to_owned());
        let Some((id, frame)) = stored.strip_prefix(&[MARK]).and_then(|rest| rest.split_first_chunk::<4>()) else {
            return decompress(stored, ANSWER_BYTES_MAX).map_err(|_| damaged());
        };
        let id = u32::from_le_bytes(*id);
        let mut known = self.0.borrow_mut();
        let decompressor = match known.entry(id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let sql = "SELECT text FROM dictionary WHERE id = ?1 AND octet_length(text) <= ?2";
                let text: Option<Vec<u8>> =
                    conn.query_row(sql, params![id, DICTIONARY_BYTES_MAX as i64], |row| row.get(0)).optional()?;
                entry.insert(Decompressor::with_dictionary(&text.ok_or_else(damaged)?).map_err(|_| damaged())?)
            }
        };
        let restored = |length| -> io::Result<Vec<u8>> { decompressor.decompress(frame, length) };
        content_size(frame, ANSWER_BYTES_MAX).and_then(restored).map_err(|_| damaged())
    }
}

/// Makes the dictionary of a check anew from the answers that are left, and compresses them with it, because the earlier
/// one contains the beginnings of answers that are to be removed. Those are empty already.
pub(super) fn renew(conn: &Connection, check: &str) -> Result<(), LedgerError> {
    let before = AnswerDecompressors::default();
    before.keep(conn, check)?;
    conn.execute("DELETE FROM dictionary WHERE check_name = ?1", [check])?;
    let mut after = AnswerCompressors::default();
    let sql = "SELECT request, answer.body FROM answer CROSS JOIN request ON request.id = answer.request
               WHERE request > ?1 AND check_name = ?2 AND length(answer.body) > 0 ORDER BY request LIMIT 1";
    let mut next = conn.prepare(sql)?;
    let mut update = conn.prepare("UPDATE answer SET body = ?2 WHERE request = ?1")?;
    let mut last = 0;
    loop {
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?));
        let Some((request, stored)) = next.query_row(params![last, check], read).optional()? else { return Ok(()) };
        let plain = before.decompress(conn, &stored)?;
        update.execute(params![request, after.compress(conn, check, &plain)?])?;
        last = request;
    }
}

/// Whether an answer may be part of a dictionary: the first ones are stored without one.
pub(super) const MAKES_DICTIONARY: &str = "length(answer.body) > 0 AND substr(answer.body, 1, 1) <> x'01'";

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE dictionary (id INTEGER PRIMARY KEY, check_name TEXT, text BLOB)").unwrap();
        conn
    }

    fn answer(number: usize) -> Vec<u8> {
        let words = "the name resembles the name that was searched for; no other identifier agrees";
        format!(
            r#"{{"requestId": "{number:08}", "results": {{"match": [{{"score": {number}, "remark": "{words}"}}]}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn answers_are_restored_by_another_reader_and_after_the_writer_began_again() {
        let conn = ledger();
        let mut stored = Vec::new();
        for begun_again in [false, true] {
            let mut writer = AnswerCompressors::default();
            for number in 0..20 {
                let check = if number % 5 == 0 { "one" } else { "other" };
                let compressed = writer.compress(&conn, check, &answer(number)).unwrap();
                assert!(begun_again || number < 15 || number % 5 == 0 || compressed.len() < 60, "{}", compressed.len());
                stored.push((number, compressed));
            }
        }
        let reader = AnswerDecompressors::default();
        for (number, compressed) in &stored {
            assert_eq!(reader.decompress(&conn, compressed).unwrap(), answer(*number));
        }
    }

    #[test]
    fn a_lost_dictionary_is_not_replaced_by_another_with_its_id() {
        let conn = ledger();
        let written = |from: usize| {
            let mut writer = AnswerCompressors::default();
            (from..from + 10).map(|number| writer.compress(&conn, "one", &answer(number)).unwrap()).last().unwrap()
        };
        let before = written(0);
        conn.execute("DELETE FROM dictionary", []).unwrap();
        let after = written(100);
        let reader = AnswerDecompressors::default();
        assert!(reader.decompress(&conn, &before).is_err());
        assert_eq!(reader.decompress(&conn, &after).unwrap(), answer(109));
    }

    #[test]
    fn a_damaged_answer_or_dictionary_is_an_error() {
        let conn = ledger();
        let mut writer = AnswerCompressors::default();
        let mut stored = (0..10).map(|number| writer.compress(&conn, "one", &answer(number)).unwrap());
        let compressed = stored.by_ref().last().unwrap();
        let read = |stored: &[u8]| AnswerDecompressors::default().decompress(&conn, stored);
        assert!(read(&compressed).is_ok());
        for at in 0..compressed.len() {
            drop(read(&compressed[..at]));
        }
        assert!(read(&[MARK]).is_err() && read(&[]).is_err() && read(&[MARK, 9, 0, 0, 0, 1]).is_err());
        for text in [
            &b"another dictionary"[..],
            &[0x37, 0xa4, 0x30, 0xec, 1, 2, 3][..],
            &[],
            &vec![0; DICTIONARY_BYTES_MAX + 1],
        ] {
            conn.execute("UPDATE dictionary SET text = ?1", [text]).unwrap();
            assert!(read(&compressed).is_err(), "{} bytes", text.len());
            let next_run = AnswerCompressors::default().compress(&conn, "one", &answer(11));
            assert!(next_run.is_err(), "no answer is compressed with it: {} bytes", text.len());
        }
    }
}
