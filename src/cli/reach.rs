//! The flags of commands that reach the service without the flags of a run.

use clap::Args;

/// Where the service is, and how to reach it.
#[derive(Args)]
pub struct ReachArgs {
    /// Base URL of the service
    #[arg(long = "service", value_name = "URL")]
    pub url: Option<String>,
    /// URL of an HTTP proxy to the service; `none` for none [default: HTTPS_PROXY or ALL_PROXY, except for NO_PROXY]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
}

/// What commands say of `--service` that have a ledger: its runs have recorded which service they reached.
pub const URL_OF_A_LEDGER: &str =
    "Base URL of the service; needed if no run on this machine has sent the API key there before";
