//! A PostgreSQL server of a test's own, on a socket in its folder. It ends with the test.

use super::simulator_process::Guarded;
use std::{
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// A server that runs until it is dropped.
pub struct Postgres {
    folder: TempDir,
    programs: PathBuf,
    server: Option<Guarded>,
}

impl Postgres {
    /// Starts a server with a charge book in it and a role for workers. `None`, with a notice, if PostgreSQL is not
    /// installed.
    pub fn with_book() -> Option<Postgres> {
        let postgres = Postgres::start(&[])?;
        postgres.sql("CREATE ROLE etl LOGIN PASSWORD 'planted-book-password'");
        super::program::Said::from(postgres.book_as("owner", &["init"])).exits(0);
        postgres.sql("GRANT rescreen_worker TO etl");
        Some(postgres)
    }

    /// Starts a server with these settings.
    pub fn start(settings: &[&str]) -> Option<Postgres> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: PostgreSQL is not installed; the charge book was not tried");
            return None;
        };
        // A short path: that of a socket has at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        give_to_postgres(folder.path());
        let mut postgres = Postgres { folder, programs, server: None };
        let data = postgres.data();
        let made =
            postgres.program("initdb").args(["-A", "trust", "-U", "owner", "--no-sync", "-D"]).arg(data).output();
        let made = made.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        postgres.start_again(settings);
        Some(postgres)
    }

    /// Starts the server, and waits until it answers.
    pub fn start_again(&mut self, settings: &[&str]) {
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data()).args(["-c", "listen_addresses=", "-k"]).arg(self.folder.path());
        command.args(settings.iter().flat_map(|setting| ["-c", setting]));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child: Child = command.spawn().unwrap();
        self.server = Some(Guarded(child));
        super::program::wait_until("the server", || self.psql("SELECT 1").status.success());
    }

    /// Stops the server at once, as a power failure would. What was committed is recovered when it starts again.
    pub fn stop_at_once(&mut self) {
        if let Some(mut server) = self.server.take() {
            let stopped = Command::new("kill").args(["-QUIT", &server.0.id().to_string()]).status().unwrap();
            assert!(stopped.success());
            server.0.wait().unwrap();
        }
    }

    /// The URL of the database for this role.
    pub fn url(&self, role: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{role}:planted-book-password@{folder}/postgres")
    }

    /// Runs a command of `rescreen book` as this role.
    pub fn book_as(&self, role: &str, arguments: &[&str]) -> Output {
        let mut command = super::program::rescreen(self.folder.path(), &["book"]);
        command.args(arguments).env("RESCREEN_BOOK", self.url(role)).output().unwrap()
    }

    /// Runs statements as the owner, and returns the rows as text.
    #[track_caller]
    pub fn sql(&self, statements: &str) -> String {
        let said = self.psql(statements);
        assert!(said.status.success(), "{statements}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    fn psql(&self, statements: &str) -> Output {
        let mut command = Command::new("psql");
        command.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "owner", "-h"]).arg(self.folder.path());
        command.args(["-d", "postgres", "-c", statements]).output().unwrap()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// One of its programs. They refuse to run as root, and are killed with the test.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        }
        command.arg(self.programs.join(name)).current_dir("/");
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its children end once it is gone.
        self.stop_at_once();
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The folder of its programs.
fn programs() -> Option<PathBuf> {
    let runs = |command: &mut Command| command.output().is_ok_and(|said| said.status.success());
    let tools = ["setpriv", "psql"];
    if !tools.iter().all(|tool| runs(Command::new(tool).arg("--version")))
        || is_root() && !runs(Command::new("id").arg("postgres"))
    {
        return None;
    }
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders.into_iter().find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn give_to_postgres(folder: &Path) {
    if !is_root() {
        return;
    }
    let id = |flag: &str| {
        let said = Command::new("id").args([flag, "postgres"]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
    };
    chown(folder, Some(id("-u")), Some(id("-g"))).unwrap();
}
