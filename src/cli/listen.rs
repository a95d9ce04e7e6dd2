//! `rescreen listen`: receives the deliveries of the service and keeps them in the inbox, for `run` and `collect`.

use super::{
    output::{Message, OutputArgs, message},
    signals,
};
use clap::Args;
use rescreen::{
    Error,
    model::ExitCode,
    pipeline::{campaign::file::SecretSource, default_inbox, read_file, read_secret, wording::counted},
    webhook::{DATASET_UPDATES, Inbox, PATH, ReceiverId, WebhookSecret, is_healthy, receive},
};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::net::TcpListener;

/// Older deliveries are forgotten. The service tries for less than two days, and a campaign asks for its jobs anyway.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);

#[derive(Args)]
pub struct ListenArgs {
    /// Address to listen on, behind a reverse proxy with a certificate
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// Allow an address that other machines can reach
    #[arg(long)]
    anywhere: bool,
    /// Campaign file whose [webhook] inbox is used
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File for the deliveries [default: the one that campaigns of this user read]
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    inbox: Option<PathBuf>,
    /// Also receive updates of the AML dataset, signed with the secret in this place: env:NAME or file:PATH
    #[arg(long, value_name = "PLACE")]
    dataset_secret: Option<String>,
    /// Ask the receiver that listens on --listen whether it works, and end: exit code 0 if it does, 10 if not
    #[arg(long, conflicts_with_all = ["anywhere", "config", "inbox", "dataset_secret"])]
    health: bool,
}

/// Receives until interrupted.
pub async fn listen(args: ListenArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    if args.health {
        return Ok(health(args.listen, output));
    }
    if !args.listen.ip().to_canonical().is_loopback() && !args.anywhere {
        return Err(Error::Config(format!(
            "--listen {}: expected a loopback address such as 127.0.0.1, found one that other machines can reach; \
             deliveries are encrypted only up to the reverse proxy, which belongs on this machine. Add --anywhere to \
             allow it",
            args.listen
        )));
    }
    let dataset = args.dataset_secret.as_deref().map(dataset_secret).transpose()?;
    let path = inbox_path(args.inbox, args.config.as_deref())?;
    let no_port = |error: std::io::Error| Error::Config(format!("--listen {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).await.map_err(no_port)?;
    let address = listener.local_addr().map_err(no_port)?;
    let mut signals = signals::listen();
    let inbox = opened(&path, dataset.as_ref())?;
    let known = counted(inbox.receivers()?, "receiver is known", "receivers are known");
    let place = path.display();
    output.say(&format!("listening for deliveries on http://{address}{PATH}; inbox: {place}; {known}"));
    if dataset.is_some() {
        output.say(&format!("updates of the AML dataset are received at {PATH}{DATASET_UPDATES}"));
    }
    let received = receive(inbox, listener, async move {
        let _ = signals.recv().await;
    })
    .await?;
    output.say(&format!(
        "{} received, {} repeated, {} refused",
        counted(received.new, "delivery", "deliveries"),
        received.repeated,
        received.refused
    ));
    Ok(ExitCode::Complete)
}

/// Says whether the receiver at an address works.
fn health(address: SocketAddr, output: &OutputArgs) -> ExitCode {
    match is_healthy(address) {
        Ok(()) => {
            output.say(&format!("the receiver at {address} works"));
            ExitCode::Complete
        }
        Err(fault) => {
            message(Message::Error, &format!("the receiver at {address} does not work: {fault}"));
            ExitCode::Service
        }
    }
}

/// The file of the inbox: the one that is named, the one of a campaign file, or the user's.
fn inbox_path(named: Option<PathBuf>, config: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(named) = named {
        return Ok(named);
    }
    let Some(config) = config else { return default_inbox() };
    let base = config.parent().unwrap_or(Path::new("."));
    read_file(config)?.webhook.inbox.map_or_else(default_inbox, |inbox| Ok(base.join(inbox)))
}

/// The inbox, without its old deliveries, and with the receiver of dataset updates if there is a secret for it.
fn opened(path: &Path, dataset: Option<&WebhookSecret>) -> Result<Inbox, Error> {
    let inbox = Inbox::open(path)?;
    let now = jiff::Timestamp::now().as_microsecond();
    let kept = i64::try_from(KEPT.as_micros()).unwrap_or(i64::MAX);
    let forgotten = inbox.forget_before(now.saturating_sub(kept))?;
    tracing::info!(forgotten, "deliveries older than 30 days");
    if let Some(secret) = dataset {
        let no_id = || Error::Internal("the receiver of dataset updates has no valid id".to_owned());
        inbox.replace(&ReceiverId::new(DATASET_UPDATES).ok_or_else(no_id)?, secret, now)?;
    }
    Ok(inbox)
}

/// Reads the secret of dataset updates. No error quotes the argument, which may be the secret itself.
fn dataset_secret(place: &str) -> Result<WebhookSecret, Error> {
    let source = match place.split_once(':') {
        Some(("env", name)) if !name.is_empty() => SecretSource::Env(name.to_owned()),
        Some(("file", path)) if !path.is_empty() => SecretSource::File(PathBuf::from(path)),
        _ => {
            return Err(Error::Config(
                "--dataset-secret: expected env:NAME or file:PATH, found something else; say where the secret \
                 is, not what it is"
                    .to_owned(),
            ));
        }
    };
    let secret = read_secret(&source, "the secret of dataset updates", Path::new("."))?;
    WebhookSecret::new(secret).ok_or_else(|| {
        Error::Config(
            "--dataset-secret: expected a secret of at least 32 visible ASCII characters, found another; make a new one \
             in the dashboard of the account"
                .to_owned(),
        )
    })
}
