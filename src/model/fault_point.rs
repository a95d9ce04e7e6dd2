//! Fault points: the places where something becomes durable, by name, so that tests can make the n-th of them fail, or
//! look on. It decides which pass fails. A plan for a process needs the cargo feature `fault-points`; an onlooker of a
//! thread needs a build with debug assertions. A release has neither: there a pass is an inlined nothing.

use std::io;

/// What is about to be done to storage, or was just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Bytes go into a file.
    Write,
    /// A file goes to the disk.
    Sync,
    /// A file comes under its name.
    Rename,
    /// A rename goes to the disk.
    SyncFolder,
    /// A transaction of the ledger is to be committed.
    Commit,
    /// It is durable, and nobody was told: as a crash there.
    AfterCommit,
    /// A file that no longer counts is removed.
    Remove,
}

/// `usual`, or `small` in a build whose storage can be made to fail: a short run reaches every point there.
pub const fn unless_failing<T: Copy>(usual: T, small: T) -> T {
    if cfg!(feature = "fault-points") { small } else { usual }
}

/// Passes a point, or fails there if that was planned.
///
/// # Errors
/// Only in builds for tests, and only what was planned.
#[inline(always)]
pub fn pass(point: Point) -> io::Result<()> {
    #[cfg(debug_assertions)]
    watched::pass(point)?;
    #[cfg(feature = "fault-points")]
    planned::pass(point)?;
    let _ = point;
    Ok(())
}

#[cfg(debug_assertions)]
pub use watched::{Onlooker, watch};

/// For the simulation, where a campaign is one thread: whoever looks on sees each pass and may let it fail.
#[cfg(debug_assertions)]
mod watched {
    use super::Point;
    use std::{cell::RefCell, io};

    /// Is told of each pass of its thread.
    pub type Onlooker = Box<dyn FnMut(Point) -> io::Result<()>>;

    thread_local! {
        static ONLOOKER: RefCell<Option<Onlooker>> = const { RefCell::new(None) };
    }

    /// Who looks on from here, in place of whoever did.
    pub fn watch(onlooker: Option<Onlooker>) {
        ONLOOKER.set(onlooker);
    }

    /// An onlooker does not see what it does itself.
    pub(super) fn pass(point: Point) -> io::Result<()> {
        ONLOOKER.with(|place| match place.try_borrow_mut() {
            Ok(mut onlooker) => onlooker.as_mut().map_or(Ok(()), |onlooker| onlooker(point)),
            Err(_) => Ok(()),
        })
    }
}

#[cfg(feature = "fault-points")]
pub use planned::{FaultPlan, arm, passed};

#[cfg(feature = "fault-points")]
mod planned {
    use super::Point;
    use std::{
        io,
        str::FromStr,
        sync::{Mutex, OnceLock, PoisonError},
    };

    /// The points by their names in a plan; a point's number is its place here.
    const NAMES: [&str; 7] = ["write", "sync", "rename", "sync-folder", "commit", "after-commit", "remove"];

    /// EIO and ENOSPC, alike on every Unix.
    const ERRORS: [(&str, i32); 2] = [("eio", 5), ("enospc", 28)];

    /// Which pass fails: `commit:7:once:eio`; `killed` in place of `once` needs an error all the same.
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
        /// A disk that is gone: everything after it fails too, whatever it is.
        Forever,
        /// The process dies there, as by SIGKILL: nothing is tidied up.
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

    /// The ledger has a thread of its own, so the plan and what was passed are the process's.
    static PLAN: OnceLock<(FaultPlan, fn())> = OnceLock::new();
    static SEEN: Mutex<Passed> = Mutex::new(Passed { passed: [0; NAMES.len()], failed: 0 });

    struct Passed {
        passed: [u64; NAMES.len()],
        failed: u64,
    }

    /// Plans the fault of this process; a second plan is no plan. A process that is killed says its `last_words` first.
    pub fn arm(plan: FaultPlan, last_words: fn()) {
        PLAN.get_or_init(|| (plan, last_words));
    }

    pub(super) fn pass(point: Point) -> io::Result<()> {
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

    /// How often each point was passed, and how many of these failed: `fault points: write=9 … failed=1`.
    pub fn passed() -> String {
        let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = NAMES.iter().zip(seen.passed).map(|(name, count)| format!("{name}={count} "));
        format!("fault points: {}failed={}", counts.collect::<String>(), seen.failed)
    }
}
