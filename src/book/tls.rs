//! TLS to the charge book. The server's certificate is always verified, by the authorities of this machine.

use super::BookError;
use rustls::ClientConfig;
use rustls_tokio_postgres::MakeRustlsConnect;

/// How a connection is encrypted, if the server or the URL asks for it.
pub(super) fn connector() -> Result<MakeRustlsConnect, BookError> {
    let fault = |fault: String| BookError::Url(format!("its certificate cannot be verified: {fault}"));
    Ok(MakeRustlsConnect::new(trusting().map_err(fault)?))
}

#[cfg(target_os = "linux")]
fn trusting() -> Result<ClientConfig, String> {
    use rustls::{RootCertStore, crypto::ring};
    use std::sync::Arc;

    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        // A container without authorities. Those that the environment names take the place of all others.
        if ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some()) {
            return Err("no certificate can be read where SSL_CERT_FILE or SSL_CERT_DIR says".to_owned());
        }
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(not(target_os = "linux"))]
fn trusting() -> Result<ClientConfig, String> {
    rustls_tokio_postgres::config_platform_verifier().map_err(|error| error.to_string())
}
