//! A connection to the charge book. It is only made to a server that keeps what it commits.

use super::{BookError, tls};
use secrecy::{ExposeSecret, SecretString};
use std::{collections::HashMap, net::IpAddr, time::Duration};
use tokio_postgres::{
    Client, Config, NoTls, Row, Statement,
    config::{Host, SslMode, TargetSessionAttrs},
    types::ToSql,
};

/// How long one question may take, with its network. The server's own limit for a statement is lower.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(10);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// The oldest server that a book is kept on: PostgreSQL 14.
const OLDEST: i32 = 140_000;

/// What applies to each session. A commit is durable before it is confirmed. If a worker is suspended within a transaction,
/// the server ends the transaction after three seconds.
const SETTINGS: &str = "-c synchronous_commit=on -c statement_timeout=5s -c lock_timeout=3s \
    -c idle_in_transaction_session_timeout=3s -c search_path=pg_catalog -c timezone=UTC";

/// Where the book is.
#[derive(Clone)]
pub struct Address {
    config: Config,
}

impl Address {
    /// Reads a URL such as `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. A connection to another machine is encrypted,
    /// unless the URL says `sslmode=disable`.
    ///
    /// # Errors
    /// It is not such a URL.
    pub fn new(url: &SecretString) -> Result<Address, BookError> {
        // Both are what is done anyway: a certificate is always verified.
        let url = url.expose_secret().replace("sslmode=verify-full", "sslmode=require");
        let url = url.replace("sslmode=verify-ca", "sslmode=require");
        // The parser also takes `key=value`, and its errors may repeat a value.
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(BookError::Url("it does not begin with postgres://".to_owned()));
        }
        let parsed: Result<Config, _> = url.parse();
        let mut config = parsed.map_err(|_| BookError::Url("a part of it is not valid".to_owned()))?;
        if config.get_hosts().is_empty() {
            return Err(BookError::Url("it names no host".to_owned()));
        }
        if config.get_options().is_some() {
            return Err(BookError::Url("it has `options`, which the program sets itself".to_owned()));
        }
        let is_here = config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        if config.get_ssl_mode() == SslMode::Prefer && !is_here {
            config.ssl_mode(SslMode::Require);
        }
        config.application_name("rescreen").options(SETTINGS).connect_timeout(CONNECT_MAX);
        // Of several hosts, the one that takes writes.
        if config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.tcp_user_timeout(ANSWER_MAX).keepalives_idle(Duration::from_secs(30));
        Ok(Address { config })
    }

    /// The machine and the database, to be shown.
    pub fn shown(&self) -> String {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        format!("{} at {}", self.config.get_dbname().unwrap_or("the user's database"), hosts.join(", "))
    }

    /// Connects, and checks that the server keeps what it commits.
    ///
    /// # Errors
    /// It does not answer, or is not fit for a book.
    pub(super) async fn connect(&self) -> Result<Client, BookError> {
        let client = self.connected().await?;
        let Server { version, fsync, full_page_writes, in_recovery } = Server::ask(&client).await?;
        let unfit = if version < OLDEST {
            format!("it is PostgreSQL {}, and a book needs 14 or later", version / 10_000)
        } else if !fsync {
            "it runs with fsync=off, and would lose charges in a power failure".to_owned()
        } else if !full_page_writes {
            "it runs with full_page_writes=off, and could lose charges in a power failure".to_owned()
        } else if in_recovery {
            // A standby that is promoted soon, or the wrong host.
            return Err(BookError::Away(
                "the server is a standby, and takes no writes; connect to the primary".to_owned(),
            ));
        } else {
            return Ok(client);
        };
        Err(BookError::Unfit(unfit))
    }

    /// Whether sessions are shared between connections by a pooler between here and the server: two connections that are
    /// open at once have the same session.
    pub(super) async fn is_pooled(&self, client: &Client) -> Result<bool, BookError> {
        let other = self.connected().await?;
        let mut sessions = Vec::with_capacity(2);
        for client in [client, &other] {
            let row = answered(client.query_one("SELECT pg_backend_pid()", &[])).await?;
            sessions.push(row.try_get::<_, i32>(0)?);
        }
        Ok(sessions[0] == sessions[1])
    }

    async fn connected(&self) -> Result<Client, BookError> {
        // A connection ends when its client is dropped, or with an error that the client's next question gets, too.
        if self.config.get_hosts().iter().all(is_socket) {
            let (client, connection) = answered(self.config.connect(NoTls)).await?;
            tokio::spawn(connection);
            return Ok(client);
        }
        let (client, connection) = answered(self.config.connect(tls::connector()?)).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}

/// A connection, with the statements that it knows: a question then takes one round trip.
pub(super) struct Session {
    client: Client,
    statements: HashMap<&'static str, Statement>,
}

impl Session {
    pub(super) fn new(client: Client) -> Session {
        Session { client, statements: HashMap::new() }
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, BookError> {
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let prepared = answered(self.client.prepare(sql)).await?;
                self.statements.entry(sql).or_insert(prepared).clone()
            }
        };
        answered(self.client.query(&statement, values)).await
    }
}

/// What a server says about itself.
struct Server {
    version: i32,
    fsync: bool,
    full_page_writes: bool,
    in_recovery: bool,
}

impl Server {
    async fn ask(client: &Client) -> Result<Server, BookError> {
        let sql = "SELECT current_setting('server_version_num')::int4, current_setting('fsync')::bool,
                   current_setting('full_page_writes')::bool, pg_is_in_recovery()";
        let row = answered(client.query_one(sql, &[])).await?;
        Ok(Server {
            version: row.try_get(0)?,
            fsync: row.try_get(1)?,
            full_page_writes: row.try_get(2)?,
            in_recovery: row.try_get(3)?,
        })
    }
}

/// Waits for an answer, but not for ever: a network may lose everything without an error.
pub(super) async fn answered<T>(
    question: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, BookError> {
    answered_in(ANSWER_MAX, question).await
}

/// The same, for a question that takes longer.
pub(super) async fn answered_in<T>(
    most: Duration,
    question: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, BookError> {
    match tokio::time::timeout(most, question).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(BookError::Away(format!("no answer in {} s", most.as_secs()))),
    }
}

/// Whether a server is reached through a file on this machine.
fn is_socket(host: &Host) -> bool {
    !matches!(host, Host::Tcp(_))
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Address, String> {
        Address::new(&SecretString::from(url.to_owned())).map_err(|error| error.to_string())
    }

    #[test]
    fn a_connection_to_another_machine_is_encrypted_unless_the_url_says_otherwise() {
        let mode = |url: &str| address(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://u:p@db.example/book"), SslMode::Require);
        assert_eq!(mode("postgres://u:p@db.example/book?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://u:p@localhost/book"), SslMode::Prefer);
        assert_eq!(mode("postgres://u:p@[::1]:5433/book"), SslMode::Prefer);
        assert_eq!(mode("postgres://u:p@127.0.0.1,db.example/book"), SslMode::Require);
        assert_eq!(mode("postgres://u:p@localhost/book?hostaddr=10.0.0.1"), SslMode::Require);
        assert_eq!(mode("postgres://u:p@db.example/book?sslmode=verify-full"), SslMode::Require);
    }

    #[test]
    fn a_wrong_url_is_refused_and_not_repeated() {
        for url in [
            "host=db.example password=hunter2",
            "mysql://u:hunter2@db.example/book",
            "postgres://u:hunter2@db.example/book?nothing=hunter2",
            "postgres://u:hunter2@db.example:port/book",
            "postgres://u:hunter2@db.example/book?options=-chunter2",
            "postgres:///book",
            "",
        ] {
            let Err(error) = address(url) else { panic!("{url}") };
            assert!(error.contains("expected postgres://") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn what_is_shown_of_an_address_has_no_user_and_no_password() {
        let shown = address("postgres://alice:hunter2@db.example:5433/book").unwrap().shown();
        assert_eq!(shown, "book at db.example");
    }
}
