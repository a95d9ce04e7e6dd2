//! The service the stories are told against, played on loopback. With yours, `[service] url` names it and nothing of this is
//! needed. A newcomer's patience is short, so it allows a hundred times what the real one does: 60 a minute.

use rescreen::{
    pipeline::{Campaign, campaign::file::ServiceTable, read_file},
    simulator::{Settings, Simulator, serve},
};
use std::{error::Error, path::Path};
use tokio::net::TcpListener;

const PER_MINUTE: u32 = 6_000;

/// The service, and a campaign of `sample-data/` that is sent to it and publishes into `out`.
pub async fn rehearse(campaign_file: &str, out: &Path) -> Result<(Simulator, Campaign), Box<dyn Error>> {
    let (per_minute, per_minute_max) = (PER_MINUTE, 2 * PER_MINUTE);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data");
    let mut file = read_file(&folder.join(campaign_file))?;
    file.simulate = true;
    file.service = ServiceTable { per_minute, per_minute_max, ..file.service };
    file.output.dir = Some(out.to_owned());
    let mut campaign = Campaign::new(file, &folder)?;

    // It sells what the campaign asks for, the user's own checks too, at the prices of the campaign's table.
    let prices = campaign.prices.iter().map(|(check, credits)| (check.clone(), credits.0)).collect();
    let catalogue = campaign.catalogue.clone();
    let settings = Settings { per_minute, per_minute_max, prices, catalogue, ..Settings::default() };
    let service = Simulator::new(settings);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    campaign.service.url = Some(format!("http://{}", listener.local_addr()?));
    tokio::spawn(serve(service.clone(), listener, std::future::pending()));
    Ok((service, campaign))
}
