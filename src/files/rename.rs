//! A rename that replaces nothing: if the new name is taken, the file keeps its old name. And the folder around it, made durable.

use crate::model::fault_point::{self, Point};
use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Renames a file to an unused name.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the name is taken, or another error of the rename.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems do not support this flag.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    by_link(from, to)
}

/// Renames through a hard link, which never replaces a file. On file systems without hard links there is a short race
/// between the check and the rename.
fn by_link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Makes a rename durable.
///
/// # Errors
/// The folder cannot be synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    fault_point::pass(Point::SyncFolder)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_not_replaced() {
        for rename in [rename_new, by_link] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            fs::write(at("new"), "new").unwrap();
            fs::write(at("old"), "old").unwrap();
            assert_eq!(rename(&at("new"), &at("old")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(at("old")).unwrap(), b"old");
            rename(&at("new"), &at("free")).unwrap();
            assert_eq!(fs::read(at("free")).unwrap(), b"new");
            assert!(!at("new").exists());
        }
    }
}
