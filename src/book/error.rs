//! Why a charge book cannot be used.

use tokio_postgres::{Error as PostgresError, error::SqlState};

/// An error of a charge book. No text contains its URL, which has a password.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The URL cannot be read. It is not repeated.
    #[error("the URL of the charge book cannot be read: {0}; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    Url(String),
    /// The server cannot keep what it commits, or is not one that a book can be kept on.
    #[error("the charge book cannot be kept on this server: {0}")]
    Unfit(String),
    #[error("this database has no charge book; create it with `rescreen book init` as the owner of the database")]
    Absent,
    #[error("a charge book exists already in this database")]
    Exists,
    #[error(
        "the charge book has version {found}, and this release of rescreen reads version {expected}; use the same release on \
         all machines"
    )]
    Version { found: i32, expected: i32 },
    #[error(
        "other workers send {known} requests a minute to this account, and this campaign says {given}; set [service] \
         per_minute and per_minute_max alike for all workers. A new rate is taken once no other worker is running"
    )]
    OtherRate { known: String, given: String },
    #[error(
        "another worker runs {partition} now: {worker}. If it was killed, its place is free after a minute. To run partitions of a \
         campaign at the same time, name them with --partition"
    )]
    Running { partition: String, worker: String },
    #[error(
        "{partition} is not one of the {count} that it should have: {names}. Correct the name of the partition, or name all \
         partitions again with `rescreen book expect`"
    )]
    NotExpected { partition: String, count: usize, names: String },
    #[error("another worker has taken over {partition}")]
    Overtaken { partition: String },
    #[error(
        "other workers make the keys of the campaign `{campaign}` with another key secret; use the same [keys] secret for all \
         of its partitions"
    )]
    OtherKeys { campaign: String },
    #[error("the charge book has no account `{name}` for {origin}; `rescreen book status` lists its accounts")]
    NoAccount { origin: String, name: String },
    /// It does not answer, and may again later.
    #[error("the charge book does not answer: {0}")]
    Away(String),
    /// It refuses what it was asked.
    #[error("the charge book refuses: {0}")]
    Refused(String),
}

impl BookError {
    /// Whether the same may succeed later without a change.
    pub fn is_away(&self) -> bool {
        matches!(self, BookError::Away(_) | BookError::Running { .. } | BookError::Overtaken { .. })
    }
}

impl From<PostgresError> for BookError {
    fn from(error: PostgresError) -> BookError {
        let Some(fault) = error.as_db_error() else {
            // The text of the outer error only says at which step it happened.
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            return BookError::Away(cause.unwrap_or_else(|| error.to_string()));
        };
        let code = fault.code();
        if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::INVALID_SCHEMA_NAME {
            return BookError::Absent;
        }
        let said = format!("{} (SQLSTATE {})", fault.message(), code.code());
        if is_of_the_moment(code) { BookError::Away(said) } else { BookError::Refused(said) }
    }
}

/// Whether the server refuses now and may accept later: it starts, stops, fails over, is full, or another session holds a
/// lock.
fn is_of_the_moment(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    matches!(class, "08" | "40" | "53" | "55" | "57" | "58") || *code == SqlState::READ_ONLY_SQL_TRANSACTION
}
