//! Creating the book, who may do what, and which servers are refused.

use super::{Job, Machines};
use crate::support::{postgres::Postgres, program::Said};
use std::fs;

#[test]
fn the_book_is_created_once_and_workers_change_no_tables() {
    let Some(postgres) = Postgres::start(&[]) else { return };
    let book = |role: &str, arguments: &[&str]| Said::from(postgres.book_as(role, arguments));
    book("owner", &["status"]).exits(2).says("create it with `rescreen book init`");
    book("owner", &["init"]).exits(0).says("GRANT rescreen_worker TO ROLE_NAME");
    book("owner", &["init"]).exits(2).says("a charge book exists already in this database");
    postgres.sql("CREATE ROLE etl LOGIN");
    book("etl", &["status"]).exits(2).says("permission denied for schema rescreen");
    postgres.sql("GRANT rescreen_worker TO etl");
    book("etl", &["check"]).exits(0).shows("the charge book in the database postgres at /tmp/pg");
    book("etl", &["status"]).exits(0).says("the charge book has no account yet");
    book("owner", &["check"]).exits(2).shows("the role owner owns the book and could change its tables");
    for statement in [
        "CREATE TABLE rescreen.mine ()",
        "DROP TABLE rescreen.account",
        "DELETE FROM rescreen.partition",
        "DELETE FROM rescreen.note",
    ] {
        let refused = postgres.sql(&format!(
            "SET ROLE etl; DO $$ BEGIN {statement}; RAISE EXCEPTION 'done'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$;
             RESET ROLE; SELECT count(*) FROM pg_tables WHERE schemaname = 'rescreen'"
        ));
        assert_eq!(refused, "7", "{statement}");
    }
    postgres.sql("UPDATE rescreen.book SET version = 2");
    book("etl", &["status"])
        .exits(2)
        .says("the charge book has version 2, and this release of rescreen reads version 1");
}

#[test]
fn a_server_that_could_lose_charges_is_refused() {
    let Some(mut postgres) = Postgres::with_book() else { return };
    for (setting, says) in [("fsync=off", "it runs with fsync=off"), ("full_page_writes=off", "full_page_writes=off")] {
        postgres.stop_at_once();
        postgres.start_again(&[setting]);
        for arguments in [["check"], ["init"], ["status"]] {
            Said::from(postgres.book_as("etl", &arguments)).exits(2).says(says);
        }
    }
}

#[test]
fn a_book_that_cannot_be_reached_sends_nothing_and_shows_no_password() {
    let Some(mut machines) = Machines::new(&[]) else { return };
    machines.prepare("a", &Job::default());
    Said::of(machines.command("a", &["run", "--yes"]).env_remove("RESCREEN_BOOK"))
        .exits(2)
        .says("the URL of the charge book: the environment variable RESCREEN_BOOK is not set");
    machines.postgres.stop_at_once();
    let said = machines.run("a").exits(11).says("the charge book does not answer");
    assert!(!said.stderr.contains("planted-book-password"), "{}", said.stderr);
    assert_eq!(machines.service.stats().checks(), 0);
}

#[test]
fn commands_that_only_ask_for_the_balance_use_the_rate_of_the_book_too() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.prepare("a", &Job::default());
    let version = || machines.postgres.sql("SELECT version FROM rescreen.account").parse::<u64>().unwrap();
    Said::of(&mut machines.command("a", &["credits"])).exits(0).shows("1000000");
    let before = version();
    assert!(before > 0);
    Said::of(&mut machines.command("a", &["credits"])).exits(0);
    assert!(version() > before);
    assert_eq!(machines.postgres.sql("SELECT count(*) FROM rescreen.worker"), "0");
}

#[test]
fn a_campaign_that_shared_its_account_does_not_run_alone() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.start("a", &Job { rows: 3, max_credits: 2, ..Job::default() }).ends().exits(4);
    let file = machines.folder.path().join("a/rescreen.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("book = { env = \"RESCREEN_BOOK\" }\n", "")).unwrap();
    let mut alone = machines.command_of("a", &["run", "--yes"]);
    Said::of(&mut alone).exits(2).says("earlier runs of this campaign shared the account `default`");
    assert_eq!(machines.charged(), 2);
}

#[test]
fn an_owner_who_may_not_create_roles_is_told_what_an_administrator_must_do() {
    let Some(postgres) = Postgres::start(&[]) else { return };
    postgres.sql("CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain");
    let init = || Said::from(postgres.book_as("plain", &["init"]));
    init().exits(2).says("an administrator must create it: CREATE ROLE rescreen_worker NOLOGIN");
    postgres.sql("CREATE ROLE rescreen_worker NOLOGIN");
    init().exits(0);
}
