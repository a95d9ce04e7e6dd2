//! Files and folders that only their owner can read, because they contain personal data or concern a secret.

#[cfg(unix)]
use super::owner::access;
use super::regular::{Links, opened, options};
use std::{
    fs::{DirBuilder, File},
    io,
    path::Path,
};

/// Creates a folder and its parents, readable only by the owner. An existing folder is left unchanged.
///
/// # Errors
/// The folder cannot be created.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a regular file for reading and writing, and creates it, readable only by the owner, if it is missing. Its
/// contents are kept.
///
/// # Errors
/// The file cannot be opened or created, is not a regular file, belongs to another user, has several hard links, or is
/// a symbolic link.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = options(Links::Refused);
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    own(opened(path, &options, Links::Refused)?)
}

/// Opens a file like [`open_private`], for reading, and creates none.
///
/// # Errors
/// The file is missing, or those of [`open_private`].
pub fn find_private(path: &Path) -> io::Result<File> {
    own(opened(path, &options(Links::Refused), Links::Refused)?)
}

/// Takes the rights of others to read or change a regular file of this user. Returns whether they had any. A missing
/// file is left missing. It opens nothing, because closing a file drops the locks that this process has on it.
///
/// # Errors
/// The rights cannot be changed.
pub fn restrict_to_owner(path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(false) };
        let found = access(&metadata);
        if !metadata.is_file() || !(found.others_read || found.others_write) {
            return Ok(false);
        }
        let private = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
        std::fs::set_permissions(path, private).map(|()| true)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(false)
    }
}

/// Refuses a file of another user, and one with several names.
fn own(file: File) -> io::Result<File> {
    #[cfg(unix)]
    {
        let metadata = file.metadata()?;
        let refused = |fault: String| Err(io::Error::new(io::ErrorKind::InvalidInput, fault));
        if let Some(owner) = access(&metadata).other_owner {
            return refused(format!(
                "expected a file that you own, found one of the user with the id {owner}; remove it or change its owner"
            ));
        }
        if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
            let fault =
                "expected a file with one name, found one with several names (hard links); replace it with a copy";
            return refused(fault.to_owned());
        }
    }
    Ok(file)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::{
        fs,
        io::{Read, Write},
        os::unix::fs::PermissionsExt,
    };

    #[test]
    fn new_files_are_accessible_to_the_owner_only_and_existing_contents_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        private_folder(&folder).unwrap();
        let path = folder.join("file");
        open_private(&path).unwrap().write_all(b"held").unwrap();
        let mut text = String::new();
        open_private(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "held");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        std::os::unix::fs::symlink(&path, folder.join("link")).unwrap();
        assert!(open_private(&folder.join("link")).is_err());
        fs::hard_link(&path, folder.join("second name")).unwrap();
        assert!(open_private(&path).unwrap_err().to_string().contains("hard links"));
    }
}
