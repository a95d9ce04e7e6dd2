//! New customers: the ID number, the selfie and the proof of address of each applicant are checked. Files are read below
//! one folder, and a row whose file is missing fails before anything is paid. Works offline: `cargo run --example
//! onboarding`.

#![allow(clippy::print_stdout)]

mod service;

use rescreen::sink::Manifest;
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let outputs = tempfile::tempdir()?;
    let (service, campaign) = service::rehearse("onboarding.toml", outputs.path()).await?;
    let report = campaign.run().await?;
    println!("{}", report.lines().join("\n"));

    // One applicant has three asks: one for each check.
    let manifest = Manifest::read(outputs.path())?.ok_or("a run publishes")?;
    for totals in &manifest.totals {
        println!(
            "{:<18} {} asks: {} results, {} failures, {:?}",
            totals.check, totals.asks, totals.results, totals.failures, totals.by_verdict
        );
    }
    let failures: u64 = manifest.totals.iter().map(|totals| totals.failures).sum();
    assert_eq!(failures, 1, "one selfie is missing");
    assert_eq!(service.stats().charges, 17, "a row that fails is not charged");
    let clear = manifest.totals.iter().filter_map(|totals| totals.by_verdict.get("clear")).sum::<u64>();
    assert!(clear > 0 && manifest.complete && manifest.accounts().is_ok());
    Ok(())
}
