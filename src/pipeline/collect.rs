//! Collecting: what was sent is settled and what was answered is published, from the ledger alone. Nothing planned is sent,
//! so an input or a campaign file that was edited or lost stands in no one's way.
//!
//! It owns one decision: whether anything may be sent at all. The ledger says where to send, and the API key goes along; so
//! only a key under which requests of this very ledger were sent before is used.

use super::{
    bucket::bucket,
    campaign::{Campaign, read_file},
    dispatch::{Dispatch, Dispatched, Progress, Signal, Surroundings},
    feeder::Feeder,
    heeding::Heeding,
    intake::IntakeProgress,
    notes::Notes,
    prepare::crew,
    publish::Publisher,
    publishing::Publishing,
    recorded::campaign_of,
    report::RunReport,
    run::{Said, beside_ledger, publish_and_report},
    status::ledger_in,
};
use crate::{
    client::Client,
    error::Error,
    ledger::{Identity, Ledger, Reading, Sums},
    model::{Credits, state::State},
    throttle::Bucket,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

/// A ledger that is open to be settled and published.
pub struct Collection {
    campaign: Arc<Campaign>,
    identity: Identity,
}

impl Collection {
    /// Reads what there is to collect at `place`, an output folder or a ledger file; a ledger file needs `out`. `config` is a
    /// campaign file that says where the API key is.
    ///
    /// # Errors
    /// There is no ledger, no run of it came as far as sending, or the campaign file cannot be read.
    pub fn find(place: &Path, out: Option<PathBuf>, config: Option<&Path>) -> Result<Collection, Error> {
        let ledger = ledger_in(place);
        let apart =
            || Error::Config(format!("{} is a ledger file: --out DIR says where its results are", place.display()));
        let out = out.or_else(|| place.is_dir().then(|| place.to_owned())).ok_or_else(apart)?;
        let file = config.map(read_file).transpose()?;
        let base = config.and_then(Path::parent).unwrap_or(Path::new(""));
        let reading = Reading::open(&ledger)?;
        let campaign = campaign_of(&reading, &ledger, &out, file.as_ref().map(|file| (file, base)))?;
        Ok(Collection { campaign: Arc::new(campaign), identity: reading.identity()? })
    }

    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// For a service in another place than recorded: the built-in simulator of this process.
    pub fn campaign_mut(&mut self) -> &mut Campaign {
        Arc::make_mut(&mut self.campaign)
    }

    /// Settles what is in doubt and publishes.
    ///
    /// # Errors
    /// What stops a run: see [`Error`].
    pub async fn collect(
        self,
        at_most: Option<Duration>,
        heeding: Heeding,
        signals: mpsc::Receiver<Signal>,
        progress: watch::Sender<Progress>,
    ) -> Result<RunReport, Error> {
        let Collection { campaign, identity } = self;
        let now_us = campaign.clock.now_us();
        let open = if campaign.accept_older_ledger { Ledger::open_older } else { Ledger::open };
        let ledger = Arc::new(open(&campaign.ledger, &identity, campaign.seat, now_us)?);
        ledger.recover().await?;
        let was_complete = ledger.sums().completed_at_us.is_some();
        let publisher = Arc::new(Publisher::new(&campaign, Arc::clone(&ledger), None)?);
        let unexplained = Credits::ZERO;
        let mut sent =
            Dispatched { stops: Vec::new(), answered: 0, withheld: 0, unexplained, cut_short: false, signals };
        let open = in_doubt(&ledger.sums());
        if open > 0 {
            let api_key = campaign.service.api_key()?;
            let known = Reading::open(ledger.path())?.in_doubt_under(&api_key.fingerprint())?;
            if let Some(url) = &campaign.service.url {
                Client::new(&campaign.service.client_settings(url.clone(), api_key.clone()))?;
            }
            if known == 0 {
                sent.withheld = open;
            } else {
                let (bucket, _) = bucket(&campaign.service, &api_key, Bucket::Empty, campaign.clock);
                let crew = crew(&campaign, &ledger, &api_key, bucket)?;
                let (_taken, intake) = watch::channel(IntakeProgress { done: true, ..IntakeProgress::default() });
                let deadline = at_most.map(|at_most| Instant::now() + at_most);
                let around = Surroundings { signals: sent.signals, progress, intake, deadline };
                let mut publishing = Publishing::new(Arc::clone(&publisher), campaign.seat);
                let feeder = Feeder::of_doubts(Reading::open(ledger.path())?);
                let sending = async {
                    match heeding.pause(&crew).await? {
                        Some(stop) => Ok(Dispatched::nothing(stop, around)),
                        None => {
                            Dispatch::new(crew, feeder, around, None)
                                .run(|answered| publishing.now_and_then(answered))
                                .await
                        }
                    }
                };
                sent = beside_ledger(&ledger, sending).await?;
                publishing.finish().await?;
            }
        }
        let said = Said { was_complete, notes: Notes::default(), completed: Vec::new(), collected: true };
        publish_and_report(&campaign, &ledger, publisher, sent, Ok(()), said).await
    }
}

fn in_doubt(sums: &Sums) -> u64 {
    sums.in_state(State::InDoubt) + sums.in_state(State::Repeating)
}
