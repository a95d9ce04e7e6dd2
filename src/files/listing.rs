//! The files below a folder.

use std::{
    io,
    path::{Path, PathBuf},
};

/// The files in a folder and the folders below it, by their paths with `/`, in order.
///
/// # Errors
/// A folder cannot be read, or a name is not text.
pub fn files_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in std::fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
                paths.push(parts.join("/"));
            }
        }
    }
    paths.sort();
    Ok(paths)
}
