//! What the charge book is told of a partition's outputs, once they are published.

use super::send::purse::Purse;
use crate::{
    files::{self, Links},
    model::{Credits, key::hex, shared_partition::PartitionOutputs},
    sink::{AskCounts, InputTotals, MANIFEST_NAME, Manifest},
};
use sha2::{Digest, Sha256};
use std::{io, path::Path};

/// Tells the book what was published into this folder. What it is not told now, it is told by the next run of the partition.
pub async fn tell(purse: Option<&Purse>, folder: &Path, manifest: &Manifest) {
    let Some(money) = purse.and_then(Purse::book) else { return };
    let digest = files::open(&folder.join(MANIFEST_NAME), Links::Refused).and_then(files::sha256_of);
    let told = match digest.map(|digest| outputs_of(manifest, digest)) {
        Ok(outputs) => money.published(&outputs).await.map_err(|stop| stop.to_string()),
        Err(error) => Err(cannot_read(&error)),
    };
    if let Err(fault) = told {
        tracing::warn!(
            "the charge book was not told what was published ({fault}); run the partition again, at no cost"
        );
    }
}

fn cannot_read(error: &io::Error) -> String {
    format!("{MANIFEST_NAME} cannot be read: {error}")
}

/// The totals of a manifest with this digest.
fn outputs_of(manifest: &Manifest, digest: String) -> PartitionOutputs {
    let AskCounts { results, failures, pending, skipped } =
        AskCounts::of(&manifest.totals, manifest.input.unreadable_rows);
    PartitionOutputs {
        is_complete: manifest.complete,
        rows: manifest.input.rows,
        results,
        failures,
        pending,
        skipped,
        credits: Credits(manifest.totals.iter().map(|totals| totals.credits).sum()),
        manifest: digest,
        input: digest_of(&manifest.input),
    }
}

/// The digest of the content of all inputs, whatever their names and their order.
fn digest_of(input: &InputTotals) -> String {
    let mut digests: Vec<&str> = input.sources.iter().map(|source| source.sha256.as_str()).collect();
    digests.sort_unstable();
    hex(&Sha256::digest(digests.join("\n")))
}
