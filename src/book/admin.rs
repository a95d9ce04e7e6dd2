//! What people do with a charge book: create it, look at it, check it, and let halted workers send again.

use super::{
    AccountName, BookError,
    session::{Address, answered},
    worker::{expect_version, halt_of},
};
use crate::model::Halt;
use tokio_postgres::{Client, Row, error::SqlState};

const SCHEMA: &str = include_str!("schema.sql");

/// An account of the book.
#[derive(Debug, Clone)]
pub struct AccountRow {
    pub account: AccountName,
    pub per_minute: i64,
    pub per_minute_max: i64,
    /// The end of a pause that the service asked for, in microseconds since 1970.
    pub paused_until_us: Option<i64>,
    pub halt: Option<Halt>,
    /// The partitions of its campaigns, those that were used last first.
    pub partitions: Vec<PartitionRow>,
}

/// A partition of a campaign.
#[derive(Debug, Clone)]
pub struct PartitionRow {
    pub campaign: String,
    pub mode: String,
    /// Empty if the campaign is not divided.
    pub name: String,
    /// The machine and process that runs it or ran it last.
    pub worker: String,
    /// When that began, and when the book last heard of it, in microseconds since 1970.
    pub began_at_us: i64,
    pub seen_at_us: i64,
    /// It has ended.
    pub has_left: bool,
    /// In credits.
    pub charged: i64,
    pub held: i64,
}

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

/// The accounts of the book.
///
/// # Errors
/// The book is absent or does not answer.
pub async fn accounts(address: &Address) -> Result<Vec<AccountRow>, BookError> {
    let client = opened(address).await?;
    let sql = "SELECT origin, name, per_minute, per_minute_max,
               (extract(epoch FROM paused_until) * 1000000)::int8, halt, id, paused_until > clock_timestamp()
               FROM rescreen.account ORDER BY origin, name";
    let mut accounts = Vec::new();
    for row in answered(client.query(sql, &[])).await? {
        let halt: Option<String> = row.try_get(5)?;
        let is_paused = row.try_get::<_, Option<bool>>(7)?.unwrap_or_default();
        accounts.push(AccountRow {
            account: AccountName { origin: row.try_get(0)?, name: row.try_get(1)? },
            per_minute: row.try_get(2)?,
            per_minute_max: row.try_get(3)?,
            paused_until_us: row.try_get::<_, Option<i64>>(4)?.filter(|_| is_paused),
            halt: halt.as_deref().map(halt_of),
            partitions: partitions(&client, row.try_get(6)?).await?,
        });
    }
    Ok(accounts)
}

async fn partitions(client: &Client, account: i64) -> Result<Vec<PartitionRow>, BookError> {
    let sql = "SELECT campaign, mode, name, worker, (extract(epoch FROM began_at) * 1000000)::int8,
               (extract(epoch FROM seen_at) * 1000000)::int8, left_at IS NOT NULL, charged, held FROM rescreen.partition
               WHERE account = $1 ORDER BY left_at IS NULL DESC, seen_at DESC, id";
    let row_of = |row: Row| -> Result<PartitionRow, BookError> {
        Ok(PartitionRow {
            campaign: row.try_get(0)?,
            mode: row.try_get(1)?,
            name: row.try_get(2)?,
            worker: row.try_get(3)?,
            began_at_us: row.try_get(4)?,
            seen_at_us: row.try_get(5)?,
            has_left: row.try_get(6)?,
            charged: row.try_get(7)?,
            held: row.try_get(8)?,
        })
    };
    answered(client.query(sql, &[&account])).await?.into_iter().map(row_of).collect()
}

/// Checks that the book can be used from here, with this role. Returns what is not as it should be.
///
/// # Errors
/// The book is absent, does not answer or is on an unfit server.
pub async fn check(address: &Address) -> Result<Vec<String>, BookError> {
    let client = opened(address).await?;
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
    Ok(faults)
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

async fn opened(address: &Address) -> Result<Client, BookError> {
    let client = address.connect().await?;
    expect_version(&client).await?;
    Ok(client)
}
