//! What the charge book is told of a partition's outputs, once they are published.

use super::{
    campaign::Campaign,
    publish,
    send::{
        account_use::{book_use, partition_of},
        context::BOOK_TIME,
        purse::{Purse, SharedMoney},
    },
};
use crate::{
    error::Error,
    files::{self, Links},
    ledger::Ledger,
    model::{KeySecret, key::hex, shared_partition::PartitionOutputs},
    sink::{AskCounts, InputTotals, MANIFEST_NAME, Manifest},
};
use sha2::{Digest, Sha256};

/// Enters the partition of a ledger that shared its account, for a command that sends nothing. The book is told what was
/// decided about its requests. The command publishes even if the book cannot be used.
pub async fn enter(campaign: &Campaign, ledger: &Ledger) -> Option<Purse> {
    ledger.sums().partition.as_ref()?;
    let entering = async {
        let money = book_use(&campaign.service, partition_of(&campaign.service, ledger)?).await?;
        let purse = Purse::new(Some(money.ok_or_else(|| Error::Config("no charge book is named".to_owned()))?));
        purse.enter(ledger).await?.map_err(Error::Stopped)?;
        Ok::<Purse, Error>(purse)
    };
    match entering.await {
        Ok(purse) => Some(purse),
        Err(error) => {
            not_told(&error);
            None
        }
    }
}

/// Leaves a partition that was entered and is not run. If the book does not answer, the partition is free after a minute.
pub async fn give_back(money: Option<&dyn SharedMoney>) {
    if let Some(money) = money {
        drop(tokio::time::timeout(BOOK_TIME, money.here(true)).await);
    }
}

/// Tells that a command has left the partition that it entered.
pub async fn leave(purse: &Purse, ledger: &Ledger) {
    match tokio::time::timeout(BOOK_TIME, purse.leave(ledger)).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(stop))) => not_told(&stop),
        Ok(Err(error)) => not_told(&error),
        Err(_) => not_told(&"it does not answer"),
    }
}

/// Tells the book what was published. What it is not told now, the next run of the partition tells.
pub async fn tell(purse: Option<&Purse>, campaign: &Campaign, manifest: &Manifest) {
    let Some(money) = purse.and_then(Purse::book) else { return };
    let file = files::open(&campaign.out.join(MANIFEST_NAME), Links::Refused).and_then(files::sha256_of);
    let digest = match file {
        Ok(digest) => digest,
        Err(error) => return not_told(&format!("{MANIFEST_NAME} cannot be read: {error}")),
    };
    let outputs = outputs_of(manifest, digest, campaign.key_secret.as_ref());
    match tokio::time::timeout(BOOK_TIME, money.published(&outputs)).await {
        Ok(Ok(())) => {}
        Ok(Err(stop)) => not_told(&stop),
        Err(_) => not_told(&"it does not answer"),
    }
}

fn not_told(why: &dyn std::fmt::Display) {
    tracing::warn!("the charge book was not told what was published: {why}. Run the partition again, at no cost");
}

/// The totals of a manifest with this digest.
fn outputs_of(manifest: &Manifest, digest: String, secret: Option<&KeySecret>) -> PartitionOutputs {
    let AskCounts { results, failures, pending, skipped } =
        AskCounts::of(&manifest.totals, manifest.input.unreadable_rows);
    PartitionOutputs {
        is_complete: manifest.complete,
        rows: manifest.input.rows,
        results,
        failures,
        pending,
        skipped,
        credits: publish::credits(manifest),
        manifest: digest,
        input: digest_of(&manifest.input, secret),
    }
}

/// The digest of the content of all inputs, whatever their names and their order. With a key secret, no one can find out the content
/// of a short input by guessing.
fn digest_of(input: &InputTotals, secret: Option<&KeySecret>) -> String {
    let mut digests: Vec<&str> = input.sources.iter().map(|source| source.sha256.as_str()).collect();
    digests.sort_unstable();
    let all = digests.join("\n");
    secret.map_or_else(|| hex(&Sha256::digest(&all)), |secret| secret.digest(&all))
}
