//! The run context that all attempts share, and the candidate that an attempt is about.

use super::{
    check_pauses::CheckPauses, file_body::FileBodies, latencies::SharedLatencies, limit::Limit, moment::Moment,
    purse::Purse,
};
use crate::{
    catalogue::{BodyShape, Declaration},
    client::{Auth, Client, Delays, ReplyKind, ReplySpec},
    error::Error,
    ledger::Ledger,
    model::{Clock, Credits, RequestId, clock::ClockWatch},
    pipeline::{campaign::Campaign, judge::Judge, reuse::EarlierRound},
    throttle::Throttle,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::Duration,
};
use tokio::time::Instant;

/// How long the run waits for the charge book while it stops.
pub const BOOK_TIME: Duration = Duration::from_secs(5);

/// A check, as a run uses it.
pub struct CheckContext {
    pub declaration: Declaration,
    pub judge: Judge,
    pub price: Credits,
    /// The credits that a job of this check holds; zero if it is never answered by a job, and in sandbox.
    pub job_hold: Credits,
    /// Its own limits, beside the rate of the account.
    pub limit: Limit,
    /// How the API key is sent to this check.
    pub auth: Auth,
    /// The route its requests are sent to.
    pub path: String,
    /// All routes of its declaration. A request in doubt is sent again only to one of these.
    pub routes: Arc<[String]>,
    /// The bodies of its declaration.
    pub shape: Arc<BodyShape>,
}

/// The state that all attempts of a run share.
pub struct RunContext {
    pub ledger: Arc<Ledger>,
    pub client: Client,
    pub throttle: Arc<Throttle>,
    /// What is shared with the other partitions of the account.
    pub purse: Purse,
    /// The round whose answers are used again.
    pub earlier: Option<Arc<EarlierRound>>,
    pub checks: BTreeMap<String, CheckContext>,
    pub campaign: Arc<Campaign>,
    /// Fingerprint of the API key.
    pub scope: String,
    /// Digest of the settings that decide whether a stop would happen again.
    pub settings: String,
    pub clock: Clock,
    /// When the run began.
    pub began: Instant,
    /// Watches whether this machine's clock was set, or the machine slept, since it was last compared with the
    /// service's. Both clocks decide the age of a key.
    pub clock_watch: Arc<ClockWatch>,
    /// The service refused the API key, and the account is being read to find out why. Nothing is sent meanwhile.
    pub key_in_question: AtomicBool,
    /// Whether the simulator answers; empty until the first reply.
    pub peer: OnceLock<bool>,
    /// Which checks are limited by the service while others are not.
    pub check_pauses: Arc<CheckPauses>,
    /// The names of the campaign's checks by their id in the ledger.
    pub check_names: Arc<BTreeMap<i64, String>>,
    /// How long the exchanges of this run took.
    pub latencies: SharedLatencies,
    /// The files of requests; `None` if no check of the campaign has files.
    pub file_bodies: Option<FileBodies>,
}

impl RunContext {
    /// Tells the other workers of the account what this ledger has used and they were not told.
    ///
    /// # Errors
    /// The charge book cannot be used.
    pub async fn enter(&self) -> Result<(), Error> {
        self.purse.enter(&self.ledger).await?.map_err(Error::Stopped)
    }

    /// Tells the other workers of the account what this one has used, and that it ends. Not for long: what it does not
    /// tell, its next run does.
    pub async fn leave(&self) {
        if !self.purse.is_shared() {
            return;
        }
        let telling = async {
            // Attempts that were given up may still be recorded.
            drop(self.ledger.recorded().await);
            self.purse.leave(&self.ledger).await?.map_err(Error::Stopped)?;
            self.throttle.leave().await.map_err(Error::Stopped)
        };
        match tokio::time::timeout(BOOK_TIME, telling).await {
            Ok(Ok(())) => {}
            Ok(Err(stop)) => tracing::warn!("other workers were not told that this one ends: {stop}"),
            Err(_) => tracing::warn!("other workers were not told that this one ends: the charge book does not answer"),
        }
    }

    /// The time of the run, now.
    pub fn moment(&self) -> Moment {
        self.moment_of(Instant::now())
    }

    /// The time of the run at an instant.
    pub fn moment_of(&self, at: Instant) -> Moment {
        Moment::START + at.saturating_duration_since(self.began)
    }

    /// How the replies of a check are read.
    pub fn reply_spec<'a>(&'a self, check: &'a CheckContext) -> ReplySpec<'a> {
        let service = &self.campaign.service;
        ReplySpec {
            answer: &check.declaration.answer,
            job: check.declaration.job.as_ref(),
            cached_failure: check.declaration.cached_failure.as_ref(),
            charge_pointer: service.settings.charge_pointer.as_deref(),
            remaining_pointer: service.settings.remaining_pointer.as_deref(),
            price: check.price.max(check.job_hold),
        }
    }
}

/// A request that a run sends.
pub struct Candidate {
    pub request: RequestId,
    /// The catalogue name of its check.
    pub check: String,
    /// The number of attempts in this run.
    pub attempts: u32,
    /// It may have been charged, and its price is held.
    pub in_doubt: bool,
    /// An earlier run sent it.
    pub is_of_earlier_run: bool,
    /// It was sent before.
    pub is_repeat: bool,
    /// The change of [`Schedule::new_since_repeat`](super::schedule::Schedule) by its last turn, to take it back.
    pub turn: i64,
    /// How it was refused in this run while the account was in order. Another refusal begins anew.
    pub refused_alone: Option<ReplyKind>,
    /// After that, nothing else was left to send.
    pub was_set_aside: bool,
    /// How often it was pending in this run.
    pub repeats: u32,
    /// The number of consecutive 429s in this run.
    pub push_backs: u32,
    /// The number of consecutive 429s that each came after an answer to another request of its check. These show that the rate is
    /// fine and the refusal is cached under the key.
    pub cached: u32,
    pub answers_at_refusal: u64,
    /// Another request of its check was answered between two of its 429s.
    pub answered_beside: bool,
    /// How often it got a new key in this run because its upload had expired.
    pub uploads: u32,
    /// How often the reply to its upload could not be followed in this run.
    pub odd_uploads: u32,
    pub delays: Delays,
}

impl Candidate {
    /// A request that was never sent.
    pub fn new(request: RequestId, check: String) -> Candidate {
        let delays = Delays::new(request.0.unsigned_abs() ^ 0x5eed);
        Candidate {
            request,
            check,
            attempts: 0,
            in_doubt: false,
            is_of_earlier_run: false,
            is_repeat: false,
            turn: 0,
            refused_alone: None,
            was_set_aside: false,
            repeats: 0,
            push_backs: 0,
            cached: 0,
            answers_at_refusal: 0,
            answered_beside: false,
            uploads: 0,
            odd_uploads: 0,
            delays,
        }
    }

    /// A request that was sent by an earlier run.
    pub fn again(request: RequestId, check: String, in_doubt: bool) -> Candidate {
        Candidate { in_doubt, is_of_earlier_run: true, is_repeat: true, ..Candidate::new(request, check) }
    }
}
