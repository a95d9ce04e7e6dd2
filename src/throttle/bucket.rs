//! With whom a process shares its rate: with no one, with other processes on this machine, or with workers on other machines.

use super::bucket_file::BucketFile;
use crate::model::{
    Clock, Stop,
    shared_account::{AccountState, Version},
};
use futures::future::BoxFuture;
use std::{sync::Arc, time::Duration};

/// The initial state of the throttle, and who shares it.
pub enum Bucket {
    /// The service has not been used yet.
    Full,
    /// Nothing is known about the last minute.
    Empty,
    /// The account's bucket, which all processes on this machine share, measured with this clock.
    Shared(BucketFile, Clock),
    /// The account's bucket in a book, which workers on several machines share.
    Book(Arc<dyn SharedAccount>),
}

/// The account of a book.
pub trait SharedAccount: Send + Sync {
    /// Reads the account.
    ///
    /// # Errors
    /// The book cannot be reached.
    fn read(&self) -> BoxFuture<'_, Result<AccountState, Stop>>;

    /// Writes its record, unless the account has another version by now. Returns whether it was written.
    ///
    /// # Errors
    /// The book cannot be reached. The record may have been written.
    fn write(&self, version: Version, record: Vec<u8>) -> BoxFuture<'_, Result<bool, Stop>>;

    /// Lets all workers wait for this long.
    ///
    /// # Errors
    /// The book cannot be reached.
    fn pause(&self, pause: Duration) -> BoxFuture<'_, Result<(), Stop>>;

    /// Stops all workers until a person decides. `at_us` is the time of the reason, in microseconds since 1970.
    ///
    /// # Errors
    /// The book cannot be reached.
    fn halt<'a>(&'a self, reason: &'a Stop, at_us: i64) -> BoxFuture<'a, Result<(), Stop>>;

    /// The run ends soon: a question that gets no answer is not asked again.
    fn hurry(&self);

    /// This worker sends nothing more.
    ///
    /// # Errors
    /// The book cannot be reached.
    fn leave(&self) -> BoxFuture<'_, Result<(), Stop>>;
}
