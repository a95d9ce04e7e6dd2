//! `run --retry`: failures that are proven uncharged are taken along, each under the key of its next generation.

use super::{feeder::Feeder, flight::Crew};
use crate::{
    error::Error,
    ledger::Reading,
    model::{FailureCode, RequestId, state::Event},
};

/// Failures looked at together: memory does not grow with their number.
const PAGE: usize = 500;

/// Plans them again: all, or those of one code.
pub async fn retry(crew: &Crew, which: Option<FailureCode>) -> Result<(), Error> {
    let reading = Reading::open(crew.ledger.path())?;
    let feeder = Feeder::new(Reading::open(crew.ledger.path())?, false);
    let mut after = RequestId(0);
    loop {
        let page = reading.retryable(after, PAGE)?;
        let Some((last, ..)) = page.last() else { return Ok(()) };
        after = *last;
        for (request, sold, failure) in page {
            if which.is_none_or(|code| code == failure.code) {
                let (fields, generation) = feeder.fields(request)?;
                let key = crew.campaign.key_of(&sold, &fields, generation + 1);
                crew.ledger.event(request, Event::Retry, Some(key), None).await?;
            }
        }
    }
}
