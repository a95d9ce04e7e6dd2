//! Preparation of a run: ledger, inputs, mapping and service are opened and validated against each other before
//! anything is sent, so that a mistake costs nothing.

pub mod known_service;

use super::{
    blocking::blocking,
    campaign::{
        Campaign,
        out_folder::{claim, refuse_inputs_inside},
        recorded,
        remains::{refuse_lost_ledger, set_aside, set_aside_unknown},
        result_layout::{ResultLayout, check_layouts},
        rules::compile_rules,
    },
    intake::{Intake, body_receiver::BodyReceiver, remap::remap},
    send::{
        bucket::bucket,
        context::{CheckContext, RunContext},
        file_body::FileBodies,
        judge::Judge,
        limit::Limit,
    },
};
use crate::{
    catalogue::{Declaration, DeclaredCheck},
    client::{ApiKey, Client},
    error::Error,
    ledger::{CheckUseRow, Identity, Ledger, LedgerError, Reading},
    mapping::FieldFeed,
    model::{
        Mode,
        clock::ClockWatch,
        planted::{Bug, planted},
        state::State,
    },
    template::{Tables, Templates},
    throttle::{Bucket, Throttle},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// A campaign whose ledger and inputs are open and match. Nothing has been sent yet.
pub struct Prepared {
    pub campaign: Arc<Campaign>,
    pub ledger: Arc<Ledger>,
    pub intake: Intake,
    api_key: ApiKey,
    bucket: Bucket,
    rate_note: Option<String>,
    set_aside: Option<PathBuf>,
}

impl Prepared {
    /// Opens ledger and inputs.
    ///
    /// # Errors
    /// The ledger belongs to another campaign or is in use, an input changed, the mapping does not match the columns,
    /// or the API key is missing.
    pub async fn open(campaign: Campaign) -> Result<Prepared, Error> {
        compile_rules(&campaign)?;
        check_layouts(&campaign)?;
        let api_key = campaign.service.api_key()?;
        if let Some(url) = &campaign.service.url {
            // Validated first, so that a mistake in the service settings does not leave a ledger behind.
            Client::new(&campaign.service.client_settings(url.clone(), api_key.clone())?)?;
        }
        let identity = Identity {
            campaign: campaign.name.clone(),
            mode: campaign.mode,
            origin: campaign.origin(),
            key_secret: campaign.key_secret.as_ref().map(crate::model::KeySecret::fingerprint),
        };
        let (commit_mode, now_us) = (campaign.commit_mode, campaign.clock.now_us());
        refuse_inputs_inside(&campaign)?;
        let set_aside = if campaign.new_ledger { set_aside(&campaign, &identity)? } else { None };
        // An existing ledger is opened before the inputs: if it is in use or of another campaign, the run fails at
        // once. A new ledger is created after the inputs are opened, so that a mistake in them does not leave an empty
        // ledger behind.
        let reading = Reading::find(&campaign.ledger)?;
        let fresh = reading.is_none();
        if fresh {
            refuse_lost_ledger(&campaign)?;
        }
        let older = campaign.accept_older_ledger;
        let open = |path: &Path| {
            if older {
                Ledger::open_older(path, &identity, commit_mode, now_us)
            } else {
                Ledger::open(path, &identity, commit_mode, now_us)
            }
        };
        let existing = if fresh { None } else { Some(open(&campaign.ledger)?) };
        let known = reading.map(|reading| reading.sources()).transpose()?.unwrap_or_default();
        let campaign = Arc::new(campaign);
        let for_intake = Arc::clone(&campaign);
        let intake = blocking(commit_mode, move || Intake::open(&for_intake, &known)).await;
        let intake = intake.map_err(|error| match &existing {
            Some(ledger) => paid_for(error, &campaign, ledger),
            None => error,
        })?;
        let ledger = match existing {
            Some(ledger) => ledger,
            None => {
                crate::sink::create_folder(campaign.ledger.parent().unwrap_or(Path::new(".")))?;
                let ledger = open(&campaign.ledger)?;
                if !ledger.was_created() {
                    // Another process has created it meanwhile. The inputs were not validated against what it ingested.
                    return Err(LedgerError::BegunMeanwhile.into());
                }
                ledger
            }
        };
        let ledger = Arc::new(ledger);
        ledger.recover(campaign.clock.now_us()).await?;
        let set_aside = set_aside.map_or_else(|| set_aside_unknown(&campaign, &ledger), |folder| Ok(Some(folder)))?;
        // Checked again: the path of an input may only resolve now that the output folder exists.
        crate::sink::create_folder(&campaign.out)?;
        refuse_inputs_inside(&campaign)?;
        claim(&campaign.out, &campaign.name, &Reading::open(ledger.path())?)?;
        let private = if fresh || planted(Bug::BucketFullAtStart) { Bucket::Full } else { Bucket::Empty };
        let (bucket, rate_note) = bucket(&campaign.service, &api_key, private, campaign.clock);
        Ok(Prepared { campaign, ledger, intake, api_key, bucket, rate_note, set_aside })
    }

    /// The folder to which `--new-ledger` or `--accept-older-ledger` moved the results of an earlier campaign.
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    /// Records what `rescreen collect` needs to settle and publish without the campaign file.
    pub async fn record_settings(&self) -> Result<(), Error> {
        if let Err(error) = known_service::note(&self.campaign, &self.api_key) {
            tracing::info!("the state folder cannot be written ({error}): `rescreen collect` will need --service");
        }
        Ok(self.ledger.record_settings(recorded::settings_of(&self.campaign)?).await?)
    }

    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The fingerprint of the API key.
    pub fn scope(&self) -> String {
        self.api_key.fingerprint()
    }

    /// A hint by which the user can recognise the API key.
    pub fn key_hint(&self) -> String {
        self.api_key.hint()
    }

    /// Why the rate is not shared with other runs on this machine, if it is not.
    pub fn rate_note(&self) -> Option<&str> {
        self.rate_note.as_deref()
    }

    /// The column, template or constant that fills each field.
    pub fn feeds(&self) -> Vec<FieldFeed> {
        self.intake.feeds()
    }

    /// The checks of the campaign as the ledger records them.
    pub fn check_uses(&self) -> Result<Vec<CheckUseRow>, Error> {
        let recorded = Reading::open(self.ledger.path())?.check_uses()?;
        let row = |one: &crate::mapping::CheckUse| {
            let declaration = self.campaign.catalogue.get(&one.check)?;
            let layout = ResultLayout::new(&self.campaign, one)?;
            layout.schema()?;
            let known = recorded.values().find(|row| row.name == one.name());
            let layout = layout.agreed(known, DeclaredCheck::of(declaration).is_none())?;
            Ok(CheckUseRow { name: one.name().to_owned(), check: one.check.clone(), layout })
        };
        self.campaign.uses.iter().map(row).collect()
    }

    /// Remaps the asks that failed to map in an earlier run.
    pub async fn remap(&self, check_uses: &[i64], receiver: BodyReceiver) -> Result<(), Error> {
        let (ledger, mapping) = (Arc::clone(&self.ledger), self.intake.mapping());
        let checks = self.campaign.uses.iter().map(|one| one.check.clone());
        let uses: Vec<(i64, String)> = check_uses.iter().copied().zip(checks).collect();
        blocking(self.campaign.commit_mode, move || remap(&ledger, &mapping, &uses, &receiver)).await
    }

    /// The run context that all attempts of this run share.
    pub fn context(&mut self) -> Result<Arc<RunContext>, Error> {
        let bucket = std::mem::replace(&mut self.bucket, Bucket::Empty);
        context(&self.campaign, &self.ledger, &self.api_key, bucket)
    }
}

/// Adds to an input error how to settle and publish the requests that were already sent, if there are any.
fn paid_for(error: Error, campaign: &Campaign, ledger: &Ledger) -> Error {
    let sums = ledger.sums();
    if sums.requests() == sums.in_state(State::Planned) {
        return error;
    }
    Error::Input { source: Box::new(error), out: campaign.out.clone() }
}

/// The limits of a check: those of the campaign file, else those of its declaration.
fn limit_of(campaign: &Campaign, declaration: &Declaration) -> Limit {
    let own = campaign.service.checks.get(&declaration.name).copied().unwrap_or_default();
    Limit { per_hour: own.per_hour.or(declaration.per_hour), in_flight: own.in_flight.or(declaration.in_flight) }
}

/// Makes the run context that all attempts of a run share.
pub fn context(
    campaign: &Arc<Campaign>,
    ledger: &Arc<Ledger>,
    api_key: &ApiKey,
    bucket: Bucket,
) -> Result<Arc<RunContext>, Error> {
    let nowhere = || Error::Config("the simulator was not started".to_owned());
    let url = campaign.service.url.clone().ok_or_else(nowhere)?;
    let clock_watch = Arc::new(ClockWatch::new(campaign.clock, campaign.mode == Mode::Production));
    let watch = Arc::clone(&clock_watch);
    let reading = Reading::open(ledger.path())?;
    let mut settings = campaign.service.client_settings(url, api_key.clone())?;
    settings.known_secrets = reading.receivers()?.into_iter().map(|receiver| receiver.secret.into()).collect();
    let throttle = Arc::new(Throttle::new(campaign.service.rate, bucket));
    let gate = Arc::clone(&throttle);
    let client = Client::new(&settings)?.writing_only_if(move || !watch.has_moved() && gate.paused_until().is_none());
    let templates = Templates::new(Tables::default());
    let checks = campaign.checks().into_iter().map(|declaration| {
        let unknown = || {
            Error::Config(format!(
                "the price of `{0}` is not known; set it with --price {0}=N (or [budget] prices)",
                declaration.name
            ))
        };
        let check = CheckContext {
            judge: Judge::new(declaration, &templates)?,
            price: campaign.price(&declaration.name).ok_or_else(unknown)?,
            job_hold: campaign.job_hold(declaration),
            limit: limit_of(campaign, declaration),
            auth: campaign.service.auth_of(&declaration.name),
            path: declaration.routes.path(campaign.service.routes_of(&declaration.name)).to_owned(),
            routes: declaration.routes.all().map(str::to_owned).collect(),
            declaration: declaration.clone(),
        };
        Ok((declaration.name.clone(), check))
    });
    let peer = OnceLock::new();
    if let Some(simulated) = ledger.sums().simulated {
        peer.get_or_init(|| simulated);
    }
    // The declarations may have changed since requests with files were recorded.
    let has_files = campaign.checks().iter().any(|declaration| declaration.has_files()) || reading.has_files()?;
    let file_bodies = has_files.then(|| FileBodies::new(reading, campaign.files_root.clone()));
    let context = RunContext {
        file_bodies,
        ledger: Arc::clone(ledger),
        client,
        throttle,
        checks: checks.collect::<Result<BTreeMap<_, _>, Error>>()?,
        scope: api_key.fingerprint(),
        clock: campaign.clock,
        clock_watch,
        settings: campaign.settings_digest(&api_key.fingerprint())?,
        campaign: Arc::clone(campaign),
        peer,
    };
    Ok(Arc::new(context))
}
