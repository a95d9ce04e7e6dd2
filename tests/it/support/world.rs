//! A world: a folder with a book and a campaign, and the service it is sent to. It reads like the story of the test:
//! `World::new().rows(3).fault("drop_after@2").run().await.charged(3)`.
//!
//! By default it screens the book for AML in production at one credit each, with every limit lifted. Message 1 is then
//! the balance query, and message 2 the first row.

use super::{
    API_KEY,
    paused::Paused,
    ran::{Outputs, Ran},
    service::{Service, lifted, simulated},
    wire_tap::{Arrivals, Counted, Counts, noted},
};
use rescreen::{
    Error,
    catalogue::{Catalogue, Declaration},
    client::ApiKey,
    model::{Credits, ExitCode, Mode},
    pipeline::{
        self, AccountSeen, Campaign, CollectOptions, Collection, NamedService, PlanOptions, Prepared, Progress,
        RetryOrder, RunOptions, RunReport, Signal,
        campaign::{check_settings::CheckSettings, file::CampaignFile, parse},
        outlook,
    },
    simulator::{Settings, Stats},
};
use std::{
    convert::Infallible,
    fmt::Write,
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

pub const AML: &str = "aml-screening";
pub const SAID: &str = "said-verification";

const CAMPAIGN: &str = r#"
    campaign = "2026-11"
    mode = "production"
    [service]
    api_key = { file = "api-key" }
    per_minute = 600_000
    per_minute_max = 900_000
    [input]
    paths = ["book.csv"]
    id = "no"
    [budget]
    max_credits = 1_000_000
    prices = { aml-screening = 1, said-verification = 1 }
    [[check]]
    use = "aml-screening"
    fields.name = "name"
    fields.entity = { value = 0 }
    fields.country = { value = "za" }
    [output]
    dir = "out"
"#;

/// How long a test waits for something new: for the service to get a message, or for an interrupted run to end.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(1);

pub struct World {
    folder: Arc<TempDir>,
    pub file: CampaignFile,
    settings: Settings,
    door: bool,
    service: Option<Service>,
    /// The service in this process, in paused time.
    paused: Option<Paused>,
    /// Counts the checks that arrive, where the service of this world is not used.
    arrivals: Option<Arrivals>,
    counts: Counts,
    /// `--service-moved-from`.
    moved_from: Option<String>,
    /// The most rows in a split.
    split_rows: Option<usize>,
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let world = World {
            folder: Arc::new(folder),
            file: parse(CAMPAIGN).unwrap(),
            settings: lifted(),
            door: false,
            service: None,
            paused: None,
            arrivals: None,
            counts: Counts::Equal,
            moved_from: None,
            split_rows: None,
        };
        world.private("api-key", API_KEY);
        world
    }

    /// A book of this many people, all different.
    pub fn rows(self, count: usize) -> World {
        self.csv(&book(1..=count))
    }

    pub fn csv(self, text: &str) -> World {
        self.write("book.csv", text);
        self
    }

    /// Changes the campaign file; also between runs.
    pub fn campaign(mut self, change: impl FnOnce(&mut CampaignFile)) -> World {
        change(&mut self.file);
        self
    }

    pub fn sandbox(self) -> World {
        self.campaign(|file| file.mode = Some(Mode::Sandbox))
    }

    pub fn max_credits(self, credits: u64) -> World {
        self.campaign(|file| file.budget.max_credits = Some(Credits(credits)))
    }

    pub fn in_splits_of(mut self, rows: usize) -> World {
        self.split_rows = Some(rows);
        self
    }

    pub fn in_flight(self, count: usize) -> World {
        self.campaign(|file| file.service.in_flight = Some(count))
    }

    /// The check of the campaign, with a changed declaration.
    pub fn declares(self, change: impl FnOnce(&mut Declaration)) -> World {
        let mut declaration = Catalogue::built_in().get(AML).unwrap().clone();
        change(&mut declaration);
        self.campaign(|file| file.declarations = vec![declaration])
    }

    /// Changes the service before it is started.
    pub fn service(mut self, change: impl FnOnce(&mut Settings)) -> World {
        assert!(self.service.is_none(), "the service is already running");
        change(&mut self.settings);
        self
    }

    pub fn fault(self, faults: &str) -> World {
        self.service(|settings| settings.faults = faults.parse().unwrap())
    }

    pub fn credits(self, credits: u64) -> World {
        self.service(|settings| settings.credits = credits)
    }

    /// The service is behind a proxy that can remove its marker.
    pub fn behind_a_proxy(mut self) -> World {
        self.door = true;
        self
    }

    /// The service is in this process, and its clock and ours follow tokio's paused time.
    pub fn under_paused_time(mut self) -> World {
        let paused = Paused::begun();
        self.settings.clock = simulated(paused.clock());
        self.paused = Some(paused);
        self
    }

    pub fn paused(&self) -> &Paused {
        self.paused.as_ref().expect("the world is under paused time")
    }

    /// The campaign sends to another service than that of this world; the function counts the checks that arrive there.
    pub fn sending_to(mut self, url: &str, arrivals: impl Fn() -> u64 + Send + Sync + 'static) -> World {
        self.arrivals = Some(Box::new(arrivals));
        self.campaign(|file| file.service.url = Some(url.to_owned()))
    }

    /// From now on a check that was recorded may be lost, for this reason.
    pub fn may_lose_checks(mut self, reason: &'static str) -> World {
        self.counts = Counts::AtMost(reason);
        self
    }

    /// The service, which is started if necessary.
    pub fn running_service(&mut self) -> &Service {
        let (settings, door) = (&self.settings, self.door);
        self.service.get_or_insert_with(|| {
            if door { Service::behind_a_proxy(settings.clone()) } else { Service::start(settings.clone()) }
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn append(&self, name: &str, text: &str) {
        let before = fs::read_to_string(self.path(name)).unwrap();
        self.write(name, &(before + text));
    }

    /// A file that only its owner can read.
    pub fn private(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub async fn run(&mut self) -> Ran {
        self.run_with(RunOptions::default()).await
    }

    /// Runs for at most this long. Requests that wait longer stay as they are.
    pub async fn run_for(&mut self, at_most: Duration) -> Ran {
        self.run_with(RunOptions { at_most: Some(at_most), ..RunOptions::default() }).await
    }

    /// From now on the service is at this address. `moved_from` is its address before, as the user says it.
    pub fn is_at(&mut self, url: &str, moved_from: Option<&str>) {
        self.file.service.url = Some(url.to_owned());
        self.moved_from = moved_from.map(str::to_owned);
    }

    /// `rescreen collect`, with `--for` if a time is given.
    pub async fn collect(&mut self, at_most: Option<Duration>) -> Ran {
        let out = self.path("out");
        let before = self.counted(&out.join("ledger.sqlite"));
        let begun = Instant::now();
        let mut collection = Collection::find(&out, None, None, self.named_service()).unwrap();
        let campaign = collection.campaign_mut();
        campaign.service.state_folder = Some(self.path("state"));
        match (&self.paused, &self.service) {
            (Some(paused), Some(service)) => paused.applies_to(campaign, &service.simulator),
            _ => panic!("a world under paused time that has run"),
        }
        let in_process = campaign.service.in_process.as_mut().unwrap();
        in_process.api_key = Some(ApiKey::new(API_KEY.to_owned().into()));
        let (_tell, signals) = mpsc::channel(1);
        let options = CollectOptions { at_most, ..CollectOptions::default() };
        let result = collection.collect(options, signals, watch::channel(Progress::default()).0).await;
        let (stats, elapsed) = (self.running_service().simulator.stats(), begun.elapsed());
        self.counted(&out.join("ledger.sqlite")).grew_equally_since(before, self.counts);
        Ran { result, stats, elapsed, outputs: Outputs::read(&out), out, _folder: self.folder.clone() }
    }

    fn named_service(&self) -> NamedService<'_> {
        let moved_from = self.moved_from.as_deref();
        NamedService { url: moved_from.and(self.file.service.url.as_deref()), moved_from }
    }

    pub async fn retry(&mut self) -> Ran {
        self.run_with(RunOptions { retry: Some(RetryOrder::default()), ..RunOptions::default() }).await
    }

    /// Runs until the service has seen enough, and interrupts. Postponed requests stay as they are. Fails if the service
    /// sees nothing new for 20 seconds, or if the interrupted run does not end in 20 seconds.
    pub async fn run_until(&mut self, what: &str, is_so: impl Fn(&Stats) -> bool) -> Ran {
        let simulator = self.running_service().simulator.clone();
        let (tell, signals) = mpsc::channel(1);
        let watching = async {
            // Waits are counted, not measured: a run that blocks this thread has not used up its time.
            let (mut seen, mut waited) = (simulator.stats(), Duration::ZERO);
            while !is_so(&seen) {
                assert!(waited < PATIENCE, "nothing new while waiting for {what}: {seen:?}");
                tokio::time::sleep(LOOK_EVERY).await;
                let now = simulator.stats();
                waited = if now == seen { waited + LOOK_EVERY } else { Duration::ZERO };
                seen = now;
            }
            // A run that has just ended by itself takes no signal.
            let _ = tell.send(Signal::Interrupt).await;
            tokio::time::sleep(PATIENCE).await;
            panic!("waiting for the run to end after its interrupt at {what}: {:?}", simulator.stats())
        };
        tokio::select! {
            biased;
            ran = self.run_with_signals(RunOptions::default(), signals) => ran,
            never = watching => {
                let never: Infallible = never;
                match never {}
            }
        }
    }

    pub async fn run_with(&mut self, orders: RunOptions) -> Ran {
        let (_tell, signals) = mpsc::channel(1);
        self.run_with_signals(orders, signals).await
    }

    pub async fn run_with_signals(&mut self, orders: RunOptions, signals: mpsc::Receiver<Signal>) -> Ran {
        let url = self.running_service().url.clone();
        self.file.service.url.get_or_insert(url);
        let out = self.file.output.dir.as_ref().map_or_else(|| self.path("out"), |dir| self.folder.path().join(dir));
        let ledger = self.file.ledger.path.as_ref().map(|path| self.folder.path().join(path));
        let ledger = ledger.unwrap_or_else(|| out.join("ledger.sqlite"));
        let before = self.counted(&ledger);
        let begun = Instant::now();
        let result = self.attempt(orders, signals).await;
        let (stats, elapsed, outputs) =
            (self.running_service().simulator.stats(), begun.elapsed(), Outputs::read(&out));
        self.counted(&ledger).grew_equally_since(before, self.counts);
        Ran { result, stats, out, elapsed, outputs, _folder: self.folder.clone() }
    }

    fn counted(&self, ledger: &Path) -> Counted {
        let on_the_way = self.paused.as_ref().map_or(0, Paused::turned_away);
        let arrived = match (&self.arrivals, &self.service) {
            (Some(arrivals), _) => arrivals(),
            (None, service) => service.as_ref().map_or(0, Service::checks_arrived) + on_the_way,
        };
        Counted { arrived, noted: noted(ledger) }
    }

    /// The exit code of a plan with the API key that has this fingerprint, and what would stop a run.
    pub fn planned(&self, api_key: &str) -> (ExitCode, Vec<String>) {
        let campaign = self.opened().unwrap();
        let plan = pipeline::plan(&campaign, &PlanOptions::default()).unwrap();
        let seen = AccountSeen { api_key: Some(Ok(api_key.to_owned())), balance: None };
        let obstacles = outlook::obstacles(&campaign, &plan, &seen).unwrap();
        (outlook::exit_code(&obstacles), obstacles.into_iter().map(|one| one.reason).collect())
    }

    /// The fingerprint of the API key.
    pub fn api_key(&self) -> String {
        self.opened().unwrap().service.api_key().unwrap().fingerprint()
    }

    async fn attempt(&self, orders: RunOptions, signals: mpsc::Receiver<Signal>) -> Result<RunReport, Error> {
        let prepared = Prepared::open(self.opened()?).await?;
        prepared.go(orders, signals, watch::channel(Progress::default()).0).await
    }

    fn opened(&self) -> Result<Campaign, Error> {
        let mut campaign = Campaign::new(self.file.clone(), self.folder.path())?;
        if let Some(from) = &self.moved_from {
            campaign.moves_from(from)?;
        }
        campaign.source_options.split_rows = self.split_rows;
        campaign.service.state_folder = Some(self.path("state"));
        if let (Some(paused), Some(service)) = (&self.paused, &self.service) {
            paused.applies_to(&mut campaign, &service.simulator);
        }
        Ok(campaign)
    }
}

/// A book with the header and these people.
pub fn book(numbers: RangeInclusive<usize>) -> String {
    format!("no,name,status\n{}", people(numbers))
}

/// These people, one per line. No name ends in a reserved number.
pub fn people(numbers: RangeInclusive<usize>) -> String {
    let mut text = String::new();
    for number in numbers {
        writeln!(text, "{number},P{number:05} Vexford,active").unwrap();
    }
    text
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "nothing new while waiting for a second charge")]
async fn a_wait_for_what_does_not_happen_ends_and_names_it() {
    let hourly = CheckSettings { per_hour: Some(1), ..CheckSettings::default() };
    let world = World::new().rows(2).under_paused_time();
    let mut world = world.campaign(|file| {
        file.service.checks.insert(AML.to_owned(), hourly);
    });
    world.run_until("a second charge", |stats| stats.charges == 2).await;
}
