//! The simulated service of the examples, on loopback. With a real service this file is not needed: `[service] url`
//! names it. To be quick, it allows 6,000 requests per minute, a hundred times the real
//! service's 60, and its jobs take two seconds, not up to 48 hours.

use rescreen::{
    pipeline::{Campaign, read_file},
    simulator::{Checks, Settings, Simulator, serve},
};
use std::{error::Error, path::Path, time::Duration};
use tokio::net::TcpListener;

const PER_MINUTE: u32 = 6_000;

/// Starts the service, and loads a campaign of `sample-data/` that uses it and publishes to `out`.
pub async fn rehearse(campaign_file: &str, out: &Path) -> Result<(Simulator, Campaign), Box<dyn Error>> {
    let (per_minute, per_minute_max) = (PER_MINUTE, 2 * PER_MINUTE);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data");
    let mut file = read_file(&folder.join(campaign_file))?;
    file.simulate = true;
    (file.service.per_minute, file.service.per_minute_max) = (Some(per_minute), Some(per_minute_max));
    file.output.dir = Some(out.to_owned());
    let mut campaign = Campaign::new(file, &folder)?;

    // The service offers the campaign's checks, including custom ones, at the prices of the campaign's table.
    let prices = campaign.prices.iter().map(|(check, credits)| (check.clone(), credits.0)).collect();
    let checks = Checks::built_in().with(campaign.catalogue.own_declarations()?)?;
    let job_time = Some(Duration::from_secs(2));
    let settings = Settings { per_minute, per_minute_max, prices, checks, job_time, ..Settings::default() };
    let service = Simulator::new(settings);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    campaign.service.settings.url = Some(format!("http://{}", listener.local_addr()?));
    tokio::spawn(serve(service.clone(), listener, std::future::pending()));
    Ok((service, campaign))
}
