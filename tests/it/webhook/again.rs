//! `rescreen retry-webhook`, the program: results are delivered again, nothing is charged, and each refusal is said.

use super::{campaign::Office, listening::Listening, post::now};
use crate::support::{
    http::{Connection, head},
    program::{Said, rescreen},
    simulator_process::SimulatorProcess,
};
use rescreen::{
    ledger::{CommitMode, Ledger, Reading},
    model::SIMULATOR_MARKER,
    webhook::Inbox,
};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// How often the service was asked to deliver again.
fn retried(office: &Office) -> u64 {
    let by_route = office.stats().by_route;
    by_route.iter().filter(|(route, _)| route.ends_with("/retry-webhook")).map(|(_, count)| count).sum()
}

#[test]
fn lost_results_are_delivered_again_at_no_credit() {
    let office = Office::new("--job-time 0s --job-faults lost:1");
    let listening = Listening::start(office.folder.path(), &[]);
    office.run(&format!("--webhook-url http://{}", listening.address)).exits(5);
    let before = office.stats();
    let said = office.say("retry-webhook out").exits(0).without_data();
    assert!(said.stderr.contains("the service delivers 3 of 3 jobs again"), "{}", said.stderr);
    assert_eq!(said.next_command(), "rescreen collect out");
    assert_eq!((retried(&office), office.stats().checks()), (3, before.checks()));
    assert_eq!(office.receivers().len(), 1, "the ledger is as it was");
    office.is_woken();
    let ended = office.say("retry-webhook out").exits(0);
    assert!(ended.stderr.contains("no job without a result"), "{}", ended.stderr);
    assert_eq!(retried(&office), 3);
    let id = ended_job(&office);
    office.say(&format!("retry-webhook out --job {id}")).exits(0).says("the service delivers 1 of 1 job again");
    assert_eq!((retried(&office), office.stats().credits_charged), (4, 21));
}

/// The id of a job that has ended.
fn ended_job(office: &Office) -> String {
    let conn = rusqlite::Connection::open(office.ledger()).unwrap();
    conn.query_row("SELECT job_id FROM job WHERE poll_at IS NULL LIMIT 1", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_new_receiver_gets_the_results_and_is_named_by_new_rows() {
    let office = Office::new("--job-time 0s");
    // Nobody listens there.
    office.run("--webhook-url http://127.0.0.1:9").exits(5);
    let listening = Listening::start(office.folder.path(), &[]);
    let base = format!("http://{}", listening.address);
    let book = fs::read_to_string(office.folder.path().join("three.csv")).unwrap();
    let more = format!("{book}4,Vexford 4 Pty,2019/000004/07,Example Bank,0620000040,current\n");
    fs::write(office.folder.path().join("three.csv"), more).unwrap();
    let other = office.run(&format!("--webhook-url {base}")).exits(2);
    assert!(other.stderr.contains("rescreen retry-webhook out --webhook-url"), "{}", other.stderr);
    let said = office.say(&format!("retry-webhook out --webhook-url {base}")).exits(0);
    let receivers = office.receivers();
    assert_eq!((receivers.len(), &receivers[1].base), (2, &base));
    assert_ne!(receivers[0].secret, receivers[1].secret);
    let id = &receivers[1].id;
    assert!(said.stderr.contains(&format!("new receiver: {base}/hooks/{id};")), "{}", said.stderr);
    assert!(!said.stderr.contains(&receivers[1].secret), "{}", said.stderr);
    office.is_woken();
    let inbox = office.folder.path().join("state/rescreen/webhooks/inbox.sqlite");
    assert_eq!(Inbox::open(&inbox).unwrap().receivers().unwrap(), 2);

    // The job ends at once, so its delivery may come before or after the end of the run.
    let said = office.run(&format!("--webhook-url {base}"));
    assert!([3, 5].contains(&said.code), "{}", said.stderr);
    // Without a delivery, a job is asked for after two minutes.
    let said = office.say("collect out --for 90s");
    assert!(said.stderr.contains("4 rows: ") && said.stderr.contains(" 0 pending"), "{}", said.stderr);
    assert_eq!((office.stats().jobs, office.stats().double_charges), (4, 0));
}

#[test]
fn what_cannot_be_asked_for_is_said_and_nothing_is_sent() {
    let office = Office::new("--job-time 10h --key sk-planted-marker-4c1");
    office.run("").exits(5);
    let id = office.jobs()[0].id.clone();
    for wrong in ["job_of_nobody", "../my_credits"] {
        office.say(&format!("retry-webhook out --job {wrong}")).exits(2).says("of a job of this ledger, found none");
    }
    office.say("retry-webhook out --webhook-url http://hooks.example").exits(2).says("--webhook-url");
    office.say("retry-webhook out --service http://127.0.0.1:9").exits(2).says("name that service");
    let with_key =
        |key: &str| Said::of(rescreen(office.folder.path(), &["retry-webhook", "out"]).env("RESCREEN_API_KEY", key));
    // The same service, but this key was never sent there.
    with_key("sk-another-key-123456").exits(8).says("nothing was sent");
    let url = office.simulator.url();
    let words = ["retry-webhook", "out", "--service", &url];
    let other = Said::of(rescreen(office.folder.path(), &words).env("RESCREEN_API_KEY", "sk-another-key-123456"));
    let other = other.exits(8).says("3 jobs were accepted under another API key and left alone");
    assert!(other.stderr.contains(id.as_str()), "{}", other.stderr);
    fs::rename(office.folder.path().join("state"), office.folder.path().join("moved")).unwrap();
    office.say("retry-webhook out").exits(8).says("nothing was sent");
    fs::rename(office.folder.path().join("moved"), office.folder.path().join("state")).unwrap();
    assert_eq!(retried(&office), 0);

    let said = office.say("retry-webhook out").exits(0).says("the service delivers 0 of 3 jobs again");
    assert!(said.stderr.contains(&format!("job {id}: it has no result yet (HTTP 409)")), "{}", said.stderr);
    assert_eq!((retried(&office), office.receivers().len()), (3, 0));
    fs::write(office.folder.path().join("book.csv"), "no,name\n1,Thandi\n").unwrap();
    office
        .say("run book.csv --check aml-screening --set entity=0 --set country=za --simulate --out rehearsal")
        .exits(0);
    office.say("retry-webhook rehearsal.simulated").exits(2).says("built-in simulator");
}

#[test]
fn a_new_receiver_needs_the_ledger_for_itself() {
    let office = Office::new("--job-time 10h");
    office.run("").exits(5);
    let lock = fs::OpenOptions::new().write(true).open(office.ledger().with_extension("lock")).unwrap();
    lock.lock().unwrap();
    office.say("retry-webhook out --webhook-url http://127.0.0.1:9").exits(2).says("is in use by another process");
    assert_eq!((retried(&office), office.receivers().len()), (0, 0));
    office.say("retry-webhook out").exits(0).says("0 of 3");
    assert_eq!(retried(&office), 3, "without a new receiver it only reads");
}

#[tokio::test]
async fn the_pause_of_the_ledger_is_obeyed() {
    let office = Office::new("--job-time 10h");
    office.run("").exits(5);
    let identity = Reading::open(&office.ledger()).unwrap().identity().unwrap();
    let now_us = now() as i64 * 1_000_000;
    let ledger = Ledger::open(&office.ledger(), &identity, CommitMode::Inline, now_us).unwrap();
    ledger.pause_until(now_us + 3_600_000_000, now_us).await.unwrap();
    drop(ledger);
    office.say("retry-webhook out").exits(10).says("0 of 3").says("the service is rate-limiting us until");
    assert_eq!(retried(&office), 0);
    office.say("retry-webhook out --lift-pause").exits(0);
    assert_eq!(retried(&office), 3);
}

/// An address that is bound once. It leads to a simulator, until it is taken over.
struct Door {
    url: String,
    is_over: Arc<AtomicBool>,
    passing: thread::JoinHandle<TcpListener>,
}

impl Door {
    fn to(simulator: &SimulatorProcess) -> Door {
        Door::at(TcpListener::bind("127.0.0.1:0").unwrap(), simulator)
    }

    fn at(listener: TcpListener, simulator: &SimulatorProcess) -> Door {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (is_over, behind) = (Arc::<AtomicBool>::default(), simulator.url().replace("http://", ""));
        let over = Arc::clone(&is_over);
        let passing = thread::spawn(move || {
            loop {
                let (stream, _) = listener.accept().unwrap();
                if over.load(Ordering::SeqCst) {
                    return listener;
                }
                let service = TcpStream::connect(&behind).unwrap();
                for (mut from, mut to) in
                    [(stream.try_clone().unwrap(), service.try_clone().unwrap()), (service, stream)]
                {
                    thread::spawn(move || {
                        drop(std::io::copy(&mut from, &mut to));
                        drop(to.shutdown(std::net::Shutdown::Both));
                    });
                }
            }
        });
        Door { url, is_over, passing }
    }

    /// The simulator is no longer behind it.
    fn taken_over(self) -> TcpListener {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.url.replace("http://", "")));
        self.passing.join().unwrap()
    }
}

/// A campaign with three jobs, whose service is gone, and the address of that service.
fn without_its_service() -> (TempDir, TcpListener) {
    let office = Office::new("--job-time 10h");
    let door = Door::to(&office.simulator);
    office.run_at(&door.url, "out", "").exits(5);
    (office.folder, door.taken_over())
}

#[test]
fn a_service_that_forgot_its_jobs_or_is_gone_is_said() {
    let (folder, listener) = without_its_service();
    let say = || Said::of(&mut rescreen(folder.path(), &["retry-webhook", "out"]));
    let other = SimulatorProcess::start(&[]);
    let door = Door::at(listener, &other);
    say().exits(3).says("the service does not know it (HTTP 404)");
    // The address stays taken, so that no other service can answer there.
    let listener = door.taken_over();
    thread::spawn(move || listener.incoming().for_each(drop));
    say().exits(10).says("the service does not answer");
}

/// Each reply of a script is a status, seconds to wait, and a body.
type Script = Vec<(u16, Option<u64>, &'static str)>;

/// Serves one script of replies at an address, and does this at each request. Returns the number of the requests.
fn scripted_with(
    listener: &TcpListener,
    script: Script,
    mut at_request: impl FnMut() + Send + 'static,
) -> thread::JoinHandle<usize> {
    let listener = listener.try_clone().unwrap();
    thread::spawn(move || {
        let mut requests = 0;
        for (status, wait, body) in script {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut connection = Connection::of(stream);
            let request = connection.read().unwrap();
            let request = request.head + &String::from_utf8(request.body).unwrap();
            assert!(request.starts_with("POST /business-bank-account-verification/jobs/"), "{request}");
            assert!(!request.to_lowercase().contains("idempotency-key"), "{request}");
            requests += 1;
            at_request();
            let wait = wait.map(|seconds| format!("\r\nretry-after: {seconds}")).unwrap_or_default();
            let status = format!("{status} X\r\n{SIMULATOR_MARKER}: 1{wait}\r\nconnection: close");
            connection.write(head(&status, body.len()) + body).unwrap();
        }
        requests
    })
}

fn scripted(listener: &TcpListener, script: Script) -> thread::JoinHandle<usize> {
    scripted_with(listener, script, || ())
}

/// One job is delivered again, the second request has to wait, and the third is refused.
fn until_the_key_is_refused() -> Script {
    vec![(429, Some(2), "{}"), (200, None, "{}"), (401, None, "{}")]
}

#[test]
fn a_refused_key_ends_it_and_a_request_to_wait_is_obeyed() {
    let (folder, listener) = without_its_service();
    let say = || Said::of(&mut rescreen(folder.path(), &["retry-webhook", "out"]));
    let server = scripted(&listener, until_the_key_is_refused());
    say().exits(7).says("the service delivers 1 of 3 jobs again").says("stopped: the service refuses the API key");
    server.join().unwrap();
    let server = scripted(&listener, vec![(429, Some(7_200), "{}")]);
    say().exits(10).says("0 of 3").says("the service is rate-limiting us until");
    server.join().unwrap();
    // The next command does not even ask.
    say().exits(10).says("the service is rate-limiting us until");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nothing was asked");
    let paused = Reading::open(&folder.path().join("out/ledger.sqlite")).unwrap().sums().unwrap().paused_until_us;
    let left = paused.unwrap() / 1_000_000 - now() as i64;
    assert!((7_000..=7_200).contains(&left), "{left}");
}

#[test]
fn what_is_said_of_a_new_receiver_is_what_is_known() {
    let (folder, listener) = without_its_service();
    let say = || {
        let words = ["retry-webhook", "out", "--webhook-url", "http://127.0.0.1:9"];
        Said::of(&mut rescreen(folder.path(), &words))
    };
    let pending = r#"{"error": {"code": "job_pending", "message": "The bank has not answered."}}"#;
    let refused = || (409, None, pending);
    let server = scripted(&listener, vec![refused(), refused(), refused()]);
    let said = say().exits(0).says("name it; whether the service delivers any job to it is not known");
    said.says("it has no result yet (HTTP 409): The bank has not answered.");
    server.join().unwrap();
    let server = scripted(&listener, vec![refused(), (200, None, "{}"), refused()]);
    say()
        .exits(0)
        .says("name it, and the service delivers the accepted jobs to it; for the other jobs this is not known");
    server.join().unwrap();
    let server = scripted(&listener, (0..3).map(|_| (200, None, "{}")).collect());
    say().exits(0).says("name it, and the service delivers the jobs asked for here to it");
    server.join().unwrap();
}

#[test]
fn a_reply_that_states_a_charge_is_said_and_no_more_is_asked_for() {
    let (folder, listener) = without_its_service();
    for reply in [
        (200, None, r#"{"creditsUsed": 7}"#),
        (409, None, r#"{"creditsUsed": 7}"#),
        (500, None, r#"{"creditsUsed": 7}"#),
    ] {
        let (accepted, code) = (u8::from(reply.0 == 200), if reply.0 == 500 { 10 } else { 8 });
        let before = credits(folder.path());
        let server = scripted(&listener, vec![reply]);
        let said = Said::of(&mut rescreen(folder.path(), &["retry-webhook", "out", "--continue-anyway"]));
        let said =
            said.says("the reply states a charge").says("7 credits are booked for it, and no more was asked for");
        let said = said.says(&format!("delivers {accepted} of 3 jobs again"));
        assert!(said.code == code || said.code == 8, "{}: {}", said.code, said.stderr);
        assert_eq!(server.join().unwrap(), 1, "{}", said.stderr);
        assert_eq!(credits(folder.path()), before + 7);
        let again = Said::of(&mut rescreen(folder.path(), &["retry-webhook", "out"]));
        again.exits(8).says("nothing was sent").says("--continue-anyway");
    }
}

/// The credits that the ledger books as charged.
fn credits(folder: &Path) -> u64 {
    let reading = Reading::open(&folder.join("out/ledger.sqlite")).unwrap();
    reading.sums().unwrap().account.charged.0
}

#[test]
fn a_folder_with_a_space_is_quoted_and_one_that_is_missing_is_said() {
    let office = Office::new("--job-time 10h");
    let url = office.simulator.url();
    let run = |receiver: &str| {
        let line = "run three.csv --check business-bank-account --campaign c --mode production --id no --max-credits 100 --yes";
        let more = ["--out", "out/c my", "--service", &url, "--webhook-url", receiver];
        let words: Vec<&str> = line.split_whitespace().chain(more).collect();
        Said::of(&mut rescreen(office.folder.path(), &words))
    };
    run("http://127.0.0.1:9").exits(5);
    let said = run("http://127.0.0.1:10").exits(2);
    said.says("`rescreen retry-webhook 'out/c my' --webhook-url http://127.0.0.1:10`");
    for command in ["collect nope", "retry-webhook nope"] {
        office
            .say(command)
            .exits(2)
            .says("expected a folder or a campaign, found none called `nope`; the campaigns are out/c my");
    }
}

/// How long a request to wait is obeyed.
mod timed {
    use super::*;
    use std::{
        sync::mpsc::channel,
        time::{Duration, Instant},
    };

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_request_to_wait_two_seconds_is_obeyed() {
        let (folder, listener) = without_its_service();
        let (sender, times) = channel();
        let server = scripted_with(&listener, until_the_key_is_refused(), move || sender.send(Instant::now()).unwrap());
        Said::of(&mut rescreen(folder.path(), &["retry-webhook", "out"])).exits(7);
        server.join().unwrap();
        let times: Vec<Instant> = times.iter().collect();
        assert!(times[1] - times[0] >= Duration::from_secs(2), "{times:?}");
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn deliveries_to_a_new_receiver_end_a_campaign_long_before_its_jobs_are_due() {
        let office = Office::new("--job-time 0s");
        office.run("--webhook-url http://127.0.0.1:9").exits(5);
        let listening = Listening::start(office.folder.path(), &[]);
        office.say(&format!("retry-webhook out --webhook-url http://{}", listening.address)).exits(0);
        let begun = Instant::now();
        office.is_woken();
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}
