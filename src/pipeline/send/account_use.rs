//! With whom a run shares its account. All campaigns of one account on one machine share its rate, in a file in the user's
//! state folder; workers that name a charge book share its rate and its credits there; a simulator in this process has a
//! rate of its own. This module decides what happens if the file cannot be used.

use super::purse::SharedMoney;
#[cfg(feature = "book-postgres")]
use super::shared_account;
#[cfg(feature = "book-postgres")]
use crate::book::{AccountName, Address};
use crate::{
    client::{ApiKey, origin_of},
    error::Error,
    ledger::{Identity, Ledger, LedgerError},
    model::{Clock, shared_account::PartitionName},
    pipeline::campaign::service::{BookSource, Service},
    throttle::{Bucket, BucketFile},
};
use std::sync::Arc;

/// How a run uses its account.
pub struct AccountUse {
    pub bucket: Bucket,
    /// The credits and requests that it shares with other partitions; `None` if its ledger is alone.
    pub money: Option<Arc<dyn SharedMoney>>,
    /// A note for the user, if the rate should be shared on this machine and is not.
    pub note: Option<String>,
}

/// The partition of a campaign that a ledger belongs to. A ledger keeps the partition that its first run named.
///
/// # Errors
/// The ledger belongs to another partition than the one that is named, or cannot be read.
pub fn partition_of(service: &Service, ledger: &Ledger) -> Result<PartitionName, Error> {
    let reading = ledger.reading()?;
    let Identity { campaign, mode, key_secret, .. } = reading.identity()?;
    let named = service.book.as_ref().and_then(|book| book.partition.clone());
    let partition = match (named, ledger.sums().partition.clone()) {
        (Some(partition), Some(own)) if partition != own => {
            return Err(LedgerError::OtherPartition { own, partition }.into());
        }
        (named, own) => own.or(named).unwrap_or_default(),
    };
    Ok(PartitionName { campaign, mode, partition, key_secret, ledger: reading.ledger_id()? })
}

/// How the account is used, for a partition of a campaign or only to ask for the balance. A service in this process gets the bucket
/// `private`, because no other process can send to it.
///
/// # Errors
/// The charge book that the user names cannot be used.
pub async fn account_use(
    service: &Service,
    api_key: &ApiKey,
    private: Bucket,
    clock: Clock,
    partition: Option<PartitionName>,
) -> Result<AccountUse, Error> {
    if service.simulate || service.in_process.is_some() {
        return Ok(AccountUse { bucket: private, money: None, note: None });
    }
    match &service.book {
        Some(book) => of_book(service, book, partition).await,
        None => Ok(of_machine(service, api_key, clock)),
    }
}

/// The charge book alone, for a command that sends nothing. `None` without one.
///
/// # Errors
/// The charge book that the user names cannot be used.
pub async fn book_use(service: &Service, partition: PartitionName) -> Result<Option<Arc<dyn SharedMoney>>, Error> {
    match &service.book {
        Some(book) if !service.simulate && service.in_process.is_none() => {
            Ok(of_book(service, book, Some(partition)).await?.money)
        }
        _ => Ok(None),
    }
}

/// The account that workers on several machines share.
#[cfg(feature = "book-postgres")]
async fn of_book(service: &Service, book: &BookSource, partition: Option<PartitionName>) -> Result<AccountUse, Error> {
    let address = Address::new(&service.book_url(book)?)?;
    let origin = origin_of(service.settings.url.as_deref().unwrap_or_default());
    let account = AccountName { origin, name: book.account.clone() };
    let (bucket, money) =
        shared_account::enter(address, &account, service.pace(), partition, book.waits_for_place).await?;
    Ok(AccountUse { bucket, money, note: None })
}

#[cfg(not(feature = "book-postgres"))]
async fn of_book(_: &Service, _: &BookSource, _: Option<PartitionName>) -> Result<AccountUse, Error> {
    Err(Error::Config(
        "[ledger] book: this program was built without the charge book; use a release, or build it with --features \
         book-postgres"
            .to_owned(),
    ))
}

/// The account that all runs on this machine share.
fn of_machine(service: &Service, api_key: &ApiKey, clock: Clock) -> AccountUse {
    let alone = |why: String| {
        let note = format!(
            "the rate is not shared with other runs on this machine: {why}; this run starts at the steady rate without \
             a burst, and concurrent runs may together exceed the account's rate"
        );
        AccountUse { bucket: Bucket::Empty, money: None, note: Some(note) }
    };
    let Some(folder) = &service.state_folder else {
        return alone("neither XDG_STATE_HOME nor HOME names a folder".to_owned());
    };
    match BucketFile::open(folder, &account(service.settings.url.as_deref().unwrap_or_default(), api_key)) {
        Ok(file) => AccountUse { bucket: Bucket::Shared(file, clock), money: None, note: None },
        Err(error) => alone(format!("{}: {error}", folder.display())),
    }
}

/// The name of an account: the fingerprint of its API key and the normalized origin of the URL.
fn account(url: &str, api_key: &ApiKey) -> String {
    format!("{} {}", api_key.fingerprint(), origin_of(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_a_key_at_an_origin() {
        let key = |text: &str| ApiKey::new(text.to_owned().into());
        let one = account("https://service.example/v1", &key("k"));
        assert_eq!(one, account("https://Service.example", &key("k")));
        for spelling in ["https://service.example:443", "https://SERVICE.example./v2", "HTTPS://service.example.:443/"]
        {
            assert_eq!(one, account(spelling, &key("k")), "{spelling}");
        }
        assert_ne!(one, account("https://service.example:8443/v1", &key("k")));
        assert_eq!(account("http://127.0.0.1:80", &key("k")), account("http://127.0.0.1", &key("k")));
        assert_ne!(one, account("https://service.example/v1", &key("other")));
    }
}
