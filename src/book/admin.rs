//! What people do with a charge book: create it, say which partitions a campaign should have, check it, and let halted workers send
//! again.

use super::{
    AccountName, BookError,
    partition::shown,
    session::{Address, answered, answered_in},
    worker::{account_of, halt_of, opened},
};
use crate::model::{Halt, Mode, Rate};
use std::time::Duration;
use tokio_postgres::{Client, error::SqlState};

const SCHEMA: &str = include_str!("schema.sql");

/// The role that workers must be members of.
pub const WORKER_ROLE: &str = "rescreen_worker";

/// Creates the book in a database that has none.
///
/// # Errors
/// It has one, the server is not fit for one, or the role may not create it.
pub async fn create(address: &Address) -> Result<(), BookError> {
    let mut client = address.connect().await?;
    let transaction = answered(client.transaction()).await?;
    match transaction.batch_execute(SCHEMA).await {
        Ok(()) => {}
        Err(error) if error.code() == Some(&SqlState::DUPLICATE_SCHEMA) => return Err(BookError::Exists),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            return Err(BookError::Refused(format!(
                "{}. Grant the role of the URL the right to create a schema in this database. If the role \
                 {WORKER_ROLE} does not exist, an administrator must create it: CREATE ROLE {WORKER_ROLE} NOLOGIN",
                BookError::from(error)
            )));
        }
        Err(error) => return Err(error.into()),
    }
    answered(transaction.commit()).await
}

/// What a check has found.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// What is not as it should be.
    pub faults: Vec<String>,
    /// What a person should know, and can explain.
    pub remarks: Vec<String>,
}

/// Checks that the book can be used from here, with this role, and that its sums add up.
///
/// # Errors
/// The book is absent, does not answer or is on an unfit server.
pub async fn check(address: &Address) -> Result<Findings, BookError> {
    let mut client = opened(address).await?;
    let mut faults = Vec::new();
    if address.is_pooled(&client).await? {
        faults.push("a pooler gives one session to several connections; connect to the server itself".to_owned());
    }
    let sql = "SELECT current_user::text, has_table_privilege('rescreen.account', 'UPDATE'),
               has_table_privilege('rescreen.partition', 'UPDATE') AND has_table_privilege('rescreen.worker', 'INSERT'),
               has_table_privilege('rescreen.request', 'INSERT') AND has_table_privilege('rescreen.note', 'INSERT'),
               pg_has_role(r.rolname, n.nspowner, 'USAGE'),
               current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT FROM pg_stat_replication)
               FROM pg_roles r, pg_namespace n WHERE r.rolname = current_user AND n.nspname = 'rescreen'";
    let row = answered(client.query_one(sql, &[])).await?;
    let role: String = row.try_get(0)?;
    let may_write = row.try_get::<_, bool>(1)? && row.try_get::<_, bool>(2)? && row.try_get::<_, bool>(3)?;
    if !may_write {
        faults.push(format!(
            "the role {role} may not write to the book; make it a member: GRANT rescreen_worker TO {role}"
        ));
    } else if row.try_get::<_, bool>(4)? {
        faults.push(format!(
            "the role {role} owns the book and could change its tables; let workers use a role that is only a member of \
             rescreen_worker"
        ));
    }
    if row.try_get::<_, bool>(5)? {
        faults.push(
            "its standby is asynchronous: after a failover the last commits may be missing; set synchronous_standby_names"
                .to_owned(),
        );
    }
    let mut findings = Findings { faults, remarks: Vec::new() };
    if may_write {
        sums(&mut client, &mut findings).await?;
    }
    Ok(findings)
}

/// How long the sum of all requests may take. PostgreSQL adds up some millions in a second.
const SUMS_MAX: Duration = Duration::from_secs(600);

/// The partitions whose sums are not those of their requests, or not those of their published rows.
async fn sums(client: &mut Client, findings: &mut Findings) -> Result<(), BookError> {
    let transaction = answered(client.build_transaction().read_only(true).start()).await?;
    answered(transaction.batch_execute("SET LOCAL statement_timeout = '590s'")).await?;
    let sql = "SELECT p.campaign, p.name, p.charged, p.held, coalesce(r.charged, 0)::int8, coalesce(r.held, 0)::int8,
                      o.credits
               FROM rescreen.partition p
               LEFT JOIN (SELECT partition, sum(charged) AS charged, sum(held) AS held FROM rescreen.request GROUP BY 1) r
                    ON r.partition = p.id
               LEFT JOIN LATERAL (SELECT (p.outputs->>'credits')::int8 AS credits
                                  WHERE p.published_at IS NOT NULL AND jsonb_typeof(p.outputs->'credits') = 'number') o ON true
               WHERE p.charged <> coalesce(r.charged, 0) OR p.held <> coalesce(r.held, 0) OR p.charged <> o.credits
               ORDER BY p.id";
    for row in answered_in(SUMS_MAX, transaction.query(sql, &[])).await? {
        let partition = shown(row.try_get(0)?, row.try_get(1)?);
        let at = |at: usize| row.try_get::<_, i64>(at);
        let (charged, held, of_requests) = (at(2)?, at(3)?, (at(4)?, at(5)?));
        if (charged, held) != of_requests {
            findings.faults.push(format!(
                "{partition} has {charged} credits charged and {held} held, and its requests have {} and {}: the tables were \
                 changed by hand, or restored in part",
                of_requests.0, of_requests.1
            ));
        }
        if let Some(credits) = row.try_get::<_, Option<i64>>(6)?.filter(|credits| *credits != charged) {
            findings.remarks.push(format!(
                "the rows of {partition} have {credits} credits, and its requests in the book were charged {charged}"
            ));
        }
    }
    Ok(())
}

/// The partitions that a campaign should have.
#[derive(Debug, Clone)]
pub struct Expected {
    pub campaign: String,
    pub mode: Mode,
    /// Their names, without repetition.
    pub partitions: Vec<String>,
}

/// Records which partitions a campaign should have, in place of what was said before. An account that is new is created with this rate.
/// Returns the partitions that have begun and are not among them.
///
/// # Errors
/// The book is absent or does not answer.
pub async fn expect(
    address: &Address,
    account: &AccountName,
    rate: Rate,
    expected: &Expected,
    who: &str,
) -> Result<Vec<String>, BookError> {
    let mut client = opened(address).await?;
    let transaction = answered(client.transaction()).await?;
    let account = account_of(&transaction, account, rate).await?;
    let Expected { campaign, mode, partitions } = expected;
    let sql =
        "INSERT INTO rescreen.campaign AS c (account, campaign, mode, partitions, who) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (account, campaign, mode)
               DO UPDATE SET partitions = $4, who = $5, at = clock_timestamp() WHERE c.partitions <> $4";
    let mode = mode.as_str();
    answered(transaction.execute(sql, &[&account, campaign, &mode, partitions, &who])).await?;
    let sql = "SELECT p.name FROM rescreen.partition p LEFT JOIN unnest($4::text[]) n (name) ON n.name = p.name
               WHERE p.account = $1 AND p.campaign = $2 AND p.mode = $3 AND n.name IS NULL ORDER BY p.id";
    let others = answered(transaction.query(sql, &[&account, campaign, &mode, partitions])).await?;
    answered(transaction.commit()).await?;
    others.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Lets the workers of an account send again. Returns why they were halted, or `None` if they were not.
///
/// # Errors
/// The account does not exist, or the book does not answer.
pub async fn resume(address: &Address, account: &AccountName, who: &str, why: &str) -> Result<Option<Halt>, BookError> {
    let client = opened(address).await?;
    let sql = "SELECT id FROM rescreen.account WHERE origin = $1 AND name = $2";
    let found = answered(client.query_opt(sql, &[&account.origin, &account.name])).await?;
    let Some(row) = found else {
        return Err(BookError::NoAccount { origin: account.origin.clone(), name: account.name.clone() });
    };
    let id: i64 = row.try_get(0)?;
    let sql = "WITH was AS (SELECT id, halt FROM rescreen.account WHERE id = $1 FOR NO KEY UPDATE),
               lifted AS (UPDATE rescreen.account a SET version = version + 1, halt = NULL FROM was
                          WHERE a.id = was.id AND was.halt IS NOT NULL RETURNING a.id),
               noted AS (INSERT INTO rescreen.note (account, who, what, why)
                         SELECT id, $2, 'resumed', $3 FROM lifted)
               SELECT halt FROM was";
    let row = answered(client.query_one(sql, &[&id, &who, &why])).await?;
    Ok(row.try_get::<_, Option<String>>(0)?.as_deref().map(halt_of))
}
