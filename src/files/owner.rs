//! Who owns a file, and who else may read or change it. The callers decide what that means for their files.

use std::{fs::Metadata, path::Path};

/// Who can access a file or folder, according to its owner and mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The user id of the owner, if that is not the effective user of this process.
    pub other_owner: Option<u32>,
    /// The group or everyone may write to it.
    pub others_write: bool,
    /// Everyone may write to it, or a group other than this user's primary group.
    pub world_writable: bool,
    /// The group or everyone may read it.
    pub others_read: bool,
}

/// Describes who else can put files into a folder. `None` if only this user can, or if the folder does not exist.
pub fn other_writers_in(folder: &Path) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let access = access(&std::fs::metadata(folder).ok()?);
    match access.other_owner {
        Some(owner) => Some(format!("the folder {} belongs to the user with the id {owner}", folder.display())),
        None if access.world_writable => Some(format!("others can write to the folder {}", folder.display())),
        None => None,
    }
}

/// Reads the access from the metadata of an open file. On systems without owners and modes, only this user can access
/// it.
pub fn access(metadata: &Metadata) -> Access {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (owner, mode) = (metadata.uid(), metadata.mode());
        Access {
            other_owner: (owner != rustix::process::geteuid().as_raw()).then_some(owner),
            others_write: mode & 0o022 != 0,
            world_writable: mode & 0o002 != 0
                || mode & 0o020 != 0 && metadata.gid() != rustix::process::getegid().as_raw(),
            others_read: mode & 0o044 != 0,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        Access { other_owner: None, others_write: false, world_writable: false, others_read: false }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
    };

    #[test]
    fn the_mode_shows_who_else_can_access_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let of = |path: &std::path::Path, mode: u32| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            let Access { other_owner, others_write, world_writable, others_read } =
                access(&fs::metadata(path).unwrap());
            assert_eq!(other_owner, None);
            (others_write, world_writable, others_read)
        };
        assert_eq!(of(&path, 0o600), (false, false, false));
        assert_eq!(of(&path, 0o640), (false, false, true));
        assert_eq!(of(&path, 0o620), (true, false, false), "a group of this user's own");
        assert_eq!(of(&path, 0o666), (true, true, true));
        assert_eq!(of(folder.path(), 0o1777), (true, true, true));
    }
}
