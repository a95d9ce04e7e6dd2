//! `rescreen retry-webhook`: asks the service to deliver the results of jobs again, at no credit.

use super::{output::OutputArgs, status::folder};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, shell_words::quoted},
    pipeline::{self, RedeliveryOrder},
};
use std::path::PathBuf;

#[derive(Args)]
pub struct RetryWebhookArgs {
    /// Output folder [default: the only one in out/]
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
    /// Base URL of the service; needed if no run on this machine has sent the API key there before
    #[arg(long, value_name = "URL")]
    service: Option<String>,
    /// Ask even if the service asked an earlier run to wait
    #[arg(long)]
    lift_pause: bool,
}

pub async fn retry_webhook(args: RetryWebhookArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let place = folder(args.dir.as_deref())?;
    let order = RedeliveryOrder { jobs: args.jobs, webhook_url: args.webhook_url, lift_pause: args.lift_pause };
    let done = pipeline::retry_webhook(&place, args.config.as_deref(), args.service.as_deref(), &order).await?;
    let code = done.exit_code();
    for line in done.lines() {
        if code == ExitCode::Complete { output.say(&line) } else { super::output::to_stderr(&line) }
    }
    if done.of > 0 {
        let mut words = ["rescreen", "collect", &place.display().to_string()].map(str::to_owned).to_vec();
        words.extend(args.config.iter().flat_map(|file| ["-c".to_owned(), file.display().to_string()]));
        output.say(&format!("continue with: {}", quoted(&words)));
    }
    Ok(code)
}
