//! Reading secrets: from the environment, from a private file, or from a program. A secret is never an argument, never
//! in the campaign file and never quoted by an error. This module limits how long a program may take and how much it
//! may print.

use crate::{
    error::Error,
    files::{self, Links, access},
};
use secrecy::SecretString;
use serde::Deserialize;
use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The maximum size of what a source provides, in bytes.
const SECRET_BYTES_MAX: u64 = 64 << 10;
/// How long a program may take. It may ask the user for a password.
const COMMAND_TAKES_MAX: Duration = Duration::from_secs(60);
/// How often to check whether the program has ended.
const POLL: Duration = Duration::from_millis(10);

/// Where to find a secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum SecretSource {
    /// An environment variable.
    Env(String),
    /// A file that only its owner can read.
    File(PathBuf),
    /// A program and its arguments; its first output line is the secret. No shell.
    Command(Vec<String>),
}

pub const SECRET_EXPECTED: &str = "expected a source for the secret, as { env = \"NAME\" }, { file = \"PATH\" } or \
    { command = [\"PROGRAM\", \"ARGUMENT\"] }; the secret itself must not be in this file";

impl TryFrom<toml::Value> for SecretSource {
    type Error = &'static str;

    /// All mistakes give the same error. It does not quote the value, which may be the secret.
    fn try_from(value: toml::Value) -> Result<SecretSource, &'static str> {
        let toml::Value::Table(table) = value else { return Err(SECRET_EXPECTED) };
        let mut entries = table.into_iter();
        match (entries.next(), entries.next()) {
            (Some((kind, toml::Value::String(text))), None) if kind == "env" => Ok(SecretSource::Env(text)),
            (Some((kind, toml::Value::String(text))), None) if kind == "file" => Ok(SecretSource::File(text.into())),
            (Some((kind, toml::Value::Array(words))), None) if kind == "command" => {
                let words = words.into_iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>();
                words.map(SecretSource::Command).ok_or(SECRET_EXPECTED)
            }
            _ => Err(SECRET_EXPECTED),
        }
    }
}

/// Reads a secret. Relative files are relative to `base`.
///
/// # Errors
/// The source is empty, the file can be read by others or belongs to another user, or the program takes too long or
/// prints too much.
pub fn read(source: &SecretSource, what: &str, base: &Path) -> Result<SecretString, Error> {
    let fault = |fault: String| Error::Config(format!("{what}: {fault}"));
    let text = match source {
        SecretSource::Env(name) => std::env::var(name).map_err(|_| {
            fault(format!(
                "the environment variable {name} is not set (or is not valid text); set it, or name another source in the campaign file"
            ))
        })?,
        SecretSource::File(path) => of_file(&base.join(path)).map_err(&fault)?,
        SecretSource::Command(words) => of_command(words, COMMAND_TAKES_MAX).map_err(&fault)?,
    };
    match text.lines().next().map(str::trim) {
        Some(secret) if !secret.is_empty() => Ok(SecretString::from(secret)),
        _ => Err(fault("expected a secret, found an empty source".to_owned())),
    }
}

fn of_file(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = files::open(path, Links::Followed).map_err(failed)?;
    let access = access(&file.metadata().map_err(failed)?);
    if access.others_read || access.others_write {
        return Err(format!(
            "{} can be read or changed by other users; restrict it to your user (chmod 600)",
            path.display()
        ));
    }
    if let Some(owner) = access.other_owner {
        return Err(format!("{} belongs to user id {owner}; expected a file that belongs to you", path.display()));
    }
    files::read_open(file, SECRET_BYTES_MAX).and_then(files::text).map_err(failed)
}

/// Runs a program with a time limit and returns what it prints.
fn of_command(words: &[String], takes_max: Duration) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("`command` names no program")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::inherit()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let printed = printed(&mut child, Instant::now() + takes_max);
    // A child process of the program may still hold the pipe open. Do not wait for it.
    drop(child.kill());
    let ended = child.wait();
    let bytes = printed.map_err(|fault| format!("{program} {fault}"))?;
    match ended {
        Ok(status) if status.success() => {}
        // The output is not quoted: it may contain the secret.
        Ok(status) => return Err(format!("{program} ended with {status}")),
        Err(error) => return Err(format!("{program}: {error}")),
    }
    String::from_utf8(bytes).map_err(|_| format!("{program} printed something that is not UTF-8 text"))
}

/// The output of a program that exits before the deadline.
fn printed(child: &mut Child, deadline: Instant) -> Result<Vec<u8>, String> {
    let output = child.stdout.take().ok_or("has no output")?;
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes);
        drop(give.send(read.map(|_| bytes)));
    });
    let late = || format!("did not end within {} s", COMMAND_TAKES_MAX.as_secs());
    let left = deadline.saturating_duration_since(Instant::now());
    let bytes = match take.recv_timeout(left) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Err(format!("gave output that cannot be read: {error}")),
        Err(_) => return Err(late()),
    };
    if bytes.len() as u64 > SECRET_BYTES_MAX {
        return Err(format!("printed more than {SECRET_BYTES_MAX} bytes"));
    }
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Instant::now() >= deadline {
            return Err(late());
        }
        thread::sleep(POLL);
    }
    Ok(bytes)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn of(line: &str, takes_max: Duration) -> Result<String, String> {
        of_command(&["sh".to_owned(), "-c".to_owned(), line.to_owned()], takes_max)
    }

    #[test]
    fn a_program_is_read_if_it_ends_in_time_and_prints_little() {
        let long = Duration::from_secs(30);
        assert_eq!(of("echo key", long).unwrap(), "key\n");
        assert_eq!(of("head -c 65536 /dev/zero | tr '\\0' x", long).unwrap().len(), 65_536);
        assert_eq!(of("echo key; exit 3", long).unwrap_err(), "sh ended with exit status: 3");
        assert_eq!(of("yes", long).unwrap_err(), "sh printed more than 65536 bytes");
    }

    mod timed {
        use super::*;

        #[test]
        #[ignore = "timed: make gauntlet"]
        fn a_program_that_does_not_end_in_time_is_abandoned() {
            let started = Instant::now();
            assert_eq!(of("yes", Duration::from_secs(30)).unwrap_err(), "sh printed more than 65536 bytes");
            for waits in ["sleep 30", "echo key; exec >&-; sleep 30", "sleep 30 & echo key"] {
                let error = of(waits, Duration::from_millis(300)).unwrap_err();
                assert!(error.contains("did not end within"), "{waits}: {error}");
            }
            assert!(started.elapsed() < Duration::from_secs(15), "it does not wait for an abandoned program");
        }
    }
}
