//! The failure of a request that the service refused: what it says to the user.

use crate::{
    client::Classified,
    model::{Failure, FailureCode, Stage, state::Outcome},
};

/// The failure of a row whose request was refused. It repeats what the service said.
pub fn refusal(classified: &Classified) -> Failure {
    let charge = match classified.outcome {
        Outcome::ChargedRefusal { stated: Some(credits) } => format!(" and charged {credits} credits"),
        Outcome::ChargedRefusal { stated: None } => " and may have charged for it".to_owned(),
        _ => String::new(),
    };
    let (code, what) = match classified.outcome {
        Outcome::NeedsWebhook => (
            FailureCode::NeedsWebhook,
            "the service cannot answer this request at once, and accepts it as a job only if it names a webhook; nothing \
             was charged; check this row in a new campaign with --webhook-url URL"
                .to_owned(),
        ),
        Outcome::CachedFailure => (
            FailureCode::CachedFailure,
            "the service failed to process this request, and repeats that for its key".to_owned(),
        ),
        _ => (FailureCode::Refused, format!("the service refused the request{charge}")),
    };
    Failure { stage: Stage::Send, code, message: format!("{what}: {}", described(classified)) }
}

/// Status, code and message of a reply.
fn described(classified: &Classified) -> String {
    let status = classified.http_status.unwrap_or_default();
    let code = classified.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    format!("HTTP {status}{code}: {}", classified.message)
}
