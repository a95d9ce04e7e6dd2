//! A folder below which rows may name files. The names come from an input that others wrote, so this module decides
//! what they can reach: regular files below the folder, and nothing through `..`, an absolute path or a symbolic link.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

/// Why a file below a root cannot be used. It never repeats the path, which may be personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootFault {
    /// There is no such file.
    Missing,
    /// The path leads out of the folder, or may do so.
    Outside(&'static str),
    /// It is a folder, a pipe or something else that is not a regular file.
    NotRegular(&'static str),
    TooLarge {
        bytes: u64,
    },
    /// Another error of the system.
    Failed(String),
}

impl fmt::Display for RootFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootFault::Missing => f.write_str("found no file at this path"),
            RootFault::Outside(how) => write!(f, "found {how}"),
            RootFault::NotRegular(what) => write!(f, "found {what}"),
            RootFault::TooLarge { bytes } => write!(f, "found {bytes} bytes"),
            RootFault::Failed(fault) => f.write_str(fault),
        }
    }
}

impl From<io::Error> for RootFault {
    fn from(error: io::Error) -> RootFault {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => RootFault::Missing,
            kind => RootFault::Failed(format!("the file cannot be read: {kind}")),
        }
    }
}

const A_LINK: &str = "a symbolic link, which is not followed";

/// An open folder. Files are opened relative to it, so replacing the folder later changes nothing.
pub struct Root {
    #[cfg(unix)]
    folder: File,
    path: PathBuf,
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root {{ {} }}", self.path.display())
    }
}

impl Root {
    /// Opens the folder. The user named it, so links in its own path are followed.
    ///
    /// # Errors
    /// It cannot be opened, or is not a folder.
    pub fn open(path: &Path) -> io::Result<Root> {
        if !std::fs::metadata(path)?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "expected a folder, found something else"));
        }
        Ok(Root {
            #[cfg(unix)]
            folder: File::open(path)?,
            path: path.to_owned(),
        })
    }

    /// The path of the folder, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a regular file of at most `bytes_max` bytes. Its size is checked before it is read, and it is read through
    /// the handle that was checked.
    ///
    /// # Errors
    /// See [`RootFault`].
    pub fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, RootFault> {
        let (file, length) = self.regular(path)?;
        if length > bytes_max {
            return Err(RootFault::TooLarge { bytes: length });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        // It may grow while it is read.
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max {
            return Err(RootFault::TooLarge { bytes: bytes.len() as u64 });
        }
        Ok(bytes)
    }

    /// Opens a regular file, and returns its size.
    ///
    /// # Errors
    /// See [`RootFault`].
    pub fn regular(&self, path: &str) -> Result<(File, u64), RootFault> {
        let file = self.file(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(RootFault::NotRegular(super::regular::kind_of(metadata.file_type())));
        }
        Ok((file, metadata.len()))
    }

    fn file(&self, path: &str) -> Result<File, RootFault> {
        let parts = parts(path)?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(file) = self.beneath(&parts) {
            return file;
        }
        self.step_by_step(&parts)
    }

    /// Opens the file with one system call that follows no link and leaves the folder nowhere. `None` where the system
    /// does not have the call, or refuses it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn beneath(&self, parts: &[&str]) -> Option<Result<File, RootFault>> {
        use rustix::{
            fs::{Mode, ResolveFlags, openat2},
            io::Errno,
        };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.folder, parts.join("/"), flags(), Mode::empty(), resolve) {
            Ok(file) => Some(Ok(file.into())),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => None,
            Err(Errno::XDEV) => Some(Err(RootFault::Outside("a path that leads out of the folder"))),
            Err(error) => Some(Err(fault_of(error))),
        }
    }

    /// Opens one part after the other, and follows no link on the way.
    #[cfg(unix)]
    fn step_by_step(&self, parts: &[&str]) -> Result<File, RootFault> {
        use rustix::fs::{Mode, OFlags, openat};
        let (name, folders) = parts.split_last().ok_or(RootFault::NotRegular("a folder"))?;
        let mut folder = self.folder.try_clone()?;
        for part in folders {
            let opened = openat(&folder, *part, flags() | OFlags::DIRECTORY, Mode::empty());
            folder = match opened {
                Ok(opened) => opened.into(),
                // A link is not a folder, so the system may call it either.
                Err(rustix::io::Errno::NOTDIR) if is_link(&folder, part) => return Err(RootFault::Outside(A_LINK)),
                Err(error) => return Err(fault_of(error)),
            };
        }
        openat(&folder, *name, flags(), Mode::empty()).map(File::from).map_err(fault_of)
    }

    /// Opens the file after checking each part of its path.
    #[cfg(not(unix))]
    fn step_by_step(&self, parts: &[&str]) -> Result<File, RootFault> {
        let mut path = self.path.clone();
        for part in parts {
            path.push(part);
            if std::fs::symlink_metadata(&path)?.is_symlink() {
                return Err(RootFault::Outside(A_LINK));
            }
        }
        Ok(File::open(path)?)
    }
}

/// A link is not followed, and a pipe is not waited for.
#[cfg(unix)]
fn flags() -> rustix::fs::OFlags {
    use rustix::fs::OFlags;
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

#[cfg(unix)]
fn is_link(folder: &File, part: &str) -> bool {
    use rustix::fs::{AtFlags, FileType, statat};
    statat(folder, part, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

#[cfg(unix)]
fn fault_of(error: rustix::io::Errno) -> RootFault {
    match error {
        // A link that is not followed.
        rustix::io::Errno::LOOP => RootFault::Outside(A_LINK),
        // A socket cannot be opened.
        rustix::io::Errno::NXIO => RootFault::NotRegular("a socket or a pipe"),
        error => io::Error::from(error).into(),
    }
}

/// The parts of a path, all of which are names.
fn parts(path: &str) -> Result<Vec<&str>, RootFault> {
    if path.contains('\0') {
        return Err(RootFault::Outside("a path with a NUL character"));
    }
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str().ok_or(RootFault::Missing)?),
            Component::CurDir => {}
            Component::ParentDir => return Err(RootFault::Outside("a path with `..`")),
            Component::RootDir | Component::Prefix(_) => return Err(RootFault::Outside("an absolute path")),
        }
    }
    if parts.is_empty() || path.ends_with('/') { Err(RootFault::NotRegular("a folder")) } else { Ok(parts) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn only_regular_files_below_the_folder_are_read() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("root/inside/deep")).unwrap();
        fs::write(at("outside"), "secret").unwrap();
        fs::write(at("root/inside/file"), "12345").unwrap();
        symlink(at("outside"), at("root/link")).unwrap();
        symlink("inside/file", at("root/link-inside")).unwrap();
        symlink(home.path(), at("root/up")).unwrap();
        symlink("inside", at("root/folder-link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("root/pipe")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(at("root/socket")).unwrap();
        let root = Root::open(&at("root")).unwrap();
        assert_eq!(root.read("inside/file", 5).unwrap(), b"12345");
        assert_eq!(root.read("./inside/./file", 5).unwrap(), b"12345");
        assert_eq!(root.read("inside/file", 4), Err(RootFault::TooLarge { bytes: 5 }));
        let outside = at("outside").display().to_string();
        for (path, wanted) in [
            ("link", "found a symbolic link, which is not followed"),
            ("link-inside", "found a symbolic link, which is not followed"),
            ("up/outside", "found a symbolic link, which is not followed"),
            ("folder-link/file", "found a symbolic link, which is not followed"),
            ("../outside", "found a path with `..`"),
            ("inside/../../outside", "found a path with `..`"),
            (outside.as_str(), "found an absolute path"),
            ("/dev/zero", "found an absolute path"),
            ("pipe", "found a named pipe"),
            ("socket", "found a socket or a pipe"),
            ("inside", "found a folder"),
            ("inside/", "found a folder"),
            ("", "found a folder"),
            (".", "found a folder"),
            ("nowhere", "found no file at this path"),
            ("inside/file/more", "found no file at this path"),
            ("a\0b", "found a path with a NUL character"),
        ] {
            assert_eq!(root.read(path, 100).unwrap_err().to_string(), wanted, "{path:?}");
        }
    }

    #[test]
    fn without_the_system_call_the_same_files_are_opened() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("root/inside")).unwrap();
        fs::write(at("outside"), "secret").unwrap();
        fs::write(at("root/inside/file"), "12345").unwrap();
        symlink(at("outside"), at("root/link")).unwrap();
        symlink(home.path(), at("root/up")).unwrap();
        let root = Root::open(&at("root")).unwrap();
        assert!(root.step_by_step(&["inside", "file"]).is_ok());
        for parts in [&["link"][..], &["up", "outside"]] {
            assert_eq!(root.step_by_step(parts).unwrap_err(), RootFault::Outside(A_LINK), "{parts:?}");
        }
        assert_eq!(root.step_by_step(&["inside", "none"]).unwrap_err(), RootFault::Missing);
    }
}
