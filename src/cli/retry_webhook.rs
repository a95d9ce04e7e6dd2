//! `rescreen retry-webhook`: asks the service to deliver the results of jobs again, at no credit.

use super::{
    chosen, json,
    output::OutputArgs,
    program::program,
    reach::{ReachArgs, URL_OF_A_LEDGER},
};
use clap::Args;
use rescreen::{
    Error,
    client::DeliveryRefusal,
    model::{Clock, ExitCode, JobId, shell_words::quoted},
    pipeline::{self, Redeliveries, RedeliveryOrder},
};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Args)]
#[command(mut_arg("url", |url| url.help(URL_OF_A_LEDGER)))]
pub struct RetryWebhookArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// Only this job, which may have ended; repeatable [default: all jobs without a result]
    #[arg(long = "job", value_name = "ID")]
    jobs: Vec<String>,
    /// Public https URL of another `rescreen listen`, with a new secret; new requests name it too
    #[arg(long, value_name = "URL")]
    webhook_url: Option<String>,
    /// Campaign file that says where the API key is [default: read RESCREEN_API_KEY]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    service: ReachArgs,
    /// Ask even if the service asked an earlier run to wait
    #[arg(long)]
    lift_pause: bool,
    /// Ask even if the service stated a charge for an earlier order
    #[arg(long)]
    continue_anyway: bool,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn retry_webhook(args: RetryWebhookArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let place = chosen::one("retry-webhook", args.dir.as_deref(), args.config.as_deref())?.place;
    let RetryWebhookArgs { jobs, webhook_url, lift_pause, continue_anyway, service, .. } = args;
    let ReachArgs { url, proxy } = service;
    let order = RedeliveryOrder { jobs, webhook_url, lift_pause, continue_anyway, proxy };
    let done = pipeline::retry_webhook(&place, args.config.as_deref(), url.as_deref(), &order).await?;
    let code = done.exit_code();
    for line in done.lines() {
        if code == ExitCode::Complete { output.say(&line) } else { super::output::to_stderr(&line) }
    }
    let mut words = vec![program(), "collect".to_owned(), place.display().to_string()];
    words.extend(order.proxy.iter().flat_map(|proxy| ["--proxy".to_owned(), proxy.clone()]));
    words.extend(args.config.iter().flat_map(|file| ["-c".to_owned(), file.display().to_string()]));
    let next_command = (done.of > 0).then(|| quoted(&words));
    if let Some(next_command) = &next_command {
        output.say_to_copy(&format!("continue with: {next_command}"));
    }
    if args.json {
        json::print(&json::object(json::Format::RetryWebhook, code, fields(&done, next_command)));
    }
    Ok(code)
}

fn fields(done: &Redeliveries, next_command: Option<String>) -> Value {
    let refused = |(job, refusal): &(JobId, DeliveryRefusal)| {
        let DeliveryRefusal { status, message, .. } = refusal;
        serde_json::json!({ "job": job.as_str(), "http_status": status, "message": message })
    };
    serde_json::json!({
        "receiver": done.receiver,
        "jobs": done.of,
        "accepted": done.accepted,
        "refused": done.refused.iter().map(refused).collect::<Vec<_>>(),
        "withheld": done.withheld.iter().map(JobId::as_str).collect::<Vec<_>>(),
        "charged": done.charged.as_ref().map(|(job, _)| job.as_str()),
        "stop": done.stop.as_ref().map(|stop| {
            json::stop(stop.exit_code() as u8, stop.kind().as_str(), Some(&stop.to_string()), Clock::System.now_us(), None, None)
        }),
        "next_command": next_command,
    })
}
