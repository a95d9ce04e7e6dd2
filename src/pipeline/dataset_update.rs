//! The last update of the AML dataset that `rescreen listen` received. Rescreening remains the user's decision.

use super::campaign::receiver::default_inbox;
use crate::webhook::{DATASET_UPDATES, Inbox, Newest};
use std::path::Path;

/// The last update in an inbox; without a file, in the inbox of this user. An inbox that cannot be read is only logged,
/// because nothing depends on it.
pub fn dataset_update(inbox: Option<&Path>) -> Option<Newest> {
    // A user without a state folder has no inbox.
    let path = inbox.map(Path::to_owned).or_else(|| default_inbox().ok()).filter(|path| path.exists())?;
    let newest = Inbox::open_to_read(&path).and_then(|inbox| inbox.newest(DATASET_UPDATES));
    newest.unwrap_or_else(|error| {
        tracing::warn!("updates of the dataset are not shown: {error}");
        None
    })
}
