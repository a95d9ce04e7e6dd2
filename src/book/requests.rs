//! The lines of requests: one for each key that was ever sent. A line is claimed before its request is armed, in the statement
//! that counts what it holds, and told again when something has become of it.

use super::{
    BookError,
    money::column,
    worker::{Book, Line as Connection, Partition},
};
use crate::model::{
    Credits, IdempotencyKey,
    shared_account::Version,
    shared_budget::Seen,
    shared_request::{Line, Owner, Told},
    state::State,
};
use tokio_postgres::{Row, types::ToSql};

impl Book {
    /// The lines of these keys, with their answers or without.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn lines(&self, keys: &[IdempotencyKey], with_answers: bool) -> Result<Vec<Line>, BookError> {
        let sql = "SELECT r.key, r.state, r.attempts, r.generation, r.revision, r.held, r.charged, r.record,
                   CASE WHEN $5 THEN r.body END, CASE WHEN $5 THEN r.answer END, r.partition = $3, r.ledger = $4,
                   p.left_at IS NULL AND p.seen_at > clock_timestamp() - interval '60 seconds'
                   FROM rescreen.request r JOIN rescreen.partition p ON p.id = r.partition
                   WHERE r.account = $1 AND r.key = ANY($2)";
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key.as_bytes()[..]).collect();
        let Partition { id, name, .. } = self.own_partition()?;
        let values: [&(dyn ToSql + Sync); 5] = [&self.account, &keys, id, &name.ledger, &with_answers];
        let rows = self.asked(Connection::Credits, sql, &values).await?;
        rows.iter().map(line_of).collect()
    }

    /// Claims the line of a request that is about to be armed, and counts what it will hold, unless a partition has claimed
    /// more since, or the line says more than this ledger knows. Returns whether it was written.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn claim(&self, seen: &Seen, told: &Told) -> Result<bool, BookError> {
        // `claim` and `tell` lock the partition first. No other statement of this partition can then change its lines while
        // this one reads them. A line of another partition cannot grow without a change of `money`.
        let sql = "WITH own AS (SELECT id FROM rescreen.partition WHERE id = $4 AND token = $5 AND turn = $6 FOR UPDATE),
                   here AS (UPDATE rescreen.account a SET money = money + 1 FROM own WHERE a.id = $1 AND a.money = $2
                            AND rescreen.timeline() = $3
                            AND NOT EXISTS (SELECT FROM rescreen.request r WHERE r.account = $1 AND r.key = $7 AND NOT (
                                r.partition = $4 AND r.revision < $11 AND r.attempts < $9 AND r.generation <= $10
                                   AND NOT (r.state IN (10, 11) AND r.generation = $10)
                                OR r.partition <> $4 AND r.held = 0 AND r.charged = 0
                                   AND (r.state = 0 AND r.attempts < $9 OR r.state = 11 AND r.generation < $10)))
                            RETURNING a.id),
                   old AS (SELECT r.held, r.charged FROM rescreen.request r, here
                           WHERE r.account = here.id AND r.key = $7 AND r.partition = $4),
                   more AS (SELECT $12 - coalesce((SELECT held FROM old), 0) AS held,
                                   $13 - coalesce((SELECT charged FROM old), 0) AS charged),
                   mine AS (UPDATE rescreen.partition p SET turn = turn + 1, seen_at = clock_timestamp(), published_at = NULL,
                            held = p.held + more.held, charged = p.charged + more.charged,
                            armed = p.armed + greatest(more.held + more.charged, 0)
                            FROM here, more WHERE p.id = $4 RETURNING p.id)
                   INSERT INTO rescreen.request (account, key, partition, ledger, state, attempts, generation, revision, held,
                                                 charged, record, body)
                   SELECT here.id, $7, mine.id, $16, $8, $9, $10, $11, $12, $13, $14, $15 FROM here, mine
                   ON CONFLICT (account, key) DO UPDATE SET partition = excluded.partition, ledger = excluded.ledger,
                   state = excluded.state, attempts = excluded.attempts, generation = excluded.generation,
                   revision = excluded.revision, held = excluded.held, charged = excluded.charged,
                   record = excluded.record, body = excluded.body, answer = NULL
                   RETURNING 1";
        let Partition { id, token, name } = self.own_partition()?;
        let Version { number, timeline } = &seen.version;
        let Told { key, state, record, body, .. } = told;
        let (attempts, generation, revision) =
            (i64::from(told.attempts), i64::from(told.generation), i64::from(told.revision));
        let values: [&(dyn ToSql + Sync); 16] = [
            &self.account,
            number,
            timeline,
            id,
            token,
            &seen.turn,
            &&key.as_bytes()[..],
            &state.code(),
            &attempts,
            &generation,
            &revision,
            &column(told.held.0),
            &column(told.charged.0),
            record,
            body,
            &name.ledger,
        ];
        Ok(!self.asked(Connection::Credits, sql, &values).await?.is_empty())
    }

    /// Writes what has become of requests. A line that knows more stays as it is, and so does that of another partition that
    /// has paid or may have. Returns whether it was written: not if this partition has written something else since.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn tell(&self, seen: &Seen, told: &[Told]) -> Result<bool, BookError> {
        let sql = "WITH own AS (SELECT id FROM rescreen.partition WHERE id = $2 AND token = $3 AND turn = $4 FOR UPDATE),
                   new AS (SELECT * FROM unnest($6::bytea[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int8[],
                           $12::int8[], $13::text[], $14::bytea[], $15::bytea[])
                           AS n (key, state, attempts, generation, revision, held, charged, record, body, answer)),
                   old AS (SELECT r.key, r.held, r.charged FROM rescreen.request r JOIN new USING (key), own
                           WHERE r.account = $1 AND r.partition = own.id),
                   done AS (INSERT INTO rescreen.request AS r (account, key, partition, ledger, state, attempts, generation,
                                                               revision, held, charged, record, body, answer)
                            SELECT $1, n.key, own.id, $5, n.state, n.attempts, n.generation, n.revision, n.held, n.charged,
                                   n.record, n.body, n.answer FROM new n, own
                            WHERE n.attempts > 0 OR n.held + n.charged > 0 OR EXISTS (SELECT FROM old WHERE old.key = n.key)
                            ON CONFLICT (account, key) DO UPDATE SET partition = excluded.partition, ledger = excluded.ledger,
                            state = excluded.state, attempts = excluded.attempts, generation = excluded.generation,
                            revision = excluded.revision, held = excluded.held, charged = excluded.charged,
                            record = excluded.record, body = excluded.body, answer = excluded.answer
                            WHERE r.partition = excluded.partition AND r.revision < excluded.revision
                               AND (r.attempts <= excluded.attempts OR r.state = 1 AND r.ledger = excluded.ledger)
                               AND r.generation <= excluded.generation AND (r.state NOT IN (10, 11)
                                   OR excluded.state IN (10, 11) OR r.generation < excluded.generation)
                            OR r.partition <> excluded.partition AND r.held = 0 AND r.charged = 0
                               AND excluded.held + excluded.charged > 0
                            RETURNING r.key, r.held, r.charged),
                   changed AS (SELECT done.held - coalesce(old.held, 0) AS held,
                                      done.charged - coalesce(old.charged, 0) AS charged
                               FROM done LEFT JOIN old USING (key)),
                   more AS (SELECT coalesce(sum(held), 0)::int8 AS held, coalesce(sum(charged), 0)::int8 AS charged,
                                   coalesce(sum(greatest(held + charged, 0)), 0)::int8 AS armed FROM changed),
                   grown AS (UPDATE rescreen.account a SET money = money + 1 FROM more
                             WHERE a.id = $1 AND more.armed > 0)
                   UPDATE rescreen.partition p SET turn = turn + 1, seen_at = clock_timestamp(), published_at = NULL,
                          held = p.held + more.held, charged = p.charged + more.charged, armed = p.armed + more.armed
                   FROM own, more WHERE p.id = own.id RETURNING p.id";
        // A request that was claimed and not armed has one attempt fewer than its claim.
        let Partition { id, token, name } = self.own_partition()?;
        let mut told: Vec<&Told> = told.iter().collect();
        // Always in the same order, so that two partitions do not wait for each other.
        told.sort_by_key(|told| told.key);
        let keys: Vec<&[u8]> = told.iter().map(|told| &told.key.as_bytes()[..]).collect();
        let numbers = |of: fn(&Told) -> i64| -> Vec<i64> { told.iter().map(|told| of(told)).collect() };
        let records: Vec<&str> = told.iter().map(|told| told.record.as_str()).collect();
        let bodies: Vec<Option<&[u8]>> = told.iter().map(|told| told.body.as_deref()).collect();
        let answers: Vec<Option<&[u8]>> = told.iter().map(|told| told.answer.as_deref()).collect();
        let values: [&(dyn ToSql + Sync); 15] = [
            &self.account,
            id,
            token,
            &seen.turn,
            &name.ledger,
            &keys,
            &numbers(|told| told.state.code()),
            &numbers(|told| told.attempts.into()),
            &numbers(|told| told.generation.into()),
            &numbers(|told| told.revision.into()),
            &numbers(|told| column(told.held.0)),
            &numbers(|told| column(told.charged.0)),
            &records,
            &bodies,
            &answers,
        ];
        Ok(!self.asked(Connection::Credits, sql, &values).await?.is_empty())
    }
}

fn line_of(row: &Row) -> Result<Line, BookError> {
    let unreadable = || BookError::Refused("the line of a request cannot be read".to_owned());
    let count =
        |at: usize| -> Result<u32, BookError> { u32::try_from(row.try_get::<_, i64>(at)?).map_err(|_| unreadable()) };
    let credits = |at: usize| -> Result<Credits, BookError> {
        u64::try_from(row.try_get::<_, i64>(at)?).map(Credits).map_err(|_| unreadable())
    };
    let told = Told {
        key: IdempotencyKey::from_slice(row.try_get(0)?).ok_or_else(unreadable)?,
        state: State::from_code(row.try_get(1)?).ok_or_else(unreadable)?,
        attempts: count(2)?,
        generation: count(3)?,
        revision: count(4)?,
        held: credits(5)?,
        charged: credits(6)?,
        record: row.try_get(7)?,
        body: row.try_get(8)?,
        answer: row.try_get(9)?,
    };
    let owner = match row.try_get(10)? {
        true => Owner::Us { is_of_ledger: row.try_get(11)? },
        false => Owner::Another { is_running: row.try_get(12)? },
    };
    Ok(Line { owner, told })
}
