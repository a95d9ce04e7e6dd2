//! The rate bucket of a run. All campaigns of one account on one machine share a bucket, in a file in the user's state
//! folder; the simulator of this process has a separate one. This module decides what happens if the file cannot be
//! used.

use crate::{
    client::{ApiKey, origin_of},
    model::Clock,
    pipeline::campaign::service::Service,
    throttle::{Bucket, BucketFile},
};

/// The bucket of a run, and a note for the user if it should be shared but is not. A service in this process gets the
/// bucket `private`, because no other process can send to it.
pub fn bucket(service: &Service, api_key: &ApiKey, private: Bucket, clock: Clock) -> (Bucket, Option<String>) {
    if service.simulate || service.in_process.is_some() {
        return (private, None);
    }
    let alone = |why: String| {
        let note = format!(
            "the rate is not shared with other runs on this machine: {why}; this run starts at the steady rate without \
             a burst, and concurrent runs may together exceed the account's rate"
        );
        (Bucket::Empty, Some(note))
    };
    let Some(folder) = &service.state_folder else {
        return alone("neither XDG_STATE_HOME nor HOME names a folder".to_owned());
    };
    match BucketFile::open(folder, &account(service.settings.url.as_deref().unwrap_or_default(), api_key)) {
        Ok(file) => (Bucket::Shared(file, clock), None),
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
