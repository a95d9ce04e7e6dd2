//! `rescreen simulate`: a simulator of the service on loopback.

use super::{output::to_stderr, signals};
use clap::Args;
use rescreen::{
    Error,
    catalogue::Catalogue,
    ledger::Reading,
    model::{ExitCode, duration::parse_duration, key::IdempotencyKey, nearest::hint},
    pipeline::{Campaign, Service},
    simulator::{
        AuthAccepted, ChargeStated, Checks, Dialect, Envelope, ExpectedValues, Faults, JobFaults, Quirks, ServedRoutes,
        Settings, Simulator, serve,
    },
};
use std::{
    net::SocketAddr,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinHandle};

#[derive(Args)]
#[command(after_help = fault_names())]
pub struct SimulateArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// Allow an address that other machines can reach
    #[arg(long)]
    anywhere: bool,
    /// Accept only this API key [default: any]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Starting balance in credits
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    credits: u64,
    /// Rate limit: steady rate in requests per minute
    #[arg(long, value_name = "N", default_value_t = 60)]
    per_minute: u32,
    /// Rate limit: maximum requests in any one minute
    #[arg(long, value_name = "N", default_value_t = 120)]
    per_minute_max: u32,
    /// Time that the simulator takes for each check, such as 50ms
    #[arg(long, value_name = "DURATION", default_value = "0ms", value_parser = parse_duration)]
    latency: Duration,
    /// Seed for the answers and faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Day of the list that answers are made with, such as 2026-11-01: AML answers name it, and each day answers 3
    /// subjects in 100 anew [default: the day of the request, with the same answers every day]
    #[arg(long, value_name = "DATE")]
    dataset: Option<jiff::civil::Date>,
    /// Faults to inject, such as drop_after:0.01,error502:0.05
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// Faults of jobs and their webhooks, such as lost:0.1,twice:0.05,late:0.05:30m,early:0.1 or state_404:0.1
    #[arg(long, value_name = "SPEC", default_value = "")]
    job_faults: JobFaults,
    /// Price of a check in credits [default: 1]; repeatable
    #[arg(long = "price", value_name = "CHECK=N", value_parser = price)]
    prices: Vec<(String, u64)>,
    /// Response dialect: as documented, or as observed in the field
    #[arg(long, default_value = "described", value_parser = ["described", "field"])]
    dialect: String,
    /// Response envelope
    #[arg(long, default_value = "results", value_parser = ["results", "data"])]
    envelope: String,
    /// Paths to serve: the first documented spelling, the second, both, or those observed in the field [default: both,
    /// or seen with --dialect field]
    #[arg(long, value_name = "SET", value_parser = ["guide", "alternate", "both", "seen"])]
    routes: Option<String>,
    /// How replies state credits: creditsUsed, only remainingCredits, meta.credits_spent, or not at all [default: as
    /// documented for the envelope]
    #[arg(long, value_name = "HOW", value_parser = ["used", "remaining", "meta", "nothing"])]
    charge_stated: Option<String>,
    /// Time until a job has a result, such as 20m; after 48 hours it fails [default: mostly minutes, sometimes hours,
    /// drawn from the seed]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    job_time: Option<Duration>,
    /// Make jobs and deliveries this many times faster: 2880 turns 48 hours into a minute
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    time_scale: u32,
    /// Share of real-time checks that cannot be answered at once, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=100))]
    fallback: u64,
    /// Share of jobs that end without a result, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=100))]
    job_fails: u64,
    /// How long the same sandbox payload is refused
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration)]
    cooldown: Duration,
    /// How long an idempotency key is kept [default: as documented for the check]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    key_life: Option<Duration>,
    /// Header of the API key that is accepted
    #[arg(long, default_value = "both", value_parser = ["x-api-key", "bearer", "both"])]
    auth: String,
    /// Behaviour that the documentation leaves open: keeps-402, keeps-429, keeps-5xx, conflict-in-flight, free-balance
    /// or job-without-webhook, each =true or =false; repeatable
    #[arg(long = "quirk", value_name = "NAME=BOOL", value_parser = quirk)]
    quirks: Vec<(String, bool)>,
}

/// Serves until interrupted.
pub async fn simulate(args: SimulateArgs) -> Result<ExitCode, Error> {
    let settings = Settings {
        api_key: args.key,
        credits: args.credits,
        per_minute: args.per_minute,
        per_minute_max: args.per_minute_max,
        latency: args.latency,
        seed: args.seed,
        dataset: args.dataset,
        faults: args.faults,
        job_faults: args.job_faults,
        prices: args.prices.into_iter().collect(),
        dialect: if args.dialect == "field" { Dialect::Field } else { Dialect::Described },
        envelope: if args.envelope == "data" { Envelope::DataMeta } else { Envelope::Results },
        routes: match args.routes.as_deref() {
            Some("guide") => ServedRoutes::Guide,
            Some("alternate") => ServedRoutes::Alternate,
            Some("seen") => ServedRoutes::Seen,
            None if args.dialect == "field" => ServedRoutes::Seen,
            _ => ServedRoutes::Both,
        },
        charge_stated: args.charge_stated.map(|how| match how.as_str() {
            "used" => ChargeStated::Used,
            "remaining" => ChargeStated::Remaining,
            "meta" => ChargeStated::Meta,
            _ => ChargeStated::Nothing,
        }),
        job_time: args.job_time,
        time_scale: args.time_scale,
        fallback_of_hundred: args.fallback,
        failed_jobs_of_hundred: args.job_fails,
        cooldown: args.cooldown,
        key_life: args.key_life,
        auth: match args.auth.as_str() {
            "x-api-key" => AuthAccepted::XApiKey,
            "bearer" => AuthAccepted::Bearer,
            _ => AuthAccepted::Both,
        },
        quirks: quirks(&args.quirks),
        ..Settings::default()
    };
    if !args.listen.ip().to_canonical().is_loopback() && !args.anywhere {
        return Err(Error::Config(format!(
            "--listen {}: expected a loopback address such as 127.0.0.1, found one that other machines can reach and \
             could use the simulator through; add --anywhere to allow it",
            args.listen
        )));
    }
    let no_port = |error: std::io::Error| Error::Config(format!("--listen {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).await.map_err(no_port)?;
    let address = listener.local_addr().map_err(no_port)?;
    to_stderr(&format!(
        "the simulator is listening on http://{address}; statistics: http://{address}/_simulator/stats"
    ));
    let mut signals = signals::listen();
    serve(Simulator::new(settings), listener, async move {
        let _ = signals.recv().await;
    })
    .await
    .map_err(no_port)?;
    Ok(ExitCode::Complete)
}

/// The names of all faults, for the help.
fn fault_names() -> String {
    let names: Vec<&str> = JobFaults::names().collect();
    format!("Faults: {}\n\nFaults of jobs: {}", Faults::NAMES.join(", "), names.join(", "))
}

fn price(text: &str) -> Result<(String, u64), String> {
    let (check, credits) = text.split_once('=').ok_or("expected CHECK=N")?;
    Ok((check.to_owned(), credits.parse().map_err(|_| "expected a whole number of credits after `=`")?))
}

const QUIRKS: [&str; 6] =
    ["keeps-402", "keeps-429", "keeps-5xx", "conflict-in-flight", "free-balance", "job-without-webhook"];

fn quirk(text: &str) -> Result<(String, bool), String> {
    let (name, truth) = text.split_once('=').ok_or("expected NAME=true or NAME=false")?;
    if !QUIRKS.contains(&name) {
        return Err(format!("expected one of {}, found `{name}`{}", QUIRKS.join(", "), hint(name, QUIRKS)));
    }
    Ok((name.to_owned(), truth.parse().map_err(|_| "expected `true` or `false` after `=`")?))
}

fn quirks(named: &[(String, bool)]) -> Quirks {
    let is = |name: &str| named.iter().rev().find(|(known, _)| known == name).is_some_and(|(_, truth)| *truth);
    Quirks {
        keeps_402: is("keeps-402"),
        keeps_429: is("keeps-429"),
        keeps_5xx: is("keeps-5xx"),
        conflict_in_flight: is("conflict-in-flight"),
        free_balance: is("free-balance"),
        job_without_webhook: is("job-without-webhook"),
    }
}

/// The built-in simulator on its own port. It runs until this is dropped.
pub struct BuiltIn {
    task: JoinHandle<()>,
}

impl BuiltIn {
    /// Starts it with the campaign's limits and prices, and sets the campaign's URL to it.
    pub async fn start(campaign: &mut Campaign) -> Result<BuiltIn, Error> {
        let prices = campaign.prices.iter().map(|(name, price)| (name.clone(), price.0)).collect();
        let expected = campaign.uses.iter().any(|one| !one.expect.is_empty()).then(|| expected(&campaign.ledger));
        let settings = Settings { prices, expected, ..of(&campaign.service, &campaign.catalogue)? };
        BuiltIn::serving(settings, &mut campaign.service).await
    }

    /// Starts it with the limits of a service, and sets the service's URL to it.
    pub async fn beside(service: &mut Service, catalogue: &Catalogue) -> Result<BuiltIn, Error> {
        BuiltIn::serving(of(service, catalogue)?, service).await
    }

    async fn serving(settings: Settings, service: &mut Service) -> Result<BuiltIn, Error> {
        let no_port = |error: std::io::Error| Error::Config(format!("the simulator cannot open a port: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(no_port)?;
        service.settings.url = Some(format!("http://{}", listener.local_addr().map_err(no_port)?));
        let served = serve(Simulator::new(settings), listener, std::future::pending::<()>());
        let task = tokio::spawn(async move {
            if let Err(error) = served.await {
                tracing::error!("the simulator ended: {error}");
            }
        });
        Ok(BuiltIn { task })
    }
}

/// A simulator with these limits and checks.
fn of(service: &Service, catalogue: &Catalogue) -> Result<Settings, Error> {
    let usual = Settings::default();
    let unreadable = |fault| Error::Internal(format!("the simulator cannot read a declaration: {fault}"));
    Ok(Settings {
        per_minute: service.pace().per_minute,
        per_minute_max: service.pace().per_minute_max,
        checks: Checks::built_in().with(catalogue.own_declarations()?).map_err(unreadable)?,
        // It ends with this process, so its jobs end at once.
        job_time: Some(Duration::ZERO),
        // A rehearsal at full speed repeats a request earlier than the cooldown allows.
        cooldown: if service.unlimited { Duration::ZERO } else { usual.cooldown },
        ..usual
    })
}

/// What the rows of a campaign expect of their answers, read from its ledger. The ledger is opened at the first request:
/// only then it surely exists.
fn expected(ledger: &Path) -> ExpectedValues {
    let ledger = ledger.to_owned();
    let opened: Mutex<Option<Reading>> = Mutex::new(None);
    ExpectedValues::new(move |key| {
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.is_none() {
            *opened = Reading::find(&ledger).ok().flatten();
        }
        let text = opened.as_ref().zip(IdempotencyKey::from_text(key));
        let text = text.and_then(|(reading, key)| reading.expected_under(&key).ok().flatten());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    })
}

impl Drop for BuiltIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}
