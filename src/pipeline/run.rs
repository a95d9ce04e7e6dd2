//! The run: the way of a row on one screen. Prepare opens and checks everything, `go` does it, and every end publishes.

use super::{
    campaign::Campaign,
    dispatch::{Dispatch, Dispatched, Progress, Signal, Surroundings},
    feeder::Feeder,
    flight::{Crew, PUSH_BACK_MAX, Sold},
    intake::{Intake, IntakeProgress, Taking},
    judge::Judge,
    publish::{Layout, PART_ROWS_MAX, Publisher},
    report::RunReport,
};
use crate::{
    client::{ApiKey, Client},
    error::Error,
    ledger::{CheckUseRow, Identity, Ledger, Reading},
    mapping::{Feed, key_of_generation},
    model::{FailureCode, Stop, state::Event},
    template::{Tables, Templates},
    throttle::{Bucket, Throttle},
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::Instant,
};

/// A part is cut at least this often.
const PUBLISH_EVERY: Duration = Duration::from_secs(15 * 60);

/// A campaign whose ledger and inputs are open and fit together. Nothing is sent yet.
pub struct Prepared {
    campaign: Arc<Campaign>,
    ledger: Arc<Ledger>,
    intake: Intake,
    api_key: ApiKey,
    fresh: bool,
}

/// What a run is told from outside.
#[derive(Default)]
pub struct Orders {
    /// Drain, publish and end after this long.
    pub at_most: Option<Duration>,
    /// Take failures that are proven uncharged along: all, or those of one code.
    pub retry: Option<Option<FailureCode>>,
}

impl Campaign {
    /// Runs the campaign to its end, without a terminal: prepare and go.
    pub async fn run(self) -> Result<RunReport, Error> {
        let (_alive, signals) = mpsc::channel(1);
        let prepared = Prepared::open(self).await?;
        prepared.go(Orders::default(), signals, watch::Sender::new(Progress::default())).await
    }
}

impl Prepared {
    /// Opens ledger and inputs.
    ///
    /// # Errors
    /// A ledger of another campaign or in use, an input that changed, a mapping that does not fit, a missing API key.
    pub async fn open(campaign: Campaign) -> Result<Prepared, Error> {
        let api_key = campaign.service.api_key()?;
        let fresh = !campaign.ledger.exists();
        let known = if fresh { Vec::new() } else { Reading::open(&campaign.ledger)?.sources()? };
        let campaign = Arc::new(campaign);
        // The inputs first: a mistake in them must not leave an empty ledger behind. Reading them may block.
        let for_intake = Arc::clone(&campaign);
        let intake = blocking(move || Intake::open(&for_intake, &known)).await?;
        let folder = campaign.ledger.parent().unwrap_or(Path::new("."));
        crate::sink::create_folder(folder)?;
        let identity = Identity {
            campaign: campaign.name.clone(),
            mode: campaign.mode,
            origin: campaign.origin(),
            key_secret: campaign.key_secret.as_ref().map(crate::model::KeySecret::fingerprint),
        };
        let ledger = Arc::new(Ledger::open(&campaign.ledger, &identity, campaign.clock.now_us())?);
        ledger.recover().await?;
        Ok(Prepared { campaign, ledger, intake, api_key, fresh })
    }

    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Enough of the API key to recognise it by.
    pub fn key_hint(&self) -> String {
        self.api_key.hint()
    }

    /// Which column, template or constant feeds which field.
    pub fn feeds(&self) -> Vec<Feed> {
        self.intake.feeds()
    }

    /// Does it: takes rows, sends requests, settles replies, publishes results.
    pub async fn go(
        self,
        orders: Orders,
        signals: mpsc::Receiver<Signal>,
        progress: watch::Sender<Progress>,
    ) -> Result<RunReport, Error> {
        let check_uses = self.ledger.check_uses(self.check_uses()?).await?;
        let names: Vec<String> = self.campaign.inputs.iter().map(|input| input.name.clone()).collect();
        let sources = self.ledger.sources(names.clone()).await?;
        let publisher = Arc::new(Publisher::new(&self.campaign, Arc::clone(&self.ledger))?);
        let crew = self.crew()?;
        if let Some(which) = orders.retry {
            retry(&crew, which).await?;
        }

        let (rows, intake_progress) = watch::channel(IntakeProgress::default());
        let stop_intake = Arc::new(AtomicBool::new(false));
        let taking = Taking {
            ledger: Arc::clone(&self.ledger),
            sources: names.into_iter().zip(sources).collect(),
            check_uses,
            sold: self.campaign.uses.iter().map(|one| one.check.clone()).collect(),
            limited: self.campaign.source_options.limit_rows.is_some(),
            progress: rows,
            stop: Arc::clone(&stop_intake),
        };
        let repeatable = self.intake.is_repeatable();
        let taking = tokio::task::spawn_blocking(move || taking.run(self.intake));

        let around = Surroundings {
            signals,
            progress,
            intake: intake_progress,
            deadline: orders.at_most.map(|at_most| Instant::now() + at_most),
        };
        let feeder = Feeder::new(Reading::open(self.ledger.path())?, self.campaign.expect_rows.is_some());
        let early = standing_pause(&crew);
        let mut publishing = Publishing::new(Arc::clone(&publisher));
        let sent = match early {
            Some(stop) => Ok(Dispatched { stops: vec![stop], answered: 0, cut_short: false }),
            None => Dispatch::new(crew, feeder, around).run(|answered| publishing.now_and_then(answered)).await,
        };

        let to_the_end = repeatable && sent.as_ref().is_ok_and(|sent| sent.stops.iter().all(|stop| !stop.is_urgent()));
        stop_intake.store(!to_the_end, Ordering::Relaxed);
        let taken = if repeatable || to_the_end { joined(taking).await } else { abandoned(taking).await };
        publishing.finish().await?;
        let sent = sent?;
        if sent.cut_short {
            return Ok(RunReport::cut_short(&self.campaign, self.ledger.sums(), sent.stops));
        }
        let manifest = blocking(move || publisher.publish()).await?;
        taken?;
        if manifest.complete {
            self.ledger.complete(self.campaign.clock.now_us()).await?;
        }
        let doubt = Reading::open(self.ledger.path())?.oldest_doubt_us()?;
        Ok(RunReport::new(&self.campaign, self.ledger.sums(), sent.stops, sent.answered, manifest, doubt))
    }

    /// The checks of the campaign as the ledger records them.
    fn check_uses(&self) -> Result<Vec<CheckUseRow>, Error> {
        let row = |one: &crate::mapping::CheckUse| {
            let answer = &self.campaign.catalogue.get(&one.check)?.answer;
            let layout = Layout {
                carry: self.campaign.carry.clone(),
                columns: answer.columns.clone(),
                payload: answer.payload.clone(),
            };
            crate::sink::results_schema(&layout.carry, &layout.columns)?;
            let layout = serde_json::to_string(&layout).map_err(|error| Error::Internal(error.to_string()))?;
            Ok(CheckUseRow { name: one.name().to_owned(), sold: one.check.clone(), layout })
        };
        self.campaign.uses.iter().map(row).collect()
    }

    /// Everything the attempts of this run share.
    fn crew(&self) -> Result<Arc<Crew>, Error> {
        let campaign = &self.campaign;
        let nowhere = || Error::Config("the simulator was not started".to_owned());
        let url = campaign.service.url.clone().ok_or_else(nowhere)?;
        let client = Client::new(&campaign.service.client_settings(url, self.api_key.clone()))?;
        let templates = Templates::new(Tables::default());
        let sold = campaign.sold().into_iter().map(|declaration| {
            let unknown = || Error::Config(format!("the price of `{}` is not known", declaration.name));
            let sold = Sold {
                judge: Judge::new(declaration, &templates)?,
                price: campaign.price(&declaration.name).ok_or_else(unknown)?,
                path: declaration.routes.path(campaign.service.routes).to_owned(),
                declaration: declaration.clone(),
            };
            Ok((declaration.name.clone(), sold))
        });
        let met = OnceLock::new();
        if let Some(simulated) = self.ledger.sums().simulated {
            met.get_or_init(|| simulated);
        }
        let crew = Crew {
            ledger: Arc::clone(&self.ledger),
            client,
            throttle: Throttle::new(campaign.service.rate, if self.fresh { Bucket::Full } else { Bucket::Empty }),
            sold: sold.collect::<Result<BTreeMap<_, _>, Error>>()?,
            scope: self.api_key.fingerprint(),
            clock: campaign.clock,
            campaign: Arc::clone(campaign),
            met,
        };
        Ok(Arc::new(crew))
    }
}

/// A push-back of an earlier run still holds.
fn standing_pause(crew: &Crew) -> Option<Stop> {
    let until_us = crew.ledger.sums().paused_until_us?;
    let left = Duration::from_micros(u64::try_from(until_us - crew.clock.now_us()).ok()?);
    if left > PUSH_BACK_MAX {
        return Some(Stop::PushedBack { until_us });
    }
    crew.throttle.pause_until(Instant::now() + left);
    None
}

/// Takes failures that are proven uncharged along, each under the key of its next generation.
async fn retry(crew: &Crew, which: Option<FailureCode>) -> Result<(), Error> {
    let reading = Reading::open(crew.ledger.path())?;
    let feeder = Feeder::new(Reading::open(crew.ledger.path())?, false);
    for (request, sold, failure) in reading.retryable()? {
        if which.is_some_and(|code| code != failure.code) {
            continue;
        }
        let (fields, generation) = feeder.fields(request)?;
        let campaign = &crew.campaign;
        let secret = campaign.key_secret.as_ref();
        let key = key_of_generation(&campaign.name, campaign.mode, &sold, &fields, generation + 1, secret);
        crew.ledger.event(request, Event::Retry, Some(key), None).await?;
    }
    Ok(())
}

/// Publishing beside the sending, one at a time.
struct Publishing {
    publisher: Arc<Publisher>,
    task: Option<JoinHandle<Result<(), Error>>>,
    last: Instant,
    answered: u64,
}

impl Publishing {
    fn new(publisher: Arc<Publisher>) -> Publishing {
        Publishing { publisher, task: None, last: Instant::now(), answered: 0 }
    }

    fn now_and_then(&mut self, answered: u64) -> Result<(), Error> {
        let due = answered - self.answered >= PART_ROWS_MAX || self.last.elapsed() >= PUBLISH_EVERY;
        if !due || self.task.as_ref().is_some_and(|task| !task.is_finished()) {
            return Ok(());
        }
        self.last = Instant::now();
        self.answered = answered;
        let publisher = Arc::clone(&self.publisher);
        // A failure of one before shows again in this one, or at the end.
        self.task = Some(tokio::task::spawn_blocking(move || publisher.publish().map(drop)));
        Ok(())
    }

    async fn finish(self) -> Result<(), Error> {
        match self.task {
            Some(task) => joined(task).await,
            None => Ok(()),
        }
    }
}

/// Runs blocking work on a thread of its own.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    joined(tokio::task::spawn_blocking(work)).await
}

async fn joined<T>(task: JoinHandle<Result<T, Error>>) -> Result<T, Error> {
    task.await.map_err(|error| Error::Internal(error.to_string()))?
}

/// Leaves a reader of a pipe that may never end to itself, after a moment for the split it is at.
async fn abandoned(task: JoinHandle<Result<(), Error>>) -> Result<(), Error> {
    match tokio::time::timeout(Duration::from_secs(3), task).await {
        Ok(result) => result.map_err(|error| Error::Internal(error.to_string()))?,
        Err(_) => Ok(()),
    }
}
