//! A record of where this user's API keys were sent, as digests in small files in the state folder. A ledger says where
//! its requests were sent, but others may have changed the ledger. `rescreen collect` trusts it only if a run on this
//! machine sent the same API key in the same way, and shows the command line of such a run only. This module decides
//! what "the same way" means.

use crate::{
    client::ApiKey,
    files::{self, Links, other_writers_in},
    model::key::fingerprint,
    pipeline::campaign::{
        Campaign, SIMULATED_ORIGIN,
        recorded::{absolute, command_of},
        service::Service,
    },
};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The maximum size of a note, which is one short line.
const NOTE_BYTES_MAX: u64 = 256;

/// Records that a run sends this API key in this way.
///
/// # Errors
/// The state folder cannot be written.
pub fn note(campaign: &Campaign, api_key: &ApiKey) -> io::Result<()> {
    let Some(path) = note_of(campaign, api_key) else { return Ok(()) };
    path.parent().map_or(Ok(()), files::private_folder)?;
    // The digest is also in the content, because a file can be renamed.
    files::open_private(&path)?.write_all(digest_in(&path).as_bytes())
}

/// Whether a run on this machine sent this API key in this way.
pub fn is_known(campaign: &Campaign, api_key: &ApiKey) -> bool {
    let own = |path: PathBuf| {
        let file = files::open(&path, Links::Refused).ok()?;
        let access = files::access(&file.metadata().ok()?);
        let is_ours =
            access.other_owner.is_none() && !access.others_write && other_writers_in(path.parent()?).is_none();
        let text = files::read_open(file, NOTE_BYTES_MAX).ok()?;
        Some(is_ours && text == digest_in(&path).as_bytes())
    };
    note_of(campaign, api_key).and_then(own).unwrap_or(false)
}

/// The file name of a note, which contains the digest.
fn digest_in(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The path of the note; `None` if there is no state folder.
fn note_of(campaign: &Campaign, api_key: &ApiKey) -> Option<PathBuf> {
    let service = &campaign.service;
    let is_here = service.simulate || service.in_process.is_some();
    let url = if is_here { SIMULATED_ORIGIN } else { service.settings.url.as_deref()? };
    let digest = fingerprint(b"rescreen service", &way(campaign, service, url, api_key));
    Some(service.state_folder.as_ref()?.join(format!("service-{digest}")))
}

/// Everything that decides where the API key is sent, and by which route.
fn way(campaign: &Campaign, service: &Service, url: &str, api_key: &ApiKey) -> String {
    let ca_file = service.settings.ca_file.as_deref().map(absolute);
    let mut routes: Vec<String> = campaign
        .checks()
        .iter()
        .map(|one| format!("{} {}", one.name, one.routes.all().collect::<Vec<_>>().join(" ")))
        .collect();
    routes.sort_unstable();
    let (key, url) = (api_key.fingerprint(), url.trim_end_matches('/'));
    let (routes, command) = (routes.join("\n"), command_of(campaign));
    // Empty where nothing is set, so that what earlier releases noted stays valid.
    let own: String = service.settings.checks.iter().map(|(name, one)| format!("{name} {one:?}\n")).collect();
    format!(
        "{key}\n{url}\n{:?}\n{:?}\n{ca_file:?}\n{routes}\n{own}{command:?}",
        service.settings.auth, service.settings.proxy
    )
}
