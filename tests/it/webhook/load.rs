//! How fast the receiver is: 200 deliveries a second for 30 seconds, each answered, with the times printed.

mod timed {
    use super::super::{
        listening::{Listening, events_in, inbox_in},
        post::{genuine, status},
    };
    use std::{
        io::Write,
        net::TcpStream,
        sync::{
            Mutex,
            atomic::{AtomicU64, Ordering},
        },
        thread::{scope, sleep},
        time::{Duration, Instant},
    };

    const A_SECOND: u64 = 200;
    const SECONDS: u64 = 30;
    const CONNECTIONS: usize = 48;

    #[test]
    #[ignore = "half a minute of load: make webhook-load"]
    fn two_hundred_deliveries_a_second_are_all_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = inbox_in(folder.path());
        let listening = Listening::start(folder.path(), &["--inbox", "inbox.sqlite"]);
        let (next, times) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let begun = Instant::now();
        scope(|scope| {
            for _ in 0..CONNECTIONS {
                scope.spawn(|| {
                    let mut stream = listening.connect();
                    stream.set_nodelay(true).unwrap();
                    loop {
                        let event = next.fetch_add(1, Ordering::Relaxed);
                        if event >= A_SECOND * SECONDS {
                            return;
                        }
                        // Each delivery has its time, so that a slow reply delays no other and counts in full.
                        let due = begun + Duration::from_micros(event * 1_000_000 / A_SECOND);
                        sleep(due.saturating_duration_since(Instant::now()));
                        deliver(&mut stream, event);
                        times.lock().unwrap().push(due.elapsed());
                    }
                });
            }
        });
        let took = begun.elapsed();
        let mut times = times.into_inner().unwrap();
        times.sort();
        let at = |share: usize| times[(times.len() * share / 1_000).min(times.len() - 1)];
        let rate = times.len() as f64 / took.as_secs_f64();
        println!(
            "webhook-load: {} deliveries in {:.1} s ({rate:.0} a second); time to the reply: p50 {:.1?}, p99 {:.1?} (goal \
             50 ms), longest {:.1?}",
            times.len(),
            took.as_secs_f64(),
            at(500),
            at(990),
            times.last().unwrap()
        );
        assert_eq!(events_in(&inbox).len() as u64, A_SECOND * SECONDS);
        let (code, said) = listening.stopped();
        assert!(code == 0 && said.ends_with("6,000 deliveries received, 0 repeated, 0 refused\n"), "{said}");
    }

    /// Sends a delivery, and waits for the reply.
    fn deliver(stream: &mut TcpStream, event: u64) {
        stream.write_all(&genuine(event)).unwrap();
        assert_eq!(status(stream), 200, "event {event}");
    }
}
