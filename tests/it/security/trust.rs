//! Files that others can write. A campaign file can start a program, and only the owner's own campaign file is used for
//! that. Secrets, certificates and our own files are regular files of bounded size. A ledger does not decide where an
//! API key is sent.

use super::wire::{Answer, Wire, clear};
use crate::support::{
    http::Message,
    program::{Said, UnderWay, rescreen, wait_until},
    world::book,
};
use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};
use tempfile::TempDir;

const CHECK: &str = "[input]\npaths = [\"book.csv\"]\nid = \"no\"\n[budget]\nmax_credits = 10\n\
    prices = { aml-screening = 1 }\n[[check]]\nuse = \"aml-screening\"\nfields.name = \"name\"\n\
    fields.entity = { value = 0 }\nfields.country = { value = \"za\" }\n";

/// A folder with a book, and a campaign file that starts with this text.
fn workspace(begins: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), book(1..=3)).unwrap();
    fs::write(
        folder.path().join("rescreen.toml"),
        format!("campaign = \"2026-11\"\nmode = \"production\"\n{begins}{CHECK}"),
    )
    .unwrap();
    folder
}

fn said(folder: &Path, words: &[&str]) -> Said {
    Said::of(&mut rescreen(folder, words))
}

fn pipe(path: &Path) {
    drop(fs::remove_file(path));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_campaign_file_that_others_can_write_is_used_only_when_it_is_named() {
    let wire = Wire::new(|_, _| Answer::Bytes(clear()));
    let folder =
        workspace(&format!("[service]\nurl = \"{}\"\napi_key = {{ command = [\"touch\", \"started\"] }}\n", wire.url));
    let file = folder.path().join("rescreen.toml");
    let is_refused = |why: &str| {
        for word in ["run", "plan", "credits"] {
            let said = said(folder.path(), &[word]).exits(2);
            assert!(said.stderr.contains(why) && said.stderr.contains("-c rescreen.toml"), "{word}: {}", said.stderr);
        }
        assert!(!folder.path().join("started").exists());
    };
    fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    is_refused("other users can write to it");
    said(folder.path(), &["plan", "-c", "rescreen.toml"]).exits(0);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    said(folder.path(), &["plan"]).exits(0);
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_err() {
        println!("SKIPPED: a file cannot be given to another user here");
        return;
    }
    is_refused("it belongs to the user with id 65534");
}

#[test]
fn a_plan_and_a_rehearsal_start_no_program() {
    let wire = Wire::new(|_, _| Answer::Bytes(clear()));
    let program = |name: &str| format!("{{ command = [\"sh\", \"-c\", \"echo ran >> {name}; echo secret\"] }}");
    let folder = workspace(&format!(
        "[service]\nurl = \"{}\"\napi_key = {}\n[keys]\nsecret = {}\n",
        wire.url,
        program("key"),
        program("secret")
    ));
    let started = || ["key", "secret"].map(|name| folder.path().join(name).exists());
    said(folder.path(), &["plan"]).exits(0).shows("key not read");
    said(folder.path(), &["plan", "--simulate"]).exits(0);
    said(folder.path(), &["run", "--simulate"]).exits(0).says("a rehearsal does not start");
    assert_eq!(started(), [false, false]);
    said(folder.path(), &["run", "--yes"]).exits(0);
    assert_eq!(started(), [true, true]);
    // Without the secret, new requests cannot be distinguished from those the run sent.
    said(folder.path(), &["plan"]).exits(0).shows("count as new");
}

#[test]
fn secrets_come_from_the_users_own_regular_files_and_from_programs_that_end() {
    let url = "url = \"http://127.0.0.1:1\"";
    for (source, mode, expected) in [
        ("{ file = \"key\" }", 0o640, "can be read or changed by other users"),
        ("{ file = \"pipe\" }", 0o600, "found a named pipe"),
        ("{ file = \"/dev/zero\" }", 0o600, "found a device"),
        ("{ file = \"long\" }", 0o600, "expected at most 65536 bytes"),
        ("{ command = [\"yes\"] }", 0o600, "printed more than 65536 bytes"),
        ("{ command = [\"false\"] }", 0o600, "ended with exit status: 1"),
    ] {
        let folder = workspace(&format!("[service]\n{url}\napi_key = {source}\n"));
        let at = |name: &str| folder.path().join(name);
        fs::write(at("key"), "hunter2").unwrap();
        fs::write(at("long"), "hunter2".repeat(10_000)).unwrap();
        pipe(&at("pipe"));
        for name in ["key", "long", "pipe"] {
            fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        }
        let said = said(folder.path(), &["run", "--yes"]).exits(2);
        assert!(said.stderr.contains(expected) && !said.stderr.contains("hunter2"), "{source}: {}", said.stderr);
        assert!(!at("out").exists());
    }
}

#[test]
fn files_that_are_read_at_the_start_are_regular_and_bounded() {
    let folder = workspace("[service]\nurl = \"https://127.0.0.1:1\"\nca_file = \"ca.pem\"\n");
    let at = |name: &str| folder.path().join(name);
    pipe(&at("ca.pem"));
    said(folder.path(), &["run", "--yes"]).exits(2).says("expected a regular file, found a named pipe");
    fs::remove_file(at("ca.pem")).unwrap();
    fs::write(at("ca.pem"), "x".repeat((1 << 20) + 1)).unwrap();
    said(folder.path(), &["run", "--yes"]).exits(2).says("expected at most 1048576 bytes");
    for path in ["/dev/zero", "pipe.toml"] {
        pipe(&at("pipe.toml"));
        said(folder.path(), &["plan", "-c", path]).exits(2).says("expected a regular file");
    }
    fs::write(at("long.toml"), "# x\n".repeat(2 << 20)).unwrap();
    said(folder.path(), &["plan", "-c", "long.toml"]).exits(2).says("expected at most 4194304 bytes");
}

/// The files in an output folder that are ours.
const OURS: [&str; 5] = ["manifest.json", "ledger.lock", "ledger.sqlite", "ledger.id", "README.txt"];

#[track_caller]
fn a_pipe_in_its_place_is_refused(name: &str) {
    let wire = Wire::new(|_, _| Answer::Bytes(clear()));
    let folder = workspace(&format!("[service]\nurl = \"{}\"\n", wire.url));
    said(folder.path(), &["run", "--yes"]).exits(0);
    pipe(&folder.path().join("out/2026-11").join(name));
    // A program that opens the pipe waits for ever.
    let said = UnderWay::start(&mut rescreen(folder.path(), &["run", "--yes"])).ends();
    let is_refused = [2, 11].contains(&said.code) && said.stderr.contains("found a named pipe");
    // A README that is not ours is kept.
    assert!(is_refused || (name == "README.txt" && said.code == 0), "{name}: exit {}: {}", said.code, said.stderr);
}

#[test]
fn a_pipe_in_place_of_one_of_our_files_is_refused_at_once() {
    OURS.into_iter().for_each(a_pipe_in_its_place_is_refused);
}

/// Two signals, and the exit code they lead to.
type Signals = ([&'static str; 2], i32);
const TWO_SIGNALS: [Signals; 3] = [(["TERM", "TERM"], 143), (["INT", "INT"], 130), (["TERM", "INT"], 143)];

#[track_caller]
fn a_second_signal_ends_the_program((signals, code): Signals) {
    // A service that accepts the connection and never answers.
    let wire = Wire::new(|_, _| {
        loop {
            std::thread::park();
        }
    });
    let folder = workspace(&format!("[service]\nurl = \"{}\"\n", wire.url));
    let run = UnderWay::start(&mut rescreen(folder.path(), &["run", "--yes"]));
    wait_until("a check", || !wire.checks().is_empty());
    run.signal(signals[0]);
    run.wait_until_it_says("stopping: ");
    run.signal(signals[1]);
    let said = run.ends();
    assert_eq!(said.code, code, "{signals:?}: {}", said.stderr);
}

#[test]
fn a_second_signal_ends_the_program_whatever_it_is_waiting_for() {
    TWO_SIGNALS.into_iter().for_each(a_second_signal_ends_the_program);
}

/// A campaign with requests in doubt at a service that then works.
fn in_doubt(wire: &Wire) -> TempDir {
    let folder = workspace(&format!("[service]\nurl = \"{}\"\n", wire.url));
    let run = UnderWay::start(&mut rescreen(folder.path(), &["run", "--yes"]));
    let key = |check: &Message| check.header("idempotency-key").map(str::to_owned);
    let keys = || wire.checks().iter().map(key).collect::<BTreeSet<_>>();
    wait_until("three requests", || keys().len() >= 3);
    run.signal("TERM");
    let said = run.wait();
    assert!(said.stderr.contains("may have been charged"), "{}", said.stderr);
    folder
}

fn fails_until(works: &std::sync::Arc<std::sync::atomic::AtomicBool>) -> Wire {
    let works = std::sync::Arc::clone(works);
    Wire::new(move |_, message| {
        let works = works.load(std::sync::atomic::Ordering::SeqCst) || !message.is_check();
        if works { Answer::Bytes(clear()) } else { Answer::Bytes(super::wire::json("500 Internal Server Error", "{}")) }
    })
}

#[test]
fn collecting_sends_an_api_key_only_where_a_run_or_the_user_sent_it() {
    let works = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (wire, elsewhere) = (fails_until(&works), Wire::new(|_, _| Answer::Bytes(clear())));
    let folder = in_doubt(&wire);
    works.store(true, std::sync::atomic::Ordering::SeqCst);
    let sql = |sql: &str| {
        let ledger = rusqlite::Connection::open(folder.path().join("out/2026-11/ledger.sqlite")).unwrap();
        ledger.execute(sql, []).unwrap();
    };
    // An attacker changes the service's address.
    sql(&format!("UPDATE campaign SET origin = '{}'", elsewhere.url));
    fs::remove_file(folder.path().join("out/2026-11/ledger.id")).unwrap();
    said(folder.path(), &["collect"]).exits(8).says("only the ledger says").says(&elsewhere.url);
    // Or adds another certificate authority.
    sql(&format!("UPDATE campaign SET origin = '{}'", wire.url));
    fs::remove_file(folder.path().join("out/2026-11/ledger.id")).unwrap();
    sql("UPDATE campaign SET settings = json_set(settings, '$.ca_file', '/tmp/evil.pem')");
    let sent = wire.checks().len();
    said(folder.path(), &["collect"]).exits(8).says("only the ledger says");
    assert_eq!((wire.checks().len(), elsewhere.messages().len()), (sent, 0));
    // Where the user names the service, its other settings are not taken from the ledger either.
    said(folder.path(), &["collect", "--service", &elsewhere.url]).exits(2).says(&wire.url);
    said(folder.path(), &["collect", "--service", &wire.url]).exits(0);
    assert_eq!(elsewhere.messages().len(), 0);
}

#[test]
fn collecting_on_another_machine_asks_for_the_service_and_on_this_one_does_not() {
    let works = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let wire = fails_until(&works);
    let folder = in_doubt(&wire);
    works.store(true, std::sync::atomic::Ordering::SeqCst);
    let collect = |state: &str| {
        let mut command = rescreen(folder.path(), &["collect"]);
        Said::of(command.env("XDG_STATE_HOME", folder.path().join(state)))
    };
    collect("another-machine").exits(8).says("--service");
    // A renamed note still says what it said before.
    let notes = |state: &str| folder.path().join(state).join("rescreen");
    let note = fs::read_dir(notes("state"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .find(|name| name.to_string_lossy().starts_with("service-"));
    let note = note.expect("the run wrote a note");
    fs::create_dir_all(notes("renamed")).unwrap();
    fs::write(notes("renamed").join(&note), "service-0123456789abcdef").unwrap();
    fs::set_permissions(notes("renamed").join(&note), Permissions::from_mode(0o600)).unwrap();
    collect("renamed").exits(8).says("--service");
    collect("state").exits(0);
}

/// The owner of a folder can exchange the files in it.
#[test]
fn a_folder_that_others_can_write_is_refused_for_campaign_file_ledger_and_outputs() {
    let wire = Wire::new(|_, _| Answer::Bytes(clear()));
    let folder = workspace(&format!("[service]\nurl = \"{}\"\n", wire.url));
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(folder.path(), 0o1777);
    said(folder.path(), &["plan"]).exits(2).says("others can write to the folder .").says("-c rescreen.toml");
    said(folder.path(), &["run", "-c", "rescreen.toml", "--yes"]).exits(0);
    let out = folder.path().join("out/2026-11");
    mode(&out, 0o1777);
    for words in [&["run", "-c", "rescreen.toml", "--yes"][..], &["status", "out/2026-11"]] {
        said(folder.path(), words).exits(2).says("others can write to the folder out/2026-11");
    }
    mode(&out, 0o700);
    // A link leads to a file of the user, and its paths would be relative to another user's folder.
    mode(folder.path(), 0o700);
    fs::rename(folder.path().join("rescreen.toml"), folder.path().join("mine.toml")).unwrap();
    std::os::unix::fs::symlink("mine.toml", folder.path().join("rescreen.toml")).unwrap();
    said(folder.path(), &["plan"]).exits(2).says("found a symbolic link");
}

#[test]
fn a_rollback_journal_beside_a_ledger_is_not_applied() {
    let wire = Wire::new(|_, _| Answer::Bytes(clear()));
    let folder = workspace(&format!("[service]\nurl = \"{}\"\n", wire.url));
    said(folder.path(), &["run", "--yes"]).exits(0);
    let out = folder.path().join("out/2026-11");
    let ledger = fs::read(out.join("ledger.sqlite")).unwrap();
    let journal = out.join("ledger.sqlite-journal");
    fs::write(&journal, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 a journal of another's").unwrap();
    for words in [&["run", "--yes"][..], &["status"], &["collect"], &["resolve", "--list"]] {
        said(folder.path(), words).exits(2).says("a rollback journal");
    }
    assert!(journal.exists() && fs::read(out.join("ledger.sqlite")).unwrap() == ledger);
    pipe(&journal);
    said(folder.path(), &["status"]).exits(2).says("a rollback journal");
}

#[test]
fn a_foreign_file_with_the_name_of_the_lock_is_not_overwritten() {
    let wire = Wire::new(|_, _| Answer::Bytes(clear()));
    let folder = workspace(&format!("[service]\nurl = \"{}\"\n[ledger]\npath = \"package.sqlite\"\n", wire.url));
    let lock = folder.path().join("package.lock");
    for mine in ["commits and other notes", "mine", &"commits 1".repeat(20)] {
        fs::write(&lock, mine).unwrap();
        said(folder.path(), &["run", "--yes"]).exits(2).says("a file that is not a lock file of rescreen");
        assert_eq!(fs::read_to_string(&lock).unwrap(), mine);
    }
    assert_eq!(wire.messages().len(), 0);
}

/// How soon it happens.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    fn takes_at_most(seconds: u64, what: &str, act: impl FnOnce()) {
        let begun = Instant::now();
        act();
        assert!(begun.elapsed() < Duration::from_secs(seconds), "{what} took {:?}", begun.elapsed());
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_pipe_in_place_of_one_of_our_files_is_refused_within_20_seconds() {
        for name in OURS {
            takes_at_most(20, name, || a_pipe_in_its_place_is_refused(name));
        }
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_second_signal_ends_the_program_within_10_seconds() {
        for signals in TWO_SIGNALS {
            takes_at_most(10, &format!("{signals:?}"), || a_second_signal_ends_the_program(signals));
        }
    }
}
