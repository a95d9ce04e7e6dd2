//! Asks the service to deliver the results of jobs again. It needs only the ledger, changes nothing in it but its
//! receiver and the pause that the service asks for, and should cost no credits. A charge that a reply states all the same
//! is booked, and the next run and the next order stop until the user decides.
//!
//! This module decides for which jobs anything is asked, and under the rules of [`collect`](super::collect): the API key
//! is sent only to a service that the user named or that a run on this machine used, and the path of the request comes
//! from the user's declarations, never from the ledger.

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
        bucket::bucket,
        earlier_stop::{EARLIER_PAUSE, kept_stop, paused_until},
        gate::{PAUSE_KEPT_MAX, PUSH_BACK_MAX, PUSH_BACK_UNSTATED, micros},
    },
    wording::counted,
};
use crate::{
    catalogue::{Catalogue, JobSpec},
    client::{ApiKey, Client, Delays, NewReceiver, Redelivered, redelivered, stated_charge},
    error::Error,
    ledger::{KeptStop, Ledger, LedgerError, NamedJob, Reading},
    model::{Credits, ExitCode, JobId, Stop},
    throttle::{Bucket, Throttle},
};
use std::{
    collections::BTreeMap,
    ops::ControlFlow::{self, Break, Continue},
    path::Path,
    time::Duration,
};
use tokio::time::Instant;

/// How often one job is asked for if the service does not answer or asks to wait.
const TRIES_MAX: u32 = 4;
/// The status of a refusal that says that a job has no result yet.
const NOT_COMPLETED: u16 = 409;
/// The most jobs that are named in one report.
const NAMED_MAX: usize = 20;

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

/// What became of the order.
#[derive(Debug, Clone, Default)]
pub struct Redeliveries {
    /// The new receiver's URL.
    pub receiver: Option<String>,
    /// The number of jobs that the order is about.
    pub of: usize,
    /// The number of jobs whose result the service delivers again.
    pub accepted: usize,
    /// The jobs that the service refused, with the status and its message.
    pub refused: Vec<(JobId, u16, String)>,
    /// Jobs of another API key.
    pub withheld: Vec<JobId>,
    /// The job whose reply states a charge, although nothing should be charged, and what was booked for it. No more was
    /// asked for then.
    pub charged: Option<(JobId, Credits)>,
    pub stop: Option<Stop>,
}

impl Redeliveries {
    pub fn exit_code(&self) -> ExitCode {
        let is_failure = |(_, status, _): &(JobId, u16, String)| *status != NOT_COMPLETED;
        let failures = if self.refused.iter().any(is_failure) { ExitCode::Failures } else { ExitCode::Complete };
        let is_doubt = !self.withheld.is_empty() || self.charged.is_some();
        let doubt = if is_doubt { ExitCode::Doubt } else { ExitCode::Complete };
        self.stop.as_ref().map_or(ExitCode::Complete, Stop::exit_code).or(doubt).or(failures)
    }

    /// What happened, in words.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(url) = &self.receiver {
            let jobs = match (self.accepted, self.of - self.accepted) {
                (0, 0) => "",
                (_, 0) => ", and the service delivers the jobs asked for here to it",
                (0, _) => "; whether the service delivers any job to it is not known",
                _ => ", and the service delivers the accepted jobs to it; for the other jobs this is not known",
            };
            lines.push(format!("new receiver: {url}; new requests of this ledger name it{jobs}"));
        }
        lines.push(match self.of {
            0 => "the ledger has no job without a result; name ended ones with --job ID".to_owned(),
            of => format!("the service delivers {} of {} again", self.accepted, counted(of as u64, "job", "jobs")),
        });
        for (job, status, message) in self.refused.iter().take(NAMED_MAX) {
            lines.push(match (status, message.as_str()) {
                (&NOT_COMPLETED, "") => format!("job {job}: it has no result yet (HTTP {status})"),
                (&NOT_COMPLETED, message) => format!("job {job}: it has no result yet (HTTP {status}): {message}"),
                (404, _) => format!("job {job}: the service does not know it (HTTP {status})"),
                (_, "") => format!("job {job}: refused (HTTP {status})"),
                (_, message) => format!("job {job}: refused (HTTP {status}): {message}"),
            });
        }
        if self.refused.len() > NAMED_MAX {
            lines.push(format!("and {} more", self.refused.len() - NAMED_MAX));
        }
        if !self.withheld.is_empty() {
            let named: Vec<&str> = self.withheld.iter().take(NAMED_MAX).map(JobId::as_str).collect();
            let more = if self.withheld.len() > NAMED_MAX { ", …" } else { "" };
            lines.push(format!(
                "{} accepted under another API key and left alone: {}{more}",
                counted(self.withheld.len() as u64, "job was", "jobs were"),
                named.join(", ")
            ));
        }
        lines.extend(self.charged.as_ref().map(|(job, credits)| charged_line(job, *credits)));
        lines.extend(self.stop.as_ref().map(|stop| format!("stopped: {stop}")));
        lines
    }
}

/// What is said about a charge for a delivery.
fn charged_line(job: &JobId, credits: Credits) -> String {
    format!(
        "job {job}: the reply states a charge, or an amount that cannot be read, although delivering again should be free. \
         {credits} credits are booked for it, and no more was asked for: compare the balance (`rescreen credits`), ask the \
         service, and then continue with --continue-anyway"
    )
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
    let asking = Asking::new(campaign, &reading, &api_key, receiver)?;
    if let Some(until_us) = asking.paused(&reading, order.lift_pause)? {
        done.stop = Some(Stop::PushedBack { until_us });
        return Ok(done);
    }
    for job in &own {
        let mut charged = None;
        match asking.ask(job, &specs[&job.check], &mut charged).await? {
            Continue(None) => done.accepted += 1,
            Continue(Some((status, message))) => done.refused.push((job.id.clone(), status, message)),
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
    fn new(
        campaign: &'a Campaign,
        reading: &Reading,
        api_key: &ApiKey,
        receiver: Option<NewReceiver>,
    ) -> Result<Asking<'a>, Error> {
        let url = campaign.service.settings.url.clone().unwrap_or_default();
        let mut settings = campaign.service.client_settings(url, api_key.clone())?;
        settings.known_secrets = reading.receivers()?.into_iter().map(|receiver| receiver.secret.into()).collect();
        let (bucket, _) = bucket(&campaign.service, api_key, Bucket::Empty, campaign.clock);
        let throttle = Throttle::new(campaign.service.pace(), bucket);
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

    /// Asks for one job. A refusal of the job is returned with its status and message; anything else stops. `charged` is
    /// set if a reply states a charge; then the job is not asked for again.
    async fn ask(
        &self,
        job: &NamedJob,
        spec: &JobSpec,
        charged: &mut Option<Credits>,
    ) -> Result<ControlFlow<Stop, Option<(u16, String)>>, Error> {
        let auth = self.campaign.service.auth_of(&job.check);
        let mut delays = Delays::new(self.campaign.clock.now_us().unsigned_abs());
        let mut last = String::new();
        for _ in 0..TRIES_MAX {
            let permit = self.throttle.admit().await;
            let exchange = self.client.deliver_again(permit, spec, &job.id, auth, self.receiver.as_ref()).await;
            if let Ok(reply) = &exchange.reply
                && self.simulated.is_some_and(|simulated| simulated != reply.simulated)
            {
                return Ok(Break(Stop::OtherSide { simulated: reply.simulated }));
            }
            let stated = stated_charge(&exchange, self.campaign.service.settings.charge_pointer.as_deref(), job.price);
            *charged = stated.map(|stated| stated.credits().unwrap_or(job.price));
            let now = self.campaign.clock.now();
            tracing::debug!(job = %job.id, latency_ms = exchange.latency.as_millis(), "asked to deliver again");
            match redelivered(&exchange, now.into()) {
                Redelivered::Accepted => return Ok(Continue(None)),
                Redelivered::Refused { status, message } => return Ok(Continue(Some((status, message)))),
                Redelivered::Unauthorised { status } => return Ok(Break(Stop::Unauthorised { status })),
                Redelivered::Untrusted { host, fault } => return Ok(Break(Stop::Untrusted { host, fault })),
                Redelivered::NotTheService { status } => {
                    return Ok(Break(Stop::NotTheService { found: format!("HTTP {status}") }));
                }
                Redelivered::PushedBack { wait: Some(wait) } if wait > PUSH_BACK_MAX => {
                    let until_us = now.as_microsecond().saturating_add(micros(wait.min(PAUSE_KEPT_MAX)));
                    return Ok(Break(Stop::PushedBack { until_us }));
                }
                Redelivered::PushedBack { wait } => {
                    last = "it asks to wait again and again".to_owned();
                    self.throttle
                        .pause_until(Instant::now() + wait.unwrap_or(PUSH_BACK_UNSTATED), "rate limit, HTTP 429");
                }
                Redelivered::Unavailable { message } => {
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
