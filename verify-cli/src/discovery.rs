//! Fetching a key document over HTTPS. The only module that can reach a network, and only for a key URL.
//!
//! Source: receipt verification, section 12.

use crate::exit::Failure;
use crate::input::encoding_hint;
use crate::key_source::Loopback;
use kaval_receipt::json::{self, JsonString};
use kaval_receipt::keyset::{KeysetError, MAX_KEY_ID_LEN};
use kaval_receipt::{Keyset, Outcome};
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body};
use url::{Host, Url};

/// Longest wait for the whole exchange, name resolution and body included.
const TIMEOUT: Duration = Duration::from_millis(5_000);
/// Largest response body, in bytes.
const MAX_RESPONSE_BYTES: u64 = 262_144;
/// Most characters of a content type that a message repeats.
const MAX_ECHO: usize = 128;

const USER_AGENT: &str = concat!("receipt-verify/", env!("CARGO_PKG_VERSION"));

/// A key document that was fetched.
pub(crate) struct Discovered {
    /// Its text, a byte order mark left out.
    pub(crate) text: String,
    /// Its keys, the wanted one among them.
    pub(crate) keyset: Keyset,
}

/// Fetches a key document that holds a key id.
///
/// # Errors
///
/// `usage` for a key id or URL that is not allowed; `unreadable` when the exchange fails or answers with
/// something else; `keys_malformed` when the body is not a usable key document; `key_unknown` when it does not
/// hold that key id.
pub(crate) fn discover(
    url: &str,
    key_id: &JsonString<'_>,
    loopback: Loopback,
) -> Result<Discovered, Failure> {
    if key_id.is_blank() || key_id.utf16_len() > MAX_KEY_ID_LEN {
        return Err(Failure::outcome(Outcome::Malformed, "the key id to fetch is blank or too long"));
    }
    let url = checked_url(url, loopback)?;
    let text = text_of(fetch(&url)?)?;
    let document = json::parse(&text).map_err(|error| {
        unusable(format!("the key URL returned no strict JSON: {error}{}", encoding_hint(text.as_bytes())))
    })?;
    let keyset = Keyset::from_value(&document);
    keyset.lookup(key_id).map_err(|error| match error {
        KeysetError::Unknown => Failure::outcome(
            Outcome::KeyUnknown,
            format!("the fetched key document does not hold the key id {key_id}"),
        ),
        fault => unusable(format!("the fetched key document cannot be used: {fault}")),
    })?;
    drop(document);
    Ok(Discovered { text, keyset })
}

fn unusable(message: String) -> Failure {
    Failure::outcome(Outcome::KeysMalformed, message)
}

fn checked_url(url: &str, loopback: Loopback) -> Result<Url, Failure> {
    let url = Url::parse(url).map_err(|error| Failure::usage(format!("the key URL is invalid: {error}")))?;
    if !url.username().is_empty() || url.password().is_some_and(|password| !password.is_empty()) {
        return Err(Failure::usage("the key URL must not contain a user name or password"));
    }
    if url.fragment().is_some_and(|fragment| !fragment.is_empty()) {
        return Err(Failure::usage("the key URL must not contain a fragment"));
    }
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match (url.scheme(), is_loopback && loopback == Loopback::HttpAllowed) {
        ("https", _) | ("http", true) => Ok(url),
        ("http", false) if is_loopback => {
            Err(Failure::usage("the key URL must be https; --allow-http-loopback lets this one be http"))
        }
        _ => Err(Failure::usage("the key URL must be https")),
    }
}

/// The body of a response that is fit to hold a key document.
fn fetch(url: &Url) -> Result<Vec<u8>, Failure> {
    // A fragment is never sent; an empty one would only confuse the client.
    let mut target = url.clone();
    target.set_fragment(None);
    let mut response = agent(&target)?.get(target.as_str()).call().map_err(|error| failed(&error))?;
    check_head(&response)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a full response from one that goes on.
    let mut body = response.body_mut().as_reader().take(MAX_RESPONSE_BYTES + 1);
    body.read_to_end(&mut bytes).map_err(|error| failed(&ureq::Error::from(error)))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_RESPONSE_BYTES) {
        Ok(bytes)
    } else {
        Err(too_large())
    }
}

fn agent(url: &Url) -> Result<Agent, Failure> {
    let config = Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .user_agent(USER_AGENT)
        .accept("application/json");
    if url.scheme() != "https" {
        // What stays on this machine is none of a proxy's business.
        return Ok(config.proxy(None).build().new_agent());
    }
    let certificates: Vec<_> = trust::certificates(std::env::var_os("SSL_CERT_FILE").as_deref())?
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::from(certificates))
        .build();
    Ok(config.tls_config(tls).build().new_agent())
}

mod trust {
    //! Certificates that are trusted: those of the platform, and those of `SSL_CERT_FILE` beside them.

    use crate::exit::Failure;
    use rustls::pki_types::CertificateDer;
    use rustls_native_certs::{CertificateResult, load_certs_from_paths};
    use std::ffi::OsStr;
    use std::path::Path;

    /// Bundles of the platform's certificates, most common first; the first that exists is used.
    #[cfg(all(unix, not(target_os = "macos")))]
    const BUNDLES: [&str; 6] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
        "/usr/local/share/certs/ca-root-nss.crt",
    ];

    /// Every trusted certificate.
    ///
    /// # Errors
    ///
    /// `unreadable` when the file of `SSL_CERT_FILE` holds none, or there is none at all.
    pub(super) fn certificates(own: Option<&OsStr>) -> Result<Vec<CertificateDer<'static>>, Failure> {
        let mut certificates = Vec::new();
        if let Some(file) = own.filter(|file| !file.is_empty()) {
            let loaded = load_certs_from_paths(Some(Path::new(file)), None);
            if loaded.certs.is_empty() {
                return Err(none("SSL_CERT_FILE holds no certificate", &loaded));
            }
            certificates = loaded.certs;
        }
        let platform = platform();
        if certificates.is_empty() && platform.certs.is_empty() {
            return Err(none("no trusted certificates were found, set SSL_CERT_FILE", &platform));
        }
        certificates.extend(platform.certs);
        Ok(certificates)
    }

    fn none(words: &str, loaded: &CertificateResult) -> Failure {
        let reason = loaded.errors.first().map_or_else(String::new, |error| format!(": {error}"));
        Failure::unreadable(format!("{words}{reason}"))
    }

    /// The platform's certificates. A bundle is read by its path: asked for all, the loader would leave the
    /// platform out as soon as `SSL_CERT_FILE` is set.
    fn platform() -> CertificateResult {
        #[cfg(all(unix, not(target_os = "macos")))]
        if let Some(bundle) = BUNDLES.iter().map(Path::new).find(|path| path.exists()) {
            let loaded = load_certs_from_paths(Some(bundle), None);
            if !loaded.certs.is_empty() {
                return loaded;
            }
        }
        rustls_native_certs::load_native_certs()
    }
}

fn failed(error: &ureq::Error) -> Failure {
    Failure::unreadable(match error {
        ureq::Error::Timeout(_) => format!("the key URL did not answer within {} ms", TIMEOUT.as_millis()),
        error => format!("the key URL could not be fetched: {error}"),
    })
}

fn check_head(response: &Response<Body>) -> Result<(), Failure> {
    let status = response.status();
    if status.is_redirection() {
        return Err(Failure::unreadable("the key URL redirects, which is not followed"));
    }
    if status.as_u16() != 200 {
        return Err(Failure::unreadable(format!("the key URL answered with HTTP {}", status.as_u16())));
    }
    let content_type = response.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    let content_type = String::from_utf8_lossy(content_type.unwrap_or_default());
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !(essence.is_empty() || essence == "application/json" || essence.ends_with("+json")) {
        let essence: String = essence.chars().take(MAX_ECHO).collect();
        return Err(Failure::unreadable(format!("the key URL answered with the content type {essence}")));
    }
    match response.headers().get(header::CONTENT_LENGTH) {
        None => Ok(()),
        Some(length) => {
            let length = length.to_str().ok().and_then(|length| length.parse::<u64>().ok());
            if length.is_some_and(|length| length <= MAX_RESPONSE_BYTES) { Ok(()) } else { Err(too_large()) }
        }
    }
}

fn too_large() -> Failure {
    Failure::unreadable(format!("the key URL's response exceeds the {MAX_RESPONSE_BYTES}-byte limit"))
}

/// Strict UTF-8, a leading byte order mark left out.
fn text_of(bytes: Vec<u8>) -> Result<String, Failure> {
    let text = String::from_utf8(bytes)
        .map_err(|error| unusable(format!("the key URL returned no strict JSON: {}", error.utf8_error())))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    /// A certificate that no platform holds; what counts here is that it is read.
    const OWN: &str = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";

    #[test]
    fn own_certificates_are_trusted_beside_those_of_the_platform() {
        let folder = tempfile::tempdir().expect("a folder");
        let (own, empty) = (folder.path().join("own.pem"), folder.path().join("empty.pem"));
        std::fs::write(&own, OWN).expect("a file");
        std::fs::write(&empty, "").expect("a file");
        let platform = trust::certificates(None).map_or(0, |certificates| certificates.len());
        let both = trust::certificates(Some(own.as_os_str())).expect("certificates");
        assert_eq!(both.len(), platform + 1);
        assert_eq!(
            trust::certificates(Some(OsStr::new(""))).map_or(0, |certificates| certificates.len()),
            platform
        );
        for unusable in [empty, folder.path().join("missing.pem")] {
            let failure = trust::certificates(Some(unusable.as_os_str())).expect_err("refused");
            assert!(failure.message.starts_with("SSL_CERT_FILE"), "{}", failure.message);
        }
    }

    #[test]
    fn only_https_and_loopback_http_are_asked() {
        let allowed = |url| checked_url(url, Loopback::HttpAllowed).is_ok();
        for url in [
            "https://keys.example.com/a?b=c",
            "https://keys.example.com/#",
            "http://localhost:8080/",
            "http://LOCALHOST/",
            "http://127.1/",
            "http://127.9.9.9/",
            "http://[::1]/",
            "https://:@keys.example.com/",
        ] {
            assert!(allowed(url), "{url}");
        }
        for url in [
            "",
            "keys.example.com",
            "http://keys.example.com/",
            "http://localhost./",
            "http://0.0.0.0/",
            "http://localhost.example.com/",
            "http://[::2]/",
            "ftp://localhost/",
            "file:///etc/passwd",
            "https://user@keys.example.com/",
            "https://:secret@keys.example.com/",
            "https://keys.example.com/#key",
        ] {
            assert!(!allowed(url), "{url}");
        }
        assert!(checked_url("http://localhost/", Loopback::HttpsOnly).is_err());
    }
}
