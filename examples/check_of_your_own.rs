//! A custom check. Each row of a supplier list is looked up in the companies register, supplier and director are
//! screened, and a telephone number is looked up with a check that the campaign file declares, because many checks of
//! such services are not documented. Works offline: `cargo run --example check_of_your_own`.

#![allow(clippy::print_stdout)]

mod service;

use rescreen::sink::Manifest;
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Four checks for each row. One check is used twice, under two names, and one is declared in the file.
    let outputs = tempfile::tempdir()?;
    let (service, campaign) = service::rehearse("suppliers.toml", outputs.path()).await?;
    let names: Vec<&str> = campaign.uses.iter().map(|one| one.name()).collect();
    assert_eq!(names, ["cipc-company", "supplier-aml", "director-aml", "contact-enquiry"]);

    let report = campaign.run().await?;
    println!("{}", report.lines().join("\n"));

    // A director of two suppliers is requested once, and both rows have the answer.
    let manifest = Manifest::read(outputs.path())?.ok_or("a run publishes")?;
    for totals in &manifest.totals {
        println!(
            "{:<16} {:>3} results for {:>3} credits, {:?}",
            totals.check, totals.results, totals.credits, totals.by_verdict
        );
    }
    let directors = manifest.totals.iter().find(|totals| totals.check == "director-aml").ok_or("a check has totals")?;
    assert!(manifest.complete && manifest.accounts().is_ok());
    assert!(directors.credits < 2 * directors.results, "equal content is one charge");
    assert_eq!(service.stats().double_charges, 0);
    Ok(())
}
