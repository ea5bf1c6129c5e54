//! TLS settings, built once on the first use of https.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::CertificateResult;

/// Bundles of the platform's certificates, most common first; the first that exists is used. Reading the
/// bundle alone is several times faster than the directory of single files beside it.
#[cfg(all(unix, not(target_os = "macos")))]
const BUNDLES: [&str; 9] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
    "/etc/openssl/certs/ca-certificates.crt",
];

#[cfg(all(unix, not(target_os = "macos")))]
const DIRECTORIES: [&str; 2] = ["/etc/ssl/certs", "/etc/pki/tls/certs"];

/// The platform's certificates, without a look at the environment.
#[cfg(all(unix, not(target_os = "macos")))]
fn platform() -> CertificateResult {
    let exists = |path: &&str| Path::new(path).exists();
    let bundle = BUNDLES.iter().copied().find(exists).map(Path::new);
    let found = rustls_native_certs::load_certs_from_paths(bundle, None);
    if !found.certs.is_empty() {
        return found;
    }
    let directory = DIRECTORIES.iter().copied().find(exists).map(Path::new);
    rustls_native_certs::load_certs_from_paths(None, directory)
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
fn platform() -> CertificateResult {
    rustls_native_certs::load_native_certs()
}

/// Reads the trusted certificates and makes the settings. Blocks on files for some milliseconds.
pub(crate) fn client_config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = ca_file {
        let own = rustls_native_certs::load_certs_from_paths(Some(path), None);
        if own.certs.is_empty() {
            return Err("SSL_CERT_FILE names a file that cannot be read or holds no certificate".to_owned());
        }
        if roots.add_parsable_certificates(own.certs).0 == 0 {
            return Err("SSL_CERT_FILE holds no usable certificate".to_owned());
        }
    }
    roots.add_parsable_certificates(platform().certs);
    if roots.is_empty() {
        return Err(
            "no trusted certificate on this machine: install a CA bundle or set SSL_CERT_FILE".to_owned()
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
