//! Files on a disk that other people and programs can change. The room's one decision is which of them may be used: a
//! regular file of a bounded size, which belongs to this user where it matters, and a name that is free where nothing may
//! be replaced.
//!
//! | file | noun |
//! |---|---|
//! | `regular` | a regular file, opened and read up to a limit |
//! | `owner` | whose file it is, and who else may change it |
//! | `private` | a file or folder that only its owner can read |
//! | `rename` | a rename that replaces nothing |

mod owner;
mod private;
mod regular;
mod rename;

pub use owner::{Access, access, other_writers_in};
pub use private::{open_private, private_folder};
pub use regular::{Links, check, found, open, opened, options, read, read_open, read_text, text};
pub use rename::rename_new;
