//! A published folder being read. It may come from someone else, so its content is not trusted: a part must be a
//! regular file below the folder that is not reached through a link, and must have the size that the manifest states.

mod jsonl_cells;

pub use jsonl_cells::jsonl_cells;

use super::{
    SinkError,
    manifest::{Dataset, DatasetKind, MANIFEST_NAME, Manifest, Part},
};
use crate::files::{Root, RootFault};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// A published folder with its manifest.
#[derive(Debug)]
pub struct PublishedFolder {
    path: PathBuf,
    root: Root,
    manifest: Manifest,
}

impl PublishedFolder {
    /// Opens a folder by its manifest.
    ///
    /// # Errors
    /// [`SinkError::NotPublished`] without a manifest, or the manifest cannot be read or is of another version.
    pub fn open(path: &Path) -> Result<PublishedFolder, SinkError> {
        let not_published = || SinkError::NotPublished { path: path.to_owned() };
        if !path.is_dir() {
            return Err(not_published());
        }
        let manifest = Manifest::read(path)?.ok_or_else(not_published)?;
        let storage = |fault: io::Error| SinkError::Storage { path: path.to_owned(), step: "opening", fault };
        Ok(PublishedFolder { path: path.to_owned(), root: Root::open(path).map_err(storage)?, manifest })
    }

    /// Whether a folder has a manifest.
    pub fn is_at(path: &Path) -> bool {
        path.join(MANIFEST_NAME).is_file()
    }

    /// The folder, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The datasets of a kind, in the order of the manifest.
    pub fn datasets(&self, kind: DatasetKind) -> impl Iterator<Item = &Dataset> {
        self.manifest.datasets.iter().filter(move |dataset| dataset.kind == kind)
    }

    /// Opens a part.
    ///
    /// # Errors
    /// [`SinkError::Part`] if it is missing, is not a regular file below the folder, or has another size.
    pub fn part(&self, part: &Part) -> Result<File, SinkError> {
        let fault = match self.root.regular(&part.path) {
            Ok((file, bytes)) if bytes == part.bytes => return Ok(file),
            Ok((_, bytes)) => format!("expected {} bytes, found {bytes}", part.bytes),
            Err(RootFault::Missing) => "found no file at this path".to_owned(),
            Err(fault) => format!("expected a file below the folder, {fault}"),
        };
        Err(self.unusable(part, fault))
    }

    /// The error of a part that cannot be used.
    pub fn unusable(&self, part: &Part, fault: impl Into<String>) -> SinkError {
        SinkError::Part { path: self.path.clone(), part: part.path.clone(), fault: fault.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::{FileFormat, InputTotals, OutputMode};
    use std::fs;

    fn manifest() -> Manifest {
        Manifest {
            manifest_version: 1,
            program: "rescreen".into(),
            campaign: "c".into(),
            mode: OutputMode::Sandbox,
            complete: false,
            under_way: false,
            format: FileFormat::Jsonl,
            datasets: Vec::new(),
            files: Vec::new(),
            totals: Vec::new(),
            input: InputTotals::default(),
            declared: Vec::new(),
            mappings: Vec::new(),
            images: Vec::new(),
            images_unlisted: 0,
            ledger: None,
            selected: None,
        }
    }

    #[test]
    fn only_a_folder_with_a_manifest_of_this_version_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let refused = || PublishedFolder::open(path).unwrap_err().to_string();
        assert!(refused().contains("found no manifest.json; name the output folder"), "{}", refused());
        assert!(!PublishedFolder::is_at(path));
        manifest().write_atomically(path).unwrap();
        assert_eq!(PublishedFolder::open(path).unwrap().manifest().campaign, "c");
        assert!(PublishedFolder::is_at(path));
        fs::write(path.join(MANIFEST_NAME), r#"{"manifest_version": 2}"#).unwrap();
        assert!(refused().contains("expected a manifest of version 1, found 2"), "{}", refused());
        fs::write(path.join(MANIFEST_NAME), "{").unwrap();
        assert!(refused().contains("found another file or a damaged one"), "{}", refused());
        let absent = PublishedFolder::open(&path.join("absent")).unwrap_err();
        assert!(absent.is_usage(), "{absent}");
    }

    #[test]
    fn a_part_outside_the_folder_or_of_another_size_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out");
        fs::create_dir_all(path.join("results")).unwrap();
        fs::write(home.path().join("secret"), "12345").unwrap();
        fs::write(path.join("results/part"), "12345").unwrap();
        std::os::unix::fs::symlink(home.path().join("secret"), path.join("results/link")).unwrap();
        manifest().write_atomically(&path).unwrap();
        let folder = PublishedFolder::open(&path).unwrap();
        let part = |path: &str, bytes| Part { path: path.into(), rows: 1, bytes, sha256: String::new() };
        assert!(folder.part(&part("results/part", 5)).is_ok());
        let absolute = home.path().join("secret").display().to_string();
        for (path, bytes, wanted) in [
            ("results/part", 6, "expected 6 bytes, found 5"),
            ("results/none", 5, "found no file at this path"),
            ("../secret", 5, "found a path with `..`"),
            (absolute.as_str(), 5, "found an absolute path"),
            ("results/link", 5, "found a symbolic link, which is not followed"),
            ("results", 5, "found a folder"),
        ] {
            let refused = folder.part(&part(path, bytes)).unwrap_err().to_string();
            assert!(refused.contains(wanted) && refused.contains("copy the whole folder again"), "{refused}");
        }
    }
}
