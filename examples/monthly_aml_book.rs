//! A monthly AML book, told as a story: 262 customers are screened against the service played on loopback, the run is
//! repeated, and the second time nothing is paid. Works offline: `cargo run --example monthly_aml_book`.

use rescreen::{
    pipeline::{Campaign, campaign_file::ServiceTable, read_file},
    simulator::{Settings, Simulator, serve},
};
use std::{error::Error, path::Path};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The service, on a port of its own. With yours, `[service] url` names it and none of this is needed. A newcomer's
    // patience is short, so it allows a hundred times what the real one does: 60 a minute.
    let (per_minute, per_minute_max) = (6_000, 12_000);
    let service = Simulator::new(Settings { per_minute, per_minute_max, ..Settings::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(serve(service.clone(), listener, std::future::pending()));

    // November's campaign is a file that says which columns feed which fields of which checks, and what it may cost.
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data");
    let outputs = tempfile::tempdir()?;
    let mut file = read_file(&book.join("customers.toml"))?;
    file.simulate = true;
    file.service = ServiceTable { per_minute, per_minute_max, ..file.service };
    file.output.dir = Some(outputs.path().to_owned());
    let mut campaign = Campaign::new(file, &book)?;
    campaign.service.url = Some(url);

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
