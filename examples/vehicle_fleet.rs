//! A vehicle fleet. A plan shows what would be sent and costs nothing. Then the vehicles in service are checked by
//! plate and VIN, and rows that must be fixed are reported. Works offline: `cargo run --example vehicle_fleet`.

#![allow(clippy::print_stdout)]

mod service;

use rescreen::{
    pipeline::{PlanOptions, plan},
    sink::Manifest,
};
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let outputs = tempfile::tempdir()?;
    let (service, campaign) = service::rehearse("fleet.toml", outputs.path()).await?;

    // The plan reads and maps every row and sends nothing. It shows the cost, and the rows that cannot be sent.
    let to_plan = campaign.clone();
    let planned = tokio::task::spawn_blocking(move || plan(&to_plan, &PlanOptions::default())).await??;
    println!("{} rows, {} requests, {:?}", planned.tree.rows, planned.tree.requests(), planned.reasons.by_code());
    println!("{}", planned.notes.lines().join("\n"));
    assert_eq!(service.stats().requests, 0, "a plan sends nothing");

    // The run costs as much as the plan said.
    let report = campaign.run().await?;
    println!("{}", report.lines().join("\n"));
    let charged = service.stats().credits_charged;
    assert_eq!(Some(charged), planned.money.this_run().map(|credits| credits.0), "a plan says what a run will cost");

    // Every ask is in exactly one of results, failures, pending and skipped.
    let manifest = Manifest::read(outputs.path())?.ok_or("a run publishes")?;
    for totals in &manifest.totals {
        println!(
            "{:<14} {:>3} asks: {} results, {} failures, {} skipped, {:?}",
            totals.check, totals.asks, totals.results, totals.failures, totals.skipped, totals.by_verdict
        );
    }
    assert!(manifest.complete && manifest.accounts().is_ok());
    Ok(())
}
