//! Whether evidence is, byte for byte, as it was made, and adds up; or whether published files are those that were published.
//!
//! | file | noun |
//! |---|---|
//! | `verified` | the result |
//! | `package` | a folder or an archive of evidence |
//! | `lines` | a file of chained lines |
//! | `recount` | the counts of the lines, compared with those that are stated |
//! | `outputs` | published files, compared with their manifest |

mod lines;
mod outputs;
mod package;
mod recount;
mod verified;

pub use recount::adds_up;
pub use verified::{About, Fault, Subject, Verified};

use super::{
    checksums::{CHECKSUMS, Checksums},
    facts::{EVIDENCE_VERSION, FACTS, Facts, OUTPUTS},
};
use crate::{
    error::Error,
    files,
    pipeline::campaign::place::ledger_in,
    sink::{MANIFEST_NAME, Manifest, PublishedFolder},
};
use lines::is_chained;
use package::Package;
use std::{collections::BTreeSet, path::Path};

/// What to verify.
pub struct VerifyOrder<'a> {
    /// A folder or archive of evidence, or a folder with published files.
    pub path: &'a Path,
    /// The seal that the evidence must have.
    pub seal: Option<&'a str>,
    /// The folder with the published files that the evidence is about.
    pub outputs: Option<&'a Path>,
}

/// Verifies evidence or published files.
///
/// # Errors
/// There is neither, or a run is writing the published files. Faults are not errors.
pub fn verify(order: &VerifyOrder<'_>) -> Result<Verified, Error> {
    match Package::open(order.path)? {
        Some(package) => {
            let (mut verified, manifest) = evidence(package, order.seal);
            if let (Some(outputs), Some(manifest)) = (order.outputs, manifest) {
                let found = outputs::outputs(outputs, Some(&manifest))?;
                verified.files += found.files;
                verified.faults.extend(found.faults);
                verified.notes.extend(found.notes);
            }
            Ok(verified)
        }
        None if order.seal.is_some() || order.outputs.is_some() => Err(Error::Config(format!(
            "{}: expected evidence for --seal and --outputs, found published files",
            order.path.display()
        ))),
        // A ledger without a manifest: a run is under way, or has published nothing yet.
        None if PublishedFolder::is_at(order.path) || ledger_in(order.path).is_file() => {
            outputs::outputs(order.path, None)
        }
        None => Err(package::neither(order.path)),
    }
}

/// Verifies evidence. Also returns the text of its manifest, if the files are as they were.
fn evidence(mut package: Package, seal: Option<&str>) -> (Verified, Option<Vec<u8>>) {
    let (faults, notes) = (Vec::new(), Vec::new());
    let mut verified = Verified { subject: Subject::Evidence, files: 0, faults, notes, seal: None, about: None };
    let faults = &mut verified.faults;
    let mut add = |file: &str, fault: String| faults.push(Fault { file: file.to_owned(), fault });
    if let Err(fault) = package.whole() {
        add(&package.name(), fault);
        if !package.is_readable() {
            return (verified, None);
        }
    }
    let text = package.content(CHECKSUMS).and_then(|bytes| files::text(bytes).map_err(|fault| fault.to_string()));
    let list = match text.and_then(|text| Checksums::parse(&text)) {
        Ok(list) => list,
        Err(fault) => {
            add(CHECKSUMS, fault);
            return (verified, None);
        }
    };
    let found = list.seal();
    if let Some(seal) = seal.filter(|seal| *seal != found) {
        add(CHECKSUMS, format!("expected the seal {seal}, found {found}"));
    }
    (verified.seal, verified.files) = (Some(found), list.0.len() as u64);
    verified.faults.extend(changed_files(&mut package, &list));
    if !verified.faults.is_empty() {
        return (verified, None);
    }
    match content(&mut package, &list) {
        Ok((about, manifest)) => {
            verified.about = Some(about);
            (verified, Some(manifest))
        }
        Err(fault) => {
            verified.faults.push(fault);
            (verified, None)
        }
    }
}

/// The files that are missing, were added, or are not as the list says.
fn changed_files(package: &mut Package, list: &Checksums) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |file: &str, fault: String| faults.push(Fault { file: file.to_owned(), fault });
    let found: BTreeSet<String> = match package.names() {
        Ok(found) => found.into_iter().collect(),
        Err(fault) => {
            add(&package.name(), fault);
            return faults;
        }
    };
    for name in found.iter().filter(|name| *name != CHECKSUMS && !list.0.contains_key(*name)) {
        add(name, format!("it was added: {CHECKSUMS} does not have it"));
    }
    for (name, sha256) in &list.0 {
        if !found.contains(name) {
            add(name, "it is missing".to_owned());
            continue;
        }
        match package.read(name, |file| Ok(files::sha256_of(file)?)) {
            Ok(digest) if digest == *sha256 => {}
            Ok(_) => add(name, changed(package, name)),
            Err(fault) => add(name, fault),
        }
    }
    faults
}

/// What is known of a change.
fn changed(package: &mut Package, name: &str) -> String {
    let first = match is_chained(name) {
        true => package.read(name, |file| lines::chained(file, |_| Ok(()))).err(),
        false => None,
    };
    let changed = format!("it was changed: its SHA-256 is not the one in {CHECKSUMS}");
    first.map_or(changed.clone(), |fault| format!("{changed}; {fault}"))
}

/// What evidence is about, and the text of its manifest. Its figures must add up.
fn content(package: &mut Package, list: &Checksums) -> Result<(About, Vec<u8>), Fault> {
    let at = |file: &str| {
        let file = file.to_owned();
        move |fault: String| Fault { file, fault }
    };
    let read = package.content(FACTS).map_err(at(FACTS))?;
    let value: serde_json::Value = serde_json::from_slice(&read).map_err(|fault| at(FACTS)(fault.to_string()))?;
    if value["evidence_version"] != EVIDENCE_VERSION {
        let fault = format!("expected evidence of version {EVIDENCE_VERSION}, found {}", value["evidence_version"]);
        return Err(at(FACTS)(fault));
    }
    let facts: Facts = serde_json::from_value(value).map_err(|fault| at(FACTS)(fault.to_string()))?;
    let path = format!("{OUTPUTS}/{MANIFEST_NAME}");
    let text = package.content(&path).map_err(at(&path))?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|fault| at(&path)(fault.to_string()))?;
    adds_up(&facts, &manifest).map_err(at(FACTS))?;
    for part in manifest.all_files().filter(|_| facts.has_outputs) {
        let path = format!("{OUTPUTS}/{}", part.path);
        if list.0.get(&path) != Some(&part.sha256) {
            return Err(at(&path)("it is not the one that the manifest names".to_owned()));
        }
    }
    recount::recount(package, &facts, &manifest)?;
    let Facts { campaign, mode, complete, input, requests, made_at, made_by, .. } = facts;
    let (rows, credits, made) = (input.rows, requests.credits_charged, Some((made_at, made_by)));
    Ok((About { campaign, mode, complete, rows, credits, made }, text))
}
