//! The bucket that processes share, under paused time. Each throttle represents another process.

use super::{throttle_tests::most_in_a_minute, *};
use crate::model::Clock;
use jiff::Timestamp;
use std::{fs, path::Path, sync::atomic::AtomicI64};
use tempfile::TempDir;

const ACCOUNT: &str = "0123456789abcdef https://service.example";

struct Machine {
    folder: TempDir,
    clock: Clock,
}

impl Machine {
    fn new() -> Machine {
        let origin = "2026-11-21T12:00:00Z".parse().unwrap();
        Machine { folder: tempfile::tempdir().unwrap(), clock: Clock::driven(origin) }
    }

    fn file(&self) -> BucketFile {
        BucketFile::open(self.folder.path(), ACCOUNT).unwrap()
    }

    /// A process that starts now.
    fn process(&self, rate: Rate) -> Throttle {
        Throttle::new(rate, Bucket::Shared(self.file(), self.clock))
    }

    /// An account that was not used for two minutes.
    async fn idle() -> Machine {
        let machine = Machine::new();
        let _permit = machine.process(Rate::default()).admit().await.unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        machine
    }
}

async fn send(throttle: &Throttle, count: usize, times: &mut Vec<Instant>) {
    for _ in 0..count {
        let _permit = throttle.admit().await.unwrap();
        times.push(Instant::now());
    }
}

#[tokio::test(start_paused = true)]
async fn four_campaigns_one_after_another_share_one_bucket() {
    let machine = Machine::idle().await;
    let mut times = Vec::new();
    for _ in 0..4 {
        send(&machine.process(Rate::default()), 51, &mut times).await;
    }
    let most = most_in_a_minute(&times);
    assert!((100..=120).contains(&most), "{most}");
    assert!(times[50] - times[0] < Duration::from_secs(1), "an idle account may burst");
}

#[tokio::test(start_paused = true)]
async fn two_campaigns_at_once_share_one_bucket_and_use_it() {
    for (per_minute, per_minute_max) in [(60, 60), (60, 120), (6_000, 6_000)] {
        let machine = Machine::idle().await;
        let rate = Rate { per_minute, per_minute_max };
        let (first, second) = (machine.process(rate), machine.process(rate));
        let count = per_minute as usize;
        let (mut one, mut other) = (Vec::new(), Vec::new());
        tokio::join!(send(&first, count, &mut one), send(&second, count, &mut other));
        let mut times = [one, other].concat();
        times.sort();
        let most = most_in_a_minute(&times);
        let limit = per_minute_max as usize;
        assert!(most <= limit && most * 20 >= limit * 19, "{per_minute}/{per_minute_max}: {most}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_account_starts_with_an_empty_bucket() {
    let mut times = Vec::new();
    send(&Machine::new().process(Rate::default()), 100, &mut times).await;
    assert!(most_in_a_minute(&times) <= 61);
}

#[tokio::test(start_paused = true)]
async fn another_account_has_another_bucket() {
    let machine = Machine::new();
    let other = BucketFile::open(machine.folder.path(), "fedcba9876543210 https://service.example").unwrap();
    assert_ne!(other.path(), machine.file().path());
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_not_a_record_counts_as_nothing_known_and_is_written_again() {
    for content in [&b""[..], b"garbage", &[0; 20_000], &[0xff; record::RECORD_BYTES]] {
        let machine = Machine::idle().await;
        fs::write(machine.file().path(), content).unwrap();
        let mut times = Vec::new();
        send(&machine.process(Rate::default()), 100, &mut times).await;
        assert!(most_in_a_minute(&times) <= 61, "{} bytes", content.len());
        assert_eq!(fs::metadata(machine.file().path()).unwrap().len(), record::RECORD_BYTES as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_never_gives_a_burst_and_never_stops_the_run() {
    static SET: AtomicI64 = AtomicI64::new(0);
    let origin: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    for seconds in [-86_400, -3_600, -30, 30, 3_600, 86_400] {
        SET.store(0, std::sync::atomic::Ordering::Relaxed);
        let mut machine = Machine::new();
        machine.clock = Clock::Driven { origin, started: Instant::now(), set: &SET };
        let throttle = machine.process(Rate::default());
        let mut times = Vec::new();
        send(&throttle, 60, &mut times).await;
        SET.store(seconds, std::sync::atomic::Ordering::Relaxed);
        send(&throttle, 60, &mut times).await;
        assert!(most_in_a_minute(&times) <= 61, "{seconds} s");
        assert!(times[119] - times[0] < Duration::from_secs(125), "{seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_from_the_far_future_does_not_stop_a_new_process() {
    let mut machine = Machine::new();
    let origin = machine.clock.now();
    machine.clock = Clock::driven("2027-11-21T12:00:00Z".parse().unwrap());
    let mut times = Vec::new();
    send(&machine.process(Rate::default()), 5, &mut times).await;
    machine.clock = Clock::driven(origin);
    send(&machine.process(Rate::default()), 60, &mut times).await;
    assert!(times[64] - times[0] < Duration::from_secs(70));
    assert!(most_in_a_minute(&times) <= 62);
}

mod timed {
    use super::*;

    #[tokio::test(start_paused = true)]
    #[ignore = "timed: make gauntlet"]
    async fn a_file_that_fails_in_a_run_leaves_the_run_with_an_empty_bucket() {
        let machine = Machine::idle().await;
        let throttle = machine.process(Rate::default());
        let mut times = Vec::new();
        send(&throttle, 40, &mut times).await;
        // The file is opened again after a second of real time.
        let path = machine.file().path().to_owned();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        std::thread::sleep(Duration::from_millis(1_100));
        send(&throttle, 100, &mut times).await;
        let most = most_in_a_minute(&times);
        assert!((90..=120).contains(&most), "{most}");
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(BucketFile::open(&folder.path().join("file"), ACCOUNT).is_err());
    assert!(BucketFile::open(Path::new("/proc/rescreen"), ACCOUNT).is_err());
}

#[cfg(unix)]
#[test]
fn folder_and_file_are_private_and_do_not_name_the_account() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let file = BucketFile::open(&state, ACCOUNT).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&state), mode(file.path())), (0o700, 0o600));
    let name = file.path().file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("rate-") && name.len() == 21, "{name}");
}

#[cfg(unix)]
#[test]
fn a_symlink_in_place_of_the_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = BucketFile::open(folder.path(), ACCOUNT).unwrap().path().to_owned();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    assert!(BucketFile::open(folder.path(), ACCOUNT).is_err());
    assert!(!folder.path().join("elsewhere").exists());
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_write_holds_no_bucket() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = BucketFile::open(folder.path(), ACCOUNT).unwrap_err();
    assert!(refused.to_string().contains("others can write"), "{refused}");
}
