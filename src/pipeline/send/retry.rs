//! `run --retry`: sends failures that are proven uncharged again, each under the key of its next generation. A refusal
//! after an unexplained fall of the balance is not proven uncharged; retrying it needs `--retry-unproven`.

use super::context::RunContext;
use crate::{
    error::Error,
    ledger::Retryable,
    model::{FailureCode, RequestId, state::Event},
};
use futures::future::try_join_all;

/// The number of failures read at once, which bounds memory use.
const PAGE: usize = 500;

/// Which failures to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetryOrder {
    /// Only failures with this code; `None` means all.
    pub code: Option<FailureCode>,
    /// Also failures that may have been charged because the balance fell without an explanation.
    pub unproven: bool,
}

impl RetryOrder {
    /// Whether to retry a failure. `None` if it is not selected, `Some(false)` if only the proof is missing that it was
    /// not charged.
    fn includes(&self, failed: &Retryable, unexplained_since_us: Option<i64>) -> Option<bool> {
        let wanted = self.code.is_none_or(|code| code == failed.failure.code);
        let proven = match (failed.refused_at_us, unexplained_since_us) {
            (Some(refused_at_us), Some(since_us)) => refused_at_us < since_us,
            _ => true,
        };
        wanted.then_some(proven || self.unproven)
    }
}

/// Plans the failures again, and warns of those that are left out because they may have been charged.
pub async fn retry(context: &RunContext, order: RetryOrder) -> Result<(), Error> {
    let reading = context.ledger.reading()?;
    let since_us = context.ledger.sums().unexplained_since_us;
    let (mut after, mut left_out) = (RequestId(0), 0);
    loop {
        let page = reading.retryable(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.request;
        let mut planned = Vec::new();
        for candidate in &page {
            match order.includes(candidate, since_us) {
                None => {}
                Some(false) => left_out += 1,
                Some(true) => {
                    let keys = context.campaign.keys();
                    planned.push(context.ledger.next_generation(candidate.request, Event::Retry, keys));
                }
            }
        }
        // Given to the writer together, so that they share commits.
        try_join_all(planned).await?;
    }
    if left_out > 0 {
        tracing::warn!(
            "{left_out} failures are not retried: they were refused after the balance fell by more than this campaign \
             explains, so they may have been charged; --retry-unproven retries them, and may pay for them again"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Failure, Stage};

    #[test]
    fn a_refusal_since_an_unexplained_fall_is_retried_only_if_requested() {
        let failure = Failure { stage: Stage::Send, code: FailureCode::Refused, message: String::new() };
        let failed = |refused_at_us| Retryable {
            request: RequestId(1),
            check: "x".to_owned(),
            failure: failure.clone(),
            refused_at_us,
        };
        let order = RetryOrder { code: None, unproven: false };
        for (refused_at_us, since_us, taken) in [
            (Some(5), None, true),
            (Some(5), Some(6), true),
            (Some(6), Some(6), false),
            (Some(9), Some(6), false),
            (None, Some(6), true),
        ] {
            let failed = failed(refused_at_us);
            assert_eq!(order.includes(&failed, since_us), Some(taken), "{refused_at_us:?} {since_us:?}");
            let unproven = RetryOrder { unproven: true, ..order };
            assert_eq!(unproven.includes(&failed, since_us), Some(true));
            let other = RetryOrder { code: Some(FailureCode::AttemptsOver), ..unproven };
            assert_eq!(other.includes(&failed, since_us), None);
        }
    }
}
