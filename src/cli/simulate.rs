//! `rescreen simulate`: a simulator of the service on loopback.

use super::{output::to_stderr, signals};
use clap::Args;
use rescreen::{
    Error,
    model::ExitCode,
    pipeline::Campaign,
    simulator::{ChargeStated, Dialect, Envelope, Faults, Settings, Simulator, serve},
};
use std::{collections::BTreeMap, net::SocketAddr, time::Duration};
use tokio::{net::TcpListener, task::JoinHandle};

#[derive(Args)]
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
    #[arg(long, value_name = "DURATION", default_value = "0ms", value_parser = humantime::parse_duration)]
    latency: Duration,
    /// Seed for the answers and faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Faults to inject, such as drop_after:0.01,error502:0.05
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// Price of a check in credits [default: 1]; repeatable
    #[arg(long = "price", value_name = "CHECK=N", value_parser = price)]
    prices: Vec<(String, u64)>,
    /// Response dialect: as documented, or as observed in the field
    #[arg(long, default_value = "described", value_parser = ["described", "field"])]
    dialect: String,
    /// Response envelope
    #[arg(long, default_value = "results", value_parser = ["results", "data"])]
    envelope: String,
    /// How replies state credits: creditsUsed, only remainingCredits, meta.credits_spent, or not at all [default: as
    /// documented for the envelope]
    #[arg(long, value_name = "HOW", value_parser = ["used", "remaining", "meta", "nothing"])]
    charge_stated: Option<String>,
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
        faults: args.faults,
        prices: args.prices.into_iter().collect(),
        dialect: if args.dialect == "field" { Dialect::Field } else { Dialect::Described },
        envelope: if args.envelope == "data" { Envelope::DataMeta } else { Envelope::Results },
        charge_stated: args.charge_stated.map(|how| match how.as_str() {
            "used" => ChargeStated::Used,
            "remaining" => ChargeStated::Remaining,
            "meta" => ChargeStated::Meta,
            _ => ChargeStated::Nothing,
        }),
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

fn price(text: &str) -> Result<(String, u64), String> {
    let (check, credits) = text.split_once('=').ok_or("expected CHECK=N")?;
    Ok((check.to_owned(), credits.parse().map_err(|_| "expected a whole number of credits after `=`")?))
}

/// The built-in simulator on its own port. It runs until this is dropped.
pub struct BuiltIn {
    task: JoinHandle<()>,
}

impl BuiltIn {
    /// Starts it with the campaign's limits and prices, and sets the campaign's URL to it.
    pub async fn start(campaign: &mut Campaign) -> Result<BuiltIn, Error> {
        let rate = campaign.service.rate;
        let prices: BTreeMap<String, u64> =
            campaign.prices.iter().map(|(name, price)| (name.clone(), price.0)).collect();
        let settings = Settings {
            per_minute: rate.per_minute,
            per_minute_max: rate.per_minute_max,
            prices,
            catalogue: campaign.catalogue.clone(),
            ..Settings::default()
        };
        let no_port = |error: std::io::Error| Error::Config(format!("the simulator cannot open a port: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(no_port)?;
        campaign.service.url = Some(format!("http://{}", listener.local_addr().map_err(no_port)?));
        let served = serve(Simulator::new(settings), listener, std::future::pending::<()>());
        let task = tokio::spawn(async move {
            if let Err(error) = served.await {
                tracing::error!("the simulator ended: {error}");
            }
        });
        Ok(BuiltIn { task })
    }
}

impl Drop for BuiltIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}
