//! A private certificate authority and the certificates it issues.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// What the TLS listener offers by ALPN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocols {
    /// `http/1.1` alone.
    Http1,
    /// `h2` first.
    Http2,
}

/// A certificate authority nobody trusts by default.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// Makes a fresh authority.
    ///
    /// # Panics
    ///
    /// If no key can be made.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "private test authority");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Its certificate, for `SSL_CERT_FILE`.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub(crate) fn server_config(&self, protocols: Protocols) -> Arc<rustls::ServerConfig> {
        let names = ["localhost", "127.0.0.1", "api.kaval.test"];
        let params = CertificateParams::new(names.map(str::to_owned).to_vec()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        config.alpn_protocols = match protocols {
            Protocols::Http1 => vec![b"http/1.1".to_vec()],
            Protocols::Http2 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        Arc::new(config)
    }
}
