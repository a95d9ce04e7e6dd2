//! What an attempt tells: what it heard, and how it ended.

use super::{check_pauses::Waits, file_body::FileFault};
use crate::{
    client::{Author, PushBack, ReplyKind},
    ledger::{NotArmed, Settled},
    model::{
        Credits, Judgement, RequestId,
        budget::BudgetRefusal,
        state::{IllegalMove, Outcome},
    },
};
use std::time::Duration;

/// A reply that was read and judged, and is not recorded yet.
#[derive(Debug, Clone, Copy)]
pub struct Heard {
    pub request: RequestId,
    pub outcome: Outcome,
    /// The price that is held for the request.
    pub price: Credits,
    /// The balance that it states.
    pub remaining: Option<Credits>,
    /// A rule recognises the answer, and nothing else about the reply is odd.
    pub is_recognised: bool,
}

/// How an attempt ended.
pub enum AttemptEnd {
    /// Not sent: the budget refuses it.
    Refused(BudgetRefusal),
    /// Not sent: its key has expired.
    Quarantined,
    /// Not sent: the declaration of its check changed, and makes other bodies.
    OtherBody(String),
    /// Not sent: sending it is not allowed.
    Withheld(IllegalMove),
    /// Not sent: the gate closed after arming and before the write.
    GateClosed,
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
    Attempted(Box<Attempted>),
}

/// An attempt that was made.
pub struct Attempted {
    pub settled: Settled,
    pub outcome: Outcome,
    pub kind: ReplyKind,
    /// Who wrote the reply.
    pub author: Author,
    pub judgement: Option<Judgement>,
    pub http_status: Option<u16>,
    pub remaining: Option<Credits>,
    /// The charge that the reply states.
    pub stated: Option<Credits>,
    /// The value found where an amount of credits was expected, if it is not a valid amount.
    pub unreadable_amount: Option<String>,
    /// Where a redirect leads.
    pub location: Option<String>,
    pub push_back: Option<PushBack>,
    /// Who waits because of it.
    pub waits: Option<Waits>,
    /// How long to wait before repeating this request, if the reply says so.
    pub repeat_after: Option<Duration>,
    /// Why no job can be followed, although the reply says that the answer comes later.
    pub job_fault: Option<String>,
    /// The mode that the answer names, if it is not the mode that was sent.
    pub other_mode: Option<String>,
    /// Status and code, by which identical refusals are recognised. It never contains free text of the service.
    pub same_refusals: String,
    /// The service's code, if the reply has one.
    pub code: String,
    pub message: String,
    /// The words of the reply itself.
    pub words: String,
    /// Its document was uploaded just before.
    pub uploaded: bool,
    /// Whether the reply is simulated, if it came from the wrong side: the simulator instead of the service, or the
    /// reverse.
    pub other_side: Option<bool>,
}

impl From<NotArmed> for AttemptEnd {
    fn from(not_armed: NotArmed) -> AttemptEnd {
        match not_armed {
            NotArmed::Refused(refusal) => AttemptEnd::Refused(refusal),
            NotArmed::Quarantined => AttemptEnd::Quarantined,
            NotArmed::OtherBody(differs) => AttemptEnd::OtherBody(differs),
            NotArmed::NotBefore(until_us) => AttemptEnd::NotBefore(until_us),
            NotArmed::Withheld(reason) => AttemptEnd::Withheld(reason),
        }
    }
}
