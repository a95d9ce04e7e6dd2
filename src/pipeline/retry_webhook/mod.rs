//! Asks the service to deliver the results of jobs again. It needs only the ledger, changes nothing in it but its
//! receiver and the pause that the service asks for, and should cost no credits. A charge that a reply states all the same
//! is booked, and the next run and the next order stop until the user decides.
//!
//! This module decides for which jobs anything is asked, and under the rules of [`collect`](super::collect): the API key
//! is sent only to a service that the user named or that a run on this machine used, and the path of the request comes
//! from the user's declarations, never from the ledger.

mod redeliveries;

pub use redeliveries::Redeliveries;

use super::{
    campaign::{
        Campaign, read_file,
        receiver::{delivery_url, id_of, new_receiver},
        remains::refuse_older,
        webhook::checked,
    },
    collect::{Collection, NamedService},
    prepare::known_service,
    send::{
        account_use::account_use,
        earlier_stop::{EARLIER_PAUSE, kept_stop, paused_until},
        gate::{PUSH_BACK_MAX, PUSH_BACK_UNSTATED, pause_end},
    },
};
use crate::{
    catalogue::{Catalogue, JobSpec},
    client::{
        ApiKey, Client, Delays, DeliveryRefusal, NewReceiver, NotAnswered, PushBack, Redelivered, Said, redelivered,
    },
    error::Error,
    ledger::{KeptStop, Ledger, LedgerError, NamedJob, Reading},
    model::{Credits, ExitCode, JobId, Stop},
    throttle::{Bucket, Throttle},
};
use redeliveries::charged_line;
use std::{
    collections::BTreeMap,
    ops::ControlFlow::{self, Break, Continue},
    path::Path,
    time::Duration,
};
use tokio::time::Instant;

/// How often one job is asked for if the service does not answer or asks to wait.
const TRIES_MAX: u32 = 4;

/// What to ask for.
#[derive(Debug, Clone, Default)]
pub struct RedeliveryOrder {
    /// Only these jobs, which may have ended; all jobs without a result if there is none.
    pub jobs: Vec<String>,
    /// The public base URL of a new receiver.
    pub webhook_url: Option<String>,
    /// Ask even if the service asked an earlier run to wait.
    pub lift_pause: bool,
    /// Ask even if the service stated a charge for an earlier order.
    pub continue_anyway: bool,
    /// The proxy of the command line.
    pub proxy: Option<String>,
}

/// Asks the service to deliver results again. `place` is an output folder, `config` a campaign file that says where the
/// API key is, and `service` names the service.
///
/// # Errors
/// The order is wrong, or the ledger, the API key or the inbox cannot be used. Nothing was sent.
pub async fn retry_webhook(
    place: &Path,
    config: Option<&Path>,
    service: Option<&str>,
    order: &RedeliveryOrder,
) -> Result<Redeliveries, Error> {
    let mut collection = Collection::find(place, None, config, NamedService { url: service, moved_from: None })?;
    collection.campaign_mut().service.settings.proxy_flag.clone_from(&order.proxy);
    let campaign = &collection.campaign;
    if campaign.service.simulate {
        let fault = "this ledger belongs to the built-in simulator, which ends with each run and delivers nothing";
        return Err(Error::Config(fault.to_owned()));
    }
    let url = campaign.service.settings.url.clone().unwrap_or_default();
    let base = order.webhook_url.as_deref().map(|text| checked(text, Some(&url))).transpose()?;
    let reading = Reading::open(&campaign.ledger)?;
    refuse_older(campaign, &reading)?;
    let jobs = jobs(&reading, &order.jobs)?;
    if jobs.is_empty() && base.is_none() {
        return Ok(Redeliveries::default());
    }
    // Only this command keeps a stop without settings.
    if let Some(stop) = kept_stop(&reading.sums()?, "").filter(|_| !order.continue_anyway) {
        return Err(Error::Stopped(stop));
    }
    let specs = specs(&jobs, config)?;
    let api_key = campaign.service.api_key()?;
    if !(collection.is_confirmed || known_service::is_known(campaign, &api_key)) {
        return Err(Error::Stopped(Stop::UnknownService { url }));
    }
    let receiver = match base {
        Some(base) => Some(other_receiver(&collection, base).await?),
        None => None,
    };
    let scope = api_key.fingerprint();
    let (own, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.scope.as_ref() == Some(&scope));
    let mut done = Redeliveries {
        receiver: receiver.as_ref().map(|receiver| receiver.url.clone()),
        of: own.len() + others.len(),
        withheld: others.into_iter().map(|job| job.id).collect(),
        ..Redeliveries::default()
    };
    if own.is_empty() {
        return Ok(done);
    }
    let asking = Asking::new(campaign, &reading, &api_key, receiver).await?;
    if let Some(until_us) = asking.paused(&reading, order.lift_pause)? {
        done.stop = Some(Stop::PushedBack { until_us });
        return Ok(done);
    }
    for job in &own {
        let mut charged = None;
        match asking.ask(job, &specs[&job.check], &mut charged).await? {
            Continue(None) => done.accepted += 1,
            Continue(Some(refusal)) => done.refused.push((job.id.clone(), refusal)),
            Break(stop) => done.stop = Some(stop),
        }
        if let Some(credits) = charged {
            book(&collection, job, credits).await;
            done.charged = Some((job.id.clone(), credits));
        }
        if done.stop.is_some() || done.charged.is_some() {
            break;
        }
    }
    if let Some(Stop::PushedBack { until_us }) = done.stop {
        note_pause(&collection, until_us).await;
    }
    Ok(done)
}

/// Records the pause that the service asked for, so that the next run obeys it. A run that holds the ledger hears of it
/// from the service.
async fn note_pause(collection: &Collection, until_us: i64) {
    let noted = match opened(collection) {
        Ok(ledger) => ledger.pause_until(until_us, collection.campaign.clock.now_us()).await,
        Err(LedgerError::InUse { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = noted {
        tracing::warn!("the pause that the service asked for is not recorded: {error}");
    }
}

/// Books what a delivery was charged, and keeps the next run from sending until the user decides.
async fn book(collection: &Collection, job: &NamedJob, credits: Credits) {
    let booked = async {
        let ledger = opened(collection)?;
        ledger.charged_beside(job.request, credits).await?;
        let (exit_code, message) = (ExitCode::Doubt as u8, charged_line(&job.id, credits));
        let at_us = collection.campaign.clock.now_us();
        ledger.keep_stop(Some(KeptStop { exit_code, message, settings: String::new(), at_us, remedy: None })).await
    };
    if let Err(error) = booked.await {
        tracing::warn!(
            "the charge of {credits} credits for the delivery of job {} is not recorded: {error}. When nothing else uses \
             the ledger, add it to what is booked with `rescreen resolve --request {} --charge N --reason \"WHY\"`",
            job.id,
            job.request.0
        );
    }
}

fn opened(collection: &Collection) -> Result<Ledger, LedgerError> {
    let campaign = &collection.campaign;
    Ledger::open(&campaign.ledger, &collection.identity, campaign.commit_mode, campaign.clock.now_us())
}

/// The jobs that the order is about.
fn jobs(reading: &Reading, named: &[String]) -> Result<Vec<NamedJob>, Error> {
    let unknown = |text: &str| {
        Error::Config(format!("--job {text}: expected the id of a job of this ledger, found none that is called so"))
    };
    let mut ids: Vec<JobId> = Vec::new();
    for text in named {
        let id = JobId::new(text).ok_or_else(|| unknown(text))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let jobs = reading.jobs_named(&ids)?;
    match ids.iter().find(|id| !jobs.iter().any(|job| job.id == **id)) {
        Some(id) => Err(unknown(id.as_str())),
        None => Ok(jobs),
    }
}

/// The declared jobs of the checks, with the route that delivers again. They are the user's, never the ledger's.
fn specs(jobs: &[NamedJob], config: Option<&Path>) -> Result<BTreeMap<String, JobSpec>, Error> {
    let declared = config.map(read_file).transpose()?.map(|file| file.declarations).unwrap_or_default();
    let known = declared.into_iter().try_fold(Catalogue::built_in(), Catalogue::with)?;
    let mut specs = BTreeMap::new();
    for NamedJob { check, .. } in jobs {
        let spec = known.get(check).ok().and_then(|one| one.job.clone());
        let Some(spec) = spec.filter(|spec| spec.retry_webhook.is_some()) else {
            return Err(Error::Config(format!(
                "check `{check}`: expected `retry_webhook` under [job] of its declaration, found none; the service has no \
                 route that delivers its results again. If you have declared one, pass the campaign file with -c FILE; \
                 name the jobs of other checks with --job ID"
            )));
        };
        specs.insert(check.clone(), spec);
    }
    Ok(specs)
}

/// Makes a receiver of the ledger, which the inbox knows before anything is sent.
async fn other_receiver(collection: &Collection, base: String) -> Result<NewReceiver, Error> {
    let campaign = &collection.campaign;
    let ledger = opened(collection)?;
    let made = new_receiver(base);
    campaign.register(&mut campaign.open_inbox()?, &made)?;
    ledger.add_receiver(made.clone(), campaign.clock.now_us()).await?;
    Ok(NewReceiver { url: delivery_url(&made.base, &id_of(&made)?), secret: made.secret.into() })
}

/// What asking needs.
struct Asking<'a> {
    campaign: &'a Campaign,
    client: Client,
    throttle: Throttle,
    receiver: Option<NewReceiver>,
    /// Whether the simulator or the service answers this ledger, if it is known.
    simulated: Option<bool>,
}

impl<'a> Asking<'a> {
    async fn new(
        campaign: &'a Campaign,
        reading: &Reading,
        api_key: &ApiKey,
        receiver: Option<NewReceiver>,
    ) -> Result<Asking<'a>, Error> {
        let url = campaign.service.settings.url.clone().unwrap_or_default();
        let mut settings = campaign.service.client_settings(url, api_key.clone())?;
        settings.known_secrets = reading.receivers()?.into_iter().map(|receiver| receiver.secret.into()).collect();
        // It spends no credits.
        let account = account_use(&campaign.service, api_key, Bucket::Empty, campaign.clock, None).await?;
        let throttle = Throttle::new(campaign.service.pace(), account.bucket);
        let simulated = reading.sums()?.simulated;
        Ok(Asking { campaign, client: Client::new(&settings)?, throttle, receiver, simulated })
    }

    /// Obeys the pause that the ledger records: a short one closes the gate, and the end of a long one is returned.
    fn paused(&self, reading: &Reading, is_lifted: bool) -> Result<Option<i64>, Error> {
        if is_lifted {
            return Ok(None);
        }
        let now_us = self.campaign.clock.now_us();
        let Some(until_us) = paused_until(&reading.sums()?, now_us) else { return Ok(None) };
        let left = Duration::from_micros(until_us.saturating_sub(now_us).unsigned_abs());
        if left > PUSH_BACK_MAX {
            return Ok(Some(until_us));
        }
        self.throttle.pause_until(Instant::now() + left, EARLIER_PAUSE);
        Ok(None)
    }

    /// Asks for one job. A refusal of the job is returned; anything else stops. `charged` is set if a reply states a
    /// charge; then the job is not asked for again.
    async fn ask(
        &self,
        job: &NamedJob,
        spec: &JobSpec,
        charged: &mut Option<Credits>,
    ) -> Result<ControlFlow<Stop, Option<DeliveryRefusal>>, Error> {
        let auth = self.campaign.service.auth_of(&job.check);
        let mut delays = Delays::new(self.campaign.clock.now_us().unsigned_abs());
        let mut last = String::new();
        for _ in 0..TRIES_MAX {
            let permit = match self.throttle.admit().await {
                Ok(permit) => permit,
                Err(stop) => return Ok(Break(stop)),
            };
            let exchange = self.client.deliver_again(permit, spec, &job.id, auth, self.receiver.as_ref()).await;
            if let Ok(reply) = &exchange.reply
                && self.simulated.is_some_and(|simulated| simulated != reply.simulated)
            {
                return Ok(Break(Stop::OtherSide { simulated: reply.simulated }));
            }
            let now = self.campaign.clock.now();
            let said = Said::of(&exchange, now.into());
            let pointer = self.campaign.service.settings.charge_pointer.as_deref();
            *charged = said.unexpected_charge(pointer, job.price).map(|stated| stated.credits().unwrap_or(job.price));
            tracing::debug!(job = %job.id, latency_ms = exchange.latency.as_millis(), "asked to deliver again");
            let not_answered = match redelivered(&said) {
                Redelivered::Accepted => return Ok(Continue(None)),
                Redelivered::Refused(refusal) => return Ok(Continue(Some(refusal))),
                Redelivered::NotAnswered(not_answered) => not_answered,
            };
            match not_answered {
                NotAnswered::Unauthorised { status } => return Ok(Break(Stop::Unauthorised { status })),
                NotAnswered::Untrusted { host, fault } => return Ok(Break(Stop::Untrusted { host, fault })),
                NotAnswered::OfAnother { status } | NotAnswered::Redirect { status, .. } => {
                    return Ok(Break(Stop::NotTheService { found: format!("HTTP {status}") }));
                }
                NotAnswered::PushedBack(PushBack::Stated(wait)) if wait > PUSH_BACK_MAX => {
                    return Ok(Break(Stop::PushedBack { until_us: pause_end(wait, now.as_microsecond()) }));
                }
                NotAnswered::PushedBack(push_back) => {
                    last = "it asks to wait again and again".to_owned();
                    let until = Instant::now() + push_back.wait_or(PUSH_BACK_UNSTATED);
                    self.throttle.pause_until(until, "the service asks to wait");
                }
                NotAnswered::Unavailable { message } => {
                    last = message;
                    if charged.is_none() {
                        tokio::time::sleep(delays.next_delay()).await;
                    }
                }
            }
            if charged.is_some() {
                break;
            }
        }
        Ok(Break(Stop::Unavailable { message: last }))
    }
}
