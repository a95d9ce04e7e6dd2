//! The file of the page. It appears complete or not at all, and is readable by its owner only. It replaces an earlier
//! report, but no other file.

use super::page::BEGINS;
use crate::{
    error::Error,
    files::{self, Links},
    sink::SinkError,
};
use std::{
    io::{self, Read, Write},
    path::Path,
};
use tempfile::Builder;

/// Refuses a place where no report may be written, before anything is read.
///
/// # Errors
/// The folder is missing, or another file has the name.
pub fn check(path: &Path) -> Result<(), Error> {
    let folder = files::folder_of(path);
    if !folder.is_dir() {
        return Err(Error::Config(format!(
            "--to {}: expected a file in an existing folder, found no folder {}",
            path.display(),
            folder.display()
        )));
    }
    is_free(path).map(drop)
}

/// Whether no file has the name yet. An earlier report may be replaced.
fn is_free(path: &Path) -> Result<bool, Error> {
    if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(true);
    }
    match begins_as_report(path) {
        Ok(true) => Ok(false),
        found => {
            let found = found.map_or_else(|fault| fault.to_string(), |_| "another file".to_owned());
            Err(Error::Config(format!(
                "{}: expected no file, or a report that rescreen made, found {found}; it is not replaced: name another file \
                 with --to",
                path.display()
            )))
        }
    }
}

fn begins_as_report(path: &Path) -> io::Result<bool> {
    let mut begins = Vec::new();
    files::open(path, Links::Refused)?.take(BEGINS.len() as u64).read_to_end(&mut begins)?;
    Ok(begins == BEGINS.as_bytes())
}

/// Writes the page.
///
/// # Errors
/// It cannot be written, or another file got its name meanwhile.
pub fn write(path: &Path, page: &str) -> Result<(), Error> {
    let failed = |step| {
        let path = path.to_owned();
        move |fault| Error::from(SinkError::Storage { path, step, fault })
    };
    let folder = files::folder_of(path);
    // Only its owner can read a temporary file, and it keeps that mode.
    let file = Builder::new().prefix(".rescreen-report-").suffix(".tmp").tempfile_in(folder);
    let mut file = file.map_err(failed("creating"))?;
    file.write_all(page.as_bytes()).map_err(failed("writing"))?;
    file.as_file().sync_all().map_err(failed("fsync"))?;
    let renamed = if is_free(path)? { file.persist_noclobber(path) } else { file.persist(path) };
    renamed.map_err(|error| failed("renaming")(error.error))?;
    files::sync_folder(folder).map_err(failed("fsync of the folder"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_report_is_replaced_and_another_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        check(&path).unwrap();
        write(&path, &format!("{BEGINS}one")).unwrap();
        check(&path).unwrap();
        write(&path, &format!("{BEGINS}two")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{BEGINS}two"));
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        for other in ["", "<!DOCTYPE html>\n<p>mine</p>", "mine"] {
            fs::write(&path, other).unwrap();
            for refused in [check(&path), write(&path, BEGINS)] {
                let message = refused.unwrap_err().to_string();
                assert!(message.contains("found another file; it is not replaced: name another file"), "{message}");
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file is left");
        assert!(check(&folder.path().join("no/report.html")).unwrap_err().to_string().contains("found no folder"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_neither_followed_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (folder.path().join("target"), folder.path().join("report.html"));
        fs::write(&target, format!("{BEGINS}elsewhere")).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(check(&path).is_err() && write(&path, BEGINS).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), format!("{BEGINS}elsewhere"));
    }
}
