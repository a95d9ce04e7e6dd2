//! Collect: settles requests that were sent, follows jobs and publishes the answers, from the ledger alone. It sends no
//! new requests, so it works even if the inputs or the campaign file were edited or lost.
//!
//! This module decides whether anything may be sent at all. The ledger says where its requests were sent, and the API
//! key would be sent there too. So a key is used only if requests of this ledger were sent under it, and only if a run
//! on this machine sent it to the same service in the same way, or the user names the service.

use super::{
    campaign::{
        Campaign,
        file::CampaignFile,
        out_folder::claim,
        place::ledger_in,
        read_file,
        recorded::campaign_of,
        remains::{refuse_older, set_aside_unknown},
        rules::{compile_rules, use_rules},
    },
    intake::IntakeProgress,
    partition_outputs,
    prepare::{context, known_service},
    publish::{PublishOptions, Publisher},
    report::{Remarks, RunReport},
    run::publish_and_report,
    run_record::{NextCommand, recorded},
    send::{
        Progress, RunChannels, SendEnd, Signal,
        account_use::{account_use, partition_of},
        earlier_stop::EarlierStop,
        follow::{FollowUntil, Following},
        queue::RequestQueue,
    },
    sending::Sending,
};
use crate::{
    catalogue::Catalogue,
    client::Client,
    error::Error,
    ledger::{Consent, Identity, Ledger, LedgerError, Reading, Sums},
    model::{Stop, same_service, state::State},
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

/// The options of collecting.
#[derive(Default)]
pub struct CollectOptions {
    /// Follow jobs until they have ended, but drain, publish and end after this time. Without it, each job is asked for
    /// once.
    pub at_most: Option<Duration>,
    pub earlier_stop: EarlierStop,
    /// Publish answers that no rule recognises as results.
    pub accept_unrecognised: bool,
    /// Makes the command that continues, which the report and the ledger name.
    pub next_command: Option<NextCommand>,
}

/// The service as the user names it, beside what the ledger says.
#[derive(Debug, Clone, Copy, Default)]
pub struct NamedService<'a> {
    pub url: Option<&'a str>,
    /// The address that it had before, if the user says that it has moved.
    pub moved_from: Option<&'a str>,
}

/// A ledger to settle and publish.
pub struct Collection {
    pub(super) campaign: Arc<Campaign>,
    pub(super) identity: Identity,
    consents: Vec<Consent>,
    /// The user named the service that the ledger records.
    pub(super) is_confirmed: bool,
    /// Why nothing may be sent: the routes of a check are not those that the user declares.
    routes_fault: Option<String>,
}

impl Collection {
    /// Reads the ledger at `place`, an output folder or a ledger file; a ledger file needs `out`. `config` is a
    /// campaign file that says where the API key is.
    ///
    /// # Errors
    /// There is no ledger, no run of it has sent anything, or the campaign file cannot be read.
    pub fn find(
        place: &Path,
        out: Option<PathBuf>,
        config: Option<&Path>,
        service: NamedService<'_>,
    ) -> Result<Collection, Error> {
        match place.try_exists() {
            Ok(true) => {}
            Ok(false) => {
                return Err(Error::Config(format!(
                    "{}: expected the output folder of a campaign, found no file or folder with this name",
                    place.display()
                )));
            }
            Err(_) => return Err(LedgerError::NoAccess { path: place.to_owned() }.into()),
        }
        let ledger = ledger_in(place);
        let apart = || {
            Error::Config(format!(
                "{} is a ledger file: pass the folder of its results with --out DIR",
                place.display()
            ))
        };
        let out = out.or_else(|| place.is_dir().then(|| place.to_owned())).ok_or_else(apart)?;
        let file = config.map(read_file).transpose()?;
        let base = config.and_then(Path::parent).unwrap_or(Path::new(""));
        let reading = Reading::open_older(&ledger)?;
        let campaign = campaign_of(&reading, &ledger, &out, file.as_ref().map(|file| (file, base)));
        // What it lacks may be in commits that it has lost.
        let mut campaign = campaign.or_else(|error| Reading::open(&ledger).map_err(Error::from).and(Err(error)))?;
        let NamedService { url: service, moved_from } = service;
        let named = service.or_else(|| file.as_ref()?.service.url.as_deref());
        let recorded = campaign.service.settings.url.clone();
        let is_url = |named: &str| recorded.as_deref().is_some_and(|url| same_service(named, url));
        let is_confirmed = named.is_some_and(is_url) || moved_from.is_some_and(is_url);
        if let Some(from) = moved_from {
            campaign.moves_from(from)?;
            let no_target =
                || Error::Config("--service-moved-from: say with --service URL where the service is now".to_owned());
            campaign.service.settings.url = Some(named.ok_or_else(no_target)?.to_owned());
        }
        let mut routes_fault = None;
        if is_confirmed {
            routes_fault = use_only_user_settings(&mut campaign, file.as_ref(), base)?;
        } else if let (Some(named), Some(url)) = (service, &recorded) {
            return Err(Error::Config(format!(
                "--service {named}: the requests of this ledger were sent to {url}; name that service"
            )));
        }
        let origin = campaign.origin();
        Ok(Collection {
            campaign: Arc::new(campaign),
            identity: Identity { origin, moved_from: moved_from.map(str::to_owned), ..reading.identity()? },
            consents: reading.consents()?,
            is_confirmed,
            routes_fault,
        })
    }

    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// The recorded evidence of consent.
    pub fn consents(&self) -> &[Consent] {
        &self.consents
    }

    /// The campaign, to replace the recorded service by the built-in simulator of this process.
    pub fn campaign_mut(&mut self) -> &mut Campaign {
        Arc::make_mut(&mut self.campaign)
    }

    /// Settles what is in doubt and publishes.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn collect(
        self,
        mut options: CollectOptions,
        signals: mpsc::Receiver<Signal>,
        progress: watch::Sender<Progress>,
    ) -> Result<RunReport, Error> {
        let campaign = Arc::clone(&self.campaign);
        compile_rules(&campaign)?;
        let now_us = campaign.clock.now_us();
        if let Some(ledger) = Reading::find(&campaign.ledger)? {
            refuse_older(&campaign, &ledger)?;
        }
        let open = if campaign.accept_older_ledger { Ledger::open_older } else { Ledger::open };
        let ledger = Arc::new(open(&campaign.ledger, &self.identity, campaign.commit_mode, now_us)?);
        ledger.note_service(self.identity.origin.clone(), now_us).await?;
        ledger.recover(now_us).await?;
        let next_command = options.next_command.take();
        let work = Box::pin(self.work(Arc::clone(&ledger), options, signals, progress));
        recorded(&ledger, &campaign, "collect", next_command, work).await
    }

    async fn work(
        self,
        ledger: Arc<Ledger>,
        CollectOptions { at_most, earlier_stop, accept_unrecognised, .. }: CollectOptions,
        signals: mpsc::Receiver<Signal>,
        progress: watch::Sender<Progress>,
    ) -> Result<RunReport, Error> {
        let Collection { mut campaign, is_confirmed, routes_fault, .. } = self;
        set_aside_unknown(&campaign, &ledger)?;
        claim(&campaign.out, &campaign.name, &ledger.reading()?)?;
        let was_complete = ledger.sums().completed_at_us.is_some();
        let rules = use_rules(&campaign, &ledger).await?;
        let publish = PublishOptions { rules, accept_unrecognised, ..PublishOptions::default() };
        let publisher = Arc::new(Publisher::new(&campaign, Arc::clone(&ledger), publish)?);
        let mut end = SendEnd::nothing(None, signals);
        let mut used = None;
        let (in_doubt, jobs) = (in_doubt(&ledger.sums()), ledger.sums().in_state(State::Submitted));
        let open = in_doubt + jobs;
        if let Some(fault) = routes_fault.filter(|_| open > 0) {
            return Err(Error::Config(fault));
        }
        // The API key may come from a program that asks the user. It is read once, and only if something is left to
        // settle.
        let is_left = open > 0 || ledger.sums().in_state(State::Planned) > 0;
        let api_key = is_left.then(|| campaign.service.api_key());
        let is_known = matches!(&api_key, Some(Ok(api_key)) if known_service::is_known(&campaign, api_key));
        if !is_known {
            // A ledger that others may have changed must not suggest a command to the user.
            Arc::make_mut(&mut campaign).command.clear();
        }
        if let Some(api_key) = api_key.filter(|_| open > 0) {
            let api_key = api_key?;
            let (reading, scope) = (ledger.reading()?, api_key.fingerprint());
            let in_doubt_under_it = reading.doubts_by_api_key()?.get(&scope).copied().unwrap_or_default();
            let known = in_doubt_under_it + reading.open_jobs(Some(&scope))?.count;
            let is_here = campaign.service.simulate || campaign.service.in_process.is_some();
            if known == 0 {
                (end.sent.withheld, end.sent.withheld_jobs) = (in_doubt, jobs);
            } else if !(is_here || is_confirmed || is_known) {
                let url = campaign.service.settings.url.clone().unwrap_or_default();
                end.sent.stops.push(Stop::UnknownService { url });
            } else {
                if let Some(url) = &campaign.service.settings.url {
                    Client::new(&campaign.service.client_settings(url.clone(), api_key.clone())?)?;
                }
                let (service, partition) = (&campaign.service, partition_of(&campaign.service, &ledger)?);
                let account = account_use(service, &api_key, Bucket::Empty, campaign.clock, Some(partition)).await?;
                let context = context(&campaign, &ledger, &api_key, account, None)?;
                let (_taken, intake) = watch::channel(IntakeProgress { done: true, ..IntakeProgress::default() });
                let deadline = at_most.map(|at_most| Instant::now() + at_most);
                let channels = RunChannels { signals: end.signals, progress, intake, deadline };
                let queue = RequestQueue::of_doubts(ledger.reading()?)?;
                let until = if at_most.is_some() { FollowUntil::AllEnded } else { FollowUntil::AllAsked };
                let following = Following::new(until, reading, &context)?;
                used = Some(Arc::clone(&context));
                let before = Arc::clone(&context);
                let sending = Sending { context, queue, following, channels, retry: None };
                let (ended, publishing) = sending.send(&publisher, earlier_stop.pause(&before)).await?;
                end = ended;
                publishing.finish().await?;
            }
        }
        let remarks = Remarks { was_complete, collected: true, ..Remarks::default() };
        let entered = if used.is_none() { partition_outputs::enter(&campaign, &ledger).await } else { None };
        let purse = used.as_deref().map(|context| &context.purse).or(entered.as_ref());
        let report = publish_and_report(&campaign, &ledger, publisher, end, Ok(()), remarks, purse).await;
        if let Some(purse) = &entered {
            partition_outputs::leave(purse, &ledger).await;
        }
        report
    }
}

/// Takes proxy, certificate authority and routes from the campaign file or the built-in catalogue, never from the
/// ledger. Returns why nothing may be sent, if the routes are not those of the user.
fn use_only_user_settings(
    campaign: &mut Campaign,
    file: Option<&CampaignFile>,
    base: &Path,
) -> Result<Option<String>, Error> {
    let table = file.map(|file| &file.service);
    campaign.service.settings.proxy = table.and_then(|table| table.proxy.clone());
    campaign.service.settings.ca_file = table.and_then(|table| table.ca_file.as_ref()).map(|path| base.join(path));
    let declared = file.map(|file| file.declarations.clone()).unwrap_or_default();
    let known = declared.into_iter().try_fold(Catalogue::built_in(), Catalogue::with)?;
    for one in campaign.checks() {
        if known.get(&one.name).is_ok_and(|known| known.routes == one.routes) {
            continue;
        }
        return Ok(Some(format!(
            "only the ledger declares the routes of `{}` that its requests were sent to, and it could have been changed; \
             pass the campaign file that declares them with -c FILE",
            one.name
        )));
    }
    Ok(None)
}

fn in_doubt(sums: &Sums) -> u64 {
    sums.in_state(State::InDoubt) + sums.in_state(State::Repeating)
}
