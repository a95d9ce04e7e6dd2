//! Planted bugs: mistakes that somebody might really make, each at the place where it would be made, so that the simulation
//! can show that it finds them. It decides which one is planted: one at a time, in the whole process, by call or by the
//! environment's RESCREEN_PLANTED. The switch is the cargo feature `planted-bugs`, which no release build takes; without it
//! a planted bug is an inlined `false`.

#[cfg(all(feature = "planted-bugs", not(debug_assertions)))]
compile_error!("`planted-bugs` is for `make planted`: no release build has a mistake in it");

/// One declaration for the enum and for those who list it: what a bug does is its documentation.
macro_rules! bugs {
    ($(#[doc = $mistake:literal] $bug:ident,)+) => {
        /// A mistake that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $mistake] $bug,)+
        }

        #[cfg(feature = "planted-bugs")]
        const BUGS: &[(Bug, &str, &str)] = &[$((Bug::$bug, stringify!($bug), $mistake)),+];
    };
}

bugs! {
    // One charge.
    /// An arm becomes durable with the next commit, not before the send.
    ArmCommittedLater,
    /// What had no reply is asked again under a new key.
    NewKeyAfterTimeout,
    /// What a crash left under way is asked again under a new key.
    NewKeyAfterCrash,
    /// A refusal repeated under one key changes the key, though an attempt before it is in doubt.
    NewKeyInDoubt,
    /// What a crash left under way counts as never sent.
    CrashForgotten,
    /// What is in doubt is never sent again.
    DoubtNeverSent,
    /// What is in doubt is sent again beyond the life of its key.
    SentPastKeyLife,
    /// A clock that was set since the service told the time is trusted.
    ClockTrusted,
    /// What is in doubt is sent again under another API key.
    SentUnderOtherApiKey,
    /// What outlived its key is planned again instead of quarantined.
    LifeOverPlanned,
    /// A repeated body says that it is a repeat.
    BodyOfRepeat,
    /// Each row has a request of its own, alike or not.
    RequestPerRow,
    /// Equal asks are found by their key alone, not by their body.
    EqualByKeyAlone,

    // Holds and budget.
    /// A 502 proves that nothing was charged.
    HoldFreedBy502,
    /// A doubt frees the hold.
    HoldFreedByDoubt,
    /// A 429 after a time-out settles the doubt.
    DoubtSettledBy429,
    /// A 503 that states no charge, after a time-out, settles the doubt.
    DoubtSettledBy503,
    /// A refused connection after a time-out settles the doubt.
    DoubtSettledUnsent,
    /// An attempt in doubt is not remembered by the next.
    DoubtNotCounted,
    /// A 202 frees the hold.
    HoldFreedByPending,
    /// What had no answer after six attempts has failed, in production too.
    SixAttemptsFail,
    /// A write-off frees the hold without a charge.
    WriteOffUncharged,
    /// A charge does not free the hold.
    ChargeKeepsHold,
    /// A charge is the price of the table, whatever the reply states.
    TablePriceCharged,
    /// The budget does not count what is held.
    HoldsNotCounted,
    /// Holds are forgotten at the start of a run.
    HoldsOfThisRun,
    /// Charges are forgotten at the start of a run.
    ChargesOfThisRun,

    // What a reply states of money.
    /// A charge that is stated with a refusal is not read.
    RefusalChargeIgnored,
    /// A 404, a 405 or a redirect proves that nothing was charged.
    HoldFreedByMissingRoute,
    /// A charge that is not an integer is taken for one that is not stated.
    FractionUnread,
    /// A fraction of a charge is rounded down.
    FractionRoundedDown,
    /// A charge is read at its first known place only.
    MetaChargeUnread,
    /// The charge pointer of the campaign file is not used.
    ConfiguredPointerIgnored,
    /// A charge beyond all measure is booked.
    AbsurdChargeBooked,
    /// A balance that a reply states is not taken for a reading.
    StatedBalanceUnread,

    // Prices.
    /// The first request of a check does not go alone.
    FirstChargeUnproven,
    /// A price that was proven once is proven for the whole run.
    PriceProvenForGood,
    /// Where replies state nothing, the balance is not read again.
    UnstatedNeverRead,
    /// The first charge is proven with a balance from before an attempt in doubt.
    ProvenWithOldBalance,
    /// The highest price that was seen is not held.
    HighestPriceForgotten,
    /// The next run does not heed why the last one stopped.
    StopForgotten,

    // Rate and push-back.
    /// The bucket is full at each start.
    BucketFullAtStart,
    /// The bucket holds a whole minute's most, on top of the minute's rate.
    BurstOnTop,
    /// The balance is read through a gate of its own.
    BalanceBesideGate,
    /// The time of a push-back is not read.
    RetryAfterIgnored,
    /// A push-back ends with its run.
    PauseOfThisRun,
    /// A 401 is tried again like an outage.
    UnauthorisedRetried,
    /// A pause that another clock wrote is kept.
    ForeignPauseKept,

    // Progress.
    /// The clock is not looked at again between a commit and the write.
    SleptAfterCommit,
    /// Clocks that are apart block every repeat, whatever the ages say.
    DisputedAlways,
    /// A 404 for one row stops the run.
    OneMissingRouteStops,
    /// A 401 or 403 for one row stops the run.
    OneUnauthorisedStops,
    /// A 402 for one row stops the run.
    OneWithoutCreditsStops,
    /// Replies in a row are counted, not requests.
    RepliesCounted,
    /// Nothing new is sent while a repeat is due.
    RepeatsFirst,
    /// An answer that cannot be read is asked for again without end.
    UnreadableWithoutEnd,

    // Rows and outputs.
    /// The asks of a split are committed after the split that says they are taken.
    AsksAfterSplit,
    /// A row equal to one that is answered already waits for nothing and comes nowhere.
    LateDuplicateLost,
    /// An ask is published again when an equal one comes later.
    PublishedAgain,
    /// A part that is not full is filled up.
    PartFilledUp,
    /// A part that is not noted as whole is cut anew, whether its file is there or not.
    PartCutAnew,
    /// A file is written under its own name.
    WrittenInPlace,
    /// The manifest is made before the parts are written.
    ManifestBeforeParts,
    /// A manifest is complete when the input is.
    CompleteTooSoon,
    /// A snapshot is added to the one before.
    SnapshotAppended,
    /// What is not failed is pending.
    AnsweredPending,
    /// A rehearsal calls its outputs production until it has met the simulator.
    RehearsalUnnamed,

    // Answers.
    /// A 202 is an answer.
    PendingAnswered,
    /// A 200 is an answer, whatever its body.
    StatusAlone,
    /// A difference from what a row expected is shown and leaves the verdict as it is.
    MismatchClear,
    /// An answer that calls itself a failure is final at once.
    FailedAnswerFinal,
    /// A name that comes twice in an answer is passed over.
    DuplicateNamesClear,
    /// The input that an answer echoes is not compared.
    EchoIgnored,
    /// The mode that an answer echoes is not compared.
    OtherModeAccepted,
}

/// Whether this bug is planted.
#[cfg(not(feature = "planted-bugs"))]
#[inline(always)]
pub const fn planted(_: Bug) -> bool {
    false
}

#[cfg(feature = "planted-bugs")]
pub use switch::{plant, planted};

#[cfg(feature = "planted-bugs")]
mod switch {
    use super::{BUGS, Bug};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const NONE: usize = usize::MAX;
    const UNREAD: usize = NONE - 1;

    /// The bug's number. Library code runs in threads of its own, so it is the process's.
    static PLANTED: AtomicUsize = AtomicUsize::new(UNREAD);

    /// Plants a bug in place of the one before, or none.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(NONE, |bug| bug as usize), Ordering::SeqCst);
    }

    /// Whether this bug is planted.
    pub fn planted(bug: Bug) -> bool {
        if PLANTED.load(Ordering::Relaxed) == UNREAD {
            plant(named());
        }
        PLANTED.load(Ordering::Relaxed) == bug as usize
    }

    /// The bug that the environment names: a program that is a process of its own is told so.
    fn named() -> Option<Bug> {
        let name = std::env::var("RESCREEN_PLANTED").ok().filter(|name| !name.is_empty())?;
        let found = Bug::all().find(|bug| bug.name() == name);
        Some(found.unwrap_or_else(|| panic!("RESCREEN_PLANTED: there is no bug `{name}`")))
    }

    impl Bug {
        /// All of them.
        pub fn all() -> impl Iterator<Item = Bug> {
            BUGS.iter().map(|(bug, ..)| *bug)
        }

        /// Its name.
        pub fn name(self) -> &'static str {
            BUGS[self as usize].1
        }

        /// What it does.
        pub fn mistake(self) -> &'static str {
            BUGS[self as usize].2.trim()
        }
    }
}
