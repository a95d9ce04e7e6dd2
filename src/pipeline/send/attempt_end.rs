//! What an attempt tells: what it heard, and how it ended.

use super::{check_pauses::Waits, file_body::FileFault, purse::NotClaimed};
use crate::{
    client::Classified,
    ledger::{NotArmed, Settled},
    model::{
        Credits, Judgement, RequestId, Stop,
        budget::BudgetRefusal,
        state::{IllegalMove, Outcome, State},
    },
};

/// A reply that was read and judged, and is not recorded yet.
#[derive(Debug, Clone, Copy)]
pub struct Heard {
    pub request: RequestId,
    pub outcome: Outcome,
    /// The most that an answer to it may cost. What a job would hold is not the price of an answer.
    pub price: Credits,
    /// The balance that it states.
    pub remaining: Option<Credits>,
    /// A rule recognises the answer, and nothing else about the reply is odd.
    pub is_recognised: bool,
}

/// How an attempt ended.
pub enum AttemptEnd {
    /// Not sent: the budget refuses it.
    OverBudget(BudgetRefusal),
    /// Not sent: its key has expired.
    Quarantined,
    /// Not sent: the declaration of its check changed, and makes other bodies.
    OtherBody(String),
    /// Not sent: sending it is not allowed.
    Withheld(IllegalMove),
    /// Not sent: the gate closed after arming and before the write.
    GateClosed,
    /// Not sent: the charge book knew more of it than the ledger, which has it in this state now.
    Adopted(State),
    /// Not sent: another partition of the campaign has sent it and has no answer yet.
    Elsewhere {
        /// A worker runs that partition now.
        is_running: bool,
    },
    /// Not sent: nothing may be sent any more.
    Closed(Stop),
    /// Not sent: the clock may be wrong, and is first compared with the service's.
    ClockMoved,
    /// Not sent: the service asked not to repeat it before this time, in microseconds since 1970.
    NotBefore(i64),
    /// Not sent: one of its files is not what it was when its row was read.
    FileChanged(FileFault),
    /// Not sent: its upload has expired, and the old one was sent under its key.
    UploadExpired,
    /// Not sent: the reply to its upload cannot be followed.
    UploadUnusable(String),
    /// Not sent: its upload, which should be free, was charged this much. It is booked.
    UploadCharged(Credits),
    /// Not sent: the other side answered its upload.
    OtherSide(bool),
    Attempted(Box<Attempt>),
}

/// An attempt that was made.
pub struct Attempt {
    /// What the reply says. Its answer and its job are in the ledger.
    pub reply: Classified,
    /// What it made of the request.
    pub settled: Settled,
    /// The judgement on the answer, if the request is answered.
    pub judgement: Option<Judgement>,
    /// The mode that the answer names, if it is not the mode that was sent.
    pub other_mode: Option<String>,
    /// Who waits because the reply asks for a pause.
    pub waits: Option<Waits>,
    /// Its document was uploaded just before.
    pub uploaded: bool,
    /// Whether the reply is simulated, if it came from the wrong side: the simulator instead of the service, or the
    /// reverse.
    pub other_side: Option<bool>,
}

impl Attempt {
    /// The charge that an answer or a refusal states.
    pub fn stated(&self) -> Option<Credits> {
        match self.reply.outcome {
            Outcome::Answered { stated } | Outcome::ChargedRefusal { stated } => stated,
            _ => None,
        }
    }

    /// Status and code, by which identical refusals are recognised. It never contains free text of the service.
    pub fn same_refusals(&self) -> String {
        let code = self.reply.code.as_deref().filter(|code| !code.is_empty()).unwrap_or("no code");
        format!("HTTP {} {code}", self.reply.http_status.unwrap_or_default())
    }
}

impl From<NotClaimed> for AttemptEnd {
    fn from(not_claimed: NotClaimed) -> AttemptEnd {
        match not_claimed {
            NotClaimed::Refused(refusal) => AttemptEnd::OverBudget(refusal),
            NotClaimed::Adopted(state) => AttemptEnd::Adopted(state),
            NotClaimed::Elsewhere { is_running } => AttemptEnd::Elsewhere { is_running },
            NotClaimed::Closed(stop) => AttemptEnd::Closed(stop),
        }
    }
}

impl From<NotArmed> for AttemptEnd {
    fn from(not_armed: NotArmed) -> AttemptEnd {
        match not_armed {
            NotArmed::Refused(refusal) => AttemptEnd::OverBudget(refusal),
            NotArmed::Quarantined => AttemptEnd::Quarantined,
            NotArmed::OtherBody(differs) => AttemptEnd::OtherBody(differs),
            NotArmed::NotBefore(until_us) => AttemptEnd::NotBefore(until_us),
            NotArmed::Withheld(reason) => AttemptEnd::Withheld(reason),
            NotArmed::NoRoom => AttemptEnd::GateClosed,
        }
    }
}
