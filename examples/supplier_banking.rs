//! Bank details of suppliers before the first payment. Accounts of persons are answered at once. Accounts of businesses
//! are accepted as jobs: their credits stay reserved, they are not sent again, and their results are read when the jobs
//! have ended. The real service may take 48 hours for a job: then a run ends with exit code 5, and `rescreen collect` gets
//! the results later. Works offline: `cargo run --example supplier_banking`.

#![allow(clippy::print_stdout)]

mod service;

use rescreen::{model::ExitCode, sink::Manifest};
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let outputs = tempfile::tempdir()?;
    let (service, campaign) = service::rehearse("supplier_banking.toml", outputs.path()).await?;
    let report = campaign.run().await?;
    println!("{}", report.lines().join("\n"));
    assert_eq!(report.exit_code, ExitCode::Failures, "one row has failed");

    let manifest = Manifest::read(outputs.path())?.ok_or("a run publishes")?;
    for totals in &manifest.totals {
        println!(
            "{:<22} {} asks: {} results, {} failures, {} pending, {} skipped, {:?}",
            totals.check,
            totals.asks,
            totals.results,
            totals.failures,
            totals.pending,
            totals.skipped,
            totals.by_verdict
        );
    }
    let of = |check: &str| manifest.totals.iter().find(|totals| totals.check == check);
    let (persons, businesses) = (of("bank-account"), of("business-bank-account"));
    assert_eq!(
        persons.map(|totals| (totals.results, totals.failures)),
        Some((4, 1)),
        "one account number is too short"
    );
    assert_eq!(businesses.map(|totals| (totals.results, totals.pending)), Some((2, 0)));
    assert_eq!((service.stats().charges, service.stats().jobs), (6, 2), "a job is charged when it has a result");
    assert!(manifest.accounts().is_ok());
    Ok(())
}
