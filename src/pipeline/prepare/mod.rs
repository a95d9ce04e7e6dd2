//! Preparation of a run: ledger, inputs, mapping and service are opened and validated against each other before
//! anything is sent, so that a mistake costs nothing.

pub mod known_service;

use super::{
    blocking::blocking,
    campaign::{
        Campaign,
        mappings::{self, ChangedMapping},
        out_folder::{claim, refuse_inputs_inside},
        recorded,
        remains::{refuse_lost_ledger, refuse_older, set_aside, set_aside_unknown, set_aside_unsent},
        result_layout::{agreed_uses, as_recorded, check_layouts},
        rules::compile_rules,
        service::BookSource,
    },
    corrections::{Correcting, Corrections, correct},
    intake::{
        Intake,
        body_receiver::BodyReceiver,
        changed::{ReadAgain, WayOn, open_inputs, way_on},
        remap::remap,
    },
    judge::Judge,
    partition_outputs,
    reuse::EarlierRound,
    run_record,
    send::{
        account_use::{AccountUse, account_use, partition_of},
        context::{CheckContext, RunContext},
        file_body::FileBodies,
        latencies::SharedLatencies,
        limit::Limit,
        purse::{Purse, SharedMoney},
    },
};
use crate::{
    catalogue::{BodyShape, Declaration},
    client::{ApiKey, Client},
    error::Error,
    ledger::{CheckUseRow, Ledger, LedgerError, Reading},
    mapping::FieldFeed,
    model::{Credits, Mode, clock::ClockWatch, state::State},
    template::{Tables, Templates},
    throttle::{Bucket, Throttle},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, atomic::AtomicBool},
};
use tokio::time::Instant;

/// A campaign whose ledger and inputs are open and match. Nothing has been sent yet.
pub struct Prepared {
    pub campaign: Arc<Campaign>,
    pub ledger: Arc<Ledger>,
    pub intake: Intake,
    api_key: ApiKey,
    account: AccountUse,
    /// The round whose answers are used again.
    earlier: Option<Arc<EarlierRound>>,
    set_aside: Option<PathBuf>,
    read_afresh: Option<PathBuf>,
    read_again: Vec<ReadAgain>,
}

impl Prepared {
    /// Opens ledger and inputs.
    ///
    /// # Errors
    /// The ledger belongs to another campaign or is in use, an input changed, the mapping does not match the columns,
    /// or the API key is missing.
    pub async fn open(mut campaign: Campaign) -> Result<Prepared, Error> {
        compile_rules(&campaign)?;
        check_layouts(&campaign)?;
        let api_key = campaign.service.api_key()?;
        if let Some(url) = &campaign.service.settings.url {
            // Validated first, so that a mistake in the service settings does not leave a ledger behind.
            Client::new(&campaign.service.client_settings(url.clone(), api_key.clone())?)?;
        }
        let identity = campaign.identity();
        let (commit_mode, now_us) = (campaign.commit_mode, campaign.clock.now_us());
        let earlier = EarlierRound::open(&campaign)?;
        refuse_inputs_inside(&campaign)?;
        let set_aside = if campaign.new_ledger { set_aside(&campaign, &identity)? } else { None };
        // An existing ledger is opened before the inputs: if it is in use or of another campaign, the run fails at
        // once. A new ledger is created after the inputs are opened, so that a mistake in them does not leave an empty
        // ledger behind.
        let reading = Reading::find(&campaign.ledger)?;
        let fresh = reading.is_none();
        match &reading {
            Some(reading) => {
                refuse_older(&campaign, reading)?;
                refuse_without_book(&campaign, reading)?;
            }
            None => refuse_lost_ledger(&campaign)?,
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
        let declared = campaign.carry.clone();
        if let Some(reading) = &reading {
            campaign.carry = as_recorded(campaign.carry, reading)?;
        }
        drop(reading);
        let campaign = Arc::new(campaign);
        let (intake, existing, read_again) = match existing {
            None => {
                let of_campaign = Arc::clone(&campaign);
                (blocking(commit_mode, move || Intake::open(&of_campaign, &[])).await?, None, Vec::new())
            }
            Some(ledger) => {
                let ledger = Arc::new(ledger);
                let (of_campaign, of_ledger) = (Arc::clone(&campaign), Arc::clone(&ledger));
                match blocking(commit_mode, move || open_inputs(&of_campaign, &of_ledger)).await {
                    Ok((intake, read_again)) => (intake, Some(ledger), read_again),
                    Err(error) if way_on(&error, &campaign, ledger.reading()?.is_unsent()?) == WayOn::ReadAfresh => {
                        drop(ledger);
                        let campaign = Campaign { carry: declared, ..Arc::unwrap_or_clone(campaign) };
                        return Prepared::open_afresh(campaign, error).await;
                    }
                    Err(error) => {
                        let error = paid_for(error, &campaign, &ledger);
                        run_record::refused(&ledger, &campaign, &error).await;
                        return Err(error);
                    }
                }
            }
        };
        let campaign = Arc::new(Campaign { carry: intake.carry().to_vec(), ..Arc::unwrap_or_clone(campaign) });
        let ledger = match existing {
            Some(ledger) => ledger,
            None => {
                crate::sink::create_folder(campaign.ledger.parent().unwrap_or(Path::new(".")))?;
                let ledger = open(&campaign.ledger)?;
                if !ledger.was_created() {
                    // Another process has created it meanwhile. The inputs were not validated against what it ingested.
                    return Err(LedgerError::BegunMeanwhile.into());
                }
                Arc::new(ledger)
            }
        };
        ledger.note_service(campaign.origin(), campaign.clock.now_us()).await?;
        ledger.recover(campaign.clock.now_us()).await?;
        let set_aside = set_aside.map_or_else(|| set_aside_unknown(&campaign, &ledger), |folder| Ok(Some(folder)))?;
        // Checked again: the path of an input may only resolve now that the output folder exists.
        crate::sink::create_folder(&campaign.out)?;
        refuse_inputs_inside(&campaign)?;
        claim(&campaign.out, &campaign.name, &ledger.reading()?)?;
        let private = if fresh { Bucket::Full } else { Bucket::Empty };
        let (service, partition) = (&campaign.service, partition_of(&campaign.service, &ledger)?);
        let account = account_use(service, &api_key, private, campaign.clock, Some(partition)).await?;
        let read_afresh = None;
        Ok(Prepared { campaign, ledger, intake, api_key, account, earlier, set_aside, read_afresh, read_again })
    }

    /// Opens the inputs as if they were never read: nothing of them was sent. `error` says that they changed.
    async fn open_afresh(campaign: Campaign, error: Error) -> Result<Prepared, Error> {
        let Some(folder) = set_aside_unsent(&campaign)? else { return Err(error) };
        let prepared = Box::pin(Prepared::open(campaign)).await?;
        Ok(Prepared { read_afresh: Some(folder), ..prepared })
    }

    /// The folder to which everything was moved that had been read of an input that changed before anything was sent.
    pub fn read_afresh(&self) -> Option<&Path> {
        self.read_afresh.as_deref()
    }

    /// The inputs that changed, of which rows were read again that were never sent.
    pub fn read_again(&self) -> &[ReadAgain] {
        &self.read_again
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
        let mappings = mappings::with_current(&self.campaign, &self.ledger.reading()?)?;
        Ok(self.ledger.record_settings(recorded::settings_of(&self.campaign, mappings)?).await?)
    }

    /// The checks whose mapping differs from the one of the last run.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn changed_mappings(&self) -> Result<Vec<ChangedMapping>, Error> {
        Ok(mappings::changed(&self.campaign, &self.ledger.reading()?)?)
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

    /// What the campaign has used of its limit: charged by earlier runs, or held for their requests.
    pub fn used(&self) -> Credits {
        self.ledger.sums().account.used()
    }

    /// The charge book, if there is one.
    pub fn book(&self) -> Option<Arc<dyn SharedMoney>> {
        self.account.money.clone()
    }

    /// Leaves the partition that this would run, because it is not run.
    pub async fn leave(self) {
        partition_outputs::give_back(self.account.money.as_deref()).await;
    }

    /// Why the rate is not shared with other runs on this machine, if it is not.
    pub fn rate_note(&self) -> Option<&str> {
        self.account.note.as_deref()
    }

    /// The column, template or constant that fills each field.
    pub fn feeds(&self) -> Vec<FieldFeed> {
        self.intake.feeds()
    }

    /// The checks of the campaign as the ledger records them.
    pub fn check_uses(&self) -> Result<Vec<CheckUseRow>, Error> {
        agreed_uses(&self.campaign, &self.ledger.reading()?)
    }

    /// Remaps the asks that failed to map in an earlier run.
    pub async fn remap(&self, check_uses: &[i64], receiver: BodyReceiver) -> Result<(), Error> {
        let (ledger, mapping, carried) = (Arc::clone(&self.ledger), self.intake.mapping(), self.intake.carried_kinds());
        let checks = self.campaign.uses.iter().map(|one| one.check.clone());
        let uses: Vec<(i64, String)> = check_uses.iter().copied().zip(checks).collect();
        blocking(self.campaign.commit_mode, move || remap(&ledger, (&mapping, &carried), &uses, &receiver)).await
    }

    /// Puts the rows of a file of corrections in the place of rows that failed before they were charged, and says what
    /// became of them. Returns whether any row was corrected.
    ///
    /// # Errors
    /// The file cannot be read, the mapping does not match the columns, or the ledger fails.
    pub async fn correct(&self, corrections: Option<Corrections>, receiver: BodyReceiver) -> Result<bool, Error> {
        let Some(corrections) = corrections else { return Ok(false) };
        let (campaign, ledger) = (Arc::clone(&self.campaign), Arc::clone(&self.ledger));
        let (mapping, carried) = (self.intake.mapping(), self.intake.carried_kinds());
        let work = move || {
            let (campaign, corrections) = (&campaign, &corrections);
            let with = Correcting { campaign, mapping: &mapping, carried: &carried, receiver: &receiver, corrections };
            correct(&ledger, &with)
        };
        let counts = blocking(self.campaign.commit_mode, work).await?;
        counts.lines().iter().for_each(|line| tracing::warn!("{line}"));
        Ok(counts.corrected > 0)
    }

    /// The run context that all attempts of this run share.
    pub fn context(&mut self) -> Result<Arc<RunContext>, Error> {
        let nothing = AccountUse { bucket: Bucket::Empty, money: None, note: None };
        let account = std::mem::replace(&mut self.account, nothing);
        context(&self.campaign, &self.ledger, &self.api_key, account, self.earlier.take())
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
    let own = campaign.service.settings.checks.get(&declaration.name).copied().unwrap_or_default();
    let per_hour = own.per_hour.or(declaration.per_hour).filter(|_| !campaign.service.unlimited);
    Limit { per_hour, in_flight: own.in_flight.or(declaration.in_flight) }
}

/// Makes the run context that all attempts of a run share.
pub fn context(
    campaign: &Arc<Campaign>,
    ledger: &Arc<Ledger>,
    api_key: &ApiKey,
    account: AccountUse,
    earlier: Option<Arc<EarlierRound>>,
) -> Result<Arc<RunContext>, Error> {
    let nowhere = || Error::Config("the simulator was not started".to_owned());
    let url = campaign.service.settings.url.clone().ok_or_else(nowhere)?;
    let clock_watch = Arc::new(ClockWatch::new(campaign.clock, campaign.mode == Mode::Production));
    let watch = Arc::clone(&clock_watch);
    let reading = ledger.reading()?;
    let mut settings = campaign.service.client_settings(url, api_key.clone())?;
    settings.known_secrets = reading.receivers()?.into_iter().map(|receiver| receiver.secret.into()).collect();
    let throttle = Arc::new(Throttle::new(campaign.service.pace(), account.bucket));
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
            shape: Arc::new(BodyShape::of(declaration)),
            declaration: declaration.clone(),
        };
        Ok((declaration.name.clone(), check))
    });
    let peer = OnceLock::new();
    if let Some(simulated) = ledger.sums().simulated {
        peer.get_or_init(|| simulated);
    }
    // The declarations may have changed since requests with files were recorded.
    let names = reading.check_uses()?.into_iter().map(|(id, check)| (id, check.name)).collect();
    let has_files = campaign.checks().iter().any(|declaration| declaration.has_files()) || reading.has_files()?;
    let file_bodies = has_files.then(|| FileBodies::new(reading, campaign.files_root.clone()));
    let context = RunContext {
        check_names: Arc::new(names),
        latencies: SharedLatencies::default(),
        check_pauses: Arc::default(),
        file_bodies,
        ledger: Arc::clone(ledger),
        client,
        throttle,
        purse: Purse::new(account.money),
        earlier,
        checks: checks.collect::<Result<BTreeMap<_, _>, Error>>()?,
        scope: api_key.fingerprint(),
        clock: campaign.clock,
        began: Instant::now(),
        clock_watch,
        settings: campaign.settings_digest(&api_key.fingerprint())?,
        campaign: Arc::clone(campaign),
        key_in_question: AtomicBool::default(),
        peer,
    };
    Ok(Arc::new(context))
}

/// Refuses to send for a ledger without the charge book that its runs used: other workers would not know of it.
///
/// # Errors
/// The campaign names no charge book, and an earlier run did.
fn refuse_without_book(campaign: &Campaign, reading: &Reading) -> Result<(), Error> {
    if campaign.service.book.is_some() || campaign.service.simulate {
        return Ok(());
    }
    let Some(account) = recorded::book_account_in(reading)? else { return Ok(()) };
    Err(Error::Config(format!(
        "earlier runs of this campaign shared the account `{account}` with other workers through a charge book; name it in \
         the campaign file: [ledger] book = {{ env = \"RESCREEN_BOOK\" }}{}",
        if account == BookSource::default().account { String::new() } else { format!(", account = \"{account}\"") }
    )))
}
