//! A monthly AML book, told as a story: 262 customers are screened against the service played on loopback, the run is
//! repeated, and the second time nothing is paid. Works offline: `cargo run --example monthly_aml_book`.

#![allow(clippy::print_stdout)]

mod service;

use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // November's campaign is a file that says which columns feed which fields of which checks, and what it may cost.
    let outputs = tempfile::tempdir()?;
    let (service, campaign) = service::rehearse("customers.toml", outputs.path()).await?;

    // It is run. Every row is answered or accounted for.
    let report = campaign.clone().run().await?;
    println!("{}", report.lines().join("\n"));
    let paid = service.stats().credits_charged;

    // The machine is restarted, a colleague is not sure whether it was run: it is run again, and pays once.
    let again = campaign.run().await?;
    let paid_again = service.stats().credits_charged - paid;
    println!("first run: {} answers, {paid} credits", report.answered);
    println!("again:     {} answers, {paid_again} credits", again.answered);
    assert!(again.was_complete && paid_again == 0, "a campaign pays once");
    Ok(())
}
