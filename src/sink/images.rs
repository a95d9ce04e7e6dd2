//! Images of answers as files: `images/<sha256>.<format>` in the output folder. The name is the digest of the content, so
//! an image that is already there is not written again.

use super::{SinkError, new_file::create_folder, writer::write_file};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, path::Path};

/// The folder of images in an output folder.
pub(super) const IMAGES: &str = "images";
/// The manifest lists at most this many images: it is read whole.
const LISTED_MAX: usize = 100_000;
const EXTENSIONS: [&str; 5] = ["jpg", "png", "webp", "tif", "bin"];

/// What becomes of the images in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageOutput {
    /// Rows state their size and digest; the images themselves are only in the ledger.
    #[default]
    Drop,
    /// They are also written as files.
    Files,
}

/// An image file, as the manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFile {
    /// Relative to the output folder, with `/`.
    pub path: String,
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
}

/// Writes an image, readable only by its owner, unless it is there already. `sha256` is the digest of `bytes`.
pub fn write_image(folder: &Path, sha256: &str, extension: &str, bytes: &[u8]) -> Result<ImageFile, SinkError> {
    let images = folder.join(IMAGES);
    let name = format!("{sha256}.{extension}");
    let path = images.join(&name);
    let file = ImageFile { path: format!("{IMAGES}/{name}"), bytes: bytes.len() as u64, sha256: sha256.to_owned() };
    if path.exists() {
        return Ok(file);
    }
    create_folder(&images)?;
    write_file(&path, bytes).map(|_| file)
}

/// The images in an output folder by path.
pub fn image_files(folder: &Path) -> BTreeMap<String, ImageFile> {
    let entries = fs::read_dir(folder.join(IMAGES)).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let sha256 = digest_in(&name)?.to_owned();
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(ImageFile { path: format!("{IMAGES}/{name}"), bytes: metadata.len(), sha256 })
    });
    files.map(|file| (file.path.clone(), file)).collect()
}

/// The images that a manifest lists, in the order of their paths. Also returns the number of images that it does not
/// list, because there are too many.
pub fn listed(files: &BTreeMap<String, ImageFile>) -> (Vec<ImageFile>, u64) {
    let unlisted = files.len().saturating_sub(LISTED_MAX) as u64;
    (files.values().take(LISTED_MAX).cloned().collect(), unlisted)
}

/// The digest in the name of an image file; `None` for other names.
pub(super) fn digest_in(name: &str) -> Option<&str> {
    let (digest, extension) = name.split_once('.')?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_digest && EXTENSIONS.contains(&extension)).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn an_image_is_written_once_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let sha256 = crate::model::key::hex(&Sha256::digest(b"picture"));
        for _ in 0..2 {
            write_image(folder.path(), &sha256, "png", b"picture").unwrap();
        }
        let path = folder.path().join(format!("images/{sha256}.png"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(folder.path().join("images/notes.txt"), "of the user").unwrap();
        let (files, unlisted) = listed(&image_files(folder.path()));
        assert_eq!(files, [ImageFile { path: format!("images/{sha256}.png"), bytes: 7, sha256 }]);
        assert_eq!(unlisted, 0);
    }
}
