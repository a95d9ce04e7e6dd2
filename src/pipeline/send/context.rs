//! What the attempts of a run share, and the request that one of them is about.

use super::judge::Judge;
use crate::{
    catalogue::Declaration,
    client::{Client, Delays},
    ledger::Ledger,
    model::{Clock, Credits, RequestId, clock::ClockWatch},
    pipeline::campaign::Campaign,
    throttle::Throttle,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

/// One thing the service sells, as a run uses it.
pub struct CheckContext {
    pub declaration: Declaration,
    pub judge: Judge,
    pub price: Credits,
    /// The route its requests are sent to.
    pub path: String,
    /// All routes of its declaration: what is in doubt is sent again to one of them, or not at all.
    pub routes: Arc<[String]>,
}

/// What all attempts of a run share.
pub struct RunContext {
    pub ledger: Arc<Ledger>,
    pub client: Client,
    pub throttle: Arc<Throttle>,
    pub checks: BTreeMap<String, CheckContext>,
    pub campaign: Arc<Campaign>,
    /// Fingerprint of the API key.
    pub scope: String,
    /// Digest of what decides whether a stop would happen again.
    pub settings: String,
    pub clock: Clock,
    /// Whether this machine's clock can be trusted since the service last told the time: the age of a key is judged by both.
    pub clock_watch: Arc<ClockWatch>,
    /// Whether the simulator answers, once somebody answered.
    pub peer: OnceLock<bool>,
}

/// A request on its way through a run.
pub struct Candidate {
    pub request: RequestId,
    /// The catalogue's name of its check.
    pub check: String,
    /// Attempts used up in this run.
    pub attempts: u32,
    /// It may have been charged, and holds its price.
    pub in_doubt: bool,
    /// It was sent before: while new requests wait, it takes at most every second place.
    pub is_repeat: bool,
    /// What its last turn counted for: 1 for a new request, -1 for a repeat, 0 where no other kind waited.
    pub turn: i64,
    /// It was refused in this run while the account was in order.
    pub was_refused_alone: bool,
    /// Times in this run that it was pending.
    pub repeats: u32,
    /// 429s in a row in this run.
    pub push_backs: u32,
    /// 429s in a row, each after an answer to somebody else: the rate is fine, the refusal is cached under the key.
    pub cached: u32,
    pub answers_at_refusal: u64,
    pub delays: Delays,
}

impl Candidate {
    /// A request that was not sent before.
    pub fn new(request: RequestId, check: String) -> Candidate {
        let delays = Delays::new(request.0.unsigned_abs() ^ 0x5eed);
        Candidate {
            request,
            check,
            attempts: 0,
            in_doubt: false,
            is_repeat: false,
            turn: 0,
            was_refused_alone: false,
            repeats: 0,
            push_backs: 0,
            cached: 0,
            answers_at_refusal: 0,
            delays,
        }
    }

    /// A request that was sent by an earlier run.
    pub fn again(request: RequestId, check: String, in_doubt: bool) -> Candidate {
        Candidate { in_doubt, is_repeat: true, ..Candidate::new(request, check) }
    }
}
