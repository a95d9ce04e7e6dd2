//! Planted bugs: realistic mistakes, each at the place where it would be made, so that the simulation can show that it
//! finds them. At most one is planted, in the whole process, by a call or by the environment variable RESCREEN_PLANTED.
//! The cargo feature `harness` enables them, and no release build may use it; without it, [`planted`] is always false.

/// Declares the enum and the list of bugs at once. The doc comment of a bug says what it does.
macro_rules! bugs {
    ($(#[doc = $mistake:literal] $bug:ident,)+) => {
        /// A mistake that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $mistake] $bug,)+
        }

        #[cfg(feature = "harness")]
        const BUGS: &[(Bug, &str, &str)] = &[$((Bug::$bug, stringify!($bug), $mistake)),+];
    };
}

bugs! {
    // One charge.
    /// An arm becomes durable with the next commit, instead of before the send.
    ArmCommittedLater,
    /// A request without a reply is sent again under a new key.
    NewKeyAfterTimeout,
    /// A request under way at a crash is sent again under a new key.
    NewKeyAfterCrash,
    /// A refusal that is repeated under one key changes the key, although an earlier attempt is in doubt.
    NewKeyInDoubt,
    /// A request under way at a crash counts as never sent.
    CrashForgotten,
    /// A request in doubt is never sent again.
    DoubtNeverSent,
    /// A request in doubt is sent again beyond the life of its key.
    SentPastKeyLife,
    /// A clock that was set since it was compared with the service's is trusted.
    ClockTrusted,
    /// A request in doubt is sent again under another API key.
    SentUnderOtherApiKey,
    /// A request in doubt whose key's life is over is planned again instead of quarantined.
    LifeOverPlanned,
    /// The body of a repeat says that it is a repeat.
    BodyOfRepeat,
    /// Each row has its own request, even if rows are equal.
    RequestPerRow,
    /// Equal asks are found by their key alone, not by their body.
    EqualByKeyAlone,

    // Holds and budget.
    /// A 5xx proves that nothing was charged.
    HoldFreedBy502,
    /// The hold of a request is freed when the request is in doubt.
    HoldFreedByDoubt,
    /// A 429 after a timeout settles the doubt.
    DoubtSettledBy429,
    /// A 503 that states no charge, after a timeout, settles the doubt.
    DoubtSettledBy503,
    /// A refused connection after a timeout settles the doubt.
    DoubtSettledUnsent,
    /// An attempt in doubt is not counted by the next one.
    DoubtNotCounted,
    /// A 202 frees the hold.
    HoldFreedByPending,
    /// A request without an answer after six attempts has failed, in production too.
    SixAttemptsFail,
    /// A write-off frees the hold without a charge.
    WriteOffUncharged,
    /// A charge does not free the hold.
    ChargeKeepsHold,
    /// The table price is charged, whatever the reply states.
    TablePriceCharged,
    /// The budget does not count what is held.
    HoldsNotCounted,
    /// Holds are forgotten at the start of a run.
    HoldsOfThisRun,
    /// Charges are forgotten at the start of a run.
    ChargesOfThisRun,

    // Jobs.
    /// The hold of a job is freed when the service accepts it.
    JobHoldFreed,
    /// A job is sent again by the next run.
    JobSentAgain,
    /// The state of a job is recorded without its id.
    JobIdLost,
    /// A refusal that needs a webhook counts as charged.
    WebhookNeedCharged,
    /// A job that is lost is sent again under a new key.
    LostJobSentAgain,
    /// The result of a job is not charged.
    JobResultFree,
    /// A job that failed keeps its hold.
    FailedJobKeepsHold,
    /// The state of another job is believed.
    StateOfAnotherJob,
    /// A job is asked for once.
    JobAskedOnce,
    /// A job that the service does not know at once is lost.
    JobLostAtOnce,

    // Files.
    /// A file is sent although it was replaced after its row was read.
    ReplacedFileSent,
    /// A link that leads out of the folder of the files is followed.
    LinkFollowed,
    /// The boundary of a multipart body differs between attempts.
    BoundaryOfAttempt,
    /// An upload is named for the first time after it has expired.
    ExpiredUploadNamed,
    /// An upload is not recorded before the request that names it is sent.
    UploadUnrecorded,
    /// Two requests may name the same upload.
    UploadShared,
    /// A document is sent with the API key.
    DocumentWithApiKey,
    /// A charge that the reply to an upload states is ignored.
    UploadChargeIgnored,

    // Charges and balances in replies.
    /// A charge that a refusal states is not read.
    RefusalChargeIgnored,
    /// A 404, a 405 or a redirect proves that nothing was charged.
    HoldFreedByMissingRoute,
    /// A charge that is not an integer counts as not stated.
    FractionUnread,
    /// A fraction of a charge is rounded down.
    FractionRoundedDown,
    /// A charge is read only in the first of the known fields.
    MetaChargeUnread,
    /// The charge pointer of the campaign file is not used.
    ConfiguredPointerIgnored,
    /// An absurd charge is booked.
    AbsurdChargeBooked,
    /// A balance that a reply states is not used as a reading.
    StatedBalanceUnread,

    // Prices.
    /// The first request of a check is not sent alone.
    FirstChargeUnproven,
    /// A price that was proven once counts as proven for the whole run.
    PriceProvenForGood,
    /// If replies state no charge, the balance is not read again.
    UnstatedNeverRead,
    /// The highest price seen is not held.
    HighestPriceForgotten,
    /// The next run ignores why the last one stopped.
    StopForgotten,

    // Rate and push-back.
    /// The bucket is full at each start.
    BucketFullAtStart,
    /// The bucket holds a whole minute's maximum, on top of the minute's rate.
    BurstOnTop,
    /// The balance is read through its own gate.
    BalanceBesideGate,
    /// The duration of a push-back is not read.
    RetryAfterIgnored,
    /// A push-back ends with its run.
    PauseOfThisRun,
    /// A 401 is retried like an outage.
    UnauthorisedRetried,
    /// A pause written with another clock is kept.
    ForeignPauseKept,

    // Progress.
    /// The clock is not checked again between a commit and the write.
    SleptAfterCommit,
    /// Clocks that differ block every repeat, whatever the ages are.
    DisputedAlways,
    /// A 404 for one row stops the run.
    OneMissingRouteStops,
    /// A 401 or 403 for one row stops the run.
    OneUnauthorisedStops,
    /// A 402 for one row stops the run.
    OneWithoutCreditsStops,
    /// Replies in a row are counted instead of requests.
    RepliesCounted,
    /// Nothing new is sent while a repeat is due.
    RepeatsFirst,
    /// A request whose answer cannot be read is repeated without end.
    UnreadableWithoutEnd,

    // Rows and outputs.
    /// The asks of a split are committed after the split that records them as ingested.
    AsksAfterSplit,
    /// A row equal to one that is already answered never reaches an output.
    LateDuplicateLost,
    /// An ask is published again when an equal one is ingested later.
    PublishedAgain,
    /// Rows are added to a part that is not full.
    PartFilledUp,
    /// A part that is not recorded as complete is composed again, even if its file exists.
    PartCutAnew,
    /// A file is written under its final name.
    WrittenInPlace,
    /// The manifest is written before the parts.
    ManifestBeforeParts,
    /// A manifest is complete when the input is.
    CompleteTooSoon,
    /// A snapshot is appended to the previous one.
    SnapshotAppended,
    /// An ask that has not failed is pending.
    AnsweredPending,
    /// A rehearsal marks its outputs as production until the simulator has answered.
    RehearsalUnnamed,

    // Answers.
    /// A 202 counts as an answer.
    PendingAnswered,
    /// A 2xx other than a 202 counts as an answer, whatever its body.
    StatusAlone,
    /// A difference from what a row expected is shown but does not change the verdict.
    MismatchClear,
    /// An answer that says it is a failure is final at once.
    FailedAnswerFinal,
    /// A duplicate name in an answer is ignored.
    DuplicateNamesClear,
    /// The input that an answer echoes is not compared.
    EchoIgnored,
    /// The mode that an answer echoes is not compared.
    OtherModeAccepted,
}

/// Whether this bug is planted.
#[cfg(not(feature = "harness"))]
#[inline(always)]
pub const fn planted(_: Bug) -> bool {
    false
}

#[cfg(feature = "harness")]
pub use switch::{plant, planted};

#[cfg(feature = "harness")]
mod switch {
    use super::{BUGS, Bug};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const NONE: usize = usize::MAX;
    const UNREAD: usize = NONE - 1;

    /// The bug's number. It is global to the process, because library code runs in other threads too.
    static PLANTED: AtomicUsize = AtomicUsize::new(UNREAD);

    /// Plants a bug, replacing the previous one, or none.
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

    /// The bug named in the environment, for a program that runs as a separate process.
    fn named() -> Option<Bug> {
        let name = std::env::var("RESCREEN_PLANTED").ok().filter(|name| !name.is_empty())?;
        let found = Bug::all().find(|bug| bug.name() == name);
        Some(found.unwrap_or_else(|| panic!("RESCREEN_PLANTED: expected the name of a planted bug, found `{name}`")))
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
