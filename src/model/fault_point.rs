//! Fault points: named places where something becomes durable, so that tests can make the n-th pass through one fail,
//! or observe it. A fault plan for a process needs the cargo feature `harness`; an observer for a thread needs a
//! build with debug assertions. A release build has neither, and passing a point does nothing.

use std::io;

#[cfg(all(feature = "harness", not(debug_assertions)))]
compile_error!("`harness` is only for tests: it must not be in a release build");

/// A storage operation that is about to happen, or has just happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Bytes are written to a file.
    Write,
    /// A file is synced to disk.
    Sync,
    /// A file is renamed to its final name.
    Rename,
    /// A rename is synced to disk.
    SyncFolder,
    /// A transaction of the ledger is about to be committed.
    Commit,
    /// The commit is durable but is not reported, as if the process had crashed here.
    AfterCommit,
    /// A file that is no longer used is removed.
    Remove,
}

/// Returns `small` in a process whose storage is made to fail, so that a short run reaches every point, and `usual`
/// otherwise.
#[inline(always)]
pub fn unless_failing<T>(usual: T, small: T) -> T {
    #[cfg(feature = "harness")]
    let fails = planned::is_failing();
    #[cfg(not(feature = "harness"))]
    let fails = false;
    if fails { small } else { usual }
}

/// Passes a point. It fails if a fault is planned here.
///
/// # Errors
/// Only in test builds, and only planned faults.
#[inline(always)]
pub fn pass(point: Point) -> io::Result<()> {
    #[cfg(debug_assertions)]
    watched::pass(point)?;
    #[cfg(feature = "harness")]
    planned::pass(point)?;
    let _ = point;
    Ok(())
}

#[cfg(debug_assertions)]
pub use watched::{Onlooker, watch};

/// For the simulation, where a campaign is one thread: the onlooker sees each pass and can make it fail.
#[cfg(debug_assertions)]
mod watched {
    use super::Point;
    use std::{cell::RefCell, io};

    /// Called for each pass in its thread.
    pub type Onlooker = Box<dyn FnMut(Point) -> io::Result<()>>;

    thread_local! {
        static ONLOOKER: RefCell<Option<Onlooker>> = const { RefCell::new(None) };
    }

    /// Sets the onlooker of this thread, replacing the previous one.
    pub fn watch(onlooker: Option<Onlooker>) {
        ONLOOKER.set(onlooker);
    }

    /// Passes that the onlooker itself causes are not reported to it.
    pub(super) fn pass(point: Point) -> io::Result<()> {
        ONLOOKER.with(|place| match place.try_borrow_mut() {
            Ok(mut onlooker) => onlooker.as_mut().map_or(Ok(()), |onlooker| onlooker(point)),
            Err(_) => Ok(()),
        })
    }
}

#[cfg(feature = "harness")]
pub use planned::{FAULT_PLAN, FaultPlan, arm, passed};

#[cfg(feature = "harness")]
mod planned {
    use super::Point;
    use std::{
        io,
        str::FromStr,
        sync::{LazyLock, Mutex, OnceLock, PoisonError},
    };

    /// The environment variable with the fault plan of a process.
    pub const FAULT_PLAN: &str = "RESCREEN_FAULT";
    /// The environment variable of the library that makes storage calls fail below this program.
    const FAILING_CALLS: &str = "FAILING_STORAGE";

    /// Whether storage is made to fail in this process, here or below.
    pub(super) fn is_failing() -> bool {
        static FAILING: LazyLock<bool> =
            LazyLock::new(|| [FAULT_PLAN, FAILING_CALLS].into_iter().any(|name| std::env::var_os(name).is_some()));
        *FAILING
    }

    /// The names of the points in a plan, indexed by the point's number.
    const NAMES: [&str; 7] = ["write", "sync", "rename", "sync-folder", "commit", "after-commit", "remove"];

    /// EIO and ENOSPC have the same numbers on every Unix.
    const ERRORS: [(&str, i32); 2] = [("eio", 5), ("enospc", 28)];

    /// Which pass fails, such as `commit:7:once:eio`. With `killed` an error name is required too, but has no effect.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct FaultPlan {
        point: usize,
        /// Counted from 1.
        number: u64,
        way: Way,
        os_error: i32,
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Way {
        Once,
        /// The disk is gone: every later pass of any point fails too.
        Forever,
        /// The process dies there, as by SIGKILL, without any cleanup.
        Killed,
    }

    impl FromStr for FaultPlan {
        type Err = String;

        fn from_str(text: &str) -> Result<FaultPlan, String> {
            let parse = || {
                let mut words = text.split(':');
                let point = words.next().and_then(|word| NAMES.iter().position(|name| *name == word))?;
                let number = words.next()?.parse().ok()?;
                let way = match words.next()? {
                    "once" => Way::Once,
                    "forever" => Way::Forever,
                    "killed" => Way::Killed,
                    _ => return None,
                };
                let error = words.next()?;
                let (_, os_error) = ERRORS.into_iter().find(|(name, _)| *name == error)?;
                words.next().is_none().then_some(FaultPlan { point, number, way, os_error })
            };
            parse().ok_or_else(|| format!("expected a fault like commit:7:once:eio, found `{text}`"))
        }
    }

    /// The ledger has its own thread, so the plan and the counts are global to the process.
    static PLAN: OnceLock<(FaultPlan, fn())> = OnceLock::new();
    static SEEN: Mutex<Passed> = Mutex::new(Passed { passed: [0; NAMES.len()], failed: 0 });

    struct Passed {
        passed: [u64; NAMES.len()],
        failed: u64,
    }

    /// Plans the fault of this process; a second plan is ignored. A process that is killed calls `last_words` first.
    pub fn arm(plan: FaultPlan, last_words: fn()) {
        PLAN.get_or_init(|| (plan, last_words));
    }

    pub(super) fn pass(point: Point) -> io::Result<()> {
        if !is_failing() {
            return Ok(());
        }
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let at = point as usize;
        seen.passed[at] += 1;
        let Some((plan, last_words)) = PLAN.get() else { return Ok(()) };
        let is_it = plan.point == at && plan.number == seen.passed[at];
        if is_it || (plan.way == Way::Forever && seen.failed > 0) {
            seen.failed += 1;
            if plan.way == Way::Killed {
                drop(seen);
                last_words();
                std::process::abort();
            }
            return Err(io::Error::from_raw_os_error(plan.os_error));
        }
        Ok(())
    }

    /// How often each point was passed, and how many passes failed: `fault points: write=9 … failed=1`.
    pub fn passed() -> String {
        let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = NAMES.iter().zip(seen.passed).map(|(name, count)| format!("{name}={count} "));
        format!("fault points: {}failed={}", counts.collect::<String>(), seen.failed)
    }
}
