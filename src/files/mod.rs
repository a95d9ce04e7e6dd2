//! Files that other users and programs can change. This module decides which of them may be used: regular files of a
//! bounded size that belong to this user where it matters, and unused names where nothing may be replaced.
//!
//! | file | noun |
//! |---|---|
//! | `regular` | a regular file, opened and read up to a limit |
//! | `owner` | who owns a file, and who else may change it |
//! | `private` | a file or folder that only its owner can read |
//! | `root` | a folder below which rows may name files |
//! | `rename` | a rename that replaces nothing |
//! | `digest` | the digest of a file |
//! | `listing` | the files below a folder |
//! | `identity` | the identity of a file, whatever its name |

mod digest;
mod identity;
mod listing;
mod owner;
mod private;
mod regular;
mod rename;
mod root;

pub use digest::sha256_of;
pub use identity::FileId;
pub use listing::files_in;
pub use owner::{Access, access, other_writers_in};
pub use private::{find_private, open_private, private_folder, restrict_to_owner};
pub use regular::{Links, check, found, open, opened, options, read, read_open, read_text, text};
pub use rename::{rename_new, sync_folder};
pub use root::{Root, RootFault};

use std::path::Path;

/// The folder that a file is in, or will be.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
