//! What `run` and `collect` share: sending while answers are published and the ledger files are in place. This module
//! decides how that ends: a publication under way is always waited for, because it writes to the output folder.

use super::{
    publish::{Publisher, background::Publishing},
    send::{
        RunChannels, SendEnd, context::RunContext, driver::Driver, follow::Following, queue::RequestQueue,
        retry::RetryOrder,
    },
};
use crate::{error::Error, ledger::Ledger, model::Stop};
use std::{sync::Arc, time::Duration};

/// How often a run checks that its ledger files are still in place.
const PLACE_EVERY: Duration = Duration::from_millis(500);

/// What is sent, and how a run hears and says what happens.
pub struct Sending {
    pub context: Arc<RunContext>,
    pub queue: RequestQueue,
    pub following: Following,
    pub channels: RunChannels,
    /// The failures to retry.
    pub retry: Option<RetryOrder>,
}

impl Sending {
    /// Sends, unless an earlier run left a stop. The caller finishes the publication that may still be under way.
    ///
    /// # Errors
    /// See [`Error`]. No publication is under way then.
    pub async fn send(
        self,
        publisher: &Arc<Publisher>,
        earlier_stop: impl Future<Output = Result<Option<Stop>, Error>>,
    ) -> Result<(SendEnd, Publishing), Error> {
        let Sending { context, queue, following, channels, retry } = self;
        let (ledger, before) = (Arc::clone(&context.ledger), Arc::clone(&context));
        let mut publishing = Publishing::new(Arc::clone(publisher), context.campaign.commit_mode);
        let sending = async {
            match earlier_stop.await? {
                Some(stop) => Ok(SendEnd::nothing(Some(stop), channels.signals)),
                None => {
                    context.enter().await?;
                    publishing.begin()?;
                    let beside = Arc::clone(&context);
                    let driver = Driver::new(context, queue, following, channels, retry)?;
                    tokio::select! {
                        biased;
                        ended = driver.run(|answered| publishing.now_and_then(answered)) => ended,
                        never = beside.purse.keep_telling(&beside.ledger) => match never {},
                    }
                }
            }
        };
        let sent = beside_ledger(&ledger, sending).await;
        match sent {
            Ok(end) => {
                if end.sent.stops.iter().any(Stop::is_urgent) {
                    publisher.interrupt();
                }
                before.leave().await;
                Ok((end, publishing))
            }
            Err(error) => {
                // A worker that could not enter has nothing to tell.
                if !matches!(error, Error::Stopped(_)) {
                    before.leave().await;
                }
                publishing.finish().await?;
                Err(error)
            }
        }
    }
}

/// Sends while the ledger files are in place. Requests sent without a ledger would not be recorded.
async fn beside_ledger<T>(ledger: &Ledger, sending: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let gone = async {
        loop {
            tokio::time::sleep(PLACE_EVERY).await;
            if let Err(error) = ledger.check_files() {
                return error;
            }
        }
    };
    tokio::select! {
        biased;
        sent = sending => sent,
        error = gone => Err(error.into()),
    }
}
