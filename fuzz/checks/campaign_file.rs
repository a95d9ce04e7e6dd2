//! Any text as a campaign file. It is refused, or parsed into a campaign with a schedule. An error message is short,
//! harmless to a terminal and repeats no secret.
//!
//! No campaign is run, and the sources of secrets, which may be programs, are not read.

use rescreen::{
    pipeline::{
        Campaign,
        campaign::{file::KeysTable, parse},
    },
    throttle::{Bucket, Throttle},
};
use std::path::Path;

/// A longer message repeats the file.
const CHARACTERS_MAX: usize = 1_000;
/// Shorter texts may be in a message by chance.
const SECRET_BYTES_MIN: usize = 6;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut file = match parse(text) {
        Ok(file) => file,
        Err(message) => {
            assert!(message.starts_with("line "), "{message}");
            assert!(message.chars().count() <= CHARACTERS_MAX, "{} characters", message.chars().count());
            let harmless = |c: char| !c.is_control() || c == '\n';
            assert!(message.chars().all(harmless), "{message:?}");
            for secret in secrets(text) {
                assert!(!message.contains(&secret), "{secret} is repeated: {message}");
            }
            return;
        }
    };
    file.keys = KeysTable::default();
    let url = file.service.url.clone().unwrap_or_default();
    match Campaign::new(file, Path::new("nowhere")) {
        Ok(campaign) => drop(Throttle::new(campaign.service.settings.rate(), Bucket::Empty)),
        Err(error) => repeats_no_user(text, &url, &error.to_string()),
    }
}

/// The text before the host of a URL may be a password.
fn repeats_no_user(text: &str, url: &str, message: &str) {
    let user = url.split_once("://").and_then(|(_, rest)| rest.split_once('@')).map(|(user, _)| user);
    let repeated = user.is_some_and(|user| stands_out(text, user) && message.contains(user));
    assert!(!repeated, "the user of {url} is repeated: {message}");
}

/// The values that are in the file once. Each may be a secret in the wrong place.
fn secrets(text: &str) -> Vec<String> {
    let Ok(table) = toml::from_str::<toml::Table>(text) else { return Vec::new() };
    let mut found = Vec::new();
    table.values().for_each(|value| collect(value, &mut found));
    found.retain(|secret| stands_out(text, secret));
    found
}

/// Whether a value can be recognised in a message: it contains a digit and is in the file once. Words may be in a
/// message by chance.
fn stands_out(text: &str, secret: &str) -> bool {
    let is_no_word = secret.len() >= SECRET_BYTES_MIN && secret.contains(|c: char| c.is_ascii_digit());
    is_no_word && text.matches(secret).count() == 1
}

fn collect(value: &toml::Value, found: &mut Vec<String>) {
    match value {
        toml::Value::String(text) => found.push(text.clone()),
        toml::Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        toml::Value::Table(table) => table.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}
