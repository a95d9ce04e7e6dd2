//! Where an ask stands in an export: the same dataset as in the campaign, except that answers in no part yet become
//! results if the rules recognise them.

use crate::{
    ledger::{AskFate, AskView, RequestView},
    model::{FailureCode, Verdict, state::State},
    pipeline::publish::project::pending_reason,
    sink::PendingReason,
};

/// Where an ask stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Result(Verdict),
    Failed(FailureCode),
    Pending(PendingReason),
    Skipped,
}

/// Where an ask stands, as far as the ledger says it. `Err` has the answered request, whose answer has to be judged.
pub fn before_judging<'a>(ask: &'a AskView<'_>) -> Result<Standing, &'a RequestView> {
    match &ask.fate {
        AskFate::Skipped(_) => Ok(Standing::Skipped),
        AskFate::Failure(failure) => Ok(Standing::Failed(failure.code)),
        AskFate::Request(request) => match request.state {
            State::Failed => {
                Ok(Standing::Failed(request.failure.as_ref().map_or(FailureCode::Refused, |failure| failure.code)))
            }
            State::Answered => Err(request),
            _ => Ok(Standing::Pending(pending_reason(request.state, false))),
        },
    }
}

/// Where an answered ask stands, once its answer is judged.
pub fn judged(request: &RequestView, verdict: Verdict) -> Standing {
    if verdict == Verdict::Unrecognised && !request.published {
        Standing::Pending(pending_reason(request.state, true))
    } else {
        Standing::Result(verdict)
    }
}
