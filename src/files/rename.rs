//! A rename that replaces nothing: where the new name is taken, the file keeps its old one.

use std::{fs, io, path::Path};

/// Renames a file to a name that is free.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] where the name is taken, and whatever keeps a file from being renamed.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    by_link(from, to)
}

/// The same with a second name for the file: a link is never made over what is there. For file systems without links there
/// is a moment between the look and the rename.
fn by_link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
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
