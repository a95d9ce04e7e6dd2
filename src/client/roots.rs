//! The certificate authorities that connections trust besides those of the system: those of `ca_file`, and those in the
//! program where the system has none.

use crate::files::{self, Links};
use reqwest::Certificate;
use std::path::{Path, PathBuf};

/// Maximum size of the CA file. The certificates of all public authorities together are a quarter of this.
const CA_FILE_BYTES_MAX: u64 = 1 << 20;

/// Why no authority can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum RootsFault {
    #[error("ca_file {}: {fault}", .path.display())]
    CaFile { path: PathBuf, fault: String },
    #[error(
        "no certificate can be read where SSL_CERT_FILE or SSL_CERT_DIR says, so no service can be trusted; correct the \
         environment variable, or unset it to trust the authorities of this machine"
    )]
    NoneNamed,
    #[error(
        "this machine's certificate authorities cannot be read ({fault}), so no service can be trusted; correct their \
         files or permissions, or name others with [service] ca_file"
    )]
    Unreadable { fault: String },
}

/// What to trust besides the system's authorities.
///
/// # Errors
/// `ca_file` cannot be read, or the environment names authorities that are not there.
pub(super) fn additional(ca_file: Option<&Path>, is_https: bool) -> Result<Vec<Certificate>, RootsFault> {
    ca_file.map_or_else(|| built_in_where_none(is_https), in_file)
}

fn in_file(path: &Path) -> Result<Vec<Certificate>, RootsFault> {
    let fault = |fault: String| RootsFault::CaFile { path: path.to_owned(), fault };
    let pem = files::read(path, Links::Followed, CA_FILE_BYTES_MAX).map_err(|error| fault(error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| fault(error.to_string()))?;
    if certificates.is_empty() {
        return Err(fault("expected a PEM certificate, found none".to_owned()));
    }
    Ok(certificates)
}

/// The public authorities in the program, for a machine that has none, such as an empty container.
#[cfg(target_os = "linux")]
fn built_in_where_none(is_https: bool) -> Result<Vec<Certificate>, RootsFault> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(Vec::new());
    }
    // If the environment names authorities, no others are added. A service on this machine needs none.
    if is_https && ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some()) {
        return Err(RootsFault::NoneNamed);
    }
    // A machine that has its own may not trust all public ones.
    if let Some(fault) = found.errors.into_iter().find(|error| is_https && !is_absent(error)) {
        return Err(RootsFault::Unreadable { fault: fault.to_string() });
    }
    tracing::info!("this machine has no certificate authorities; those in the program are used");
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    Ok(roots.filter_map(|root| Certificate::from_der(root).ok()).collect())
}

#[cfg(target_os = "linux")]
fn is_absent(error: &rustls_native_certs::Error) -> bool {
    use rustls_native_certs::ErrorKind;
    matches!(&error.kind, ErrorKind::Io { inner, .. } if inner.kind() == std::io::ErrorKind::NotFound)
}

/// Other systems have authorities of their own.
#[cfg(not(target_os = "linux"))]
fn built_in_where_none(_: bool) -> Result<Vec<Certificate>, RootsFault> {
    Ok(Vec::new())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_the_public_authorities_in_it() {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
        let read = roots.iter().filter(|root| Certificate::from_der(root).is_ok()).count();
        assert!(read > 100 && read == roots.len(), "{read} of {}", roots.len());
    }
}
