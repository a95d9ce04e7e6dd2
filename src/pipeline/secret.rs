//! Finding secrets: in the environment, in a private file, or from a program. Never in an argument, never in the campaign
//! file, and no error repeats one.

use super::campaign_file::SecretSource;
use crate::error::Error;
use secrecy::SecretString;
use std::{path::Path, process::Command};

/// Reads a secret. Relative files are relative to `base`.
///
/// # Errors
/// The source gives nothing, or a file that others can read.
pub fn read(source: &SecretSource, what: &str, base: &Path) -> Result<SecretString, Error> {
    let fault = |fault: String| Error::Config(format!("{what}: {fault}"));
    let text = match source {
        SecretSource::Env(name) => std::env::var(name).map_err(|_| {
            fault(format!(
                "the environment variable {name} is not set (or is not text); set it, or name another source"
            ))
        })?,
        SecretSource::File(path) => {
            let path = base.join(path);
            private(&path).map_err(&fault)?;
            std::fs::read_to_string(&path).map_err(|error| fault(format!("{}: {error}", path.display())))?
        }
        SecretSource::Command(words) => run(words).map_err(&fault)?,
    };
    match text.lines().next().map(str::trim) {
        Some(secret) if !secret.is_empty() => Ok(SecretString::from(secret)),
        _ => Err(fault("its source is empty".to_owned())),
    }
}

fn run(words: &[String]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("`command` names no program")?;
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        // What it printed may hold the secret.
        return Err(format!("{program} ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{program} printed no text"))
}

#[cfg(unix)]
fn private(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match metadata.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(format!("{} can be read by others; make it yours alone (chmod 600)", path.display())),
    }
}

#[cfg(not(unix))]
fn private(_path: &Path) -> Result<(), String> {
    Ok(())
}
