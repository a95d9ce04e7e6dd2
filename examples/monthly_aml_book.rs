//! A monthly AML list. 262 customers are screened with the simulated service, and the run is repeated, which costs
//! nothing. Works offline: `cargo run --example monthly_aml_book`.

#![allow(clippy::print_stdout)]

mod service;

use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The campaign file says which columns are used for which fields of which checks, and how much the campaign may
    // cost.
    let outputs = tempfile::tempdir()?;
    let (service, campaign) = service::rehearse("customers.toml", outputs.path()).await?;

    // The first run. Every row is answered or accounted for.
    let report = campaign.clone().run().await?;
    println!("{}", report.lines().join("\n"));
    let paid = service.stats().credits_charged;

    // The same campaign again. Everything is settled already, so it costs nothing.
    let again = campaign.run().await?;
    let paid_again = service.stats().credits_charged - paid;
    println!("first run: {} answers, {paid} credits", report.sent.answered);
    println!("again:     {} answers, {paid_again} credits", again.sent.answered);
    assert!(again.remarks.was_complete && paid_again == 0, "a campaign pays once");
    Ok(())
}
